/** Who works on a run, and who may no longer. */
import { describe, expect, it, vi } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { ToolError } from "../../src/errors.ts";
import { allow, deny, ToolExecutor, type Authorize, type Verdict } from "../../src/execute/index.ts";
import { Checkpoint, readRun } from "../../src/run/checkpoint.ts";
import type { Row } from "../../src/run/format.ts";
import { Orchestrator, type Step } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { replayModel } from "../../src/testing/index.ts";
import { unorderedStore } from "../store/unordered.ts";
import { counted, external, heldTurn, scripted, short } from "./script.ts";
import { soon } from "../soon.ts";

const conversationId = "c1";

function inputOf(text: string): Row {
  return { kind: "input", runId: "run_1", at: Date.now(), messages: [{ role: "user", content: text }] };
}

function turnOf(text: string): Row {
  const time = { at: Date.now(), durationMs: 1 };
  return { kind: "turn", turnId: "run_1-1-1-0", ...time, messages: [], text, calls: [], finishReason: "stop" };
}

/** A store that nothing about runs reaches while its wire is cut. */
function cuttable(inner: Store) {
  const wire = { isCut: false };
  const put: Store["put"] = async (...args) => {
    if (wire.isCut && args[0].startsWith("run/")) throw new ToolError("store_failed", "No answer.");
    return inner.put(...args);
  };
  return { store: { ...inner, put } satisfies Store, wire };
}

