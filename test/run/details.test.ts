import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { ApprovalService, type MayDecide } from "../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import type { ConversationAdapter } from "../../src/model.ts";
import { loadRecording } from "../../src/replay/index.ts";
import { Checkpoint, readRun } from "../../src/run/checkpoint.ts";
import { Orchestrator, type OrchestratorOptions } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { replayModel } from "../../src/testing/index.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import { fixturesDir } from "../fixtures.ts";
import { misread } from "../misread.ts";
import { encoders } from "./encode.ts";
import { counted, external, scripted, short } from "./script.ts";

const conversationId = "c1";
const input = "Go";

it("events are told in the context of their run, in whichever the store tells of a change", async () => {
  const context = new AsyncLocalStorage<string>();
  const inner = memoryStore();
  const subscribe: Store["subscribe"] = (prefix, listener) =>
    inner.subscribe(prefix, (change) => context.run("the store's", () => listener(change)));
  const told = new Map<string, string | undefined>();
  const orchestrator = new Orchestrator({
    model: scripted({ calls: [{ name: "look" }] }, { text: "Done." }),
    tools: [counted("look").tool],
    store: { ...inner, subscribe },
    onEvent: ({ type }) => void told.set(type, context.getStore()),
  });
  await context.run("the run's", () => orchestrator.run({ conversationId, input }));
  expect(told.get("tool.completed")).toBe("the run's");
  expect(new Set(told.values())).toEqual(new Set(["the run's"]));
});

it("keys with escapes are what they were all the way, whatever was read before", async () => {
  const [said, asked, choice, result] = [misread(), misread(), { ...misread(), name: "ask" }, misread()];
  const tool = external("ask", { inputSchema: z.looseObject({}) });
  const model = scripted({ calls: [{ name: "ask", args: asked }] }, { text: "Done." });
  const orchestrator = new Orchestrator({ model, tools: [tool], store: memoryStore() });
  const messages = [{ role: "user" as const, content: "Go", said }];
  const paused = await orchestrator.run({ conversationId, messages, toolChoice: choice });
  expect(model.requests[0]).toMatchObject({ messages: [{ said }], toolChoice: choice });
  const [pending] = paused.pendingToolCalls;
  expect(pending?.arguments).toEqual(asked);
  const toolResults = [{ toolCallId: pending!.id, result }];
  const { messages: all } = await orchestrator.resume(conversationId, { toolResults });
  expect(all[0]).toMatchObject({ said });
  expect(short(all)[2]).toBe(`result(${JSON.stringify(result)})`);
});

// "The request body is not valid JSON: no low surrogate in string", in each request that follows:
// https://github.com/anthropics/claude-code/issues/69927
it("input that was shortened in the middle of a character is said with whole characters", async () => {
  const model = scripted({ text: "Hello." });
  const orchestrator = new Orchestrator({ model, store: memoryStore() });
  const cut = "Hi \u{1f600}".slice(0, 4);
  await orchestrator.run({ conversationId, messages: [{ role: "user", content: cut }], input: cut });
  const said = { role: "user", content: "Hi \ufffd" };
  expect(model.requests[0]!.messages).toEqual([said, said]);
});

it("instructions, and messages that trim or prepareStep shortened, have whole characters", async () => {
  const cut = "Hi \u{1f600}".slice(0, 4);
  const shortened = <Message>(messages: readonly Message[]) =>
    messages.map((message) => ({ ...message, content: cut }));
  const hooks: readonly Pick<OrchestratorOptions, "trim" | "prepareStep">[] = [
    { trim: shortened },
    { prepareStep: ({ messages }) => ({ messages: shortened(messages) }) },
    { prepareStep: ({ messages }) => ({ messages: shortened(messages), instructions: cut }) },
  ];
  for (const hook of hooks) {
    const model = scripted({ text: "Hello." });
    await new Orchestrator({ model, store: memoryStore(), ...hook }).run({ input, instructions: cut });
    expect(model.requests[0]).toMatchObject({
      messages: [{ role: "user", content: "Hi \ufffd" }],
      instructions: "Hi \ufffd",
    });
  }
});

