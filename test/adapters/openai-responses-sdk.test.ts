import OpenAI, { RateLimitError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { fixtureNames, fixturesDir, loadFixture, sharedTools } from "../fixtures.ts";

const wire = "openai-responses";
const request = {
  model: "gpt-5.4",
  input: [{ role: "user", content: "Go." }],
  tools: openaiResponses.tools(sharedTools),
} satisfies OpenAI.Responses.ResponseCreateParams;

let server: ReplayServer;
beforeAll(async () => {
  server = await serveReplay({ adapters: [openaiResponses], fixtures: fixturesDir });
});
afterAll(() => server.close());

/** The official client, pointed at a fixture. */
function client(name: string): OpenAI {
  return new OpenAI({ apiKey: "none", baseURL: `${server.url}/${wire}/${name}/v1`, maxRetries: 0, logLevel: "off" });
}

/** Where the client ends a stream in its own way, and what is then another message than over plain bytes. */
const endings: Record<string, string> = {
  "connection-cut": "the client throws for a data line that is cut",
  "error-mid-stream": "the client throws at the error event",
};

describe("the official client", () => {
  const streamed = fixtureNames(wire).filter((name) => !loadFixture(wire, name).isWhole);

  it.each(streamed.filter((name) => endings[name] === undefined))("streams %s", async (name) => {
    const { expected, tools } = loadFixture(wire, name);
    const events = await client(name).responses.create({ ...request, stream: true });
    const turn = await openaiResponses.read(events, { tools, runId: "run" }).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
  });

  it.each(Object.entries(endings))("streams %s: %s", async (name) => {
    const { expected, tools } = loadFixture(wire, name);
    const events = await client(name).responses.create({ ...request, stream: true });
    const turn = await openaiResponses.read(events, { tools, runId: "run" }).done();
    const outcome = ({ id, status, released }: (typeof expected.toolCalls)[number]) => ({ id, status, released });
    expect(summarize(turn).toolCalls.map(outcome)).toEqual(expected.toolCalls.map(outcome));
    expect(turn.error?.code).toBe(expected.error?.code);
  });

  it("gives a whole response", async () => {
    const { expected, tools } = loadFixture(wire, "non-streamed");
    const response = await client("non-streamed").responses.create(request);
    const last = openaiResponses.parse(response, { tools, runId: "run" }).at(-1);
    expect(last?.type === "finish" && JSON.parse(JSON.stringify(summarize(last.turn)))).toEqual(expected);
  });

  it("streams through responses.stream(), whose events carry snapshots", async () => {
    const { expected, tools } = loadFixture(wire, "parallel");
    const events = client("parallel").responses.stream(request);
    const turn = await openaiResponses.read(events, { tools, runId: "run" }).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
  });

  it("reads the response itself", async () => {
    const { expected, tools } = loadFixture(wire, "reasoning");
    const response = await client("reasoning")
      .responses.create({ ...request, stream: true })
      .asResponse();
    const turn = await openaiResponses.read(response, { tools, runId: "run" }).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
  });

  it("takes the turn and its results back into the next request", async () => {
    const input: OpenAI.Responses.ResponseInput = [...request.input];
    const events = await client("parallel").responses.create({ ...request, input, stream: true });
    const stream = openaiResponses.read(events, { tools: sharedTools });
    for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
    input.push(...openaiResponses.assistantMessage(stream.turn), ...openaiResponses.toolResults(stream.turn));

    const answer = await client("text-only").responses.create({ ...request, input, stream: true });
    expect((await openaiResponses.read(answer).done()).text).toContain("The Nile");

    const sent = server.requests.at(-1)?.body as { input: { type?: string; call_id?: string; id?: string }[] };
    const calls = sent.input.filter(({ type }) => type === "function_call");
    expect(sent.input.map(({ type }) => type ?? "user").join(" ")).toBe(
      "user message function_call function_call function_call " +
        "function_call_output function_call_output function_call_output",
    );
    expect(sent.input.slice(-3).map(({ call_id }) => call_id)).toEqual(calls.map(({ call_id }) => call_id));
    expect(calls.every(({ id, call_id }) => id?.startsWith("fc_") && call_id?.startsWith("call_"))).toBe(true);
  });

  it("hears of an error in the provider's form", async () => {
    const broken = await serveReplay({
      adapters: [openaiResponses],
      fixtures: fixturesDir,
      behavior: { [`${wire}/one-call`]: { status: 429, message: "Slow down." } },
    });
    try {
      const openai = new OpenAI({ apiKey: "none", baseURL: `${broken.url}/${wire}/one-call/v1`, maxRetries: 0 });
      await expect(openai.responses.create(request)).rejects.toThrow(RateLimitError);
    } finally {
      await broken.close();
    }
  });
});
