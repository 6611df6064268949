import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isToolError, ToolError } from "../../src/errors.ts";
import type { ModelRequest } from "../../src/model.ts";
import { ApprovalService, type Principal } from "../../src/execute/approvals/index.ts";
import { ask, ToolExecutor, type Authorize } from "../../src/execute/index.ts";
import { Checkpoint } from "../../src/run/checkpoint.ts";
import {
  Orchestrator,
  type Budgets,
  type OrchestrationResult,
  type PendingToolCall,
  type RunEvent,
  type ToolResultInput,
} from "../../src/run/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { replayModel } from "../../src/testing/index.ts";
import { loadRecording } from "../../src/replay/index.ts";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import type { ToolDefinition } from "../../src/tool/tool.ts";
import { toolList } from "../../src/tool/tool-set.ts";
import { counted, external, heldTurn, scripted, short } from "./script.ts";
import { soon, until } from "../soon.ts";

const conversationId = "c1";

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return "resolved";
  return isToolError(error) ? error.code : (error as Error).name;
}

describe("run()", () => {
  it("executes internal calls and goes on until the model calls nothing more", async () => {
    const read = counted("read", { effect: "read" });
    const write = counted("write");
    const model = scripted(
      {
        calls: [
          { name: "read", args: { n: 1 } },
          { name: "write", args: { n: 2 } },
        ],
      },
      { text: "Done." },
    );
    const orchestrator = new Orchestrator({ model, tools: [read.tool, write.tool], store: memoryStore() });
    const result = await orchestrator.run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "completed", content: "Done.", conversationId, pendingToolCalls: [] });
    expect(short(result.messages)).toEqual([
      "user",
      "call(read,write)",
      'result({"ran":"read","n":1})',
      'result({"ran":"write","n":2})',
      "say(Done.)",
    ]);
    expect([read.inputs, write.inputs]).toEqual([[{ n: 1 }], [{ n: 2 }]]);
    expect(result.metadata).toMatchObject({ steps: 2, calls: 2, tokens: 30, usage: { totalTokens: 30 } });
    expect(model.requests[1]!.messages).toEqual(result.messages.slice(0, 4));
    expect(await orchestrator.get(conversationId)).toEqual({ ...result, tree: expect.anything() });
  });

  it("takes an option that is undefined for one that is not given", async () => {
    const none = { signal: undefined, principal: undefined, requestId: undefined, context: undefined };
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({
      model,
      tools: [external("ask")],
      store: memoryStore(),
      executor: undefined,
      approvals: undefined,
      maxSteps: undefined,
      budgets: undefined,
      maxCutTurns: undefined,
      retryDelayMs: undefined,
      validateResults: undefined,
      trim: undefined,
      prepareStep: undefined,
      onEvent: undefined,
      leaseMs: undefined,
    });
    const paused = await orchestrator.run({
      ...none,
      conversationId: undefined,
      input: "Go",
      messages: undefined,
      instructions: undefined,
      behavior: undefined,
      toolChoice: undefined,
      whenOpen: undefined,
    });
    const nothing = { ...none, toolResults: undefined, approvals: undefined };
    expect((await orchestrator.resume(paused.conversationId, nothing)).status).toBe("awaiting_tool_results");
    const toolResults = [
      { toolCallId: paused.pendingToolCalls[0]!.id, result: "x", error: undefined, images: undefined },
    ];
    const stream = orchestrator.resumeStream(paused.conversationId, { ...nothing, toolResults });
    expect((await stream.result).status).toBe("completed");
  });

  it("pauses with the external calls though internal ones of the turn run, and takes results in any order", async () => {
    const write = counted("write");
    const model = scripted(
      { calls: [{ name: "ask", args: { n: 1 } }, { name: "write" }, { name: "ask", args: { n: 2 } }] },
      { text: "Done." },
    );
    const orchestrator = new Orchestrator({ model, tools: [write.tool, external("ask")], store: memoryStore() });
    const paused = await orchestrator.run({ conversationId, input: "Go" });
    expect(paused.status).toBe("awaiting_tool_results");
    expect(write.inputs).toHaveLength(1);
    const [first, second] = paused.pendingToolCalls;
    expect(paused.pendingToolCalls).toEqual([
      {
        id: first!.id,
        wireId: expect.any(String),
        name: "ask",
        arguments: { n: 1 },
        rawText: '{"n":1}',
        expiresAt: null,
      },
      {
        id: second!.id,
        wireId: expect.any(String),
        name: "ask",
        arguments: { n: 2 },
        rawText: '{"n":2}',
        expiresAt: null,
      },
    ]);
    const still = await orchestrator.resume(conversationId, {
      toolResults: [{ toolCallId: second!.id, result: "two" }],
    });
    expect(still).toMatchObject({ status: "awaiting_tool_results", pendingToolCalls: [{ id: first!.id }] });
    const done = await orchestrator.continueWithToolResults(conversationId, [
      { toolCallId: first!.id, error: "no one" },
    ]);
    expect(done.status).toBe("completed");
    expect(short(done.messages)).toEqual([
      "user",
      "call(ask,write,ask)",
      'result({"error":"Tool ask failed: no one"})',
      'result({"ran":"write","n":null})',
      "result(two)",
      "say(Done.)",
    ]);
    expect(write.inputs).toHaveLength(1);
  });

  it("refuses a result that it cannot take, and changes nothing", async () => {
    const tools = [external("ask", { outputSchema: z.object({ ok: z.boolean() }) })];
    const model = scripted(
      { calls: [{ name: "ask" }, { name: "ask" }] },
      { calls: [{ name: "ask" }] },
      { text: "Done." },
    );
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model, tools, store });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    const [a, b] = pendingToolCalls.map(({ id }) => id) as [string, string];
    const other = await orchestrator.run({ conversationId: "c2", input: "Go" });
    const foreign = other.pendingToolCalls[0]!.id;
    const ok = { ok: true };
    const hand = (...toolResults: any[]) => codeOf(orchestrator.resume(conversationId, { toolResults }));

    const before = JSON.stringify(await store.list(""));
    expect(await hand({ toolCallId: a, result: ok }, { toolCallId: "nobody", result: ok })).toBe("unknown_call");
    expect(await hand({ toolCallId: foreign, result: ok })).toBe("unknown_call");
    expect(await hand({ toolCallId: a, result: ok }, { toolCallId: a, result: ok })).toBe("already_answered");
    expect(await hand({ toolCallId: a, result: { ok: "yes" } })).toBe("invalid_result");
    expect(await hand({ toolCallId: a })).toBe("invalid_result");
    expect(await hand({ toolCallId: a, result: ok, error: "both" })).toBe("invalid_result");
    expect(await hand({ toolCallId: a, error: new Error("no") })).toBe("invalid_result");
    expect(await hand({ toolCallId: a, result: 1n })).toBe("invalid_result");
    // Of these JSON keeps nothing, or not what it is: the model would read {} or null.
    for (const lost of [Promise.reject(new Error("late")), new Map([["a", 1]]), new Error("no"), Number.NaN, () => ok])
      expect(await hand({ toolCallId: a, result: { ok: true, lost } })).toBe("invalid_result");
    const abyss = JSON.parse('{"ok":true,"more":'.repeat(256) + "0" + "}".repeat(256));
    expect(await hand({ toolCallId: a, result: { ok: true, more: abyss } })).toBe("invalid_result");
    expect(await hand({ toolCallId: 7, result: ok })).toBe("invalid_result");
    // As in MCP: the failure would be told as a success.
    expect(await hand({ toolCallId: a, result: ok, isError: true })).toBe("invalid_result");
    expect(await hand("yes")).toBe("invalid_result");
    expect(await codeOf(orchestrator.resume(conversationId, { toolResults: "yes" as never }))).toBe("invalid_result");
    expect(await hand({ toolCallId: a, result: ok, images: [{ mediaType: "image/png", data: "AA" }] })).toBe(
      "invalid_result",
    );
    expect(await codeOf(orchestrator.resume("nowhere"))).toBe("unknown_run");
    expect(await codeOf(orchestrator.provideToolResult("nowhere", { toolCallId: a, result: ok }))).toBe("unknown_run");
    expect(JSON.stringify(await store.list(""))).toBe(before);

    expect(await hand({ toolCallId: a, result: ok })).toBe("resolved");
    expect(await hand({ toolCallId: a, result: ok })).toBe("already_answered");
    expect(await hand({ toolCallId: b, result: abyss })).toBe("resolved");
    expect(await hand({ toolCallId: b, result: ok })).toBe("already_answered");
    expect(await hand()).toBe("not_waiting");
  });

  it("refuses a result that JSON cannot say, of a tool that takes any", async () => {
    const model = scripted({ calls: [{ name: "ask" }] });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    const toolCallId = pendingToolCalls[0]!.id;
    const self: unknown[] = [];
    self.push(self);
    for (const result of [1n, self, () => {}, Symbol("x")]) {
      expect(await codeOf(orchestrator.provideToolResult(conversationId, { toolCallId, result }))).toBe(
        "invalid_result",
      );
    }
    expect((await orchestrator.get(conversationId))!.pendingToolCalls).toHaveLength(1);
  });

  it("counts the time of a run from its own beginning, not from that of the one before", async () => {
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store });
    await orchestrator.run({ conversationId, input: "Go" });
    const { key, value } = (await store.list<object>("run/"))[0]!;
    await store.put(key, { ...value, startedAt: 1 });
    const { metadata } = await orchestrator.run({ conversationId, input: "More" });
    expect(metadata.startedAt).toBeGreaterThan(1);
  });

  it("blocks new input while results are open, or gives them up when told so", async () => {
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go" });
    expect(await codeOf(orchestrator.run({ conversationId, input: "Never mind" }))).toBe("run_open");
    const result = await orchestrator.run({ conversationId, input: "Never mind", whenOpen: "cancel" });
    expect(short(result.messages)).toEqual([
      "user",
      "call(ask)",
      expect.stringContaining("is unknown: it was begun"),
      "user",
      "say(Done.)",
    ]);
  });

  it("gives up no call for a context of the caller's with a field that the executor knows", async () => {
    const { tool, inputs } = counted("write");
    const model = scripted({ calls: [{ name: "write" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [tool], store: memoryStore() });
    const { status } = await orchestrator.run({ input: "Go", context: { abandon: true, waitForApproval: true } });
    expect([status, inputs]).toEqual(["completed", [{}]]);
  });

  it("does not begin again what a process had begun that died, when its conversation goes on without it", async () => {
    const store = memoryStore();
    let isDead = false;
    const never = new Promise<never>(() => {});
    const dying = {
      ...store,
      put: (...args: Parameters<typeof store.put>) => (isDead ? never : store.put(...args)),
    } as typeof store;
    let begun = 0;
    const body = () => {
      begun++;
      isDead = true;
      return never;
    };
    const slow = counted("slow", { effect: "idempotent", execute: body });
    const options = { tools: [slow.tool], leaseMs: 60 };
    const first = scripted({ calls: [{ name: "slow" }] });
    void new Orchestrator({ ...options, model: first, store: dying }).run({ conversationId, input: "Go" });
    const other = new Orchestrator({ ...options, model: scripted({ text: "Done." }), store });
    const goOn = () => other.run({ conversationId, input: "Never mind", whenOpen: "cancel" });
    let code = "run_busy";
    await until(async () => isDead && (code = await codeOf(goOn())) !== "run_busy");
    expect(code).toBe("resolved");
    expect(begun).toBe(1);
    // By who says so first: the run, or the executor when the lease of the action is over, too.
    const told = short((await other.get(conversationId))!.messages)[2];
    expect(told).toMatch(/is unknown: it was begun|was started, and it is not known what came of it/);
  });

  it("takes an empty input beside messages for none", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), tools: [], store: memoryStore() });
    const messages = [{ role: "user" as const, content: "Hello" }];
    const result = await orchestrator.run({ conversationId, input: " ", messages });
    expect(result.messages.slice(0, -1)).toEqual(messages);
  });

  it.each<[string, object, RegExp]>([
    ["instructions that are no text", { instructions: ["Be brief."] }, /instructions is a text, got an array/],
    ["a mode that is no text", { behavior: 5 }, /behavior is a text, got a number/],
    ["messages that are no list", { messages: "Hi" }, /messages is a list/],
    ["nothing but white space", { input: " \n" }, /input is empty/],
    ["a message that is none", { messages: ["Hi"] }, /messages\[0\] is an object, got a string/],
    [
      "a message in the form of another provider",
      {
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", tool_calls: [{ name: "look" }] },
        ],
      },
      /messages\[1\] is not in the form of openai-chat: /,
    ],
    ["a message that no store can keep", { messages: [{ role: "user", content: new Date() }] }, /an instance of Date/],
    ["another word for whenOpen", { whenOpen: "replace" }, /whenOpen is "refuse" or "cancel", got "replace"/],
    ["another word for whenBusy", { whenBusy: "queue" }, /whenBusy is "refuse" or "wait", got "queue"/],
    ["a choice of tools that is none", { toolChoice: "any" }, /"auto", "none", "required".*got "any"/],
    ["a principal without an id", { principal: { name: "anna" } }, /A principal is an object with an id/],
    ["a principal that is a text", { principal: "anna" }, /A principal is an object with an id/],
    ["a signal that is none", { signal: {} }, /signal is an AbortSignal/],
    ["a context that is none", { context: "acme" }, /context is an object, got a string/],
    [
      "approvals for a tenant that is no object",
      { context: { approval: { metadata: "acme" } } },
      /metadata is an object/,
    ],
  ])("is not begun with %s: nothing is asked, nothing stored", async (_, mistake, message) => {
    const model = scripted({ calls: [{ name: "look" }] }, { text: "Done." });
    const look = counted("look", { effect: "read" });
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model, tools: [look.tool], store });
    const begun = orchestrator.run({ conversationId, input: "Hi", ...mistake } as never);
    await expect(begun).rejects.toThrow(
      expect.objectContaining({ name: "TypeError", message: expect.stringMatching(message) }),
    );
    expect(model.requests).toHaveLength(0);
    expect(await store.list("")).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["none", undefined],
    ["an empty one", ""],
    ["an object that has it", { conversationId }],
  ])("is not looked for under an id that is %s", async (_, id) => {
    const model = scripted({ text: "Hi." });
    const orchestrator: Orchestrator = new Orchestrator({ model, store: memoryStore() });
    const names = ["get", "transcript", "resume", "waitAndResume", "provideToolResult", "forget"] as const;
    for (const name of names) {
      const method = orchestrator[name].bind(orchestrator) as (...args: unknown[]) => Promise<unknown>;
      const answer = method(id, ...(name === "provideToolResult" ? [{ toolCallId: "x", result: 1 }] : []));
      await expect(answer, name).rejects.toThrow(/A conversationId is a text/);
    }
  });

  it("is not begun with a message in the form of another provider that shows only when it is history", async () => {
    const store = memoryStore();
    const model = replayModel(anthropic, []);
    const orchestrator = new Orchestrator({ model, tools: [], store });
    // As Bedrock's Converse has it: blocks without a type.
    const said = { role: "assistant", content: [{ toolUse: { toolUseId: "t1", name: "look", input: {} } }] };
    const messages = [{ role: "user", content: "Hi" }, said] as never[];
    for (const more of [{}, { input: "And now?" }]) {
      await expect(orchestrator.run({ conversationId, messages, ...more })).rejects.toThrow(
        /messages\[1\] is not in the form of anthropic: /,
      );
    }
    expect(await store.list("")).toEqual([]);
  });

  it("takes a history in any disorder: it is paired when the model is asked", async () => {
    const call = (id: string) => ({
      role: "assistant" as const,
      tool_calls: [{ id, type: "function" as const, function: { name: "look", arguments: "{}" } }],
    });
    const result = (id: string, content: string) => ({ role: "tool" as const, tool_call_id: id, content });
    const user = { role: "user" as const, content: "Hi" };
    // A result before its call, one behind something else, one twice, one of no call, a call without one.
    const messages = [
      result("a", "early"),
      call("a"),
      user,
      result("a", "1"),
      result("a", "2"),
      result("x", "3"),
      call("b"),
    ];
    const model = scripted({ text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [], store: memoryStore() });
    const { messages: all } = await orchestrator.run({ conversationId, messages });
    expect(all.slice(0, -1)).toEqual(messages);
    expect(short(model.requests[0]!.messages as never)).toEqual([
      "call(look)",
      "result(1)",
      "user",
      "call(look)",
      expect.stringContaining("outcome of this call is unknown"),
    ]);
  });

  it("takes no list of results for the options of resume(), where they would be lost", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), store: memoryStore() });
    await expect(orchestrator.resume(conversationId, [{ toolCallId: "c", result: 1 }] as never)).rejects.toThrow(
      /resume\(\) takes an object, \{ .*toolResults.* \}, got an array/,
    );
  });

  it("is busy, not unknown, while its first run is being begun", async () => {
    const store = memoryStore();
    const begin = Promise.withResolvers<void>();
    const slow: Store = {
      ...store,
      async put(key, value, options) {
        const entry = await store.put(key, value, options);
        await begin.promise;
        return entry;
      },
    };
    const model = scripted({ text: "Hi" });
    const running = new Orchestrator({ model, store: slow }).run({ conversationId: "c", input: "Go" });
    const other = new Orchestrator({ model, store });
    await soon(async () => expect(await codeOf(other.resume("c"))).toBe("run_busy"));
    const leave = new AbortController();
    leave.abort();
    let isSubscribed = false;
    const watched: Store = { ...store, subscribe: (...given) => ((isSubscribed = true), store.subscribe(...given)) };
    const waiting = new Orchestrator({ model, store: watched }).waitAndResume("c", { signal: leave.signal });
    expect(await codeOf(waiting)).toBe("unknown_run");
    expect(isSubscribed).toBe(false);
    begin.resolve();
    expect(await running).toMatchObject({ status: "completed" });
  });

  it("tells of what is misused", async () => {
    const model = scripted({ text: "Hi" });
    const store = memoryStore();
    expect(() => new Orchestrator({ store } as never)).toThrow(TypeError);
    expect(() => new Orchestrator({ model } as never)).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, maxSteps: 0 })).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, retryDelayMs: -1 })).toThrow(TypeError);
    for (const retryDelayMs of [Infinity, 2 ** 31])
      expect(() => new Orchestrator({ model, store, retryDelayMs })).toThrow(
        `retryDelayMs is ${retryDelayMs}. Expected milliseconds from 0, at most 2147483647.`,
      );
    expect(() => new Orchestrator({ model, store, leaseMs: NaN })).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, maxCutTurns: NaN })).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, trim: "last" } as never)).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, prepareStep: {} } as never)).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, onEvent: 1 } as never)).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, validateResults: "yes" } as never)).toThrow(/validateResults/);
    expect(() => new Orchestrator({ model, store, approvals: {} } as never)).toThrow(TypeError);
    expect(() => new Orchestrator({ model, store, executor: {} } as never)).toThrow(TypeError);
    const executor = new ToolExecutor({ tools: [], store });
    const { tool } = counted("look");
    expect(() => new Orchestrator({ model, store, executor, tools: [external("ask"), tool] })).toThrow(
      "new Orchestrator() is to offer look, which its executor does not have: give it to both.",
    );
    const orchestrator = new Orchestrator({ model, store });
    await expect(orchestrator.run({})).rejects.toThrow(TypeError);
    await expect(orchestrator.run({ input: 5 as never })).rejects.toThrow(TypeError);
    await expect(orchestrator.run(undefined as never)).rejects.toThrow(/run\(\) takes an object.*got undefined/);
    await expect(orchestrator.stream(undefined as never).result).rejects.toThrow(TypeError);
    await expect(orchestrator.resume(conversationId, null as never)).rejects.toThrow(/resume\(\) takes an object/);
    await expect(orchestrator.run({ conversationId: 7 as never, input: "Hi" })).rejects.toThrow(TypeError);
    await expect(orchestrator.resume("")).rejects.toThrow(TypeError);
    const result = await orchestrator.run({ conversationId, input: "Hi" });
    expect(structuredClone(result)).toEqual(result);
    for (const approval of [null, undefined, "x"])
      await expect(orchestrator.resume(conversationId, { approvals: [approval] } as never)).rejects.toThrow(
        /^approvals\[0\] is an object, \{ id, decision \}, got/,
      );
    for (const id of [undefined, 3])
      await expect(orchestrator.resume(conversationId, { approvals: [{ id }] } as never)).rejects.toThrow(
        /^approvals\[0\]\.id is that of a pending approval, got/,
      );
    await expect(orchestrator.waitAndResume(conversationId, null as never)).rejects.toThrow(
      /takes an object.*got null/,
    );
    expect(await codeOf(orchestrator.resume(conversationId, { approvals: [{ id: "x", decision: "approve" }] }))).toBe(
      "TypeError",
    );
  });
});

