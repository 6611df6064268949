import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { rescueTextCalls, textJson } from "../../adapters/text-json/index.ts";
import { wires, type Wire } from "../../bench/wires.ts";
import { defineTool, jsonSchema, ToolUse, type Adapter, type Turn } from "../../src/index.ts";
import { busyMs } from "../busy-ms.ts";
import { callsIn, resultsIn } from "../promises/support.ts";
import { fixtureNames, loadFixture, readPieces } from "../fixtures.ts";
import { iterate } from "../iterate.ts";
import { said as told } from "./support.ts";

const read = defineTool({
  name: "math.add",
  effect: "read",
  inputSchema: jsonSchema({ type: "object", properties: { a: { type: "integer" } }, required: ["a"] }),
  execute: ({ a }) => a + 1,
});
const call = '<tool_call>{"name": "math.add", "arguments": {"a": 1}}</tool_call>';

/** A message in these pieces. */
function turnOf(deltas: readonly object[], finish = "tool_calls"): Promise<Turn> {
  const events = [...deltas, undefined].map((delta) => {
    const choice = { index: 0, delta: delta ?? {}, finish_reason: delta === undefined ? finish : null };
    return { object: "chat.completion.chunk" as const, choices: [choice] };
  });
  return rescueTextCalls(openaiChat)
    .read(iterate(events), { tools: [read] })
    .done();
}

/** What its calls are given, or why they do not run. */
async function inputsOf(deltas: readonly object[], finish?: string): Promise<unknown[]> {
  const { calls } = await turnOf(deltas, finish);
  return calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : outcome?.code));
}

it.each<[string, unknown, object?]>([
  ["nothing", undefined],
  ["an adapter's name", "openai-chat"],
  ["only options", { notations: ["hermes"] }],
  ["the name of one notation", openaiChat, { notations: "hermes" }],
])("takes an adapter and a list of notations, not %s", (_, adapter, options) => {
  expect(() => rescueTextCalls(adapter as never, options)).toThrow(/takes an adapter, such as openaiChat, and/);
});

