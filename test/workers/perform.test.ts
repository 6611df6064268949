/** What a worker does with a job, without a queue: with one, it is in `bullmq.test.ts`. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/errors.ts";
import { knownTools } from "../../src/execute/known-tools.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { defineTool, type Tool, type ToolContext, type ToolDefinition } from "../../src/tool/tool.ts";
import { jobOf } from "../../src/workers/job.ts";
import { perform, type JobStart, type Workshop } from "../../src/workers/perform.ts";
import { failing } from "../execute/support.ts";
import { soon } from "../soon.ts";

const UNKNOWN = /^\[outcome_unknown\] It was started, and it is not known what came of it/;
const down = () => new ToolError("store_failed", "Down.");

/** A worker with one tool whose handler notes each run, and a call of that tool. */
function setUp(change: Partial<ToolDefinition<any, any>> = {}, shop: Partial<Workshop> = {}) {
  const ran: unknown[] = [];
  const { execute = () => ({ ok: true }), ...rest } = change;
  const tool = defineTool({
    name: "act",
    inputSchema: z.object({ n: z.number() }),
    ...rest,
    execute: (input: any, context: any) => {
      ran.push(input);
      return execute(input, context);
    },
  }) as Tool;
  const store = memoryStore();
  const context = { idempotencyKey: "run/a", runId: "run", invocationId: "a", toolCallId: null } as ToolContext;
  const work = async (start: Partial<JobStart> = {}, more: Partial<Workshop> = {}) =>
    perform(
      {
        tools: knownTools([tool]),
        store,
        worker: "w",
        maxOutputBytes: 1000,
        errorMessage: (error) => (error as Error).message,
        ...shop,
        ...more,
      },
      {
        data: await jobOf(tool, { n: 1 }, context, {}),
        attempt: 1,
        signal: new AbortController().signal,
        onProgress: async () => {},
        ...start,
      },
    );
  const record = async () => (await store.get<any>("job/run%2Fa"))?.value;
  return { tool, ran, store, context, work, record };
}

