import { spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import {
  defineTool,
  ToolBuffer,
  ToolCallError,
  ToolError,
  ToolRegistry,
  ToolUse,
  type StreamEvent,
  type Tool,
} from "../../src/index.ts";
import { allow, ask, deny, ToolExecutor, type Authorize, type ToolEvent } from "../../src/execute/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { counted, errorOf, failing, RUN, setup, setupWithApprovals, sleep, until, useOf } from "./support.ts";
import { timersOf } from "./timers.ts";

describe("execute()", () => {
  it("runs the handler and tells of it", async () => {
    const { tool, ran } = counted();
    const { executor, events } = setup([tool]);
    const use = tool.use({ n: 1 }, { id: "call_1", invocationId: "inv" });
    const outcome = await executor.execute(use, { ...RUN, requestId: "req" });
    expect(outcome).toMatchObject({
      status: "completed",
      actionId: "run/inv",
      invocationId: "inv",
      toolName: "act",
      output: { ok: true, input: { n: 1 } },
      attempts: 1,
      replayed: false,
      recorded: true,
      undoableUntil: null,
    });
    expect(ran).toHaveLength(1);
    expect(use).toMatchObject({ state: "done", result: { ok: true, input: { n: 1 } } });
    const base = {
      toolName: "act",
      actionId: "run/inv",
      runId: "run",
      invocationId: "inv",
      toolCallId: "call_1",
      requestId: "req",
    };
    expect(events).toEqual([
      { ...base, type: "tool.invoked", seq: 1, at: expect.any(Number), payloadSummary: '{"n":1}' },
      { ...base, type: "tool.started", seq: 2, at: expect.any(Number), attempt: 1 },
      {
        ...base,
        type: "tool.completed",
        seq: 3,
        at: expect.any(Number),
        durationMs: expect.any(Number),
        outputSummary: '{"ok":true,"input":{"n":1}}',
      },
    ]);
  });

  it("says when the handler was started, and when the call ended, as its record does", async () => {
    const { tool } = counted({ name: "act", execute: () => sleep(5) });
    const { executor } = setup([tool, counted({ name: "other" }).tool], {
      authorize: (call) => (call.tool.name === "act" ? allow() : deny("no")),
    });
    const times = ({ startedAt, endedAt }: { startedAt: number | null; endedAt: number | null }) => [
      startedAt,
      endedAt,
    ];
    const use = () => tool.use({}, { invocationId: "a" });
    const outcome = await executor.execute(use(), RUN);
    expect(outcome.endedAt! - outcome.startedAt!).toBeGreaterThanOrEqual(4);
    expect(times(outcome)).toEqual(times((await executor.action(outcome.actionId))!));
    expect(times(await executor.execute(use(), RUN))).toEqual(times(outcome));
    const denied = await executor.execute(useOf(counted({ name: "other" }).tool), RUN);
    expect(times(denied)).toEqual([null, expect.any(Number)]);
  });

  it("hands the handler what it needs, and what the application put into the context", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    const principal = { id: "anna" };
    const use = tool.use({}, { id: "call_1", invocationId: "inv" });
    const own = { timeoutMs: 1e3, waitForApproval: true, approvalTimeoutMs: 1, uniqueIds: true, abandon: false };
    await executor.execute(use, {
      ...RUN,
      ...own,
      requestId: "r",
      behavior: "b",
      principal,
      tenant: "acme",
      toolName: "other",
    });
    expect(ran[0]!.context).toMatchObject({
      runId: "run",
      requestId: "r",
      behavior: "b",
      principal,
      tenant: "acme",
      toolName: "act",
      toolCallId: "call_1",
      invocationId: "inv",
      idempotencyKey: "run/inv",
      attempt: 1,
      signal: expect.any(AbortSignal),
      progress: expect.any(Function),
      undoData: expect.any(Function),
    });
    for (const option of Object.keys(own)) expect(ran[0]!.context).not.toHaveProperty(option);
  });

  it("takes the context as it is now, whatever the caller does with the object", async () => {
    const { tool, ran } = counted();
    const { executor, events } = setup([tool]);
    const context = { runId: "run", requestId: "one" };
    const calls = ["a", "b"].map((invocationId, at) => {
      context.requestId = `request ${at}`;
      return executor.execute(useOf(tool, {}, { invocationId }), context);
    });
    context.runId = "another";
    expect((await Promise.all(calls)).map(({ actionId }) => actionId)).toEqual(["run/a", "run/b"]);
    expect(new Set(events.map((event) => `${event.actionId} ${event.requestId}`))).toEqual(
      new Set(["run/a request 0", "run/b request 1"]),
    );
    expect(ran.map((one) => one.context.requestId).toSorted()).toEqual(["request 0", "request 1"]);
  });

  it("gives the adapter's toolResults() what it needs", async () => {
    const { tool } = counted({ execute: ({ n }: any) => (n === 1 ? "one" : Promise.reject(new Error("only 1"))) });
    const { executor } = setup([tool]);
    const call = (index: number, args: string) => ({
      index,
      id: `call_${index}`,
      type: "function" as const,
      function: { name: "act", arguments: args },
    });
    const events = openaiChat.parse(
      {
        id: "r",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [
          {
            index: 0,
            finish_reason: "tool_calls",
            logprobs: null,
            message: {
              role: "assistant",
              content: null,
              refusal: null,
              tool_calls: [call(0, '{"n":1}'), call(1, '{"n":2}')],
            },
          },
        ],
      },
      { tools: [tool] },
    );
    const uses = events.flatMap((event) => (event.type === "tool-use" ? [event.use] : []));
    const { turn } = events.at(-1) as Extract<StreamEvent, { type: "finish" }>;
    await executor.executeAll(uses, RUN);
    expect(openaiChat.toolResults(turn)).toEqual([
      { role: "tool", tool_call_id: "call_0", content: "one" },
      { role: "tool", tool_call_id: "call_1", content: expect.stringContaining("Tool act failed: only 1") },
    ]);
  });

  it("keeps an adapter's mark on an output, live and from the record", async () => {
    const mark = Symbol.for("toolstream.test.resultContent");
    const { tool } = counted({ execute: () => ({ [mark]: true, content: [1] }) });
    const { executor } = setup([tool]);
    const live = useOf(tool, {}, { invocationId: "a" });
    await executor.execute(live, RUN);
    const again = useOf(tool, {}, { invocationId: "a" });
    await executor.execute(again, RUN);
    expect(mark in (live.result as object)).toBe(true);
    expect(mark in (again.result as object)).toBe(true);
    expect(again.result).toEqual(live.result);
  });

  it("takes a registry, and leaves external tools to their caller", async () => {
    const { tool } = counted();
    const registry = new ToolRegistry();
    const external = registry.register(tool, { mode: "external" });
    const { executor } = setup(registry);
    expect(() => executor.execute(external.use({}), RUN)).toThrow(/act is external/);
    // Read with the tool as it was before.
    expect(() => executor.execute(tool.use({}), RUN)).toThrow(/act is external/);
    await expect(executor.executeAll([tool.use({})], RUN)).rejects.toThrow(/act is external/);
  });

  it("knows the tools that its registry gets later", async () => {
    const registry = new ToolRegistry();
    const { executor } = setup(registry);
    const { tool } = counted();
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "denied", reason: "unknown_tool" });
    registry.register(tool);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(executor.toolsFor()).toEqual([tool]);
  });

  it("runs the tools that its source has now: one that was replaced, or taken away, does not run", async () => {
    const [before, after] = [counted(), counted()];
    let tools = [before.tool];
    const { executor } = setup({ tools: () => tools });
    expect(await executor.execute(useOf(before.tool), RUN)).toMatchObject({ status: "completed" });
    tools = [after.tool];
    expect(await executor.execute(useOf(after.tool), RUN)).toMatchObject({ status: "completed" });
    tools = [];
    expect(await executor.execute(useOf(after.tool), RUN)).toMatchObject({ status: "denied", reason: "unknown_tool" });
    expect([before.ran.length, after.ran.length]).toEqual([1, 1]);
  });

  it("never rejects for what a handler does", async () => {
    const cause = new Error("disk full");
    const { tool } = counted({ execute: () => Promise.reject(cause) });
    const { executor, events } = setup([tool]);
    const use = useOf(tool);
    const outcome = await executor.execute(use, RUN);
    if (outcome.status !== "failed") throw new Error(outcome.status);
    expect(outcome.error).toBeInstanceOf(ToolCallError);
    expect(outcome.error).toMatchObject({ code: "execution_failed", message: "Tool act failed: disk full", cause });
    expect(use).toMatchObject({ state: "failed", error: outcome.error });
    expect(events.at(-1)).toMatchObject({
      type: "tool.failed",
      errorCode: "execution_failed",
      errorMessage: "Tool act failed: disk full",
    });
  });

  it("takes a handler's word for it that nobody knows the outcome, and runs it no more", async () => {
    const { tool, ran } = counted({
      effect: "idempotent",
      execute: () => Promise.reject(new ToolError("outcome_unknown", "The worker is gone.")),
    });
    const { executor, events } = setup([tool]);
    const again = () => executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    const unknown = {
      status: "unknown",
      error: { code: "outcome_unknown", message: "act: The worker is gone." },
      attempts: 1,
    };
    expect(await again()).toMatchObject({ ...unknown, replayed: false });
    expect(await again()).toMatchObject({ ...unknown, replayed: true });
    expect(ran).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: "tool.failed", errorCode: "outcome_unknown" });
  });

  it.each([0, 1])("fails for a handler that throws what throws when it is looked at (%i retries)", async (retries) => {
    const execute = () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    };
    const { tool } = counted({ effect: "read", retries, execute });
    expect(await setup([tool]).executor.execute(useOf(tool), RUN)).toMatchObject({
      status: "failed",
      error: { code: "execution_failed" },
    });
  });

  it.each<[string, (executor: ToolExecutor) => unknown, RegExp]>([
    ["no run", (executor) => executor.execute(counted().tool.use({}), {} as never), /runId of the run/],
    [
      "no context",
      (executor) => executor.execute(counted().tool.use({}), undefined as never),
      /execute\(use, { runId }\)/,
    ],
    ["no use", (executor) => executor.execute({ name: "act" } as never, RUN), /takes a ToolUse/],
    [
      "a principal without id",
      (executor) => executor.execute(counted().tool.use({}), { ...RUN, principal: {} as never }),
      /principal/,
    ],
    ["a timeout of 0", (executor) => executor.execute(counted().tool.use({}), { ...RUN, timeoutMs: 0 }), /timeoutMs/],
    [
      "a time to wait for approval that is no number",
      (executor) => executor.execute(counted().tool.use({}), { ...RUN, approvalTimeoutMs: NaN }),
      /approvalTimeoutMs is a number of milliseconds, got NaN/,
    ],
    ...[
      ["for nobody", { scop: "acme" }, /approval of the context has no option "scop". Did you mean scope\?/],
      ["with metadata that is a text", { metadata: "acme" }, /metadata is an object, got a string/],
      ["in a scope that is no text", { scope: 5 }, /scope is a text, got a number/],
      ["with a time that is none", { ttlMs: "1h" }, /ttlMs is a number above 0, got 1h/],
      ["that is a text", "acme", /approval of the context takes an object, \{ scope, metadata, ttlMs \}, got a string/],
    ].map(([what, approval, message]): [string, (executor: ToolExecutor) => unknown, RegExp] => [
      `an approval ${String(what)}`,
      (executor) => executor.execute(counted().tool.use({}), { ...RUN, approval: approval as never }),
      message as RegExp,
    ]),
    [
      "a principal with an empty id",
      (executor) => executor.execute(counted().tool.use({}), { ...RUN, principal: { id: "" } }),
      /principal/,
    ],
    ["undo without an id", (executor) => executor.undo(undefined as never), /actionId/],
    ["undo with an empty id", (executor) => executor.undo(""), /actionId/],
    ["the options of undo for who undoes", (executor) => executor.undo("r/1", { retry: true } as never), /principal/],
    ["undo by a name", (executor) => executor.undo("r/1", "anna" as never), /principal/],
    [
      "an onFailure that is none",
      (executor) => executor.undoRun("r", undefined, { onFailure: "halt" as never }),
      /onFailure is "continue" or "stop", got "halt"/,
    ],
    ["undo of no run", (executor) => executor.undoRun(undefined as never), /undoRun\(\) takes a runId, got undefined/],
    ["the actions of no run", (executor) => executor.actions(undefined as never), /takes a runId/],
    ["actions by another name", (executor) => executor.actions("r", { ids: ["1"] } as never), /no option "ids"/],
    ["the events of no run", (executor) => executor.events("" as never), /takes a runId, got an empty string/],
    ["events after a text", (executor) => executor.events("r", { after: "3" as never }), /after is the number/],
    ["events after no number", (executor) => executor.events("r", { after: NaN }), /got NaN/],
    ["events by another name", (executor) => executor.events("r", { from: 3 } as never), /no option "from"/],
    ["the position of no run", (executor) => executor.position(undefined as never), /takes a runId/],
  ])("throws a TypeError for %s", (_, mistake, message) => {
    const { executor } = setup([counted().tool]);
    expect(() => mistake(executor)).toThrow(message);
    expect(() => mistake(executor)).toThrow(TypeError);
  });

  it.each<[string, object]>([
    ["no store", { tools: [] }],
    ["no tools", { store: memoryStore() }],
    ["a concurrency of 0", { tools: [], store: memoryStore(), concurrency: 0 }],
    ["a timeout that no timer can wait", { tools: [], store: memoryStore(), timeoutMs: Infinity }],
    ["a lease that no timer can renew", { tools: [], store: memoryStore(), leaseMs: 2 ** 31 * 3 }],
    ["a delay that is a text", { tools: [], store: memoryStore(), retryDelayMs: "5" }],
    ["a delay that never ends", { tools: [], store: memoryStore(), retryDelayMs: Infinity }],
    ["a delay of null", { tools: [], store: memoryStore(), retryDelayMs: null }],
    ["a listener that is none", { tools: [], store: memoryStore(), onEvent: "log" }],
    ["a policy that is none", { tools: [], store: memoryStore(), authorize: "allow" }],
    ["nobody to ask", { tools: [], store: memoryStore(), approvals: {} }],
  ])("cannot be made with %s", (_, options) => {
    expect(() => new ToolExecutor(options as never)).toThrow(TypeError);
  });

  it("forgets no run that nobody has named", async () => {
    const { executor } = setup([counted().tool]);
    await expect(executor.forget(undefined as never)).rejects.toThrow(/forget\(\) takes a runId, got undefined/);
  });

  it("tries again at once where there is no delay", async () => {
    let attempts = 0;
    const execute = () => {
      if (++attempts < 3) throw new Error("Not yet.");
      return attempts;
    };
    const tool = counted({ effect: "read", retries: 2, execute }).tool;
    const executor = new ToolExecutor({ tools: [tool], store: memoryStore(), retryDelayMs: 0 });
    expect(await executor.execute(tool.use({}), RUN)).toMatchObject({ status: "completed", attempts: 3 });
  });

  it("refuses a use that was executed without it, and an invocation id that another call has", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    const used = useOf(tool);
    await used.execute();
    await expect(executor.execute(used, RUN)).rejects.toThrow(/use.execute\(\) or by an executor, not by both/);
    await executor.execute(useOf(tool, { n: 1 }, { invocationId: "same" }), RUN);
    const other = useOf(tool, { n: 2 }, { invocationId: "same" });
    await expect(executor.execute(other, RUN)).rejects.toThrow(/is another call .*other arguments/);
    expect(other.state).toBe("new");
    expect(ran).toHaveLength(2);
  });

  it.each([
    ["waits for approval", { needsApproval: true }, RUN],
    ["has its outcome, in a run whose ids are its own", {}, { ...RUN, uniqueIds: true }],
  ])("refuses an invocation id under which another tool %s", async (_, change, context) => {
    const [first, second] = [counted({ name: "first", ...change }), counted({ name: "second" })];
    const { executor } = setupWithApprovals([first.tool, second.tool], { waitForApproval: false });
    const use = (tool: typeof first.tool) => useOf(tool, { n: 1 }, { invocationId: "same" });
    await executor.execute(use(first.tool), context);
    await expect(executor.execute(use(second.tool), context)).rejects.toThrow(/is another call .*first/);
    expect(second.ran).toHaveLength(0);
  });
});

