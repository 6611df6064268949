/** What a process keeps of runs that have ended, besides what is in the store. */
import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { Orchestrator, type RunEvent } from "../../src/run/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { counted, external, scripted } from "./script.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** How many are still there, after a collection. */
async function alive(references: readonly WeakRef<object>[]): Promise<number> {
  // A WeakRef keeps a new target until the macrotask ends; finalizers run in one of their own.
  for (let time = 0; time < 4; time++) {
    await setImmediate();
    collect();
  }
  return references.filter((reference) => reference.deref() !== undefined).length;
}

it("keeps nothing of runs that have ended: no event, no result, no listener", async () => {
  const inner = memoryStore();
  let listening = 0;
  const subscribe: Store["subscribe"] = async (...args) => {
    const stop = await inner.subscribe(...args);
    listening++;
    return () => (listening--, stop());
  };
  const store = { ...inner, subscribe };
  const { signal } = new AbortController();
  const tools = [
    counted("read", { effect: "read" }).tool,
    counted("write", { needsApproval: true }).tool,
    external("ask"),
  ];
  const calls = [{ name: "read" }, { name: "write" }, { name: "ask" }];
  const approvals = new ApprovalService({ store, tools });
  const kept: WeakRef<object>[] = [];
  const watch = (event: RunEvent) => {
    kept.push(new WeakRef(event));
    if (event.type === "tool-use") kept.push(new WeakRef(event.use));
    if (event.type === "finish") kept.push(new WeakRef(event.turn));
    if (event.type === "run.ended") kept.push(new WeakRef(event.result));
  };
  const model = scripted(({ messages }) => (messages.length > 1 ? { text: "Done." } : { calls }));
  // The same process, and another one.
  const orchestrators = [1, 2].map(() => new Orchestrator({ model, tools, store, approvals }));
  for (let run = 0; run < 60; run++) {
    const conversationId = `c${run}`;
    const stream = orchestrators[0]!.stream({ conversationId, input: "Go", signal });
    for await (const event of stream) watch(event);
    const { pendingToolCalls, pendingApprovals } = await stream.result;
    const toolResults = pendingToolCalls.map(({ id: toolCallId }) => ({ toolCallId, result: 1 }));
    const decided = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    const resumed = orchestrators[run % 2]!.resumeStream(conversationId, { toolResults, approvals: decided, signal });
    for await (const event of resumed) watch(event);
    expect(await resumed.result).toMatchObject({ status: "completed" });
    kept.push(new WeakRef(stream), new WeakRef(resumed));
  }
  expect(kept.length).toBeGreaterThan(60 * 8);
  expect(await alive(kept)).toBeLessThan(20);
  expect(listening).toBe(0);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
