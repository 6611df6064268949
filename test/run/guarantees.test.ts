/** What is guaranteed at the level of runs; what holds at every crash is in `crash.test.ts`. */
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import * as fc from "../fast-check.ts";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { describe, expect, it, vi } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { resolveUse } from "../../adapters/text-helpers/index.ts";
import type { ParserSink } from "../../src/adapter.ts";
import { isToolError, ToolError } from "../../src/errors.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { Answers } from "../../src/run/answers.ts";
import type { CallRecord } from "../../src/run/format.ts";
import { Orchestrator, type OrchestrationResult, type RunEvent } from "../../src/run/index.ts";
import { readTurn } from "../../src/read/index.ts";
import { memoryStore, type ListOptions, type Store } from "../../src/store/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { replayModel } from "../../src/testing/index.ts";
import { problemOf } from "./scenario.ts";
import { counted, external, scripted, short, type ScriptedCall, type ScriptedTurn } from "./script.ts";
import { temporary } from "../temporary.ts";

const conversationId = "c1";

describe("every request has each call answered exactly once, adjacent, in call order", () => {
  const NAMES = ["read", "write", "ask", "approve", "fail", "unknown"];
  const call = fc.record({
    name: fc.constantFrom(...NAMES),
    // Providers repeat ids.
    id: fc.constantFrom("call_1", "call_2", "call_3"),
    args: fc.constantFrom({}, { n: 1 }, { n: "no number" }, '{"n": 1', "") as fc.Arbitrary<unknown>,
  });
  const turn: fc.Arbitrary<ScriptedTurn> = fc.record(
    { calls: fc.array(call, { maxLength: 4 }), finish: fc.constantFrom("tool_calls", "length", null) },
    { requiredKeys: ["calls"] },
  ) as fc.Arbitrary<ScriptedTurn>;
  /** What is done with a run that has stopped. */
  const action = fc.constantFrom("answer", "fail", "approve", "deny", "nothing", "new", "cold", "abort");

  it("whatever is answered, denied, aborted or given up, and when", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), fc.array(action, { maxLength: 8 }), check),
      { numRuns: 150 },
    );
  });

  async function check(turns: readonly ScriptedTurn[], actions: readonly string[]): Promise<void> {
    const store = memoryStore();
    const approvals = new ApprovalService({ store });
    const problems: string[] = [];
    const tools = [
      counted("read", { effect: "read" }).tool,
      counted("write").tool,
      counted("approve", { needsApproval: true }).tool,
      counted("fail", { execute: () => Promise.reject(new Error("no")) }).tool,
      external("ask"),
    ];
    let asked = 0;
    const model = scripted(({ messages }) => {
      const problem = problemOf(messages);
      if (problem !== undefined) problems.push(problem);
      return turns[asked++] ?? { text: "Done." };
    });
    const make = () => new Orchestrator({ model, tools, store, approvals, maxSteps: 20, retryDelayMs: 0 });
    let orchestrator = make();
    let result: OrchestrationResult = await orchestrator.run({ conversationId, input: "Go" });
    for (const next of [...actions, ...Array.from({ length: 6 }, () => "answer")]) {
      if (next === "cold") orchestrator = make();
      const [pending] = result.pendingToolCalls;
      const [approval] = result.pendingApprovals;
      const signal = next === "abort" ? AbortSignal.abort() : undefined;
      const context = signal === undefined ? {} : { signal };
      try {
        if (next === "new") {
          result = await orchestrator.run({ conversationId, input: "Else", whenOpen: "cancel", ...context });
        } else {
          result = await orchestrator.resume(conversationId, {
            ...context,
            toolResults: pending && /answer|fail/.test(next) ? [answerTo(pending.id, next)] : [],
            approvals:
              approval && /approve|deny|answer/.test(next)
                ? [{ id: approval.id, decision: next === "deny" ? "deny" : "approve" }]
                : [],
          });
        }
      } catch (error) {
        if (!isToolError(error) || error.code !== "not_waiting") throw error;
      }
    }
    const problem =
      result.pendingToolCalls.length === 0 ? problemOf(result.messages as ChatCompletionMessageParam[]) : undefined;
    expect([...problems, problem].filter((found) => found !== undefined)).toEqual([]);
  }

  function answerTo(toolCallId: string, how: string) {
    return how === "fail" ? { toolCallId, error: "no" } : { toolCallId, result: how };
  }
});