describe("an approval", () => {
  function setUp() {
    const store = memoryStore();
    const approvals = new ApprovalService({ store });
    const write = counted("write", { needsApproval: true });
    const read = counted("read", { effect: "read" });
    const model = scripted(
      { calls: [{ name: "write", args: { n: 1 } }, { name: "read" }, { name: "write", args: { n: 1 } }] },
      { text: "Done." },
    );
    const tools = [write.tool, read.tool];
    const orchestrator = new Orchestrator({ model, tools, store, approvals });
    return { model, tools, store, approvals, write, read, orchestrator };
  }

  it("is waited for, decided in any order, and executes its own call once", async () => {
    const { orchestrator, write, read } = setUp();
    const paused = await orchestrator.run({ conversationId, input: "Go" });
    expect(paused.status).toBe("awaiting_approval");
    expect(paused.pendingApprovals).toHaveLength(2);
    expect([write.inputs.length, read.inputs.length]).toEqual([0, 1]);
    const [first, second] = paused.pendingApprovals;
    const next = await orchestrator.resume(conversationId, {
      approvals: [{ id: second!.id, decision: "deny", reason: "not twice" }],
    });
    expect(next).toMatchObject({ status: "awaiting_approval", pendingApprovals: [{ id: first!.id }] });
    const done = await orchestrator.resume(conversationId, { approvals: [{ id: first!.id, decision: "approve" }] });
    expect(done.status).toBe("completed");
    expect(write.inputs).toEqual([{ n: 1 }]);
    expect(read.inputs).toHaveLength(1);
    expect(short(done.messages)[4]).toContain("not twice");
  });

  it.each<[string, (first: string, second: string) => unknown[], string]>([
    ["was decided before", (first, second) => [{ id: second }, { id: first }], "already_decided"],
    ["is decided twice", (_, second) => [{ id: second }, { id: second }], "already_decided"],
    ["is of no run", (_, second) => [{ id: second }, { id: "apr_1" }], "approval_not_found"],
    ["is not decided", (_, second) => [{ id: second }, { id: second, decision: "maybe" }], "TypeError"],
  ])("that %s leaves the others as they were", async (__, inputs, code) => {
    const { orchestrator, approvals, write } = setUp();
    const [first, second] = (await orchestrator.run({ conversationId, input: "Go" })).pendingApprovals;
    await approvals.decide(first!.id, { decision: "deny" });
    const decisions = inputs(first!.id, second!.id).map((one) => ({ decision: "approve", ...(one as { id: string }) }));
    expect(await codeOf(orchestrator.resume(conversationId, { approvals: decisions as never }))).toBe(code);
    expect(await approvals.get(second!.id)).toMatchObject({ status: "pending" });
    expect(write.inputs).toEqual([]);
  });

  it.each([
    ["somebody who may not decide", { id: "bob", role: "owner" }],
    ["the same person in a role in which it may not decide", { id: "ada", role: "guest" }],
  ])("by %s leaves the others as they were", async (_, other) => {
    const { model, tools, store, write } = setUp();
    const mayDecide = ({ id, role }: Principal) => id === "ada" && role === "owner";
    const approvals = new ApprovalService({ store, mayDecide });
    const orchestrator = new Orchestrator({ model, tools, store, approvals });
    const [first, second] = (await orchestrator.run({ conversationId, input: "Go" })).pendingApprovals;
    const decided = orchestrator.resume(conversationId, {
      approvals: [
        { id: first!.id, decision: "approve", principal: { id: "ada", role: "owner" } },
        { id: second!.id, decision: "approve", principal: other },
      ],
    });
    expect(await codeOf(decided)).toBe("approval_not_found");
    expect(await approvals.get(first!.id)).toMatchObject({ status: "pending" });
    expect(write.inputs).toEqual([]);
  });

  it("with an edit that its tool does not take leaves the others as they were", async () => {
    const { model, tools, store, write } = setUp();
    const approvals = new ApprovalService({ store, tools });
    const orchestrator = new Orchestrator({ model, tools, store, approvals });
    const [first, second] = (await orchestrator.run({ conversationId, input: "Go" })).pendingApprovals;
    const decided = orchestrator.resume(conversationId, {
      approvals: [
        { id: first!.id, decision: "approve" },
        { id: second!.id, decision: "approve", editedInput: { n: "all" } },
      ],
    });
    expect(await codeOf(decided)).toBe("invalid_input");
    expect(await approvals.get(first!.id)).toMatchObject({ status: "pending" });
    expect(write.inputs).toEqual([]);
  });

  it("is not asked for again when the run is aborted before its call has begun", async () => {
    const store = memoryStore();
    const leave = new AbortController();
    const slow = { needsApproval: true, sequential: true };
    const first = counted("first", { ...slow, execute: () => (leave.abort(), new Promise(() => {})) });
    const second = counted("second", slow);
    const tools = [first.tool, second.tool];
    const approvals = new ApprovalService({ store, tools });
    const model = scripted({ calls: [{ name: "first" }, { name: "second" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools, store, approvals });
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Go" });
    const decisions = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    const left = await orchestrator.resume(conversationId, { approvals: decisions, signal: leave.signal });
    expect(left).toMatchObject({ status: "error", error: { code: "aborted" }, pendingApprovals: [] });
    expect((await orchestrator.resume(conversationId)).status).toBe("completed");
    expect(second.inputs).toEqual([{}]);
  });

  it.each<[string, ReturnType<typeof counted>["tool"], Authorize | undefined]>([
    ["a tool", counted("read", { effect: "read", needsApproval: true }).tool, undefined],
    ["a policy, which has asked during a turn that was stopped", counted("read", { effect: "read" }).tool, () => ask()],
  ])("of a call that only reads is asked for by %s, and waited for of a turn that counts alone", async (...row) => {
    const [, tool, authorize] = row;
    const store = memoryStore();
    const approvals = new ApprovalService({ store });
    const text = await loadRecording("fixtures/anthropic/text-only");
    const turns = [heldTurn("read", new Promise(() => {})), heldTurn("read", Promise.resolve()), text];
    const model = replayModel(anthropic, turns);
    const executor = new ToolExecutor({ tools: [tool], store, approvals, authorize });
    const orchestrator = new Orchestrator({ model, tools: [tool], store, executor });
    const abort = new AbortController();
    const stream = orchestrator.stream({ conversationId, input: "Go", signal: abort.signal });
    for await (const { type } of stream) if (type === "tool-use") setTimeout(() => abort.abort(), 20);
    const { pendingApprovals } = await orchestrator.resume(conversationId);
    expect(await approvals.list({ status: "pending" })).toEqual(pendingApprovals);
    expect((await orchestrator.get(conversationId))!.pendingApprovals).toEqual(pendingApprovals);
    expect(pendingApprovals).toHaveLength(1);
    const decisions = [{ id: pendingApprovals[0]!.id, decision: "approve" as const }];
    expect((await orchestrator.resume(conversationId, { approvals: decisions })).status).toBe("completed");
  });

  it("is that of the executor where one is given", async () => {
    const { model, tools, store, approvals, write } = setUp();
    const executor = new ToolExecutor({ tools, store, approvals });
    const orchestrator = new Orchestrator({ model, tools, store, executor });
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Go" });
    expect(pendingApprovals).toHaveLength(2);
    expect((await orchestrator.get(conversationId))!.pendingApprovals).toHaveLength(2);
    const decisions = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    expect((await orchestrator.resume(conversationId, { approvals: decisions })).status).toBe("completed");
    expect(write.inputs).toHaveLength(2);
  });

  it("is asked for in one place: of an executor that has none, or others, is told at once", () => {
    const { model, tools, store, approvals } = setUp();
    for (const others of [undefined, new ApprovalService({ store })]) {
      const executor = new ToolExecutor({ tools, store, approvals: others });
      expect(() => new Orchestrator({ model, tools, store, executor, approvals })).toThrow(
        /^The executor asks the approvals it was made with, and has (none|another one)/,
      );
    }
  });

  it("of another run is refused", async () => {
    const { orchestrator, write } = setUp();
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Go" });
    await orchestrator.run({ conversationId: "c2", input: "Go" });
    const approvals = [{ id: pendingApprovals[0]!.id, decision: "approve" as const }];
    expect(await codeOf(orchestrator.resume("c2", { approvals }))).toBe("approval_not_found");
    expect(write.inputs).toEqual([]);
  });
});

describe("a run that is aborted when a turn has ended", () => {
  it("tells of the calls that wait, as get() does", async () => {
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const abort = new AbortController();
    const onEvent = ({ type }: RunEvent) => type === "finish" && abort.abort();
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore(), onEvent });
    const result = await orchestrator.run({ conversationId, input: "Go", signal: abort.signal });
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" }, pendingToolCalls: [{ name: "ask" }] });
    expect((await orchestrator.get(conversationId))!.pendingToolCalls).toEqual(result.pendingToolCalls);
    const toolResults = result.pendingToolCalls.map(({ id }) => ({ toolCallId: id, result: "yes" }));
    expect((await orchestrator.resume(conversationId, { toolResults })).status).toBe("completed");
  });
});

