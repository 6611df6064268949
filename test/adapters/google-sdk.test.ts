/** The adapter through the official clients, over HTTP, from the fixtures. */
import { GoogleGenAI } from "@google/genai";
import { GoogleGenerativeAI } from "@google/generative-ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { google } from "../../adapters/google/index.ts";
import type { TurnStream } from "../../src/read/index.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { fixtureNames, fixturesDir, loadFixture, readPieces, sharedTools } from "../fixtures.ts";

let server: ReplayServer;
beforeAll(async () => {
  server = await serveReplay({ adapters: [google], fixtures: fixturesDir });
});
afterAll(() => server.close());

const model = "gemini-3-flash-preview";
const contents = [{ role: "user", parts: [{ text: "Hello" }] }];

const genai = (name: string) =>
  new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: `${server.url}/google/${name}` } }).models;

const legacy = (name: string) =>
  new GoogleGenerativeAI("none").getGenerativeModel(
    {
      model,
      tools: google.tools(sharedTools, { dialect: "schema" }),
      ...google.toolChoice("auto", { dialect: "schema" }),
    },
    { baseUrl: `${server.url}/google/${name}` },
  );

const clients: Record<string, (name: string) => Promise<TurnStream>> = {
  "@google/genai": async (name) => {
    const config = { tools: google.tools(sharedTools), ...google.toolChoice("auto") };
    const stream = await genai(name).generateContentStream({ model, contents, config });
    return google.read(stream, { tools: loadFixture("google", name).tools, runId: "run" });
  },
  "@google/generative-ai": async (name) => {
    const { stream, response } = await legacy(name).generateContentStream({ contents });
    // The other half of the SDK's answer: it rejects where the stream does.
    response.catch(() => {});
    return google.read(stream, { tools: loadFixture("google", name).tools, runId: "run" });
  },
};

const streamed = fixtureNames("google").filter((name) => !loadFixture("google", name).isWhole);
/** In these the SDK itself throws, and its words take the place of ours. */
const failing = ["connection-cut", "error-mid-stream"];

describe.each(Object.entries(clients))("%s", (_, ask) => {
  it.each(streamed.filter((name) => !failing.includes(name)))("streams %s", async (name) => {
    const { bytes, expected, tools } = loadFixture("google", name);
    const turn = await (await ask(name)).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
    const { turn: direct } = await readPieces(google, [bytes], tools);
    expect(google.assistantMessage(turn)).toEqual(google.assistantMessage(direct));
    expect(turn.usage).toEqual(direct.usage);
  });

  it.each(failing)("fails in %s, releases no write and says why", async (name) => {
    const { expected } = loadFixture("google", name);
    const turn = await (await ask(name)).done();
    expect(turn.error).toBeDefined();
    const calls = summarize(turn).toolCalls;
    expect(calls.map((call) => call.released)).toEqual(
      expected.toolCalls.slice(0, calls.length).map((call) => call.released),
    );
    expect(calls.filter((call) => call.name === "refund_order").every((call) => !call.released)).toBe(true);
  });
});

describe("a whole response", () => {
  it.each<[string, (name: string) => Promise<object>]>([
    [
      "@google/genai",
      async (name) => genai(name).generateContent({ model, contents, config: { tools: google.tools(sharedTools) } }),
    ],
    ["@google/generative-ai", async (name) => (await legacy(name).generateContent({ contents })).response],
  ])("through %s", async (_, ask) => {
    const { expected } = loadFixture("google", "non-streamed");
    const events = google.parse(await ask("non-streamed"), { tools: sharedTools, runId: "run" });
    const last = events.at(-1)!;
    if (last.type !== "finish") throw new Error(last.type);
    expect(JSON.parse(JSON.stringify(summarize(last.turn)))).toEqual(expected);
  });
});

describe("what is sent", () => {
  it("holds the declarations, the choice and the history as they were made", async () => {
    const turn = await (await clients["@google/genai"]!("one-call")).done();
    const outcome = turn.calls[0]!.outcome!;
    if (!("execute" in outcome)) throw outcome;
    await outcome.execute();
    const history = [...contents, ...google.assistantMessage(turn), ...google.toolResults(turn)];
    const config = { tools: google.tools(sharedTools), ...google.toolChoice({ name: "get_weather" }) };
    await genai("non-streamed").generateContent({ model, contents: history, config });
    expect(server.requests.at(-1)!.body).toMatchObject({
      tools: google.tools(sharedTools),
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["get_weather"] } },
      contents: history,
    });
    await legacy("non-streamed").generateContent({ contents: history });
    expect(server.requests.at(-1)!.body).toMatchObject({
      tools: google.tools(sharedTools, { dialect: "schema" }),
      toolConfig: { functionCallingConfig: { mode: "AUTO" } },
      contents: history,
    });
  });
});