describe("what a model is asked", () => {
  it("are the tools of the mode, the instructions that were given last, and the choice for the first turn only", async () => {
    const edit = counted("edit", { behaviors: ["edit"] });
    const read = counted("read", { effect: "read" });
    const model = scripted({ calls: [{ name: "read" }] }, { text: "Read." }, { text: "Edited." });
    const orchestrator = new Orchestrator({ model, tools: [edit.tool, read.tool], store: memoryStore() });
    await orchestrator.run({ conversationId, input, instructions: "Be brief.", toolChoice: "required" });
    await orchestrator.run({ conversationId, input: "Now edit", behavior: "edit" });
    const asked = model.requests.map(({ tools, instructions, toolChoice }) => ({
      tools: new ToolRegistry(tools).tools().map(({ name }) => name),
      instructions,
      toolChoice,
    }));
    expect(asked).toEqual([
      { tools: ["read"], instructions: "Be brief.", toolChoice: "required" },
      { tools: ["read"], instructions: "Be brief.", toolChoice: undefined },
      { tools: ["edit", "read"], instructions: "Be brief.", toolChoice: undefined },
    ]);
    expect(short(model.requests[2]!.messages)).toEqual([
      "user",
      "call(read)",
      'result({"ran":"read","n":null})',
      "say(Read.)",
      "user",
    ]);
  });

  it("is the rest of a turn that the provider has paused", async () => {
    const model = replayModel(anthropic, [
      await loadRecording(join(fixturesDir, "anthropic/pause-turn")),
      await loadRecording(join(fixturesDir, "anthropic/text-only")),
    ]);
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const result = await orchestrator.run({ conversationId, input });
    expect(result.status).toBe("completed");
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]!.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });
});

describe("a refusal", () => {
  it.each([
    ["openai-chat", openaiChat],
    ["openai-responses", openaiResponses],
  ] as const)("is what the model said last, on %s", async (wire, adapter) => {
    const recording = await loadRecording(join(fixturesDir, wire, "refusal"));
    const model = replayModel(adapter as ConversationAdapter, [recording]);
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const result = await orchestrator.run({ conversationId, input });
    expect(result).toMatchObject({ status: "completed", metadata: { finishReason: "refusal" } });
    expect(result.content).toMatch(/^I'm sorry, /);
    const shown = await orchestrator.transcript(conversationId);
    expect(shown?.at(-1)).toMatchObject({ role: "assistant", text: result.content });
    expect(result.tree.toText()).toContain("I'm sorry, ");
  });

  it("is kept as far as it was seen, if its turn is lost", async () => {
    async function* refused() {
      yield { choices: [{ index: 0, delta: { refusal: "I'm sorry, I" } }] };
      throw new Error("the line is dead");
    }
    const model = replayModel(openaiChat, [refused]);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), maxCutTurns: 0 });
    const { content, messages } = await orchestrator.run({ conversationId, input });
    expect([content, ...short(messages)]).toEqual(["I'm sorry, I", "user", "say(I'm sorry, I)"]);
  });
});

