/** A turn that was stopped, or lost, in the middle of its text: on every wire, through the official clients and HTTP. */
import { join } from "node:path";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { textJson } from "../../adapters/text-json/index.ts";
import { ToolError } from "../../src/errors.ts";
import type { ReplayServer } from "../../src/replay/index.ts";
import { Orchestrator, type OrchestrationResult, type RunEvent } from "../../src/run/index.ts";
import { memoryStore, storeKey } from "../../src/store/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { replayModel } from "../../src/testing/index.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { NeutralTurn } from "./encode.ts";
import { external, scripted, short } from "./script.ts";
import { clientModels, serveTurns } from "./served.ts";
import { iterate } from "../iterate.ts";
import { temporary } from "../temporary.ts";
import { soon } from "../soon.ts";

const STORY = "Once upon a time there was";
const call = { id: "call_1", name: "look", args: { n: 1 } };
const stalled: NeutralTurn = { reasoning: "A story, then.", text: STORY, cut: { after: STORY, how: "stall" } };
const lost: NeutralTurn = { ...stalled, cut: { after: STORY, how: "reset" } };
const end: NeutralTurn = { text: "The end." };

const scripts: Readonly<Record<string, readonly NeutralTurn[]>> = {
  stopped: [stalled, end],
  resumed: [stalled, end],
  "after-calls": [{ reasoning: "I look first.", text: "I look.", calls: [call] }, stalled, end],
  "with-a-call": [{ ...stalled, calls: [call], cut: { after: "look", how: "stall" } }, end],
  "with-a-told-call": [
    {
      ...stalled,
      calls: ["ask", "ask_more", "ask_last"].map((name) => ({ ...call, id: `call_${name}`, name })),
      cut: { after: "ask_more", how: "stall" },
    },
    end,
  ],
  lost: [lost, lost, end],
  "nothing-seen": [{ ...stalled, cut: { after: "A story", how: "stall" } }, end],
};

let server: ReplayServer;
beforeAll(async () => {
  server = await serveTurns((script, count) => scripts[script]!.at(Math.min(count, scripts[script]!.length - 1))!);
});
afterAll(() => server.close());

const look = defineTool({ name: "look", inputSchema: z.object({ n: z.number() }), execute: () => "a castle" });

