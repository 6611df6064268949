/** What users of other toolkits complain about, each as a test that names its source. */
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/errors.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { Orchestrator, type OrchestrationResult, type OrchestratorOptions } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { problemOf } from "./scenario.ts";
import { counted, external, scripted, short, type ScriptedTurn } from "./script.ts";
import { soon } from "../soon.ts";

const conversationId = "c1";
const input = "Go";

/** What the model says next depends on how often it has spoken: so it does in every process. */
function byHistory(...turns: readonly ScriptedTurn[]) {
  return scripted(({ messages }) => {
    const said = messages.filter(({ role }: { role: string }) => role === "assistant").length;
    return turns[Math.min(said, turns.length - 1)]!;
  });
}

function make(turns: readonly ScriptedTurn[], tools: readonly Tool[], more: Partial<OrchestratorOptions> = {}) {
  const store = more.store ?? memoryStore();
  const approvals = new ApprovalService({ store });
  const model = byHistory(...turns);
  return { store, approvals, model, orchestrator: new Orchestrator({ model, tools, store, approvals, ...more }) };
}

const done: ScriptedTurn = { text: "Done." };

function results({ messages }: OrchestrationResult): string[] {
  return (messages as ChatCompletionMessageParam[]).flatMap((message) =>
    message.role === "tool" ? [String(message.content)] : [],
  );
}

describe("external calls", () => {
  it("neuron-ai 46: one id for several calls, which the API then rejects, also in the process that resumes", async () => {
    const calls = ["a", "b"].map((name) => ({ name, id: "call_same" }));
    const tools = calls.map(({ name }) => external(name));
    const { orchestrator, store } = make([{ calls }, done], tools);
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
    const toolResults = pendingToolCalls.map(({ id, name }) => ({ toolCallId: id, result: name }));
    const { messages } = await make([{ calls }, done], tools, { store }).orchestrator.resume(conversationId, {
      toolResults,
    });
    const asked = (messages as ChatCompletionMessageParam[]).flatMap((message) =>
      message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : [],
    );
    const answered = (messages as ChatCompletionMessageParam[]).flatMap((message) =>
      message.role === "tool" ? [message.tool_call_id] : [],
    );
    expect(answered).toEqual(asked);
    expect(new Set(asked).size).toBe(2);
  });

  it("mastra PR 18041: pending calls keyed by tool name, so that two refunds collapse to one", async () => {
    const same = { name: "refund", args: { n: 5 }, id: "call_1" };
    const { orchestrator } = make([{ calls: [same, same] }, done], [external("refund")]);
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
    expect(new Set(pendingToolCalls.map(({ id }) => id)).size).toBe(2);
    const [first, second] = pendingToolCalls;
    await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: second!.id, result: "two" }] });
    const end = await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: first!.id, result: "one" }] });
    expect(results(end)).toEqual(["one", "two"]);
  });

  it("langgraph 6533, 6626, 6627: parallel interrupts share one id, and answers go to the wrong tool", async () => {
    const calls = ["a", "b", "c"].map((name) => ({ name, id: "call_same" }));
    const { orchestrator } = make(
      [{ calls }, done],
      calls.map(({ name }) => external(name)),
    );
    let result = await orchestrator.run({ conversationId, input });
    for (const { id, name } of result.pendingToolCalls.toReversed()) {
      result = await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: id, result: `for ${name}` }] });
    }
    expect(results(result)).toEqual(["for a", "for b", "for c"]);
  });

  it("langgraph PR 3126: resume runs siblings again that had finished", async () => {
    const write = counted("write");
    const { orchestrator } = make(
      [{ calls: [{ name: "write" }, { name: "ask" }] }, done],
      [write.tool, external("ask")],
    );
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
    await orchestrator.resume(conversationId);
    await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: pendingToolCalls[0]!.id, result: 1 }] });
    expect(write.inputs).toHaveLength(1);
  });

  it("mastra 19814: a stale snapshot is used on the second resume", async () => {
    const { orchestrator, store } = make([{ calls: [{ name: "ask" }, { name: "ask" }] }, done], [external("ask")]);
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
    const other = make([{ calls: [{ name: "ask" }, { name: "ask" }] }, done], [external("ask")], { store });
    const [first, second] = pendingToolCalls.map(({ id }) => id);
    // Both have read the same state, and both bring something.
    const ends = await Promise.all([
      orchestrator.resume(conversationId, { toolResults: [{ toolCallId: first!, result: 1 }] }),
      other.orchestrator.resume(conversationId, { toolResults: [{ toolCallId: second!, result: 2 }] }),
    ]);
    expect(ends.map(({ status }) => status)).toContain("completed");
    expect(results((await orchestrator.get(conversationId))!)).toEqual(["1", "2"]);
  });

  it("llama_index 22464: duplicates are dropped because two calls have equal name and arguments", async () => {
    const write = counted("write");
    const same = { name: "write", args: { n: 1 }, id: "call_1" };
    const { orchestrator } = make([{ calls: [same, same] }, done], [write.tool]);
    const end = await orchestrator.run({ conversationId, input });
    expect(write.inputs).toHaveLength(2);
    expect(results(end)).toHaveLength(2);
  });
});

