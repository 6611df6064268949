/** What each provider takes: behind every call its one result, in call order. */
import type Anthropic from "@anthropic-ai/sdk";
import * as fc from "../fast-check.ts";
import { GoogleGenAI } from "@google/genai";
import { describe, expect, it, vi } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Conversation } from "../../src/model.ts";
import { pairMessages } from "../../src/pairing.ts";
import { loadFixture } from "../fixtures.ts";

/** How a wire writes a history. */
interface Row {
  readonly name: string;
  readonly conversation: Conversation;
  calls(...ids: readonly string[]): unknown[];
  result(id: string): unknown;
  text(text: string): unknown;
  /** The calls and results in a history, and what else is in it, in order: `call a`, `result a`, `unknown a`, `text`. */
  read(messages: readonly any[]): string[];
}

const unknown = /outcome of this call is unknown/;
const resultOf = (id: string, content: unknown) =>
  `${unknown.test(JSON.stringify(content)) ? "unknown" : "result"} ${id}`;

const rows: readonly Row[] = [
  {
    name: "openai-chat",
    conversation: openaiChat.conversation,
    calls: (...ids) => [
      {
        role: "assistant",
        content: null,
        tool_calls: ids.map((id) => ({ id, type: "function", function: { name: id, arguments: "{}" } })),
      },
    ],
    result: (id) => ({ role: "tool", tool_call_id: id, content: "ok" }),
    text: (content) => ({ role: "user", content }),
    read: (messages) =>
      messages.flatMap(({ role, tool_calls = [], tool_call_id, content }) =>
        role === "assistant"
          ? tool_calls.map(({ id }: { id: string }) => `call ${id}`)
          : [role === "tool" ? resultOf(tool_call_id, content) : "text"],
      ),
  },
  {
    name: "openai-responses",
    conversation: openaiResponses.conversation,
    calls: (...ids) => [
      { type: "reasoning", id: "rs_1", summary: [] },
      ...ids.map((id) => ({ type: "function_call", call_id: id, name: id, arguments: "{}" })),
    ],
    result: (id) => ({ type: "function_call_output", call_id: id, output: "ok" }),
    text: (content) => ({ role: "user", content }),
    read: (messages) =>
      messages.flatMap(({ type, call_id, output }) => {
        if (type === "reasoning") return [];
        if (type === "function_call") return [`call ${call_id}`];
        return [type === "function_call_output" ? resultOf(call_id, output) : "text"];
      }),
  },
  {
    name: "anthropic",
    conversation: anthropic.conversation,
    calls: (...ids) => [
      { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: id, input: {} })) },
    ],
    result: (id) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] }),
    text: (content) => ({ role: "user", content }),
    read: (messages) =>
      messages.flatMap(({ content }) =>
        typeof content === "string"
          ? ["text"]
          : content.map(({ type, id, tool_use_id, content: inner }: any) =>
              type === "tool_use" ? `call ${id}` : type === "tool_result" ? resultOf(tool_use_id, inner) : "text",
            ),
      ),
  },
  {
    name: "google",
    conversation: google.conversation,
    calls: (...ids) => [{ role: "model", parts: ids.map((id) => ({ functionCall: { id, name: id, args: {} } })) }],
    result: (id) => ({ role: "user", parts: [{ functionResponse: { id, name: id, response: { output: "ok" } } }] }),
    text: (text) => ({ role: "user", parts: [{ text }] }),
    read: (messages) =>
      messages.flatMap(({ parts }) =>
        parts.map(({ functionCall, functionResponse }: any) =>
          functionCall
            ? `call ${functionCall.id}`
            : functionResponse
              ? resultOf(functionResponse.id, functionResponse.response)
              : "text",
        ),
      ),
  },
  {
    name: "google-interactions",
    conversation: googleInteractions.conversation,
    calls: (...ids) => ids.map((id) => ({ type: "function_call", id, name: id, arguments: {} })),
    result: (id) => ({ type: "function_result", call_id: id, name: id, result: "ok" }),
    text: (text) => ({ type: "user_input", content: [{ type: "text", text }] }),
    read: (steps) =>
      steps.map(({ type, id, call_id, result }) =>
        type === "function_call" ? `call ${id}` : type === "function_result" ? resultOf(call_id, result) : "text",
      ),
  },
  {
    name: "cohere",
    conversation: cohere.conversation,
    calls: (...ids) => [
      {
        role: "assistant",
        toolCalls: ids.map((id) => ({ id, type: "function", function: { name: id, arguments: "{}" } })),
      },
    ],
    result: (id) => ({ role: "tool", toolCallId: id, content: "ok" }),
    text: (content) => ({ role: "user", content }),
    read: (messages) =>
      messages.flatMap(({ role, toolCalls = [], toolCallId, content }) =>
        role === "assistant"
          ? toolCalls.map(({ id }: { id: string }) => `call ${id}`)
          : [role === "tool" ? resultOf(toolCallId, content) : "text"],
      ),
  },
];