describe.each(Object.entries(clientModels))("%s", (wire, modelAt) => {
  function setUp(script: keyof typeof scripts) {
    const model = modelAt(`${server.url}/${wire}/${script}`);
    const store = memoryStore();
    const tools = [look, ...["ask", "ask_more", "ask_last"].map((name) => external(name))];
    const orchestrator = new Orchestrator({ model, tools, store, maxCutTurns: 1, retryDelayMs: 0 });
    const sent = () => {
      const asked = server.requests.filter(({ fixture }) => fixture === `${wire}/${script}`);
      return asked.map(({ body }) => conversationIn(body));
    };
    return { model, orchestrator, sent };
  }

  /** Presses the stop button at the first event that fits. */
  async function stopped(orchestrator: Orchestrator, fits: (event: RunEvent) => boolean): Promise<OrchestrationResult> {
    const stop = new AbortController();
    const stream = orchestrator.stream({ conversationId: "c", input: "Tell me a story.", signal: stop.signal });
    for await (const event of stream) if (fits(event)) stop.abort();
    return stream.result;
  }
  const isStory = (event: RunEvent) => event.type === "text-delta" && event.delta.includes("Once");

  it("keeps the text that was seen, for what is said next", async () => {
    const { model, orchestrator, sent } = setUp("stopped");
    const result = await stopped(orchestrator, isStory);
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" }, content: STORY });
    expect(textOf(result.messages.at(-1))).toBe(STORY);
    expect(result.tree.toText()).toContain("turn 1  aborted");
    const now = (await orchestrator.get("c"))!;
    expect([now.content, now.messages]).toEqual([STORY, result.messages]);

    const next = await orchestrator.run({ conversationId: "c", input: "Continue." });
    expect(next).toMatchObject({ status: "completed", content: "The end." });
    expect(sent()[1]!.map(textOf)).toEqual(["Tell me a story.", STORY, "Continue."]);
    const user = roleOf(model.userMessage("?"));
    expect(sent()[1]!.map(roleOf)).toEqual([user, roleOf(result.messages[1]), user]);
    expect(sent()[1]).toMatchSnapshot();
    expect(model.pair(next.messages)).toEqual(next.messages);
  });

  it("asks for the turn again when it is resumed, and then its text alone counts", async () => {
    const { orchestrator, sent } = setUp("resumed");
    await stopped(orchestrator, isStory);
    const result = await orchestrator.resume("c");
    expect(result).toMatchObject({ status: "completed", content: "The end." });
    expect(sent()[1]).toEqual(sent()[0]);
    expect(result.messages.map(textOf)).toEqual(["Tell me a story.", "The end."]);
  });

  it("keeps calls and results of the turns before", async () => {
    const { orchestrator, sent } = setUp("after-calls");
    await stopped(orchestrator, isStory);
    await orchestrator.run({ conversationId: "c", input: "Continue." });
    const conversation = sent()[2]!;
    expect(conversation.slice(0, sent()[1]!.length)).toEqual(sent()[1]);
    expect(conversation.slice(sent()[1]!.length).map(textOf)).toEqual([STORY, "Continue."]);
  });

  it("keeps no call, finished or not", async () => {
    const { orchestrator, sent } = setUp("with-a-call");
    const result = await stopped(orchestrator, ({ type }) => type === "tool-input-start");
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" }, content: STORY });
    const next = await orchestrator.run({ conversationId: "c", input: "Continue." });
    expect(sent()[1]!.map(textOf)).toEqual(["Tell me a story.", STORY, "Continue."]);
    expect(JSON.stringify(next.messages)).not.toContain("look");
  });

  it("keeps the text next to calls that the caller was told of, which keep their results", async () => {
    const { model, orchestrator, sent } = setUp("with-a-told-call");
    const result = await stopped(orchestrator, ({ type }) => type === "external_tool_detected");
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" }, content: STORY, pendingToolCalls: [] });
    const { messages } = await orchestrator.run({ conversationId: "c", input: "Continue." });
    const conversation = JSON.stringify(sent()[1]);
    expect(conversation.split(STORY)).toHaveLength(2);
    expect(conversation.split("it was handed out")).toHaveLength(2);
    expect(model.pair(messages)).toEqual(messages);
  });

  it("keeps the text of the last of the turns that were lost, and none that was asked for again", async () => {
    const { orchestrator, sent } = setUp("lost");
    const types: string[] = [];
    const stream = orchestrator.stream({ conversationId: "c", input: "Tell me a story." });
    for await (const { type } of stream) types.push(type);
    const result = await stream.result;
    expect(types.filter((type) => type === "turn.retried")).toHaveLength(1);
    expect(result).toMatchObject({ status: "error", error: { code: "connection_lost" }, content: STORY });
    expect(result.messages.map(textOf)).toEqual(["Tell me a story.", STORY]);
    await orchestrator.run({ conversationId: "c", input: "Continue." });
    expect(sent().at(-1)!.map(textOf)).toEqual(["Tell me a story.", STORY, "Continue."]);
  });

  it("keeps nothing of a turn of which nothing was seen", async () => {
    const { orchestrator, sent } = setUp("nothing-seen");
    const result = await stopped(orchestrator, ({ type }) => type === "start" || type === "reasoning-delta");
    expect(result).toMatchObject({ status: "error", error: { code: "aborted" }, content: "" });
    expect(result.messages.map(textOf)).toEqual(["Tell me a story."]);
    await orchestrator.run({ conversationId: "c", input: "Well?" });
    expect(sent()[1]!.map(textOf)).toEqual(["Tell me a story.", "Well?"]);
  });
});

const fail = new Error("the line is dead");