describe("what a handler is given", () => {
  it("is what was shown, also where another process mends less", async () => {
    const store = memoryStore();
    const make = (repair: "coerce" | "off") => {
      const write = counted("write", { needsApproval: true, repair });
      const model = scripted({ calls: [{ name: "write", args: { n: "5" } }] }, { text: "Done." });
      const approvals = new ApprovalService({ store });
      return { write, orchestrator: new Orchestrator({ model, tools: [write.tool], store, approvals }) };
    };
    const paused = await make("coerce").orchestrator.run({ conversationId, input: "Go" });
    expect(paused.pendingApprovals[0]!.input).toEqual({ n: 5 });
    const cold = make("off");
    await cold.orchestrator.resume(conversationId, {
      approvals: [{ id: paused.pendingApprovals[0]!.id, decision: "approve" }],
    });
    expect(cold.write.inputs).toEqual([{ n: 5 }]);
  });

  it.each([
    "",
    " \n",
    "null",
    "{}",
    '{"n":5,"deep":{"list":[1,2.5,"\\ud83d\\ude00"]}}',
    "{'n': 5,}",
    '{"n":5}{"n":5}',
    '{"n":"5"}',
    JSON.stringify('{"n":5}'),
  ])("is the same in every process, whatever the model wrote: %j", async (args) => {
    const store = memoryStore();
    const make = () => {
      const inputSchema = z.looseObject({ n: z.number().optional() });
      const write = counted("write", { needsApproval: true, repair: "coerce", inputSchema });
      const model = scripted(({ messages }) =>
        messages.length > 1 ? { text: "Done." } : { calls: [{ name: "write", args }] },
      );
      const approvals = new ApprovalService({ store });
      return { write, orchestrator: new Orchestrator({ model, tools: [write.tool], store, approvals }) };
    };
    const inputs = [];
    for (const isSame of [true, false]) {
      const id = `c-${isSame}`;
      const first = make();
      const { pendingApprovals } = await first.orchestrator.run({ conversationId: id, input });
      const { write, orchestrator } = isSame ? first : make();
      const approvals = [{ id: pendingApprovals[0]!.id, decision: "approve" as const }];
      expect(await orchestrator.resume(id, { approvals })).toMatchObject({ status: "completed" });
      expect(write.inputs).toEqual([pendingApprovals[0]!.input]);
      inputs.push(write.inputs);
    }
    expect(inputs[1]).toEqual(inputs[0]);
  });

  it("is what its schema makes of it once, though the text was mended before", async () => {
    const store = memoryStore();
    const make = (repair: "coerce" | "off") => {
      const inputSchema = z.object({ n: z.number().transform((n) => `no. ${n}`) });
      const write = counted("write", { needsApproval: true, repair, inputSchema });
      const model = scripted({ calls: [{ name: "write", args: { n: "5" } }] }, { text: "Done." });
      const approvals = new ApprovalService({ store });
      return { write, orchestrator: new Orchestrator({ model, tools: [write.tool], store, approvals }) };
    };
    const { pendingApprovals } = await make("coerce").orchestrator.run({ conversationId, input: "Go" });
    const cold = make("off");
    const approvals = [{ id: pendingApprovals[0]!.id, decision: "approve" as const }];
    expect(await cold.orchestrator.resume(conversationId, { approvals })).toMatchObject({ status: "completed" });
    expect(cold.write.inputs).toEqual([{ n: "no. 5" }]);
  });

  it("is what the person saw, though the executor has the tool made anew, in each process", async () => {
    const store = memoryStore();
    const make = (...turns: Parameters<typeof scripted>) => {
      const inputSchema = () => z.object({ n: z.number().transform((n) => n * 100) });
      const [read, run] = [0, 1].map(() =>
        counted("write", { needsApproval: true, repair: "coerce", inputSchema: inputSchema() }),
      );
      const executor = new ToolExecutor({ tools: [run!.tool], store, approvals: new ApprovalService({ store }) });
      const parts = { model: scripted(...turns), tools: [read!.tool], store, executor };
      return { inputs: run!.inputs, orchestrator: new Orchestrator(parts) };
    };
    const first = make({ calls: [{ name: "write", args: { n: "5" } }] });
    const second = make({ text: "Done." });
    const { pendingApprovals } = await first.orchestrator.run({ conversationId, input });
    expect(pendingApprovals).toMatchObject([{ input: { n: 500 } }]);
    const approvals = [{ id: pendingApprovals[0]!.id, decision: "approve" as const }];
    expect(await second.orchestrator.resume(conversationId, { approvals })).toMatchObject({ status: "completed" });
    expect([first.inputs, second.inputs]).toEqual([[], [{ n: 500 }]]);
  });

  it("is asked about again where its tool reads something else now, and does not take what was shown", async () => {
    const store = memoryStore();
    const make = (inputSchema: z.ZodType) => {
      const write = counted("write", { needsApproval: true, inputSchema });
      const model = scripted({ calls: [{ name: "write", args: { n: "5" } }] }, { text: "Done." });
      const approvals = new ApprovalService({ store });
      return { write, orchestrator: new Orchestrator({ model, tools: [write.tool], store, approvals }) };
    };
    const before = make(z.object({ n: z.string().transform(Number) }));
    const { pendingApprovals } = await before.orchestrator.run({ conversationId, input: "Go" });
    expect(pendingApprovals).toMatchObject([{ input: { n: 5 } }]);
    const cold = make(z.object({ n: z.string() }));
    const approvals = [{ id: pendingApprovals[0]!.id, decision: "approve" as const }];
    const again = await cold.orchestrator.resume(conversationId, { approvals });
    expect(again.pendingApprovals).toMatchObject([{ input: { n: "5" }, replaces: pendingApprovals[0]!.id }]);
    expect(cold.write.inputs).toEqual([]);
  });
});