describe.each(rows)("pair() of $name", ({ conversation, calls, result, text, read }) => {
  const pair = (...messages: unknown[]) => read(conversation.pair(messages));

  it("leaves a history alone in which nothing is amiss", () => {
    const messages = [text("Hi"), ...calls("a"), result("a"), ...calls("b"), result("b"), text("And?")];
    const paired = conversation.pair(messages);
    expect(paired).toEqual(messages);
    paired.forEach((message, index) => expect(message).toBe(messages[index]));
  });

  it("says of a call without a result that its outcome is unknown", () => {
    expect(pair(text("Hi"), ...calls("a", "b"), result("b"))).toEqual([
      "text",
      "call a",
      "call b",
      "unknown a",
      "result b",
    ]);
    expect(pair(...calls("a"))).toEqual(["call a", "unknown a"]);
  });

  it("drops a result without its call, and one that comes twice", () => {
    expect(pair(result("x"), text("Hi"))).toEqual(["text"]);
    expect(pair(...calls("a"), result("a"), result("a"), result("x"))).toEqual(["call a", "result a"]);
  });

  it("puts results in call order, right behind their calls", () => {
    expect(pair(...calls("a", "b"), result("b"), result("a"))).toEqual(["call a", "call b", "result a", "result b"]);
    expect(pair(...calls("a"), text("Wait"), result("a"))).toEqual(["call a", "result a", "text"]);
  });

  it("pairs calls of one id in their order", () => {
    expect(pair(...calls("a", "a"), result("a"))).toEqual(["call a", "call a", "result a", "unknown a"]);
  });

  it("brings a result back to its call that came when the model had gone on", () => {
    const late = [...calls("a"), text("Wait"), ...calls("b"), result("b"), result("a"), text("And?")];
    expect(pair(...late)).toEqual(["call a", "result a", "text", "call b", "result b", "text"]);
    const both = ["call a", "call b", "result a", "result b"];
    expect(pair(...calls("a"), ...calls("b"), result("a"), result("b")).toSorted()).toEqual(both);
    // Of two calls of one id the last one that has none; what is there twice is no late one.
    expect(pair(...calls("a"), text("1"), ...calls("a"), text("2"), ...calls("b"), result("b"), result("a"))).toEqual([
      "call a",
      "unknown a",
      "text",
      "call a",
      "result a",
      "text",
      "call b",
      "result b",
    ]);
    expect(pair(...calls("a"), text("Wait"), ...calls("a"), result("a"), result("a"))).toEqual([
      "call a",
      "unknown a",
      "text",
      "call a",
      "result a",
    ]);
  });

  it("brings results back to all calls of one id that have none, and to no other", () => {
    const rest = [...calls("b"), result("b"), result("a")];
    const told = ["call b", "result b"];
    expect(pair(...calls("a"), text("Wait"), ...calls("a"), result("a"), ...rest)).toEqual([
      "call a",
      "result a",
      "text",
      "call a",
      "result a",
      ...told,
    ]);
    expect(pair(...calls("a", "a"), result("a"), text("Wait"), ...rest)).toEqual([
      "call a",
      "call a",
      "result a",
      "result a",
      "text",
      ...told,
    ]);
    expect(pair(...calls("a"), text("1"), ...calls("a"), text("2"), ...rest, result("a"))).toEqual([
      "call a",
      "result a",
      "text",
      "call a",
      "result a",
      "text",
      ...told,
    ]);
  });

  it("loses nothing: whatever comes behind its call, and however late, is said once", () => {
    const call = fc.record({ turn: fc.nat({ max: 3 }), delay: fc.nat({ max: 4 }) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 6 }), fc.array(fc.nat({ max: 7 })), (made, texts) => {
        const messages = Array.from({ length: 8 }, (_, now) => {
          const begun = made.flatMap(({ turn }, index) => (turn === now ? [`${index}`] : []));
          const ended = made.flatMap(({ turn, delay }, index) => (turn + delay === now ? [result(`${index}`)] : []));
          return [...(texts.includes(now) ? [text("Hi")] : []), ...(begun.length > 0 ? calls(...begun) : []), ...ended];
        }).flat();
        expect(read(conversation.pair(messages)).toSorted()).toEqual(read(messages).toSorted());
      }),
      { numRuns: 300 },
    );
  });

  it("makes every history one that is right, and changes nothing a second time", () => {
    const piece = fc.oneof(
      fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
      fc.constantFrom("a", "b", "c", "d").map((id) => [result(id)]),
      fc.constant([text("Hi")]),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const paired = conversation.pair(pieces.flat());
        const open: string[] = [];
        for (const entry of read(paired)) {
          const [kind, id] = entry.split(" ") as [string, string];
          if (kind === "call") open.push(id);
          else if (kind === "text") expect(open).toEqual([]);
          else expect(open.shift()).toBe(id);
        }
        expect(open).toEqual([]);
        expect(conversation.pair(paired)).toEqual(paired);
      }),
      { numRuns: 300 },
    );
  });
});

