import { expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { defineTool, jsonSchema } from "../../src/index.ts";
import { summarize } from "../../src/testing/index.ts";

async function* events() {
  const call = { index: 0, id: "c1", function: { name: "look", arguments: '{"city":"Oslo"}' } };
  yield { choices: [{ index: 0, delta: { tool_calls: [call] } }] };
  yield { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
}

it("says in one word of a call that it is too large", async () => {
  const tools = [defineTool({ name: "look", inputSchema: jsonSchema({ type: "object" }) })];
  const turn = await openaiChat.read(events() as never, { tools, limits: { maxArgumentsLength: 5 } }).done();
  expect(summarize(turn).toolCalls).toMatchObject([
    { status: "too-large", released: false, error: { code: "too_large" } },
  ]);
});

it("knows of no finish while the turn goes on, and of an error once it has failed", async () => {
  const going = openaiChat.read(events() as never);
  expect(summarize(going.turn)).toMatchObject({ finishReason: null, providerFinishReason: null });
  expect(summarize(await openaiChat.read(new Response(null) as never).done())).toMatchObject({ finishReason: "error" });
});

it("takes a turn, not the stream of it", () => {
  const stream = openaiChat.read(events() as never);
  expect(() => summarize(stream as never)).toThrow(
    "A turn is needed: stream.turn, or what stream.done() resolves to. Got the stream.",
  );
});
