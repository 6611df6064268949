/** What a long run costs, counted in what is read from the store: never in time. */
import { describe, expect, it } from "vitest";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { until } from "../soon.ts";
import { counted, external, scripted, type ScriptedTurn } from "./script.ts";

const conversationId = "long";
const ask = external("ask");
const calling = (calls: number): ScriptedTurn => ({
  calls: Array.from({ length: calls }, (_, n) => ({ name: "ask", args: { n } })),
});

/** A store that counts what it is asked for, and what it gives. */
function counting(inner: Store = memoryStore()) {
  let entries = 0;
  const store: Store = {
    ...inner,
    get(key) {
      entries++;
      return inner.get(key);
    },
    async list(...args) {
      const found = await inner.list<any>(...args);
      entries += 1 + found.length;
      return found;
    },
  };
  return { store, since: (before: number) => entries - before, read: () => entries };
}

/** How much is read for each result of a turn with so many calls, behind so many turns before it. */
async function costs({ turns, calls, isElsewhere }: { turns: number; calls: number; isElsewhere: boolean }) {
  const { store, read, since } = counting();
  const model = scripted(...Array.from({ length: turns }, () => calling(1)), calling(calls));
  const make = () => new Orchestrator({ model, tools: [ask], store, maxSteps: 1_000 });
  const orchestrator = make();
  let result = await orchestrator.run({ conversationId, input: "Go" });
  while (result.pendingToolCalls.length < calls) {
    const [call] = result.pendingToolCalls;
    result = await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: call!.id, result: 1 }] });
  }
  const taker = isElsewhere ? make() : orchestrator;
  const each: number[] = [];
  for (const { id: toolCallId } of result.pendingToolCalls) {
    const before = read();
    await taker.provideToolResult(conversationId, { toolCallId, result: 1 });
    each.push(since(before));
  }
  return { each, orchestrator, taker, first: result.pendingToolCalls[0]!.id, read, since };
}

it.each([false, true])(
  "takes a result at the same cost however long the run is (elsewhere: %s)",
  async (isElsewhere) => {
    const { each } = await costs({ turns: 0, calls: 2, isElsewhere });
    const long = await costs({ turns: 60, calls: 2, isElsewhere });
    expect(long.each).toEqual(each);
  },
);

it.each([false, true])(
  "takes the results of a turn, one after the other, at the same cost (elsewhere: %s)",
  async (isElsewhere) => {
    const { each } = await costs({ turns: 1, calls: 100, isElsewhere });
    expect(Math.max(...each)).toBeLessThan(8);
  },
);

it("refuses what comes a second time, of this turn or of an old one, at the same cost", async () => {
  const { orchestrator, taker, first, read, since } = await costs({ turns: 60, calls: 50, isElsewhere: false });
  const { messages } = (await orchestrator.get(conversationId))!;
  expect(messages.length).toBe(1 + 60 * 2 + 1);
  const again = async (toolCallId: string) => {
    const before = read();
    await expect(taker.provideToolResult(conversationId, { toolCallId, result: 1 })).rejects.toMatchObject({
      code: "already_answered",
    });
    return since(before);
  };
  // Row 1 is the first turn of the run.
  const old = (await orchestrator.get(conversationId))!.tree.runs[0]!.children[0]!.children[0]!.id;
  expect(await again(old)).toBeLessThan(8);
  expect(await again(first)).toBeLessThan(8);
  const before = read();
  await expect(taker.provideToolResult(conversationId, { toolCallId: "nobody-1-1-0-0-0", result: 1 })).rejects.toThrow(
    expect.objectContaining({ code: "unknown_call" }),
  );
  expect(since(before)).toBeLessThan(8);
});

it("settles a turn with one look at each of its results", async () => {
  const { orchestrator, read, since } = await costs({ turns: 0, calls: 100, isElsewhere: true });
  const before = read();
  expect(await orchestrator.resume(conversationId)).toMatchObject({ status: "awaiting_tool_results" });
  expect(since(before)).toBeLessThan(150);
});

it("keeps of a hundred conversations what it has read, and takes the results of more", async () => {
  const { store, read, since } = counting();
  const orchestrator = new Orchestrator({ model: scripted(calling(2)), tools: [ask], store });
  const runs = [];
  for (let n = 0; n < 120; n++) runs.push(await orchestrator.run({ conversationId: `c${n}`, input: "Go" }));
  for (const at of [0, 1]) {
    const before = read();
    for (const { conversationId: id, pendingToolCalls } of runs) {
      await orchestrator.provideToolResult(id, { toolCallId: pendingToolCalls[at]!.id, result: 1 });
    }
    expect(since(before)).toBeLessThan(120 * 5);
  }
  for (const { conversationId: id, pendingToolCalls } of runs) {
    await expect(
      orchestrator.provideToolResult(id, { toolCallId: pendingToolCalls[0]!.id, result: 1 }),
    ).rejects.toMatchObject({ code: "already_answered" });
  }
});