describe("approvals", () => {
  const turns: readonly ScriptedTurn[] = [
    {
      calls: [
        { name: "write", args: { n: 1 } },
        { name: "write", args: { n: 1 } },
      ],
    },
    done,
  ];

  it("mastra 19435, 20529: only the first of several pending approvals is visible", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator, store } = make(turns, [write.tool]);
    await orchestrator.run({ conversationId, input });
    const cold = make(turns, [write.tool], { store });
    expect((await cold.orchestrator.get(conversationId))!.pendingApprovals).toHaveLength(2);
    expect((await cold.orchestrator.resume(conversationId)).pendingApprovals).toHaveLength(2);
  });

  it("mastra PR 20487: decline executes the tool, for its policy was lost on the way", async () => {
    const { orchestrator, store } = make(turns, [counted("write", { needsApproval: true }).tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    const without = counted("write");
    const cold = make(turns, [without.tool], { store });
    const approvals = pendingApprovals.map(({ id }) => ({ id, decision: "deny" as const }));
    const end = await cold.orchestrator.resume(conversationId, { approvals });
    expect(end.status).toBe("completed");
    expect(without.inputs).toEqual([]);
  });

  it("ai 7.0.149: the same approval answered twice runs twice, or both ways", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator } = make(turns, [write.tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    const id = pendingApprovals[0]!.id;
    await orchestrator.resume(conversationId, { approvals: [{ id, decision: "approve" }] });
    const again = orchestrator.resume(conversationId, { approvals: [{ id, decision: "deny" }] });
    await expect(again).rejects.toMatchObject({ code: "already_decided" });
    expect(write.inputs).toHaveLength(1);
  });

  it("TanStack ai 302, opencompany 469: what is approved while another call of the turn runs is lost", async () => {
    const hold = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const execute = () => (begun.resolve(), hold.promise.then(() => "slow"));
    const quick = counted("quick", { needsApproval: true });
    const tools = [counted("slow", { needsApproval: true, execute }).tool, quick.tool];
    const calls = [{ name: "slow" }, ...[1, 2, 3].map((n) => ({ name: "quick", args: { n } }))];
    const { orchestrator } = make([{ calls }, done], tools);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    const decided = pendingApprovals.map(({ id }) => ({ approvals: [{ id, decision: "approve" as const }] }));
    const slow = orchestrator.resume(conversationId, decided[0]);
    await begun.promise;
    const others = decided.slice(1);
    for (const how of [{}, { whenBusy: "wait", signal: AbortSignal.abort() }] as const) {
      const refused = orchestrator.resume(conversationId, { ...others[0], ...how });
      await expect(refused).rejects.toMatchObject({ code: "run_busy" });
    }
    const waiting = others.map((one) => orchestrator.resume(conversationId, { ...one, whenBusy: "wait" }));
    hold.resolve();
    expect((await slow).pendingApprovals).toHaveLength(3);
    const ended = await Promise.all(waiting);
    expect(ended.filter(({ status }) => status === "completed").length).toBeGreaterThan(0);
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "completed", content: "Done." });
    expect(quick.inputs).toHaveLength(3);
  });

  it("agent-framework 6851, 4232: an approved tool runs again on a later turn, its approval being in the history", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator, store } = make(turns, [write.tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    const approvals = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    const { messages } = await orchestrator.resume(conversationId, { approvals });
    expect(write.inputs).toHaveLength(2);
    const later = make([{ text: "Hello." }], [write.tool], { store });
    await later.orchestrator.run({ conversationId, input: "And now?" });
    await later.orchestrator.run({ conversationId: "c2", messages, input: "And now?" });
    expect(write.inputs).toHaveLength(2);
  });

  it("ai 50a26d5: a pending approval is superseded by a new message, and decided later", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator, approvals } = make(turns, [write.tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    await expect(orchestrator.run({ conversationId, input: "No" })).rejects.toMatchObject({ code: "run_open" });
    const end = await orchestrator.run({ conversationId, input: "No", whenOpen: "cancel" });
    expect(results(end)[0]).toContain("was not executed");
    expect(await approvals.list({ status: "pending" })).toEqual([]);
    const late = approvals.decide(pendingApprovals[0]!.id, { decision: "approve" });
    await expect(late).rejects.toMatchObject({ code: "approval_void" });
    await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "not_waiting" });
    expect(write.inputs).toEqual([]);
  });

  it("ai 50a26d5: nor where only certain people may decide", async () => {
    const write = counted("write", { needsApproval: true });
    const store = memoryStore();
    const approvals = new ApprovalService({ store, mayDecide: ({ id }) => id === "ada" });
    const { orchestrator } = make(turns, [write.tool], { store, approvals });
    const { pendingApprovals } = await orchestrator.run({ conversationId, input, principal: { id: "bob" } });
    const end = await orchestrator.run({ conversationId, input: "No", whenOpen: "cancel" });
    expect(end.status).toBe("completed");
    expect(await approvals.list({ status: "pending" })).toEqual([]);
    const late = approvals.decide(pendingApprovals[0]!.id, { decision: "approve" }, { id: "ada" });
    await expect(late).rejects.toMatchObject({ code: "approval_void" });
    await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "not_waiting" });
    expect(write.inputs).toEqual([]);
  });

  it("vscode 289019, obot 5696: people are asked on about calls that their 'always' covers", async () => {
    const write = counted("write", { needsApproval: true });
    const other = counted("other", { needsApproval: true });
    const calls = [1, 2, 3].map((n) => ({ name: "write", args: { n } }));
    const { orchestrator } = make([{ calls: [...calls, { name: "other" }] }, done], [write.tool, other.tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    const approvals = [
      { id: pendingApprovals[1]!.id, decision: "approve" as const, always: { where: { schema: {} } } },
    ];
    const next = await orchestrator.resume(conversationId, { approvals });
    expect(next).toMatchObject({ status: "awaiting_approval", pendingApprovals: [{ toolName: "other" }] });
    expect(write.inputs).toEqual([{ n: 2 }, { n: 1 }, { n: 3 }]);
  });

  it("claude-agent-sdk-python 330, CopilotKit 3206: nobody can say no, why, and what to do instead", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator, approvals } = make(turns, [write.tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    await approvals.decide(pendingApprovals[0]!.id, { decision: "deny", reason: "Too much." });
    const end = await orchestrator.run({ conversationId, input: "Ask them first.", whenOpen: "cancel" });
    const [denied, other] = results(end);
    expect(denied).toContain("denied by a person: Too much.");
    expect(other).toContain("was not executed");
    expect(end.tree.runs[0]!.children[0]!.children.map(({ status }) => status)).toEqual(["denied", "canceled"]);
    expect((await approvals.list()).map(({ status }) => status)).toEqual(["denied", "void"]);
    expect(write.inputs).toEqual([]);
  });

  it("openai-agents-python 4244: context passed at resume drops the approval", async () => {
    for (const context of [undefined, { tenant: "acme" }]) {
      const write = counted("write", { needsApproval: true });
      const { orchestrator } = make(turns, [write.tool]);
      const { pendingApprovals } = await orchestrator.run({ conversationId, input });
      const approvals = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
      await orchestrator.resume(conversationId, { approvals, ...(context && { context }) });
      expect(write.inputs).toHaveLength(2);
    }
  });

  it.each<[string, object, RegExp]>([
    ["", {}, /"output":\{"ran":"write","n":2\}/],
    [", which then fails", { execute: () => Promise.reject(new Error("No funds.")) }, /No funds\./],
  ])("langchain 33787: a call that was edited is made again%s", async (_, change, outcome) => {
    const write = counted("write", { needsApproval: true, ...change });
    const store = memoryStore();
    const parts = () => ({ store, approvals: new ApprovalService({ store, tools: [write.tool] }) });
    const { orchestrator } = make(turns, [write.tool], parts());
    const { pendingApprovals } = await orchestrator.run({ conversationId, input });
    const approvals = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    const [first, second] = approvals;
    const one = [{ ...first!, editedInput: { n: 2 } }];
    expect((await orchestrator.resume(conversationId, { approvals: one })).status).toBe("awaiting_approval");
    // The other process has the outcome from the record.
    const other = make(turns, [write.tool], parts());
    const [edited, plain] = results(await other.orchestrator.resume(conversationId, { approvals: [second!] }));
    expect(edited).toMatch(
      /A person approved this write call with other arguments: \{\\?"n\\?":2\}\. Do not repeat it/,
    );
    expect(edited).toMatch(outcome);
    expect(plain).not.toContain("A person");
  });

  it("mastra 22413: a big state is not stored in time, and the run counts as not suspended", async () => {
    const big = "x".repeat(5 * 1024 * 1024);
    const write = counted("write", { needsApproval: true });
    const { orchestrator } = make(turns, [write.tool]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: big });
    const approvals = pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
    expect((await orchestrator.resume(conversationId, { approvals })).status).toBe("completed");
  });
});