describe("stream()", () => {
  it("tells text, inputs, tool events and the calls for the caller", async () => {
    const read = counted("read", { effect: "read" });
    const model = scripted({ text: "Let me see.", calls: [{ name: "read" }, { name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [read.tool, external("ask")], store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const events: RunEvent[] = [];
    for await (const event of stream) events.push(event);
    const types = events.map(({ type }) => type);
    expect(types[0]).toBe("run.started");
    expect(types).toEqual(
      expect.arrayContaining(["text-delta", "tool-input-delta", "tool-use", "finish", "tool.completed"]),
    );
    expect(types.at(-1)).toBe("run.ended");
    const seqs = events.flatMap((event) => ("seq" in event ? [event.seq] : []));
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    const detected = events.find((event) => event.type === "external_tool_detected")!;
    const paused = await stream.result;
    expect(detected.call).toEqual(paused.pendingToolCalls[0]);
    expect(events.flatMap((event) => (event.type === "tool-use" ? [event.use.name] : []))).toEqual(["read", "ask"]);

    const rest = orchestrator.resumeStream(conversationId, {
      toolResults: [{ toolCallId: detected.call.id, result: 1 }],
    });
    const more: string[] = [];
    for await (const event of rest) more.push(event.type);
    expect([more[0], more.at(-1)]).toEqual(["run.resumed", "run.ended"]);
    expect((await rest.result).content).toBe("Done.");
  });

  it("end with the result, though another process was faster to go on with what this one brought", async () => {
    const model = scripted({ calls: [{ name: "ask" }, { name: "ask" }] }, { text: "Done." });
    const inner = memoryStore();
    const other = new Orchestrator({ model, tools: [external("ask")], store: inner });
    const { pendingToolCalls } = await other.run({ conversationId, input: "Go" });
    const [first, second] = pendingToolCalls.map(({ id }) => ({ toolResults: [{ toolCallId: id, result: 1 }] }));
    let isFaster = true;
    const put: Store["put"] = async (...args) => {
      if (args[0].startsWith("run/") && isFaster) {
        isFaster = false;
        await other.resume(conversationId, first);
      }
      return inner.put(...args);
    };
    const own = new Orchestrator({ model, tools: [external("ask")], store: { ...inner, put } });
    const events: RunEvent[] = [];
    const stream = own.resumeStream(conversationId, second);
    for await (const event of stream) events.push(event);
    const result = await stream.result;
    expect(result).toMatchObject({ status: "completed", content: "Done." });
    expect(events).toEqual([{ type: "run.ended", result }]);
  });

  it("tells with a call until when there is time for it", async () => {
    const model = scripted({ calls: [{ name: "ask" }] });
    const tools = [external("ask", { timeoutMs: 60_000 })];
    const stream = new Orchestrator({ model, tools, store: memoryStore() }).stream({ conversationId, input: "Go" });
    const begun = Date.now();
    for await (const event of stream) {
      if (event.type !== "external_tool_detected") continue;
      expect(event.call.expiresAt).toBeGreaterThanOrEqual(begun + 60_000);
      expect(event.call.expiresAt).toBeLessThanOrEqual(Date.now() + 60_000);
    }
    expect.assertions(2);
  });

  it("takes the results of calls while their turn goes on, and needs no pause then", async () => {
    const end = Promise.withResolvers<void>();
    const model = replayModel(anthropic, [
      heldTurn(["look", "look"], end.promise),
      await loadRecording("fixtures/anthropic/text-only"),
    ]);
    const tools = [external("look", { effect: "read" })];
    const orchestrator = new Orchestrator({ model, tools, store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    for await (const event of stream) {
      if (event.type !== "external_tool_detected") continue;
      await expect(stream.provideToolResult("nobody", { result: 1 })).rejects.toMatchObject({ code: "unknown_call" });
      await stream.provideToolResult(event.call.id, { result: "early" });
      await expect(stream.provideToolResult(event.call.id, { result: 2 })).rejects.toMatchObject({
        code: "already_answered",
      });
      if (event.call.wireId === "toolu_2") end.resolve();
    }
    const result = await stream.result;
    expect(result.status).toBe("completed");
    const results = ["toolu_1", "toolu_2"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "early" }));
    expect(result.messages[2]).toEqual({ role: "user", content: results });
  });

  // pingdotgg/t3code#6389
  it("takes the result of a call whose turn is stored while it is looked up how the run stands", async () => {
    const end = Promise.withResolvers<void>();
    const model = replayModel(anthropic, [
      heldTurn("look", end.promise),
      await loadRecording("fixtures/anthropic/text-only"),
    ]);
    const inner = memoryStore();
    let back: Promise<unknown> | undefined;
    const get: Store["get"] = async (key) => {
      const isBack = back;
      const entry = await inner.get<any>(key);
      await isBack;
      return entry;
    };
    const orchestrator = new Orchestrator({ model, tools: [external("look")], store: { ...inner, get } });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    let provided: Promise<void> | undefined;
    for await (const event of stream) {
      if (event.type !== "external_tool_detected") continue;
      // What is read now arrives when the turn is stored.
      back = stream.result;
      provided = stream.provideToolResult(event.call.id, { result: "just then" });
      back = undefined;
      end.resolve();
    }
    expect((await stream.result).status).toBe("awaiting_tool_results");
    await provided;
    const { status, messages } = await orchestrator.resume(conversationId);
    expect(status).toBe("completed");
    expect(messages[2]).toMatchObject({ content: [{ type: "tool_result", content: "just then" }] });
  });

  it("tells of a call when it is complete, and releases it when its turn has ended", async () => {
    const end = Promise.withResolvers<void>();
    const model = replayModel(anthropic, [heldTurn("change", end.promise)]);
    const orchestrator = new Orchestrator({ model, tools: [external("change")], store: memoryStore() });
    const seen: unknown[] = [];
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    for await (const event of stream) {
      if (event.type === "external_tool_detected") {
        seen.push({ detected: event.call.id, released: event.released });
        end.resolve();
      }
      if (event.type === "tool-use" || event.type === "finish") seen.push(event.type);
    }
    const { status, pendingToolCalls } = await stream.result;
    expect(status).toBe("awaiting_tool_results");
    expect(seen).toEqual([{ detected: pendingToolCalls[0]!.id, released: false }, "tool-use", "finish"]);
  });

  it.each([
    ["the result counts if it is there", true, "early"],
    ["else the outcome is unknown", false, "is unknown: it was handed out"],
  ])("whose turn is cut behind a call that was told: %s", async (_, isAnswered, told) => {
    const cut = Promise.withResolvers<void>();
    const turns = [heldTurn("change", cut.promise), await loadRecording("fixtures/anthropic/text-only")];
    const model = replayModel(anthropic, turns);
    const orchestrator = new Orchestrator({
      model,
      tools: [external("change")],
      store: memoryStore(),
      retryDelayMs: 0,
    });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const events: RunEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      if (event.type !== "external_tool_detected") continue;
      if (isAnswered) await stream.provideToolResult(event.call.id, { result: "early" });
      cut.reject(new Error("socket hang up"));
    }
    const { status, messages, tree } = await stream.result;
    expect(status).toBe("completed");
    expect(JSON.stringify(messages[2])).toContain(told);
    expect(tree.runs[0]!.children[0]!.children[0]!.status).toBe(isAnswered ? "completed" : "unknown");
    expect(events.filter(({ type }) => /^tool-(use|error)$/.test(type))).toMatchObject([
      { error: { code: "outcome_unknown" } },
    ]);
  });

  it("whose turn is cut behind it has the result that comes while the other calls of the turn run", async () => {
    async function* cutBehindBoth() {
      for await (const event of heldTurn("change", Promise.resolve())) {
        if ((event as { type: string }).type !== "message_delta") {
          yield event;
          continue;
        }
        const block = { type: "tool_use", id: "toolu_2", name: "look", input: {} };
        yield { type: "content_block_start", index: 1, content_block: block };
        yield { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "{}" } };
        yield { type: "content_block_stop", index: 1 };
        throw new Error("socket hang up");
      }
    }
    const looked = Promise.withResolvers<string>();
    const look = counted("look", { effect: "read", execute: () => looked.promise }).tool;
    const model = replayModel(anthropic, [cutBehindBoth, await loadRecording("fixtures/anthropic/text-only")]);
    const tools = [external("change"), look];
    const orchestrator = new Orchestrator({ model, tools, store: memoryStore(), retryDelayMs: 0 });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    let told = "";
    for await (const event of stream) {
      if (event.type === "external_tool_detected") told = event.call.id;
      if (event.type !== "error") continue;
      // Its turn is stored, and its calls are being settled.
      setTimeout(() => {
        void stream.provideToolResult(told, { result: "late" }).finally(() => looked.resolve("seen"));
      }, 50);
    }
    const { status, messages } = await stream.result;
    expect(status).toBe("completed");
    expect(JSON.stringify(messages[2])).toMatch(/late.*seen/);
  });

  it("hands out no call that the provider took back, and forgets it", async () => {
    async function* handedOver() {
      for await (const event of heldTurn("change", Promise.resolve())) {
        const { type } = event as { type: string };
        if (type === "message_delta") {
          yield { type: "content_block_start", index: 1, content_block: { type: "fallback", to: { model: "next" } } };
          yield { type: "content_block_stop", index: 1 };
          yield { type: "content_block_start", index: 2, content_block: { type: "text", text: "Done." } };
          yield { type: "content_block_stop", index: 2 };
          yield { type: "message_delta", delta: { stop_reason: "end_turn" } };
        } else yield event;
      }
    }
    const model = replayModel(anthropic, [handedOver]);
    const orchestrator = new Orchestrator({ model, tools: [external("change")], store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const events: RunEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.filter(({ type }) => /^tool-(use|error)$/.test(type))).toMatchObject([
      { type: "tool-error", error: { code: "rejected" } },
    ]);
    expect(await stream.result).toMatchObject({ status: "completed", content: "Done.", pendingToolCalls: [] });
    const [told] = events.filter((event) => event.type === "external_tool_detected");
    const late = orchestrator.resume(conversationId, { toolResults: [{ toolCallId: told!.call.id, result: 1 }] });
    expect(await codeOf(late)).toBe("unknown_call");
  });

  it.each([
    ["the result counts if it is there", true, "early", true],
    ["else the outcome is unknown", false, "is unknown: it was handed out", true],
    ["new input is taken, and the result counts", true, "early", false],
    ["new input is taken, and the outcome is unknown", false, "is unknown: it was handed out", false],
  ])("whose turn is aborted behind a call that was told: %s", async (_, isAnswered, told, isResumed) => {
    const recording = await loadRecording("fixtures/anthropic/text-only");
    const model = replayModel(anthropic, [heldTurn("change", new Promise(() => {})), recording]);
    const orchestrator = new Orchestrator({ model, tools: [external("change")], store: memoryStore(), maxCutTurns: 0 });
    const abort = new AbortController();
    const stream = orchestrator.stream({ conversationId, input: "Go", signal: abort.signal });
    for await (const event of stream) {
      if (event.type !== "external_tool_detected") continue;
      if (isAnswered) await stream.provideToolResult(event.call.id, { result: "early" });
      abort.abort();
    }
    expect(await stream.result).toMatchObject({ status: "error", error: { code: "aborted" } });
    const goOn = isResumed
      ? orchestrator.resume(conversationId)
      : orchestrator.run({ conversationId, input: "Never mind" });
    const { status, messages } = await goOn;
    expect(status).toBe("completed");
    expect(JSON.stringify(messages[2])).toContain(told);
  });

  it.each<[string, () => unknown, string]>([
    ["true", () => true, "a boolean"],
    ["null", () => null, "null"],
    ["a promise", () => Promise.reject(new Error("no")), "an object"],
  ])("is not taken if validateResults returns %s, which says nothing of it", async (_, validateResults, got) => {
    const model = scripted({ calls: [{ name: "change" }] }, { text: "Done." });
    const options = { model, tools: [external("change")], store: memoryStore(), validateResults };
    const orchestrator = new Orchestrator(options as never);
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, result: 1 }];
    await expect(orchestrator.resume(conversationId, { toolResults })).rejects.toThrow(
      `validateResults returns what is wrong with a result, a text, or undefined if nothing is; got ${got}.`,
    );
    expect((await orchestrator.get(conversationId))!.pendingToolCalls).toEqual(pendingToolCalls);
  });

  it.each(["provideToolResult()", "resume()"])(
    "whose turn was aborted behind a call that was told: its result counts when it comes later by %s, once",
    async (way) => {
      const recording = await loadRecording("fixtures/anthropic/text-only");
      const model = replayModel(anthropic, [heldTurn("change", new Promise(() => {})), recording]);
      const shown: unknown[] = [];
      const validateResults = ({ result }: ToolResultInput, call: PendingToolCall) => {
        shown.push(call.arguments);
        return result === "late" ? undefined : "it is not late";
      };
      const options = { model, tools: [external("change")], store: memoryStore(), validateResults };
      const orchestrator = new Orchestrator(options);
      const abort = new AbortController();
      const stream = orchestrator.stream({ conversationId, input: "Go", signal: abort.signal });
      let toolCallId = "";
      for await (const event of stream) {
        if (event.type !== "external_tool_detected") continue;
        toolCallId = event.call.id;
        abort.abort();
      }
      // Nobody shall begin it any more.
      expect((await stream.result).pendingToolCalls).toEqual([]);
      expect((await orchestrator.get(conversationId))!.pendingToolCalls).toEqual([]);
      const hand = (result: unknown) => orchestrator.provideToolResult(conversationId, { toolCallId, result });
      expect(await codeOf(hand("early"))).toBe("invalid_result");
      const late = { toolCallId, result: "late" };
      if (way === "provideToolResult()") await stream.provideToolResult(toolCallId, late);
      const toolResults = way === "resume()" ? [late] : [];
      const { status, messages } = await orchestrator.resume(conversationId, { toolResults });
      expect(status).toBe("completed");
      expect(messages[2]).toMatchObject({ content: [{ type: "tool_result", content: "late" }] });
      // Of each of them once: the early one and the late one.
      expect(shown).toEqual([{}, {}]);
      expect(await codeOf(hand("late"))).toBe("already_answered");
    },
  );

  it("whose turn is cut behind a call that was told: too late is a result after the run has gone on", async () => {
    const cut = Promise.withResolvers<void>();
    const turns = [heldTurn("change", cut.promise), heldTurn("change", Promise.resolve())];
    const model = replayModel(anthropic, turns);
    const tools = [external("change")];
    const orchestrator = new Orchestrator({ model, tools, store: memoryStore(), retryDelayMs: 0 });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const told: string[] = [];
    const codes: string[] = [];
    for await (const event of stream) {
      if (event.type !== "external_tool_detected") continue;
      told.push(event.call.id);
      cut.reject(new Error("socket hang up"));
      // Of the turn before, while this one is read.
      if (told.length === 2) codes.push(await codeOf(stream.provideToolResult(told[0]!, { result: 1 })));
    }
    codes.push(await codeOf(stream.provideToolResult(told[0]!, { result: 1 })));
    codes.push(await codeOf(stream.provideToolResult(told[1]!, { result: 1 })));
    expect(codes).toEqual(["already_answered", "already_answered", "resolved"]);
  });

  it.each<[string, readonly string[], number, readonly string[]]>([
    // Of two that run at once, either may be ready first.
    ["as many as the executor runs at once", ["a", "a", "b", "w"], 2, ["a begins", "a begins"]],
    ["those before a sequential one", ["a", "s", "b"], 1, ["a begins", "a ends", "s begins", "s ends", "b begins"]],
  ])("begins calls that only read while their turn goes on: %s", async (_, names, most, first) => {
    const log: string[] = [];
    let now = 0;
    let seen = 0;
    const full = Promise.withResolvers<void>();
    const slow = (name: string, definition: Partial<ToolDefinition>) =>
      counted(name, {
        ...definition,
        execute: async () => {
          log.push(`${name} begins`);
          seen = Math.max(seen, ++now);
          if (now === most) full.resolve();
          await full.promise;
          // Time for one more, if that could begin.
          await new Promise((resolve) => setTimeout(resolve, 10));
          now--;
          log.push(`${name} ends`);
        },
      }).tool;
    const reads = ["a", "b"].map((name) => slow(name, { effect: "read" }));
    const tools = [...reads, slow("s", { effect: "read", sequential: true }), slow("w", {})];
    const store = memoryStore();
    const executor = new ToolExecutor({ tools, store, concurrency: 2 });
    const model = scripted({ calls: names.map((name) => ({ name })) }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools, store, executor });
    expect((await orchestrator.run({ conversationId, input: "Go" })).status).toBe("completed");
    expect(seen).toBe(most);
    expect(log.slice(0, first.length)).toEqual(first);
    expect(log).toHaveLength(names.length * 2);
  });

  it("executes a call anew when its turn was aborted and is asked for again: it may be another one", async () => {
    const look = counted("look", { effect: "read" });
    const model = replayModel(anthropic, [
      heldTurn("look", new Promise(() => {})),
      heldTurn("look", Promise.resolve()),
      await loadRecording("fixtures/anthropic/text-only"),
    ]);
    const orchestrator = new Orchestrator({ model, tools: [look.tool], store: memoryStore() });
    const abort = new AbortController();
    const stream = orchestrator.stream({ conversationId, input: "Go", signal: abort.signal });
    for await (const { type } of stream) if (type === "tool.completed") abort.abort();
    expect((await orchestrator.resume(conversationId)).status).toBe("completed");
    expect(look.inputs).toHaveLength(2);
  });

  it("tells nobody of a call that comes with the end of a turn that is cut", async () => {
    const model = scripted({ calls: [{ name: "change" }], finish: "length" }, { text: "Done" });
    const orchestrator = new Orchestrator({ model, tools: [external("change")], store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).not.toContain("external_tool_detected");
    expect(short((await stream.result).messages)[2]).toContain("was not executed");
  });

  it.each(["length", "content_filter"])(
    "tells of a call that waits for nothing, though its turn ends with %s: it is pending",
    async (finish) => {
      const model = scripted({ calls: [{ name: "look", args: { n: 1 } }], finish }, { text: "Done" });
      const look = external("look", { effect: "read" });
      const orchestrator = new Orchestrator({ model, tools: [look], store: memoryStore() });
      const stream = orchestrator.stream({ conversationId, input: "Go" });
      const told: unknown[] = [];
      for await (const event of stream) {
        if (event.type === "external_tool_detected") told.push([event.call.id, event.released]);
      }
      expect(told).toEqual((await stream.result).pendingToolCalls.map(({ id }) => [id, true]));
      expect(told).toHaveLength(1);
    },
  );

  it("ends in a state that can be resumed when its reader leaves", async () => {
    const model = scripted({ text: "Hello" }, { text: "Hello again" });
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    for await (const event of stream) if (event.type === "text-delta") break;
    expect(await stream.result).toMatchObject({ status: "error", error: { code: "aborted" } });
    expect(await orchestrator.resume(conversationId)).toMatchObject({ status: "completed", content: "Hello again" });
  });

  it("leaves nobody who listens to the store, and neither does a wait", async () => {
    const store = memoryStore();
    let listening = 0;
    const subscribe: Store["subscribe"] = async (...given) => {
      const stop = await store.subscribe(...given);
      listening++;
      return () => (listening--, stop());
    };
    const model = scripted({ calls: [{ name: "write" }, { name: "ask" }] }, { text: "Done." });
    const tools = [counted("write").tool, external("ask")];
    const orchestrator = new Orchestrator({ model, tools, store: { ...store, subscribe } });
    const { pendingToolCalls } = await orchestrator.stream({ conversationId, input: "Go" }).result;
    const waiting = orchestrator.waitAndResume(conversationId);
    await until(() => listening > 0);
    await orchestrator.provideToolResult(conversationId, { toolCallId: pendingToolCalls[0]!.id, result: 1 });
    expect(await waiting).toMatchObject({ status: "completed" });
    expect(listening).toBe(0);
  });

  it("is read once, and its loop throws what run() would reject with", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hello" }), store: memoryStore() });
    const stream = orchestrator.resumeStream("nowhere");
    const read = async () => {
      for await (const { type } of stream) expect(type).toBe("nothing");
    };
    expect([await codeOf(read()), await codeOf(stream.result)]).toEqual(["unknown_run", "unknown_run"]);
    await expect(read()).rejects.toThrow(/they are read once/);
  });
});

