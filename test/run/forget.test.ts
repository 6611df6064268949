/** A conversation that is forgotten while others use it, or by halves. */
import { expect, it } from "vitest";
import { isToolError, ToolError } from "../../src/errors.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { counted, external, scripted } from "./script.ts";

const conversationId = "c1";

/** A process over a store that does `before` ahead of each verb, by its number. */
function process(inner: Store, before: (verb: number) => unknown = () => {}) {
  let verbs = 0;
  const asking =
    <Args extends unknown[], Value>(ask: (...args: Args) => Promise<Value>) =>
    async (...args: Args) => {
      await before(++verbs);
      return ask(...args);
    };
  const { get, list, put } = inner;
  const store = {
    ...inner,
    get: asking(get),
    list: asking(list),
    put: asking(put),
    delete: asking(inner.delete),
  } as Store;
  const calls = ["pay", "approve", "ask"].map((name) => ({ name }));
  const tools = [counted("pay").tool, counted("approve", { needsApproval: true }).tool, external("ask")];
  const approvals = new ApprovalService({ store });
  const orchestrator = new Orchestrator({ model: scripted({ calls }), tools, store, approvals });
  return { orchestrator, approvals, verbs: () => verbs };
}

it("is there again, whole, if it is begun again at any moment of that", async () => {
  for (let at = 1, isPast = false; !isPast; at++) {
    const store = memoryStore();
    const { orchestrator } = process(store);
    const run = () => orchestrator.run({ conversationId, input: "Go", whenOpen: "cancel" });
    await run();
    const forgetting = process(store, (verb) => (verb === at ? run() : undefined));
    const error = await forgetting.orchestrator.forget(conversationId).catch((thrown: unknown) => thrown);
    if (isToolError(error)) expect(error.code).toBe("version_conflict");
    isPast = forgetting.verbs() < at;
    // What was begun before the head was deleted is forgotten, too.
    expect([undefined, "awaiting_tool_results"]).toContain((await orchestrator.get(conversationId))?.status);
  }
});

type Result = { readonly toolCallId: string; readonly result: unknown };

it.each<[string, (orchestrator: Orchestrator, result: Result) => Promise<unknown>]>([
  ["get", (orchestrator) => orchestrator.get(conversationId)],
  ["provideToolResult", (orchestrator, result) => orchestrator.provideToolResult(conversationId, result)],
  ["resume", (orchestrator, result) => orchestrator.resume(conversationId, { toolResults: [result] })],
])("is gone, and not damaged, for %s() at any moment of that", async (_, use) => {
  for (let at = 1, isPast = false; !isPast; at++) {
    const store = memoryStore();
    const { orchestrator } = process(store);
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    // While the run is worked on, it cannot be forgotten.
    const forget = () => orchestrator.forget(conversationId).catch(() => {});
    const using = process(store, (verb) => (verb === at ? forget() : undefined));
    const end: unknown = await use(using.orchestrator, { toolCallId: pendingToolCalls[0]!.id, result: 1 }).then(
      () => "done",
      (error: unknown) => (isToolError(error) ? error.code : error),
    );
    expect(["done", "unknown_run"]).toContain(end);
    isPast = using.verbs() < at;
  }
});

it("leaves nothing behind, and nobody is asked about it, if that was cut short and it was begun again", async () => {
  for (let at = 1, isPast = false; !isPast; at++) {
    const store = memoryStore();
    const { orchestrator, approvals } = process(store);
    await orchestrator.run({ conversationId, input: "Go" });
    const dying = process(store, (verb) => {
      if (verb >= at) throw new ToolError("store_failed", "The connection was lost.");
    });
    await dying.orchestrator.forget(conversationId).catch(() => {});
    isPast = dying.verbs() < at;
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Go", whenOpen: "cancel" });
    const asked = await approvals.list({ status: "pending" });
    expect([at, ...asked.map(({ id }) => id)]).toEqual([at, ...pendingApprovals.map(({ id }) => id)]);
    await orchestrator.forget(conversationId);
    const left = (await store.list("")).map(({ key }) => key).filter((key) => !key.startsWith("approval/log"));
    expect([at, ...left]).toEqual([at]);
  }
});

it("leaves no row behind, if that was cut short and a shorter conversation was begun", async () => {
  for (let at = 1, isPast = false; !isPast; at++) {
    const store = memoryStore();
    const { orchestrator } = process(store);
    const run = () => orchestrator.run({ conversationId, input: "Go", whenOpen: "cancel" });
    await run();
    await run();
    const dying = process(store, (verb) => {
      if (verb >= at) throw new ToolError("store_failed", "The connection was lost.");
    });
    await dying.orchestrator.forget(conversationId).catch(() => {});
    isPast = dying.verbs() < at;
    const isThere = (await orchestrator.get(conversationId)) !== undefined;
    await run();
    // An input and a turn, after those of before and the results that were given up.
    const rows = await store.list("run-row/c1/");
    expect([at, rows.length]).toEqual([at, isThere ? 8 : 2]);
  }
});
