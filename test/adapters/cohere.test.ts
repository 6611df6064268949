import { CohereClientV2, type Cohere } from "cohere-ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cohere, resultContent, type WireEvent } from "../../adapters/cohere/index.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import { defineTool, type Tool, type Turn } from "../../src/index.ts";
import type { Loss } from "../../src/schema/lower.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { fixtureNames, fixturesDir, loadFixture, readPieces, sharedTools } from "../fixtures.ts";
import { iterate } from "../iterate.ts";

function tool(name: string, inputSchema: JsonSchema): Tool {
  return defineTool({ name, description: `What ${name} does.`, inputSchema, execute: (input: unknown) => input });
}

async function turnOf(name: string): Promise<Turn> {
  const fixture = loadFixture("cohere", name);
  return (await readPieces(cohere, [fixture.bytes], fixture.tools)).turn;
}

let server: ReplayServer;
beforeAll(async () => {
  server = await serveReplay({
    adapters: [cohere],
    fixtures: fixturesDir,
  });
});
afterAll(() => server.close());

/** The official client, pointed at a fixture. */
function client(name: string): CohereClientV2 {
  return new CohereClientV2({ token: "none", baseUrl: `${server.url}/cohere/${name}`, maxRetries: 0 });
}

const request = {
  model: "command-a-03-2025",
  messages: [{ role: "user", content: "Go." }] satisfies Cohere.ChatMessageV2[],
};

describe("through the official client", () => {
  /** Where the client itself loses something: what it gives is a stream that was cut, of which nothing is written. */
  const losses: Record<string, string> = {
    "no-done-line": "drops a last line that has no line break",
    "done-in-arguments": "takes a line that holds [DONE] anywhere for the end",
    "error-object": "throws on an event without a type",
  };
  const streamed = fixtureNames("cohere").filter((name) => !loadFixture("cohere", name).isWhole);

  it.each(streamed.filter((name) => !Object.hasOwn(losses, name)))(
    "%s reads as it does from the bytes",
    async (name) => {
      const { tools, expected } = loadFixture("cohere", name);
      const events = await client(name).chatStream(request);
      const turn = await cohere.read(events, { tools }).done();
      expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
    },
  );

  it.each(Object.entries(losses))("%s is a cut stream, since the client %s", async (name) => {
    const { tools } = loadFixture("cohere", name);
    const turn = await cohere.read(await client(name).chatStream(request), { tools }).done();
    expect(turn.error?.code).toBe("connection_lost");
    expect(turn.calls.filter((call) => call.released && !call.tool?.eager)).toEqual([]);
  });

  it.each(fixtureNames("cohere").filter((name) => loadFixture("cohere", name).isWhole))(
    "%s parses as it does from the bytes",
    async (name) => {
      const { tools, expected } = loadFixture("cohere", name);
      const response = await client(name).chat(request);
      const last = cohere.parse(response, { tools }).at(-1);
      expect(last).toMatchObject({ type: "finish", reason: expected.finishReason });
      expect(JSON.parse(JSON.stringify(summarize((last as { turn: Turn }).turn)))).toEqual(expected);
    },
  );

  it.each(["reset", "end"] as const)("writes nothing of a stream that is cut by a %s", async (cut) => {
    const cutting = await serveReplay({
      adapters: [cohere],
      fixtures: fixturesDir,
      behavior: { "cohere/parallel": { cutAtByte: loadFixture("cohere", "parallel").bytes.length - 300, cut } },
    });
    try {
      const baseUrl = `${cutting.url}/cohere/parallel`;
      const events = await new CohereClientV2({ token: "none", baseUrl, maxRetries: 0 }).chatStream(request);
      const turn = await cohere.read(events, { tools: sharedTools }).done();
      expect(turn.error?.code).toBe("connection_lost");
      expect(summarize(turn).toolCalls.map(({ name, released }) => [name, released])).toEqual([
        ["get_weather", true],
        ["get_weather", true],
        ["refund_order", false],
      ]);
    } finally {
      await cutting.close();
    }
  });

  it("tells what Cohere said when it refused the request", async () => {
    const refusing = await serveReplay({
      adapters: [cohere],
      fixtures: fixturesDir,
      behavior: { "cohere/one-call": { status: 429, message: "trial keys are limited to 20 calls a minute" } },
    });
    try {
      const response = await fetch(`${refusing.url}/cohere/one-call/v2/chat`, {
        method: "POST",
        body: JSON.stringify({ ...request, stream: true }),
      });
      const turn = await cohere.read(response).done();
      expect(turn.error).toMatchObject({
        code: "provider_error",
        message: expect.stringContaining("trial keys are limited to 20 calls a minute"),
      });
    } finally {
      await refusing.close();
    }
  });

  it("sends the tools, and the history of a turn, as the wire spells them", async () => {
    const turn = await turnOf("one-call");
    for (const call of turn.calls) await (call.outcome as { execute(): Promise<unknown> }).execute();
    await client("text-only").chatStream({
      ...request,
      messages: [...request.messages, ...cohere.assistantMessage(turn), ...cohere.toolResults(turn)],
      ...cohere.request(sharedTools.slice(0, 1), { strict: true, choice: { name: "get_weather" } }),
    });
    expect(server.requests.at(-1)).toMatchObject({ method: "POST", path: "/v2/chat", fixture: "cohere/text-only" });
    expect(server.requests.at(-1)?.body).toEqual({
      model: "command-a-03-2025",
      stream: true,
      strict_tools: true,
      tool_choice: "REQUIRED",
      tools: [
        {
          type: "function",
          function: expect.objectContaining({
            name: "get_weather",
            parameters: expect.objectContaining({ required: ["city"] }),
          }),
        },
      ],
      messages: [
        { role: "user", content: "Go." },
        {
          role: "assistant",
          tool_plan: "I will look up the weather in Bergen.",
          tool_calls: [
            {
              id: "get_weather_8k2m4x9q1zta",
              type: "function",
              function: { name: "get_weather", arguments: '{"city": "Bergen", "unit": "celsius"}' },
            },
          ],
        },
        {
          role: "tool",
          tool_call_id: "get_weather_8k2m4x9q1zta",
          content: '{"tool":"get_weather","input":{"city":"Bergen","unit":"celsius"}}',
        },
      ],
    });
  });
});

