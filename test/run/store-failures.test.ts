/** A store that fails at any operation, or at some in a row, having written or not: nobody is told so. */
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { isToolError, ToolError } from "../../src/errors.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import type { Model } from "../../src/model.ts";
import { waitForRelease } from "../../src/run/wait.ts";
import { Orchestrator, type OrchestrationResult, type RunOptions } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { replayModel } from "../../src/testing/index.ts";
import { pause } from "../../src/time.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { unorderedStore } from "../store/unordered.ts";
import { conversationId, createScenario, finish, problemsOf, type Scenario } from "./scenario.ts";
import { counted, external, heldTurn, scripted, short, type ScriptedTurn } from "./script.ts";

interface Fault {
  readonly processes: number;
  readonly hasWritten: boolean;
  /** So many operations fail, one after the other. */
  readonly inARow: number;
}

const faults: Fault[] = [true, false].flatMap((hasWritten) => [
  { processes: 1, inARow: 1, hasWritten },
  { processes: 1, inARow: 3, hasWritten },
  { processes: 2, inARow: 1, hasWritten },
]);

describe.each(faults)("$processes process(es), $inARow operation(s) fail, having written: $hasWritten", (fault) => {
  it("nothing happens twice, the run goes on, and the model hears of each call what came of it", async () => {
    let failAt = 0;
    let isPast = false;
    const next = async (): Promise<void> => {
      while (!isPast) {
        const at = ++failAt;
        // The order of keys is nothing that a store keeps.
        const inner = unorderedStore();
        const faulty = failing(inner, at, fault);
        const seen: string[] = [];
        const scenarios = Array.from({ length: fault.processes }, () =>
          createScenario(faulty.store, (event) => seen.push(event)),
        );
        const [result] = await Promise.all(scenarios.map((scenario) => insist(scenario, at)));
        isPast ||= faulty.operations() < at;
        const calm = createScenario(inner, () => {});
        const problems = [...(await problemsOf(calm, result!, seen)), ...(await untoldOf(calm, result!, seen))];
        expect([at, ...problems]).toEqual([at]);
      }
    };
    await Promise.all(Array.from({ length: 8 }, next));
    expect(failAt).toBeGreaterThan(100);
  });
});

describe("a store that fails for a while", () => {
  /** What the model calls, over a store that can be taken down. */
  function world(tools: readonly Tool[], model: Model) {
    const inner = memoryStore();
    const down = { keys: undefined as RegExp | undefined };
    const answer = (key: string) => {
      if (down.keys?.test(key)) throw new ToolError("store_failed", "The connection was lost.");
    };
    const store = {
      ...inner,
      get: async (key) => (answer(key), inner.get(key)),
      list: async (...args) => (answer(args[0]), inner.list(...args)),
      put: async (...args) => (answer(args[0]), inner.put(...args)),
    } as Store;
    const internal = tools.filter(({ mode }) => mode === "internal");
    const executor = new ToolExecutor({ tools: internal, store, leaseMs: 50 });
    return { down, orchestrator: new Orchestrator({ model, tools, store, executor, leaseMs: 50 }) };
  }

  it("while a turn goes on: what was to be read meanwhile is read when it has ended", async () => {
    const { tool, inputs } = counted("look", { effect: "read" });
    const turn = Promise.withResolvers<void>();
    const model = replayModel(anthropic, [heldTurn("look", turn.promise), heldTurn("ask", Promise.resolve())]);
    const { down, orchestrator } = world([tool, external("ask")], model);
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    for await (const event of stream) {
      if (event.type === "tool-use") down.keys = /^action/;
      if (event.type === "tool-use" && event.use.name === "look") setTimeout(turn.resolve, 20);
      if (event.type === "finish") down.keys = undefined;
    }
    const { status, messages } = await stream.result;
    expect([status, inputs]).toEqual(["awaiting_tool_results", [{}]]);
    expect(JSON.stringify(messages[2])).toContain("ran");
  });

  it("at the end of a turn: a call that began in it has ended before the run has", async () => {
    const turn = Promise.withResolvers<void>();
    let hasEnded = false;
    const look = async () => {
      down.keys = /^run-row/;
      turn.resolve();
      await pause(400);
      hasEnded = true;
    };
    const model = replayModel(anthropic, [heldTurn("look", turn.promise)]);
    const { down, orchestrator } = world([counted("look", { effect: "read", execute: look }).tool], model);
    await expect(orchestrator.run({ conversationId, input: "Go" })).rejects.toMatchObject({ code: "store_failed" });
    expect(hasEnded).toBe(true);
  });

  it.each([
    ["returned", () => "paid", "result(paid)"],
    ["threw", () => Promise.reject(new Error("no card")), 'result({"error":"Tool pay failed: no card"})'],
  ])("after a write has %s: the run that goes on in this process says so", async (_, end, heard) => {
    let runs = 0;
    const pay = () => {
      down.keys = /./;
      runs++;
      return end();
    };
    const { down, orchestrator } = world([counted("pay", { execute: pay }).tool], calling("pay"));
    await expect(orchestrator.run({ conversationId, input: "Go" })).rejects.toMatchObject({ code: "store_failed" });
    await new Promise((resolve) => setTimeout(resolve, 60));
    down.keys = undefined;
    expect(short((await orchestrator.resume(conversationId)).messages as never)[2]).toBe(heard);
    expect(runs).toBe(1);
  });

  it("after a write has failed, and for those beside it: the model hears why it failed", async () => {
    const fail = () => {
      down.keys = /^action/;
      throw new Error("no card");
    };
    const { tool, inputs } = counted("look", { sequential: true });
    const { down, orchestrator } = world([counted("pay", { execute: fail }).tool, tool], calling("pay", "look"));
    const { status, messages } = await orchestrator.run({ conversationId, input: "Go" });
    expect(status).toBe("completed");
    expect(short(messages as never)[2]).toBe('result({"error":"Tool pay failed: no card"})');
    expect(inputs).toEqual([]);
  });
});