describe("a write", () => {
  it("is executed once, by whichever worker begins it: the others have its result", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { work, ran, record } = setUp({ execute: () => promise });
    const first = work();
    await soon(() => expect(ran).toHaveLength(1));
    expect(await record()).toEqual({ status: "started", worker: "w", at: expect.any(Number) });
    await expect(work({}, { worker: "other" })).rejects.toThrow(UNKNOWN);
    resolve("done");
    expect(await first).toEqual({ output: '"done"' });
    expect(await work({ attempt: 2 })).toEqual({ output: '"done"' });
    expect(ran).toEqual([{ n: 1 }]);
    expect(await record()).toEqual({ status: "done", result: { output: '"done"' }, at: expect.any(Number) });
  });

  it("that has failed is not tried again, whatever the queue says", async () => {
    const { work, ran, record } = setUp({ execute: () => Promise.reject(new Error("no")) });
    await expect(work()).rejects.toMatchObject({ message: "[execution_failed] no" });
    expect(await record()).toMatchObject({ status: "failed", reason: "[execution_failed] no" });
    await expect(work({ attempt: 2 })).rejects.toMatchObject({ message: "[execution_failed] no", isFinal: true });
    expect(ran).toHaveLength(1);
  });

  it("does not begin where its record cannot be written: at the first attempt that is known", async () => {
    const { work, ran, store } = setUp();
    const broken = { store: failing(store, (verb) => (verb === "put" ? down() : undefined)) };
    await expect(work({}, broken)).rejects.toThrow("[store_failed] act was not executed: its record cannot be read.");
    await expect(work({ attempt: 2 }, broken)).rejects.toThrow(UNKNOWN);
    expect(ran).toEqual([]);
  });

  it("has its result though that cannot be recorded, and is not begun again then", async () => {
    const { work, ran, store } = setUp();
    const broken = { store: failing(store, (verb) => (verb === "put" && ran.length > 0 ? down() : undefined)) };
    expect(await work({}, broken)).toEqual({ output: '{"ok":true}' });
    await expect(work({ attempt: 2 })).rejects.toThrow(UNKNOWN);
    expect(ran).toHaveLength(1);
  });

  it.each([
    ["result", () => 7],
    ["failure", () => Promise.reject(new Error("no"))],
  ])("has its %s on record though the store fails for a moment", async (_, execute) => {
    const { work, ran, store, record } = setUp({ execute });
    let failures = 0;
    const isDown = (verb: string) => verb === "put" && ran.length > 0 && ++failures <= 2;
    const first = await work({}, { store: failing(store, (verb) => (isDown(verb) ? down() : undefined)) }).catch(
      String,
    );
    expect(await record()).not.toMatchObject({ status: "started" });
    expect(await work({ attempt: 2 }).catch(String)).toEqual(first);
    expect(ran).toHaveLength(1);
  });

  it("has its failure though that cannot be recorded, and is not begun again then", async () => {
    const { work, ran, store } = setUp({ execute: () => Promise.reject(new Error("no")) });
    const broken = { store: failing(store, (verb) => (verb === "put" && ran.length > 0 ? down() : undefined)) };
    await expect(work({}, broken)).rejects.toThrow("[execution_failed] no");
    await expect(work({ attempt: 2 })).rejects.toThrow(UNKNOWN);
    expect(ran).toHaveLength(1);
  });

  it.each([
    ["result", () => 7],
    ["failure", () => Promise.reject(new Error("no"))],
  ])("tells its %s when that is on record", async (_, execute) => {
    const { work, store, record } = setUp({ execute });
    const slow: Store = {
      ...store,
      put: async (...args) => {
        await new Promise((resolve) => setImmediate(resolve));
        return store.put(...args);
      },
    };
    await work({}, { store: slow }).catch(() => {});
    expect(await record()).not.toMatchObject({ status: "started" });
  });

  it.each<[string, (data: any) => object, Partial<Workshop>]>([
    ["given up", (data) => ({ ...data, isGivenUp: true }), {}],
    ["called by another definition", (data) => ({ ...data, definition: "sha256:00" }), {}],
    ["of a tool that is not here any more", (data) => data, { tools: knownTools([]) }],
  ])("that another worker has begun is not told as not executed where it is %s", async (_, edit, more) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { work, ran, tool, context } = setUp({ execute: () => promise });
    const first = work();
    await soon(() => expect(ran).toHaveLength(1));
    const again = { data: edit(await jobOf(tool, { n: 1 }, context, {})), attempt: 2 };
    await expect(work(again, more)).rejects.toThrow(UNKNOWN);
    resolve("done");
    await first;
    expect(await work(again, more)).toEqual({ output: '"done"' });
    expect(ran).toHaveLength(1);
  });

  it("begins where another worker's record is gone once it is read, as when its run is forgotten", async () => {
    const { work, ran, store } = setUp();
    let isFirst = true;
    const conflict = new ToolError("version_conflict", "There is one.");
    const forgetting = failing(store, (verb) =>
      verb === "put" && isFirst ? ((isFirst = false), conflict) : undefined,
    );
    expect(await work({}, { store: forgetting })).toEqual({ output: '{"ok":true}' });
    expect(ran).toHaveLength(1);
  });

  it("does not begin on a record that another version has written", async () => {
    const { work, ran, store } = setUp();
    await store.put("job/run%2Fa", { status: "paused" });
    await expect(work()).rejects.toThrow(UNKNOWN);
    expect(ran).toEqual([]);
  });
});

it.each(["read", "idempotent"] as const)("a tool of effect %s is executed again, without a record", async (effect) => {
  const { work, ran, record } = setUp({ effect }, { store: undefined });
  await work();
  await work({ attempt: 2 });
  expect(ran).toHaveLength(2);
  expect(await record()).toBeUndefined();
});

