/** The models of the adapters: the official clients, over HTTP, at the replay server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI, type ToolConfig as GenaiToolConfig } from "@google/genai";
import { FunctionCallingMode, GoogleGenerativeAI, type ToolConfig } from "@google/generative-ai";
import { CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses, type ResponsesModelParams } from "../../adapters/openai-responses/index.ts";
import { textJson } from "../../adapters/text-json/index.ts";
import type { Model, ModelRequest, ResponseModelOptions } from "../../src/model.ts";
import { responseInfo } from "../../src/open-turn.ts";
import { loadRecording, serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { replayModel, summarize } from "../../src/testing/index.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { endpoint } from "../endpoint.ts";
import { fixturesDir, loadFixture, sharedTools } from "../fixtures.ts";
import { soon } from "../soon.ts";

const adapters = [openaiChat, openaiResponses, anthropic, google, googleInteractions, cohere];

interface Row {
  readonly wire: string;
  /** A model of the official client, at a base URL. */
  model(baseUrl: string): Model;
  /** Whether the SDK tries again by itself, and with what setting. */
  readonly retries: boolean;
  /** Whether the SDK tells of headers. */
  readonly tells: boolean;
}

const rows: Record<string, Row> = {
  ...bothWays("openai chat", "openai-chat", (url, options) =>
    openaiChat.model(
      new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }),
      { model: "gpt-5-mini", reasoning_effort: "low" },
      options,
    ),
  ),
  ...bothWays("openai responses", "openai-responses", (url, options) =>
    openaiResponses.model(
      new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }),
      { model: "gpt-5-mini", store: false, include: ["reasoning.encrypted_content"] },
      options,
    ),
  ),
  ...bothWays("anthropic", "anthropic", (url, options) =>
    anthropic.model(
      new Anthropic({ apiKey: "none", baseURL: url }),
      { model: "claude-x", max_tokens: 64, stop_sequences: ["END"] },
      options,
    ),
  ),
  "@google/genai": {
    wire: "google",
    model: (url) =>
      google.model(
        new GoogleGenAI({
          apiKey: "none",
          httpOptions: { baseUrl: url, retryOptions: { attempts: 2, initialDelay: 0.01 } },
        }),
        { model: "gemini-x", config: { temperature: 0 } },
      ),
    retries: true,
    tells: true,
  },
  "@google/generative-ai": {
    wire: "google",
    model: (url) =>
      google.model(new GoogleGenerativeAI("none").getGenerativeModel({ model: "gemini-x" }, { baseUrl: url }), {
        generationConfig: { temperature: 0 },
      }),
    retries: false,
    tells: false,
  },
  "@google/genai, interactions": {
    wire: "google-interactions",
    model: (url) =>
      googleInteractions.model(
        new GoogleGenAI({
          apiKey: "none",
          httpOptions: { baseUrl: url, retryOptions: { attempts: 2, initialDelay: 0.01 } },
        }),
        { model: "gemini-x", generation_config: { temperature: 0 }, store: false },
      ),
    retries: true,
    tells: false,
  },
  cohere: {
    wire: "cohere",
    model: (url) =>
      cohere.model(new CohereClientV2({ token: "none", environment: url }), { model: "command-x", temperature: 0 }),
    retries: true,
    tells: true,
  },
};

/** A client that can give the response itself: its events are read, and the bytes. */
function bothWays(
  name: string,
  wire: string,
  model: (url: string, options: ResponseModelOptions) => Model,
): Record<string, Row> {
  const row = (options: ResponseModelOptions): Row => ({
    wire,
    model: (url) => model(url, options),
    retries: true,
    tells: true,
  });
  return { [name]: row({}), [`${name}, as a response`]: row({ asResponse: true }) };
}

let server: ReplayServer;
beforeAll(async () => {
  const behavior = Object.fromEntries(
    adapters.map(({ name }) => [`${name}/no-arguments`, { status: 401, message: "Bad key." }]),
  );
  server = await serveReplay({ adapters, fixtures: fixturesDir, behavior });
});
afterAll(() => server.close());

