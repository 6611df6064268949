import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, toolsOf, tool } from "../../src/index.ts";

const inputSchema = z.object({ id: z.string() });

describe("the rules of a tool", () => {
  it("stand on the tool, those that are given and no others", () => {
    const plain = defineTool({ name: "a", inputSchema, execute: () => 1 });
    expect(Object.keys(plain)).not.toContain("timeoutMs");
    const undo = () => {};
    const full = defineTool({
      name: "a",
      inputSchema,
      execute: () => 1,
      behaviors: ["doc_edit"],
      needsApproval: ({ id }) => id.length > 3,
      approvalMessage: ({ id }) => `Delete ${id}?`,
      timeoutMs: 5,
      sequential: true,
      undo,
      undoTtlMs: 7,
      requires: ["b"],
      maxCallsPerRun: 2,
    });
    expect(full).toMatchObject({ behaviors: ["doc_edit"], timeoutMs: 5, sequential: true, undoTtlMs: 7, undo });
    expect(Object.isFrozen(full.behaviors)).toBe(true);
  });

  it("stand on a decorated method, too", () => {
    class Files {
      @tool({ inputSchema, needsApproval: true, irreversible: true, approvalMessage: ({ id }) => `Delete ${id}?` })
      remove({ id }: { id: string }) {
        return id;
      }
    }
    expect(toolsOf(new Files())[0]).toMatchObject({ needsApproval: true, irreversible: true });
  });

  it.each<[string, object, RegExp]>([
    ["behaviors that are no names", { behaviors: [1] }, /behaviors is a list of names, got \[1\]/],
    ["behaviors that are no list", { behaviors: "doc_edit" }, /behaviors is a list of names, got "doc_edit"/],
    ["needsApproval that is a text", { needsApproval: "yes" }, /needsApproval is a boolean or a function/],
    ["an empty approvalMessage", { approvalMessage: "" }, /approvalMessage/],
    ["a timeout of 0", { timeoutMs: 0 }, /timeoutMs is a positive number/],
    ["a timeout that no timer can wait", { timeoutMs: Infinity }, /2147483647, got Infinity/],
    ["a timeout that is a bigint", { timeoutMs: 5n }, /timeoutMs is a positive number of milliseconds.*got 5/],
    ["a time to undo that has no end", { undo: () => {}, undoTtlMs: Infinity }, /undoTtlMs.*got Infinity/],
    ["no time to undo", { undo: () => {}, undoTtlMs: 0 }, /undoTtlMs.*got 0/],
    ["a time to undo that is a text", { undo: () => {}, undoTtlMs: "5" }, /undoTtlMs.*got "5"/],
    ["retries of a write", { retries: 1 }, /retries are for effect "read" and "idempotent"/],
    ["half a retry", { retries: 0.5, effect: "read" }, /retries is a whole number/],
    ["an undo that is no function", { undo: true }, /undo is a function, got true/],
    ["an undo that is a symbol", { undo: Symbol("undo") }, /undo is a function, got symbol/],
    [
      "behaviors that are a function",
      { behaviors: () => ["doc_edit"] },
      /behaviors is a list of names, got a function/,
    ],
    ["irreversible with undo", { irreversible: true, undo: () => {} }, /irreversible and has an undo/],
    ["requires that is a number", { requires: 3 }, /requires is the name of a tool/],
    ["a rule that does not exist", { needApproval: true }, /there is no option "needApproval".*metadata/],
    ["a rule of the prototype", { constructor: true }, /there is no option "constructor"/],
    ["other libraries' word for the schema", { parameters: {} }, /"parameters"\. Here it is called inputSchema\.$/],
    ["other libraries' word for the function", { handler: () => 1 }, /"handler"\. Here it is called execute\.$/],
    ["maxCallsPerRun below 0", { maxCallsPerRun: -1 }, /maxCallsPerRun/],
  ])("refuses %s", (_, change, message) => {
    expect(() => defineTool({ name: "a", inputSchema, execute: () => 1, ...change } as never)).toThrow(
      expect.objectContaining({ code: "invalid_tool", message: expect.stringMatching(message) }),
    );
  });
});