it("a call that was denied because its policy's store failed is on record, and is not looked up again", async () => {
  const inner = memoryStore();
  let isDenied = false;
  let isDown = false;
  const store = {
    ...inner,
    async get(key) {
      isDown = isDenied && !isDown && key.startsWith("action/");
      if (isDown) throw new ToolError("store_failed", "The connection was lost.");
      return inner.get(key);
    },
    async put(...args) {
      isDenied ||= (args[1] as { status?: string }).status === "denied";
      return inner.put(...args);
    },
  } as Store;
  const { tool, inputs } = counted("pay");
  const authorize = () => {
    throw new ToolError("store_failed", "The quota cannot be read.");
  };
  const executor = new ToolExecutor({ tools: [tool], store, authorize });
  const orchestrator = new Orchestrator({ model: calling("pay"), tools: [tool], store, executor });
  const { status, messages } = await orchestrator.run({ conversationId, input: "Go" });
  expect([status, inputs]).toEqual(["completed", []]);
  expect(short(messages as never)[2]).toContain("the policy failed");
});

it("a turn is asked for once, though the store fails briefly at any write of the run after it", async () => {
  for (const hasWritten of [true, false]) {
    let at = 1;
    for (let isPast = false; !isPast;) {
      at++;
      const inner = unorderedStore();
      let writes = 0;
      const put: Store["put"] = async (...args) => {
        const isDown = args[0].startsWith("run") && ++writes >= at && writes < at + 2;
        if (!isDown) return inner.put(...args);
        if (hasWritten) await inner.put(...args);
        throw new ToolError("store_failed", "The connection was lost.");
      };
      const model = calling("look");
      const store: Store = { ...inner, put };
      const orchestrator = new Orchestrator({ model, tools: [counted("look").tool], store });
      const { status, messages } = await orchestrator.run({ conversationId, input: "Go" });
      expect([at, status, ...short(messages as never)]).toEqual([at, "completed", ...SAID]);
      expect((await orchestrator.get(conversationId))?.status).toBe("completed");
      isPast = writes < at;
    }
    expect(at).toBeGreaterThan(5);
  }
});