describe("an input that only its class can tell from another one", () => {
  class Path {
    readonly #path: string;
    constructor(path: string) {
      this.#path = path;
    }
    toString() {
      return this.#path;
    }
  }
  const make = () =>
    counted({
      inputSchema: z.object({ path: z.string().transform((path) => new Path(path)) }),
      execute: ({ path }) => String(path),
    });

  it("is another call where the model wrote something else", async () => {
    const { tool, ran } = make();
    const { executor } = setup([tool]);
    const run = (path: string) => executor.execute(useOf(tool, { path }, { invocationId: "a" }), RUN);
    expect(await run("/tmp/a")).toMatchObject({ status: "completed", output: "/tmp/a" });
    await expect(run("/tmp/b")).rejects.toThrow(/another call/);
    expect(await run("/tmp/a")).toMatchObject({ output: "/tmp/a", replayed: true });
    expect(ran).toHaveLength(1);
  });

  it("is the same call whatever the white space", async () => {
    const { tool } = make();
    const { executor } = setup([tool]);
    const use = (argsText: string) => new ToolUse({ ...useOf(tool, { path: "/" }, { invocationId: "a" }), argsText });
    await executor.execute(use('{"path":"/"}'), RUN);
    expect(await executor.execute(use(' { "path": "/" }'), RUN)).toMatchObject({ replayed: true });
  });
});