describe("a call that is rescued from the text", () => {
  const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
  const media = { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" };
  const said = (text: string) => ({ type: "text", text });
  it.each<[Adapter, object, unknown[]]>([
    [
      google,
      {
        candidates: [
          {
            content: { parts: [{ text: "One. " }, image, { text: call }, image, { text: "Two." }] },
            finishReason: "STOP",
          },
        ],
      },
      [
        {
          role: "model",
          parts: [{ text: "One. Two." }, image, image, { functionCall: { name: "math.add", args: { a: 1 } } }],
        },
      ],
    ],
    [
      googleInteractions,
      {
        status: "completed",
        steps: [
          { type: "model_output", content: [said("One. "), media, said(call)] },
          { type: "model_output", content: [said("Two.")] },
        ],
      },
      [
        { type: "model_output", content: [said("One. Two."), media] },
        { type: "function_call", id: expect.any(String), name: "math.add", arguments: { a: 1 } },
      ],
    ],
  ])("leaves images where they are, and the text where it began: $name", (adapter, response, expected) => {
    const rescuer = rescueTextCalls(adapter, { notations: ["hermes"] });
    const last = rescuer.parse(response, { tools: [read] }).at(-1) as { turn: Turn };
    expect(rescuer.assistantMessage(last.turn)).toEqual(expected);
  });

  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "goes back in the wire's own form, with its result: $name",
    async (adapter) => {
      const encode = wires[adapter.name as Wire];
      const args = JSON.stringify({ a: 5 });
      const body = encode({
        text: `One. ${call} Two. ${call}`,
        calls: [{ id: "call_0", name: adapter.toolName("math.add"), argsText: args }],
        deltaLength: 7,
      });
      const bytes = new TextEncoder().encode(body.join(""));
      const rescuer = rescueTextCalls(adapter, { notations: ["hermes"] });
      const { turn, events } = await readPieces(rescuer, [bytes], [read]);
      const inputs = events.flatMap((event) => (event.type === "tool-use" ? [event.use.input as unknown] : []));
      expect(inputs.toSorted((x, y) => JSON.stringify(x).localeCompare(JSON.stringify(y)))).toEqual([
        { a: 1 },
        { a: 1 },
        { a: 5 },
      ]);
      expect(turn.text).toBe("One.  Two. ");
      for (const { outcome } of turn.calls) if (outcome !== undefined && "execute" in outcome) await outcome.execute();
      const history = JSON.parse(JSON.stringify(rescuer.assistantMessage(turn))) as unknown;
      const results = JSON.parse(JSON.stringify(rescuer.toolResults(turn))) as unknown;
      expect(callsIn(history)).toHaveLength(3);
      expect(JSON.stringify(history)).toContain("One.  Two. ");
      expect(JSON.stringify(history)).not.toContain("tool_call>");
      expect(callsIn(history).toSorted()).toEqual(resultsIn(results).toSorted());
    },
  );

  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "is made once, where the server sends it in its field as well: $name",
    async (adapter) => {
      const encode = wires[adapter.name as Wire];
      const name = adapter.toolName("math.add");
      const sent = ['{"b":{"d":[2],"c":""},"a":1}', '{"a": 5}', '{"a":1}', '{"a":1}'];
      const calls = sent.map((argsText, index) => ({ id: `call_${index}`, name, argsText }));
      const text = `One. ${call}${call.replace(": 1", ': 1, "b": {"c": "", "d": [2]}')}`;
      const bytes = new TextEncoder().encode(encode({ text, calls, deltaLength: 7 }).join(""));
      const rescuer = rescueTextCalls(adapter);
      const { turn } = await readPieces(rescuer, [bytes], [read]);
      expect(turn.calls.map(({ outcome }) => (outcome as { input?: unknown }).input)).toEqual([
        { a: 1 },
        { a: 1, b: { c: "", d: [2] } },
        { a: 5 },
        { a: 1 },
      ]);
      expect(callsIn(JSON.parse(JSON.stringify(rescuer.assistantMessage(turn))))).toHaveLength(4);
    },
  );

  it.each([
    ["in a fence", '```json\n{"name": "math.add", "arguments": {"a": 1}}\n```'],
    ["in a list of Python calls", "[math.add(a=1)]"],
  ])("is made once, though only the end of the text tells that it is one: %s", async (_, text) => {
    const name = openaiChat.toolName("math.add");
    const calls = [1, 5].map((a, index) => ({ id: `call_${index}`, name, argsText: JSON.stringify({ a }) }));
    const bytes = new TextEncoder().encode(wires["openai-chat"]({ text, calls, deltaLength: 7 }).join(""));
    const { turn, events } = await readPieces(rescueTextCalls(openaiChat), [bytes], [read]);
    const inputs = events.flatMap((event) => (event.type === "tool-use" ? [event.use.input as unknown] : []));
    expect(inputs).toEqual(expect.arrayContaining([{ a: 1 }, { a: 5 }]));
    expect(inputs).toHaveLength(2);
    expect(turn.text).toBe("");
  });

  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "is mended where the server left marks in its arguments: $name",
    async (adapter) => {
      const encode = wires[adapter.name as Wire];
      const mark = "\u{ff5c}DSML\u{ff5c}";
      const leaked = `O</${mark}parameter><${mark}parameter name="b" string="false">[1]`;
      const calls = [{ a: leaked }, { a: "O" }, { a: leaked, b: 2 }, { a: `About </${mark}parameter>.` }].map(
        (args, index) => ({ id: `call_${index}`, name: "note", argsText: JSON.stringify(args) }),
      );
      const bytes = new TextEncoder().encode(encode({ text: "", calls, deltaLength: 7 }).join(""));
      const { turn } = await readPieces(rescueTextCalls(adapter, { notations: ["dsml"] }), [bytes], undefined);
      // Google sends whole objects: there are no marks between pieces of text.
      const mended = adapter === google ? { a: leaked } : { a: "O", b: [1] };
      expect(turn.calls.map(({ outcome }) => (outcome as { input?: unknown }).input)).toEqual([
        mended,
        { a: "O" },
        { a: leaked, b: 2 },
        { a: `About </${mark}parameter>.` },
      ]);
    },
  );

  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "goes back as itself where one call wrapped several: $name",
    async (adapter) => {
      const encode = wires[adapter.name as Wire];
      const wrapped = [1, 2].map((a) => ({ recipient_name: "functions.math.add", parameters: { a } }));
      const calls = [{ id: "call_0", name: "parallel", argsText: JSON.stringify({ tool_uses: wrapped }) }];
      const bytes = new TextEncoder().encode(encode({ text: "", calls, deltaLength: 7 }).join(""));
      const rescuer = rescueTextCalls(adapter);
      const { turn } = await readPieces(rescuer, [bytes], [read]);
      expect(turn.calls).toHaveLength(2);
      const history = JSON.stringify(rescuer.assistantMessage(turn));
      expect(history).not.toContain("tool_uses");
      expect(history.match(/\{\\*"a\\*":\d\}/g)?.map((args) => args.replaceAll("\\", ""))).toEqual([
        '{"a":1}',
        '{"a":2}',
      ]);
    },
  );

  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "is one of several in a wrapper, and harms no other: $name",
    async (adapter) => {
      const encode = wires[adapter.name as Wire];
      const wrapped = ["[".repeat(1000) + "]".repeat(1000), "9007199254740993", "2"].map(
        (a) => `{"recipient_name": "functions.math.add", "parameters": {"a": ${a}}}`,
      );
      const calls = [{ id: "call_0", name: "parallel", argsText: `{"tool_uses": [${wrapped.join(", ")}]}` }];
      const bytes = new TextEncoder().encode(encode({ text: "", calls, deltaLength: 7 }).join(""));
      const { turn } = await readPieces(rescueTextCalls(adapter), [bytes], [read]);
      expect(turn.error).toBeUndefined();
      expect(turn.calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : outcome?.code))).toEqual([
        "too_large",
        "invalid_input",
        { a: 2 },
      ]);
    },
  );

  it.each<[string, string, object[], number[]]>([
    [
      "a wrapper of others",
      "",
      [{ name: "parallel" }, { args: { tool_uses: [{ recipient_name: "math.add", parameters: { a: 1 } }] } }],
      [1],
    ],
    ["a call beside one in the text", call, [{ name: "math.add" }, { args: { a: 2 } }], [1, 2]],
  ])("is %s whose pieces have fewer labels than its head", async (_, text, pieces, expected) => {
    const last = pieces.length - 1;
    const parts = pieces.map((piece, i) => ({ functionCall: { ...piece, ...(i < last && { willContinue: true }) } }));
    const content = { role: "model", parts: [{ text }, ...parts] };
    const events = [{ candidates: [{ content, finishReason: "STOP" }] }];
    const turn = await rescueTextCalls(google)
      .read(iterate<any>(events), { tools: [read] })
      .done();
    expect(turn.calls.map(({ outcome }) => outcome)).toMatchObject(
      expected.map((a) => ({ name: "math.add", input: { a } })),
    );
  });

  it("wraps no others where a tool of that name was offered", async () => {
    const argsText = '{"tool_uses":[{"recipient_name":"functions.math.add","parameters":{"a":1}}]}';
    const calls = [{ id: "call_0", name: "parallel", argsText }];
    const bytes = new TextEncoder().encode(wires["openai-chat"]({ text: "", calls }).join(""));
    const { turn } = await readPieces(rescueTextCalls(openaiChat), [bytes], [read, { ...read, name: "parallel" }]);
    expect(turn.calls.map(({ name }) => name)).toEqual(["parallel"]);
  });

  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "changes nothing where there is none, whole or cut: $name",
    async (adapter) => {
      for (const name of fixtureNames(adapter.name)) {
        const { bytes, tools } = loadFixture(adapter.name, name);
        for (const body of [bytes, bytes.subarray(0, bytes.length / 2)]) {
          const [plain, rescued] = await Promise.all(
            [adapter, rescueTextCalls(adapter)].map((one) => readPieces(one, [body], tools)),
          );
          expect([name, told(rescued!)]).toEqual([name, told(plain!)]);
          expect(rescued!.events.map(({ type }) => type)).toEqual(plain!.events.map(({ type }) => type));
          expect(JSON.stringify(adapter.assistantMessage(rescued!.turn))).toBe(
            JSON.stringify(adapter.assistantMessage(plain!.turn)),
          );
        }
      }
    },
  );

  it("is found in a whole response, too, and with the adapter's own options", () => {
    const rescuer = rescueTextCalls(openaiChat);
    const response = {
      object: "chat.completion" as const,
      choices: [0, 1].map((index) => ({
        index,
        message: { role: "assistant", content: index === 1 ? call : "Hello." },
        finish_reason: "stop",
      })),
    };
    const names = (options: { choice?: number }) =>
      rescuer
        .parse(response, { tools: [read], ...options })
        .flatMap((event) => (event.type === "tool-use" ? [event.use.name] : []));
    expect(names({})).toEqual([]);
    expect(names({ choice: 1 })).toEqual(["math.add"]);
  });

  it("is found among very many in one piece as fast as without a wire", () => {
    function timeOf(run: () => unknown): number {
      const start = busyMs();
      run();
      return busyMs() - start;
    }
    const content = call.repeat(15_000);
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    const plain = timeOf(() => textJson("hermes").parse({ text: content }, { tools: [read] }));
    const rescuer = rescueTextCalls(openaiChat, { notations: ["hermes"] });
    // Looked for among all calls before it, each call would make the time grow with the square of their number.
    const rescued = timeOf(() => rescuer.parse({ object: "chat.completion", choices }, { tools: [read] }));
    expect(rescued).toBeLessThan(4 * plain + 300);
  });

  it("looks into the reasoning only when asked to", async () => {
    const { bytes, tools } = loadFixture("text-json/rescue", "quirk-29-kimi-in-reasoning");
    const { turn } = await readPieces(rescueTextCalls(openaiChat), [bytes], tools);
    expect(turn.calls).toEqual([]);
    expect(turn.reasoning).toContain("<|tool_call_begin|>");
  });

  it("names the notations there are", () => {
    expect(() => rescueTextCalls(openaiChat, { notations: ["xml" as never] })).toThrow(
      /There is no notation "xml"; there are hermes,/,
    );
    expect(() => textJson("xml" as never)).toThrow(TypeError);
  });
});