describe("what a handler is told", () => {
  it("has what the request for approval carries, and the handler does not get that", async () => {
    const store = memoryStore();
    let told: object = {};
    const { tool } = counted("pay", {
      needsApproval: true,
      execute: (_: unknown, context: object) => void (told = context),
    });
    const mayDecide: MayDecide = ({ tenant }, { metadata }) => tenant === metadata["tenant"];
    const approvals = new ApprovalService({ store, mayDecide });
    const model = scripted({ calls: [{ name: "pay" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [tool], store, approvals });
    const context = { approval: { metadata: { tenant: "acme" }, scope: "acme", ttlMs: 1_000 }, trace: "t1" };
    const { pendingApprovals } = await orchestrator.run({ conversationId, input, principal: { id: "bob" }, context });
    const { id, scope, metadata, createdAt, expiresAt } = pendingApprovals[0]!;
    expect([scope, metadata, expiresAt! - createdAt]).toEqual(["acme", { tenant: "acme" }, 1_000]);
    const decide = (tenant: string) => [{ id, decision: "approve" as const, principal: { id: "ada", tenant } }];
    const foreign = orchestrator.resume(conversationId, { approvals: decide("other"), context });
    await expect(foreign).rejects.toMatchObject({ code: "approval_not_found" });
    const end = await orchestrator.resume(conversationId, { approvals: decide("acme"), context });
    expect(end.status).toBe("completed");
    expect(told).toMatchObject({ trace: "t1" });
    expect(told).not.toHaveProperty("approval");
  });

  it("is who, where, and what the application adds", async () => {
    let told: Record<string, unknown> | undefined;
    const who = defineTool({
      name: "who",
      inputSchema: z.object({}),
      execute: (_, context) => {
        told = context;
        return null;
      },
    });
    const orchestrator = new Orchestrator({
      model: scripted({ calls: [{ name: "who" }] }, { text: "Done." }),
      tools: [who],
      store: memoryStore(),
    });
    const { runId } = await orchestrator.run({
      conversationId,
      input,
      principal: { id: "ada" },
      requestId: "req_1",
      context: { tenant: "acme" },
    });
    expect(told).toMatchObject({ runId, conversationId, principal: { id: "ada" }, requestId: "req_1", tenant: "acme" });
  });
});

describe("the provider's id of the request", () => {
  it("is that of the last one, though it was refused", async () => {
    const turn = encoders["anthropic"]!({ calls: [{ id: "toolu_1", name: "write", args: {} }] });
    const answers = [
      new Response(new TextDecoder().decode(turn), {
        headers: { "content-type": "text/event-stream", "request-id": "req_1" },
      }),
      Response.json({ type: "error" }, { status: 400, headers: { "request-id": "req_2" } }),
      Response.json({ type: "error" }, { status: 400 }),
    ];
    const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: async () => answers.shift()! });
    const model = anthropic.model(client, { model: "m", max_tokens: 9 });
    const orchestrator = new Orchestrator({ model, tools: [counted("write").tool], store: memoryStore() });
    const refused = await orchestrator.run({ conversationId, input });
    expect(refused).toMatchObject({ status: "error", metadata: { providerRequestId: "req_2" } });
    expect((await orchestrator.get(conversationId))!.metadata.providerRequestId).toBe("req_2");
    expect((await orchestrator.resume(conversationId)).metadata.providerRequestId).toBeUndefined();
  });
});