describe("executeAll()", () => {
  const slow = (name: string, log: string[], more: object = {}) =>
    defineTool({
      name,
      inputSchema: z.object({ n: z.number() }),
      ...more,
      execute: async ({ n }) => {
        log.push(`${name}${n} begins`);
        await sleep(5);
        log.push(`${name}${n} ends`);
        return n;
      },
    });

  it("runs side by side up to the concurrency, and gives the outcomes in call order", async () => {
    let now = 0;
    let most = 0;
    const { tool } = counted({
      execute: async ({ n }: any) => {
        most = Math.max(most, ++now);
        await sleep(n);
        now--;
        return n;
      },
    });
    const { executor } = setup([tool], { concurrency: 3 });
    const inputs = [9, 1, 5, 2, 8, 3];
    const outcomes = await executor.executeAll(
      inputs.map((n) => useOf(tool, { n })),
      RUN,
    );
    expect(outcomes.map((outcome) => outcome.status === "completed" && outcome.output)).toEqual(inputs);
    expect(most).toBe(3);
  });

  it("waits for no call that runs, as long as there is room beside it", async () => {
    const second = Promise.withResolvers<void>();
    const { tool } = counted({ execute: ({ n }: any) => (n === 2 ? second.resolve() : second.promise) });
    const { executor } = setup([tool], { concurrency: 2, timeoutMs: 5000 });
    const uses = [1, 2].map((n) => useOf(tool, { n }));
    expect(await executor.executeAll(uses, RUN)).toMatchObject([{ status: "completed" }, { status: "completed" }]);
  });

  it("runs a sequential tool alone, after those before it and before those behind it", async () => {
    const log: string[] = [];
    const [read, write] = [slow("r", log, { effect: "read" }), slow("w", log, { sequential: true })];
    const { executor } = setup([read, write]);
    const uses = [read, read, write, write, read].map((tool, n) => useOf(tool, { n }));
    await executor.executeAll(uses, RUN);
    expect(log.slice(0, 4).toSorted()).toEqual(["r0 begins", "r0 ends", "r1 begins", "r1 ends"]);
    expect(log.slice(4)).toEqual(["w2 begins", "w2 ends", "w3 begins", "w3 ends", "r4 begins", "r4 ends"]);
  });

  it("holds calls that are executed as they come to the same, in one schedule with the rest of them", async () => {
    const log: string[] = [];
    const [read, write] = [slow("r", log, { effect: "read" }), slow("w", log, { sequential: true })];
    const { executor } = setup([read, write], { concurrency: 1 });
    const uses = [read, read, write, read].map((tool, n) => useOf(tool, { n }));
    const schedule = executor.schedule();
    const [first, second] = uses.slice(0, 2).map((use) => executor.execute(use, RUN, schedule));
    const outcomes = await executor.executeAll(uses, RUN, schedule);
    expect(log).toEqual(["r0", "r1", "w2", "r3"].flatMap((call) => [`${call} begins`, `${call} ends`]));
    expect(outcomes.map(({ replayed }) => replayed)).toEqual([true, true, false, false]);
    expect(await Promise.all([first, second])).toMatchObject([{ replayed: false }, { replayed: false }]);
  });

  it("lets a call go whose caller gives up before it is its turn, and counts it as none", async () => {
    const log: string[] = [];
    let end!: () => void;
    const long = counted({ name: "long", execute: () => new Promise<void>((resolve) => (end = resolve)) }).tool;
    const act = slow("a", log, { maxCallsPerRun: 1 });
    const { executor } = setup([long, act], { concurrency: 1 });
    const [schedule, giveUp] = [executor.schedule(), new AbortController()];
    const running = executor.execute(useOf(long), RUN, schedule);
    const given = executor.execute(useOf(act, { n: 1 }), { ...RUN, signal: giveUp.signal }, schedule);
    const last = executor.execute(useOf(act, { n: 2 }), RUN, schedule);
    await sleep(10);
    giveUp.abort();
    expect(await given).toMatchObject({ status: "failed", error: { code: "aborted" } });
    end();
    expect(await Promise.all([running, last])).toMatchObject([{ status: "completed" }, { status: "completed" }]);
    expect(log).toEqual(["a2 begins", "a2 ends"]);
    expect(getEventListeners(giveUp.signal, "abort")).toEqual([]);
  });

  it.each([1, 2])("begins %s at a time in call order, whichever is ready first", async (concurrency) => {
    const log: string[] = [];
    const act = slow("a", log);
    // What the policy says of the first ones takes longest.
    const authorize: Authorize = async ({ input }) => {
      await sleep((5 - (input as { n: number }).n) * 3);
      return allow();
    };
    const { executor } = setup([act], { concurrency, authorize });
    await executor.executeAll(
      [0, 1, 2, 3, 4].map((n) => useOf(act, { n })),
      RUN,
    );
    const begun = log.filter((line) => line.endsWith("begins")).map((line) => Number(line[1]));
    if (concurrency === 1) expect(begun).toEqual([0, 1, 2, 3, 4]);
    // Of those that run side by side the second may be ready first.
    else for (const [at, n] of begun.entries()) expect(Math.abs(at - n)).toBeLessThan(concurrency);
  });

  it("waits for none that has been denied, has failed or is asked about", async () => {
    const log: string[] = [];
    const [act, denied, asked] = [slow("a", log), slow("d", log), slow("q", log, { needsApproval: true })];
    const authorize: Authorize = async ({ tool }) => {
      await sleep(2);
      return tool.name === "d" ? deny("No.") : allow();
    };
    const { executor } = setupWithApprovals([act, denied, asked], {
      concurrency: 1,
      authorize,
      waitForApproval: false,
    });
    const uses = [denied, asked, act].map((tool, n) => useOf(tool, { n }));
    const outcomes = await executor.executeAll(uses, RUN);
    expect(outcomes.map(({ status }) => status)).toEqual(["denied", "awaiting_approval", "completed"]);
    expect(log).toEqual(["a2 begins", "a2 ends"]);
  });

  it("one failure harms no sibling", async () => {
    const { tool } = counted({
      execute: ({ n }: any) => {
        if (n === 1) throw new Error("no");
        return n;
      },
    });
    const other = counted({ name: "other" }).tool;
    const { executor } = setup([tool]);
    const uses = [useOf(tool, { n: 0 }), useOf(tool, { n: 1 }), useOf(other), useOf(tool, { n: 2 })];
    const outcomes = await executor.executeAll(uses, RUN);
    expect(outcomes.map(({ status }) => status)).toEqual(["completed", "failed", "denied", "completed"]);
  });

  it("runs two calls of one tool with equal arguments both (llama_index 22464)", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    await executor.executeAll([useOf(tool, { n: 1 }), useOf(tool, { n: 1 })], RUN);
    expect(ran).toHaveLength(2);
    expect(ran[0]!.context.idempotencyKey).not.toBe(ran[1]!.context.idempotencyKey);
  });

  it("runs nothing when one of the uses cannot be meant", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    await expect(executor.executeAll([useOf(tool), {} as never], RUN)).rejects.toThrow(TypeError);
    await expect(executor.executeAll(useOf(tool) as never, RUN)).rejects.toThrow("takes a list of uses, got an object");
    await expect(executor.executeAll([useOf(tool)], {} as never)).rejects.toThrow("needs the runId of the run");
    expect(ran).toHaveLength(0);
  });

  it("refuses one that runs without it when the others have ended: they have their outcomes", async () => {
    const { tool, ran } = counted({ execute: () => sleep(20) });
    const { executor } = setup([tool]);
    const [elsewhere, here] = [useOf(tool), useOf(tool)];
    const ended = elsewhere.execute();
    await expect(executor.executeAll([elsewhere, here], RUN)).rejects.toThrow(/is running .*not by both/);
    expect(here.state).toBe("done");
    await ended;
    expect(ran).toHaveLength(2);
  });

  it.each([true, false])("judges one call once, though it is executed twice at once (one use: %s)", async (isOne) => {
    const { tool, ran } = counted({ execute: () => sleep(2) });
    let judged = 0;
    const authorize = async () => {
      judged++;
      await sleep(2);
      return allow();
    };
    const { executor } = setup([tool], { authorize });
    const use = () => useOf(tool, {}, { invocationId: "a" });
    const first = use();
    const outcomes = await Promise.all([first, isOne ? first : use()].map((one) => executor.execute(one, RUN)));
    expect(outcomes.map(({ status, replayed }) => [status, replayed])).toEqual([
      ["completed", false],
      ["completed", true],
    ]);
    expect([judged, ran.length]).toEqual([1, 1]);
  });

  it("takes one use twice for one call", async () => {
    const { tool, ran } = counted({ execute: () => sleep(2) });
    const { executor } = setup([tool]);
    const use = useOf(tool);
    const outcomes = await executor.executeAll([use, use], RUN);
    expect(ran).toHaveLength(1);
    expect(outcomes.map(({ status, replayed }) => [status, replayed])).toEqual([
      ["completed", false],
      ["completed", true],
    ]);
  });
});