describe("a sub-agent, as the docs have it", () => {
  /** A tool that is a run of its own: docs/run.md#sub-agents. */
  function setup(tool: Tool, store = memoryStore(), clerkStore = memoryStore()) {
    const approvals = new ApprovalService({ store });
    const leaseMs = 100;
    const clerk = make([{ calls: [{ name: tool.name }] }, { text: "I did." }], [tool], {
      store: clerkStore,
      approvals,
      leaseMs,
    }).orchestrator;
    const askClerk = defineTool({
      name: "ask_clerk",
      inputSchema: z.object({}),
      effect: "idempotent",
      execute: async (_: unknown, { idempotencyKey: id, signal, principal }) => {
        const context = { signal, principal };
        if ((await clerk.get(id)) === undefined) await clerk.run({ conversationId: id, input, ...context });
        const result = await clerk.waitAndResume(id, context);
        if (result.status !== "completed") throw result.error ?? new Error(`The clerk is ${result.status}.`);
        return result.content;
      },
    });
    const main = make([{ calls: [{ name: "ask_clerk" }] }, done], [askClerk], {
      store,
      approvals,
      leaseMs,
    }).orchestrator;
    return { main, clerk, approvals, stores: [store, clerkStore] };
  }

  it("xagent 773: nobody hears that it waits for an approval", async () => {
    const write = counted("write", { needsApproval: true });
    const { main, approvals } = setup(write.tool);
    const running = main.run({ conversationId, input });
    const request = await soon(async () => {
      const [first] = await approvals.list({ status: "pending" });
      return first ?? expect.fail("nobody is asked yet");
    });
    expect(write.inputs).toHaveLength(0);
    await approvals.decide(request.id, { decision: "approve" });
    expect(results(await running)).toEqual(["I did."]);
    expect(write.inputs).toHaveLength(1);
  });

  it("mastra 14820, cline 13677: it goes on when the outer run is aborted", async () => {
    const leave = new AbortController();
    let reason: unknown;
    const wait = counted("wait", {
      execute: (_: unknown, { signal }: { signal?: AbortSignal | undefined }) => {
        leave.abort();
        reason = signal?.reason;
        return new Promise(() => {});
      },
    });
    const { main, clerk } = setup(wait.tool);
    const end = await main.run({ conversationId, input, signal: leave.signal });
    expect(end).toMatchObject({ status: "error", error: { code: "aborted" } });
    expect(reason).toBe(leave.signal.reason);
    // Both stand as aborted.
    for (const agent of [main, clerk]) {
      await soon(async () => expect(await agent.list({ status: "error" })).toHaveLength(1));
    }
  });

  it("people are asked about a run that was stopped", async () => {
    const { main, clerk, approvals } = setup(counted("write", { needsApproval: true }).tool);
    const leave = new AbortController();
    const running = main.run({ conversationId, input, signal: leave.signal });
    await soon(async () => expect(await approvals.list({ status: "pending" })).toHaveLength(1));
    leave.abort();
    const { runId } = await running;
    const [left] = await soon(async () => {
      const runs = await clerk.list({ status: "awaiting_approval" });
      return runs.length === 1 ? runs : expect.fail("it is not over yet");
    });
    expect(left!.conversationId.startsWith(`${runId}/`)).toBe(true);
    await clerk.forget(left!.conversationId);
    expect(await approvals.list()).toEqual([]);
  });

  it("mastra PR 19363: a process that goes on with the runs of a dead one takes those of another agent for its own", async () => {
    const dies = Promise.withResolvers<void>();
    const first = setup(
      counted("look", { effect: "read", execute: () => (dies.resolve(), new Promise(() => {})) }).tool,
    );
    void first.main.run({ conversationId, input });
    await dies.promise;
    const [store, clerkStore] = await Promise.all(
      first.stores.map(async (own) => {
        const copy = memoryStore();
        for (const { key, value } of await own.list("")) await copy.put(key, value);
        return copy;
      }),
    );
    const look = counted("look", { effect: "read" });
    const { main } = setup(look.tool, store, clerkStore);
    const open = await soon(async () => {
      const runs = await main.list({ status: "running" });
      expect(runs.every(({ updatedAt }) => updatedAt + 100 < Date.now())).toBe(true);
      return runs;
    });
    const ended = await Promise.all(open.map((run) => main.waitAndResume(run.conversationId)));
    expect(ended.map(results)).toEqual([["I did."]]);
    expect(look.inputs).toHaveLength(1);
  });
});