describe("a turn that is cut", () => {
  it("by its length gets error results, and is bounded", async () => {
    const write = counted("write");
    const model = scripted({ calls: [{ name: "write", args: '{"n": 1' }], finish: "length" });
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore(), maxCutTurns: 1 });
    const result = await orchestrator.run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "error", error: { code: "truncated" } });
    expect(model.requests).toHaveLength(2);
    expect(write.inputs).toEqual([]);
    expect(short(result.messages)[2]).toContain("error");
    await orchestrator.resume(conversationId);
    expect(model.requests).toHaveLength(4);
  });

  it("without a call is asked for again", async () => {
    const model = scripted({ text: "Hel", finish: null }, { text: "Hello" });
    const events: string[] = [];
    const orchestrator = new Orchestrator({
      model,
      store: memoryStore(),
      retryDelayMs: 0,
      onEvent: ({ type }) => events.push(type),
    });
    const result = await orchestrator.run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "completed", content: "Hello" });
    expect(short(result.messages)).toEqual(["user", "say(Hello)"]);
    expect(events).toContain("turn.retried");
  });

  it.each<[string, { readonly text?: string; readonly finish: string }]>([
    ["dropped by the provider", { finish: "error" }],
    ["dropped by the provider behind some text", { text: "I will look.", finish: "error" }],
    ["said to have calls, with nothing in it", { finish: "tool_calls" }],
  ])("%s is asked for again, and is no answer in the end", async (_, turn) => {
    const model = scripted(turn, { text: "Hello" });
    const run = { store: memoryStore(), retryDelayMs: 0 };
    const orchestrator = new Orchestrator({ ...run, model });
    const result = await orchestrator.run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "completed", content: "Hello" });
    expect(short(result.messages)).toEqual(["user", "say(Hello)"]);
    // It was paid for, too: https://github.com/langgenius/dify/pull/40937
    const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 };
    expect(result.metadata).toMatchObject({ tokens: 30, usage });
    expect((await orchestrator.get(conversationId))!.metadata).toMatchObject({ tokens: 30, usage });
    const next = await orchestrator.run({ conversationId, input: "Go" });
    expect(next.metadata.usage).toMatchObject({ totalTokens: 15 });

    const never = scripted(turn);
    const failed = await new Orchestrator({ ...run, model: never }).run({ conversationId: "never", input: "Go" });
    expect(failed).toMatchObject({ status: "error", content: turn.text ?? "", error: { code: "provider_error" } });
    expect((failed as { error?: Error }).error?.message).toBe(
      `The turn ended with ${turn.finish}: there is no answer in it.`,
    );
    expect(never.requests).toHaveLength(3);
  });

  it("said to have calls, with text in place of them, is an answer: some servers say so of every one", async () => {
    const model = scripted({ text: "Hello", finish: "tool_calls" });
    const result = await new Orchestrator({ model, store: memoryStore() }).run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "completed", content: "Hello" });
    expect(model.requests).toHaveLength(1);
  });

  it("by the connection is asked for again after a while, or not if the run is aborted in that time", async () => {
    const model = scripted({ text: "Hel", fail: new Error("overloaded") });
    const abort = new AbortController();
    const onEvent = ({ type }: RunEvent) => type === "turn.retried" && setTimeout(() => abort.abort(), 20);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), retryDelayMs: 3_600_000, onEvent });
    const result = await orchestrator.run({ conversationId, input: "Go", signal: abort.signal });
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" } });
    expect(model.requests).toHaveLength(1);
  });

  // https://github.com/googleapis/python-genai/issues/2604, https://github.com/langchain-ai/langchain-google/pull/1637
  it("by an error that is all there is in its stream is asked for again, since no SDK does", async () => {
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const body = `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`;
    const demo = await loadRecording("fixtures/anthropic/text-only");
    const model = replayModel(anthropic, [new Response(body), [overloaded], demo]);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), retryDelayMs: 0 });
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "completed" });

    const never = replayModel(anthropic, [[overloaded], [overloaded], [overloaded]]);
    const failing = new Orchestrator({ model: never, store: memoryStore(), retryDelayMs: 0 });
    const error = { code: "provider_error", message: expect.stringContaining("Overloaded") as string };
    expect(await failing.run({ conversationId, input: "Go" })).toMatchObject({ status: "error", error });
    expect(never.requests).toHaveLength(3);
  });

  it("by a connection that breaks before the first event is asked for again, since no SDK does", async () => {
    const broken = () => new Response(new ReadableStream({ pull: (body) => body.error(new Error("terminated")) }));
    const demo = await loadRecording("fixtures/anthropic/text-only");
    const model = replayModel(anthropic, [broken(), broken(), demo]);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), retryDelayMs: 0 });
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "completed" });
  });

  it.each([
    ["has no event", "", "connection_lost"],
    ["begins with what is no event of a provider's", "data: <html>\n\n", "invalid_event"],
  ])("that %s, as what a wrong base URL leads to, is not asked for again", async (_, body, code) => {
    const model = replayModel(anthropic, [new Response(body), new Response(body)]);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), retryDelayMs: 0 });
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "error", error: { code } });
    expect(model.requests).toHaveLength(1);
  });

  it("before it began, since its request was refused, is not asked for again: the SDK has done so", async () => {
    const model = replayModel(anthropic, [Response.json({ error: { message: "Overloaded" } }, { status: 529 })]);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), retryDelayMs: 0 });
    const error = { code: "provider_error", message: expect.stringContaining("status 529: Overloaded") as string };
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "error", error });
    expect(model.requests).toHaveLength(1);
  });

  it("by the connection behind a call is not asked for again at once either", async () => {
    const read = counted("read", { effect: "read" });
    const model = scripted({ calls: [{ name: "read" }, { name: "read" }], fail: new Error("overloaded") });
    const abort = new AbortController();
    const onEvent = ({ type }: RunEvent) => type === "error" && setTimeout(() => abort.abort(), 50);
    const orchestrator = new Orchestrator({
      model,
      tools: [read.tool],
      store: memoryStore(),
      retryDelayMs: 3_600_000,
      onEvent,
    });
    const result = await orchestrator.run({ conversationId, input: "Go", signal: abort.signal });
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" } });
    expect(model.requests).toHaveLength(1);
  });

  it("gives an invalid call back with what was expected", async () => {
    const write = counted("write");
    const model = scripted({ calls: [{ name: "write", args: { n: "one" } }, { name: "rite" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore() });
    const { messages } = await orchestrator.run({ conversationId, input: "Go" });
    expect(short(messages)[2]).toMatch(/n: .*number.*The input of write is .*"type/);
    expect(short(messages)[3]).toMatch(/rite.*write/);
    expect(write.inputs).toEqual([]);
  });
});

describe("a run that fails in its first turn", () => {
  it("counts turns that broke in a row: an answer in between begins anew", async () => {
    const broken = { text: "Do", fail: new Error("the line is dead") };
    const model = scripted(broken, broken, { calls: [{ name: "read" }] }, broken, broken, { text: "Done." });
    const read = counted("read", { effect: "read" });
    const options = { model, tools: [read.tool], store: memoryStore(), retryDelayMs: 0 };
    const result = await new Orchestrator(options).run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "completed", content: "Done.", metadata: { steps: 6 } });
  });

  it("has nothing to say: what was said in the run before is no answer", async () => {
    const model = scripted({ text: "The answer." }, { fail: new Error("down") });
    const options = { model, store: memoryStore(), maxCutTurns: 0, retryDelayMs: 0 };
    const orchestrator = new Orchestrator(options);
    await orchestrator.run({ conversationId, input: "Question" });
    const failed = await orchestrator.run({ conversationId, input: "Another one" });
    expect(failed).toMatchObject({ status: "error", content: "", metadata: { finishReason: undefined } });
    expect(await orchestrator.get(conversationId)).toMatchObject({ content: "" });
  });
});

