/** Calls that a conversation goes on without, and what a process that slept meanwhile makes of them. */
import { expect, it } from "vitest";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { replayModel } from "../../src/testing/index.ts";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { counted, heldTurn, scripted, short } from "./script.ts";
import { soon } from "../soon.ts";

const conversationId = "c1";

/** A process whose store answers nothing while it sleeps. */
function sleepy(inner: Store) {
  let isAsleep = false;
  const asleep = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  const asking =
    <Args extends unknown[], Value>(ask: (...args: Args) => Promise<Value>) =>
    async (...args: Args) => {
      if (isAsleep) await woken.promise;
      return ask(...args);
    };
  const store = { ...inner, get: asking(inner.get), list: asking(inner.list), put: asking(inner.put) } as Store;
  const sleep = () => {
    isAsleep = true;
    asleep.resolve();
  };
  return { store, sleep, asleep: asleep.promise, wake: () => woken.resolve() };
}

it.each([
  ["was not looked at yet", false],
  ["was approved", true],
])("a call that %s is not started once the conversation has gone on without it", async (_, needsApproval) => {
  const inner = memoryStore();
  const { store, sleep, asleep, wake } = sleepy(inner);
  const { tool, inputs } = counted("pay", { needsApproval });
  const model = scripted({ calls: [{ name: "pay" }] }, { text: "Done." });
  const processes = [store, inner].map((own) => {
    const approvals = new ApprovalService({ store: own });
    return new Orchestrator({ model, tools: [tool], store: own, approvals, leaseMs: 60 });
  });
  const [first, second] = processes as [Orchestrator, Orchestrator];
  // The first process falls asleep right before it starts the call.
  const put = store.put;
  store.put = (key, value, options) => {
    if (key.startsWith("action/") && (value as { status: string }).status === "started") sleep();
    return put(key, value, options);
  };
  const running = (async () => {
    const { pendingApprovals } = await first.run({ conversationId, input: "Go" });
    if (!needsApproval) return;
    const approvals = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    await first.resume(conversationId, { approvals });
  })().catch(() => {});
  await asleep;
  const run = () => second.run({ conversationId, input: "Never mind.", whenOpen: "cancel" });
  const { messages, tree } = await soon(run);
  expect(short(messages as never)[2]).toContain("was not executed: the conversation went on without it");
  wake();
  await running;
  expect(inputs).toEqual([]);
  const actions = await new ToolExecutor({ tools: [tool], store: inner }).actions(tree.runs[0]!.id);
  expect(actions).toMatchObject([{ status: "failed", attempts: 0, error: { code: "aborted" } }]);
});

it("a call that ends while its run is aborted keeps its result", async () => {
  const inner = memoryStore();
  const controller = new AbortController();
  // Its id ends in its position. Of two that run at once, either may end first.
  let ended = "";
  const store: Store = {
    ...inner,
    put: async (key, value, options) => {
      if (key.startsWith("action/") && (value as unknown as { status: string }).status === "done") {
        ended ||= key;
        controller.abort();
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      return inner.put(key, value, options);
    },
  };
  const look = counted("look", { effect: "read" });
  const model = scripted({ calls: [{ name: "look" }, { name: "look" }] }, { text: "Done." });
  const orchestrator = new Orchestrator({ model, tools: [look.tool], store });
  const { status } = await orchestrator.run({ conversationId, input: "Go", signal: controller.signal });
  expect(status).toBe("error");
  const { messages } = await orchestrator.resume(conversationId);
  expect(short(messages as never)[2 + Number(ended.at(-1))]).toBe('result({"ran":"look","n":null})');
});

// aaif-goose/goose#12118, cline/cline#13814
it.each([
  ["is stopped", 60_000, 0],
  ["is lost with its process", 60, 1],
])("nobody is asked on about a read of a turn that %s", async (_, leaseMs, left) => {
  const shared = memoryStore();
  const { tool } = counted("look", { effect: "read" });
  const process = (store: Store) => {
    const approvals = new ApprovalService({ store });
    const authorize = () => ({ decision: "ask", message: "May it look?" }) as const;
    const executor = new ToolExecutor({ tools: [tool], store, approvals, waitForApproval: false, authorize });
    // A wire that says when a call is complete, and a turn that does not end.
    const model = replayModel(anthropic, [heldTurn("look", new Promise(() => {}))]);
    return { approvals, orchestrator: new Orchestrator({ model, tools: [tool], store, executor, leaseMs }) };
  };
  const pending = () => process(shared).approvals.list({ status: "pending" });
  const stop = new AbortController();
  const { store, sleep } = sleepy(shared);
  const first = process(store).orchestrator.run({ conversationId, input: "Go", signal: stop.signal });
  const [asked] = await soon(async () => {
    const requests = await pending();
    expect(requests).toHaveLength(1);
    return requests;
  });
  // The application's own, about undoing something, say.
  const { runId, definitionDigest } = asked!;
  const own = { runId, invocationId: "undo", toolName: "look", input: {}, definitionDigest, message: "Undo it?" };
  await process(shared).approvals.request(own);
  if (leaseMs === 60) sleep();
  else {
    stop.abort();
    expect(await first).toMatchObject({ status: "error", error: { code: "aborted" } });
  }
  expect(await pending()).toHaveLength(1 + left);

  const next = new AbortController();
  const resumed = process(shared).orchestrator;
  const going = soon(() => resumed.resume(conversationId, { signal: next.signal }));
  await soon(async () => {
    const ids = (await pending()).map(({ invocationId }) => invocationId);
    expect([ids.length, ids.includes("undo"), ids.includes(asked!.invocationId)]).toEqual([2, true, false]);
  });
  next.abort();
  expect((await going).status).toBe("error");
  expect((await pending()).map(({ message }) => message)).toEqual(["Undo it?"]);
});