describe("behaviors", () => {
  const edit = counted({ name: "edit", behaviors: ["doc_edit", "review"] });
  const any = counted({ name: "any" });
  const empty = counted({ name: "empty", behaviors: [] });

  it("say what is offered", () => {
    const { executor } = setup([edit.tool, any.tool, empty.tool]);
    const names = (behavior?: string) => executor.toolsFor(behavior).map(({ name }) => name);
    expect(names("doc_edit")).toEqual(["edit", "any", "empty"]);
    expect(names("chat")).toEqual(["any", "empty"]);
    expect(names()).toEqual(["any", "empty"]);
  });

  it.each([["chat"], [undefined]])("deny a call in %s", async (behavior) => {
    const { executor, events } = setup([edit.tool]);
    const use = useOf(edit.tool);
    const outcome = await executor.execute(use, { ...RUN, behavior });
    expect(outcome).toMatchObject({ status: "denied", reason: "behavior_not_allowed" });
    expect(events.at(-1)).toMatchObject({
      type: "tool.denied",
      reason: "behavior_not_allowed",
      allowed: ["doc_edit", "review"],
    });
    expect(use.error).toMatchObject({ code: "denied", message: expect.stringContaining("doc_edit, review") });
    expect(edit.ran).toHaveLength(0);
  });
});

describe("authorize", () => {
  it("allows, denies and asks", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool], {
      authorize: ({ input }, { principal }) => {
        const { n } = input;
        return n === 1 ? allow() : n === 2 ? deny(`not for ${principal!.id}`) : ask("Really?");
      },
    });
    const context = { ...RUN, principal: { id: "anna" } };
    const outcomes = await executor.executeAll(
      [1, 2, 3].map((n) => useOf(tool, { n })),
      context,
    );
    expect(outcomes).toMatchObject([
      { status: "completed" },
      { status: "denied", reason: "policy", error: { message: "not for anna" } },
      {
        status: "denied",
        reason: "approval_unavailable",
        error: { message: expect.stringContaining("no ApprovalService was given as approvals") },
      },
    ]);
    expect(ran).toHaveLength(1);
  });

  it.each<[string, object, object, RegExp]>([
    ["a policy that throws", { authorize: () => Promise.reject(new Error("db down")) }, {}, /^db down$/],
    [
      "a policy that says nothing",
      { authorize: () => undefined },
      {},
      /^authorize returns allow\(\).* got undefined\.$/,
    ],
    ["a policy that says true", { authorize: () => true }, {}, /got a boolean/],
    ["a rule that throws", {}, { needsApproval: () => Promise.reject(new Error("no")) }, /^no$/],
    ["a rule that says nothing", {}, { needsApproval: () => undefined }, /^needsApproval of act returns .* undefined/],
  ])("%s denies, and the application can see why", async (_, options, change, why) => {
    const { tool, ran } = counted(change);
    const { executor, events, store } = setup([tool], options as never);
    const outcome = await executor.execute(useOf(tool), RUN);
    expect(outcome).toMatchObject({ status: "denied", reason: "policy_failed" });
    expect((errorOf(outcome).cause as Error).message).toMatch(why);
    expect(JSON.stringify([errorOf(outcome).message, events, await store.list("")])).not.toMatch(/db down|cause/);
    expect(ran).toHaveLength(0);
  });

  it("stores its outcome: a denied call stays denied though the policy is gone (mastra 20487)", async () => {
    const { tool, ran } = counted();
    const { executor, store } = setup([tool], { authorize: () => deny("no") });
    await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    const later = setup([tool], { store });
    const outcome = await later.executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    expect(outcome).toMatchObject({ status: "denied", reason: "policy", replayed: true });
    expect(await later.executor.action("run/a")).toMatchObject({ status: "denied", reason: "policy", startedAt: null });
    expect(ran).toHaveLength(0);
  });
});

describe("the input", () => {
  it("that was judged is the one that runs, whoever changes the object meanwhile", async () => {
    const { tool, ran } = counted({ inputSchema: z.object({ n: z.number(), list: z.array(z.number()) }) });
    const { executor } = setup([tool], {
      authorize: async ({ input }) => {
        use.input.n = 1000;
        use.input.list.push(1000);
        input.n = 2000; // nor does the policy change it
        await sleep(1);
        return allow();
      },
    });
    const use = useOf(tool, { n: 1, list: [1] });
    await executor.execute(use, RUN);
    expect(ran[0]!.input).toEqual({ n: 1, list: [1] });
  });

  it("is judged by the tool's rule, and asked about, as it is, whatever the policy and the rule do to their own", async () => {
    const { tool } = counted({
      needsApproval: (input: any) => input.n > 10 && (input.n = 0) === 0,
      approvalMessage: ({ n }: any) => `Run it with ${n}?`,
    });
    const authorize: Authorize = ({ input }) => ((input.n = 1), allow());
    const { executor } = setupWithApprovals([tool], { authorize, waitForApproval: false });
    expect(await executor.execute(useOf(tool, { n: 50 }), RUN)).toMatchObject({
      status: "awaiting_approval",
      approval: { message: "Run it with 50?", input: { n: 50 } },
    });
  });

  it("is new for each attempt: a handler that changes it changes nothing else", async () => {
    const { tool } = counted({
      effect: "read",
      retries: 1,
      execute: (input: any, { attempt }: any) => {
        const seen = input.n;
        input.n = 1000;
        if (attempt === 1) throw new Error("busy");
        return seen;
      },
    });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(tool, { n: 1 }), RUN)).toMatchObject({ output: 1 });
  });

  it("keeps what a schema made: dates, maps, instances of classes, and own __proto__", async () => {
    const made = {
      at: new Date(0),
      map: new Map([["a", [1]]]),
      set: new Set([1]),
      url: new URL("https://example.com"),
    };
    const { tool, ran } = counted({ inputSchema: z.any().transform((input) => ({ ...made, input })) });
    const { executor } = setup([tool]);
    await executor.execute(useOf(tool, JSON.parse('{"__proto__":{"polluted":1}}')), RUN);
    expect(ran[0]!.input).toMatchObject(made);
    expect(ran[0]!.input.url).toBe(made.url);
    for (const key of ["at", "map", "set"] as const) expect(ran[0]!.input[key], "a copy").not.toBe(made[key]);
    expect(Object.keys(ran[0]!.input.input)).toEqual(["__proto__"]);
  });
});