describe("a long conversation", () => {
  /** Counts how often a field of a stored row is read, and its messages copied. */
  function watching() {
    const inner = memoryStore();
    let looks = 0;
    const watchedList = (messages: readonly unknown[]): readonly unknown[] => {
      const slice = (...range: number[]) => (looks++, watchedList(messages.slice(...range)));
      return Object.defineProperty([...messages], "slice", { value: slice });
    };
    const watched = ({ at, messages, ...row }: { at: number; messages: unknown[] }) => ({
      ...row,
      messages: watchedList(messages),
      get at() {
        looks++;
        return at;
      },
    });
    const list: Store["list"] = async (...args) => {
      const entries = await inner.list<any>(...args);
      return args[0].startsWith("run-row/") ? entries.map((one) => ({ ...one, value: watched(one.value) })) : entries;
    };
    const store: Store = { ...inner, list };
    return { store, looks: () => looks };
  }

  /** How often each row is looked at by `get()`. */
  async function looksPerRow(runs: number, rewindTo?: (run: number) => number | undefined): Promise<number> {
    const { store, looks } = watching();
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store });
    for (let run = 0; run < runs; run++) {
      await orchestrator.run({ conversationId, input: "Hello", rewindTo: rewindTo?.(run) });
    }
    const before = looks();
    expect((await orchestrator.get(conversationId))!.tree.runs).toHaveLength(runs);
    return (looks() - before) / (2 * runs);
  }

  it("of many runs is shown with as many looks at each row as one of few", async () => {
    expect(await looksPerRow(100)).toBeLessThan(1.5 * (await looksPerRow(10)));
  });

  it("that was taken back time and again is not copied each time", async () => {
    // The second half says the last message of the first half again.
    const half = (runs: number) => (run: number) => (run < runs / 2 ? undefined : runs - 2);
    expect(await looksPerRow(100, half(100))).toBeLessThan(1.5 * (await looksPerRow(10, half(10))));
  });

  it("is read by a wait only where it is resumed, however often its end is looked at", async () => {
    const inner = memoryStore();
    let rows = 0;
    let waits = 0;
    const store: Store = {
      ...inner,
      async list(...args) {
        const found = await inner.list<any>(...args);
        if (args[0].startsWith("run-row/")) rows += found.length;
        return found;
      },
      subscribe(prefix, listener) {
        if (prefix.startsWith("run-answer/")) waits++;
        return inner.subscribe(prefix, listener);
      },
    };
    const turns = Array.from({ length: 50 }, (): ScriptedTurn => ({ text: "Hi." }));
    const model = scripted(...turns, calling(3), { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [ask], store });
    for (let turn = 0; turn < 50; turn++) await orchestrator.run({ conversationId, input: "Hello" });
    const { pendingToolCalls: calls } = await orchestrator.run({ conversationId, input: "Go" });
    expect(calls).toHaveLength(3);
    rows = 0;
    const waiting = orchestrator.waitAndResume(conversationId);
    for (const [at, { id: toolCallId }] of calls.entries()) {
      await until(() => waits > at);
      expect(rows).toBe((at + 1) * 102);
      await orchestrator.provideToolResult(conversationId, { toolCallId, result: 1 });
    }
    expect(await waiting).toMatchObject({ status: "completed", content: "Done." });
  });
});

it("asks once for each principal what it may decide, however many decisions it brings", async () => {
  const { store, read, since } = counting();
  const model = scripted(
    { calls: Array.from({ length: 40 }, (_, n) => ({ name: "act", args: { n } })) },
    { text: "Done." },
  );
  const { tool, inputs } = counted("act", { needsApproval: true });
  let asked = 0;
  const approvals = new ApprovalService({ store, mayDecide: () => ++asked > 0 });
  const orchestrator = new Orchestrator({ model, tools: [tool], store, approvals });
  const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Go" });
  const before = read();
  const decided = pendingApprovals.map(({ id }, at) => ({
    id,
    decision: "approve" as const,
    principal: { id: at % 2 === 0 ? "ada" : "bob" },
  }));
  expect(await orchestrator.resume(conversationId, { approvals: decided })).toMatchObject({ status: "completed" });
  expect(inputs).toHaveLength(40);
  // Each list asks about each request, and each decision about its own.
  expect(asked).toBe(2 * 40 + 40);
  expect(since(before)).toBeLessThan(40 * 25);
});

it("looks at the names of its tools as often for a turn with many calls as for one with a single call", async () => {
  let looks = 0;
  const watched = ({ name, ...tool }: Tool) =>
    Object.defineProperty(tool as Tool, "name", { enumerable: true, get: () => (looks++, name) });
  const made = Array.from({ length: 50 }, (_, n) => counted(`act_${n}`));
  const tools = [...made.map(({ tool }) => tool), ask].map(watched);
  const looksFor = async (calls: number) => {
    const all = Array.from({ length: calls }, (_, n) => ({ name: "act_7", args: { n } }));
    const model = scripted({ calls: all }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: { tools: () => [...tools] }, store: memoryStore() });
    looks = 0;
    expect(await orchestrator.run({ input: "Go" })).toMatchObject({ status: "completed" });
    return looks;
  };
  const one = await looksFor(1);
  expect((await looksFor(100)) - one).toBeLessThan(99 * 20);
  expect(made[7]!.inputs).toHaveLength(101);
});