describe("a conversation that is at work", () => {
  it("is busy for everybody else", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = counted("slow", { execute: () => promise });
    const model = scripted({ calls: [{ name: "slow" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [slow.tool], store: memoryStore() });
    const stream = orchestrator.stream({ conversationId, input });
    for await (const event of stream) {
      if (event.type !== "tool.started") continue;
      await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "run_busy" });
      for (const whenOpen of ["refuse", "cancel"] as const) {
        await expect(orchestrator.run({ conversationId, input, whenOpen })).rejects.toMatchObject({ code: "run_busy" });
      }
      expect(await orchestrator.list({ status: "running" })).toMatchObject([{ conversationId }]);
      expect((await orchestrator.get(conversationId))!.error).toMatchObject({ code: "run_busy" });
      resolve();
    }
    expect((await stream.result).status).toBe("completed");
  });

  it("shows meanwhile which results can be handed in, and takes them", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = counted("slow", { execute: () => promise });
    const model = scripted({ calls: [{ name: "slow" }, { name: "ask" }] }, { text: "Done." });
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model, tools: [slow.tool, external("ask")], store });
    const stream = orchestrator.stream({ conversationId, input });
    for await (const event of stream) {
      if (event.type !== "tool.started") continue;
      const { status, pendingToolCalls } = (await orchestrator.get(conversationId))!;
      expect([status, ...pendingToolCalls.map(({ name }) => name)]).toEqual(["awaiting_tool_results", "ask"]);
      await orchestrator.provideToolResult(conversationId, { toolCallId: pendingToolCalls[0]!.id, result: 1 });
      resolve();
    }
    expect(await stream.result).toMatchObject({ status: "completed", content: "Done." });
  });

  it("is so from the first moment on, when it is begun and when it is taken", async () => {
    const store = memoryStore();
    const begun = await Checkpoint.create(store, 60_000, { conversationId, runId: "run_1", wire: "openai-chat" });
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store });
    await expect(orchestrator.run({ conversationId, input })).rejects.toMatchObject({
      code: "run_busy",
      message: expect.stringContaining("now, or died less than leaseMs ago. Nothing was changed."),
    });
    await begun.append({ kind: "input", runId: "run_1", at: Date.now(), messages: [] });
    await begun.release({ status: "error", error: { code: "aborted", message: "" } });
    const taken = await Checkpoint.take(store, 60_000, (await readRun(store, conversationId))!);
    await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "run_busy" });
    await taken.release({ status: "error", error: { code: "aborted", message: "" } });
    expect((await orchestrator.resume(conversationId)).status).toBe("completed");
  });

  it("is told apart from one whose process has died", async () => {
    const store = memoryStore();
    const died = await Checkpoint.create(store, 1, { conversationId, runId: "run_1", wire: "openai-chat" });
    await died.append({ kind: "input", runId: "run_1", at: Date.now(), messages: [] });
    died.abandon();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store });
    const { error } = (await orchestrator.get(conversationId))!;
    expect(error).toMatchObject({ code: "lease_lost", message: expect.stringMatching(/has died. resume\(\) goes on/) });
    expect((await orchestrator.resume(conversationId)).status).toBe("completed");
  });

  it("begins once, of two that begin it", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store: memoryStore() });
    const ends = await Promise.allSettled([
      orchestrator.run({ conversationId, input }),
      orchestrator.run({ conversationId, input }),
    ]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(ends.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "run_busy" } });
  });

  it("ends when it is aborted, and goes on where it was", async () => {
    const abort = new AbortController();
    const write = counted("write", {
      execute: async (_, { signal }) => {
        abort.abort();
        await new Promise((_done, fail) => signal!.addEventListener("abort", () => fail(signal!.reason as Error)));
      },
    });
    const model = scripted({ calls: [{ name: "write" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [write.tool], store: memoryStore() });
    const result = await orchestrator.run({ conversationId, input, signal: abort.signal });
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" } });
    expect(model.requests).toHaveLength(1);
    const end = await orchestrator.resume(conversationId);
    expect(end.status).toBe("completed");
    expect(short(end.messages)[2]).toContain("aborted");
  });

  it("is over its time when it has used it", async () => {
    const slow = counted("slow", { execute: () => new Promise((resolve) => setTimeout(resolve, 30)) });
    const model = scripted({ calls: [{ name: "slow" }] });
    const orchestrator = new Orchestrator({
      model,
      tools: [slow.tool],
      store: memoryStore(),
      budgets: { maxActiveMs: 50 },
    });
    const result = await orchestrator.run({ conversationId, input });
    expect(result).toMatchObject({ status: "error", error: { code: "budget_exceeded" } });
    expect(result.metadata.activeMs).toBeGreaterThanOrEqual(50);
    const logged = JSON.parse(JSON.stringify(result)) as object;
    expect(logged).toMatchObject({ error: { code: "budget_exceeded", message: result.error!.message } });
  });
});