describe("a run in which the application throws", () => {
  it("rejects with that, stands as failed, and can be resumed", async () => {
    let isBroken = true;
    const trim = <Message>(messages: readonly Message[]) => {
      if (isBroken) throw new Error("no");
      return messages;
    };
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store: memoryStore(), trim });
    await expect(orchestrator.run({ conversationId, input: "Go" })).rejects.toThrow("no");
    const error = { code: "execution_failed", message: "Error: no" };
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "error", error });
    isBroken = false;
    expect(await orchestrator.resume(conversationId)).toMatchObject({ status: "completed", content: "Hi." });
  });
});

it("offers what the executor may run, if it is given no tools of its own", async () => {
  const ran = counted("ran");
  const store = memoryStore();
  const executor = new ToolExecutor({ tools: [ran.tool, external("asked")], store });
  const model = scripted({ calls: [{ name: "ran", args: { n: 1 } }, { name: "asked" }] });
  const result = await new Orchestrator({ model, executor, store }).run({ input: "Go" });
  expect(toolList(model.requests[0]!.tools!).map(({ name }) => name)).toEqual(["ran", "asked"]);
  expect(result.pendingToolCalls.map(({ name }) => name)).toEqual(["asked"]);
  expect(ran.inputs).toEqual([{ n: 1 }]);
});