describe("events are numbered without a gap", () => {
  it("and told by an executor that keeps none of them", async () => {
    const store = memoryStore();
    const tools = [counted("write").tool];
    const executor = new ToolExecutor({ tools, store, storeEvents: false });
    const calls: ScriptedCall[] = [{ name: "write" }];
    const model = scripted(({ messages }) => (messages.length === 1 ? { calls } : { text: "Done." }));
    const orchestrator = new Orchestrator({ model, tools, store, executor });
    const [one, two] = ["one", "two"].map((id) => orchestrator.stream({ conversationId: id, input: "Go" }));
    const told = async (stream: typeof one) => {
      const seen: unknown[] = [];
      for await (const event of stream!) if ("seq" in event) seen.push([event.seq, event.type, event.runId]);
      const { runId } = await stream!.result;
      const types = ["tool.invoked", "tool.started", "tool.completed"];
      expect(seen).toEqual(types.map((type, index) => [index + 1, type, runId]));
    };
    await Promise.all([told(one), told(two)]);
  });

  it("and told as they happen by an executor that keeps them in another store", async () => {
    const { promise: isTold, resolve: tell } = Promise.withResolvers<void>();
    const executor = new ToolExecutor({
      tools: [counted("write", { execute: () => isTold }).tool],
      store: memoryStore(),
    });
    const model = scripted({ calls: [{ name: "write" }] }, { text: "Done." });
    const stream = new Orchestrator({ model, store: memoryStore(), executor }).stream({ conversationId, input: "Go" });
    // The tool waits until somebody has heard that it has started.
    for await (const event of stream) if (event.type === "tool.started") tell();
    expect(await stream.result).toMatchObject({ status: "completed" });
  });

  it("and whoever comes back gets exactly the rest", async () => {
    const store = memoryStore();
    const tools = [counted("read", { effect: "read" }).tool, counted("write").tool];
    const executor = new ToolExecutor({ tools, store });
    const calls: ScriptedCall[] = [{ name: "write" }, { name: "read" }, { name: "write" }];
    const model = scripted({ calls }, { calls }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools, store, executor });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const live: RunEvent[] = [];
    for await (const event of stream) if ("seq" in event) live.push(event);
    const { runId } = await stream.result;
    expect(live.map((event) => ("seq" in event ? event.seq : 0))).toEqual(live.map((_, index) => index + 1));
    for (let after = 0; after <= live.length; after++) {
      expect(await executor.events(runId, { after })).toEqual(live.slice(after));
    }
  });
});

describe("a worker that slept past its lease", () => {
  it("cannot write when it wakes up", async () => {
    const database = join(temporary(), "stop.db");
    const leaseMs = 400;
    const child = spawn(process.execPath, [join(import.meta.dirname, "stop-child.ts"), database, String(leaseMs)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("body");

    const store = sqliteStore(database);
    const write = counted("write");
    const model = scripted({ text: "I was there." });
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store, leaseMs });
    let result: OrchestrationResult | undefined;
    while (result === undefined) {
      result = await orchestrator.resume(conversationId).catch((error: unknown) => {
        if (!isToolError(error) || error.code !== "run_busy") throw error;
        return new Promise<undefined>((resolve) => setTimeout(resolve, 50));
      });
    }
    expect(result).toMatchObject({ status: "completed", content: "I was there." });
    expect(write.inputs).toEqual([]);
    const before = (await store.list("run")).map(({ key, version }) => [key, version]);

    child.kill("SIGCONT");
    expect((await lines.next()).value).toBe("end lease_lost");
    expect((await store.list("run")).map(({ key, version }) => [key, version])).toEqual(before);
    expect((await orchestrator.get(conversationId))!.content).toBe("I was there.");
    await store.close();
  });
});

