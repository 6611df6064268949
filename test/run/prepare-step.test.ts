import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { Orchestrator, type OrchestratorOptions, type Step } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { replayModel } from "../../src/testing/index.ts";
import { pause } from "../../src/time.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { toolList } from "../../src/tool/tool-set.ts";
import { counted, external, scripted, short } from "./script.ts";

const conversationId = "c1";
const input = "Go";

type Options = Partial<OrchestratorOptions<ChatCompletionMessageParam>>;

function setup(model: ReturnType<typeof scripted>, names: readonly string[], options: Options = {}) {
  const tools = names.map((name) => counted(name));
  const store = memoryStore();
  const make = (more: Options = {}) =>
    new Orchestrator({ model, tools: tools.map(({ tool }) => tool), store, retryDelayMs: 0, ...options, ...more });
  return { tools, make, orchestrator: make() };
}

const callOf = (name: string) => ({ calls: [{ name }] });
const asked = ({ requests }: ReturnType<typeof scripted>) =>
  requests.map(({ tools, instructions, toolChoice, messages }) => ({
    tools: [...toolList(tools ?? [])].map(({ name }) => name),
    instructions,
    toolChoice,
    messages: short(messages),
  }));

describe("prepareStep", () => {
  it("decides what a turn is asked for with, and nothing of it lasts", async () => {
    const small = scripted(callOf("search"), { text: "Done." });
    const large = scripted(callOf("read"));
    const { orchestrator } = setup(small, ["search", "read"], {
      async prepareStep({ step, tools, messages }) {
        if (step === 0) return { tools: tools.filter(({ name }) => name === "search"), toolChoice: "required" };
        if (step === 1) return { model: large, instructions: "Read it.", toolChoice: { name: "read" } };
        return { messages: messages.slice(0, 1) };
      },
    });
    const result = await orchestrator.run({ conversationId, input, instructions: "Be brief." });
    expect(result).toMatchObject({ status: "completed", content: "Done." });
    expect(asked(small)).toEqual([
      { tools: ["search"], instructions: "Be brief.", toolChoice: "required", messages: ["user"] },
      { tools: ["search", "read"], instructions: "Be brief.", toolChoice: undefined, messages: ["user"] },
    ]);
    expect(asked(large)).toEqual([
      {
        tools: ["search", "read"],
        instructions: "Read it.",
        toolChoice: { name: "read" },
        messages: ["user", "call(search)", 'result({"ran":"search","n":null})'],
      },
    ]);
    expect(short(result.messages)).toHaveLength(6);
  });

  it("changes nothing by what it returns as undefined", async () => {
    const nothing = { model: undefined, messages: undefined, tools: undefined };
    const model = scripted(callOf("read"), { text: "Done." });
    const { orchestrator } = setup(model, ["read"], {
      prepareStep: () => ({ ...nothing, instructions: undefined, toolChoice: undefined, stop: undefined }),
    });
    const given = { instructions: "Be brief.", toolChoice: "required" } as const;
    expect(await orchestrator.run({ conversationId, input, ...given })).toMatchObject({ status: "completed" });
    const base = { instructions: "Be brief.", tools: ["read"] };
    expect(asked(model)).toMatchObject([
      { ...base, toolChoice: "required" },
      { ...base, toolChoice: undefined },
    ]);
  });

  it.each(["prepareStep", "trim"])("changes a message in place for its turn alone, as %s", async (hook) => {
    const model = scripted(callOf("read"), callOf("read"), { text: "Done." });
    const { orchestrator } = setup(model, ["read"], {
      [hook](given: readonly object[] & { messages?: readonly object[] }) {
        const messages = given.messages ?? given;
        Object.assign(messages.at(-1)!, { cache_control: { type: "ephemeral" } });
        return hook === "trim" ? messages : undefined;
      },
    });
    const { messages } = await orchestrator.run({ conversationId, input });
    const marks = (list: readonly object[]) => list.map((message) => Number("cache_control" in message)).join("");
    expect(model.requests.map((request) => marks(request.messages))).toEqual(["1", "001", "00001"]);
    expect(marks(messages)).toBe("000000");
    expect((await orchestrator.get(conversationId))!.messages).toEqual(messages);
  });

  it("is told where the run stands, in whichever process it goes on", async () => {
    const seen: unknown[] = [];
    const prepareStep = async ({ transcript, messages, signal, ...step }: Step) => {
      const calls = (await transcript()).flatMap((entry) => (entry.role === "assistant" ? entry.calls : []));
      const outputs = calls.map(({ name, output }) => [name, output]);
      seen.push({ ...step, tools: step.tools.map(({ name }) => name), outputs, messages: short(messages) });
      expect(signal).toBeInstanceOf(AbortSignal);
      return undefined;
    };
    const model = scripted(callOf("read"), callOf("ask"), { text: "Done." }, { text: "Again." });
    const ask = external("ask");
    const { make, tools } = setup(model, ["read"], { prepareStep });
    const both = [tools[0]!.tool, ask, counted("edit", { behaviors: ["edit"] }).tool];
    const trim = <Message>(messages: readonly Message[]) => messages.slice(-3);
    const given = { principal: { id: "ada" }, requestId: "req_1", context: { tenant: "acme" } };
    const paused = await make({ tools: both, trim }).run({ ...given, conversationId, input, behavior: "view" });
    const toolResults = [{ toolCallId: paused.pendingToolCalls[0]!.id, result: "blue" }];
    await make({ tools: both, trim }).resume(conversationId, { ...given, toolResults });
    await make({ tools: both, trim }).run({ ...given, conversationId, input });
    const base = { ...given, conversationId, behavior: "view", tools: ["read", "ask"], instructions: undefined };
    const read = ["read", { ran: "read", n: null }];
    const found = 'result({"ran":"read","n":null})';
    expect(seen).toEqual([
      { ...base, step: 0, toolChoice: undefined, outputs: [], messages: ["user"] },
      { ...base, step: 1, toolChoice: undefined, outputs: [read], messages: ["user", "call(read)", found] },
      {
        ...base,
        step: 2,
        toolChoice: undefined,
        outputs: [read, ["ask", "blue"]],
        messages: [found, "call(ask)", "result(blue)"],
      },
      {
        ...base,
        step: 0,
        toolChoice: undefined,
        outputs: [read, ["ask", "blue"]],
        messages: ["result(blue)", "say(Done.)", "user"],
      },
    ]);
  });

  it.each<[string, (signal: AbortSignal) => void | Promise<never>]>([
    ["throws as the signal fires", (signal) => signal.throwIfAborted()],
    ["ends a while later", (signal) => pause(5).then(() => Promise.reject(signal.reason))],
    ["never answers", () => new Promise(() => {})],
  ])("ends with the run's signal if it %s, as trim does, and the run goes on later", async (_, end) => {
    const model = scripted({ text: "Done." });
    const { make } = setup(model, []);
    for (const hook of ["prepareStep", "trim"]) {
      const stop = new AbortController();
      const stopped = make({
        async [hook]() {
          stop.abort();
          await end(stop.signal);
        },
      });
      const options = { input, signal: stop.signal, conversationId: hook };
      const result = await stopped.run(options);
      expect(result).toMatchObject({ status: "error", error: { code: "aborted" } });
      expect(model.requests).toEqual([]);
    }
    expect(await make().resume("trim")).toMatchObject({ status: "completed", content: "Done." });
  });

  it("is asked again for a turn that is asked for again", async () => {
    const steps: number[] = [];
    const model = scripted(callOf("read"), { text: "Do", fail: new Error("the line is dead") }, { text: "Done." });
    const { orchestrator } = setup(model, ["read"], { prepareStep: ({ step }) => void steps.push(step) });
    expect(await orchestrator.run({ conversationId, input })).toMatchObject({ status: "completed", content: "Done." });
    expect(steps).toEqual([0, 1, 1]);
  });

  it("leaves a call of a tool that it does not offer unexecuted", async () => {
    const model = scripted(callOf("delete"), { text: "Sorry." });
    const { tools, orchestrator } = setup(model, ["read", "delete"], {
      prepareStep: ({ tools: all }) => ({ tools: all.filter(({ name }) => name === "read") }),
    });
    const result = await orchestrator.run({ conversationId, input });
    expect(result.status).toBe("completed");
    expect(tools[1]!.inputs).toEqual([]);
    expect(short(result.messages)[2]).toMatch(/no tool .*delete|unknown|not.*delete/i);
  });

  it("pairs calls and results again in the messages that it returns", async () => {
    const model = scripted(callOf("read"), { text: "Done." });
    const { orchestrator } = setup(model, ["read"], {
      prepareStep: ({ messages }) => ({ messages: messages.slice(-1) }),
    });
    await orchestrator.run({ conversationId, input });
    // A result without its call is refused by providers.
    expect(asked(model)[1]!.messages).toEqual([]);
  });

  it("ends a run, whose conversation goes on", async () => {
    const model = scripted(callOf("search"), callOf("answer"), { text: "More." });
    const { tools, orchestrator } = setup(model, ["search", "answer"], {
      async prepareStep({ step, transcript }) {
        const last = (await transcript()).at(-1);
        return { stop: step > 0 && last?.role === "assistant" && last.calls.some(({ name }) => name === "answer") };
      },
    });
    const events: string[] = [];
    const stream = orchestrator.stream({ conversationId, input });
    for await (const { type } of stream) if (type.startsWith("turn.") || type.startsWith("run.")) events.push(type);
    const stopped = await stream.result;
    expect(stopped).toMatchObject({
      status: "completed",
      content: "",
      metadata: { steps: 2, finishReason: "tool-use" },
    });
    expect(events).toEqual(["run.started", "turn.started", "turn.started", "run.ended"]);
    expect(tools.map(({ inputs }) => inputs.length)).toEqual([1, 1]);
    expect(await orchestrator.get(conversationId)).toMatchObject({ status: "completed" });
    await expect(orchestrator.resume(conversationId)).rejects.toMatchObject({ code: "not_waiting" });
    const next = await orchestrator.run({ conversationId, input: "And then?" });
    expect(next).toMatchObject({ status: "completed", content: "More." });
    expect(model.requests).toHaveLength(3);
  });

  it("may throw: the run rejects, and can be resumed", async () => {
    let isBroken = true;
    const { orchestrator } = setup(scripted({ text: "Hi." }), [], {
      prepareStep() {
        if (isBroken) throw new Error("no");
        return undefined;
      },
    });
    await expect(orchestrator.run({ conversationId, input })).rejects.toThrow("no");
    isBroken = false;
    expect(await orchestrator.resume(conversationId)).toMatchObject({ status: "completed", content: "Hi." });
  });

  it("refuses a model of another wire, which could not read the messages", async () => {
    const model: any = replayModel(anthropic, []);
    const { orchestrator } = setup(scripted({ text: "Hi." }), [], { prepareStep: () => ({ model }) });
    await expect(orchestrator.run({ conversationId, input })).rejects.toThrow(/anthropic.*openai-chat/);
  });

  it.each<[message: RegExp, returned: unknown]>([
    [/prepareStep returns an object, .*, or nothing; got a string/, "stop"],
    [/result of prepareStep\(\) has no option "activeTools".*It has model, messages, tools/, { activeTools: ["read"] }],
    [/Did you mean toolChoice\?/, { toolchoice: "none" }],
    [/prepareStep returned a string for a model; the run is in openai-chat/, { model: "gpt-5" }],
    [/prepareStep\(\)\.messages is a list in the form of openai-chat, got a string/, { messages: "Hi" }],
    [/prepareStep\(\)\.messages\[0\] is an object, got null/, { messages: [null] }],
    [/prepareStep\(\)\.messages\[0\] is not in the form of openai-chat/, { messages: [{ parts: [] }] }],
    [/a tool is made by defineTool/, { tools: ["read"] }],
    [/prepareStep returned a tool other, which new Orchestrator\(\) was not given/, { tools: [external("other")] }],
    [/instructions of prepareStep are a text, got a number/, { instructions: 5 }],
    [/"auto", "none", "required".*got "any"/, { toolChoice: "any" }],
  ])("refuses what it may not return, %s, and the run can be resumed", async (message, returned) => {
    const model = scripted({ text: "Hi." });
    const { make } = setup(model, ["read"]);
    const broken = make({ prepareStep: () => returned as never });
    const failure = await broken.run({ conversationId, input }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect((failure as TypeError).message).toMatch(message);
    expect(model.requests).toEqual([]);
    expect(await make().resume(conversationId)).toMatchObject({ status: "completed", content: "Hi." });
  });

  it.each<[message: RegExp, returned: unknown]>([
    [/trim\(\) is a list in the form of openai-chat, got a string/, "Hi"],
    [/trim\(\)\[0\] is an object, got undefined/, [undefined]],
    [/trim\(\)\[0\] is not in the form of openai-chat: it has no role/, [{ content: "Hi" }]],
  ])("refuses what trim may not return, %s", async (message, returned) => {
    const { make } = setup(scripted({ text: "Hi." }), []);
    await expect(make({ trim: () => returned as never }).run({ conversationId, input })).rejects.toThrow(message);
    expect(await make().resume(conversationId)).toMatchObject({ status: "completed", content: "Hi." });
  });

  it.each<[what: string, change: (step: Step) => unknown]>([
    ["the whole step with one thing changed", (step) => ({ ...step, toolChoice: "none" })],
    ["a source of tools", ({ tools }) => ({ tools: { tools: () => tools }, toolChoice: "none" })],
    ["a tool made again", (step) => ({ tools: [counted("read").tool, step.tools[1]], toolChoice: "none" })],
  ])("may return %s", async (_, change) => {
    const model = scripted({ text: "Hi." });
    const { orchestrator } = setup(model, ["read", "write"], { prepareStep: (step) => change(step) as never });
    expect(await orchestrator.run({ conversationId, input })).toMatchObject({ status: "completed", content: "Hi." });
    expect(asked(model)).toMatchObject([{ tools: ["read", "write"], toolChoice: "none" }]);
  });

  it("may not change what is no part of the request", async () => {
    const { orchestrator } = setup(scripted({ text: "Hi." }), [], {
      prepareStep: (step) => ({ ...step, behavior: "safe" }) as never,
    });
    await expect(orchestrator.run({ conversationId, input })).rejects.toThrow(/has no option "behavior"/);
  });

  it("may return a tool that has gone since it was asked: a call of it fails, the run goes on", async () => {
    const model = scripted(callOf("read"), { text: "Done." });
    const source = [counted("read").tool];
    const { orchestrator } = setup(model, [], {
      tools: { tools: () => source },
      async prepareStep({ tools }) {
        await pause(1);
        source.length = 0;
        return { tools: tools.filter(({ name }) => name === "read") };
      },
    });
    const { status, content, messages } = await orchestrator.run({ conversationId, input });
    expect({ status, content }).toEqual({ status: "completed", content: "Done." });
    expect(short(messages)[2]).toMatch(/read/);
  });

  it.each([
    ["nothing", () => undefined],
    ["what it was given", (step: Step) => ({ ...step })],
  ])("may register tools, which its turn offers, and return %s", async (_, change) => {
    const registry = new ToolRegistry([counted("search").tool]);
    const found = counted("found");
    const model = scripted(callOf("search"), callOf("found"), { text: "Done." });
    const orchestrator = new Orchestrator({
      model,
      tools: registry,
      store: memoryStore(),
      prepareStep(step) {
        if (step.step === 1) registry.register(found.tool);
        return change(step);
      },
    });
    expect(await orchestrator.run({ conversationId, input })).toMatchObject({ status: "completed" });
    expect(asked(model).map(({ tools }) => tools)).toEqual([["search"], ["search", "found"], ["search", "found"]]);
    expect(found.inputs).toHaveLength(1);
  });

  it("is given a copy of what a client hands out that watches its objects", async () => {
    const watched = <T extends object>(object: T): T =>
      new Proxy(object, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key);
          return typeof value === "object" && value !== null ? watched(value) : value;
        },
      });
    const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: "{}" };
    const done = (...items: object[]) => [
      { type: "response.created", response: { id: "resp_1", output: [] } },
      ...items.map((item, at) => ({ type: "response.output_item.done", output_index: at, item })),
      { type: "response.completed", response: { id: "resp_1", status: "completed", output: items } },
    ];
    const said = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hi." }] };
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "cnM=" };
    const model = replayModel(openaiResponses, [done(reasoning, call).map(watched), done(said)]);
    const given: number[] = [];
    const options = { model, tools: [counted("read").tool], store: memoryStore() };
    const orchestrator = new Orchestrator({ ...options, prepareStep: (step) => void given.push(step.messages.length) });
    expect(await orchestrator.run({ conversationId, input })).toMatchObject({ status: "completed", content: "Hi." });
    expect(given).toEqual([1, 4]);
  });

  it.each(["prepareStep", "trim"])(
    "has what it selects paired once a turn, however much that is, as %s",
    async (hook) => {
      const model = scripted(...Array.from({ length: 5 }, () => callOf("read")), { text: "Done." });
      const pairs: number[] = [];
      const counting = { ...model, pair: (messages: any) => (pairs.push(messages.length), model.pair(messages)) };
      const { make } = setup(model, ["read"]);
      const orchestrator = make({
        model: counting,
        [hook]: (given: any) => (hook === "trim" ? [...given] : { messages: [...given.messages] }),
      });
      expect(await orchestrator.run({ conversationId, input })).toMatchObject({
        status: "completed",
        content: "Done.",
      });
      expect(pairs).toEqual([1, 3, 5, 7, 9, 11]);
    },
  );

  it("hands a conversation from one agent to another", async () => {
    const model = scripted(callOf("transfer_to_refunds"), callOf("refund"), { text: "Refunded." }, { text: "Bye." });
    const transfer = defineTool({
      name: "transfer_to_refunds",
      inputSchema: z.object({}),
      execute: () => "You do it.",
    });
    const agents: Record<string, { instructions: string; tools: string[] }> = {
      triage: { instructions: "Route the user.", tools: ["transfer_to_refunds"] },
      refunds: { instructions: "Refund orders.", tools: ["refund"] },
    };
    const orchestrator = new Orchestrator({
      model,
      tools: [transfer, counted("refund").tool],
      store: memoryStore(),
      async prepareStep({ transcript, tools }) {
        const calls = (await transcript()).flatMap((entry) => (entry.role === "assistant" ? entry.calls : []));
        const handoff = calls.findLast(({ name }) => name?.startsWith("transfer_to_"));
        const { instructions, tools: names } = agents[handoff?.name?.slice("transfer_to_".length) ?? "triage"]!;
        return { instructions, tools: tools.filter(({ name }) => names.includes(name)) };
      },
    });
    await orchestrator.run({ conversationId, input });
    await orchestrator.run({ conversationId, input: "Thanks" });
    expect(asked(model).map(({ tools, instructions }) => [instructions, ...tools])).toEqual([
      ["Route the user.", "transfer_to_refunds"],
      ["Refund orders.", "refund"],
      ["Refund orders.", "refund"],
      ["Refund orders.", "refund"],
    ]);
  });
});