it("haystack 10001, livekit-agents 4747: a run that has reached its limit has no answer", async () => {
  const model = scripted(({ toolChoice }) =>
    toolChoice === "none" ? { text: "So far." } : { calls: [{ name: "write" }] },
  );
  const { orchestrator } = make([], [counted("write").tool], { model, maxSteps: 2 });
  expect(await orchestrator.run({ conversationId, input })).toMatchObject({ error: { code: "max_steps" } });
  const end = await orchestrator.run({ conversationId, input: "Answer with what you have.", toolChoice: "none" });
  expect(end).toMatchObject({ status: "completed", content: "So far." });
});

describe("the history", () => {
  const turns: readonly ScriptedTurn[] = [
    { calls: [{ name: "write" }, { name: "ask" }] },
    { calls: [{ name: "write" }] },
    done,
  ];

  it("ai 03c3e33, a2750db: trimming drops a call and leaves its result, or the other way round", async () => {
    const write = counted("write");
    const requests: (readonly ChatCompletionMessageParam[])[] = [];
    for (const keep of [1, 2, 3, 4]) {
      const { orchestrator, model } = make(turns, [write.tool, external("ask")], {
        trim: (messages) => messages.slice(-keep),
      });
      const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
      await orchestrator.resume(conversationId, { toolResults: [{ toolCallId: pendingToolCalls[0]!.id, result: 1 }] });
      requests.push(...model.requests.map(({ messages }) => messages));
    }
    expect(requests.map(problemOf)).toEqual(requests.map(() => undefined));
  });

  it("deepagentsjs 150, 173, claude-code 3003: a dangling call makes every later request fail", async () => {
    const { orchestrator, model } = make([done], []);
    const call = { id: "call_1", type: "function" as const, function: { name: "write", arguments: "{}" } };
    const messages: ChatCompletionMessageParam[] = [
      { role: "user", content: "Go" },
      { role: "assistant", tool_calls: [call, { ...call, id: "call_2" }] },
      { role: "tool", tool_call_id: "call_2", content: "two" },
    ];
    await orchestrator.run({ conversationId, messages, input: "And?" });
    expect(short(model.requests[0]!.messages)).toEqual([
      "user",
      "call(write,write)",
      'result({"error":"The outcome of this call is unknown: no result of it was recorded."})',
      "result(two)",
      "user",
    ]);
  });

  it("OpenMinis 293, 352: a result without its call makes every later request fail", async () => {
    const { orchestrator, model } = make([done], []);
    const messages: ChatCompletionMessageParam[] = [
      { role: "tool", tool_call_id: "call_0", content: "of a call that was trimmed" },
      { role: "user", content: "Go" },
    ];
    await orchestrator.run({ conversationId, messages });
    expect(short(model.requests[0]!.messages)).toEqual(["user"]);
  });
});