describe("a registry that grows", () => {
  it("has its new tools offered, and executed", async () => {
    const registry = new ToolRegistry([]);
    const write = counted("write");
    const model = scripted({ text: "Hi." }, { calls: [{ name: "write" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: registry, store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Hello" });
    registry.register(write.tool);
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "completed" });
    expect(write.inputs).toHaveLength(1);
  });
});

describe("a set of tools that changes", () => {
  it("offers and runs in each turn what it holds then, as after the refresh() of a server's tools", async () => {
    const [look, newLook, write] = [counted("look"), counted("look"), counted("write")];
    let held = [look.tool];
    const offered: string[][] = [];
    const turn = (name: string) => (request: ModelRequest) => {
      offered.push(toolList(request.tools!).map((tool) => tool.name));
      if (name === "look") held = [newLook.tool, write.tool];
      return { calls: [{ name }] };
    };
    const model = scripted(turn("look"), turn("write"), { text: "Done" });
    const orchestrator = new Orchestrator({ model, tools: { tools: () => held }, store: memoryStore() });
    const { status } = await orchestrator.run({ conversationId, input: "Go" });
    expect(status).toBe("completed");
    expect(offered).toEqual([["look"], ["look", "write"]]);
    expect([look.inputs, newLook.inputs, write.inputs].map((inputs) => inputs.length)).toEqual([0, 1, 1]);
  });
});

describe("limits", () => {
  it("may be left open", async () => {
    const budgets = { maxCalls: undefined, maxTokens: undefined, maxActiveMs: undefined };
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), store: memoryStore(), budgets });
    expect((await orchestrator.run({ conversationId, input: "Go" })).status).toBe("completed");
  });

  it("with a slip in its name is refused, since it would limit nothing", () => {
    const options = { model: scripted(), store: memoryStore(), budgets: { maxCall: 5 } as Budgets };
    expect(() => new Orchestrator(options)).toThrow(
      "budgets have no maxCall: there are maxCalls, maxTokens and maxActiveMs.",
    );
  });

  it.each([
    ["maxSteps", { maxSteps: 2 }, "max_steps", "has had 4 turns of at most 4 (maxSteps)"],
    ["maxCalls", { budgets: { maxCalls: 2 } }, "budget_exceeded", "would have 5 calls of at most 4 (maxCalls)"],
    ["maxTokens", { budgets: { maxTokens: 30 } }, "budget_exceeded", "has had 60 tokens of at most 60 (maxTokens)"],
  ] as const)("%s ends the run in a state that can be resumed", async (_, options, code, all) => {
    const write = counted("write");
    const model = scripted({ calls: [{ name: "write" }] });
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore(), ...options });
    const result = await orchestrator.run({ conversationId, input: "Go" });
    expect(result).toMatchObject({ status: "error", error: { code } });
    const ran = write.inputs.length;
    expect(ran).toBe(2);
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "error", error: { code } });
    const more = await orchestrator.resume(conversationId);
    // Of all of the run, as its metadata has it.
    expect(more).toMatchObject({ status: "error", error: { code, message: expect.stringContaining(all) } });
    expect(write.inputs.length).toBe(2 * ran);
  });

  it("are lifted for a turn with more calls than the limit, too", async () => {
    const write = counted("write");
    const model = scripted({ calls: [1, 2, 3, 4, 5].map((n) => ({ name: "write", args: { n } })) }, { text: "Done." });
    const budgets = { maxCalls: 2 };
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore(), budgets });
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "error" });
    expect(await orchestrator.resume(conversationId)).toMatchObject({ error: { code: "budget_exceeded" } });
    expect(write.inputs).toEqual([]);
    expect(await orchestrator.resume(conversationId)).toMatchObject({ status: "completed" });
    expect(write.inputs).toHaveLength(5);
  });

  it("are granted in full, though another process has a lower one than was used", async () => {
    const write = counted("write");
    const two = { calls: [1, 2].map((n) => ({ name: "write", args: { n } })) };
    const model = scripted(two, { calls: [{ name: "ask" }] }, { text: "Done." });
    const base = { model, tools: [write.tool, external("ask")], store: memoryStore() };
    const { pendingToolCalls } = await new Orchestrator(base).run({ conversationId, input: "Go" });
    const strict = new Orchestrator({ ...base, budgets: { maxCalls: 1 } });
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, result: "Yes." }];
    const error = { code: "budget_exceeded", message: expect.stringContaining("would have 3 calls of at most 1") };
    expect(await strict.resume(conversationId, { toolResults })).toMatchObject({ status: "error", error });
    expect(await strict.resume(conversationId)).toMatchObject({ status: "completed", content: "Done." });
  });

  it("leave calls that never run when the conversation goes on without them, and the model hears so", async () => {
    const write = counted("write");
    const model = scripted({ calls: [1, 2, 3].map((n) => ({ name: "write", args: { n } })) }, { text: "Done." });
    const budgets = { maxCalls: 2 };
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore(), budgets });
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "error" });
    const end = await orchestrator.run({ conversationId, input: "Never mind", whenOpen: "cancel" });
    expect(end.status).toBe("completed");
    expect(write.inputs).toEqual([]);
    expect(short(end.messages).slice(2, 5)).toEqual(Array(3).fill(expect.stringContaining("was not executed")));
  });

  it("end a run with what get() says of it: the same open calls, outcomes and approvals, in call order", async () => {
    const look = counted("look", { effect: "read" });
    const buy = counted("buy", { needsApproval: true });
    const names = ["look", "buy", "buy", "ask"];
    const model = scripted({ calls: [...names.map((name) => ({ name })), { name: "nobody" }] }, { text: "Done." });
    const inner = memoryStore();
    // The first call's request comes last.
    const put: Store["put"] = async (...args) => {
      if (/^approval\/call\/.*-1$/.test(args[0])) await new Promise((resolve) => setTimeout(resolve, 20));
      return inner.put(...args);
    };
    const store = { ...inner, put };
    const tools = [look.tool, buy.tool, external("ask")];
    const base = { model, tools, store, approvals: new ApprovalService({ store }), budgets: { maxCalls: 3 } };
    const orchestrator = new Orchestrator(base);
    const same = async ({ tree, pendingToolCalls, pendingApprovals, ...rest }: OrchestrationResult) => {
      const now = (await orchestrator.get(conversationId))!;
      expect(now).toMatchObject({ status: rest.status, pendingToolCalls, pendingApprovals });
      expect(now.tree.runs).toEqual(tree.runs);
      const called = pendingToolCalls.map(({ name }) => name);
      return [rest.status, ...called, ...pendingApprovals.map(({ invocationId }) => invocationId.at(-1))];
    };
    const limited = await orchestrator.run({ conversationId, input: "Go" });
    expect(await same(limited)).toEqual(["error", "ask"]);
    const asked = await orchestrator.resume(conversationId).then(() => orchestrator.resume(conversationId));
    expect(await same(asked)).toEqual(["awaiting_tool_results", "ask", "1", "2"]);
  });

  it("end a run when what was begun of its last turn has ended: what goes on with it runs as many at once as it may", async () => {
    let running = 0;
    let most = 0;
    const inputs: { n: number }[] = [];
    const execute = async (value: { n: number }) => {
      inputs.push(value);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running--;
      return "seen";
    };
    const look = counted("look", { effect: "read", execute });
    const model = scripted({ calls: [1, 2, 3, 4].map((n) => ({ name: "look", args: { n } })) }, { text: "Done." });
    const store = memoryStore();
    const executor = new ToolExecutor({ tools: [look.tool], store, concurrency: 2 });
    const options = { model, tools: [look.tool], store, executor, budgets: { maxCalls: 3 } };
    const orchestrator = new Orchestrator(options);
    expect(await orchestrator.run({ conversationId, input: "Go" })).toMatchObject({ status: "error" });
    expect([running, inputs.length]).toEqual([0, 3]);
    expect(await orchestrator.resume(conversationId)).toMatchObject({ status: "completed" });
    expect(most).toBe(2);
    // Of two that run at once, either may be ready first.
    expect(inputs.map(({ n }) => n).toSorted()).toEqual([1, 2, 3, 4]);
  });

  it("and so does a run whose store fails", async () => {
    let running = 0;
    let begun!: () => void;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const execute = async () => {
      running++;
      begun();
      await new Promise((resolve) => setTimeout(resolve, 30));
      running--;
    };
    const look = counted("look", { effect: "read", execute });
    const model = scripted({ calls: [{ name: "look" }, { name: "look" }] }, { text: "Done." });
    const store = memoryStore();
    const put: Store["put"] = async (key, value, more) => {
      if ((value as { kind?: string }).kind !== "turn") return store.put(key, value, more);
      await hasBegun;
      throw new ToolError("store_failed", "The disk is full.");
    };
    const orchestrator = new Orchestrator({ model, tools: [look.tool], store: { ...store, put } });
    await expect(orchestrator.run({ conversationId, input: "Go" })).rejects.toMatchObject({ code: "store_failed" });
    expect(running).toBe(0);
  });
});