describe("the text of a turn that was lost", () => {
  const conversationId = "c";

  it.each([
    ["without the half character at its end", "Hi \u{1F600}".slice(0, -1), ["user", "say(Hi )", "user"]],
    ["without a half character in it", "Hi \ud83d!", ["user", "say(Hi \ufffd!)", "user"]],
    ["not if it is blank", " \n", ["user", "user"]],
    ["not if it is half a character", "\ud83d", ["user", "user"]],
  ])("is kept, %s", async (_, text, expected) => {
    const model = scripted({ text, fail }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, store: memoryStore(), maxCutTurns: 0 });
    await orchestrator.run({ conversationId, input: "Go" });
    await orchestrator.run({ conversationId, input: "Go on" });
    expect(short(model.requests[1]!.messages)).toEqual(expected);
  });

  it("is that of the last turn, however often it is resumed, and limits nothing", async () => {
    const turns = ["One", "Two", "Three", "Four", "Five"].map((text) => ({ text, fail }));
    const model = scripted(...turns, { text: "Done." });
    const orchestrator = new Orchestrator({ model, store: memoryStore(), maxCutTurns: 0, retryDelayMs: 60_000 });
    let result = await orchestrator.run({ conversationId, input: "Go", toolChoice: "none" });
    for (const text of ["One", "Two", "Three", "Four"]) {
      expect(result).toMatchObject({ error: { code: "connection_lost" }, content: text });
      expect(short(result.messages)).toEqual(["user", `say(${text})`]);
      result = await orchestrator.resume(conversationId);
    }
    for (const { messages, toolChoice } of model.requests) {
      expect([short(messages), toolChoice]).toEqual([["user"], "none"]);
    }
    result = await orchestrator.run({ conversationId, input: "Go on" });
    expect(short(result.messages)).toEqual(["user", "say(Five)", "user", "say(Done.)"]);
  });

  it("is what trim() is given, once the conversation goes on", async () => {
    const model = scripted({ text: "Once", fail }, { text: "Again", fail }, { text: "Done." });
    const given: string[][] = [];
    const trim = (messages: readonly ChatCompletionMessageParam[]) => (given.push(short(messages)), messages);
    const orchestrator = new Orchestrator({ model, store: memoryStore(), maxCutTurns: 0, trim });
    await orchestrator.run({ conversationId, input: "Go" });
    await orchestrator.resume(conversationId);
    await orchestrator.run({ conversationId, input: "Go on" });
    expect(given).toEqual([["user"], ["user"], ["user", "say(Again)", "user"]]);
  });

  it("is kept behind a turn that was paused, whose call at the provider is given up", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const stop = new AbortController();
    const start = { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", content: [] } };
    const block = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });
    const delta = (text: string) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    const ended = (stop_reason: string) => [
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Oslo" } };
    const text = block({ type: "text", text: "" });
    async function* found() {
      yield* [start, text, delta("I found")];
      stop.abort();
      await never;
    }
    const paused = [start, block(search), ...ended("pause_turn")];
    const model = replayModel(anthropic, [
      () => iterate(paused),
      found,
      () => iterate([start, text, delta("Done."), ...ended("end_turn")]),
    ]);
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const stopped = await orchestrator.run({ conversationId, input: "Search", signal: stop.signal });
    expect(stopped).toMatchObject({ error: { code: "aborted" }, content: "I found" });
    await orchestrator.run({ conversationId, input: "Go on" });
    expect(model.requests[2]!.messages).toEqual([
      { role: "user", content: "Search" },
      { role: "assistant", content: "I found" },
      { role: "user", content: "Go on" },
    ]);
  });

  it("is kept without the call that the model began to write into it", async () => {
    const stop = new AbortController();
    const requests: unknown[] = [];
    const model = textJson("hermes").model(async function* ({ messages }) {
      requests.push(messages);
      if (requests.length > 1) return yield "Done.";
      yield 'I look.\n<tool_call>\n{"name":"look","argu';
      stop.abort();
      await new Promise(() => {});
    });
    const orchestrator = new Orchestrator({ model, tools: [look], store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go", signal: stop.signal });
    await orchestrator.run({ conversationId, input: "Go on" });
    expect(requests[1]).toEqual([
      { role: "user", content: "Go" },
      { role: "assistant", content: "I look.\n" },
      { role: "user", content: "Go on" },
    ]);
  });
});