describe("rules over the history of a run", () => {
  it("authorize can look at the actions so far", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool], {
      authorize: async ({ input, actions }) => {
        const inputs = await actions();
        return inputs.filter(({ status }) => status === "done").length >= input.n ? deny("") : allow();
      },
    });
    const statuses = [];
    for (let call = 0; call < 3; call++) statuses.push((await executor.execute(useOf(tool, { n: 2 }), RUN)).status);
    expect(statuses).toEqual(["completed", "completed", "denied"]);
    expect(ran).toHaveLength(2);
  });

  it("requires: another tool has to succeed first, in this run", async () => {
    const read = counted({
      name: "read_file",
      effect: "read",
      execute: ({ n }: any) => (n === 0 ? Promise.reject(new Error("no")) : n),
    });
    const write = counted({ name: "write_file", requires: "read_file" });
    const { executor } = setup([read.tool, write.tool]);
    const run = async (tool: typeof read.tool, n: number, runId = "run") =>
      (await executor.execute(useOf(tool, { n }), { runId })).status;
    expect(await run(write.tool, 1)).toBe("denied");
    expect(await run(read.tool, 0)).toBe("failed");
    expect(await run(write.tool, 2)).toBe("denied");
    expect(await run(read.tool, 1, "another run")).toBe("completed");
    expect(await run(write.tool, 3)).toBe("denied");
    expect(await run(read.tool, 1)).toBe("completed");
    expect(await run(write.tool, 4)).toBe("completed");
    expect(write.ran).toHaveLength(1);
  });

  it("maxCallsPerRun: of calls side by side, in two executors, exactly so many run", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 3, execute: () => sleep(1) });
    const { executor, store } = setup([tool]);
    const other = setup([tool], { store });
    const outcomes = await Promise.all([
      executor.executeAll(
        [1, 2, 3, 4].map((n) => useOf(tool, { n })),
        RUN,
      ),
      other.executor.executeAll(
        [5, 6, 7, 8].map((n) => useOf(tool, { n })),
        RUN,
      ),
    ]);
    expect(ran).toHaveLength(3);
    const denied = outcomes.flat().filter(({ status }) => status === "denied");
    expect(denied).toHaveLength(5);
    expect(denied[0]).toMatchObject({
      reason: "too_many_calls",
      error: { message: expect.stringContaining("3 times") },
    });
    expect(await executor.execute(useOf(tool), { runId: "another" })).toMatchObject({ status: "completed" });
  });
});

describe("ids of providers", () => {
  // reliability §1.1: gpt-oss-120b sent answered ids again 546 times, writes included.
  it("the same id, tool and input again in a run is told, and the policy decides", async () => {
    const { tool, ran } = counted();
    const { executor, events } = setup([tool], {
      authorize: ({ repeatOf }) => (repeatOf === undefined ? allow() : deny("you did that already")),
    });
    const call = (n: number, invocationId: string, runId = "run") =>
      executor.execute(tool.use({ n }, { id: "call_1", invocationId }), { runId });
    expect(await call(1, "a")).toMatchObject({ status: "completed" });
    expect(await call(1, "b")).toMatchObject({ status: "denied", repeatOf: "run/a" });
    expect(await call(1, "b")).toMatchObject({ status: "denied", repeatOf: "run/a", replayed: true });
    expect(events.filter(({ type }) => type === "tool.invoked").at(-1)).toMatchObject({ repeatOf: "run/a" });
    expect(await call(1, "c", "another")).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(2);
  });

  // reliability §1.1: gpt-4o gave one id to different calls in 49 of 200 runs.
  it("the same id for another call is another call", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    const outcomes = [
      await executor.execute(tool.use({ n: 1 }, { id: "call_1", invocationId: "a" }), RUN),
      await executor.execute(tool.use({ n: 2 }, { id: "call_1", invocationId: "b" }), RUN),
    ];
    expect(outcomes.map((outcome) => outcome.repeatOf)).toEqual([undefined, undefined]);
    expect(ran.map(({ input }) => input.n)).toEqual([1, 2]);
  });

  it.each([null, ""])("none (%j) makes no call a repetition of another one", async (id) => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    const call = () => executor.execute(new ToolUse({ ...useOf(tool, { n: 1 }), id }), RUN);
    expect([(await call()).repeatOf, (await call()).repeatOf]).toEqual([undefined, undefined]);
    expect(ran).toHaveLength(2);
  });
});

describe("tool names", () => {
  it.each(["constructor", "toString", "__proto__", "hasOwnProperty", "dеlete_file" /* Cyrillic */, "Act"])(
    "%s is no tool of ours: nothing runs",
    async (name) => {
      const { tool } = counted();
      const stranger = counted({ name });
      const { executor, events } = setup([tool]);
      const outcome = await executor.execute(useOf(stranger.tool), { runId: "__proto__" });
      expect(outcome).toMatchObject({ status: "denied", reason: "unknown_tool", error: { code: "unknown_tool" } });
      expect(events.at(-1)).toMatchObject({ type: "tool.denied", reason: "unknown_tool" });
      expect(stranger.ran).toHaveLength(0);
    },
  );

  it("runs the tool that it has, not another one of that name, with that one's schema", async () => {
    const { tool, ran } = counted({ inputSchema: z.object({ n: z.number() }) });
    const stranger = counted({ inputSchema: z.object({ n: z.any() }) });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(stranger.tool, { n: 1 }), RUN)).toMatchObject({ status: "completed" });
    expect(await executor.execute(useOf(stranger.tool, { n: "1" }), RUN)).toMatchObject({
      status: "failed",
      error: { code: "invalid_input" },
    });
    expect(ran).toHaveLength(1);
    expect(stranger.ran).toHaveLength(0);
  });

  it("gives that tool's handler what that tool's schema makes of the input", async () => {
    const { tool, ran } = counted({ inputSchema: z.object({ n: z.number(), text: z.string().default("none") }) });
    const stranger = counted({ inputSchema: z.object({ n: z.number() }) });
    await setup([tool]).executor.execute(useOf(stranger.tool, { n: 1 }), RUN);
    expect(ran.map(({ input }) => input)).toEqual([{ n: 1, text: "none" }]);
  });

  it("makes of an input once what its schema makes of it, though the tool is a copy of the one that was called", async () => {
    const inputSchema = z.object({ text: z.string().transform((text) => [text]) });
    const { tool, ran } = counted({ inputSchema });
    const { executor } = setup([{ ...tool }]);
    expect(await executor.execute(useOf(tool, { text: "a" }), RUN)).toMatchObject({ status: "completed" });
    expect(ran.map(({ input }) => input)).toEqual([{ text: ["a"] }]);
  });

  it("does not read an input again with the schema that has read it, though its tool is defined again", async () => {
    let reads = 0;
    const { tool, ran } = counted({ inputSchema: z.object({ n: z.number().transform((n) => n + ++reads) }) });
    const { executor } = setup([defineTool({ ...tool, eager: true })]);
    expect(await executor.execute(useOf(tool, { n: 5 }), RUN)).toMatchObject({ status: "completed" });
    expect(ran.map(({ input }) => input)).toEqual([{ n: 6 }]);
  });

  it.each<[string, () => z.ZodType, unknown, unknown]>([
    [
      "makes another type of it",
      () => z.string().transform((text) => new Date(text)),
      "2026-01-01",
      new Date("2026-01-01"),
    ],
    ["changes it", () => z.number().transform((euros) => euros * 100), 5, 500],
    [
      "refuses what it has made",
      () =>
        z
          .string()
          .max(1)
          .transform((text) => `${text}${text}`),
      "a",
      "aa",
    ],
  ])(
    "makes of an input once what a schema, which is made anew with its tool, does where it %s",
    async (_, of, n, made) => {
      const make = () => counted({ inputSchema: z.object({ n: of() }), execute: () => "done" });
      const [before, now] = [make(), make()];
      const outcome = await setup([now.tool]).executor.execute(useOf(before.tool, { n }), RUN);
      expect(outcome).toMatchObject({ status: "completed" });
      expect(now.ran).toMatchObject([{ input: { n: made } }]);
    },
  );

  const cents = () =>
    z.object({
      n: z
        .number()
        .default(5)
        .transform((n) => n * 100),
      text: z.string().optional(),
    });
  it.each<[string, string, () => z.ZodType, unknown, Record<string, unknown>?]>([
    ["has a number in a text", `{"n":"5"}`, cents, { n: 500 }],
    ["is no JSON", `{'n': 5,}`, cents, { n: 500 }],
    ["has a null for what may be absent", `{"n":5,"text":null}`, cents, { n: 500 }],
    ["is missing", "", cents, { n: 500 }],
    ["is free text", "a", () => z.string().transform((text) => `${text}${text}`), "aa", { custom: true }],
  ])(
    "makes once what a schema made anew does of arguments whose text %s",
    async (_, text, inputSchema, made, metadata = {}) => {
      const make = () => counted({ inputSchema: inputSchema(), repair: "coerce", execute: () => "done" });
      const [before, now] = [make(), make()];
      const buffer = new ToolBuffer([before.tool]);
      const call = buffer.append({ id: "call_1", name: "act", argsTextDelta: text, done: true, metadata });
      const use = [call, ...buffer.end("tool-use")].find((one) => one instanceof ToolUse)!;
      const copy = new ToolUse(use);
      const { executor } = setup([now.tool]);
      expect(await executor.execute(use, RUN)).toMatchObject({ status: "completed" });
      expect(await executor.execute(copy, { runId: "other" })).toMatchObject({ status: "completed" });
      expect(now.ran.map(({ input }) => input)).toEqual([made, made]);
    },
  );

  it("refuses an input that is no longer what was read, if a schema made anew makes another one of it", async () => {
    const make = () => counted({ inputSchema: z.object({ n: z.number().transform((euros) => euros * 100) }) });
    const [before, now] = [make(), make()];
    const use = useOf(before.tool, { n: 5 });
    (use.input as { n: number }).n = 700;
    const { executor } = setup([now.tool]);
    const outcome = await executor.execute(use, RUN);
    expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    expect(now.ran).toEqual([]);
  });

  it("keeps a default that is another one each time, though the tool is made anew", async () => {
    let last = 0;
    const make = () => counted({ inputSchema: z.object({ n: z.number().default(() => ++last) }) });
    const [before, now] = [make(), make()];
    const use = useOf(before.tool);
    await setup([now.tool]).executor.execute(use, RUN);
    expect(now.ran).toMatchObject([{ input: { n: use.input.n } }]);
  });

  it("runs the tool that the policy has allowed, though its source has another one before it is its turn", async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const [old, now] = [counted({ execute: () => held }), counted()];
    let tools = [old.tool];
    const judged: unknown[] = [];
    const authorize: Authorize = ({ tool }) => {
      judged.push(tool);
      return allow();
    };
    const { executor } = setup({ tools: () => tools }, { authorize, concurrency: 1 });
    const both = executor.executeAll([useOf(old.tool, { n: 1 }), useOf(old.tool, { n: 2 })], RUN);
    await until(() => judged.length === 2);
    tools = [now.tool];
    release();
    await both;
    expect(old.ran.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(now.ran).toHaveLength(0);
  });

  it("are looked at when the source has other tools, and not at every call", async () => {
    let looks = 0;
    const made = Array.from({ length: 100 }, (_, n) => counted({ name: `act_${n}` }));
    const watched = made.map(({ tool }) => Object.create(tool, { name: { get: () => (looks++, tool.name) } }) as Tool);
    const tools = watched.slice(0, -1);
    const { executor } = setup({ tools: () => [...tools] });
    const [first, last] = [made[0]!, made.at(-1)!];
    looks = 0;
    for (let n = 0; n < 10; n++) await executor.execute(useOf(first.tool, { n }), RUN);
    expect(first.ran).toHaveLength(10);
    expect(looks).toBeLessThan(100);
    expect(await executor.execute(useOf(last.tool), RUN)).toMatchObject({ status: "denied", reason: "unknown_tool" });
    tools.splice(0, 1, watched.at(-1)!);
    expect(await executor.execute(useOf(last.tool), RUN)).toMatchObject({ status: "completed" });
    expect(await executor.execute(useOf(first.tool), RUN)).toMatchObject({ status: "denied", reason: "unknown_tool" });
  });

  it("check the arguments once, though the source makes its tools anew each time", async () => {
    let checks = 0;
    const inputSchema = () => z.object({ n: z.number().refine(() => ++checks > 0) });
    const { executor } = setup({ tools: () => [counted({ inputSchema: inputSchema() }).tool] });
    const use = useOf(counted().tool, { n: 1 });
    expect(await executor.execute(use, RUN)).toMatchObject({ status: "completed" });
    expect(checks).toBe(1);
  });

  it("keeps actions whose run and invocation meet in one text apart", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool]);
    await executor.execute(useOf(tool, {}, { invocationId: "c" }), { runId: "a/b" });
    await executor.execute(useOf(tool, {}, { invocationId: "b/c" }), { runId: "a" });
    expect(ran).toHaveLength(2);
  });
});

