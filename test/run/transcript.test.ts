/** A conversation as it is shown: the same on every wire, through the official clients and HTTP. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import type { ReplayServer } from "../../src/replay/index.ts";
import { Orchestrator, type TranscriptCall, type TranscriptEntry } from "../../src/run/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { replayModel } from "../../src/testing/index.ts";
import { conversationId as frozenId, frozenTools } from "./corpus.ts";
import type { NeutralTurn } from "./encode.ts";
import { counted, external, heldTurn, scripted, short } from "./script.ts";
import { clientModels, serveTurns, tools } from "./served.ts";

const STORY = "Once upon a time there was";
const calls: NeutralTurn["calls"] = [
  { id: "call_oslo", name: "get_weather", args: { city: "Oslo" } },
  { id: "call_ask", name: "ask_user", args: { question: "Which report?" } },
  { id: "call_delete", name: "delete_report", args: { name: "old" } },
  { id: "call_book", name: "book", args: { city: "Oslo" } },
  { id: "call_wrong", name: "book", args: { town: "Rome" } },
];
const scripts: Readonly<Record<string, readonly NeutralTurn[]>> = {
  talk: [
    { reasoning: "A city and a report.", text: "I look it up.", calls },
    { text: "Oslo is cold." },
    { reasoning: "A story, then.", text: STORY, cut: { after: STORY, how: "stall" } },
    { text: "a castle." },
  ],
  edited: [
    { text: "I look.", calls: [calls[0]!] },
    { text: "Oslo is cold." },
    { text: "You are welcome." },
    { text: "Rome is warm." },
    { text: "Rome is hot." },
  ],
};

let server: ReplayServer;
beforeAll(async () => {
  server = await serveTurns((script, count) => scripts[script]!.at(Math.min(count, scripts[script]!.length - 1))!);
});
afterAll(() => server.close());

describe.each(Object.entries(clientModels))("%s", (wire, modelAt) => {
  function setUp(script: keyof typeof scripts) {
    const store = memoryStore();
    const model = modelAt(`${server.url}/${wire}/${script}`);
    const make = () => new Orchestrator({ model, tools, store, approvals: new ApprovalService({ store }) });
    const sent = () => {
      const asked = server.requests.filter(({ fixture }) => fixture === `${wire}/${script}`);
      return asked.map(({ body }) => conversationIn(body));
    };
    return { model, store, make, sent };
  }

  it("shows what was said, and what came of the calls, in another process too", async () => {
    const { make, store } = setUp("talk");
    const paused = await make().run({ conversationId: "c", input: "What is the weather?" });
    const [first, second] = (await make().transcript("c"))!;
    expect(first).toEqual({ role: "user", text: "What is the weather?", at: expect.any(Number), index: 0 });
    expect(second).toMatchObject({ role: "assistant", text: "I look it up.", reasoning: "A city and a report." });
    const open = callsOf([second!]);
    expect(open.map(({ status }) => status)).toEqual(["completed", "open", "open", "failed", "invalid"]);
    expect([open[1]!.id, open[2]!.id]).toEqual([
      paused.pendingToolCalls[0]!.id,
      paused.pendingApprovals[0]!.invocationId,
    ]);

    await make().resume("c", {
      approvals: [{ id: paused.pendingApprovals[0]!.id, decision: "deny", reason: "keep it" }],
      toolResults: [{ toolCallId: paused.pendingToolCalls[0]!.id, result: { report: "new" } }],
    });
    const stop = new AbortController();
    const told = make().stream({ conversationId: "c", input: "Tell me a story.", signal: stop.signal });
    for await (const event of told) if (event.type === "text-delta") stop.abort();
    await make().run({ conversationId: "c", input: "Go on." });

    // By an app that has moved on to another provider, and has no tools any more.
    const other = clientModels[wire === "google" ? "cohere" : "google"]!(server.url);
    const shown = (await new Orchestrator({ model: other, store }).transcript("c"))!;
    expect(shown.map(withoutPlace)).toEqual([
      { role: "user", text: "What is the weather?" },
      {
        role: "assistant",
        text: "I look it up.",
        reasoning: "A city and a report.",
        finishReason: "tool-use",
        calls: [
          { name: "get_weather", input: { city: "Oslo" }, status: "completed", output: { city: "Oslo", celsius: 3 } },
          { name: "ask_user", input: { question: "Which report?" }, status: "completed", output: { report: "new" } },
          {
            name: "delete_report",
            input: { name: "old" },
            status: "denied",
            error: expect.stringContaining("keep it"),
          },
          { name: "book", input: { city: "Oslo" }, status: "failed", error: expect.stringContaining("no seats") },
          { name: "book", input: '{"town":"Rome"}', status: "invalid", error: expect.stringContaining("city") },
        ],
      },
      { role: "assistant", text: "Oslo is cold.", reasoning: "", calls: [], finishReason: "stop" },
      { role: "user", text: "Tell me a story." },
      {
        role: "assistant",
        text: STORY,
        reasoning: "A story, then.",
        calls: [],
        finishReason: expect.any(String),
        error: { code: "aborted", message: expect.any(String) },
      },
      { role: "user", text: "Go on." },
      { role: "assistant", text: "a castle.", reasoning: "", calls: [], finishReason: "stop" },
    ]);
    const { messages } = (await make().get("c"))!;
    for (const [at, { text, index }] of shown.entries()) {
      const own = messages.slice(index, shown[at + 1]?.index);
      expect(JSON.stringify(own)).toContain(JSON.stringify(text));
    }
  });

  it("shows the texts of messages that were given", async () => {
    const { model, make } = setUp("talk");
    const said = model.modelMessage?.("Hello!") ?? { role: "assistant", content: "Hello!" };
    const messages = [model.userMessage("Hi"), said, GIVEN[wire]];
    await make().run({ conversationId: "c", messages, input: "Well?", toolChoice: "none" });
    const shown = (await make().transcript("c"))!.slice(0, 4);
    expect(shown.map(({ role, text, index }) => [role, text, index])).toEqual([
      ["user", "Hi", 0],
      ["assistant", "Hello!", 1],
      ["user", "Look: a cat", 2],
      ["user", "Well?", 3],
    ]);
  });

  it("is taken back to what the user said, to say it otherwise", async () => {
    const { make, sent, model } = setUp("edited");
    const conversationId = "c";
    await make().run({ conversationId, input: "Is Oslo cold?" });
    await make().run({ conversationId, input: "Thank you." });
    const [, , , thanks] = (await make().transcript(conversationId))!;
    expect(thanks).toMatchObject({ role: "user", text: "Thank you." });

    const edited = await make().run({ conversationId, rewindTo: thanks!.index, input: "And Rome?" });
    expect(sent().at(-1)!.slice(0, -1)).toEqual(sent()[2]!.slice(0, -1));
    expect(sent().at(-1)!.at(-1)).toEqual(model.userMessage("And Rome?"));
    const shown = (await make().transcript(conversationId))!;
    const before = ["Is Oslo cold?", "I look.", "Oslo is cold."];
    expect(shown.map(({ text }) => text)).toEqual([...before, "And Rome?", "Rome is warm."]);
    expect(callsOf(shown)).toMatchObject([{ status: "completed", output: { city: "Oslo", celsius: 3 } }]);
    expect(model.pair(edited.messages)).toEqual(edited.messages);
    expect(JSON.stringify(edited.messages)).not.toContain("welcome");
    expect(edited.tree.toText()).toContain("You are welcome.");

    const { index } = shown.findLast(({ role }) => role === "user")!;
    const again = await make().run({ conversationId, rewindTo: index, messages: [edited.messages[index]] });
    expect(sent().at(-1)).toEqual(sent().at(-2));
    expect((await make().transcript(conversationId))!.map(({ text }) => text)).toEqual([
      ...before,
      "And Rome?",
      "Rome is hot.",
    ]);
    expect((await make().get(conversationId))!.messages).toEqual(again.messages);
  });
});

/** What a user said with a picture, of which the text is shown. */
const GIVEN: Readonly<Record<string, unknown>> = {
  "openai-chat": {
    role: "user",
    content: [
      { type: "text", text: "Look: " },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      { type: "text", text: "a cat" },
    ],
  },
  "openai-responses": {
    role: "user",
    content: [
      { type: "input_text", text: "Look: " },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" },
      { type: "input_text", text: "a cat" },
    ],
  },
  anthropic: {
    role: "user",
    content: [
      { type: "text", text: "Look: " },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
      { type: "text", text: "a cat" },
    ],
  },
  google: {
    role: "user",
    parts: [{ text: "Look: " }, { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }, { text: "a cat" }],
  },
  "google-interactions": {
    type: "user_input",
    content: [
      { type: "text", text: "Look: " },
      { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" },
      { type: "text", text: "a cat" },
    ],
  },
  cohere: {
    role: "user",
    content: [
      { type: "text", text: "Look: " },
      { type: "image_url", imageUrl: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      { type: "text", text: "a cat" },
    ],
  },
};

describe("a transcript", () => {
  const conversationId = "c";
  const texts = (entries: readonly TranscriptEntry[] | undefined) => entries?.map(({ text }) => text);

  it("is that of a conversation, if there is one", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), store: memoryStore() });
    expect(await orchestrator.transcript("none")).toBeUndefined();
  });

  it.each(["completed", "paused"])("is there for conversations of the first version (%s)", async (name) => {
    const store = await frozen(name);
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), tools: frozenTools().tools, store });
    const shown = (await orchestrator.transcript(frozenId))!;
    expect(shown[0]).toMatchObject({ role: "user", index: 0 });
    expect(callsOf(shown)[0]).toMatchObject({ name: "read", status: "completed", output: { ran: "read", n: 1 } });
  });

  it("shows what a person had run in place of what the model wrote", async () => {
    const store = memoryStore();
    const { tool, inputs } = counted("pay", { needsApproval: true });
    const approvals = new ApprovalService({ store, tools: [tool] });
    const model = scripted({ calls: [{ name: "pay", args: { n: 100 } }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [tool], store, approvals });
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Pay" });
    const decision = { id: pendingApprovals[0]!.id, decision: "approve", editedInput: { n: 5 } } as const;
    await orchestrator.resume(conversationId, { approvals: [decision] });
    const [call] = callsOf((await orchestrator.transcript(conversationId))!);
    expect(call).toMatchObject({ input: { n: 100 }, editedInput: { n: 5 }, output: { ran: "pay", n: 5 } });
    expect(inputs).toEqual([{ n: 5 }]);
  });

  it("names the actions of the calls on record, so that what was done can be undone", async () => {
    const store = memoryStore();
    const undone: unknown[] = [];
    const { tool } = counted("save", { undo: ({ output }) => void undone.push(output) });
    const executor = new ToolExecutor({ tools: [tool, external("show")], store });
    const model = scripted({ calls: [{ name: "save", args: { n: 1 } }, { name: "show" }, { name: "gone" }] });
    const orchestrator = new Orchestrator({ model, store, executor });
    await orchestrator.run({ conversationId, input: "Save" });
    const shown = callsOf((await orchestrator.transcript(conversationId))!);
    expect(shown.map(({ name, actionId }) => [name, typeof actionId])).toEqual([
      ["save", "string"],
      ["show", "undefined"],
      ["gone", "undefined"],
    ]);
    expect(await executor.undo(shown[0]!.actionId!)).toMatchObject({ status: "undone" });
    expect(undone).toEqual([{ ran: "save", n: 1 }]);
  });

  it("has no turn that was asked for again, and the one that is stored while a run is active", async () => {
    const fail = new Error("the line is dead");
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
    const slow = counted("slow", { execute: () => (begin(), over) });
    const model = scripted({ text: "One", fail }, { text: "Two", calls: [{ name: "slow" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [slow.tool], store: memoryStore(), maxCutTurns: 0 });
    await orchestrator.run({ conversationId, input: "Go" });
    expect(texts(await orchestrator.transcript(conversationId))).toEqual(["Go", "One"]);
    const resumed = orchestrator.resume(conversationId);
    await hasBegun;
    const shown = await orchestrator.transcript(conversationId);
    expect(texts(shown)).toEqual(["Go", "Two"]);
    expect(callsOf(shown!)).toMatchObject([{ name: "slow", status: "open" }]);
    end();
    await resumed;
    expect(texts(await orchestrator.transcript(conversationId))).toEqual(["Go", "Two", "Done."]);
  });

  it("shows nothing of messages that are neither the user's nor the model's", async () => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Hi." }), store: memoryStore() });
    const messages = (["system", "user"] as const).map((role) => ({ role, content: `by ${role}` }));
    await orchestrator.run({ conversationId, messages });
    expect(texts(await orchestrator.transcript(conversationId))).toEqual(["by user", "Hi."]);
  });

  it("says why a call failed, while others of its turn are open", async () => {
    const model = scripted({ calls: [1, 2].map((n) => ({ name: "ask", args: { n } })) }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    const { pendingToolCalls } = await orchestrator.run({ conversationId: "c", input: "Ask." });
    const error = "Nobody is there.";
    await orchestrator.provideToolResult("c", { toolCallId: pendingToolCalls[0]!.id, error });
    const shown = callsOf((await orchestrator.transcript("c"))!);
    expect(shown).toMatchObject([{ status: "failed", error: `Tool ask failed: ${error}` }, { status: "open" }]);
    const { tree } = (await orchestrator.get("c"))!;
    expect(tree.toText()).toContain("✗ ask (external)  failed");
    expect(tree.toText()).toContain(error);
  });

  it("has the result of a call that was handed out before its turn was cut", async () => {
    const { promise: cut, reject: end } = Promise.withResolvers<void>();
    const recordings = [heldTurn("ask", cut), heldTurn("ask", new Promise(() => {}))];
    const model = replayModel(anthropic, recordings);
    const store = memoryStore();
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store, retryDelayMs: 0 });
    const stream = orchestrator.stream({ conversationId, input: "Go" });
    for await (const event of stream) {
      if (event.type === "turn.started" && event.turn === 1) break;
      if (event.type !== "external_tool_detected") continue;
      await stream.provideToolResult(event.call.id, { result: { n: 2 } });
      end(new Error("the line is dead"));
    }
    await stream.result;
    const [call] = callsOf((await orchestrator.transcript(conversationId))!);
    expect(call).toMatchObject({ name: "ask", input: {}, status: "completed", output: { n: 2 } });
  });
});

