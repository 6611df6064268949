import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod3";
import { ToolCallError, isToolError } from "../../src/errors.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { zod3 } from "../../src/schema/zod3.ts";
import { defineTool, type ToolContext } from "../../src/tool/tool.ts";

const schemas = {
  "zod 4": z.object({ x: z.number(), y: z.number() }),
  "zod 3": zod3(z3.object({ x: z3.number(), y: z3.number() })),
  valibot: toStandardJsonSchema(v.object({ x: v.number(), y: v.number() })),
  arktype: type({ x: "number", y: "number" }),
  "JSON Schema": jsonSchema<{ x: number; y: number }>({
    type: "object",
    properties: { x: { type: "number" }, y: { type: "number" } },
    required: ["x", "y"],
  }),
};

it("takes an option that is undefined for one that is not given", () => {
  const ask = { name: "ask", inputSchema: {} };
  const tool = defineTool({
    ...ask,
    description: undefined,
    outputSchema: undefined,
    execute: undefined,
    toModelOutput: undefined,
    effect: undefined,
    eager: undefined,
    repair: undefined,
    metadata: undefined,
  });
  expect(JSON.stringify(tool)).toBe(JSON.stringify(defineTool(ask)));
  const use = tool.use({}, { id: undefined, invocationId: undefined, metadata: undefined });
  expect(use).toMatchObject({ id: null, invocationId: expect.any(String), metadata: {} });
});

describe.each(Object.entries(schemas))("a tool with a schema of %s", (_name, inputSchema) => {
  const add = defineTool({ name: "add", inputSchema, execute: ({ x, y }: { x: number; y: number }) => x + y });
  const addLater = defineTool({
    name: "add",
    inputSchema,
    execute: async ({ x, y }: { x: number; y: number }) => x + y,
  });

  it("runs a sync handler, awaited or at once", async () => {
    expect(add.use({ x: 5, y: 3 }).executeSync()).toBe(8);
    await expect(add.use({ x: 5, y: 3 }).execute()).resolves.toBe(8);
  });

  it("runs an async handler", async () => {
    await expect(addLater.use({ x: 5, y: 3 }).execute()).resolves.toBe(8);
  });

  it("refuses an input that does not fit, and says where", () => {
    expect(() => add.use({ x: 5, y: "3" } as never)).toThrow(
      expect.objectContaining({
        name: "ToolCallError",
        code: "invalid_input",
        message: expect.stringMatching(/add .*y: /),
        issues: [{ path: ["y"], message: expect.any(String) }],
      }),
    );
  });
});