describe("time", () => {
  it.each([
    ["the tool's", { timeoutMs: 15 }, {}, {}],
    ["the call's", { timeoutMs: 60_000 }, { timeoutMs: 15 }, {}],
    ["the executor's", {}, {}, { timeoutMs: 15 }],
  ])("settles at %s timeout, though the handler never does", async (_, change, context, options) => {
    let signal: AbortSignal | undefined;
    const { tool } = counted({
      ...change,
      execute: (_input: unknown, handed: any) => new Promise(() => (signal = handed.signal)),
    });
    const { executor, events } = setup([tool], options);
    const outcome = await executor.execute(useOf(tool), { ...RUN, ...context });
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "timeout", message: "act did not end within 15 ms. It may have had its effect nevertheless." },
    });
    expect(signal!.aborted).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: "tool.failed", errorCode: "timeout" });
  });

  it("counts what came in time, though this process was busy until the time was over", async () => {
    const { tool } = counted({
      timeoutMs: 500,
      execute: async () => {
        const child = spawn("/bin/sh", ["-c", "echo started; sleep 0.1; echo in time"]);
        const lines = child.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
        await lines.next();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
        return (await lines.next()).value as string;
      },
    });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed", output: "in time\n" });
  });

  it.each<[string, () => unknown, number, object]>([
    ["a late result", () => "late", 0, { type: "tool.late", result: "completed" }],
    ["a late result of what may be tried again", () => "late", 1, { type: "tool.late", result: "completed" }],
    [
      "a late failure",
      () => Promise.reject(new Error("late")),
      0,
      { type: "tool.late", result: "failed", errorMessage: "late" },
    ],
    [
      "a late failure of what may be tried again",
      () => Promise.reject(new Error("late")),
      1,
      { type: "tool.late", result: "failed", errorMessage: "late" },
    ],
  ])("%s is an event and changes nothing", async (_, end, retries, event) => {
    let go!: () => void;
    const { tool } = counted({
      timeoutMs: 5,
      effect: "read",
      retries,
      execute: () => new Promise<void>((resolve) => (go = resolve)).then(end),
    });
    const { executor, events, store } = setup([tool]);
    const use = useOf(tool, {}, { invocationId: "a" });
    const outcome = await executor.execute(use, RUN);
    const row = (await store.get("action/run/a"))?.version;
    go();
    await until(() => events.at(-1)!.type === "tool.late");
    expect(events.at(-1)).toMatchObject(event);
    expect(use).toMatchObject({ state: "failed", error: { code: "timeout", message: "act did not end within 5 ms." } });
    expect((await store.get("action/run/a"))?.version).toBe(row);
    expect(await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN)).toMatchObject({
      status: "failed",
      error: { message: errorOf(outcome).message },
    });
  });

  it("ends when the caller gives up, and lets go of the caller's signal", async () => {
    const controller = new AbortController();
    const { tool } = counted({ execute: () => new Promise(() => {}) });
    const { executor } = setup([tool]);
    const running = executor.execute(useOf(tool), { ...RUN, signal: controller.signal });
    await sleep(5);
    controller.abort();
    expect(await running).toMatchObject({ status: "failed", error: { code: "aborted" } });
  });

  it("ends when the caller gives up who waits for the same call of another one", async () => {
    let end!: () => void;
    const { tool, ran } = counted({ execute: () => new Promise<void>((resolve) => (end = resolve)) });
    const { executor } = setup([tool]);
    const again = () => tool.use({}, { invocationId: "a" });
    const first = executor.execute(again(), RUN);
    await until(() => ran.length === 1);
    const leave = new AbortController();
    const second = executor.execute(again(), { ...RUN, signal: leave.signal });
    leave.abort();
    expect(await second).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    const third = executor.execute(again(), RUN);
    end();
    expect(await first).toMatchObject({ status: "completed", replayed: false });
    expect(await third).toMatchObject({ status: "completed", replayed: true });
    expect(ran).toHaveLength(1);
  });

  it.each([
    ["authorize", {}, { authorize: () => new Promise<never>(() => {}) }],
    ["needsApproval", { needsApproval: () => new Promise<never>(() => {}) }, {}],
  ])("ends when the caller gives up while %s does not answer", async (_, rules, options) => {
    const controller = new AbortController();
    const { tool, ran } = counted(rules);
    const { executor, types } = setup([tool], options);
    const running = executor.execute(useOf(tool), { ...RUN, signal: controller.signal });
    await sleep(5);
    controller.abort();
    expect(await running).toMatchObject({ status: "failed", attempts: 0, error: { code: "aborted" } });
    expect(types()).toEqual(["tool.invoked", "tool.failed"]);
    expect(ran).toHaveLength(0);
  });

  it("does not begin when the caller has given up before", async () => {
    const { tool, ran } = counted();
    const { executor, types } = setup([tool]);
    const outcome = await executor.execute(useOf(tool, {}, { invocationId: "a" }), {
      ...RUN,
      signal: AbortSignal.abort(),
    });
    expect(outcome).toMatchObject({ status: "failed", attempts: 0, error: { code: "aborted" } });
    expect(types()).toEqual(["tool.invoked", "tool.failed"]);
    // What the model was told stays true.
    expect(await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN)).toMatchObject({ status: "failed" });
    expect(ran).toHaveLength(0);
  });

  it("does not begin when the caller gives up while it is recorded that it begins", async () => {
    const controller = new AbortController();
    const store = failing(memoryStore(), (verb, key) => {
      if (verb === "put" && key === "action/run/a") controller.abort();
      return undefined;
    });
    const { tool, ran } = counted();
    const { executor, types } = setup([tool], { store });
    const use = useOf(tool, {}, { invocationId: "a" });
    expect(await executor.execute(use, { ...RUN, signal: controller.signal })).toMatchObject({
      status: "failed",
      attempts: 0,
      error: { code: "aborted", message: "act was aborted before it was executed." },
    });
    expect(types()).toEqual(["tool.invoked", "tool.failed"]);
    expect(await executor.undoRun("run")).toMatchObject({ notUndone: [] });
    expect(ran).toHaveLength(0);
  });

  it("does not begin another attempt when the caller gives up while that is recorded", async () => {
    const controller = new AbortController();
    const store = memoryStore();
    const abortingStore: Store = {
      ...store,
      put(key, value, options) {
        if ((value as { attempts?: number }).attempts === 2) controller.abort();
        return store.put(key, value, options);
      },
    };
    const { tool, ran } = counted({ effect: "read", retries: 1, execute: () => Promise.reject(new Error("busy")) });
    const { executor } = setup([tool], { store: abortingStore });
    const outcome = await executor.execute(useOf(tool), { ...RUN, signal: controller.signal });
    expect(outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
    await sleep(5);
    expect(ran).toHaveLength(1);
  });

  it("tries a read again, each attempt recorded before it begins, with one idempotency key", async () => {
    const rows: unknown[] = [];
    const { tool, ran } = counted({
      effect: "idempotent",
      retries: 2,
      execute: async (_: unknown, { attempt }: any) => {
        rows.push((await store.get<any>("action/run/a"))!.value.attempts);
        if (attempt < 3) throw attempt === 1 ? new Error("busy") : "still busy";
        return "at last";
      },
    });
    const { executor, store, types } = setup([tool]);
    const outcome = await executor.execute(useOf(tool, {}, { invocationId: "a" }), RUN);
    expect(outcome).toMatchObject({ status: "completed", output: "at last", attempts: 3 });
    expect(rows).toEqual([1, 2, 3]);
    expect(new Set(ran.map(({ context }) => context.idempotencyKey)).size).toBe(1);
    expect(types()).toEqual(["tool.invoked", "tool.started", "tool.started", "tool.started", "tool.completed"]);
  });

  it("gives the last error when all attempts have failed, also one that is none", async () => {
    const { tool, ran } = counted({ effect: "read", retries: 1, execute: () => Promise.reject("no disk") });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({
      status: "failed",
      attempts: 2,
      error: { message: "Tool act failed: no disk", cause: "no disk" },
    });
    expect(ran).toHaveLength(2);
  });

  it("gives the handler's error, where the next attempt cannot be recorded", async () => {
    const failure = new Error("busy");
    const { tool, ran } = counted({ effect: "read", retries: 1, execute: () => Promise.reject(failure) });
    let failures = 0;
    const store = failing(memoryStore(), (verb, key) =>
      ran.length === 1 && verb === "put" && key.startsWith("action/") && failures++ < 3
        ? new ToolError("store_failed", "down")
        : undefined,
    );
    const { executor } = setup([tool], { store });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({
      status: "failed",
      attempts: 1,
      recorded: true,
      error: { code: "execution_failed", message: "Tool act failed: busy", cause: failure },
    });
    expect(ran).toHaveLength(1);
  });

  it.each([
    ["a mistake", new TypeError("x is not a function"), 1],
    ["a network that failed", new TypeError("fetch failed"), 2],
  ])("tells %s from what is worth another try", async (_, error, attempts) => {
    const { tool } = counted({ effect: "read", retries: 1, execute: () => Promise.reject(error) });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "failed", attempts });
  });

  it("leaves nothing with the caller's signal, which may be that of many calls, and no timer", async () => {
    const { signal } = new AbortController();
    const running = timersOf(60_000);
    const during: number[] = [];
    const act = () => void during.push(running());
    const { tool } = counted({ execute: act, undo: act, timeoutMs: 60_000 });
    const { executor } = setup([tool], { authorize: allow });
    const outcomes = await executor.executeAll([useOf(tool), useOf(tool)], { ...RUN, signal });
    await executor.undo(outcomes[0]!.actionId, undefined, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(during.every((timers) => timers > 0)).toBe(true);
    expect([during.length, running()]).toEqual([3, 0]);
  });

  it("a handler that ends because it was told to is no late result, and its late progress is not told", async () => {
    let tell!: () => Promise<void>;
    const { tool } = counted({
      timeoutMs: 5,
      execute: (_: unknown, { signal, progress }: any) => {
        tell = () => progress("late");
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const { executor, types } = setup([tool]);
    await executor.execute(useOf(tool), RUN);
    await tell();
    await sleep(5);
    expect(types()).toEqual(["tool.invoked", "tool.started", "tool.failed"]);
  });

  it("counts no attempt that did not begin, since the caller gave up in the pause before it", async () => {
    const { tool, ran } = counted({ effect: "read", retries: 1, execute: () => Promise.reject(new Error("busy")) });
    const { executor, types } = setup([tool], { retryDelayMs: 5_000 });
    const leave = new AbortController();
    const running = executor.execute(useOf(tool, {}, { invocationId: "a" }), { ...RUN, signal: leave.signal });
    await until(() => ran.length === 1);
    leave.abort();
    expect(await running).toMatchObject({ status: "failed", error: { code: "aborted" } });
    await sleep(20);
    expect(await executor.action("run/a")).toMatchObject({ status: "failed", attempts: 1 });
    expect(types()).toEqual(["tool.invoked", "tool.started", "tool.failed"]);
    expect(ran).toHaveLength(1);
  });

  it("the timeout holds for all attempts together", async () => {
    const { tool } = counted({
      effect: "read",
      retries: 1000,
      timeoutMs: 20,
      execute: () => Promise.reject(new Error("no")),
    });
    const { executor } = setup([tool]);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "failed", error: { code: "timeout" } });
  });
});