describe.each(Object.entries(rows))("the model of %s", (_, { wire, model, retries, tells }) => {
  const at = (name: string) => model(`${server.url}/${wire}/${name}`);
  const asked = (name: string) => server.requests.filter(({ fixture }) => fixture === `${wire}/${name}`);

  it("gives the turn of a stream, and sends what it was given", async () => {
    const turn = at("parallel").open({
      messages: [at("parallel").userMessage("What is the weather?")],
      tools: sharedTools,
      instructions: "Be brief.",
      toolChoice: "required",
      runId: "run",
    });
    const read = await turn.done();
    const { expected } = loadFixture(wire, "parallel");
    expect(JSON.parse(JSON.stringify(summarize(read)))).toEqual(expected);
    const body = asked("parallel").at(-1)!.body as Record<string, unknown>;
    if (Array.isArray(body["tools"])) body["tools"] = `${JSON.stringify(body["tools"]).length > 1000}`;
    expect(body).toMatchSnapshot();
  });

  it.runIf(retries)("leaves retries to the SDK, if it makes any", async () => {
    const behavior = { [`${wire}/one-call`]: { status: 429, message: "Slow down.", times: 1 } };
    const busy = await serveReplay({ adapters, fixtures: fixturesDir, behavior });
    onTestFinished(() => busy.close());
    const asking = model(`${busy.url}/${wire}/one-call`);
    const read = await asking.open({ messages: [asking.userMessage("Hi")], tools: sharedTools }).done();
    expect(read.error).toBeUndefined();
    expect(busy.requests).toHaveLength(2);
  });

  it("tells of a refused request with the last event, in one place", async () => {
    const turn = at("no-arguments").open({ messages: [at("no-arguments").userMessage("Hi")] });
    const events = [];
    for await (const event of turn) events.push(event);
    expect(events.map(({ type }) => type)).toEqual(["error"]);
    const { error } = turn.turn;
    expect(error).toMatchObject({ code: "provider_error" });
    expect(error!.message).toMatch(/^The provider refused the request with status 401: .*Bad key\./);
    expect(error!.cause).toBeInstanceOf(Error);
    expect(turn.response?.status).toBe(401);
  });

  it("tells of a server that is not there", async () => {
    const turn = model("http://127.0.0.1:9").open({ messages: [at("parallel").userMessage("Hi")] });
    expect((await turn.done()).error).toMatchObject({ code: "connection_lost" });
    expect(turn.response).toBeUndefined();
  });

  it("closes the connection when its signal fires, or its reader leaves", async () => {
    const slow = await slowServer(wire);
    for (const leave of ["signal", "break", "before the answer"] as const) {
      const abort = new AbortController();
      const turn = model(slow.url).open({
        messages: [at("parallel").userMessage("Hi")],
        tools: sharedTools,
        signal: abort.signal,
      });
      slow.delayMs = leave === "before the answer" ? 600_000 : 0;
      if (leave === "before the answer") setTimeout(() => abort.abort(), 50);
      for await (const event of turn) {
        if (event.type === "error") break;
        if (leave === "signal") abort.abort();
        else break;
      }
      expect(turn.turn.error).toMatchObject({ code: "aborted" });
      // This SDK clones its request, and a clone's signal is lost at the next garbage collection, which may come now or
      // not: https://github.com/nodejs/undici/issues/4068
      if (wire !== "google-interactions" || leave !== "before the answer") await slow.closed();
    }
    await slow.end();
  });

  it.runIf(tells)("surfaces the id of the request and the limits, if the SDK tells them", async () => {
    const slow = await slowServer(wire);
    const turn = model(slow.url).open({ messages: [at("parallel").userMessage("Hi")], tools: sharedTools });
    for await (const event of turn) if (event.type !== "start") break;
    expect(turn.response).toMatchObject({ status: 200, requestId: "req_42" });
    expect(turn.response!.rateLimits).toEqual({ "x-ratelimit-remaining-requests": "9", "retry-after": "1" });
    expect(turn.response!.headers).not.toHaveProperty("set-cookie");
    await slow.end();
  });

  it("throws at once for misuse only", () => {
    expect(() => at("parallel").open({ messages: [], tools: "none" as never })).toThrow(TypeError);
  });
});

it("takes a time limit of the client's for a failure, and no abort", async () => {
  const slow = await slowServer("google");
  const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: slow.url, timeout: 200 } });
  const turn = google
    .model(client, { model: "gemini-x" })
    .open({ messages: [google.conversation.userMessage("Hi")], tools: sharedTools });
  const { error } = await turn.done();
  expect(error?.code).toBe("connection_lost");
  expect(error?.message).toMatch(/^The client gave up .*abort/);
  await slow.closed();
  await slow.end();
});