describe("a call in the field of a server that also lets text through", () => {
  const name = openaiChat.toolName("math.add");
  const open = '{"a":';
  const begins = (index?: number, id?: string, args = open) => ({ id, index, function: { name, arguments: args } });
  const goesOn = (a: number, index?: number, start = "") => ({ index, function: { arguments: `${start}${a}}` } });
  it.each([
    ["neither ids nor indexes", [begins(), goesOn(1), begins(), goesOn(5)]],
    ["one id and one index for all", [begins(0, "0"), goesOn(1, 0), begins(0, "0"), goesOn(5, 0)]],
    ["one index for all", [begins(0, "0", ""), goesOn(1, 0, open), begins(0, "1", ""), goesOn(5, 0, open)]],
    ["pieces in turns", [begins(0, "0"), begins(1, "1"), goesOn(1, 0), goesOn(5, 1)]],
  ])("is made once, where it is in the text as well, with %s", async (_, pieces) => {
    const deltas = [{ content: call }, ...pieces.map((piece) => ({ tool_calls: [piece] }))];
    expect(await inputsOf(deltas)).toEqual([{ a: 1 }, { a: 5 }]);
  });

  // As gateways do that cut a response into chunks: https://github.com/QuantumNous/new-api/issues/6223
  it.each([
    ["whole", 0],
    ["in pieces", 5],
  ])("is made once, where the server repeats it, which it has sent %s", async (_, cut) => {
    const repeated = (tool: string, args: string) => {
      const head = { index: 0, id: "0", function: { name: tool, arguments: args.slice(0, cut || Infinity) } };
      const rest = { index: 0, function: { arguments: args.slice(cut || Infinity) } };
      const again = { index: 0, id: "0", function: { name: tool, arguments: args } };
      return [head, rest, again].map((piece) => ({ tool_calls: [piece] }));
    };
    expect(await inputsOf([{ content: call }, ...repeated(name, '{"a":1}')])).toEqual([{ a: 1 }]);
    const uses = '{"tool_uses": [{"recipient_name": "functions.math.add", "parameters": {"a": 1}}]}';
    expect(await inputsOf(repeated("parallel", uses))).toEqual([{ a: 1 }]);
  });

  it("is made as often as the server sends it, where its calls have neither ids nor indexes", async () => {
    const whole = { tool_calls: [begins(undefined, undefined, '{"a":1}')] };
    expect(await inputsOf([{ content: call }, whole, whole])).toEqual([{ a: 1 }, { a: 1 }]);
  });

  it("is not the call of another tool, though that has its id, its index and its arguments", async () => {
    const other = { index: 0, id: "0", function: { name: "math.sub", arguments: '{"a":1}' } };
    const deltas = [begins(0, "0", '{"a":1}'), other].map((piece) => ({ tool_calls: [piece] }));
    expect(await inputsOf([{ content: call }, ...deltas])).toEqual([{ a: 1 }, "unknown_tool"]);
  });

  const fence = '```json\n{"name": "math.add", "arguments": {"a": 1}}\n```';
  it("keeps its place, where the one in the text turns out to be an example", async () => {
    const pieces = [begins(0, "0"), goesOn(1, 0), begins(1, "1"), goesOn(5, 1)].map((piece) => ({
      tool_calls: [piece],
    }));
    expect(await inputsOf([{ content: fence }, pieces[0]!, { content: " So." }, ...pieces.slice(1)])).toEqual([
      { a: 1 },
      { a: 5 },
    ]);
  });

  const mark = "\u{ff5c}DSML\u{ff5c}";
  const parameter = (key: string) => `<${mark}parameter name="${key}" string="false">1</${mark}parameter>`;
  it.each([
    ["which are parameters", `${parameter("a")}</${mark}invoke>`, { a: 1 }, "invalid_json"],
    ["which give a name twice", parameter("a") + parameter("a"), "invalid_json", "invalid_json"],
    ["which have something else", `${parameter("a")}and`, "invalid_json", "invalid_json"],
    ["which have no end", parameter("a").slice(0, -3), "invalid_json", "invalid_json"],
    ["which are only an end", `</${mark}invoke>`, "invalid_json", "invalid_json"],
  ])("is mended or refused, where its arguments are as the model wrote them, %s", async (_, args, whole, cut) => {
    for (const index of [0, undefined]) {
      const pieces = args.match(/[^]{1,7}/g)!.map((piece) => ({ index, function: { arguments: piece } }));
      const deltas = [{ index, id: "0", function: { name, arguments: "" } }, ...pieces];
      const message = deltas.map((one) => ({ tool_calls: [one] }));
      expect([await inputsOf(message), await inputsOf(message, "length")]).toEqual([[whole], [cut]]);
    }
  });

  it.each([
    ["behind a fence", fence, "math.add"],
    ["behind a call", call, "math.add"],
    ["of a wrapper", "", "parallel"],
  ])("has all of its arguments, where they are too long to hold back, %s", async (_, content, of) => {
    const long = "x".repeat(400_000);
    const args = [`{"a":5,"b":"</${mark}parameter>`, long, long, long, `"}`];
    const head = { index: 0, function: { name: openaiChat.toolName(of), arguments: "" } };
    const pieces = args.map((piece) => ({ index: 0, function: { arguments: piece } }));
    const { calls } = await turnOf([{ content }, ...[head, ...pieces].map((one) => ({ tool_calls: [one] }))]);
    expect(calls.some(({ argsText }) => argsText === args.join(""))).toBe(true);
  });

  const wrapped = '{"recipient_name": "functions.math.add", "parameters": {"a": 1}}';
  it.each([
    ["has no calls", '{"tool_uses": []}', "unknown_tool"],
    ["has something else", `{"tool_uses": [${wrapped}, null]}`, "unknown_tool"],
    ["has no list of them", `{"tool_uses": ${wrapped}}`, "unknown_tool"],
    ["has one without parameters", `{"tool_uses": [${wrapped}, {"recipient_name": "math.add"}]}`, "unknown_tool"],
    ["has one of an unknown tool", `{"tool_uses": [${wrapped.replace("add", "sub")}, ${wrapped}]}`, "unknown_tool"],
    ["is not closed", `{"tool_uses": [${wrapped}]`, "truncated"],
  ])("stays a wrapper that %s: %s", async (_, args, code) => {
    expect(await inputsOf([{ tool_calls: [{ index: 0, function: { name: "parallel", arguments: args } }] }])).toEqual([
      code,
    ]);
  });
});
