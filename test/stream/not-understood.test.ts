import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { adapters } from "../adapters.ts";
import { loadFixture } from "../fixtures.ts";

const fixture = loadFixture("openai-chat", "parallel");
const encode = (text: string) => new TextEncoder().encode(text);

async function* items<T>(...list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

/** Events of no wire; one has a usage where some have theirs. */
const foreign = [{ type: "somebody.elses" }, { type: "ping", usage: { input_tokens: 3 } }];
const frames = (...events: unknown[]) => encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));

describe("a source of which nothing is understood", () => {
  const hint = (wire: string, came: string) =>
    `The ${came} ended before the provider ended the turn: nothing in it means anything to ${wire}. Is it another provider's ${came}?`;

  it.each<[string, () => AsyncIterable<any>]>([
    ["events", () => items<unknown>(...foreign)],
    ["bytes", () => items(frames(...foreign))],
    ["one event in two pieces", () => items(encode('data: {"ty'), encode('pe":"other"}\n\n'))],
    ["lines of JSON", () => items(...foreign.map((event) => encode(`${JSON.stringify(event)}\n`)))],
  ])("may be another provider's, and the message says so: %s", async (_, source) => {
    for (const { adapter } of adapters) {
      const { error } = await adapter.read(source()).done();
      expect(error).toMatchObject({ code: "connection_lost", message: hint(adapter.name, "stream") });
    }
  });

  // Google's wire ends with "[DONE]" at gateways: there all that stands before it may be nothing.
  const pairs = adapters.flatMap(({ adapter }) =>
    adapters
      .map((other) => [other.adapter.name, adapter.name, adapter] as const)
      .filter(([from, to]) => from !== to && !(from === "openai-chat" && to === "google")),
  );
  it.each(pairs)("says so of a stream of %s that is given to %s", async (name, _, adapter) => {
    const { error } = await adapter.read(items(loadFixture(name, "demo").bytes.slice())).done();
    expect(error).toMatchObject({ code: "connection_lost", message: hint(adapter.name, "stream") });
  });

  it("and so does that of a response that was not streamed", () => {
    for (const { adapter } of adapters) {
      expect(adapter.parse({ type: "other" }).at(-1)).toMatchObject({
        error: { code: "connection_lost", message: hint(adapter.name, "response") },
      });
    }
  });

  it.each<[string, () => AsyncIterable<any>]>([
    ["there was a start", () => items(frames({ id: "x", choices: [] }))],
    ["there was text", () => items({ choices: [{ index: 0, delta: { content: "Hel" } }] })],
    ["there was reasoning", () => items({ choices: [{ index: 0, delta: { reasoning: "Hm" } }] })],
    ["there was a refusal", () => items({ choices: [{ index: 0, delta: { refusal: "I" } }] })],
    ["there was a call", () => items({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "1" }] } }] })],
  ])("is not what a stream is that was cut, where %s", async (_, source) => {
    const { error } = await openaiChat.read(source()).done();
    expect(error).toMatchObject({
      code: "connection_lost",
      message: "The stream ended before the provider ended the turn.",
    });
  });

  it.each<[string, () => AsyncIterable<any>]>([
    ["nothing came, as SDKs have it for a page of HTML", () => items()],
    ["nothing but a comment came", () => items(encode(": keep-alive\n\n"))],
    ["the first event was cut", () => items(encode('data: {"id":"x","mod'))],
    ["the first event was cut, in JSON", () => items(encode('{"id":"x","mod'))],
  ])("nor where %s: the requests may go elsewhere", async (_, source) => {
    for (const { adapter } of adapters) {
      const { error } = await adapter.read(source()).done();
      expect(error).toMatchObject({
        code: "connection_lost",
        message: "The stream ended before the provider ended the turn: it had no event. Is the base URL right?",
      });
    }
  });

  it("nor one that failed, or was left", async () => {
    const failing = async function* (): AsyncGenerator<any> {
      yield* foreign;
      throw new Error("reset");
    };
    const { error } = await openaiChat.read(failing()).done();
    expect(error?.message).toBe("The connection was lost before the provider ended the turn: reset");
    const abort = new AbortController();
    const left = async function* (): AsyncGenerator<any> {
      yield* foreign;
      abort.abort();
      yield* foreign;
    };
    expect((await openaiChat.read(left(), { signal: abort.signal }).done()).error?.code).toBe("aborted");
  });
});

describe("a source of text", () => {
  it.each<[string, () => AsyncIterable<any>]>([
    ["a stream that was decoded", () => new Response(fixture.bytes.slice()).body!.pipeThrough(new TextDecoderStream())],
    ["lines", () => items(...new TextDecoder().decode(fixture.bytes).split("\n"))],
  ])("ends with an error that says what to give: %s", async (_, source) => {
    for (const { adapter } of adapters) {
      expect((await adapter.read(source()).done()).error).toMatchObject({
        code: "invalid_event",
        message: `The stream cannot be read by ${adapter.name}: it is already text. Pass the bytes before they are decoded.`,
      });
    }
  });
});