it("a tool defined again, with its own fields and some left out, is a definition", () => {
  const rules = { timeoutMs: 5, requires: "c", approvalMessage: "Sure?" };
  const first = defineTool({ name: "a", inputSchema, ...rules, needsApproval: true, execute: () => 1 });
  const second = defineTool({ ...first, name: "b", needsApproval: undefined, old: undefined } as never);
  expect(second).toMatchObject({ name: "b", qualifiedName: "b", ...rules });
  expect(second).not.toHaveProperty("needsApproval");
});

describe("an async function* handler", () => {
  const count = defineTool({
    name: "count",
    inputSchema: z.object({ to: z.number() }),
    execute: async function* ({ to }) {
      for (let n = 1; n <= to; n++) yield n;
      return `counted to ${to}`;
    },
  });
  const last = defineTool({
    name: "last",
    inputSchema: z.object({}),
    execute: async function* () {
      yield "half";
      yield "all";
    },
  });

  it("yields progress and returns its result", async () => {
    const told: unknown[] = [];
    const use = count.use({ to: 3 });
    const result: string = await use.execute({ progress: async (value) => void told.push(value) });
    expect(result).toBe("counted to 3");
    expect(told).toEqual([1, 2, 3]);
    expect(use).toMatchObject({ state: "done", result: "counted to 3" });
  });

  it("that returns nothing comes to the last it yielded", async () => {
    const result: string | undefined = await last.use({}).execute();
    expect(result).toBe("all");
  });

  it("is not for executeSync(), which does not begin it", () => {
    const use = count.use({ to: 1 });
    expect(() => use.executeSync()).toThrow(expect.objectContaining({ code: "async_tool" }));
    expect(use.state).toBe("new");
    const hidden = defineTool({
      name: "b",
      inputSchema: z.object({}),
      execute: (_, context) => last.execute!({}, context),
    });
    const other = hidden.use({});
    expect(() => other.executeSync()).toThrow(expect.objectContaining({ code: "async_tool" }));
    expect(other.state).toBe("failed");
  });

  const slow = (clean: () => void) =>
    defineTool({
      name: "slow",
      inputSchema: z.object({}),
      execute: async function* () {
        try {
          for (;;) yield 1;
        } finally {
          clean();
        }
      },
    });

  it("fails when it throws, and ends when its caller has given up", async () => {
    let cleaned = false;
    const controller = new AbortController();
    const use = slow(() => (cleaned = true)).use({});
    const running = use.execute({
      signal: controller.signal,
      progress: async () => controller.abort(new Error("enough")),
    });
    await expect(running).rejects.toMatchObject({ code: "execution_failed", message: "Tool slow failed: enough" });
    expect(cleaned).toBe(true);
  });

  it("ends, with its finally blocks, when nobody can be told of its progress", async () => {
    let cleaned = false;
    const cleaning = slow(() => {
      cleaned = true;
      throw new Error("no more");
    });
    const running = cleaning.use({}).execute({ progress: () => Promise.reject(new Error("the socket is closed")) });
    await expect(running).rejects.toMatchObject({ message: "Tool slow failed: the socket is closed" });
    expect(cleaned).toBe(true);
  });

  it("leaves other iterables alone: a stream is a result", async () => {
    const stream = new ReadableStream();
    const give = defineTool({ name: "give", inputSchema: z.object({}), execute: () => stream });
    expect(await give.use({}).execute()).toBe(stream);
  });
});

describe("use.take()", () => {
  const noop = defineTool({ name: "noop", inputSchema: z.object({}), execute: () => "ran" });

  it("keeps everybody else from running or answering the call", async () => {
    const use = noop.use({});
    const handle = use.take();
    expect(use.state).toBe("running");
    const refused = expect.objectContaining({ code: "already_executed" });
    await expect(use.execute()).rejects.toThrow(refused);
    expect(() => use.provideResult("other")).toThrow(refused);
    expect(() => use.take()).toThrow(refused);
    handle.finish("done elsewhere");
    expect(use).toMatchObject({ state: "done", result: "done elsewhere" });
  });

  it("can be given back", async () => {
    const use = noop.use({});
    use.take().release();
    expect(use).toMatchObject({ state: "new", executed: false });
    expect(await use.execute()).toBe("ran");
  });
});