describe("a lease", () => {
  it("that is over lets nobody write over a row of the one who came after", async () => {
    const store = memoryStore();
    const first = await Checkpoint.create(store, 1, { conversationId, runId: "run_1", wire: "openai-chat" });
    // The first one renews a lease of a millisecond as well as it can: there is a moment when it is over.
    const second = await vi.waitFor(
      async () => Checkpoint.take(store, 60_000, (await readRun(store, conversationId))!),
      { interval: 3, timeout: 20_000 },
    );
    await second.append(inputOf("second"));
    await expect(first.append(inputOf("first"))).rejects.toMatchObject({ code: "lease_lost" });
    expect(first.lost.aborted).toBe(true);
    expect((await readRun(store, conversationId))!.rows).toMatchObject([{ messages: [{ content: "second" }] }]);
    await second.release({ status: "error" });
  });

  it("is not lost to a write of its own that the store has done, and not confirmed", async () => {
    const inner = memoryStore();
    let isSilent = false;
    const answer = <T>(done: T): T => {
      if (isSilent) throw new ToolError("store_failed", "No answer.");
      return done;
    };
    const store: Store = {
      ...inner,
      put: async (...args) => answer(await inner.put(...args)),
      get: async (...args) => answer(await inner.get(...args)) as never,
    };
    const first = await Checkpoint.create(store, 60_000, { conversationId, runId: "run_1", wire: "openai-chat" });
    await first.append(inputOf("first"));
    isSilent = true;
    await expect(first.commit({})).rejects.toMatchObject({ code: "store_failed" });
    isSilent = false;
    await first.append(turnOf("Hello."));
    expect(first.lost.aborted).toBe(false);
    expect((await readRun(store, conversationId))!.rows).toMatchObject([{ kind: "input" }, { text: "Hello." }]);
    await first.release({ status: "completed" });
  });

  it("is as long as it was written, though the store did not confirm it: what stands there tells", async () => {
    const inner = unorderedStore();
    let isSilent = false;
    const store: Store = {
      ...inner,
      put: async (...args) => {
        const entry = await inner.put(...args);
        if (isSilent) throw new ToolError("store_failed", "No answer.");
        return entry;
      },
    };
    const first = await Checkpoint.create(store, 60_000, { conversationId, runId: "run_1", wire: "openai-chat" });
    isSilent = true;
    await first.commit({ requestId: "req_1" });
    expect(first.head.requestId).toBe("req_1");
    isSilent = false;
    await first.release({ status: "completed" });
    expect((await readRun(inner, conversationId))!.head).toMatchObject({ status: "completed", requestId: "req_1" });
  });

  it.each(["run/", "run-row/"])(
    "is kept where the store does not take %s, and nothing counts as written",
    async (at) => {
      const inner = memoryStore();
      let isDown = false;
      const store: Store = {
        ...inner,
        put: async (...args) => {
          if (isDown && args[0].startsWith(at)) throw new ToolError("store_failed", "Down.");
          return inner.put(...args);
        },
      };
      const first = await Checkpoint.create(store, 60_000, { conversationId, runId: "run_1", wire: "openai-chat" });
      await first.append(inputOf("first"));
      const before = (await readRun(store, conversationId))!;
      isDown = true;
      await expect(first.append(turnOf("Hello."))).rejects.toMatchObject({ code: "store_failed" });
      await expect(first.release({ status: "completed" }, turnOf("Hello."))).rejects.toMatchObject({
        code: "store_failed",
      });
      expect(await readRun(store, conversationId)).toEqual(before);
      expect([first.rows.length, first.head.rows, first.lost.aborted]).toEqual([1, 1, false]);
      isDown = false;
      await first.release({ status: "completed" }, turnOf("Hello."));
      expect((await readRun(store, conversationId))!.rows).toMatchObject([{ kind: "input" }, { text: "Hello." }]);
    },
  );

  it("is not lost to a store that does not take a renewal of it", async () => {
    const { store, wire } = cuttable(memoryStore());
    const first = await Checkpoint.create(store, 90, { conversationId, runId: "run_1", wire: "openai-chat" });
    wire.isCut = true;
    await new Promise((resolve) => setTimeout(resolve, 50));
    wire.isCut = false;
    await first.append(inputOf("first"));
    expect(first.lost.aborted).toBe(false);
    await first.release({ status: "completed" });
  });

  it("is nobody else's while it lasts, whatever they have read of it", async () => {
    const store = memoryStore();
    const first = await Checkpoint.create(store, 60_000, { conversationId, runId: "run_1", wire: "openai-chat" });
    await first.append(inputOf("first"));
    const seen = (await readRun(store, conversationId))!;
    await expect(Checkpoint.take(store, 60_000, seen)).rejects.toMatchObject({ code: "run_busy" });
    await first.release({ status: "completed" }, turnOf("Hello."));
    expect((await readRun(store, conversationId))!.rows).toMatchObject([{ kind: "input" }, { text: "Hello." }]);
  });

  it("is waited for by who sees the run through, without looking all the time", async () => {
    const shared = memoryStore();
    const hold = Promise.withResolvers<void>();
    const tools = [external("look")];
    const model = replayModel(anthropic, [heldTurn("look", hold.promise)]);
    const running = new Orchestrator({ store: shared, tools, model }).run({ conversationId, input: "Go" });
    await soon(async () => expect((await readRun(shared, conversationId))!.rows).toHaveLength(1));
    let looks = 0;
    const get: Store["get"] = async (key) => {
      looks++;
      await new Promise((resolve) => setTimeout(resolve, 1));
      return shared.get(key);
    };
    const leave = new AbortController();
    const other = new Orchestrator({ store: { ...shared, get }, tools, model: replayModel(anthropic, []) });
    const waiting = other.waitAndResume(conversationId, { signal: leave.signal });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(looks).toBeLessThan(5);
    hold.resolve();
    expect((await running).status).toBe("awaiting_tool_results");
    leave.abort();
    expect((await waiting).status).toBe("awaiting_tool_results");
  });

  it("is renewed while a turn takes longer than it", async () => {
    const store = memoryStore();
    const hold = Promise.withResolvers<void>();
    const tools = [external("look")];
    const options = { store, tools, leaseMs: 300 };
    const first = new Orchestrator({ ...options, model: replayModel(anthropic, [heldTurn("look", hold.promise)]) });
    const other = new Orchestrator({ ...options, model: replayModel(anthropic, []) });
    const running = first.run({ conversationId, input: "Go" });
    await new Promise((resolve) => setTimeout(resolve, 900));
    await expect(other.resume(conversationId)).rejects.toMatchObject({ code: "run_busy" });
    hold.resolve();
    expect((await running).status).toBe("awaiting_tool_results");
  });
});

