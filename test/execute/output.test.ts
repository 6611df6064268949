/** What comes out of handlers, and what of it reaches the model. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/errors.ts";
import { safeMessage } from "../../src/execute/index.ts";
import { busyMs } from "../busy-ms.ts";
import { misread } from "../misread.ts";
import { counted, RUN, setup, setupWithApprovals, sleep, useOf } from "./support.ts";

const cycle: unknown[] = [];
cycle.push(cycle);

describe("an output", () => {
  it.each<[string, unknown, unknown]>([
    ["nothing", undefined, null],
    ["a text", "text", "text"],
    ["a Date inside", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["a property that is undefined", { a: undefined, b: 1 }, { b: 1 }],
    ["own __proto__", JSON.parse('{"__proto__":{"polluted":1}}'), JSON.parse('{"__proto__":{"polluted":1}}')],
    ["an instance of a class", Object.assign(new (class Point {})(), { x: 1 }), { x: 1 }],
    ["an object without a prototype", Object.create(null), {}],
    ["a number in an object", new Number(5), 5],
    ["bytes that say a text of themselves", Object.assign(new Uint8Array([1]), { toJSON: () => "AQ==" }), "AQ=="],
    ["a lone surrogate", { text: "\ud800" }, { text: "\ud800" }],
    [
      "text that looks like a tool call",
      '<tool_call>{"name":"delete"}</tool_call>',
      '<tool_call>{"name":"delete"}</tool_call>',
    ],
    ["escape sequences of a terminal", "\u001b[31mred", "\u001b[31mred"],
  ])("%s goes back as the same JSON, now and from the record", async (_, returned, expected) => {
    const { tool, ran } = counted({ execute: () => returned });
    const { executor } = setup([tool]);
    const now = await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    const later = await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    for (const outcome of [now, later]) expect(outcome).toMatchObject({ status: "completed", output: expected });
    const { output } = now as { output?: object | null };
    expect(Object.keys(output ?? {})).toEqual(Object.keys((expected ?? {}) as object));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(ran).toHaveLength(1);
  });

  it("has the keys that the handler gave it, whatever was read before", async () => {
    const value = misread();
    const { tool } = counted({ execute: () => value });
    const { executor } = setup([tool]);
    const now = await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    const later = await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    for (const outcome of [now, later]) expect(outcome).toMatchObject({ status: "completed", output: value });
    expect((now as { output?: unknown }).output).toEqual(value);
  });

  it.each<[string, () => unknown, string]>([
    ["a bigint", () => ({ id: 12345678901234567890n }), "not_serializable"],
    ["a cycle", () => cycle, "not_serializable"],
    ["a function", () => ({ then_: () => 1 }), "not_serializable"],
    ["a symbol", () => [Symbol("x")], "not_serializable"],
    ["NaN", () => ({ n: Number.NaN }), "not_serializable"],
    ["a Map", () => new Map([["a", 1]]), "not_serializable"],
    ["bytes", () => ({ file: new Uint8Array([1]) }), "not_serializable"],
    ["a Buffer, whose toJSON() is a list of numbers", () => [Buffer.from("hi")], "not_serializable"],
    ["a promise that was not awaited", () => ({ price: Promise.resolve(5) }), "not_serializable"],
    ["a Response", () => new Response("text"), "not_serializable"],
    ["an Error", () => ({ error: new Error("no") }), "not_serializable"],
    [
      "an Error with properties of its own",
      () => Object.assign(new Error("no such file"), { path: "/etc/passwd" }),
      "not_serializable",
    ],
    [
      "an Error that says more of itself",
      () => [Object.assign(new Error("no"), { toJSON: () => ({ headers: { key: "/etc/passwd" } }) })],
      "not_serializable",
    ],
    ["a generator that is not async", () => [1].values(), "not_serializable"],
    [
      "a getter that throws",
      () => ({
        get a() {
          throw new Error("/etc/passwd");
        },
      }),
      "not_serializable",
    ],
    [
      "a toJSON() that throws",
      () => ({
        toJSON: () => {
          throw new Error("no");
        },
      }),
      "not_serializable",
    ],
    [
      "a proxy that throws",
      () =>
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error("no");
            },
          },
        ),
      "not_serializable",
    ],
    [
      "a draft that is no more (a proxy that was revoked)",
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return { rows: [proxy] };
      },
      "not_serializable",
    ],
    ["depth 300", () => JSON.parse("[".repeat(300) + "]".repeat(300)), "not_serializable"],
    ["depth 100,000", () => JSON.parse("[".repeat(100_000) + "]".repeat(100_000)), "not_serializable"],
    ["100 MB of text", () => "x".repeat(100 * 1024 * 1024), "output_too_large"],
    ["2 MB of values", () => Array.from({ length: 1_000_000 }, () => 1), "output_too_large"],
    ["600 KB of text that is 1.8 MB", () => "€".repeat(600 * 1024), "output_too_large"],
  ])("of %s is a failure with a clear code", async (_, execute, code) => {
    const { tool } = counted({ execute });
    const { executor, events } = setup([tool]);
    const use = useOf(tool);
    const outcome = await executor.execute(use, RUN);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code, message: expect.stringMatching(/^act was executed, but its output /) },
    });
    expect(events.at(-1)).toMatchObject({ type: "tool.failed", errorCode: code });
    expect(use.error!.message).not.toContain("passwd");
  });

  it.each<[string, (late: Promise<unknown>, keep: (data: unknown) => void) => unknown]>([
    ["its output", (late) => ({ rows: [{ late }] })],
    ["an output that fails before it gets there", (late) => ({ n: 1n, late })],
    ["an output that does not fit its schema", (late) => ({ n: "one", late })],
    ["a Map in its output", (late) => ({ map: new Map([["a", new Set([late])]]) })],
    ["an output with many bytes", (late) => ({ n: 1n, late, bytes: new Uint8Array(2_000_000) })],
    ["what it keeps for undoing", (late, keep) => keep({ late })],
    [
      "an output with what throws in it",
      (late) => ({
        get a() {
          throw new Error("no");
        },
        late,
      }),
    ],
  ])("a handler that forgot to await a promise in %s, which is then rejected, ends no process", async (_, execute) => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    try {
      const { tool } = counted({
        outputSchema: z.any().refine((output) => output?.n !== "one"),
        execute: (__, { undoData }) =>
          execute(
            sleep(5).then(() => Promise.reject(new Error("down"))),
            undoData,
          ),
        undo: () => {},
      });
      await setup([tool]).executor.execute(useOf(tool), RUN);
      await sleep(20);
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
  });

  it("that holds a promise of a library's own is refused, and that is not asked", async () => {
    let asked = 0;
    class Query {
      // oxlint-disable-next-line unicorn/no-thenable -- as a query builder does
      then() {
        asked++;
      }
    }
    const { tool } = counted({ execute: () => ({ rows: new Query() }) });
    expect(await setup([tool]).executor.execute(useOf(tool), RUN)).toMatchObject({ status: "failed" });
    expect(asked).toBe(0);
  });

  it("may be as large as the executor says", async () => {
    const { tool } = counted({ execute: () => "x".repeat(100) });
    expect(await setup([tool], { maxOutputBytes: 102 }).executor.execute(useOf(tool), RUN)).toMatchObject({
      status: "completed",
    });
    expect(await setup([tool], { maxOutputBytes: 101 }).executor.execute(useOf(tool), RUN)).toMatchObject({
      status: "failed",
    });
  });

  it("brackets in a text are no levels", async () => {
    const { tool } = counted({ execute: () => ({ text: '[{"\\'.repeat(1000) }) });
    expect(await setup([tool]).executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
  });

  it("is checked by the output schema, which may fill it in", async () => {
    const outputSchema = z.object({ n: z.number(), unit: z.string().default("C") });
    const { tool } = counted({ outputSchema, execute: ({ n }: any) => ({ n: n === 1 ? 1 : "one" }) });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(tool, { n: 1 }), RUN)).toMatchObject({ output: { n: 1, unit: "C" } });
    expect(await executor.execute(useOf(tool, { n: 2 }), RUN)).toMatchObject({
      status: "failed",
      error: { code: "invalid_output", issues: [{ path: ["n"] }], message: expect.stringMatching(/n: .*number/) },
    });
  });

  it("is told to the model without what its own checks say of the machine", async () => {
    const outputSchema = z.object({}).refine(() => {
      throw new Error("connect postgres://app:hunter2@10.0.0.1/orders failed at /srv/app/db.js");
    });
    const { tool } = counted({ outputSchema, execute: () => ({}) });
    const message = expect.stringMatching(/the check itself failed: connect .*\[hidden\]@10.0.0.1.* at \[path\]\.$/);
    expect(await setup([tool]).executor.execute(useOf(tool), RUN)).toMatchObject({
      error: { code: "invalid_output", message },
    });
  });
});

describe("an input", () => {
  it.each<[string, unknown]>([
    ["a function", () => () => 1],
    ["NaN", Number.NaN],
  ])("that holds %s, for a schema that lets it pass, fails before it runs", async (_, value) => {
    const { tool, ran } = counted({ inputSchema: z.any() });
    const { executor, types } = setup([tool]);
    const outcome = await executor.execute(useOf(tool, { value }), RUN);
    expect(outcome).toMatchObject({ status: "failed", error: { code: "not_serializable" } });
    expect(types()).toEqual(["tool.invoked", "tool.failed"]);
    expect(ran).toHaveLength(0);
  });

  it("that JSON has no word for can be approved and undone: it is shown in its JSON form", async () => {
    const undone: unknown[] = [];
    const toRich = () => ({ id: 12345678901234567890n, at: new Date(0), map: new Map([["a", 1n]]), set: new Set([2]) });
    const shown = { id: "12345678901234567890", at: "1970-01-01T00:00:00.000Z", map: [["a", "1"]], set: [2] };
    const { tool, ran } = counted({
      inputSchema: z.object({}).transform(toRich),
      needsApproval: true,
      execute: () => "done",
      undo: ({ input }) => void undone.push(input),
    });
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const paused = await executor.execute(use, { ...RUN, waitForApproval: false });
    expect(paused).toMatchObject({ status: "awaiting_approval", approval: { input: shown } });
    expect(paused.approval!.message).toBe(`Run act with ${JSON.stringify(shown)}?`);
    await approvals.decide(paused.approval!.id, { decision: "approve" });
    const outcome = await executor.execute(use, RUN);
    expect(outcome).toMatchObject({ status: "completed" });
    expect(ran[0]!.input).toEqual(toRich());
    expect(await executor.undo(outcome.actionId)).toMatchObject({ status: "undone" });
    expect(undone).toEqual([shown]);
  });

  it("with an instance that JSON keeps nothing of can be undone nevertheless", async () => {
    const undone: unknown[] = [];
    const { tool } = counted({
      inputSchema: z.object({ id: z.number() }).transform(({ id }) => ({ id, file: new Blob(["a"]) })),
      undo: ({ input }) => void undone.push(input),
    });
    const { executor } = setup([tool]);
    const { actionId } = await executor.execute(useOf(tool, { id: 1 }), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(undone).toMatchObject([{ id: 1 }]);
  });

  it("that a schema made a Date of reaches the handler as one", async () => {
    const { tool, ran } = counted({ inputSchema: z.object({ at: z.string().transform((text) => new Date(text)) }) });
    const { executor } = setup([tool]);
    await executor.execute(useOf(tool, { at: "2026-01-01" }), RUN);
    expect(ran[0]!.input.at).toBeInstanceOf(Date);
  });
});

describe("safeMessage()", () => {
  it.each<[string, unknown, string]>([
    ["says what an error says", new Error("disk full"), "disk full"],
    [
      "keeps URLs and what the model knows",
      new Error("GET https://api.example.com/v1/orders/7 gave 404 and/or 410"),
      "GET https://api.example.com/v1/orders/7 gave 404 and/or 410",
    ],
    [
      "hides absolute paths",
      new Error("ENOENT: no such file, open '/home/anna/My Files/k.pem'"),
      "ENOENT: no such file, open '[path]'",
    ],
    ["hides paths without quotes", new Error("cannot read /srv/app/config.json: denied"), "cannot read [path]: denied"],
    ["hides Windows paths", new Error("cannot read C:\\Users\\anna\\x.txt now"), "cannot read [path] now"],
    ["hides file URLs", new Error("import of file:///srv/app/a.js failed"), "import of [path] failed"],
    [
      "hides a stack that is in the message",
      new Error("bad\n    at run (/srv/app.js:1:2)\n    at main (/srv/app.js:3:4)"),
      "bad",
    ],
    ["hides queries", new Error("syntax error: SELECT password FROM users WHERE id = 1"), "syntax error: [query]"],
    [
      "hides credentials in URLs",
      new Error("connect postgres://app:pa55@db:5432/x failed"),
      "connect postgres://[hidden]@db:5432/x failed",
    ],
    [
      "hides credentials with slashes and at signs in them",
      new Error("postgres://admin:p@ss/word@db:5432/x failed"),
      "postgres://[hidden]@db:5432/x failed",
    ],
    [
      "hides a password without a user",
      new Error("connect redis://:hunter2@cache:6379"),
      "connect redis://[hidden]@cache:6379",
    ],
    [
      "hides a token in the place of a user",
      new Error("unable to access 'https://ghp_abc@github.com/acme/x.git/': 403"),
      "unable to access 'https://[hidden]@github.com/acme/x.git/': 403",
    ],
    [
      "hides a key in a query, and nothing else of it",
      new Error("request to https://api.example.com/v1?q=Oslo&apiKey=s3cr3t&units=m failed"),
      "request to https://api.example.com/v1?q=Oslo&apiKey=[hidden]&units=m failed",
    ],
    [
      "hides a signature, and a token behind a hash",
      new Error("https://b.example/x?X-Amz-Signature=0a1b and https://a.example/cb#access_token=eyJ.a-b"),
      "https://b.example/x?X-Amz-Signature=[hidden] and https://a.example/cb#access_token=[hidden]",
    ],
    [
      "takes a scoped package for no credentials",
      new Error("404 https://registry.example/@acme/x"),
      "404 https://registry.example/@acme/x",
    ],
    ["hides paths behind a colon", new Error("cwd:/home/alice/app is gone"), "cwd:[path] is gone"],
    ["hides Windows paths with slashes", new Error("cannot read C:/Users/anna/x.txt now"), "cannot read [path] now"],
    ["hides paths of any letters", new Error("open /home/jürgen/Иван/file: no"), "open [path]: no"],
    [
      "keeps what looks like a query and is none",
      new Error("Select a value from the list"),
      "Select a value from the list",
    ],
    [
      "keeps what looks like a change and is none",
      new Error("Please update the cart: set a quantity; you cannot delete from here, or insert into it"),
      "Please update the cart: set a quantity; you cannot delete from here, or insert into it",
    ],
    [
      "hides queries of several lines",
      new Error("bad: SELECT id,\n  email\nFROM users\nWHERE key = 's'"),
      "bad: [query]",
    ],
    ...[
      "insert into users (email, token)\nvalues ('a@b.c', 's3cr3t')",
      'select "id", "email" from "users" where "users"."key" = $1\nparams: s3cr3t',
      "select * from `users`\n limit 's3cr3t'",
      "select count(*) as n, max(id) from users having 's3cr3t'",
      "update users u set token = 's3cr3t'",
      "delete from users where token = 's3cr3t'",
      "DROP TABLE s3cr3t",
      "where token in ('s3cr3t')",
    ].map((query): [string, unknown, string] => [`hides ${query}`, new Error(`Failed: ${query}`), "Failed: [query]"]),
    ["takes what is no error", "text", "text"],
    ["takes nothing", undefined, "undefined"],
    ["says nothing of an object without a message", { token: "secret" }, "an object without a message was thrown"],
    ["says the name of an error without a message", new AggregateError([], ""), "AggregateError"],
    [
      "takes what has no text",
      {
        toString() {
          throw new Error("no");
        },
      },
      "what was thrown cannot be shown",
    ],
  ])("%s", (_, error, message) => {
    expect(safeMessage(error)).toBe(message);
  });

  it.each([
    "GET https://unpkg.com/react@18.2.0/index.js: 404",
    "http://localhost:3000/a/b?x=@me failed",
    "GET https://api.example.com/search?keyword=paris&author=ada: 404",
    "the case where n = 0 is not supported, use 1",
    "rows where price > 10 are too many: give a limit",
    "no element where id in (1, 2)",
  ])("leaves what hides nothing: %s", (message) => {
    expect(safeMessage(new Error(message))).toBe(message);
  });

  it("hides the values of secret environment variables, and is bounded", () => {
    process.env["TEST_API_KEY"] = "sk-very-secret";
    process.env["TEST_TOKEN"] = "sk-very-secret-1234";
    try {
      expect(safeMessage(new Error("401 for sk-very-secret-1234"))).toBe("401 for [hidden]");
    } finally {
      delete process.env["TEST_API_KEY"];
      delete process.env["TEST_TOKEN"];
    }
    expect(safeMessage(new Error("x".repeat(1_000_000)))).toHaveLength(1000);
  });

  it.each([
    "/",
    "/a",
    "a:",
    "a://",
    "'/",
    "\n ",
    "select ",
    "select a,",
    "where a",
    "?key",
    "key",
    "SELECT ",
    "update a ",
    "(",
    "\\\\",
  ])("takes no time for %j, again and again", (part) => {
    const startedAt = busyMs();
    safeMessage(new Error(part.repeat(1_000_000 / part.length)));
    safeMessage(new ToolError("tool_failed", part.repeat(1_000_000 / part.length)));
    // With a way to the end of the text for each part, it would take minutes.
    expect(busyMs() - startedAt).toBeLessThan(2_000);
  });

  it("leaves what a program or a server says to the model, but for secrets", () => {
    const said =
      "src/a.ts(3,1): error\n    at /srv/app/src/a.ts: SELECT a FROM b\nsee https://anna:pw@db.example/?token=t";
    const left = said.replace("anna:pw", "[hidden]").replace("=t", "=[hidden]");
    expect(safeMessage(new ToolError("tool_failed", said))).toBe(left);
    expect(safeMessage(new ToolError("tool_failed", "x".repeat(1_000_000)))).toHaveLength(4000);
    const long = "x".repeat(3970);
    const cut = safeMessage(new ToolError("tool_failed", `${long} postgres://anna:hunter2hunter2@db.example/orders`));
    expect(cut).toBe(`${long} postgres://[hidden]@db.examp…`);
  });

  it("cuts no character in two", () => {
    expect(safeMessage(new Error(`a${"😀".repeat(1000)}`)).isWellFormed()).toBe(true);
  });

  it("is what model, events and record get; the application gets the error", async () => {
    const cause = new Error("EACCES: permission denied, open '/root/.ssh/id_rsa'");
    const { tool } = counted({ execute: () => Promise.reject(cause) });
    const { executor, events } = setup([tool]);
    const outcome: any = await executor.execute(useOf(tool), RUN);
    expect(outcome.error).toMatchObject({
      message: "Tool act failed: EACCES: permission denied, open '[path]'",
      cause,
    });
    expect(JSON.stringify([events, await executor.actions("run")])).not.toContain("id_rsa");
  });

  it.each<[string, () => unknown, string]>([
    ["another one", () => "something went wrong", "Tool act failed: something went wrong"],
    ["one that only logs", () => undefined, "Tool act failed: disk full"],
    ["one that is not a text", () => ({ message: "no" }), "Tool act failed: disk full"],
    // Unhandled, it would end the process.
    ["one that rejects", () => Promise.reject(new Error("no")), "Tool act failed: disk full"],
    [
      "one that fails",
      () => {
        throw new Error("no");
      },
      "Tool act failed: disk full",
    ],
  ])("can be %s", async (_, errorMessage, message) => {
    const { tool } = counted({ execute: () => Promise.reject(new Error("disk full")) });
    const { executor } = setup([tool], { errorMessage: errorMessage as () => string });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ error: { message } });
  });
});