describe("list()", () => {
  it("finds runs by how they stand", async () => {
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    await orchestrator.run({ conversationId: "one/1", input: "Go" });
    await orchestrator.run({ conversationId: "two", input: "Go" });
    await orchestrator.run({ conversationId: "\ud800", input: "Go" }); // which no URI can hold
    expect((await orchestrator.list()).map((run) => run.conversationId)).toEqual(["\ud800", "one/1", "two"]);
    expect((await orchestrator.list({ status: "awaiting_tool_results" })).map((run) => run.conversationId)).toEqual([
      "one/1",
    ]);
  });

  it("leaves out what a process had begun that died before it had stored what was said, as get() does", async () => {
    const store = memoryStore();
    const died = await Checkpoint.create(store, 1, { conversationId, runId: "run_1", wire: "openai-chat" });
    died.abandon();
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store });
    expect(await orchestrator.list()).toEqual([]);
    expect(await orchestrator.get(conversationId)).toBeUndefined();
  });
});

describe("what is brought to a run that another process takes at this moment", () => {
  /** The other one takes it right before this one would, and is at the call that was approved until it is let go. */
  async function setUp() {
    const shared = memoryStore();
    const { promise: letGo, resolve: go } = Promise.withResolvers<void>();
    const { promise: isAtIt, resolve: atIt } = Promise.withResolvers<void>();
    const write = counted("write", { needsApproval: true, execute: () => (atIt(), letGo) });
    const tools = [write.tool, external("ask")];
    const model = scripted({ calls: [{ name: "ask" }, { name: "write" }] }, { text: "Done." });
    const told: string[] = [];
    const over = (store: Store, onEvent: (event: RunEvent) => void = () => {}) =>
      new Orchestrator({ model, tools, store, approvals: new ApprovalService({ store }), onEvent });
    const there = over(shared);
    const paused = await there.run({ conversationId, input: "Go" });
    let isTaken = false;
    const store: Store = {
      ...shared,
      async put(...args) {
        if (args[0] === `run/${conversationId}` && !isTaken) {
          isTaken = true;
          void there.resume(conversationId);
          await isAtIt;
        }
        return shared.put(...args);
      },
    };
    const here = over(store, ({ type }) => void told.push(type));
    const brought = {
      toolResults: [{ toolCallId: paused.pendingToolCalls[0]!.id, result: "yes" }],
      approvals: [{ id: paused.pendingApprovals[0]!.id, decision: "approve" as const }],
    };
    return { here, brought, isAtIt, go, told };
  }

  it("counts there: this one waits for the end, and has nothing left to do", async () => {
    const { here, brought, isAtIt, go, told } = await setUp();
    const waiting = here.resume(conversationId, brought);
    await isAtIt;
    go();
    const end = await waiting;
    expect(end).toMatchObject({ status: "completed", content: "Done." });
    expect(short(end.messages)[2]).toBe("result(yes)");
    expect(told).toEqual([]);
  });

  it("is there though this one does not wait any more", async () => {
    const { here, brought, isAtIt, go } = await setUp();
    const leave = new AbortController();
    const waiting = here.resume(conversationId, { ...brought, signal: leave.signal });
    await isAtIt;
    leave.abort();
    expect(await waiting).toMatchObject({ status: "error", error: { code: "run_busy" } });
    go();
    expect(short((await here.waitAndResume(conversationId)).messages)[2]).toBe("result(yes)");
  });
});

