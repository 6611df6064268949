/** The streams of the official clients over HTTP: what is kept of them, and served to them again. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { GoogleGenerativeAI } from "@google/generative-ai";
import { CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";
import { expect, it, onTestFinished } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../../src/adapter.ts";
import { record, serveReplay } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { endpoint } from "../endpoint.ts";
import { encoders } from "../run/encode.ts";

const user = { role: "user" as const, content: "Hi" };

/** Each asks at a base URL for a stream. */
const clients: Readonly<
  Record<string, readonly [adapter: Adapter, open: (url: string) => Promise<AsyncIterable<object>>]>
> = {
  "openai, Chat Completions": [
    openaiChat,
    (url) =>
      new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }).chat.completions.create({
        model: "m",
        messages: [user],
        stream: true,
      }),
  ],
  "openai, Responses": [
    openaiResponses,
    (url) =>
      new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }).responses.create({ model: "m", input: "Hi", stream: true }),
  ],
  "@anthropic-ai/sdk": [
    anthropic,
    (url) =>
      new Anthropic({ apiKey: "none", baseURL: url }).messages.create({
        model: "m",
        max_tokens: 9,
        messages: [user],
        stream: true,
      }),
  ],
  "@google/genai": [
    google,
    (url) =>
      new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } }).models.generateContentStream({
        model: "m",
        contents: "Hi",
      }),
  ],
  "@google/generative-ai": [
    google,
    async (url) => {
      const model = new GoogleGenerativeAI("none").getGenerativeModel({ model: "m" }, { baseUrl: url });
      return (await model.generateContentStream("Hi")).stream;
    },
  ],
  "@google/genai, interactions": [
    googleInteractions,
    (url) =>
      new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } }).interactions.create({
        model: "m",
        input: "Hi",
        stream: true,
      }),
  ],
  "cohere-ai": [
    cohere,
    async (url) => new CohereClientV2({ token: "none", environment: url }).chatStream({ model: "m", messages: [user] }),
  ],
};

/** The event in which each provider reports an error in the middle of a stream, with the words that a reader gets. */
const errors: Readonly<Record<string, readonly (readonly [event: object, words: string])[]>> = {
  "openai-chat": [
    [{ error: { message: "Overloaded.", type: "server_error", param: null, code: null } }, "Overloaded."],
  ],
  "openai-responses": [
    [
      { type: "error", code: "server_error", message: "Overloaded.", param: null, sequence_number: 9 },
      "server_error: Overloaded.",
    ],
    [
      {
        type: "response.failed",
        response: {
          id: "resp_1",
          status: "failed",
          error: { code: "server_error", message: "Overloaded." },
          output: [],
        },
        sequence_number: 9,
      },
      "server_error: Overloaded.",
    ],
  ],
  anthropic: [
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "overloaded_error: Overloaded"],
  ],
  google: [
    [
      { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } },
      "The model is overloaded. (503 UNAVAILABLE)",
    ],
  ],
  "google-interactions": [
    [
      { event_type: "error", error: { code: "unavailable", message: "The model is overloaded." } },
      "unavailable: The model is overloaded.",
    ],
  ],
  cohere: [[{ type: "message-end", id: "c1", delta: { finish_reason: "ERROR", error: "Overloaded." } }, "Overloaded."]],
};

/** A provider that says a cookie with its answer. */
function provider(wire: string): Promise<string> {
  const bytes = encoders[wire]!({ text: "I look.", calls: [{ id: "call_1", name: "look", args: { city: "Oslo" } }] });
  return endpoint((_request, response) => {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "set-cookie": "session=SECRET",
      "x-account": "ACME",
    });
    response.end(bytes);
  });
}

it.each(Object.keys(clients))("%s: a recording holds no header, and is served as what was recorded", async (name) => {
  const [adapter, open] = clients[name]!;
  const wire = adapter.name;
  const { stream, recording } = record(await open(await provider(wire)));
  const live = summarize(await adapter.read(stream).done());
  expect(live).toMatchObject({ text: "I look.", toolCalls: [{ name: "look", input: { city: "Oslo" } }], error: null });
  const kept = await recording;
  expect(new TextDecoder().decode(kept.bytes)).not.toMatch(/SECRET|ACME/);

  const server = await serveReplay({ adapters: [adapter], fixtures: new Map([[`${wire}/kept`, { stream: kept }]]) });
  onTestFinished(() => server.close());
  const served = await open(`${server.url}/${wire}/kept`);
  expect(summarize(await adapter.read(served).done())).toEqual(live);
});

it.each(Object.keys(clients))(
  "%s: an event that is appended arrives as the provider's error, and the retry gets all",
  async (name) => {
    const [adapter, open] = clients[name]!;
    const wire = adapter.name;
    const bytes = encoders[wire]!({ text: "I look.", calls: [{ id: "call_1", name: "look", args: { city: "Oslo" } }] });
    const body = new TextDecoder().decode(bytes);
    const cutAtEvent = body.slice(0, body.indexOf('"name":"look"')).match(/^data:/gm)!.length - 1;
    const fixtures = new Map([[`${wire}/kept`, { stream: { bytes, chunks: [], complete: true } }]]);
    for (const [append, message] of errors[wire]!) {
      const server = await serveReplay({
        adapters: [adapter],
        fixtures,
        behavior: { [`${wire}/kept`]: { cutAtEvent, append, times: 1 } },
      });
      onTestFinished(() => server.close());
      const failed = summarize(await adapter.read(await open(`${server.url}/${wire}/kept`)).done());
      expect(failed).toMatchObject({ text: "I look.", toolCalls: [], error: { code: "provider_error", message } });
      const retried = summarize(await adapter.read(await open(`${server.url}/${wire}/kept`)).done());
      expect(retried).toMatchObject({ text: "I look.", toolCalls: [{ name: "look" }], error: null });
    }
  },
);