describe("tools", () => {
  const inner = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };

  it("sends a schema as it is when nothing holds the model to it", () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer", minimum: 1 }, any: {}, one: { oneOf: [{ type: "string" }, inner] } },
      additionalProperties: false,
    };
    expect(
      cohere.tools([tool("f", { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema })], {
        onLoss: "throw",
      }),
    ).toEqual([{ type: "function", function: { name: "f", description: "What f does.", parameters: schema } }]);
  });

  it("maps a name that Cohere refuses, and reads the call of it", async () => {
    const search = tool("web.search-now", { type: "object" });
    expect(cohere.tools([search])[0]?.function?.name).toBe("web__search__now");
    expect(cohere.toolName("2nd")).toBe("_2nd");
    const events: WireEvent[] = [
      {
        type: "tool-call-start",
        index: 0,
        delta: { message: { tool_calls: { id: "c", function: { name: "web__search__now", arguments: "{}" } } } },
      },
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ];
    const turn = await cohere.read(iterate(events), { tools: [search] }).done();
    expect(turn.calls[0]?.name).toBe("web.search-now");
    expect(turn.calls[0]?.tool).toBe(search);
    expect(cohere.assistantMessage(turn)).toMatchObject([{ toolCalls: [{ function: { name: "web__search__now" } }] }]);
  });

  const strictCases: [string, Record<string, unknown>, Record<string, unknown>, string[]][] = [
    [
      "keeps what the grammar knows",
      { e: { enum: ["x"] }, c: { const: 1 }, f: { type: "string", format: "date" }, o: inner },
      { e: { enum: ["x"] }, c: { const: 1 }, f: { type: "string", format: "date" }, o: inner },
      [],
    ],
    [
      "keeps a record",
      { r: { type: "object", additionalProperties: { type: "number" } } },
      { r: { type: "object", additionalProperties: { type: "number" } } },
      [],
    ],
    [
      "tells ranges in the description",
      { n: { type: "integer", minimum: 1, maximum: 9 } },
      { n: { type: "integer", description: "(minimum: 1, maximum: 9)" } },
      ["/properties/n unsupported:minimum", "/properties/n unsupported:maximum"],
    ],
    [
      "tells lengths and other formats in the description",
      { s: { type: "string", minLength: 2, format: "email", description: "Whom." } },
      { s: { type: "string", description: 'Whom. (minLength: 2) (format: "email")' } },
      ["/properties/s unsupported:minLength", "/properties/s unsupported:format"],
    ],
    [
      "keeps a pattern without anchors",
      { s: { type: "string", pattern: "[a-z]+" } },
      { s: { type: "string", pattern: "[a-z]+" } },
      [],
    ],
    [
      "tells a pattern with anchors",
      { s: { type: "string", pattern: "^[a-z]+$" } },
      { s: { type: "string", description: '(pattern: "^[a-z]+$")' } },
      ["/properties/s unsupported:pattern"],
    ],
    [
      "tells a pattern that Python does not read",
      { s: { type: "string", pattern: "\\p{L}" } },
      { s: { type: "string", description: '(pattern: "\\\\p{L}")' } },
      ["/properties/s unsupported:pattern"],
    ],
    [
      "says a choice of types as anyOf",
      { s: { type: ["string", "null"] } },
      { s: { anyOf: [{ type: "string" }, { type: "null" }] } },
      [],
    ],
    [
      "says a discriminated union as anyOf",
      {
        u: {
          oneOf: [
            { ...inner, properties: { a: { const: "x" } } },
            { ...inner, properties: { a: { const: "y" } } },
          ],
        },
      },
      {
        u: {
          anyOf: [
            { ...inner, properties: { a: { const: "x" } } },
            { ...inner, properties: { a: { const: "y" } } },
          ],
        },
      },
      [],
    ],
    [
      "reports an object that has no property to require",
      { o: { type: "object", properties: {}, additionalProperties: true } },
      { o: { type: "object", properties: {}, additionalProperties: true } },
      ["/properties/o requireOne"],
    ],
    [
      "requires a property of an object whose list of them is empty",
      { o: { type: "object", properties: { a: { type: "string" } }, required: [] } },
      {
        o: {
          type: "object",
          properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } },
          required: ["a"],
        },
      },
      [],
    ],
    [
      "folds allOf",
      { i: { allOf: [inner, { properties: { b: { type: "number" } } }] } },
      { i: { ...inner, properties: { a: { type: "string" }, b: { type: "number" } } } },
      [],
    ],
  ];
  it.each(strictCases)("strict: %s", (_, properties, expected, losses) => {
    const found: Loss[] = [];
    const required = Object.keys(properties);
    const [param] = cohere.tools([tool("f", { type: "object", properties, required })], {
      strict: true,
      onLoss: (loss) => found.push(loss),
    });
    expect(param?.function?.parameters).toEqual({ type: "object", properties: expected, required });
    expect(found.map(({ path, rule }) => `${path} ${rule}`)).toEqual(losses);
  });

  it("strict: keeps recursion", () => {
    const $defs = {
      Node: {
        type: "object",
        properties: { name: { type: "string" }, next: { $ref: "#/$defs/Node" } },
        required: ["name"],
      },
    };
    const schema = { type: "object", properties: { first: { $ref: "#/$defs/Node" } }, required: ["first"], $defs };
    expect(cohere.tools([tool("f", schema)], { strict: true, onLoss: "throw" })[0]?.function?.parameters).toEqual(
      schema,
    );
  });

  it("strict: makes one property required where all are optional, and reads its null as absent", async () => {
    const setVolume = sharedTools.find(({ name }) => name === "set_volume")!;
    const [param] = cohere.tools([setVolume], { strict: true, onLoss: "throw" });
    expect(param?.function?.parameters).toMatchObject({
      required: ["level"],
      properties: { level: { anyOf: [{ type: "integer" }, { type: "null" }] }, room: { type: "string" } },
    });
    const events: WireEvent[] = [
      {
        type: "tool-call-start",
        index: 0,
        delta: {
          message: {
            tool_calls: { id: "c", function: { name: "set_volume", arguments: '{"level": null, "mute": true}' } },
          },
        },
      },
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ];
    const turn = await cohere.read(iterate(events), { tools: [setVolume] }).done();
    expect(summarize(turn).toolCalls[0]).toMatchObject({ input: { mute: true }, released: true });
  });

  it.each(["one-call", "parallel"])("%s runs each call once, whatever part of the stream comes again", async (name) => {
    const { bytes, tools, expected } = loadFixture("cohere", name);
    const frames = new TextDecoder().decode(bytes).match(/.+?\n\n/gs)!;
    const whole = expected.toolCalls.map(({ input }) => JSON.stringify(input)).toSorted();
    const ends = frames.flatMap((frame, at) => (frame.includes('"tool-call-end"') ? [at + 1] : []));
    const starts = frames.flatMap((frame, at) => (/"(message|tool-call)-start"/.test(frame) ? [at] : []));
    for (const end of ends) {
      for (const start of starts.filter((at) => at < end)) {
        const again = [...frames.slice(0, end), ...frames.slice(start)].join("");
        const { turn, events } = await readPieces(cohere, [new TextEncoder().encode(again)], tools);
        const ran = events.flatMap((event) => (event.type === "tool-use" ? [JSON.stringify(event.use.input)] : []));
        expect(ran.toSorted()).toEqual(whole);
        expect(cohere.toolResults(turn)).toHaveLength(whole.length);
      }
    }
  });

  it("tells the model of arguments that are no object, and takes an empty list for none", async () => {
    const anything = tool("f", { type: "object" });
    const turnWith = (args: unknown): Promise<Turn> => {
      const tool_calls = [{ id: "c", type: "function", function: { name: "f", arguments: args } }];
      const whole = { id: "1", message: { role: "assistant", tool_calls }, finish_reason: "TOOL_CALL" };
      return cohere.read(iterate([whole] as WireEvent[]), { tools: [anything] }).done();
    };
    expect(summarize(await turnWith(["rm"])).toolCalls).toMatchObject([{ status: "invalid", released: false }]);
    expect(summarize(await turnWith([])).toolCalls).toMatchObject([{ input: {}, released: true }]);
  });

  it("takes an empty list at the beginning of a call for none yet", async () => {
    const begun = { id: "c", type: "function", function: { name: "f", arguments: [] } };
    const events = [
      { type: "message-start", id: "1" },
      { type: "tool-call-start", index: 0, delta: { message: { tool_calls: begun } } },
      ...["\n", '{"a"', ":1}"].map((piece) => ({
        type: "tool-call-delta",
        index: 0,
        delta: { message: { tool_calls: { function: { arguments: piece } } } },
      })),
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ];
    const turn = await cohere.read(iterate(events as unknown as WireEvent[]), { tools: [tool("f", {})] }).done();
    expect(summarize(turn).toolCalls).toMatchObject([{ input: { a: 1 }, released: true }]);
  });

  // https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/cohere/serving.py
  describe("a call that vLLM ends amid its arguments", () => {
    const call = (index: number, id: string, args = "") => ({
      type: "tool-call-start",
      index,
      delta: { message: { tool_calls: { id, type: "function", function: { name: "f", arguments: args } } } },
    });
    const more = (index: number, args: string) => ({
      type: "tool-call-delta",
      index,
      delta: { message: { tool_calls: { function: { arguments: args } } } },
    });
    const close = (index: number) => ({ type: "tool-call-end", index });
    const said = { type: "content-delta", index: 0, delta: { message: { content: { text: "\n" } } } };
    const callsOf = async (...events: object[]) => {
      const all = [
        { type: "message-start", id: "1" },
        ...events,
        { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
      ];
      const turn = await cohere.read(iterate(all as WireEvent[]), { tools: [tool("f", {})] }).done();
      return summarize(turn).toolCalls.map(({ status, input }) => [status, input]);
    };

    it.each<[string, object[], unknown[]]>([
      ["text", [call(0, "a"), more(0, '{"a"'), close(0), said, more(0, ":1}")], [["complete", { a: 1 }]]],
      [
        "text, right behind its start",
        [call(0, "a", '{"a"'), close(0), said, more(0, ":1}")],
        [["complete", { a: 1 }]],
      ],
      [
        "the next call",
        [call(0, "a"), more(0, '{"a"'), close(0), call(1, "b"), more(0, ":1}"), more(1, '{"a":2}'), close(1)],
        [
          ["complete", { a: 1 }],
          ["complete", { a: 2 }],
        ],
      ],
    ])("goes on behind %s", async (_, events, calls) => {
      expect(await callsOf(...events)).toEqual(calls);
    });

    it.each<[string, object[]]>([
      ["nothing", []],
      ["text", [said]],
      ["the next call", [call(1, "b", "{}"), close(1)]],
    ])("is truncated if %s follows, and not the rest", async (_, events) => {
      const calls = await callsOf(call(0, "a"), more(0, '{"a"'), close(0), ...events);
      expect(calls[0]![0]).toBe("truncated");
    });

    it("is over if its arguments are null", async () => {
      const events = [{ type: "message-start", id: "1" }, call(0, "a"), more(0, "null"), close(0)];
      const read = defineTool({ name: "f", inputSchema: {}, effect: "read", execute: () => 1 });
      const turn = await cohere.read(iterate(events as WireEvent[]), { tools: [read] }).done();
      expect(summarize(turn).toolCalls).toMatchObject([{ input: {}, released: true }]);
    });
  });

  it.each(["", false, null])("has the message of an error that is %j", async (error) => {
    const events = [{ error, message: "internal server error" }] as unknown as WireEvent[];
    const turn = await cohere.read(iterate(events)).done();
    expect(turn.error).toMatchObject({ code: "provider_error", message: "internal server error" });
  });

  it.each<[string, unknown]>([
    ["overloaded", { type: "message-end", delta: { finish_reason: "ERROR", error: { message: "overloaded" } } }],
    ["overloaded", { type: "message-end", delta: { finish_reason: "COMPLETE", error: { message: "overloaded" } } }],
    ["overloaded", { type: "error", error: { error: { message: "overloaded" } } }],
    ['{"type":"error","code":5}', { type: "error", code: 5 }],
  ])("says %s of %j", async (message, event) => {
    const turn = await cohere.read(iterate([{ type: "message-start", id: "1" }, event] as WireEvent[])).done();
    expect(turn.error).toMatchObject({ code: "provider_error", message });
  });

  it.each([
    [{ type: "error", request_id: "req_1" }, '{"type":"error","request_id":"req_1"}'],
    [{ error: { code: 500 } }, '{"code":500}'],
    [{ error: { error: { message: "overloaded" } } }, "overloaded"],
    [{ error: [{ detail: "no such model" }] }, "no such model"],
    [{ detail: [{ loc: ["body"], msg: "no such model" }] }, "no such model"],
    [{ success: false, errors: [{ code: 1, message: "overloaded" }] }, "overloaded"],
  ])("says what there is of an error without a message in its place: %j", async (event, message) => {
    const turn = await cohere.read(iterate([event as unknown as WireEvent])).done();
    expect(turn.error).toMatchObject({ code: "provider_error", message });
  });

  it("takes a list in the place of a message for no answer", async () => {
    const turn = await cohere.read(iterate([{ id: "1", message: ["no"] } as unknown as WireEvent])).done();
    expect(turn.error?.code).toBe("connection_lost");
  });

  it("takes an empty error for none", async () => {
    const setVolume = sharedTools.find(({ name }) => name === "set_volume")!;
    const tool_calls = { id: "c", function: { name: "set_volume", arguments: '{"level":3}' } };
    const pieces = [
      { type: "message-start", id: "1" },
      { type: "tool-call-start", index: 0, delta: { message: { tool_calls } } },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL", error: "" } },
    ];
    const whole = { id: "1", message: { tool_calls: [tool_calls] }, finish_reason: "TOOL_CALL", error: "" };
    for (const events of [pieces, [whole]] as WireEvent[][]) {
      const turn = await cohere.read(iterate(events), { tools: [setVolume] }).done();
      expect(summarize(turn).toolCalls[0]).toMatchObject({ input: { level: 3 }, released: true });
      expect(turn.finishMessage).toBeUndefined();
      expect(turn.responseId).toBe("1");
    }
  });

  it("strict: auto is strict for all tools or for none, since Cohere has one switch for them", () => {
    const fine = tool("fine", { ...inner, properties: { a: { type: ["string", "null"] } } });
    const bounded = tool("bounded", { ...inner, properties: { a: { type: "string", minLength: 1 } } });
    expect(cohere.request([fine], { strict: "auto" })).toMatchObject({
      strictTools: true,
      tools: [{ function: { parameters: { properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } } } }],
    });
    const both = cohere.request([fine, bounded], { strict: "auto", onLoss: "throw" });
    expect(both).not.toHaveProperty("strictTools");
    expect(both).toMatchObject({
      tools: [{ function: { parameters: { properties: { a: { type: ["string", "null"] } } } } }, {}],
    });
    expect(cohere.request([], { strict: "auto" })).toEqual({});
  });
});