describe("a tool with alternatives", () => {
  const at = z.union([z.object({ city: z.string() }), z.object({ lat: z.number(), lon: z.number() })]);
  const even = z.number().refine((n) => n % 2 === 0);
  const weather = defineTool({ name: "weather", inputSchema: z.object({ at, even }), outputSchema: z.object({ at }) });
  const alternatives =
    'at: fits none of the 2 alternatives (city: the required property "city" is missing; lat: must be a number, got a string)';

  it("says what each of them asks for", () => {
    const wrong = { at: { lat: "1", lon: 2 }, even: 2 };
    expect(() => weather.use(wrong as never)).toThrow(alternatives);
    const checked = weather.outputSchema!.validate(wrong);
    expect(checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`)).toContain(alternatives);
  });

  it("says so once, if it is defined again with other options", () => {
    const again = defineTool({ ...weather, eager: true });
    for (const wrong of [
      { at: {}, even: 2 },
      { at: { city: "Oslo" }, even: 1 },
    ]) {
      const issuesOf = (tool: typeof weather) => tool.inputSchema.validate(wrong);
      expect(issuesOf(again)).toEqual(issuesOf(weather));
    }
  });

  it("says so of each definition by one and the same schema", () => {
    const inputSchema = z.object({ at });
    const [one, other] = [1, 2].map(() => defineTool({ name: "weather", inputSchema }));
    expect(other!.inputSchema).toBe(one!.inputSchema);
    expect(defineTool({ ...one!, eager: true }).inputSchema).toBe(one!.inputSchema);
  });

  it("has no exception for what is no JSON", () => {
    const checked = weather.inputSchema.validate({ at: { city: "Oslo" }, even: 1, big: 1n });
    expect(checked).toMatchObject({ ok: false, issues: [{ path: ["even"] }, { path: ["even"] }] });
    const cyclic: Record<string, unknown> = { at: { city: "Oslo" } };
    expect(weather.inputSchema.validate(Object.assign(cyclic, { even: cyclic }))).toMatchObject({ ok: false });
  });
});

it("takes a schema made by hand that is an instance of a class", () => {
  class Own {
    get jsonSchema() {
      return { type: "object", properties: { city: { type: "string" } } };
    }
    validate(value: unknown) {
      return { ok: true as const, value };
    }
  }
  const inputSchema = new Own();
  const tool = defineTool({ name: "own", inputSchema });
  expect(tool.inputSchema.jsonSchema).toEqual(inputSchema.jsonSchema);
  expect(tool.use({ city: "Oslo" }).input).toEqual({ city: "Oslo" });
});

const echo = defineTool({ name: "echo", inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

describe("defineTool()", () => {
  it("fills in what a definition leaves out", () => {
    expect(echo).toMatchObject({
      name: "echo",
      qualifiedName: "echo",
      description: undefined,
      outputSchema: undefined,
      mode: "internal",
      effect: "write",
      eager: false,
      repair: "syntax",
      metadata: {},
    });
    expect(Object.isFrozen(echo)).toBe(true);
    expect(Object.isFrozen(echo.metadata)).toBe(true);
  });

  it("hands a reading tool out early and mends its types", () => {
    const read = defineTool({ name: "read", inputSchema: { type: "object" }, effect: "read" });
    expect(read).toMatchObject({ effect: "read", eager: true, repair: "coerce", mode: "external" });
    const told = defineTool({ name: "read", inputSchema: {}, effect: "read", eager: false, repair: "off" });
    expect(told).toMatchObject({ eager: false, repair: "off" });
    const metadata = { icon: "pen" };
    const write = defineTool({ name: "write", inputSchema: {}, repair: "coerce", metadata });
    expect(write).toMatchObject({ effect: "write", eager: false, repair: "coerce", metadata });
    expect(write.metadata).not.toBe(metadata);
  });

  it("takes an output schema of any kind", () => {
    const { outputSchema } = defineTool({ name: "a", inputSchema: {}, outputSchema: z.object({ n: z.number() }) });
    expect(outputSchema?.jsonSchema).toMatchObject({ properties: { n: { type: "number" } } });
  });

  it.each([
    ["zod", z.array(z.string())],
    ["arktype", type("string[]")],
    ["JSON Schema", { type: "array", items: { type: "string" } }],
    ["JSON Schema with a type", jsonSchema<string[]>({ type: ["array", "null"], items: { type: "string" } })],
  ])("takes an output schema of any type: a list in %s", (_name, source) => {
    const { outputSchema } = defineTool({ name: "a", inputSchema: {}, outputSchema: source });
    expect(outputSchema!.validate(["x"])).toEqual({ ok: true, value: ["x"] });
    expect(outputSchema!.validate([1])).toMatchObject({ ok: false });
    // For both: the same source may have been read as an output schema before.
    const refused = () => defineTool({ name: "a", inputSchema: source });
    expect(refused).toThrow(/Tool a: inputSchema: the root is of type "array".*; arguments are an object/);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ["no name", { name: "" }, /1 to 128 characters/],
    ["a space in the name", { name: "get weather" }, /"get weather"/],
    ["a space after the name", { name: "delete_file " }, /"delete_file "/],
    ["a zero-width character in the name", { name: "delete\u200bfile" }, /without white space or control/],
    ["a name that is too long", { name: "x".repeat(129) }, /128/],
    ["a name that is no string", { name: 5 }, /got 5/],
    ["an effect that is none", { effect: "delete" }, /"read", "idempotent" or "write", got "delete"/],
    ["a description that is no text", { description: 5 }, /description is a text, got 5/],
    ["eager that is a text", { eager: "yes" }, /eager is a boolean, got "yes"/],
    ["a repair that is none", { repair: "json" }, /repair is "off", "syntax" or "coerce", got "json"/],
    ["metadata that is a text", { metadata: "v1" }, /metadata is an object, got "v1"/],
    ["an execute that is no function", { execute: "run" }, /execute is a function \(without one .*, got "run"/],
    ["a schema that is none", { inputSchema: "object" }, /Tool a: inputSchema: .*got a string/],
    ["an input that is a number", { inputSchema: type("number") }, /inputSchema: the root is of type "number"/],
    [
      "an input that refers to a number",
      { inputSchema: { $ref: "#/$defs/N", $defs: { N: { type: "number" } } } },
      /inputSchema: the root is of type "number"/,
    ],
    ["an input of two other types", { inputSchema: { type: ["number", "null"] } }, /of type "number", "null"/],
    ["a broken schema", { inputSchema: { $ref: "#/nowhere" } }, /Tool a: inputSchema: .*#\/nowhere/],
    ["a broken output schema", { outputSchema: { type: "dict" } }, /Tool a: outputSchema: .*"dict"/],
  ])("refuses %s", (_name, change, message) => {
    const definition = { name: "a", inputSchema: { type: "object" }, ...change };
    expect(() => defineTool(definition as never)).toThrow(
      expect.objectContaining({ code: "invalid_tool", message: expect.stringMatching(message) }),
    );
  });

  it("refuses what is no definition", () => {
    expect(() => defineTool(null as never)).toThrow(TypeError);
    expect(() => defineTool(undefined as never)).toThrow("defineTool() takes one object, got undefined");
    expect(() => defineTool("add" as never)).toThrow(TypeError);
  });
});

describe("a ToolUse made by hand", () => {
  it("carries the ids and metadata that it is given", () => {
    const use = echo.use({ text: "hi" }, { id: "call_123", metadata: { signature: "s" } });
    expect(use).toMatchObject({
      id: "call_123",
      invocationId: "call_123",
      name: "echo",
      input: { text: "hi" },
      argsText: '{"text":"hi"}',
      repairs: [],
      metadata: { signature: "s" },
      executed: false,
      state: "new",
      result: undefined,
      error: undefined,
    });
    expect(use.tool).toBe(echo);
  });

  it("gets an id of its own where none is given", () => {
    const [first, second] = [echo.use({ text: "a" }), echo.use({ text: "a" })];
    expect(first.id).toBeNull();
    expect(first.invocationId).not.toBe(second.invocationId);
    expect(echo.use({ text: "a" }, { id: "same", invocationId: "mine" }).invocationId).toBe("mine");
    expect(echo.use({ text: "a" }, { id: "" })).toMatchObject({ id: "", invocationId: expect.stringMatching(/./) });
  });

  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;

  it.each<[string, unknown, string]>([
    ["a BigInt", { n: 5n }, "must be a JSON value: Do not know how to serialize a BigInt"],
    ["a cycle", cycle, "must be a JSON value: Converting circular structure to JSON. Correct"],
  ])("refuses an input that JSON has not: %s", (_, input, said) => {
    const open = defineTool({ name: "open", inputSchema: { type: "object" } });
    const error = expect.objectContaining({ code: "invalid_input", message: expect.stringContaining(said) });
    expect(() => open.use(input)).toThrow(error);
  });

  it("hands the handler what the schema outputs", () => {
    const tool = defineTool({
      name: "shout",
      inputSchema: z.object({ text: z.string().transform((text) => text.toUpperCase()), times: z.number().default(2) }),
      execute: ({ text, times }) => text.repeat(times),
    });
    expect(tool.use({ text: "a" }).executeSync()).toBe("AA");
  });

  it("hands the handler its context: the ids of the call cannot be overwritten", () => {
    let seen: ToolContext | undefined;
    const tool = defineTool({ name: "look", inputSchema: {}, execute: (_input, context) => void (seen = context) });
    const { signal } = new AbortController();
    tool.use({}, { id: "call_1", invocationId: "run-0-0" }).executeSync({ signal, tenant: "t", toolCallId: "other" });
    expect(seen).toEqual({
      invocationId: "run-0-0",
      toolCallId: "call_1",
      toolName: "look",
      signal,
      tenant: "t",
      idempotencyKey: "run-0-0",
      attempt: 1,
      progress: expect.any(Function),
      undoData: expect.any(Function),
    });
  });

  it("takes what is undefined in a context for what is not given", async () => {
    let key: string | undefined;
    const tool = defineTool({
      name: "look",
      inputSchema: {},
      execute: async function* (_input, { idempotencyKey, attempt, undoData }) {
        key = idempotencyKey;
        undoData({});
        yield attempt;
      },
    });
    const names = ["idempotencyKey", "attempt", "progress", "undoData", "signal"];
    const context = Object.fromEntries(names.map((name) => [name, undefined]));
    await expect(tool.use({}, { invocationId: "run-0-0" }).execute(context)).resolves.toBe(1);
    expect(key).toBe("run-0-0");
  });

  it("runs a generator that is not async as one that is", async () => {
    const count = defineTool({
      name: "count",
      inputSchema: {},
      execute: function* () {
        yield 1;
        yield 2;
        return { counted: 2 };
      },
    });
    const seen: unknown[] = [];
    const told = { progress: (value: unknown) => seen.push(value) };
    await expect(count.use({}).execute(told)).resolves.toEqual({ counted: 2 });
    expect(seen).toEqual([1, 2]);
    const refused = { progress: () => Promise.reject(new Error("nobody is there")) };
    await expect(count.use({}).execute(refused)).rejects.toThrow("nobody is there");
    expect(() => count.use({}).executeSync()).toThrow(expect.objectContaining({ code: "async_tool" }));
  });

  it("waits for the promises that such a generator yields", async () => {
    const seen: unknown[] = [];
    const cleaned: string[] = [];
    const load = defineTool({
      name: "load",
      inputSchema: {},
      execute: function* () {
        try {
          yield Promise.resolve(1);
          yield Promise.reject(new Error("no network"));
        } finally {
          cleaned.push("closed");
        }
      },
    });
    const told = { progress: async (value: unknown) => void seen.push(value) };
    await expect(load.use({}).execute(told)).rejects.toThrow("no network");
    expect([seen, cleaned]).toEqual([[1], ["closed"]]);
  });

  it("keeps the result", async () => {
    const use = echo.use({ text: "hi" });
    const running = use.execute();
    expect(use).toMatchObject({ state: "running", executed: true, result: undefined });
    await running;
    expect(use).toMatchObject({ state: "done", executed: true, result: "hi", error: undefined });
  });

  it("runs once", async () => {
    let runs = 0;
    const count = defineTool({ name: "count", inputSchema: {}, execute: async () => ++runs });
    const use = count.use({}, { id: "call_9" });
    const outcomes = await Promise.allSettled([use.execute(), use.execute()]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(use.execute()).rejects.toThrow(
      expect.objectContaining({ code: "already_executed", message: expect.stringContaining("call_9 (count)") }),
    );
    expect(() => use.executeSync()).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/async_tool|already_executed/) }),
    );
    expect(runs).toBe(1);
  });

  it("leaves an external tool to its caller", async () => {
    const ask = defineTool({ name: "ask_user", inputSchema: z.object({ question: z.string() }) });
    const use = ask.use({ question: "?" });
    expect(ask.mode).toBe("external");
    const refusal = expect.objectContaining({
      code: "external_tool",
      message: expect.stringMatching(
        /ask_user is external.*caller executes it.*an execute function, and read\(\) the tools/,
      ),
    });
    await expect(use.execute()).rejects.toThrow(refusal);
    expect(() => use.executeSync()).toThrow(refusal);
    expect(use.executed).toBe(false);
  });

  it.each([
    ["needsApproval", { needsApproval: true }],
    ["a function that may ask", { needsApproval: () => false }],
    ["irreversible", { irreversible: true }],
  ])("asks nobody, so it runs no tool that needs approval before it is told that it was given: %s", async (_, rule) => {
    const contexts: object[] = [];
    const execute = (_input: unknown, context: object) => contexts.push(context);
    const refund = defineTool({ name: "refund", inputSchema: {}, ...rule, execute });
    const use = refund.use({});
    const refusal = expect.objectContaining({
      code: "needs_approval",
      message: expect.stringMatching(
        /refund needs approval: give the call to an executor.*execute\({ approved: true }\)/,
      ),
    });
    await expect(use.execute()).rejects.toThrow(refusal);
    await expect(use.execute({ approved: "yes" as never })).rejects.toThrow(refusal);
    expect(() => use.executeSync()).toThrow(refusal);
    expect(use).toMatchObject({ state: "new", executed: false });
    expect(contexts).toEqual([]);

    expect(await use.execute({ approved: true })).toBe(1);
    expect(refund.use({}).executeSync({ approved: true, tenant: "a" })).toBe(2);
    expect(contexts[1]).toMatchObject({ tenant: "a", toolName: "refund" });
    for (const context of contexts) expect(context).not.toHaveProperty("approved");
    await expect(use.execute()).rejects.toMatchObject({ code: "already_executed" });
  });

  it("needs no approval where the rule says so", async () => {
    const rule = { irreversible: true, needsApproval: false };
    const refund = defineTool({ name: "refund", inputSchema: {}, ...rule, execute: () => 1 });
    expect(await refund.use({}).execute()).toBe(1);
  });

  it("takes null for no context, as plain JavaScript may say it", async () => {
    const now = defineTool({ name: "now", inputSchema: {}, execute: () => 1 });
    expect(await now.use({}).execute(null as never)).toBe(1);
    expect(now.use({}).executeSync(null as never)).toBe(1);
  });

  it("takes the outcome of an external tool from its caller, once", async () => {
    const ask = defineTool({ name: "ask_user", inputSchema: z.object({ question: z.string() }) });
    const use = ask.use({ question: "?" });
    use.provideResult("yes");
    expect(use).toMatchObject({ executed: true, state: "done", result: "yes" });
    const twice = expect.objectContaining({ code: "already_executed" });
    expect(() => use.provideResult("no")).toThrow(twice);
    expect(() => use.provideError("no")).toThrow(twice);
    expect(use.result).toBe("yes");

    const early = ask.use({ question: "?" });
    expect(() => early.provideResult(Promise.resolve("yes"))).toThrow(/await it first/);
    expect(early.executed).toBe(false);

    const failed = ask.use({ question: "?" }, { id: "call_1" });
    failed.provideError(new Error("the user has left"));
    expect(failed).toMatchObject({
      state: "failed",
      error: { code: "execution_failed", id: "call_1", message: "Tool ask_user failed: the user has left" },
    });

    const told = ask.use({ question: "?" });
    const error = new ToolCallError("denied", "Nobody is to be asked.", told);
    told.provideError(error);
    expect(told.error).toBe(error);

    // That of another call, which the handler has made itself, say, would answer that one.
    const outer = ask.use({ question: "?" }, { id: "call_2" });
    outer.provideError(error);
    expect(outer.error).toMatchObject({ code: "execution_failed", id: "call_2", cause: error });
  });

  it.each(["execute", "executeSync"] as const)(
    "%s() of a handler that throws says which call and why, without the stack",
    async (how) => {
      const cause = new Error("disk full");
      const fail = defineTool({
        name: "save",
        inputSchema: {},
        execute: (): string => {
          throw cause;
        },
      });
      const use = fail.use({}, { id: "call_7" });
      const error: unknown = await (async () => use[how]())().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (!isToolError(error)) throw new Error("no ToolError");
      expect(error).toBeInstanceOf(ToolCallError);
      expect(error).toMatchObject({
        code: "execution_failed",
        id: "call_7",
        message: "Tool save failed: disk full",
        cause,
      });
      expect(error.message).not.toContain("at ");
      expect(use).toMatchObject({ state: "failed", executed: true, result: undefined, error });
    },
  );

  it.each<[string, unknown, string]>([
    ["a text", "no disk", "no disk"],
    ["nothing", undefined, "undefined"],
    ["an object with a message", { message: "no disk" }, "no disk"],
    ["an object without one", { code: 28 }, "an object without a message was thrown"],
    ["an error without one", new RangeError(""), "RangeError"],
    ["an error whose message is none", Object.assign(new Error("no"), { message: Symbol("x") }), "cannot be shown"],
    ["what has no text", Object.create(null), "cannot be shown"],
  ])("says what a handler threw: %s", async (_, thrown, said) => {
    const fail = defineTool({ name: "save", inputSchema: {}, execute: async () => Promise.reject(thrown) });
    const use = fail.use({});
    const error: unknown = await use.execute().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "execution_failed" });
    expect((error as Error).cause).toBe(thrown);
    expect((error as Error).message).toMatch(new RegExp(`^Tool save failed: .*${said}$`));
    expect(use).toMatchObject({ state: "failed", error });
  });

  it("fails for nobody but who asks, if nobody awaits it", async () => {
    const fail = defineTool({ name: "save", inputSchema: {}, execute: async () => Promise.reject(new Error("full")) });
    const use = fail.use({});
    void use.execute();
    await new Promise((resolve) => setTimeout(resolve, 1)); // an unhandled rejection would fail the test run
    expect(use.error).toMatchObject({ message: "Tool save failed: full" });
  });

  it("executeSync() of an async handler does not start it", () => {
    let started = false;
    const later = defineTool({ name: "later", inputSchema: {}, execute: async () => void (started = true) });
    const use = later.use({});
    expect(() => use.executeSync()).toThrow(
      expect.objectContaining({ code: "async_tool", message: expect.stringContaining("needs execute()") }),
    );
    expect(started).toBe(false);
    expect(use.executed).toBe(false);
  });

  it("executeSync() of a handler that turns out to be async says so, and swallows its failure", async () => {
    const later = defineTool({ name: "later", inputSchema: {}, execute: () => Promise.reject(new Error("late")) });
    const use = later.use({});
    expect(() => use.executeSync()).toThrow(expect.objectContaining({ code: "async_tool" }));
    expect(use.state).toBe("failed");
    await new Promise((resolve) => setTimeout(resolve, 1)); // an unhandled rejection would fail the test run
  });

  it("takes `__proto__` in an input for a property", () => {
    const open = defineTool({ name: "open", inputSchema: { type: "object" }, execute: (input) => Object.keys(input) });
    const use = open.use(JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(use.executeSync()).toEqual(["__proto__"]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