it("a response is read from its bytes, which alone have the [DONE] that some servers end with", async () => {
  const chunk = { choices: [{ index: 0, delta: { content: "Hello." } }] };
  const head = { "content-type": "text/event-stream" };
  const url = await endpoint((_, response) =>
    response.writeHead(200, head).end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`),
  );
  const client = new OpenAI({ apiKey: "none", baseURL: url });
  // A wrapper that gives no response gives its events.
  const create = (...asked: Parameters<typeof client.chat.completions.create>) => {
    const promise = client.chat.completions.create(...asked);
    return { withResponse: () => promise.withResponse() };
  };
  const errorOf = async (asked: unknown) => {
    const model = openaiChat.model(asked as OpenAI, { model: "m" }, { asResponse: true });
    return (await model.open({ messages: [{ role: "user", content: "Hi" }] }).done()).error?.code;
  };
  expect(await errorOf(client)).toBeUndefined();
  expect(await errorOf({ chat: { completions: { create } } })).toBe("connection_lost");
});

it("a request is refused at once, whatever the answer says", async () => {
  const url = await endpoint((_, response) => void response.writeHead(400).end("{".repeat(200_000)));
  const model = openaiChat.model(new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 }), { model: "m" });
  const { error } = await model.open({ messages: [{ role: "user", content: "Hi" }] }).done();
  expect(error?.message).toMatch(/^The provider refused the request with status 400: \{/);
});

// https://github.com/open-webui/computer/issues/293
it("a refusal by the server behind a gateway is told", async () => {
  const error = {
    code: 429,
    message: "Provider returned error",
    metadata: { raw: "Busy, retry.", provider_name: "P" },
  };
  const head = { "content-type": "application/json" };
  const url = await endpoint((_, response) => void response.writeHead(429, head).end(JSON.stringify({ error })));
  const model = openaiChat.model(new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 }), { model: "m" });
  const turn = await model.open({ messages: [{ role: "user", content: "Hi" }] }).done();
  expect(turn.error?.message).toBe(
    "The provider refused the request with status 429: Provider returned error: Busy, retry.",
  );
});

// https://github.com/allenhutchison/obsidian-gemini/pull/1269
it.each([
  ["application/json", '[{"error":{"code":400,"message":"No such field.","status":"INVALID_ARGUMENT"}}]'],
  ["text/event-stream", 'event: error\ndata: {"event_type":"error","error":{"message":"No such field."}}\n\n'],
])("a refusal whose body @google/genai cannot read is told: %s", async (type, body) => {
  const url = await endpoint((_, response) => void response.writeHead(400, { "content-type": type }).end(body));
  const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } });
  const model = googleInteractions.model(client, { model: "m" });
  const { error } = await model.open({ messages: [googleInteractions.conversation.userMessage("Hi")] }).done();
  expect(error?.message).toBe("The provider refused the request with status 400: No such field.");
});

it("a failure of the client is told, even one that has no text", async () => {
  const client = { chat: { completions: { create: () => Promise.reject(Object.create(null)) } } };
  const model = openaiChat.model(client as never, { model: "m" });
  const { error } = await model.open({ messages: [{ role: "user", content: "Hi" }] }).done();
  expect(error).toMatchObject({
    code: "connection_lost",
    message: "The request got no answer: what was thrown cannot be shown",
  });
});

describe("model() of a client that is none, or another SDK's, is refused at once", () => {
  const others = {
    undefined: undefined,
    "its parameters": { model: "any" },
    "another SDK's": { models: {}, messages: {} },
  };
  const cases = adapters.flatMap((adapter) =>
    Object.entries(others).map(([name, other]) => ({ adapter, name, other })),
  );
  it.each(cases)("$adapter.name: $name", ({ adapter, other }) => {
    const model = adapter.model as (client: unknown, params: object) => Model;
    expect(() => model(other, { model: "any", max_tokens: 1 })).toThrow(/\.model\(\) takes a client of /);
  });
});

describe("model() without the parameters of its requests is refused at once", () => {
  const cases = adapters.flatMap((adapter) => [undefined, null, "any"].map((params) => ({ adapter, params })));
  it.each(cases)("$adapter.name: $params", ({ adapter, params }) => {
    const method = async () => {};
    const client = {
      chat: { completions: { create: method } },
      responses: { create: method },
      messages: { create: method },
      models: { generateContentStream: method },
      interactions: { create: method },
      chatStream: method,
    };
    const model = adapter.model as (client: unknown, params: unknown) => Model;
    expect(() => model(client, params)).toThrow(/\.model\(\) takes the parameters of each request, .*, got \w+\.$/);
  });
});

/** As libraries for tracing do: a plain promise in place of the SDK's own, and a generator in place of its stream. */
function traced<Args extends unknown[], Event>(create: (...args: Args) => PromiseLike<AsyncIterable<Event>>) {
  return async (...args: Args) => passedOn(await create(...args));
}

async function* passedOn<Event>(events: AsyncIterable<Event>): AsyncGenerator<Event> {
  yield* events;
}

describe("clients that are wrapped for tracing", () => {
  const openai = (wire: string, name: string) =>
    new OpenAI({ apiKey: "none", baseURL: `${server.url}/${wire}/${name}/v1` });

  it.each<[string, (name: string) => Model]>([
    [
      "openai-chat",
      (name) => {
        const { completions } = openai("openai-chat", name).chat;
        const create = traced((body: OpenAI.ChatCompletionCreateParamsStreaming, options?: OpenAI.RequestOptions) =>
          completions.create(body, options),
        );
        return openaiChat.model({ chat: { completions: { create } } }, { model: "m" });
      },
    ],
    [
      "openai-responses",
      (name) => {
        const { responses } = openai("openai-responses", name);
        const create = traced((body: OpenAI.Responses.ResponseCreateParamsStreaming, options?: OpenAI.RequestOptions) =>
          responses.create(body, options),
        );
        return openaiResponses.model({ responses: { create } }, { model: "m" });
      },
    ],
    [
      "anthropic",
      (name) => {
        const { messages } = new Anthropic({ apiKey: "none", baseURL: `${server.url}/anthropic/${name}` });
        const create = traced((body: Anthropic.MessageCreateParamsStreaming, options?: Anthropic.RequestOptions) =>
          messages.create(body, options),
        );
        return anthropic.model({ messages: { create } }, { model: "m", max_tokens: 64 });
      },
    ],
  ])("are models of %s as any, that tell nothing of the answer", async (wire, model) => {
    const turn = model("parallel").open({
      messages: [{ role: "user", content: "Hi" }],
      tools: sharedTools,
      runId: "run",
    });
    expect(JSON.parse(JSON.stringify(summarize(await turn.done())))).toEqual(loadFixture(wire, "parallel").expected);
    expect(turn.response).toBeUndefined();
    const refused = model("no-arguments").open({ messages: [{ role: "user", content: "Hi" }] });
    expect((await refused.done()).error?.message).toMatch(/^The provider refused the request with status 401/);
    expect(refused.response?.status).toBe(401);
  });
});

describe("tools that the provider runs", () => {
  const claude = (url: string) => new Anthropic({ apiKey: "none", baseURL: url });
  const gpt = (url: string) => new OpenAI({ apiKey: "none", baseURL: `${url}/v1` });
  const gemini = (url: string) => new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } });
  const oldGemini = (url: string) =>
    new GoogleGenerativeAI("none").getGenerativeModel({ model: "m" }, { baseUrl: url });
  const search = { type: "web_search_20250305" as const, name: "web_search" as const };
  const cases: Record<string, [wire: string, hosted: object, model: (url: string) => Model]> = {
    anthropic: [
      "anthropic",
      search,
      (url) => anthropic.model(claude(url), { model: "m", max_tokens: 9, tools: [search] }),
    ],
    "anthropic, beta": [
      "anthropic",
      { type: "mcp_toolset", mcp_server_name: "docs" },
      (url) =>
        anthropic.model(claude(url).beta, {
          model: "m",
          max_tokens: 9,
          mcp_servers: [{ type: "url", name: "docs", url: "https://example.com/mcp" }],
          tools: [{ type: "mcp_toolset", mcp_server_name: "docs" }],
        }),
    ],
    "openai responses": [
      "openai-responses",
      { type: "web_search" },
      (url) => openaiResponses.model(gpt(url), { model: "m", tools: [{ type: "web_search" }] }),
    ],
    "@google/genai": [
      "google",
      { googleSearch: {} },
      (url) => google.model(gemini(url), { model: "m", config: { tools: [{ googleSearch: {} }] } }),
    ],
    "@google/generative-ai": [
      "google",
      { codeExecution: {} },
      (url) => google.model(oldGemini(url), { tools: [{ codeExecution: {} }] }),
    ],
  };

  it.each(Object.values(cases))("are offered beside ours: %s %o", async (wire, hosted, modelAt) => {
    const model = modelAt(`${server.url}/${wire}/parallel`);
    for (const tools of [[], sharedTools.slice(0, 1)]) {
      await model.open({ messages: [model.userMessage("Hi")], tools }).done();
      const sent = (server.requests.at(-1)!.body as { tools: unknown[] }).tools;
      expect(sent.at(-1)).toEqual(hosted);
      expect(sent).toHaveLength(tools.length + 1);
    }
  });
});

describe("the choice of tools", () => {
  const [weather, calculate] = sharedTools as [Tool, Tool];
  const sentBy = async (model: Model, request: Partial<ModelRequest>) => {
    await model.open({ messages: [model.userMessage("Hi")], ...request }).done();
    return server.requests.at(-1)!.body as Record<string, any>;
  };
  const at = (name: keyof typeof rows) => rows[name]!.model(`${server.url}/${rows[name]!.wire}/text-only`);

  it.each(Object.keys(rows))(
    "is not sent where there are no tools, save one that asks for a call: %s",
    async (name) => {
      for (const toolChoice of ["auto", "none", { names: [] }] as const) {
        const body = await sentBy(at(name), { toolChoice });
        expect(body).not.toHaveProperty("tool_choice");
        expect(body).not.toHaveProperty("toolConfig");
      }
      // The provider says that there is nothing to call.
      expect(JSON.stringify(await sentBy(at(name), { toolChoice: "required" }))).toMatch(/tool_choice|toolConfig/);
    },
  );

  it.each(["anthropic", "cohere"])("leaves out the tools that it does not name: %s", async (name) => {
    const { tools } = await sentBy(at(name), { tools: sharedTools, toolChoice: { names: [calculate.name] } });
    expect(JSON.stringify(tools)).toContain(calculate.name);
    expect(tools).toHaveLength(1);
    const unknown = { tools: [weather], toolChoice: { names: [calculate.name] } };
    expect(() => at(name).open({ messages: [], ...unknown })).toThrow(TypeError);
  });

  it("keeps all tools where one is named, or none may be called: anthropic", async () => {
    const one = { names: [weather.name], required: true } as const;
    for (const toolChoice of [{ name: weather.name }, one, { names: [] }] as const) {
      const { tools } = await sentBy(at("anthropic"), { tools: [weather, calculate], toolChoice });
      expect(tools).toHaveLength(2);
    }
    expect(() => at("anthropic").open({ messages: [], tools: [calculate], toolChoice: one })).toThrow(TypeError);
  });

  it("says whether calls may come side by side, with a choice and without one", async () => {
    const url = (name: string) => `${server.url}/${name}/text-only`;
    const gpt = (name: string) => new OpenAI({ apiKey: "none", baseURL: `${url(name)}/v1` });
    const options = { parallel: false };
    for (const model of [
      openaiChat.model(gpt("openai-chat"), { model: "m" }, options),
      openaiResponses.model(gpt("openai-responses"), { model: "m" }, options),
    ]) {
      for (const toolChoice of [undefined, "required"] as const) {
        const body = await sentBy(model, { tools: [weather], toolChoice });
        expect(body["parallel_tool_calls"]).toBe(false);
        expect(body["tool_choice"]).toBe(toolChoice);
      }
      expect(await sentBy(model, {})).not.toHaveProperty("parallel_tool_calls");
    }
    const both = { model: "m", parallel_tool_calls: false, tool_choice: "auto" } as const;
    const given = openaiChat.model(gpt("openai-chat"), both);
    expect(await sentBy(given, { tools: [weather] })).toMatchObject(both);
    expect(Object.keys(await sentBy(given, {}))).toEqual(["stream_options", "model", "messages", "stream"]);
    const claude = new Anthropic({ apiKey: "none", baseURL: url("anthropic") });
    const params = { model: "m", max_tokens: 9 };
    const choice = async (more: object, request: Partial<ModelRequest>) =>
      (await sentBy(anthropic.model(claude, { ...params, ...more }, options), request))["tool_choice"] as unknown;
    const one = { disable_parallel_tool_use: true };
    expect(await choice({}, { tools: [weather] })).toEqual({ type: "auto", ...one });
    expect(await choice({ tool_choice: { type: "any" } }, { tools: [weather] })).toEqual({ type: "any", ...one });
    expect(await choice({}, { tools: [weather], toolChoice: "required" })).toEqual({ type: "any", ...one });
    expect(await choice({}, {})).toBeUndefined();
  });

  it("asks for usage unless the parameters say otherwise, and null is left out: openai chat", async () => {
    // https://github.com/avante-corp/avante.nvim/issues/2347, https://github.com/huggingface/text-generation-inference/issues/3155
    const client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/openai-chat/text-only/v1` });
    const sent = async (params: object) =>
      (await sentBy(openaiChat.model(client, { model: "m", ...params }), {}))["stream_options"] as unknown;
    expect(await sent({})).toEqual({ include_usage: true });
    expect(await sent({ stream_options: { include_usage: false } })).toEqual({ include_usage: false });
    expect(await sent({ stream_options: null })).toBeUndefined();
  });

  it.each([
    ["", z.string()],
    [" whose schema has an id, which zod refers to from the root", z.string().meta({ id: "Query" })],
  ])("names a tool of free text as the custom tool that it is%s", async (_, inputSchema) => {
    const sql = defineTool({ name: "write_sql", inputSchema });
    const request = { tools: [sql, weather], toolChoice: { name: "write_sql" } };
    expect((await sentBy(at("openai chat"), request))["tool_choice"]).toEqual({
      type: "custom",
      custom: { name: "write_sql" },
    });
    expect((await sentBy(at("openai responses"), request))["tool_choice"]).toEqual({
      type: "custom",
      name: "write_sql",
    });
  });

  it("leaves alone what the parameters say of other things than it: google", async () => {
    const retrievalConfig = { languageCode: "nn" };
    const url = `${server.url}/google/text-only`;
    const genai = google.model(new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } }), {
      model: "m",
      config: { toolConfig: { retrievalConfig, functionCallingConfig: { allowedFunctionNames: ["x"] } } },
    });
    const tools = [weather];
    expect((await sentBy(genai, { tools, toolChoice: "auto" }))["toolConfig"]).toEqual({
      retrievalConfig,
      functionCallingConfig: { mode: "AUTO" },
    });
    expect((await sentBy(genai, { tools }))["toolConfig"]).toMatchObject({ retrievalConfig });
    const functionCallingConfig = { mode: FunctionCallingMode.ANY, allowedFunctionNames: ["x"] };
    const old = google.model(new GoogleGenerativeAI("none").getGenerativeModel({ model: "m" }, { baseUrl: url }), {
      toolConfig: { functionCallingConfig, retrievalConfig } as ToolConfig,
    });
    expect((await sentBy(old, { tools, toolChoice: "none" }))["toolConfig"]).toEqual({
      retrievalConfig,
      functionCallingConfig: { mode: "NONE" },
    });
  });

  it("leaves out what the parameters say of calls where nothing is declared: google", async () => {
    // "Function calling config is set without function_declarations": https://github.com/musistudio/claude-code-router/issues/1207
    const url = `${server.url}/google/text-only`;
    const client = new GoogleGenAI({ apiKey: "none", vertexai: true, httpOptions: { baseUrl: url } });
    const retrievalConfig = { languageCode: "nn" };
    const functionCallingConfig = { streamFunctionCallArguments: true };
    const sent = async (toolConfig: GenaiToolConfig, request: Partial<ModelRequest> = {}) =>
      (await sentBy(google.model(client, { model: "m", config: { toolConfig } }), request))["toolConfig"] as unknown;
    const both = { functionCallingConfig, retrievalConfig };
    expect(await sent(both, { tools: [weather] })).toEqual(both);
    expect(await sent(both)).toEqual({ retrievalConfig });
    expect(await sent({ functionCallingConfig })).toBeUndefined();
    expect(await sent(both, { toolChoice: "required" })).toMatchObject(both);
    const old = new GoogleGenerativeAI("none").getGenerativeModel({ model: "m" }, { baseUrl: url });
    const given = { toolConfig: { functionCallingConfig: { mode: FunctionCallingMode.ANY } } };
    expect(await sentBy(google.model(old, given), {})).not.toHaveProperty("toolConfig");
  });
});