describe("another process", () => {
  it("resumes a paused run with nothing but the store", async () => {
    const database = join(temporary(), "pause.db");
    const pausing = `
      import { Orchestrator } from ${JSON.stringify(join(process.cwd(), "src/run/index.ts"))};
      import { sqliteStore } from ${JSON.stringify(join(process.cwd(), "src/store/sqlite.ts"))};
      import { external, scripted } from ${JSON.stringify(join(import.meta.dirname, "script.ts"))};
      const orchestrator = new Orchestrator({
        model: scripted({ calls: [{ name: "ask", args: { n: 7 } }] }), tools: [external("ask")], store: sqliteStore(${JSON.stringify(database)}),
      });
      const { status } = await orchestrator.run({ conversationId: "c1", input: "Go" });
      console.log(status);
      process.exit(0);`;
    const said = await new Promise<string>((resolve, reject) =>
      execFile(process.execPath, ["--input-type=module-typescript", "-e", pausing], (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      ),
    );
    expect(said.trim()).toBe("awaiting_tool_results");
    const store = sqliteStore(database);
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), tools: [external("ask")], store });
    const [found] = await orchestrator.list({ status: "awaiting_tool_results" });
    const { pendingToolCalls } = (await orchestrator.get(found!.conversationId))!;
    expect(pendingToolCalls).toMatchObject([{ name: "ask", arguments: { n: 7 } }]);
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, result: "seven" }];
    const end = await orchestrator.resume(found!.conversationId, { toolResults });
    expect(short(end.messages)).toEqual(["user", "call(ask)", "result(seven)", "say(Done.)"]);
    await store.close();
  });
});

describe("a run that is waited for", () => {
  it("goes on when a result arrives at another process, and when somebody decides there", async () => {
    const database = join(temporary(), "wait.db");
    const open = () => {
      const store = sqliteStore({ path: database, pollMs: 10 });
      const approvals = new ApprovalService({ store, pollMs: 50 });
      const write = counted("write", { needsApproval: true });
      const model = scripted({ calls: [{ name: "ask" }, { name: "write" }] }, { text: "Done." });
      const tools = [write.tool, external("ask")];
      return { store, approvals, write, orchestrator: new Orchestrator({ model, tools, store, approvals }) };
    };
    const here = open();
    const there = open();
    const paused = await here.orchestrator.run({ conversationId, input: "Go" });
    const waiting = here.orchestrator.waitAndResume(conversationId);
    const toolCallId = paused.pendingToolCalls[0]!.id;
    await there.orchestrator.provideToolResult(conversationId, { toolCallId, result: "from there" });
    await there.approvals.decide(paused.pendingApprovals[0]!.id, { decision: "approve" });
    const end = await waiting;
    expect(end.status).toBe("completed");
    expect(short(end.messages)[2]).toBe("result(from there)");
    expect(here.write.inputs).toHaveLength(1);
    await Promise.all([here.store.close(), there.store.close()]);
  });

  it("is over when another process completes it in the very moment in which this one wants to", async () => {
    const shared = memoryStore();
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const there = new Orchestrator({ model, tools: [external("ask")], store: shared });
    const paused = await there.run({ conversationId, input: "Go" });
    const toolResults = [{ toolCallId: paused.pendingToolCalls[0]!.id, result: "yes" }];
    let isFirst = true;
    const store: Store = {
      ...shared,
      async list<Value>(prefix: string, options?: ListOptions) {
        const entries = await shared.list<Value>(prefix, options);
        if (prefix.startsWith("run-answer/") && isFirst) {
          isFirst = false;
          await there.resume(conversationId, { toolResults });
        }
        return entries;
      },
    };
    const here = new Orchestrator({ model, tools: [external("ask")], store });
    expect(await here.waitAndResume(conversationId)).toMatchObject({ status: "completed", content: "Done." });
  });

  it("is handed in again by the caller where the store does not take its result", async () => {
    const shared = memoryStore();
    let isDown = true;
    const store: Store = {
      ...shared,
      async put(key, value, options) {
        if (isDown && key.startsWith("run-answer/")) throw new ToolError("store_failed", "The disk is full.");
        return shared.put(key, value, options);
      },
    };
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store });
    const paused = await orchestrator.run({ conversationId, input: "Go" });
    const result = { toolCallId: paused.pendingToolCalls[0]!.id, result: "yes" };
    await expect(orchestrator.provideToolResult(conversationId, result)).rejects.toMatchObject({
      code: "store_failed",
    });
    isDown = false;
    await orchestrator.provideToolResult(conversationId, result);
    const end = await orchestrator.resume(conversationId);
    expect(short(end.messages)[2]).toBe("result(yes)");
  });

  it("is waited for on, though the store fails for a moment", async () => {
    const shared = memoryStore();
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const tools = [external("ask")];
    const there = new Orchestrator({ model, tools, store: shared });
    const paused = await there.run({ conversationId, input: "Go" });
    let isDown = false;
    const down = async () => {
      if (isDown) throw new ToolError("store_failed", "The store did not answer.");
    };
    const store: Store = {
      ...shared,
      get: async (key) => (await down(), shared.get(key)),
      list: async (prefix, options) => (await down(), shared.list(prefix, options)),
    };
    const waiting = new Orchestrator({ model, tools, store }).waitAndResume(conversationId);
    isDown = true;
    await there.provideToolResult(conversationId, { toolCallId: paused.pendingToolCalls[0]!.id, result: "yes" });
    setTimeout(() => (isDown = false), 500);
    expect(await waiting).toMatchObject({ status: "completed", content: "Done." });
  });

  it("is given up when the store fails again and again", async () => {
    vi.useFakeTimers();
    try {
      const model = scripted({ calls: [{ name: "ask" }] });
      const tools = [external("ask")];
      const shared = memoryStore();
      await new Orchestrator({ model, tools, store: shared }).run({ conversationId, input: "Go" });
      let failures = 0;
      const get = async () => {
        failures++;
        throw new ToolError("store_failed", "The store did not answer.");
      };
      const waiting = new Orchestrator({ model, tools, store: { ...shared, get } }).waitAndResume(conversationId);
      const error = expect(waiting).rejects.toMatchObject({ code: "store_failed" });
      await vi.advanceTimersByTimeAsync(60_000);
      await error;
      expect(failures).toBe(6);
    } finally {
      vi.useRealTimers();
    }
  });

  it("stops waiting when its signal fires", async () => {
    const model = scripted({ calls: [{ name: "ask" }] });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go" });
    const leave = new AbortController();
    const waiting = orchestrator.waitAndResume(conversationId, { signal: leave.signal });
    setTimeout(() => leave.abort(), 50);
    expect((await waiting).status).toBe("awaiting_tool_results");
  });

  it("tells the model when nobody answered in time", async () => {
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Then not." });
    const tools = [external("ask", { timeoutMs: 60 })];
    const orchestrator = new Orchestrator({ model, tools, store: memoryStore() });
    const paused = await orchestrator.run({ conversationId, input: "Go" });
    expect(paused.pendingToolCalls[0]!.expiresAt).toBeGreaterThan(Date.now() - 60_000);
    const end = await orchestrator.waitAndResume(conversationId);
    expect(end).toMatchObject({ status: "completed", content: "Then not." });
    expect(short(end.messages)[2]).toContain("got no result in time");
    const late = { toolCallId: paused.pendingToolCalls[0]!.id, result: "late" };
    await expect(orchestrator.provideToolResult(conversationId, late)).rejects.toMatchObject({
      code: "already_answered",
      message: expect.stringContaining("the run has gone on with it, or without one"),
    });
  });
});