describe("what is said while an answer is stopped", () => {
  it("is refused, or waits until it has stopped, and is said once", async () => {
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
    const slow = defineTool({
      name: "slow",
      inputSchema: z.object({}),
      execute: async () => {
        begin();
        await new Promise(() => {});
      },
    });
    const model = scripted({ calls: [{ name: "slow" }] }, { text: "Done." });
    const make = () => new Orchestrator({ model, tools: [slow], store });
    const store = memoryStore();
    const stop = new AbortController();
    const first = make().run({ conversationId: "c", input: "Go", signal: stop.signal });
    await hasBegun;
    await expect(make().run({ conversationId: "c", input: "Stop" })).rejects.toMatchObject({ code: "run_busy" });
    const gone = AbortSignal.timeout(20);
    const options = { conversationId: "c", whenBusy: "wait", whenOpen: "cancel" } as const;
    await expect(make().run({ ...options, input: "Never", signal: gone })).rejects.toMatchObject({ code: "run_busy" });
    const waiting = ["One", "Two"].map((input) => make().run({ ...options, input }));
    setTimeout(() => stop.abort(), 50);
    const next = await Promise.all(waiting);
    expect(next.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect((await first).error).toMatchObject({ code: "aborted" });
    const said = (await make().get("c"))!.messages.flatMap(({ role, content }) => (role === "user" ? [content] : []));
    expect([said[0], ...said.slice(1).toSorted()]).toEqual(["Go", "One", "Two"]);
  });

  it("may be stopped from another process, over the store, as the docs have it", async () => {
    const path = join(temporary(), "runs.db");
    const [here, there] = [sqliteStore(path), sqliteStore(path)];
    const conversationId = "c/1";
    const slow = new Orchestrator({ model: scripted({ text: STORY, pauseMs: 600_000 }), store: here });
    const key = storeKey("stop", conversationId);
    const stop = new AbortController();
    const heard: string[] = [];
    const unsubscribe = await here.subscribe(key, (change) => {
      heard.push(change.key);
      if (change.type === "put" && change.key === key) stop.abort();
    });
    const stream = slow.stream({ conversationId, input: "Go", signal: stop.signal });
    for await (const event of stream) {
      if (event.type !== "text-delta") continue;
      const other = storeKey("stop", `${conversationId}0`);
      await there.put(other, Date.now(), { ttlMs: 60_000 });
      await soon(() => expect(heard).toEqual([other]));
      expect(stop.signal.aborted).toBe(false);
      await there.put(key, Date.now(), { ttlMs: 60_000 });
    }
    await unsubscribe();
    expect((await stream.result).error).toMatchObject({ code: "aborted" });
    const next = new Orchestrator({ model: scripted({ text: "The end." }), store: there });
    const { messages } = await next.run({ conversationId, input: "Go on", whenBusy: "wait", whenOpen: "cancel" });
    expect(short(messages)).toEqual(["user", `say(${STORY})`, "user", "say(The end.)"]);
    await Promise.all([here.close(), there.close()]);
  });

  it("is what it was when it began to wait", async () => {
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: over, resolve: letGo } = Promise.withResolvers<void>();
    const slow = defineTool({
      name: "slow",
      inputSchema: z.object({}),
      execute: async () => {
        begin();
        await over;
      },
    });
    const model = scripted({ calls: [{ name: "slow" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [slow], store: memoryStore() });
    const first = orchestrator.run({ conversationId: "c", input: "Go" });
    await hasBegun;
    const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "One" }];
    const second = orchestrator.run({ conversationId: "c", messages, whenBusy: "wait" });
    messages[0] = { role: "user", content: "Another" };
    letGo();
    await first;
    const said = (await second).messages.flatMap(({ role, content }) => (role === "user" ? [content] : []));
    expect(said).toEqual(["Go", "One"]);
  });

  it("is not said twice where something else turns out to be busy", async () => {
    const busy = new ToolError("run_busy", "The conversation that summarises this one is busy.");
    const model = scripted({ text: "Done." });
    let trims = 0;
    const trim = (messages: readonly ChatCompletionMessageParam[]) => {
      if (++trims === 1) throw busy;
      return messages;
    };
    const orchestrator = new Orchestrator({ model, store: memoryStore(), trim });
    await expect(orchestrator.run({ conversationId: "c", input: "Go", whenBusy: "wait" })).rejects.toBe(busy);
    expect(short((await orchestrator.get("c"))!.messages)).toEqual(["user"]);
  });
});

function conversationIn(body: unknown): unknown[] {
  const { messages, input, contents } = body as Record<string, unknown[] | undefined>;
  return (messages ?? input ?? contents)!;
}

function textOf(message: unknown): unknown {
  const { content, parts } = message as { content?: unknown; parts?: readonly { text?: string }[] };
  if (parts !== undefined) return parts.map(({ text }) => text).join("");
  if (!Array.isArray(content)) return content;
  return content.flatMap(({ type, text }) => (String(type).endsWith("text") ? [text] : [])).join("");
}

function roleOf(message: unknown): unknown {
  const { role, type } = message as { role?: unknown; type?: unknown };
  return role ?? type;
}