it("a result that comes while another process has the run is not left behind: its bearer goes on after that one", async () => {
  const inner = memoryStore();
  const [bringing, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const put: Store["put"] = async (...args) => {
    if (args[0].startsWith("run-answer/")) {
      bringing.resolve();
      await taken.promise;
    }
    return inner.put(...args);
  };
  const tools = [external("ask")];
  const calls = [{ name: "ask" }, { name: "ask" }];
  const one = new Orchestrator({ model: scripted({ calls }), tools, store: inner });
  const other = new Orchestrator({ model: scripted({ text: "Done." }), tools, store: { ...inner, put } });
  const { pendingToolCalls } = await one.run({ conversationId, input: "Go" });
  const [first, second] = pendingToolCalls.map(({ id }) => [{ toolCallId: id, result: 1 }]);
  const brought = other.resume(conversationId, { toolResults: second });
  await bringing.promise;
  expect((await one.resume(conversationId, { toolResults: first })).status).toBe("awaiting_tool_results");
  taken.resolve();
  expect(await brought).toMatchObject({ status: "completed", content: "Done." });
});

it("a process that has lost its run goes on to see it through", async () => {
  const inner = memoryStore();
  const { store, wire } = cuttable(inner);
  const calls = [{ name: "ask" }];
  const process = (own: Store, ...turns: Parameters<typeof scripted>) =>
    new Orchestrator({ model: scripted(...turns), tools: [external("ask")], store: own, leaseMs: 60 });
  const asked = Promise.withResolvers<void>();
  const silent = () => {
    wire.isCut = true;
    asked.resolve();
    return { calls, pauseMs: 600_000 };
  };
  const sleepy = process(store, silent, { text: "Done." });
  const other = process(inner, { calls });
  const answer = async () => {
    const { pendingToolCalls } = (await other.get(conversationId))!;
    await other.provideToolResult(conversationId, { toolCallId: pendingToolCalls[0]!.id, result: 1 });
  };
  await other.run({ conversationId, input: "Go" });
  const seen = sleepy.waitAndResume(conversationId);
  await answer();
  await asked.promise;
  const going = await soon(() => other.resume(conversationId));
  expect(going.status).toBe("awaiting_tool_results");
  wire.isCut = false;
  await answer();
  expect(await seen).toMatchObject({ status: "completed", content: "Done." });
});

it("a process that has lost its run gives up no call of it, which the one that goes on executes", async () => {
  const inner = memoryStore();
  const { store, wire } = cuttable(inner);
  const { tool, inputs } = counted("pay");
  const [asked, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const process = (own: Store, authorize: Authorize, ...turns: Parameters<typeof scripted>) => {
    const executor = new ToolExecutor({ tools: [tool], store: own, authorize });
    return new Orchestrator({ model: scripted(...turns), tools: [tool], store: own, executor, leaseMs: 60 });
  };
  const hang: Authorize = () => (asked.resolve(), new Promise<never>(() => {}));
  const first = process(store, hang, { calls: [{ name: "pay" }] });
  const second = process(inner, () => allowed.promise.then(allow), { text: "Done." });
  const lost = first.run({ conversationId, input: "Go" }).catch((error: unknown) => error);
  await asked.promise;
  wire.isCut = true;
  const going = soon(() => second.resume(conversationId));
  await soon(async () => expect((await readRun(inner, conversationId))!.head.epoch).toBe(2));
  wire.isCut = false;
  expect(await lost).toMatchObject({ code: "lease_lost" });
  allowed.resolve();
  expect(short((await going).messages as never)[2]).toBe('result({"ran":"pay","n":null})');
  expect(inputs).toHaveLength(1);
});

it.each<[string, Verdict, string]>([
  ["executes it", allow(), 'result({"ran":"pay","n":null})'],
  ["asks its own policy about it", deny("Not today."), 'result({"error":"Not today."})'],
])("no call is aborted as its run is lost while it starts: the process that goes on %s", async (_, verdict, result) => {
  const inner = memoryStore();
  const [started, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { store: cut, wire } = cuttable(inner);
  const store: Store = {
    ...inner,
    put: async (...args) => {
      const entry = await cut.put(...args);
      if ((args[1] as { status?: unknown }).status !== "started") return entry;
      wire.isCut = true;
      started.resolve();
      await lost.promise;
      return entry;
    },
  };
  const { tool, inputs } = counted("pay");
  const process = (own: Store, authorize: Authorize, turn: Parameters<typeof scripted>[0]) => {
    const executor = new ToolExecutor({ tools: [tool], store: own, authorize });
    const prepareStep = async ({ signal }: Step) => {
      signal!.addEventListener("abort", () => lost.resolve());
      return {};
    };
    const options = { tools: [tool], store: own, executor, leaseMs: 60, prepareStep };
    return new Orchestrator({ model: scripted(turn), ...options });
  };
  const first = process(store, allow, { calls: [{ name: "pay" }] });
  const second = process(inner, () => verdict, { text: "Done." });
  const losing = first.run({ conversationId, input: "Go" }).catch((error: unknown) => error);
  await started.promise;
  const going = soon(() => second.resume(conversationId));
  await soon(async () => expect((await readRun(inner, conversationId))!.head.epoch).toBe(2));
  wire.isCut = false;
  expect(await losing).toMatchObject({ code: "lease_lost" });
  expect(short((await going).messages as never)[2]).toBe(result);
  expect(inputs).toHaveLength(verdict.decision === "allow" ? 1 : 0);
});