describe("the history at the provider: openai responses", () => {
  const sentFor = async (params: Partial<ResponsesModelParams>, messages: OpenAI.Responses.ResponseInputItem[]) => {
    const client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/openai-responses/text-only/v1` });
    await openaiResponses
      .model(client, { model: "m", ...params })
      .open({ messages })
      .done();
    return (server.requests.at(-1)!.body as { input: unknown }).input;
  };
  const user = { role: "user" as const, content: "Hi" };
  const reasoning = { type: "reasoning" as const, id: "rs_1", summary: [] };
  const call = { type: "function_call" as const, id: "fc_1", call_id: "a", name: "a", arguments: "{}" };
  const output = { type: "function_call_output" as const, call_id: "a", output: "ok" };

  it("is not sent again to a conversation, which refuses an item that it has", async () => {
    expect(await sentFor({ conversation: "conv_1" }, [user])).toEqual([user]);
    expect(await sentFor({ conversation: "conv_1" }, [user, reasoning, call, output])).toEqual([output]);
    const ran = { ...call, id: "fc_2", call_id: "p" };
    const itsOutput = { ...output, id: "fco_2", call_id: "p" };
    expect(await sentFor({ conversation: "conv_1" }, [user, call, ran, itsOutput, output])).toEqual([output]);
    expect(await sentFor({ conversation: "conv_1" }, [user, call, ran, output, itsOutput])).toEqual([output]);
    // Of a turn that failed the provider has nothing.
    const failed = [{ role: "assistant" as const, content: "I lo" }, user];
    expect(await sentFor({ conversation: "conv_1" }, [user, call, output, ...failed])).toEqual([output, ...failed]);
    expect(await sentFor({ previous_response_id: "resp_1" }, [user, call, output])).toEqual([user, call, output]);
  });

  it("goes without reasoning of which nothing but the id is there, where nothing is stored", async () => {
    const encrypted = { ...reasoning, encrypted_content: "gAAA" };
    const open = { ...reasoning, content: [{ type: "reasoning_text" as const, text: "Hm." }] };
    const history = [user, reasoning, { ...reasoning, content: [] }, encrypted, open, call, output];
    expect(await sentFor({ store: false }, history)).toEqual([user, encrypted, open, call, output]);
    expect(await sentFor({}, history)).toEqual(history);
  });

  // "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
  it("refers to nothing that led to items of which the reasoning is not sent", async () => {
    const said = {
      type: "message" as const,
      id: "msg_1",
      role: "assistant" as const,
      status: "completed" as const,
      content: [{ type: "output_text" as const, text: "Ok.", annotations: [] }],
    };
    const search = { type: "web_search_call" as const, id: "ws_1", status: "completed" as const } as never;
    const shot = { type: "computer_call_output" as const, call_id: "c", output: {} } as never;
    const found = [
      { type: "tool_search_call", execution: "server", arguments: {} },
      { type: "tool_search_output", execution: "server", tools: [] },
      { type: "additional_tools", role: "developer", tools: [] },
    ] as never[];
    const foundById = found.map((item: object, at) => ({ id: `tsc_${at}`, ...item })) as never[];
    const reference = { type: "item_reference" as const, id: "cmp_1" };
    const withoutId = ({ id: _, ...item }: typeof call | typeof said) => item;
    const [sentCall, sentText] = [call, said].map(withoutId);
    // A history that was trimmed within a turn:
    expect(await sentFor({}, [reference, search, shot, ...foundById, call, output, said, user])).toEqual([
      reference,
      ...found,
      sentCall,
      output,
      said,
      user,
    ]);
    const shell = { type: "shell_call" as const, call_id: "s", action: { commands: ["ls"] } };
    const listing = { type: "shell_call_output" as const, call_id: "s", output: [] };
    expect(await sentFor({}, [{ ...shell, id: "sh_1" }, { ...listing, id: "sho_1" }, user])).toEqual([
      shell,
      listing,
      user,
    ]);
    expect(await sentFor({}, [call, reasoning, said, user])).toEqual([sentCall, reasoning, said, user]);
    expect(await sentFor({}, [user, search, call, output, said])).toEqual([user, search, call, output, said]);
    expect(await sentFor({ previous_response_id: "resp_1" }, [shot])).toEqual([shot]);
    const history = [user, said, reasoning, search, call, output, reasoning, said, user, said];
    expect(await sentFor({ store: false }, history)).toEqual([user, said, sentCall, output, sentText, user, said]);
    expect(await sentFor({}, history)).toEqual(history);
  });
});

describe("roles that have to alternate: openai chat", () => {
  const client = () => new OpenAI({ apiKey: "none", baseURL: `${server.url}/openai-chat/text-only/v1` });
  const sent = async (model: Model, messages: readonly unknown[]) => {
    await model.open({ messages }).done();
    return (server.requests.at(-1)!.body as { messages: { role: string }[] }).messages;
  };
  const strict = () => openaiChat.model(client(), { model: "m" }, { alternatingRoles: true });
  const user = (content: unknown) => ({ role: "user", content });
  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const calls = { role: "assistant", content: null, tool_calls: [call("a"), call("b")] };
  const results = ["a", "b"].map((id) => ({ role: "tool", tool_call_id: id, content: "ok" }));
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
  const answer = { role: "assistant", content: "It is warm." };

  it("sends one message of the user at a time, and one of the model behind results", async () => {
    const history = [user("Hi"), user("Again"), calls, ...results, user([image]), user("What is it?"), answer];
    expect(await sent(strict(), history)).toEqual([
      user("Hi\n\nAgain"),
      calls,
      ...results,
      { role: "assistant", content: expect.stringMatching(/\S/) },
      user([image, { type: "text", text: "What is it?" }]),
      answer,
    ]);
    expect(await sent(openaiChat.model(client(), { model: "m" }), history)).toEqual(history);
  });

  it("leaves alone what alternates", async () => {
    const history = [user("Hi"), calls, ...results, answer, user("And now?")];
    expect(await sent(strict(), history)).toEqual(history);
  });

  it("counts results in text as the user's", async () => {
    const gemma = textJson("gemma");
    const said = { role: "assistant", content: "<|tool_call>call:f{}<tool_call|>" };
    const roles = (await sent(gemma.model(strict()), gemma.conversation.pair([said, user("Hi")] as never))).map(
      ({ role }) => role,
    );
    expect(roles).toEqual(["assistant", "user"]);
  });
});

it("the model of an adapter that wraps another reads with what it adds", async () => {
  const read: typeof openaiChat.read = (source, options) => {
    wrapped.push(options?.runId ?? "");
    return openaiChat.read(source, options);
  };
  const wrapped: string[] = [];
  const client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/openai-chat/text-only/v1` });
  const model = { ...openaiChat, read }.model(client, { model: "m" });
  await model.open({ messages: [model.userMessage("Hi")], runId: "mine" }).done();
  expect(wrapped).toEqual(["mine"]);
  const { model: alone } = openaiChat;
  expect(alone(client, { model: "m" }).adapter).toBe(openaiChat);
});