it("a run has its result, though the answer to its last write was lost and somebody continued it at once", async () => {
  const inner = memoryStore();
  let isLost = false;
  const put: Store["put"] = async (...args) => {
    const entry = await inner.put(...args);
    if (isLost || (args[1] as { status?: unknown }).status !== "completed") return entry;
    isLost = true;
    throw new ToolError("store_failed", "The connection was lost.");
  };
  const begun = Promise.withResolvers<void>();
  const first = new Orchestrator({ model: scripted({ text: "Done." }), store: { ...inner, put }, prepareStep: wait });
  const second = new Orchestrator({ model: scripted({ text: "Again." }), store: inner });
  async function wait() {
    begun.resolve();
    await pause(50);
    return {};
  }
  const running = first.run({ conversationId, input: "Go" });
  await begun.promise;
  const next = second.run({ conversationId, input: "And now?", whenBusy: "wait" });
  expect(await running).toMatchObject({ status: "completed", content: "Done." });
  expect(isLost).toBe(true);
  expect(await next).toMatchObject({ status: "completed", content: "Again." });
});

it("a call that waits until a conversation is free goes on waiting when the store fails briefly", async () => {
  const inner = memoryStore();
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: over, resolve: letGo } = Promise.withResolvers<void>();
  const prepareStep = async () => {
    begin();
    await over;
    return {};
  };
  const first = new Orchestrator({ model: scripted({ text: "Done." }), store: inner, prepareStep });
  let looks = 0;
  let wake = () => {};
  const store: Store = {
    ...inner,
    get: async (key) => {
      if (++looks === 4) setTimeout(letGo, 10);
      if (looks === 3) throw new ToolError("store_failed", "The connection was lost.");
      return inner.get(key);
    },
    subscribe: (prefix, listener) => {
      wake = () => listener({ key: prefix, type: "missed" });
      return inner.subscribe(prefix, listener);
    },
  };
  const running = first.run({ conversationId, input: "Go" });
  await hasBegun;
  const second = new Orchestrator({ model: scripted({ text: "Again." }), store });
  const next = second.run({ conversationId, input: "And now?", whenBusy: "wait" });
  const waking = setInterval(() => wake(), 5);
  expect(await next.finally(() => clearInterval(waking))).toMatchObject({ status: "completed", content: "Again." });
  expect(await running).toMatchObject({ status: "completed", content: "Done." });
});

const SAID = ["user", "call(look)", 'result({"ran":"look","n":null})', "say(Done.)"];

it("a conversation is given up or it is not, wherever the store fails for that: nobody is asked about what is gone", async () => {
  let isPast = false;
  for (let at = 1; !isPast; at++) {
    const inner = unorderedStore();
    const begun = createScenario(inner, () => {});
    await begun.orchestrator.run({ conversationId, input: "Go" });
    const faulty = failing(inner, at, { processes: 1, inARow: 1, hasWritten: false });
    const { orchestrator } = createScenario(faulty.store, () => {});
    await orchestrator.run({ conversationId, input: "Never mind.", whenOpen: "cancel" }).catch(() => {});
    isPast = faulty.operations() < at;
    const { pendingApprovals } = (await begun.orchestrator.get(conversationId))!;
    const asked = await begun.approvals.list({ status: "pending" });
    expect([at, ...asked.map(({ id }) => id)]).toEqual([at, ...pendingApprovals.map(({ id }) => id)]);
  }
});