describe("progress", () => {
  it("of a generator and of context.progress() is told, in order", async () => {
    const { tool } = counted({
      execute: async function* (_: unknown, { progress }: any) {
        yield { percent: 10 };
        await progress("half");
        yield { percent: 90 };
        return "done";
      },
    });
    const { executor, events } = setup([tool]);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed", output: "done" });
    const told = events.flatMap((event) => (event.type === "tool.progress" ? [event.progressSummary] : []));
    expect(told).toEqual(['{"percent":10}', '"half"', '{"percent":90}']);
    expect(events.at(-1)!.type).toBe("tool.completed");
  });

  it("that is waited for is told, however much it is", async () => {
    const { tool } = counted({
      execute: async function* () {
        for (let n = 0; n < 150; n++) yield n;
      },
    });
    const { executor, types } = setup([tool]);
    await executor.execute(useOf(tool), RUN);
    expect(types().filter((type) => type === "tool.progress")).toHaveLength(150);
  });

  it("that nobody waits for is bounded", async () => {
    const { tool } = counted({
      execute: (_: unknown, { progress }: any) => {
        for (let n = 0; n < 10_000; n++) void progress(n);
      },
    });
    const { executor, events } = setup([tool]);
    await executor.execute(useOf(tool), RUN);
    expect(events.filter(({ type }) => type === "tool.progress").length).toBeLessThanOrEqual(100);
  });
});