it.each(["x-request-id", "request-id", "apim-request-id", "X-Amzn-RequestId"])(
  "knows a request by its header %s",
  (name) => {
    expect(responseInfo(200, new Headers({ [name]: "req_1" })).requestId).toBe("req_1");
    expect(responseInfo(200, { [name]: "req_1" }, "told").requestId).toBe("told");
  },
);

describe("replayModel()", () => {
  it.each(adapters.map((adapter) => [adapter.name, adapter] as const))("answers for %s", async (name, adapter) => {
    const model = replayModel(adapter as never, [
      await loadRecording(join(fixturesDir, name, "parallel")),
      () => readFileSync(join(fixturesDir, name, "text-only", "stream.sse")),
    ]);
    const first = await model.open({ messages: [model.userMessage("Hi")], tools: sharedTools }).done();
    expect(first.calls.length).toBeGreaterThan(1);
    const second = await model.open({ messages: [model.userMessage("Hi")], tools: sharedTools }).done();
    expect(second.text).not.toBe("");
    expect(model.requests).toHaveLength(2);
    expect(() => model.open({ messages: [] })).toThrow(/asked for turn 3 and has 2/);
  });
});

/** A server that sends the beginning of a stream and then waits. */
async function slowServer(wire: string) {
  const body = readFileSync(join(fixturesDir, wire, "parallel", "stream.sse"), "utf8");
  const open = new Set<IncomingMessage["socket"]>();
  const state = { delayMs: 0 };
  const provider: Server = createServer((request, response: ServerResponse) => {
    open.add(request.socket);
    request.resume();
    response.on("close", () => {
      open.delete(request.socket);
    });
    setTimeout(() => {
      if (response.destroyed) return;
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "x-request-id": "req_42",
        "request-id": "req_42",
        "x-ratelimit-remaining-requests": "9",
        "retry-after": "1",
        "set-cookie": "secret=1",
      });
      response.write(body.slice(0, body.length / 2));
    }, state.delayMs).unref();
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    set delayMs(ms: number) {
      state.delayMs = ms;
    },
    async closed() {
      await soon(() => expect(open.size).toBe(0));
    },
    end() {
      provider.closeAllConnections();
      return new Promise((resolve) => provider.close(resolve));
    },
  };
}