describe("a job that does not begin, and leaves no record", () => {
  it("handed out again, at a worker without a store, where nobody can have begun a write", async () => {
    const { work, ran, tool, context } = setUp({ effect: "read" });
    const data = { ...(await jobOf(tool, { n: 1 }, context, {})), isGivenUp: true };
    await expect(work({ data, attempt: 2 }, { store: undefined })).rejects.toThrow(/^\[aborted\]/);
    expect(ran).toEqual([]);
  });

  it.each<[string, (data: any) => unknown, string]>([
    ["no data", () => undefined, "[invalid_call] This job cannot be performed: it has no data."],
    ["a text", () => "act", "it has no data"],
    ["a newer version", (data) => ({ ...data, version: 2 }), "it was written by a newer version (2)"],
    ["no version", ({ version: _, ...data }) => data, "it is damaged"],
    ["no key", ({ context: { idempotencyKey: _, ...context }, ...data }) => ({ ...data, context }), "it is damaged"],
    ["an empty key", (data) => ({ ...data, context: { ...data.context, idempotencyKey: "" } }), "it is damaged"],
    ["no context", ({ context: _, ...data }) => data, "it is damaged"],
    ["given up", (data) => ({ ...data, isGivenUp: true }), "[aborted] It was given up before this worker began it."],
    [
      "a tool that is not here",
      (data) => ({ ...data, tool: "other" }),
      '[unknown_tool] The workers have no tool "other"',
    ],
    ["another definition", (data) => ({ ...data, definition: "sha256:00" }), "[definition_changed] The workers have"],
    ["an input that does not fit", (data) => ({ ...data, input: '{"n":"1"}' }), "[invalid_input] The input of act"],
    ["an input that is no JSON", (data) => ({ ...data, input: "{" }), "[invalid_input] The input of act"],
  ])("%s", async (_, edit, message) => {
    const { work, ran, store, tool, context } = setUp();
    const data = edit(await jobOf(tool, { n: 1 }, context, {}));
    await expect(work({ data })).rejects.toMatchObject({ message: expect.stringContaining(message), isFinal: true });
    expect(ran).toEqual([]);
    expect(await store.list("")).toEqual([]);
  });

  it("a tool that is the caller's to execute", async () => {
    const { work, ran } = setUp();
    const external = defineTool({ name: "act", inputSchema: z.object({ n: z.number() }) });
    await expect(work({}, { tools: knownTools([external]) })).rejects.toThrow(
      '[unknown_tool] The workers have no tool "act"',
    );
    expect(ran).toEqual([]);
  });
});

it.each([
  ["too large", "x".repeat(9 * 1024 * 1024), "too_large", "its input has more than 8388608 bytes"],
  ["nothing that JSON can say", 5n, "not_serializable", "its input is nothing that JSON can say"],
])("an input that is %s makes no job", async (_, input, code, message) => {
  const { tool, context } = setUp({ inputSchema: z.any() });
  await expect(jobOf(tool, input, context, {})).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
  });
});

describe("what a job comes to", () => {
  it.each([
    ["write", " It may have had its effect nevertheless."],
    ["read", ""],
  ] as const)("a timeout of a %s", async (effect, mayHave) => {
    const { work } = setUp({ effect, timeoutMs: 5, execute: () => new Promise(() => {}) });
    const message = `[timeout] It did not end within 5 ms.${mayHave}`;
    await expect(work()).rejects.toMatchObject({ message, isFinal: false });
  });

  it("an abort before it began, and one while it ran", async () => {
    const leave = new AbortController();
    const { work, ran } = setUp({ effect: "read", execute: () => (leave.abort(), new Promise(() => {})) });
    const message = "[aborted] It was aborted while it ran.";
    await expect(work({ signal: leave.signal })).rejects.toMatchObject({ message, isFinal: true });
    const before = "[aborted] It was aborted before it was executed.";
    await expect(work({ signal: leave.signal })).rejects.toMatchObject({ message: before, isFinal: true });
    expect(ran).toHaveLength(1);
  });

  it("an output that cannot be sent was executed nevertheless, and is not again", async () => {
    const { work, ran } = setUp({ execute: () => "x".repeat(2000) });
    await expect(work()).rejects.toThrow(/^\[output_too_large\] It was executed, but /);
    await expect(work({ attempt: 2 })).rejects.toThrow(/^\[output_too_large\] It was executed, but /);
    expect(ran).toHaveLength(1);
  });

  it("what the handler keeps for undoing, its progress, and what it is told", async () => {
    let told: any;
    const progress: string[] = [];
    const { work } = setUp({
      execute: async (_: unknown, context: any) => {
        told = context;
        context.undoData({ id: 7 });
        await context.progress("half");
        await context.progress(() => {});
        return null;
      },
    });
    const onProgress = async (text: string) => void progress.push(text);
    expect(await work({ attempt: 3, onProgress })).toEqual({ output: "null", undoData: '{"id":7}' });
    expect(progress).toEqual(['"half"']);
    expect(told).toMatchObject({
      idempotencyKey: "run/a",
      runId: "run",
      invocationId: "a",
      toolName: "act",
      attempt: 3,
    });
  });

  it("progress of a handler that was given up is not told any more", async () => {
    const progress: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const { work } = setUp({
      effect: "read",
      timeoutMs: 5,
      execute: async (_: unknown, { signal, progress: tell }: any) => {
        await new Promise<void>((done) => signal.addEventListener("abort", () => done()));
        await tell("late");
        resolve();
      },
    });
    await expect(work({ onProgress: async (text) => void progress.push(text) })).rejects.toThrow("[timeout]");
    await promise;
    expect(progress).toEqual([]);
  });
});