describe("the state", () => {
  const turns: readonly ScriptedTurn[] = [{ calls: [{ name: "ask" }, { name: "write" }] }, done];

  it("openai-agents-js PR 993: rehydrated items are plain objects whose getters are gone", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator, store } = make(turns, [write.tool, external("ask")]);
    const live = await orchestrator.run({ conversationId, input });
    const { tree, ...restored } = (await make(turns, [write.tool, external("ask")], { store }).orchestrator.get(
      conversationId,
    ))!;
    const { tree: liveTree, ...rest } = live;
    expect(restored).toEqual(rest);
    expect(tree.toText()).toBe(liveTree.toText());
    expect(tree.toMermaid()).toBe(liveTree.toMermaid());
  });

  it("openai-agents-js 680, openai-agents-python 2501: two restored copies share what they know", async () => {
    const write = counted("write", { needsApproval: true });
    const { orchestrator, store } = make(turns, [write.tool, external("ask")]);
    const { pendingToolCalls, pendingApprovals } = await orchestrator.run({ conversationId, input });
    const copies = await Promise.all([copyOf(store), copyOf(store)]);
    const [first, second] = copies.map((copy) => make(turns, [write.tool, external("ask")], { store: copy }));
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, result: 1 }];
    const id = pendingApprovals[0]!.id;
    const one = await first!.orchestrator.resume(conversationId, {
      toolResults,
      approvals: [{ id, decision: "approve" }],
    });
    const two = await second!.orchestrator.resume(conversationId, {
      toolResults,
      approvals: [{ id, decision: "deny" }],
    });
    expect([one.status, two.status]).toEqual(["completed", "completed"]);
    expect(write.inputs).toHaveLength(1);
    expect(results(two)[1]).toContain("denied");
  });

  it("agent-framework 7458: the answer is consumed, the run fails, and the retry looks like a duplicate", async () => {
    const write = counted("write", { needsApproval: true });
    let isDown = true;
    const model = scripted(({ messages }) => {
      if (messages.length === 1) return turns[0]!;
      return isDown ? { fail: Object.assign(new Error("overloaded"), { status: 500 }), text: "" } : done;
    });
    const store = memoryStore();
    const approvals = new ApprovalService({ store });
    const orchestrator = new Orchestrator({
      model,
      tools: [write.tool, external("ask")],
      store,
      approvals,
      maxCutTurns: 1,
      retryDelayMs: 0,
    });
    const { pendingToolCalls, pendingApprovals } = await orchestrator.run({ conversationId, input });
    const failed = await orchestrator.resume(conversationId, {
      toolResults: [{ toolCallId: pendingToolCalls[0]!.id, result: 1 }],
      approvals: [{ id: pendingApprovals[0]!.id, decision: "approve" }],
    });
    expect(failed).toMatchObject({ status: "error", error: { code: "provider_error" } });
    isDown = false;
    const end = await orchestrator.resume(conversationId);
    expect(end).toMatchObject({ status: "completed", pendingApprovals: [] });
    expect(write.inputs).toHaveLength(1);
  });

  it('everruns PR 2097: "safe to retry" is told when the store could not be read', async () => {
    const store = memoryStore();
    const { orchestrator } = make(turns, [external("ask")], { store });
    await orchestrator.run({ conversationId, input });
    const down = async (): Promise<never> => {
      throw new ToolError("store_failed", "down");
    };
    const broken: Store = { ...store, get: down, list: down, put: down, subscribe: down };
    const cold = make(turns, [external("ask")], { store: broken }).orchestrator;
    await expect(cold.resume(conversationId)).rejects.toMatchObject({ code: "store_failed" });
    await expect(cold.get(conversationId)).rejects.toMatchObject({ code: "store_failed" });
    await expect(cold.run({ conversationId, input })).rejects.toMatchObject({ code: "store_failed" });
  });

  it("ai 10169: a hook breaks approvals, or leaves the stream open for ever", async () => {
    const write = counted("write");
    const hooks = [
      () => {
        throw new Error("hook");
      },
      () => Promise.reject(new Error("hook")),
      () => new Promise(() => {}),
    ];
    for (const onEvent of hooks) {
      const { orchestrator } = make([{ calls: [{ name: "write" }] }, done], [write.tool], { onEvent });
      const stream = orchestrator.stream({ conversationId, input });
      for await (const event of stream) expect(event.type).toBeTypeOf("string");
      expect((await stream.result).status).toBe("completed");
    }
    expect(write.inputs).toHaveLength(3);
  });
});

async function copyOf(store: Store): Promise<Store> {
  const copy = memoryStore();
  for (const { key, value } of await store.list("")) await copy.put(key, value);
  return copy;
}