describe("what only one provider wants", () => {
  it("anthropic: all results in the message behind the calls, and before what else it says", () => {
    const { calls, result } = rows[2]!;
    const mixed = {
      role: "user",
      content: [{ type: "text", text: "And:" }, ...(result("a") as { content: object[] }).content],
    };
    const paired = anthropic.conversation.pair([...calls("a", "b"), mixed, result("b")] as never);
    expect(rows[2]!.read(paired)).toEqual(["call a", "call b", "result a", "result b", "text"]);
    expect(paired[1]!.content).toHaveLength(2);
    expect(rows[2]!.read(anthropic.conversation.pair([...calls("a"), mixed] as never))).toEqual([
      "call a",
      "result a",
      "text",
    ]);
    const right = [...calls("a"), { ...mixed, content: mixed.content.toReversed() }] as never[];
    expect(anthropic.conversation.pair(right)).toEqual(right);
  });

  it("anthropic: the server's calls that never got a result, where the conversation went on without them", () => {
    const said = { type: "text" as const, text: "Let me search." };
    const search = { type: "server_tool_use" as const, id: "srvtoolu_1", name: "web_search" as const, input: {} };
    const found = { type: "web_search_tool_result" as const, tool_use_id: "srvtoolu_1", content: [] };
    const model = (...content: Anthropic.ContentBlockParam[]) => ({ role: "assistant" as const, content });
    const user = { role: "user" as const, content: "Never mind." };
    const { pair } = anthropic.conversation;
    expect(pair([user, model(said, search), user])).toEqual([user, model(said), user]);
    expect(pair([user, model(search), user])).toEqual([user, user]);
    // "The final block in an assistant message cannot be `thinking`": https://github.com/tailcallhq/forgecode/issues/3071
    const thought = { type: "thinking" as const, thinking: "Hm.", signature: "EqAB" };
    expect(pair([user, model(thought, search), user])).toEqual([user, user]);
    expect(pair([user, model(thought, said, thought, search), user])).toEqual([user, model(thought, said), user]);
    for (const right of [
      [user, model(said, search)],
      [user, model(search), model(found, said), user],
      [
        user,
        model(search, { type: "tool_use", id: "toolu_1", name: "f", input: {} }),
        { role: "user" as const, content: [{ type: "tool_result" as const, tool_use_id: "toolu_1" }] },
        user,
        model(found, said),
        user,
      ],
    ]) {
      expect(pair(right)).toEqual(right);
    }
    // Where its call gets a result, and nothing else is said, the program goes on.
    const use = { type: "tool_use" as const, id: "toolu_1", name: "f", input: {} };
    const caller = { type: "code_execution_20260120" as const, tool_id: "srvtoolu_1" };
    const waiting = model(said, search, { ...use, caller });
    const results = { role: "user" as const, content: [{ type: "tool_result" as const, tool_use_id: "toolu_1" }] };
    const again = model({ ...use, id: "toolu_2", caller });
    const more = { role: "user" as const, content: [{ type: "tool_result" as const, tool_use_id: "toolu_2" }] };
    for (const right of [
      [waiting, results],
      [waiting, results, again, more],
      [user, waiting, results, again, more, model(found, said), user],
    ]) {
      expect(pair(right)).toEqual(right);
    }
    // https://github.com/anthropics/anthropic-sdk-typescript/issues/1090
    const both = { role: "user" as const, content: [...results.content, said] };
    expect(pair([waiting, both])).toEqual([model(said, use), both]);
    expect(pair([waiting, results, user])).toEqual([model(said, use), results, user]);
    expect(pair([waiting, results, again, more, user])).toEqual([
      model(said, use),
      results,
      model({ ...use, id: "toolu_2" }),
      more,
      user,
    ]);
  });

  // "Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it":
  // https://github.com/anthropics/claude-code/issues/64026
  it("anthropic: the server's results, and programs' calls, whose beginning is no longer in the history", () => {
    const user = { role: "user" as const, content: "What we said before." };
    const said = { type: "text" as const, text: "Found it." };
    const thought = { type: "thinking" as const, thinking: "Hm.", signature: "EqAB" };
    const model = (...content: Anthropic.ContentBlockParam[]) => ({ role: "assistant" as const, content });
    const found = { type: "web_search_tool_result" as const, tool_use_id: "srvtoolu_1", content: [] };
    const { pair } = anthropic.conversation;
    expect(pair([user, model(found, thought, said), user])).toEqual([user, model(thought, said), user]);
    expect(pair([user, model(found), user])).toEqual([user, user]);
    const search = { type: "server_tool_use" as const, id: "srvtoolu_1", name: "web_search" as const, input: {} };
    // Not behind it: only before.
    expect(pair([user, model(found, said), user, model(search, found)])).toEqual([
      user,
      model(said),
      user,
      model(search, found),
    ]);
    const use = { type: "tool_use" as const, id: "toolu_1", name: "f", input: {} };
    const caller = { type: "code_execution_20260120" as const, tool_id: "srvtoolu_1" };
    const results = { role: "user" as const, content: [{ type: "tool_result" as const, tool_use_id: "toolu_1" }] };
    const ended = model({ ...found, type: "code_execution_tool_result", content: null } as never, said);
    expect(pair([user, model({ ...use, caller }), results, ended, user])).toEqual([
      user,
      model(use),
      results,
      model(said),
      user,
    ]);
    // The program that waits still needs its container.
    const container = "container_1";
    const program = { ...search, id: "srvtoolu_2", name: "code_execution" as const };
    const called = { ...use, caller: { ...caller, tool_id: "srvtoolu_2" } };
    for (const waiting of [
      [program, called],
      [program, use],
    ])
      expect(pair([user, { ...model(found, ...waiting), container } as never, results])).toEqual([
        user,
        { ...model(...waiting), container },
        results,
      ]);
    const direct = model({ ...use, caller: { type: "direct" } });
    expect(pair([user, direct, results])).toEqual([user, direct, results]);
  });

  it("google: all results in one content, found by name where there are no ids", () => {
    const call = (name: string) => ({ functionCall: { name, args: {} } });
    const response = (name: string, output: number) => ({
      role: "user" as const,
      parts: [{ functionResponse: { name, response: { output } } }],
    });
    const model = { role: "model" as const, parts: [call("x"), call("y"), call("x")] };
    const paired = google.conversation.pair([model, response("y", 1), response("x", 2), response("x", 3)]);
    expect(paired).toEqual([
      model,
      { role: "user", parts: [response("x", 2), response("y", 1), response("x", 3)].flatMap(({ parts }) => parts) },
    ]);
  });

  it("google: results in order become one content, too, and one without an id is found by its name", () => {
    const { calls, result } = rows[3]!;
    const unnamed = { role: "user", parts: [{ functionResponse: { name: "b", response: { output: "ok" } } }] };
    for (const second of [result("b"), unnamed]) {
      const [model, results] = google.conversation.pair([...calls("a", "b"), result("a"), second] as never[]);
      expect(model).toEqual(calls("a", "b")[0]);
      expect(results!.parts).toEqual([result("a"), second].flatMap((content) => (content as typeof unnamed).parts));
    }
  });

  // https://github.com/googleapis/js-genai/issues/1275
  it("google: what ai.chats keeps of a stream becomes one content, with every signature on its part", async () => {
    const call = (id: string) => ({ functionCall: { id, name: id, args: {} } });
    const chunks = [[{ ...call("a"), thoughtSignature: "S" }], [call("b")], [{ text: "", thoughtSignature: "T" }]];
    const body = chunks.map((parts, at) => ({
      candidates: [{ content: { role: "model", parts }, ...(at === 2 && { finishReason: "STOP" }) }],
    }));
    const client = new GoogleGenAI({ apiKey: "none" });
    vi.spyOn(client.models, "generateContentStream").mockResolvedValue(
      (async function* () {
        yield* body as never[];
      })(),
    );
    const chat = client.chats.create({ model: "m" });
    for await (const _ of await chat.sendMessageStream({ message: "Hi" }));
    const kept = chat.getHistory() as never[];
    expect(kept).toHaveLength(4);
    const result = (id: string) => ({ functionResponse: { id, name: id, response: { output: 1 } } });
    const results = { role: "user", parts: [result("a"), result("b")] };
    expect(google.conversation.pair([...kept, results as never])).toEqual([
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: chunks.flat() },
      results,
    ]);
  });

  it("google: a call that the server ran, with its result in a later chunk, gets no other one", () => {
    const parts = [
      { functionCall: { id: "a", name: "a", args: {} } },
      { functionResponse: { id: "a", name: "a", response: { output: 1 } } },
      { text: "1" },
    ];
    const kept = parts.map((part) => ({ role: "model" as const, parts: [part] }));
    expect(google.conversation.pair(kept)).toEqual([{ role: "model", parts }]);
  });

  it("google: results are alone in their content", () => {
    // "Requests ending with a model turn are not supported.": https://github.com/Prism-Shadow/agenthub/pull/189
    const { calls, result, text } = rows[3]!;
    const { parts: answered } = result("a") as { parts: object[] };
    const { parts: said } = text("And now?") as { parts: object[] };
    for (const parts of [
      [...answered, ...said],
      [...said, ...answered],
    ]) {
      const paired = google.conversation.pair([...calls("a"), { role: "user", parts }] as never[]);
      expect(paired).toEqual([...calls("a"), { role: "user", parts: answered }, { role: "user", parts: said }]);
    }
  });

  it("google: a call that the server ran has its result beside it", async () => {
    const { bytes } = loadFixture("google", "server-function");
    const turn = await google.read(new Response(new Uint8Array(bytes))).done();
    const history = google.assistantMessage(turn);
    expect(google.conversation.pair(history)).toEqual(history);
    const beside = {
      role: "model" as const,
      parts: [
        { functionCall: { name: "x", args: {} } },
        { functionCall: { name: "x", args: {} } },
        { functionResponse: { name: "x", response: {} } },
      ],
    };
    expect(google.conversation.pair([beside])[1]?.parts).toHaveLength(1);
  });

  it("openai-responses: results of calls that are at the provider stay", () => {
    const client = { responses: { create: () => ({ withResponse: () => Promise.reject(new Error("not asked")) }) } };
    const output = { type: "function_call_output" as const, call_id: "a", output: "ok" };
    const there = openaiResponses.model(client, { model: "m", previous_response_id: "resp_1" });
    const user = { role: "user" as const, content: "And?" };
    for (const history of [[output], [user, output, user]]) expect(there.pair(history)).toEqual(history);
    expect(openaiResponses.model(client, { model: "m" }).pair([output])).toEqual([]);
  });

  it("openai-responses: results of calls that are only referred to stay", () => {
    const output = (call_id: string) => ({ type: "function_call_output" as const, call_id, output: "ok" });
    const call = { type: "function_call" as const, call_id: "b", name: "b", arguments: "{}" };
    for (const reference of [{ type: "item_reference" as const, id: "fc_a" }, { id: "fc_a" }]) {
      const history = [reference, output("a"), { role: "user" as const, content: "And?" }];
      expect(openaiResponses.conversation.pair(history)).toEqual(history);
      expect(openaiResponses.conversation.pair([reference, call, output("a"), output("b")])).toEqual([
        reference,
        call,
        output("b"),
        output("a"),
      ]);
      // One that has its call before them is said once, behind that.
      const late = [call, { role: "user" as const, content: "Wait" }, reference, output("b")];
      expect(openaiResponses.conversation.pair(late)).toEqual([call, output("b"), late[1], reference]);
    }
  });

  // https://platform.openai.com/docs/api-reference/responses/create: `call_id` of an output is optional
  it("openai-responses: an output that names no call is none's result, and stays", () => {
    const told = { type: "function_call_output" as const, name: "inbox", output: "new mail" };
    const { calls, result, text } = rows[1]!;
    const history = [text("Go."), ...calls("a"), result("a"), told] as never[];
    expect(openaiResponses.conversation.pair(history)).toEqual(history);
    expect(openaiResponses.conversation.pair([...history.slice(0, 3), told, result("a")] as never[])).toEqual(history);
    expect(openaiResponses.conversation.pair([told])).toEqual([told]);
  });

  it("openai-responses: what stands for a missing result says which program waits for it", () => {
    const caller = { type: "program" as const, caller_id: "p_1" };
    const call = { type: "function_call" as const, call_id: "a", name: "a", arguments: "{}", caller };
    expect(openaiResponses.conversation.pair([call])).toMatchObject([call, { call_id: "a", caller }]);
  });

  it("openai-responses: tools that the model has found stand among its calls", () => {
    const { calls, result } = rows[1]!;
    const found = { type: "additional_tools", role: "developer", tools: [] };
    const history = [...calls("a"), found, ...calls("b"), result("a"), result("b")] as never[];
    expect(openaiResponses.conversation.pair(history)).toEqual(history);
  });
});