describe("a conversation that is taken back", () => {
  const conversationId = "c";

  it.each([1, 2, -1, 0.5, NaN, "0", null])("is not, to what the user did not say: %s", async (rewindTo) => {
    const orchestrator = new Orchestrator({ model: scripted({ text: "Done." }), store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go" });
    const before = await orchestrator.get(conversationId);
    const options = { conversationId, input: "Again", rewindTo: rewindTo as number };
    await expect(orchestrator.run(options)).rejects.toThrow(TypeError);
    expect(await orchestrator.get(conversationId)).toEqual(before);
    await expect(orchestrator.run({ ...options, conversationId: "new" })).rejects.toThrow(TypeError);
    expect(await orchestrator.get("new")).toBeUndefined();
  });

  it("gives up open calls only if told to", async () => {
    const model = scripted({ calls: [{ name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: memoryStore() });
    await orchestrator.run({ conversationId, input: "Go" });
    const options = { conversationId, input: "Stay", rewindTo: 0 };
    await expect(orchestrator.run(options)).rejects.toMatchObject({ code: "run_open" });
    const { messages } = await orchestrator.run({ ...options, whenOpen: "cancel" });
    expect(short(messages)).toEqual(["user", "say(Done.)"]);
    expect(short(model.requests[1]!.messages)).toEqual(["user"]);
  });

  it("may be taken back to one of the messages that were given, and behind an earlier one", async () => {
    const model = scripted({ text: "One" }, { text: "Two" }, { text: "Three" }, { text: "Four" });
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    const user = (content: string) => ({ role: "user" as const, content });
    await orchestrator.run({ conversationId, messages: [user("a"), user("b")], input: "c" });
    await orchestrator.run({ conversationId, input: "d" });
    await orchestrator.run({ conversationId, input: "e", rewindTo: 1 });
    const { messages } = await orchestrator.run({ conversationId, input: "f", rewindTo: 0 });
    expect(messages).toEqual([user("f"), { role: "assistant", content: "Four" }]);
    expect(model.requests.map((request) => short(request.messages).length)).toEqual([3, 5, 2, 1]);
    expect(model.requests[2]!.messages).toEqual([user("a"), user("e")]);
  });

  it("keeps what the model only thought before", async () => {
    const model = scripted({ reasoning: "Hm." }, { text: "Two" }, { text: "Three" });
    const orchestrator = new Orchestrator({ model, store: memoryStore() });
    await orchestrator.run({ conversationId, input: "a" });
    const { index } = (await orchestrator.transcript(conversationId))!.at(-1)!;
    await orchestrator.run({ conversationId, input: "b" });
    const b = (await orchestrator.transcript(conversationId))!.findLast(({ role }) => role === "user")!;
    const kept = (await orchestrator.transcript(conversationId))!.slice(0, -2);
    expect(b.index).toBe(index);
    await orchestrator.run({ conversationId, input: "c", rewindTo: b.index });
    expect((await orchestrator.transcript(conversationId))!.slice(0, -2)).toEqual(kept);
    expect(kept).toMatchObject([{ text: "a" }, { reasoning: "Hm.", text: "" }]);
  });

  it("is asked about again from there, when it is resumed", async () => {
    const model = scripted({ text: "One" }, { text: "Tw", fail: new Error("the line is dead") }, { text: "Three" });
    const orchestrator = new Orchestrator({ model, store: memoryStore(), maxCutTurns: 0, retryDelayMs: 0 });
    await orchestrator.run({ conversationId, input: "a" });
    const failed = await orchestrator.run({ conversationId, input: "b", rewindTo: 0 });
    expect(short(failed.messages)).toEqual(["user", "say(Tw)"]);
    const { messages } = await orchestrator.resume(conversationId);
    expect(short(messages)).toEqual(["user", "say(Three)"]);
    expect(model.requests[2]!.messages).toEqual(model.requests[1]!.messages);
  });
});

function callsOf(entries: readonly TranscriptEntry[]): TranscriptCall[] {
  return entries.flatMap((entry) => (entry.role === "assistant" ? entry.calls : []));
}

/** What does not differ from run to run. */
function withoutPlace({ at: _, index: __, ...entry }: TranscriptEntry): object {
  if (entry.role === "user") return entry;
  return { ...entry, calls: entry.calls.map(({ id: _id, actionId: _actionId, ...call }) => call) };
}

async function frozen(name: string): Promise<Store> {
  const file = join(import.meta.dirname, `../../fixtures/run/checkpoint-v1/${name}.json`);
  const store = memoryStore();
  for (const { key, value } of JSON.parse(readFileSync(file, "utf8")) as { key: string; value: unknown }[]) {
    await store.put(key, value);
  }
  return store;
}

function conversationIn(body: unknown): unknown[] {
  const { messages, input, contents } = body as Record<string, unknown[] | undefined>;
  return (messages ?? input ?? contents)!;
}