describe("a call whose time is over", () => {
  it("has the result that arrives at this very moment", async () => {
    const shared = memoryStore();
    const call = { invocationId: "call_1", expiresAt: 1 } as CallRecord;
    const there = new Answers(shared, conversationId, "turn_1");
    let isFirst = true;
    const store: Store = {
      ...shared,
      async put(...args) {
        if (isFirst) {
          isFirst = false;
          await there.add([{ toolCallId: "call_1", at: 2, result: "in time" }], [call]);
        }
        return shared.put(...args);
      },
    };
    const here = new Answers(store, conversationId, "turn_1");
    await here.expire([call]);
    expect([...(await here.read()).values()]).toEqual([{ toolCallId: "call_1", at: 2, result: "in time" }]);
    // And only then: with none, it is over.
    const none = new Answers(shared, conversationId, "turn_2");
    await none.expire([call]);
    expect((await none.read()).get("call_1")).toMatchObject({ expired: true });
  });
});

describe("calls that depend on each other", () => {
  /** Its events say themselves what they are. */
  const parser = (sink: ParserSink) => ({
    push: (say: (to: ParserSink) => void) => say(sink),
    end: () => {},
    native: {},
  });
  const reading = { name: openaiChat.name, toolName: openaiChat.toolName, parser };
  const adapter = { ...openaiChat, read: (source: any, options: any) => readTurn(reading, source, options) };

  it("are released one by one", async () => {
    const model = replayModel(adapter as never, [
      [ask("call_1", {}), ask("call_2", { dependent: true }), finish],
      [done],
    ]);
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    const first = await orchestrator.run({ conversationId, input: "Go" });
    expect(first.pendingToolCalls).toHaveLength(1);
    const later = first.tree.runs[0]!.children[0]!.children[1]!.id;
    await expect(
      orchestrator.resume(conversationId, { toolResults: [{ toolCallId: later, result: 2 }] }),
    ).rejects.toMatchObject({ code: "unknown_call" });
    const second = await orchestrator.resume(conversationId, {
      toolResults: [{ toolCallId: first.pendingToolCalls[0]!.id, result: 1 }],
    });
    expect(second.pendingToolCalls).toHaveLength(1);
    const last = await orchestrator.resume(conversationId, {
      toolResults: [{ toolCallId: second.pendingToolCalls[0]!.id, result: 2 }],
    });
    expect(short(last.messages as ChatCompletionMessageParam[])).toEqual([
      "user",
      "call(ask,ask)",
      "result(1)",
      "result(2)",
      "say(Done.)",
    ]);
  });

  it("hold up no result of one behind them that the caller was told of", async () => {
    const model = replayModel(adapter as never, [
      [ask("call_1", {}), ask("call_2", { dependent: true }), ask("call_3", {}), finish],
      [done],
    ]);
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const told: string[] = [];
    for await (const event of stream) if (event.type === "external_tool_detected") told.push(event.call.id);
    expect(told).toHaveLength(2);
    for (const { pendingToolCalls } of [await stream.result, (await orchestrator.get(conversationId))!]) {
      expect(pendingToolCalls.map(({ id }) => id)).toEqual(told);
    }
    await orchestrator.provideToolResult(conversationId, { toolCallId: told[1]!, result: 3 });
    // Given up before the one in between was handed out: it was not begun.
    const last = await orchestrator.run({ conversationId, input: "Never mind", whenOpen: "cancel" });
    expect(short(last.messages as ChatCompletionMessageParam[])).toEqual([
      "user",
      "call(ask,ask,ask)",
      expect.stringMatching(/is unknown/),
      expect.stringMatching(/was not executed/),
      "result(3)",
      "user",
      "say(Done.)",
    ]);
  });

  it("wait for what they refer to, and for no other call behind them", async () => {
    const references = [{ path: ["n"], step: 0, steps: [], source: "x" }];
    const dependent = { step: 1, dependent: true, dependsOn: [0], references };
    const turns = [[ask("call_1", { step: 0 }), ask("call_2", dependent, "write"), ask("call_3", {}), finish], [done]];
    const model = { ...replayModel(adapter as never, turns as never), resolve: resolveUse };
    const write = counted("write");
    const tools = [external("ask", { timeoutMs: 60_000 }), write.tool];
    const orchestrator = new Orchestrator({ model, tools, store: memoryStore() });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    expect(pendingToolCalls.map(({ expiresAt }) => typeof expiresAt)).toEqual(["number", "number"]);
    const [first, third] = pendingToolCalls.map(({ id }) => id) as [string, string];
    const next = await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: first, result: 42 }] });
    expect(next.pendingToolCalls.map(({ id }) => id)).toEqual([third]);
    expect(write.inputs).toEqual([{ n: 42 }]);
    const end = await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: third, result: 3 }] });
    expect(end).toMatchObject({ status: "completed", content: "Done." });
  });

  it("get the results that they refer to, in another process too", async () => {
    const script = (sink: ParserSink) => {
      sink.tool({ id: "call_1", name: "ask", argsTextDelta: "{}", done: true, metadata: { step: 0 } });
      const references = [{ path: ["n"], step: 0, steps: [], source: "x" }];
      const metadata = { step: 1, dependent: true, dependsOn: [0], references };
      sink.tool({ id: "call_2", name: "write", argsTextDelta: '{"n":{"$result":"x"}}', done: true, metadata });
      sink.tool({ id: "call_3", name: "ask", argsTextDelta: '{"n":{"$result":"x"}}', done: true, metadata });
      sink.finish("stop", "stop");
    };
    const store = memoryStore();
    const write = counted("write");
    const make = (...turns: unknown[]) => {
      const model = { ...replayModel(adapter as never, turns as never), resolve: resolveUse };
      return new Orchestrator({ model, tools: [write.tool, external("ask")], store });
    };
    const first = await make([script]).run({ conversationId, input: "Go" });
    const toolResults = [{ toolCallId: first.pendingToolCalls[0]!.id, result: 42 }];
    const second = await make().resume(conversationId, { toolResults });
    expect(write.inputs).toEqual([{ n: 42 }]);
    expect(second.pendingToolCalls).toMatchObject([{ name: "ask", arguments: { n: 42 } }]);
    expect((await make().get(conversationId))!.pendingToolCalls).toEqual(second.pendingToolCalls);
    const last = await make([done]).resume(conversationId, {
      toolResults: [{ toolCallId: second.pendingToolCalls[0]!.id, result: "ok" }],
    });
    expect(short(last.messages as ChatCompletionMessageParam[]).slice(2)).toEqual([
      "result(42)",
      'result({"ran":"write","n":42})',
      "result(ok)",
      "say(Done.)",
    ]);
  });

  it.each([
    ["failed", { resolve: resolveUse }, { error: "no" }, /it needs x, and the call that gives it has no result/],
    ["came, and nobody here can fill it in", {}, { result: 42 }, /refers to the result of another call/],
  ])("are not executed where that result %s, and the model hears why", async (_, filling, answer, why) => {
    const references = [{ path: ["n"], step: 0, steps: [], source: "x" }];
    const metadata = { step: 1, dependent: true, dependsOn: [0], references };
    const script = (sink: ParserSink) => {
      sink.tool({ id: "call_1", name: "ask", argsTextDelta: "{}", done: true, metadata: { step: 0 } });
      sink.tool({ id: "call_2", name: "write", argsTextDelta: '{"n":{"$result":"x"}}', done: true, metadata });
      sink.finish("stop", "stop");
    };
    const write = counted("write");
    const model = { ...replayModel(adapter as never, [[script], [done]] as never), ...filling };
    const orchestrator = new Orchestrator({ model, tools: [write.tool, external("ask")], store: memoryStore() });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, ...answer }];
    const end = await orchestrator.resume(conversationId, { toolResults });
    expect(end.status).toBe("completed");
    expect(short(end.messages as ChatCompletionMessageParam[])[3]).toMatch(why);
    expect(write.inputs).toEqual([]);
  });

  it.each([
    ["handed to the caller where that result failed", "ask", [external("ask")], { error: "no" }, /has no result/],
    ["handed to the caller where the tool is gone", "ask", [], { result: 42 }, /there is no tool of that name/],
    ["executed where the tool is gone", "write", [external("ask")], { result: 42 }, /There is no tool .*write/],
  ])("are not %s, and the model hears why", async (_, name, tools, answer, why) => {
    const references = [{ path: ["n"], step: 0, steps: [], source: "x" }];
    const metadata = { step: 1, dependent: true, dependsOn: [0], references };
    const turns = [[ask("call_1", { step: 0 }), ask("call_2", metadata, name), finish], [done]];
    const model = { ...replayModel(adapter as never, turns as never), resolve: resolveUse };
    const store = memoryStore();
    const before = new Orchestrator({ model, tools: [external("ask"), counted("write").tool], store });
    const { pendingToolCalls } = await before.run({ conversationId, input: "Go" });
    const end = await new Orchestrator({ model, tools, store }).resume(conversationId, {
      toolResults: [{ toolCallId: pendingToolCalls[0]!.id, ...answer }],
    });
    expect(end).toMatchObject({ status: "completed", content: "Done." });
    expect(short(end.messages as ChatCompletionMessageParam[])[3]).toMatch(why);
  });
});

/** A call. A notation in which one call can refer to another says so in the call's metadata. */
function ask(id: string, metadata: object, name = "ask") {
  return (sink: ParserSink) => sink.tool({ id, name, argsTextDelta: "{}", done: true, metadata: { ...metadata } });
}

function finish(sink: ParserSink) {
  sink.finish("stop", "stop");
}

function done(sink: ParserSink) {
  sink.text("Done.");
  finish(sink);
}