describe("forget()", () => {
  it("deletes all of a conversation, and nothing of another", async () => {
    const write = counted("write");
    const model = scripted({ calls: [{ name: "write" }, { name: "ask" }] });
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model, tools: [write.tool, external("ask")], store });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input: "Go" });
    await orchestrator.provideToolResult(conversationId, { toolCallId: pendingToolCalls[0]!.id, result: 1 });
    await orchestrator.run({ conversationId: "c2", input: "Go" });
    const all = await store.list("");
    expect(await orchestrator.forget("c2")).toBe(true);
    const kept = await store.list("");
    expect(kept.length).toBeLessThan(all.length);
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "awaiting_tool_results" });
    expect(await orchestrator.forget(conversationId)).toBe(true);
    expect(await store.list("")).toEqual([]);
    expect(await orchestrator.forget(conversationId)).toBe(false);
  });

  it.each([null, [], { lease: "mine" }])("deletes what cannot be read any more: %j", async (damaged) => {
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), store });
    await orchestrator.run({ conversationId, input: "Go" });
    for (const { key } of await store.list("run")) await store.put(key, damaged);
    await expect(orchestrator.get(conversationId)).rejects.toMatchObject({ code: "invalid_checkpoint" });
    expect(await orchestrator.forget(conversationId)).toBe(true);
    expect(await store.list("")).toEqual([]);
  });

  it("leaves one alone that is worked on", async () => {
    const write = counted("write", { execute: () => codeOf(orchestrator.forget(conversationId)) });
    const model = scripted({ calls: [{ name: "write" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore() });
    const { messages } = await orchestrator.run({ conversationId, input: "Go" });
    expect(short(messages).slice(1)).toEqual(["call(write)", "result(run_busy)", "say(Done.)"]);
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "completed" });
  });
});