describe("toolChoice", () => {
  it.each([
    ["auto", {}],
    ["none", { toolChoice: "NONE" }],
    ["required", { toolChoice: "REQUIRED" }],
    [{ name: "now" }, { toolChoice: "REQUIRED" }],
    [{ names: ["now"] }, {}],
    [{ names: ["now"], required: true }, { toolChoice: "REQUIRED" }],
    [{ names: [] }, { toolChoice: "NONE" }],
  ] as const)("%j", (choice, expected) => {
    expect(cohere.toolChoice(choice)).toEqual(expected);
  });

  it("filters the tools of a request by name", () => {
    expect(names({ name: "now" })).toEqual(["now"]);
    expect(names({ names: ["write_file", "now"] })).toEqual(["now", "write_file"]);
    expect(names("required")).toHaveLength(sharedTools.length);
    expect(() => names({ name: "nwo" })).toThrow(/nwo.*get_weather/);
    expect(cohere.request([], { choice: "none" })).toEqual({});
  });
});

describe("history", () => {
  it("keeps the plan apart from the thinking", async () => {
    expect(cohere.assistantMessage(await turnOf("reasoning"))).toEqual([
      {
        role: "assistant",
        toolPlan: " I will calculate it.",
        content: [{ type: "thinking", thinking: "The user wants the sum. I should not guess, the tool can do it." }],
        toolCalls: [
          {
            id: "calculate_r1e2a3s4o5n6",
            type: "function",
            function: { name: "calculate", arguments: '{"expression": "418 * 77"}' },
          },
        ],
      },
    ]);
  });

  it("keeps text and thinking in their order", async () => {
    expect(cohere.assistantMessage(await turnOf("thinking-then-text"))).toEqual([
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Easy: seven and five." },
          { type: "text", text: "It is twelve." },
        ],
      },
    ]);
  });

  // https://github.com/vercel/ai/issues/5794
  it("gives text beside calls back as a part of the plan, since the API takes no text there", async () => {
    const content = (index: number, block: object) => ({
      type: "content-start",
      index,
      delta: { message: { content: block } },
    });
    const plan = { type: "tool-plan-delta", delta: { message: { tool_plan: "I will look." } } };
    const tool_calls = { id: "c1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } };
    const call = { type: "tool-call-start", index: 0, delta: { message: { tool_calls } } };
    const end = { type: "message-end", delta: { finish_reason: "TOOL_CALL" } };
    const said = [content(0, { type: "thinking", thinking: "Hm." }), content(1, { type: "text", text: "One moment." })];
    const back = async (...events: object[]) =>
      cohere.assistantMessage(await cohere.read(iterate([...events, call, end] as WireEvent[])).done())[0];
    const thinking = [{ type: "thinking", thinking: "Hm." }];
    expect(await back(...said)).toMatchObject({
      toolPlan: "One moment.",
      content: thinking,
      toolCalls: [{ id: "c1" }],
    });
    expect(await back(plan, ...said)).toMatchObject({ toolPlan: "I will look.\nOne moment.", content: thinking });
    expect(await back(said[1]!)).not.toHaveProperty("content");
  });

  it.each([
    ["cut", [], []],
    ["cut by its length", [], [{ type: "message-end", delta: { finish_reason: "MAX_TOKENS" } }]],
    ["of which an answer came", [{ type: "text", text: "Done." }], []],
  ])("gives a plan back as text that was %s, since a plan is read only with its calls", async (_, content, end) => {
    const plan = { type: "tool-plan-delta", delta: { message: { tool_plan: "I will look." } } };
    const said = content.map((block, index) => ({
      type: "content-start",
      index,
      delta: { message: { content: block } },
    }));
    const turn = await cohere.read(iterate([plan, ...said, ...end] as WireEvent[])).done();
    expect(cohere.assistantMessage(turn)).toEqual([
      { role: "assistant", content: [{ type: "text", text: "I will look." }, ...content] },
    ]);
  });

  it("gives citations back in the client's spelling, what a tool said untouched", async () => {
    const [message] = cohere.assistantMessage(await turnOf("citations"));
    expect(message).toMatchObject({
      citations: [
        {
          start: 6,
          end: 16,
          text: "21 degrees",
          type: "TEXT_CONTENT",
          contentIndex: 0,
          sources: [{ type: "tool", toolOutput: { city: "Oslo", celsius: "21" } }],
        },
      ],
    });
    expect(JSON.stringify(message)).not.toContain("tool_output");
  });

  it("passes over what is no citation and no source, in pieces and whole", async () => {
    const citation = { start: 0, end: 2, text: "21", sources: [null, { type: "tool", id: "a" }, "b"] };
    const citations = [null, citation];
    const events = [
      { type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "21" } } } },
      { type: "citation-start", delta: { message: { citations } } },
      { type: "message-end", delta: { finish_reason: "COMPLETE" } },
    ] as WireEvent[];
    const message = { role: "assistant", content: [{ type: "text", text: "21" }], citations };
    const whole = { id: "1", message, finish_reason: "COMPLETE" } as WireEvent;
    for (const turn of [await cohere.read(iterate(events)).done(), await cohere.read(iterate([whole])).done()]) {
      expect(cohere.assistantMessage(turn)[0]).toMatchObject({
        citations: [{ start: 0, end: 2, text: "21", sources: [{ type: "tool", id: "a" }] }],
      });
    }
  });

  it("is plain JSON, so that it can be kept", async () => {
    const { native } = await turnOf("reasoning");
    expect(JSON.parse(JSON.stringify(native))).toEqual(native);
  });

  it("is nothing for a turn in which nothing came", async () => {
    const turn = await cohere.read(iterate<WireEvent>([])).done();
    expect(cohere.assistantMessage(turn)).toEqual([]);
  });

  it("has one result for every call, in call order, also for those that did not run", async () => {
    const turn = await turnOf("truncated-by-length");
    for (const call of turn.calls) if (call.released) await (call.outcome as { execute(): Promise<unknown> }).execute();
    const results = cohere.toolResults(turn) as { role: string; toolCallId: string; content: string }[];
    expect(results.map(({ role, toolCallId }) => [role, toolCallId])).toEqual([
      ["tool", "get_weather_t1r2u3n4c5a6"],
      ["tool", "refund_order_t9r8u7n6c5a4"],
      ["tool", "write_file_t5r5u5n5c5a5"],
    ]);
    expect(JSON.parse(results[0]!.content)).toMatchObject({ tool: "get_weather" });
    expect(JSON.parse(results[1]!.content)).toEqual({ error: expect.stringContaining("not executed") });
    expect(JSON.parse(results[2]!.content)).toEqual({ error: expect.stringContaining("cut") });
  });

  it("says of a call that was handed out and not executed that it was not", async () => {
    expect(cohere.toolResults(await turnOf("one-call"))).toMatchObject([
      { content: '{"error":"The call of get_weather was not executed."}' },
    ]);
  });

  it.each([
    ["quirk-13-null-arguments", ["{}", "{}", "{}"]],
    ["malformed-json", ['{"city": "Turin", "unit": "celsius"}']],
    ["truncated-and-ended", ['{"INVALID_JSON":"{\\"level\\": 4, \\"room\\": \\"kit"}']],
    ["quirk-12-arguments-as-object", ['{"city":"Gent"}']],
  ])("%s: arguments in the history are the JSON of an object", async (name, expected) => {
    const [message] = cohere.assistantMessage(await turnOf(name)) as { toolCalls: Cohere.ToolCallV2[] }[];
    expect(message?.toolCalls.map((call) => call.function?.arguments)).toEqual(expected);
  });

  it("gives text as it is, anything else as JSON, and nothing as null", async () => {
    const use = tool("f", { type: "object" }).use({}, { id: "call" });
    expect(cohere.toolResult(use, "plain")).toEqual({ role: "tool", toolCallId: "call", content: "plain" });
    expect(cohere.toolResult(use, [1])).toMatchObject({ content: "[1]" });
    expect(cohere.toolResult(use, undefined)).toMatchObject({ content: "null" });
  });

  it("gives documents that are marked, and their look-alikes as JSON", () => {
    const use = tool("f", { type: "object" }).use({}, { id: "call" });
    const documents: Cohere.ToolContent[] = [
      { type: "document", document: { id: "faq-7", data: { title: "Returns", text: "30 days" } } },
    ];
    expect(cohere.toolResult(use, resultContent(documents))).toMatchObject({ content: documents });
    expect(cohere.toolResult(use, documents)).toMatchObject({ content: JSON.stringify(documents) });
    const cut: Cohere.ToolContent[] = [{ type: "document", document: { data: { text: "30 \ud83d" } } }];
    const whole = [{ type: "document", document: { data: { text: "30 \ufffd" } } }];
    expect(cohere.toolResult(use, resultContent(cut))).toMatchObject({ content: whole });
  });
});