describe("what the user says to a conversation that", () => {
  const second = { conversationId, input: "Second." };
  const answering = (store: Store, turn: ScriptedTurn) =>
    new Orchestrator({ model: scripted(turn), tools: [external("ask")], store, maxCutTurns: 0, leaseMs: 200 });
  /** Until the store has taken it, and for some attempts: a brief failure, one that is longer, and lost answers. */
  const outages = [3, 5].flatMap((inARow) => [true, false].map((hasWritten) => ({ inARow, hasWritten })));

  it.each<[string, ScriptedTurn, Partial<RunOptions>]>([
    ["is completed", { text: "One." }, {}],
    ["has failed", { fail: new Error("no") }, {}],
    ["waits", { calls: [{ name: "ask" }] }, { whenOpen: "cancel" }],
  ])("%s is stored once, or nothing has changed, wherever the store fails", async (_, first, options) => {
    const lived = async (at: number, outage: (typeof outages)[number]): Promise<number> => {
      const inner = unorderedStore();
      const before = await answering(inner, first).run({ conversationId, input: "First." });
      const faulty = failing(inner, at, { processes: 1, ...outage });
      const told = await answering(faulty.store, { text: "Two." })
        .run({ ...second, ...options })
        .catch((error: unknown) => error as ToolError);
      const healthy = answering(inner, { text: "Two." });
      // Not even the end of the run may have been stored.
      await waitForRelease(inner, conversationId, undefined);
      const { status, error, messages } = (await healthy.get(conversationId))!;
      if (told instanceof ToolError) {
        const isStored = messages.some((message) => JSON.stringify(message).includes("Second."));
        if (isStored) expect([at, error?.code]).toEqual([at, expect.stringMatching(/^(store_failed|lease_lost)$/)]);
        else expect([at, status, error?.code]).toEqual([at, before.status, before.error?.code]);
        if (!isStored) expect(messages).toEqual(before.messages);
        const end = await (isStored ? healthy.resume(conversationId) : healthy.run({ ...second, ...options }));
        expect([at, end.status, end.content]).toEqual([at, "completed", "Two."]);
        expect(JSON.stringify(end.messages).split("Second.")).toHaveLength(2);
      }
      return faulty.operations();
    };
    const most = await lived(Infinity, outages[0]!);
    expect(most).toBeGreaterThan(5);
    const places = Array.from({ length: most }, (__, at) => at + 1);
    await Promise.all(places.flatMap((at) => outages.map((outage) => lived(at, outage))));
  });
});

function calling(...names: string[]): Model {
  return scripted({ calls: names.map((name) => ({ name })) }, { text: "Done." });
}

/** What the store does, and what another process was faster with: all that may come of it. */
const EXPECTED = new Set(
  "store_failed lease_lost run_open not_waiting unknown_call already_answered already_decided approval_not_found".split(
    " ",
  ),
);

async function insist(scenario: Scenario, at: number): Promise<OrchestrationResult> {
  for (;;) {
    try {
      return await finish(scenario);
    } catch (error) {
      if (!isToolError(error) || !EXPECTED.has(error.code)) throw new Error(`at operation ${at}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** Where what the model heard of a call is not what the record, or the world, says of it. */
async function untoldOf(
  { executor, approvals }: Scenario,
  { runId, messages, tree }: OrchestrationResult,
  seen: readonly string[],
): Promise<string[]> {
  const heard = (messages as ChatCompletionMessageParam[]).flatMap((message) =>
    message.role === "tool" ? [String(message.content)] : [],
  );
  const calls = tree.runs.flatMap((run) => run.children).flatMap((turn) => turn.children);
  const actions = new Map((await executor.actions(runId)).map((action) => [action.invocationId, action]));
  const problems = calls.flatMap(({ id, label }, index) => {
    const hasRun = seen.some((line) => line.endsWith(`/${id}`));
    const status = actions.get(id)?.status;
    const answer = heard[index]!;
    return [
      ...(/was not executed/.test(answer) && hasRun ? [`${label} ran, and the model heard ${answer}`] : []),
      ...(answer.includes("error") && status === "done" ? [`${label} is done, and the model heard ${answer}`] : []),
      ...(status === "planned" || status === "started" ? [`${label} is left as ${status}`] : []),
    ];
  });
  const open = await approvals.list({ status: "pending" });
  return [...problems, ...open.map(({ id }) => `approval ${id} is left pending`)];
}

function failing(inner: Store, failAt: number, { hasWritten, inARow }: Fault) {
  let operations = 0;
  const down = (): boolean => ++operations >= failAt && operations < failAt + inARow;
  const lost = () => new ToolError("store_failed", "The connection was lost.");
  const reading =
    <Args extends unknown[], Value>(read: (...args: Args) => Promise<Value>) =>
    async (...args: Args) => {
      if (down()) throw lost();
      return read(...args);
    };
  const writing =
    <Args extends unknown[], Value>(write: (...args: Args) => Promise<Value>) =>
    async (...args: Args) => {
      if (!down()) return write(...args);
      if (hasWritten) await write(...args);
      throw lost();
    };
  const store = {
    ...inner,
    get: reading(inner.get),
    list: reading(inner.list),
    subscribe: reading(inner.subscribe),
    put: writing(inner.put),
    delete: writing(inner.delete),
  } as Store;
  return { store, operations: () => operations };
}
