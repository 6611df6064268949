/** The oldest version of each official SDK that package.json lets in, over HTTP. */
import { Anthropic } from "anthropic-sdk-oldest";
import { CohereClientV2 } from "cohere-ai-oldest";
import { GoogleGenAI } from "google-genai-oldest";
import { GoogleGenAI as GoogleInteractions } from "google-interactions-oldest";
import { GoogleGenerativeAI } from "google-generative-ai-oldest";
import { OpenAI } from "openai-oldest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import manifest from "../../package.json" with { type: "json" };
import type { Adapter } from "../../src/adapter.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { adapters, cases } from "../adapters.ts";
import { fixturesDir, loadFixture, readPieces, sharedTools } from "../fixtures.ts";

let server: ReplayServer;
beforeAll(async () => {
  server = await serveReplay({ adapters: adapters.map(({ adapter }) => adapter), fixtures: fixturesDir });
});
afterAll(() => server.close());

interface Client {
  /** The package in the peer range, and the one in which its oldest version is installed. */
  readonly sdk: keyof typeof manifest.peerDependencies;
  readonly installed: keyof typeof manifest.devDependencies;
  /** Where the API came later than the oldest of the range. */
  readonly since?: string;
  readonly adapter: Adapter;
  /** Tools and history are in the newest SDK's types, so that they are not checked here. */
  open(url: string, tools: any): Promise<AsyncIterable<unknown>>;
}

const prompt = { role: "user", content: "Hi" } as const;

const clients: readonly Client[] = [
  {
    sdk: "openai",
    installed: "openai-oldest",
    adapter: openaiChat,
    open: (url, tools) => openai(url).chat.completions.create({ model: "m", messages: [prompt], tools, stream: true }),
  },
  {
    sdk: "openai",
    installed: "openai-oldest",
    adapter: openaiResponses,
    open: (url, tools) => openai(url).responses.create({ model: "m", input: "Hi", tools, stream: true }),
  },
  {
    sdk: "@anthropic-ai/sdk",
    installed: "anthropic-sdk-oldest",
    adapter: anthropic,
    open: (url, tools) =>
      new Anthropic({ apiKey: "none", baseURL: url }).messages.create({
        model: "m",
        max_tokens: 9,
        messages: [prompt],
        tools,
        stream: true,
      }),
  },
  {
    sdk: "@google/genai",
    installed: "google-genai-oldest",
    adapter: google,
    open: (url, tools) =>
      new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } }).models.generateContentStream({
        model: "m",
        contents: "Hi",
        config: { tools },
      }),
  },
  {
    sdk: "@google/genai",
    installed: "google-interactions-oldest",
    since: "2.0.0",
    adapter: googleInteractions,
    open: (url, tools) =>
      new GoogleInteractions({ apiKey: "none", httpOptions: { baseUrl: url } }).interactions.create({
        model: "m",
        input: "Hi",
        tools,
        stream: true,
      }),
  },
  {
    sdk: "@google/generative-ai",
    installed: "google-generative-ai-oldest",
    adapter: google,
    async open(url, tools) {
      const model = new GoogleGenerativeAI("none").getGenerativeModel({ model: "m", tools }, { baseUrl: url });
      return (await model.generateContentStream("Hi")).stream;
    },
  },
  {
    sdk: "cohere-ai",
    installed: "cohere-ai-oldest",
    adapter: cohere,
    open: (url, tools) =>
      new CohereClientV2({ token: "none", environment: url }).chatStream({ model: "m", messages: [prompt], tools }),
  },
];

function openai(url: string): OpenAI {
  return new OpenAI({ apiKey: "none", baseURL: `${url}/v1` });
}

/** In these the SDK itself throws, in words of its own. */
const failing: readonly string[] = ["connection-cut", "error-mid-stream"];

describe.each(clients)("$sdk, for $adapter.name", ({ sdk, installed, since, adapter, open }) => {
  const wire = adapter.name;
  const { cases: own = cases, skips } = adapters.find((row) => row.adapter === adapter)!;
  const streamed = own.filter(
    (name) => !failing.includes(name) && !(name in skips) && !loadFixture(wire, name).isWhole,
  );

  it("is the oldest of the range that package.json states", () => {
    const oldest = since ?? manifest.peerDependencies[sdk].replace(">=", "");
    expect(manifest.devDependencies[installed]).toBe(`npm:${sdk}@${oldest}`);
  });

  it.each(streamed)("streams %s", async (name) => {
    const { bytes, expected, tools } = loadFixture(wire, name);
    const stream = await open(`${server.url}/${wire}/${name}`, adapter.tools(sharedTools));
    const turn = await adapter.read(stream, { tools, runId: "run" }).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
    const { turn: direct } = await readPieces(adapter, [bytes], tools);
    expect(adapter.assistantMessage(turn)).toEqual(adapter.assistantMessage(direct));
  });

  it("sends the tools as they were made", async () => {
    const tools = adapter.tools(sharedTools);
    for await (const _ of await open(`${server.url}/${wire}/one-call`, tools));
    expect(server.requests.at(-1)!.body).toMatchObject({ tools });
  });
});