it("takes a client for the model that has nothing but chatStream()", async () => {
  const { bytes, tools } = loadFixture("cohere", "one-call");
  const model = cohere.model({ chatStream: async () => iterate([bytes]) as never }, { model: "command-a-03-2025" });
  const turn = await model.open({ messages: request.messages, tools }).done();
  expect(turn.calls.map(({ name }) => name)).toEqual(["get_weather"]);
});

describe("usage", () => {
  it("counts what the model read and wrote, not what is billed", async () => {
    expect((await turnOf("one-call")).usage).toMatchObject({
      inputTokens: 1312,
      outputTokens: 48,
      totalTokens: 1360,
      raw: { cached_tokens: 960 },
    });
  });

  it("has no total of counts of which one is missing, and reads those of the client", async () => {
    const usage = { billedUnits: { outputTokens: 5 }, cachedTokens: 2 };
    const events = [{ type: "message-end", delta: { finishReason: "COMPLETE", usage } }] as WireEvent[];
    const turn = await cohere.read(iterate(events)).done();
    expect(turn.usage).toMatchObject({
      inputTokens: undefined,
      outputTokens: 5,
      totalTokens: undefined,
      cacheReadTokens: 2,
    });
  });
});

describe("endpoint", () => {
  it("knows a request for a stream from one for a whole response", () => {
    expect(ask("/v2/chat", { stream: true })).toBe("stream");
    expect(ask("/proxy/v2/chat", { stream: false })).toBe("whole");
    expect(ask("/v2/chat", {})).toBe("whole");
    expect(ask("/v1/chat", { stream: true })).toBeUndefined();
    expect(ask("/v2/chat", undefined, "GET")).toBeUndefined();
  });
  it("answers errors as Cohere does", () => {
    expect(cohere.endpoint.errorBody(429, "slow down")).toEqual({ message: "slow down" });
  });
});

function names(choice: ToolChoice) {
  return cohere.request(sharedTools, { choice }).tools?.map((param) => param.function?.name);
}

function ask(path: string, body: unknown, method = "POST") {
  return cohere.endpoint.match({ method, path, query: new URLSearchParams(), body });
}