describe("events", () => {
  it("are numbered without gaps over executors that share a store, and can be read from any number", async () => {
    const { tool } = counted({ execute: () => sleep(1) });
    const { executor, store, events } = setup([tool]);
    const other = setup([tool], { store });
    await Promise.all(
      [executor, other.executor].map((one) =>
        one.executeAll(
          Array.from({ length: 20 }, () => useOf(tool)),
          RUN,
        ),
      ),
    );
    const all = [...events, ...other.events].toSorted((a, b) => a.seq - b.seq);
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
    for (const one of [events, other.events]) expect(one).toEqual(one.toSorted((a, b) => a.seq - b.seq));
    for (const after of [0, 1, 60, 119, 120]) {
      expect(await executor.events("run", { after })).toEqual(all.slice(after));
      expect(await executor.events("run", { after, limit: 2 })).toEqual(all.slice(after, after + 2));
    }
    // A process that comes later goes on where they stopped.
    const late = setup([tool], { store });
    expect(await late.executor.position("run")).toBe(120);
    expect(await late.executor.position("nowhere")).toBe(0);
    await late.executor.execute(useOf(tool), RUN);
    expect(late.events.map(({ seq }) => seq)).toEqual([121, 122, 123]);
  });

  it.each<[string, (event: ToolEvent) => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
    ["changes the event", (event) => Object.assign(event, { seq: 77, runId: "x" })],
  ])("a listener that %s changes nothing (ai 10169)", async (_, onEvent) => {
    const { tool } = counted();
    const { executor } = setup([tool], { onEvent });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect((await executor.events("run")).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("can be listened to by several, each of whom may leave", async () => {
    const { tool } = counted();
    const { executor, events } = setup([tool]);
    const heard: number[] = [];
    executor.listen(() => {
      throw new Error("no");
    });
    const stop = executor.listen(({ seq }) => void heard.push(seq));
    await executor.execute(useOf(tool), RUN);
    stop();
    await executor.execute(useOf(tool), RUN);
    expect(heard).toEqual([1, 2, 3]);
    expect(events).toHaveLength(6);
    expect(() => executor.listen("log" as never)).toThrow(TypeError);
  });

  it("are told once, also when the store could not be read for a moment", async () => {
    const shared = memoryStore();
    let isDown = false;
    const store: Store = {
      ...shared,
      list: async (prefix, options) => {
        if (isDown) throw new ToolError("store_failed", "down");
        return shared.list(prefix, options);
      },
    };
    const { tool } = counted();
    const { executor, types } = setup([tool], { store });
    const again = () => executor.execute(useOf(tool, {}, { invocationId: "a", id: "call_1" }), RUN);
    await again();
    isDown = true;
    await again();
    isDown = false;
    await again();
    expect(types()).toEqual(["tool.invoked", "tool.started", "tool.completed"]);
    expect(await executor.events("run")).toHaveLength(3);
  });

  it("are told once and in order when another process finds the call before its own has told of it", async () => {
    const shared = memoryStore();
    const heldBack: (() => void)[] = [];
    // A process whose events are slow to be written: those of `c` are told last.
    const slow: Store = {
      ...shared,
      put: async (key, value, options) => {
        if (key.startsWith("event/")) await new Promise<void>((resolve) => heldBack.push(resolve));
        return shared.put(key, value, options);
      },
    };
    const { tool } = counted({ inputSchema: z.object({ id: z.string() }), execute: ({ id }) => id });
    const own = setup([tool], { store: slow });
    const other = setup([tool], { store: shared });
    const ids = ["a", "b", "c"];
    const uses = () => ids.map((id) => tool.use({ id }, { id, invocationId: id }));
    const first = own.executor.executeAll(uses(), RUN);
    await until(
      async () => (await other.executor.actions("run")).filter(({ status }) => status === "done").length === 3,
    );
    await other.executor.executeAll(uses(), RUN);
    let isOver = false;
    const over = first.then(() => (isOver = true));
    await until(() => {
      for (const go of heldBack.splice(0)) go();
      return isOver;
    });
    await over;
    const events = await other.executor.events("run");
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    for (const id of ids) {
      const types = events.filter(({ invocationId }) => invocationId === id).map(({ type }) => type);
      expect(types).toEqual(["tool.invoked", "tool.started", "tool.completed"]);
    }
  });

  it("are told by the next who asks, as the record says it, where the process died before it told of an end", async () => {
    let isDead = false;
    const shared = memoryStore();
    const store = failing(shared, (verb, key) => {
      if (isDead && verb === "put" && key.startsWith("event/")) return new Promise(() => {});
    });
    const { tool } = counted({ execute: () => sleep(20).then(() => void (isDead = true)) });
    const again = () => useOf(tool, {}, { invocationId: "a" });
    void setup([tool], { store }).executor.execute(again(), RUN);
    const { executor } = setup([tool], { store: shared });
    await until(async () => (await executor.action("run/a"))?.status === "done");
    await executor.execute(again(), RUN);
    const { startedAt, endedAt } = (await executor.action("run/a"))!;
    const events = await executor.events("run");
    expect(events.map(({ type }) => type)).toEqual(["tool.invoked", "tool.started", "tool.completed"]);
    expect(events.at(-1)).toMatchObject({ durationMs: endedAt! - startedAt!, outputSummary: "null" });
  });

  it("can be numbered by the process alone", async () => {
    const { tool } = counted();
    const { executor, events } = setup([tool], { storeEvents: false });
    await executor.executeAll([useOf(tool), useOf(tool)], RUN);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await executor.events("run")).toEqual([]);
  });

  it("show a bounded, redacted, printable part of inputs and outputs", async () => {
    const { tool } = counted({
      inputSchema: z.any(),
      execute: () => ({ ansi: "\u001b[2J", bidi: "\u202e", secret: { token: "t0p" }, long: "x".repeat(10_000) }),
    });
    const { executor, events } = setup([tool], {
      redact: (path, value) => (path.at(-1) === "card" || path.includes("secret") ? "[hidden]" : value),
    });
    await executor.execute(useOf(tool, { card: "4111", list: Array.from({ length: 10_000 }, () => 1) }), RUN);
    const texts = events.map((event) => JSON.stringify(event));
    expect(texts.join("")).not.toMatch(/4111|t0p/);
    const shown = events.flatMap((event) => Object.values(event)).join("");
    for (const character of ["\u001b", "\u202e"]) expect(shown).not.toContain(character);
    expect(texts.every((text) => text.length < 1500)).toBe(true);
    expect(events[0]).toMatchObject({ payloadSummary: expect.stringContaining('{"card":"[hidden]","list":[1,') });
  });

  it.each([
    ["characters that are escaped", "\u200c".repeat(400)],
    ["pairs of surrogates", "😀".repeat(400)],
    ["the same, one character later", `a${"😀".repeat(400)}`],
  ])("have summaries of at most 500 characters, whole ones: %s", async (_, text) => {
    const { tool } = counted();
    const { executor, events } = setup([tool]);
    await executor.execute(useOf(tool, { text }), RUN);
    const { payloadSummary } = events[0] as { payloadSummary?: string };
    expect(payloadSummary!.length).toBeLessThanOrEqual(500);
    expect(payloadSummary!.isWellFormed()).toBe(true);
  });

  it("show what a schema made as JSON has it, and hide that", async () => {
    const { tool } = counted({ inputSchema: z.object({ at: z.string().transform((url) => new URL(url)) }) });
    const redact = (_: unknown, value: unknown) =>
      typeof value === "string" ? value.replace(/key=\w+/, "key=[hidden]") : value;
    const { executor, events } = setup([tool], { redact });
    await executor.execute(useOf(tool, { at: "https://a.example/?key=1" }), RUN);
    expect(events[0]).toMatchObject({ payloadSummary: '{"at":"https://a.example/?key=[hidden]"}' });
  });

  it("a redaction that writes into what it gets hides it there, and nowhere else", async () => {
    const { tool, ran } = counted();
    const redact = (_: unknown, value: any) =>
      value?.text === undefined ? value : Object.assign(value, { text: "***" });
    const { executor, events } = setup([tool], { redact });
    const outcome = await executor.execute(useOf(tool, { text: "secret" }), RUN);
    expect(JSON.stringify(events)).not.toContain("secret");
    expect(ran[0]!.input).toEqual({ text: "secret" });
    expect(outcome).toMatchObject({ output: { input: { text: "secret" } } });
  });

  it("a redaction that throws shows nothing", async () => {
    const { tool } = counted();
    const { executor, events } = setup([tool], {
      redact: () => {
        throw new Error("no");
      },
    });
    expect(await executor.execute(useOf(tool, { text: "secret" }), RUN)).toMatchObject({ status: "completed" });
    expect(JSON.stringify(events)).not.toContain("secret");
  });
});