describe("input with an id of its own", () => {
  const inputId = "delivery-1";

  it("is said once, however often it is delivered", async () => {
    const model = scripted({ text: "Hi." }, { text: "Bye." });
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const first = await orchestrator.run({ conversationId, inputId, input });
    expect(await orchestrator.run({ conversationId, inputId, input })).toEqual(first);
    const stream = orchestrator.stream({ conversationId, inputId, input });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(["run.ended"]);
    expect(await stream.result).toEqual(first);
    // Another one with the same words is another one.
    const second = await orchestrator.run({ conversationId, inputId: "delivery-2", input });
    expect(short(second.messages)).toEqual(["user", "say(Hi.)", "user", "say(Bye.)"]);
    expect(await orchestrator.run({ conversationId, inputId, input })).toEqual(second);
    expect(model.requests).toHaveLength(2);
  });

  it("is said once where two processes have it at the same moment", async () => {
    const store = memoryStore();
    const model = scripted({ text: "Hi.", pauseMs: 5 });
    const options = { conversationId, inputId, input, whenBusy: "wait" } as const;
    const results = await Promise.all([1, 2, 3].map(() => new Orchestrator({ model, store }).run(options)));
    expect(model.requests).toHaveLength(1);
    for (const { messages } of results) expect(short(messages)).toEqual(["user", "say(Hi.)"]);
  });

  it("gives up no calls, and takes nothing back, when it is delivered again", async () => {
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    const options = { conversationId, inputId, input, whenOpen: "cancel" } as const;
    const { status, pendingToolCalls } = await orchestrator.run(options);
    expect(status).toBe("awaiting_tool_results");
    expect(await orchestrator.run({ ...options, rewindTo: 0 })).toMatchObject({ status, pendingToolCalls });
    // What was taken back was said all the same.
    const retried = await orchestrator.run({ ...options, inputId: "retry", rewindTo: 0 });
    expect(await orchestrator.run(options)).toEqual(retried);
    expect(model.requests).toHaveLength(2);
  });

  it("is said again if it was not stored, and goes on with resume() if its process has died", async () => {
    const store = memoryStore();
    const model = scripted({ text: "Hi." });
    const orchestrator = new Orchestrator({ model, store });
    const begin = () => Checkpoint.create(store, 1, { conversationId, runId: "run_1", wire: "openai-chat" });
    (await begin()).abandon();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await orchestrator.run({ conversationId, inputId, input })).content).toBe("Hi.");
    await orchestrator.forget(conversationId);

    const died = await begin();
    await died.append({ kind: "input", runId: "run_1", inputId, at: Date.now(), messages: [] });
    died.abandon();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const again = await orchestrator.run({ conversationId, inputId, input });
    expect(again).toMatchObject({ status: "error", error: { code: "lease_lost" } });
    expect((await orchestrator.resume(conversationId)).status).toBe("completed");
  });

  it("is of a conversation", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store: memoryStore() });
    await expect(orchestrator.run({ inputId, input })).rejects.toThrow(/inputId needs a conversationId/);
    await expect(orchestrator.run({ conversationId, inputId: 7 as never, input })).rejects.toThrow(/inputId is a text/);
    await expect(orchestrator.run({ conversationId, inputId: "", input })).rejects.toThrow(/inputId is empty/);
  });
});

describe("images in results", () => {
  const data = "iVBORw0K";

  async function handedIn(adapter: ConversationAdapter<any>, end: object = { result: { width: 2 } }, given = data) {
    const images = [{ mediaType: "image/png", data: given }];
    const encode = encoders[adapter.name]!;
    const calls = [{ id: "call_1", name: "look", args: {} }];
    const model = replayModel(adapter, [encode({ calls }), encode({ text: "I see." })]);
    const orchestrator = new Orchestrator({ model, tools: [external("look")], store: memoryStore() });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, ...end, images }];
    await orchestrator.resume(conversationId, { toolResults });
    return model.requests[1]!.messages.at(-1);
  }

  it("are what the provider takes", async () => {
    expect(await handedIn(anthropic)).toEqual({
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "call_1",
          content: [
            { type: "text", text: '{"width":2}' },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0K" } },
          ],
        },
      ],
    });
    expect(await handedIn(openaiResponses)).toEqual({
      type: "function_call_output",
      call_id: "call_1",
      output: [
        { type: "input_text", text: '{"width":2}' },
        { type: "input_image", image_url: "data:image/png;base64,iVBORw0K", detail: "auto" },
      ],
    });
  });

  it("are refused where it takes none, and beside an error, which holds none", async () => {
    await expect(handedIn(cohere)).rejects.toMatchObject({ code: "invalid_result" });
    await expect(handedIn(anthropic, { error: "no" })).rejects.toMatchObject({ code: "invalid_result" });
  });

  it.each(["data:image/png;base64,iVBORw0K", "https://example.com/a.png", ""])(
    "are Base64, and not %j",
    async (given) => {
      await expect(handedIn(anthropic, undefined, given)).rejects.toThrow(/in Base64 without "data:"/);
    },
  );

  it.each(["iVBORw0K\niVBORw0K\n", "-_8="])("may be %j", async (given) => {
    expect(JSON.stringify(await handedIn(anthropic, undefined, given))).toContain(JSON.stringify(given));
  });
});

