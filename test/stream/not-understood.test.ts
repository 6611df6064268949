import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { createDecoder } from "../../src/wire/index.ts";
import { adapters } from "../adapters.ts";
import { loadFixture } from "../fixtures.ts";

const fixture = loadFixture("openai-chat", "parallel");
const encode = (text: string) => new TextEncoder().encode(text);

async function* items<T>(...list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

function eventsIn(bytes: Uint8Array): any[] {
  const events: unknown[] = [];
  const decoder = createDecoder({
    onEvent: (event) => events.push(event),
    onError: (error) => expect.unreachable(error.message),
  });
  decoder.feed(bytes);
  decoder.end();
  return events;
}

/** Events of no wire; one has a usage where some have theirs. */
const foreign = [{ type: "somebody.elses" }, { type: "ping", usage: { input_tokens: 3 } }];
const frames = (...events: unknown[]) => encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));

describe("a source of which nothing is understood", () => {
  const hint = (wire: string, came: string, what = "it") =>
    `The ${came} ended before the provider ended the turn: nothing in ${what} means anything to ${wire}. Is it another provider's ${came}?`;

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

  const pairs = adapters.flatMap(({ adapter }) =>
    adapters.map((other) => [other.adapter.name, adapter.name, adapter] as const).filter(([from, to]) => from !== to),
  );
  describe.each(pairs)("says so of %s that is given to %s", (name, _, adapter) => {
    const lost = { code: "connection_lost", message: hint(adapter.name, "stream") };

    // Some end with "[DONE]", as streams of this wire may, too.
    it.each(["demo", "text-only", "parallel", "reasoning"])("as a stream: %s", async (title) => {
      const { bytes } = loadFixture(name, title);
      expect((await adapter.read(items(bytes.slice())).done()).error).toMatchObject(lost);
      const events = eventsIn(bytes).filter((event) => event !== "[DONE]"); // SDKs keep that to themselves
      expect((await adapter.read(items(...events)).done()).error).toMatchObject(lost);
    });

    it("as a response that was not streamed", async () => {
      const { bytes } = loadFixture(name, "non-streamed");
      expect((await adapter.read(items(bytes.slice())).done()).error).toMatchObject(lost);
      const [response] = eventsIn(bytes) as [object];
      const what = `an object with ${Object.keys(response).slice(0, 10).join(", ")}`;
      expect(adapter.parse(response).at(-1)).toMatchObject({
        error: { code: "connection_lost", message: hint(adapter.name, "response", what) },
      });
    });
  });

  it.each(adapters.map(({ adapter }) => [adapter.name, adapter] as const))(
    "says so of a response that %s is given in a wrapper, or as a list of chunks",
    (name, adapter) => {
      for (const [given, what] of [
        [{ response: {} }, "an object with response"],
        [{}, "an object with no keys"],
        [[1], "an instance of Array"],
        [Buffer.from("{}"), "an instance of Buffer"],
      ] as const) {
        expect(adapter.parse(given).at(-1)).toMatchObject({ error: { message: hint(name, "response", what) } });
      }
    },
  );

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
        message:
          "The stream ended before the provider ended the turn: it had no event. Is the base URL right, and was it not read before?",
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