it.each(rows.filter(({ name }) => name === "openai-chat" || name === "cohere"))(
  "$name: messages of the model that follow one another each have their results behind them",
  ({ conversation, calls, read }) => {
    const messages = [...calls("a"), ...calls("b")];
    expect(read(conversation.pair(messages))).toEqual(["call a", "unknown a", "call b", "unknown b"]);
  },
);

const openaiCall = {
  role: "assistant",
  tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
};
const openaiResult = { role: "tool", tool_call_id: "a", content: "ok" };
const partsOnly = { role: "user", parts: [{ text: "Hi" }] };

it("keeps Anthropic's system messages, also one without content, which sets the effort", () => {
  const messages: Anthropic.Beta.BetaMessageParam[] = [
    { role: "user", content: "Hi" },
    { role: "system", output_config: { effort: "low" } },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "a", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "ok" }] },
    { role: "system", content: "Be brief.", output_config: { effort: "high" } },
  ];
  expect(anthropic.conversation.pair(messages as never)).toEqual(messages);
});

// Taken as they are their results would be dropped, or every request of the conversation refused.
it.each<[string, Conversation, object, RegExp]>([
  [
    "openai-chat",
    openaiChat.conversation,
    { role: "tool", toolCallId: "a", content: "ok" },
    /names its call in tool_call_id/,
  ],
  ["openai-chat", openaiChat.conversation, { type: "function_call_output", call_id: "a", output: "ok" }, /no role/],
  ["openai-responses", openaiResponses.conversation, openaiCall, /a message has content/],
  ["google", google.conversation, { role: "user", content: "Hi" }, /no list of parts/],
  ["google", google.conversation, { role: "assistant", parts: [{ text: "Hi" }] }, /"user" or "model", not "assistant"/],
  ["google-interactions", googleInteractions.conversation, { role: "user", content: "Hi" }, /a step has a type/],
  ["cohere", cohere.conversation, openaiCall, /the SDK spells toolCalls/],
  ["cohere", cohere.conversation, openaiResult, /names its call in toolCallId/],
  ["openai-chat", openaiChat.conversation, partsOnly, /parts, and no content/],
  ["openai-responses", openaiResponses.conversation, partsOnly, /a message has content/],
  ["openai-responses", openaiResponses.conversation, openaiResult, /a result is an item/],
  ["anthropic", anthropic.conversation, partsOnly, /a message has content/],
  ["anthropic", anthropic.conversation, openaiResult, /blocks of a message's content/],
  ["anthropic", anthropic.conversation, { ...openaiCall, content: "I look." }, /blocks of a message's content/],
  ["anthropic", anthropic.conversation, { type: "function_call", call_id: "a", arguments: "{}" }, /has content/],
  ["cohere", cohere.conversation, partsOnly, /parts, and no content/],
])("%s: refuses a message in another form", (_, { pair }, message, why) => {
  expect(() => pair([message])).toThrow(TypeError);
  expect(() => pair([message])).toThrow(why);
});

it.each<[string, (all: readonly object[]) => readonly object[]]>([
  [
    "in order",
    (all) => [
      { isModels: true, calls: all },
      { isModels: false, results: all },
    ],
  ],
  [
    "the last one first",
    (all) => [
      { isModels: true, calls: all },
      { isModels: false, results: all.toReversed() },
    ],
  ],
  [
    "when the model had gone on",
    (all) => [
      { isModels: true, calls: all },
      { isModels: false },
      { isModels: true },
      { isModels: false, results: all.toReversed() },
    ],
  ],
  [
    "of no call",
    (all) => [
      { isModels: true, calls: all },
      { isModels: false, results: all.map(() => ({ id: "x", name: "x" })) },
    ],
  ],
])("looks at each call a few times, however many a turn has: results %s", (_, messagesOf) => {
  let looks = 0;
  const all = Array.from({ length: 1000 }, (__, index) => ({
    name: "t",
    message: { isModels: false },
    get id() {
      looks++;
      return `id${index}`;
    },
  }));
  const paired = pairMessages(messagesOf(all) as any[], {
    parts: (message) => message,
    missing: () => ({}),
    joinsTurns: false,
    join: () => [{}],
  });
  expect(paired.length).toBeLessThan(5);
  expect(looks).toBeLessThan(30 * 1000);
});

it("google: looks at each call that the server ran a few times, however many a turn has", () => {
  let looks = 0;
  const all = Array.from({ length: 1000 }, (_, index) => ({
    name: "t",
    get id() {
      looks++;
      return `id${index}`;
    },
  }));
  const parts = [
    ...all.map((functionCall) => ({ functionCall })),
    ...all.toReversed().map((functionResponse) => ({ functionResponse })),
  ];
  expect(google.conversation.pair([{ role: "model", parts } as never])).toHaveLength(1);
  expect(looks).toBeLessThan(30 * 1000);
});

// Only at Google may a call have an id and its result none, or the other way round.
it("pairs by id where both have one, else by name", () => {
  const call = (id: string, name: string) => ({ functionCall: { ...(id && { id }), name, args: {} } });
  const result = (id: string, name: string, output: number) => ({
    functionResponse: { ...(id && { id }), name, response: { output } },
  });
  const pair = (calls: object[], results: object[]) =>
    google.conversation
      .pair([
        { role: "model", parts: calls },
        { role: "user", parts: results },
      ] as never[])[1]!
      .parts.map(({ functionResponse }: any) => functionResponse.response.output ?? "unknown");
  expect(pair([call("a", "x"), call("", "x")], [result("", "x", 2), result("c", "y", 3), result("a", "x", 1)])).toEqual(
    [1, 2],
  );
  expect(pair([call("", "x"), call("b", "y")], [result("", "y", 2), result("a", "x", 1)])).toEqual([1, 2]);
  expect(pair([call("", "x"), call("", "x")], [result("a", "x", 1), result("", "y", 3), result("b", "x", 2)])).toEqual([
    1, 2,
  ]);
  expect(pair([call("a", "x"), call("b", "x")], [result("b", "x", 2)])).toEqual(["unknown", 2]);
});