describe("the tree", () => {
  it("shows turns and calls with how they came out", async () => {
    const write = counted("write");
    const fail = counted("fail", { execute: () => Promise.reject(new Error('no "seats"')) });
    const calls = [{ name: "write" }, { name: "fail" }, { name: "nobody" }, { name: "ask" }];
    const model = scripted({ text: "I try.", calls }, { text: "Done." });
    const tools = [write.tool, fail.tool, external("ask")];
    const orchestrator = new Orchestrator({ model, tools, store: memoryStore() });
    const paused = await orchestrator.run({ conversationId, input });
    const outline = (text: string) => text.replace(/run_\w{32}/g, "RUN").replace(/ +[\d.]+ m?s\b/g, "");
    expect(outline(paused.tree.toText()).split("\n")).toEqual([
      "… run RUN  awaiting_tool_results",
      "└─ ✓ turn 1  tool-use  I try.",
      "   ├─ ✓ write  completed",
      '   ├─ ✗ fail  failed  Tool fail failed: no "seats"',
      expect.stringMatching(/^ {3}├─ ✗ nobody {2}invalid /),
      "   └─ … ask (external)  open",
    ]);
    const toolResults = [{ toolCallId: paused.pendingToolCalls[0]!.id, result: 1 }];
    const { tree, runId } = await orchestrator.resume(conversationId, { toolResults });
    expect(outline(tree.toText()).split("\n").slice(1)).toEqual([
      "├─ ✓ turn 1  tool-use  I try.",
      "│  ├─ ✓ write  completed",
      '│  ├─ ✗ fail  failed  Tool fail failed: no "seats"',
      expect.stringMatching(/^│ {2}├─ ✗ nobody {2}invalid .*no tool/i),
      "│  └─ ✓ ask (external)  completed",
      "└─ ✓ turn 2  stop  Done.",
    ]);
    expect(tree.toMermaid()).toMatch(/^flowchart TD\n {2}n0\["run<br\/>completed/);
    const [run] = tree.runs;
    expect(run).toMatchObject({ id: runId, parentId: null, kind: "run", status: "completed" });
    expect(run!.children.map(({ parentId }) => parentId)).toEqual([runId, runId]);
    expect(run!.children[0]!.children[0]!.parentId).toBe(run!.children[0]!.id);
  });

  it("shortens what was said, and cuts no character in two", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "😀".repeat(60) }), store: memoryStore() });
    const { tree } = await orchestrator.run({ conversationId, input });
    expect(tree.runs[0]!.children[0]!.detail).toBe(`${"😀".repeat(49)}…`);
  });

  it("of hostile names stays a tree", async () => {
    const model = scripted(
      { calls: [{ name: '"]; click n0 "javascript:alert(1)"' }] },
      { text: "\u001b[31mred\n└─ ✓ fake" },
    );
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const { tree } = await orchestrator.run({ conversationId, input });
    expect(tree.toText()).not.toContain("\u001b");
    expect(tree.toText().split("\n")).toHaveLength(4);
    expect(
      tree
        .toMermaid()
        .split("\n")
        .filter((line) => !/^(flowchart TD| {2}n\d+(\[".*"\]| --> n\d+))$/.test(line)),
    ).toEqual([]);
    expect(tree.toMermaid()).not.toContain('"]; click');
  });
});

describe("a tool that requires another one", () => {
  it("does not run in the turn in which that succeeds: the model wrote the call before it saw the result", async () => {
    const [look, edit] = [counted("look", { effect: "read" }), counted("edit", { requires: "look" })];
    const both = { calls: [{ name: "look" }, { name: "edit" }], pauseMs: 20 };
    const model = scripted(both, { calls: [{ name: "edit" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [look.tool, edit.tool], store: memoryStore() });
    const { messages } = await orchestrator.run({ conversationId, input });
    expect(short(messages)).toEqual([
      "user",
      "call(look,edit)",
      'result({"ran":"look","n":null})',
      expect.stringContaining("edit needs look to succeed first, in an earlier turn"),
      "call(edit)",
      'result({"ran":"edit","n":null})',
      "say(Done.)",
    ]);
    expect(edit.inputs).toHaveLength(1);
  });
});
