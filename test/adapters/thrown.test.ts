import { Stream } from "openai/streaming";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { clients } from "../../src/cli/clients.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { adapters } from "../adapters.ts";
import { fixturesDir, loadFixture } from "../fixtures.ts";

describe("an error in the middle of a stream, which the official clients throw", () => {
  let server: ReplayServer;
  beforeAll(async () => {
    server = await serveReplay({ adapters: adapters.map(({ adapter }) => adapter), fixtures: fixturesDir });
  });
  afterAll(() => server.close());

  const cases = clients.map((client) => [client.adapter.name, "error-mid-stream", client] as const);
  const [chat] = clients;
  it.each([...cases, [chat!.adapter.name, "quirk-32-groq-tool-use-failed", chat!] as const])(
    "is told as it is from the bytes: %s %s",
    async (wire, name, client) => {
      const { expected, tools = [] } = loadFixture(wire, name);
      const baseUrl = `${server.url}/${wire}/${name}`;
      const model = await client.model({ baseUrl, apiKey: "none", model: "replayed" });
      const turn = await model.open({ messages: [model.userMessage("?")], tools }).done();
      const { error, toolCalls } = summarize(turn);
      expect(error).toEqual(expected.error);
      expect(toolCalls.map(({ status, released }) => ({ status, released }))).toEqual(
        expected.toolCalls.map(({ status, released }) => ({ status, released })),
      );
    },
  );

  it.each([openaiChat, openaiResponses])("is told as it is where it is text: $name", async (adapter) => {
    const response = new Response('data: {"id":"1","type":"error","error":"Overloaded."}\n\n');
    const events = Stream.fromSSEResponse<any>(response, new AbortController());
    expect((await adapter.read(events).done()).error).toMatchObject({ code: "provider_error", message: "Overloaded." });
  });
});
