import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import Anthropic from "@anthropic-ai/sdk";
import nodeFetch from "node-fetch";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { ToolError, type ToolCallError } from "../../src/errors.ts";
import {
  defineTool,
  jsonSchema,
  parseResponse,
  readTurn,
  ToolUse,
  type Adapter,
  type Reading,
  type StreamEvent,
  type Tool,
  type TurnStream,
} from "../../src/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { adapters } from "../adapters.ts";
import { loadFixture } from "../fixtures.ts";
import { soon } from "../soon.ts";

const fixture = loadFixture("openai-chat", "parallel");
const options = { tools: fixture.tools, runId: "run" };
const encode = (text: string) => new TextEncoder().encode(text);

/** The fixture's events, as an SDK would give them. */
const sdkEvents = new TextDecoder()
  .decode(fixture.bytes)
  .split("\n\n")
  .flatMap((frame) => (frame.startsWith("data: {") ? [JSON.parse(frame.slice(6))] : []));

async function* items<T>(list: readonly T[], then?: () => void): AsyncGenerator<T> {
  try {
    yield* list;
  } finally {
    then?.();
  }
}

function byteStream(
  list: readonly Uint8Array[],
  source: Partial<UnderlyingDefaultSource<Uint8Array>> = {},
  isClosed = true,
) {
  return new ReadableStream<Uint8Array>({
    ...source,
    start(controller) {
      for (const bytes of list) controller.enqueue(bytes);
      if (isClosed) controller.close();
    },
  });
}

function raise(message: string): never {
  throw new Error(message);
}

const never = () => new Promise<never>(() => {});

async function last(stream: TurnStream): Promise<StreamEvent> {
  let event: StreamEvent | undefined;
  for await (event of stream);
  return event!;
}

describe("every kind of source", () => {
  it.each<[string, () => any]>([
    ["an SDK's async iterable", () => items(sdkEvents)],
    [
      "an async iterable that is no generator",
      () => ({
        [Symbol.asyncIterator]: () => {
          let i = 0;
          return {
            next: async () =>
              i < sdkEvents.length ? { done: false, value: sdkEvents[i++] } : { done: true, value: undefined },
          };
        },
      }),
    ],
    ["an async iterable of bytes", () => items([fixture.bytes.subarray(0, 100), fixture.bytes.subarray(100)])],
    ["a Buffer", () => items([Buffer.from(fixture.bytes)])],
    ["a stream of Node's", () => Readable.from([Buffer.from(fixture.bytes)])],
    ["ArrayBuffers", () => items([fixture.bytes.slice(0, 100).buffer, fixture.bytes.slice(100).buffer])],
    ["bytes, then an ArrayBuffer", () => items([fixture.bytes.subarray(0, 100), fixture.bytes.slice(100).buffer])],
    ["bytes of another realm", () => items([runInNewContext("Uint8Array").from(fixture.bytes)])],
    ["an ArrayBuffer of another realm", () => items([runInNewContext("Uint8Array").from(fixture.bytes).buffer])],
    [
      "DataViews of a part of their buffer",
      () => {
        const { buffer } = fixture.bytes.slice();
        return items([new DataView(buffer, 0, 100), new DataView(buffer, 100)]);
      },
    ],
    ["signed bytes", () => items([new Int8Array(fixture.bytes.slice().buffer)])],
    ["a ReadableStream", () => byteStream([fixture.bytes])],
    ["a Response", () => new Response(fixture.bytes as Uint8Array<ArrayBuffer>)],
    [
      "a Response of another realm, by its shape",
      () => ({ ok: true, status: 200, bodyUsed: false, body: byteStream([fixture.bytes]) }),
    ],
  ])("%s", async (_, source) => {
    const turn = await openaiChat.read(source(), options).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(fixture.expected);
    const withSignal = await openaiChat.read(source(), { ...options, signal: new AbortController().signal }).done();
    expect(summarize(withSignal)).toEqual(summarize(turn));
  });

  it("an empty one is a lost connection", async () => {
    for (const source of [items([]), byteStream([]), new Response(null), new Response("")]) {
      expect(await last(openaiChat.read(source as never))).toMatchObject({
        type: "error",
        error: { code: "connection_lost" },
      });
    }
  });
});

describe("a Response of node-fetch", () => {
  const sse = { "content-type": "text/event-stream" };

  async function served(answer: (response: ServerResponse) => void) {
    const server = createServer((_, response) => answer(response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const response: any = await nodeFetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return { response, [Symbol.dispose]: () => server.close() };
  }

  it("is read as that of fetch, once", async () => {
    using server = await served((response) => response.writeHead(200, sse).end(fixture.bytes));
    const turn = await openaiChat.read(server.response, options).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(fixture.expected);
    expect(() => openaiChat.read(server.response)).toThrow(/this stream was read already/);
  });

  it("with an error status is told by that", async () => {
    using server = await served((response) => response.writeHead(529).end("overloaded"));
    const { error } = await openaiChat.read(server.response).done();
    expect(error).toMatchObject({ code: "provider_error", message: expect.stringContaining("529") });
  });

  it("that hangs has its connection closed by the caller's signal, and by a consumer that breaks out", async () => {
    for (const how of ["signal", "break"]) {
      const closed = Promise.withResolvers<void>();
      using server = await served((response) => {
        response.on("close", () => closed.resolve());
        response.writeHead(200, sse).write(fixture.bytes.subarray(0, 400));
      });
      const abort = new AbortController();
      const stream = openaiChat.read(server.response, { ...options, signal: abort.signal });
      for await (const event of stream) {
        if (event.type !== "start") continue;
        if (how === "break") break;
        setTimeout(() => abort.abort(), 5);
      }
      expect(stream.turn.error?.code).toBe("aborted");
      await closed.promise;
    }
  });
});

describe("an answer with an error status", () => {
  it.each<[string, BodyInit | null, number, RegExp]>([
    [
      "the provider's own error",
      '{"error":{"message":"Incorrect API key","type":"invalid_request_error"}}',
      401,
      /^The provider answered with HTTP status 401: Incorrect API key$/,
    ],
    [
      "the provider's own error as an event",
      'data: {"error":{"message":"Too many requests"}}\n\n',
      429,
      /^The provider answered with HTTP status 429: Too many requests$/,
    ],
    ["HTML", "<html><title>Bad gateway</title></html>", 502, /^The provider answered with HTTP status 502: <html>/],
    ["FastAPI's own error", '{"detail":"Not Found"}', 404, /^The provider answered with HTTP status 404: Not Found$/],
    ["other JSON", '{"status":404,"path":"/v1"}', 404, /HTTP status 404: \{"status"/],
    ["nothing", "", 500, /^The provider answered with HTTP status 500\.$/],
    ["no body", null, 500, /^The provider answered with HTTP status 500\.$/],
    ["a long page", "x".repeat(200_000), 500, /^.{0,300}$/],
    ["bytes that are no text", new Uint8Array([255, 254, 0]), 500, /HTTP status 500/],
  ])("%s", async (_, body, status, message) => {
    const stream = openaiChat.read(new Response(body, { status }));
    const event = await last(stream);
    expect(event).toMatchObject({
      type: "error",
      error: { code: "provider_error", message: expect.stringMatching(message) },
    });
    expect(stream.turn.calls).toEqual([]);
  });

  it("in a list, as Gemini has it", async () => {
    const body = '[{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}]';
    expect(await last(google.read(new Response(body, { status: 429 })))).toMatchObject({
      error: { message: expect.stringMatching(/HTTP status 429: Quota exceeded/) },
    });
  });

  it("whose body hangs ends with the caller's signal", async () => {
    const abort = new AbortController();
    const response = new Response(byteStream([encode("{")], {}, false), { status: 500 });
    const done = openaiChat.read(response, { signal: abort.signal }).done();
    setTimeout(() => abort.abort(), 5);
    expect((await done).error?.code).toBe("aborted");
  });

  it("whose body is as long as a log is not read to its end", async () => {
    let pieces = 0;
    const body = new ReadableStream({
      pull: (controller) => (++pieces > 100 ? controller.close() : controller.enqueue(encode("<p>".repeat(10_000)))),
    });
    const { error } = await openaiChat.read(new Response(body, { status: 500 })).done();
    expect(error?.message).toMatch(/^The provider answered with HTTP status 500: <p>/);
    expect(pieces).toBeLessThan(10);
  });

  it("whose body breaks off is told by its status", async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error("reset")) });
    expect((await openaiChat.read(new Response(body, { status: 503 })).done()).error?.message).toBe(
      "The provider answered with HTTP status 503.",
    );
  });
});

describe("misuse is a TypeError at once", () => {
  it.each<[string, () => any]>([
    ["nothing", () => undefined],
    ["null", () => null],
    ["text", () => "data: {}"],
    ["a promise", () => Promise.resolve(items(sdkEvents))],
    ["a whole response", () => ({ choices: [] })],
    ["a list", () => sdkEvents],
    [
      "a locked stream",
      () => {
        const stream = byteStream([]);
        stream.getReader();
        return stream;
      },
    ],
    [
      "a used body",
      () => {
        const response = new Response("x");
        void response.text();
        return response;
      },
    ],
    ["a body that was read to its end", () => ({ ok: true, status: 200, bodyUsed: true, body: byteStream([]) })],
    [
      "a locked body",
      () => {
        const response = new Response("x");
        response.body!.getReader();
        return response;
      },
    ],
    [
      "a stream that is being read",
      () => {
        const stream = items(sdkEvents);
        openaiChat.read(stream);
        return stream;
      },
    ],
    [
      "bytes that are being read",
      () => {
        const stream = byteStream([]);
        openaiChat.read(stream);
        return stream;
      },
    ],
    [
      "a response that is being read",
      () => {
        const response = new Response("x");
        openaiChat.read(response);
        return response;
      },
    ],
  ])("%s", (_, source) => {
    const given = source();
    expect(() => openaiChat.read(given)).toThrow(TypeError);
    expect(() => openaiChat.read(given)).toThrow(/openai-chat\.read\(\)/);
  });

  it("says what to do with a promise and with a whole response", () => {
    expect(() => openaiChat.read(Promise.resolve() as never)).toThrow("Await it first.");
    expect(() => openaiChat.read({} as never)).toThrow("use parse()");
    const unstreamed = { ok: true, status: 200, bodyUsed: false, body: undefined };
    expect(() => openaiChat.read(unstreamed as never)).toThrow(
      "the body of the response is not a stream, got undefined",
    );
    expect(() => openaiChat.parse(Promise.resolve() as never)).toThrow("Await it first.");
    expect(() => openaiChat.parse(new Response("{}") as never)).toThrow("use read()");
    expect(() => openaiChat.parse(null as never)).toThrow(TypeError);
  });

  it.each<[string, () => object, string]>([
    ["a promise", async () => {}, "got an instance of Promise. Await it first."],
    ["bytes", () => Buffer.from("data: {}"), "got an instance of Buffer. For a whole response use parse()."],
    ["a list", () => sdkEvents, "got an instance of Array. For a whole response use parse()."],
    [
      "a response",
      () => ({ id: "x", choices: [] }),
      "got an object with id, choices. For a whole response use parse().",
    ],
    [
      "what generateContentStream() of @google/generative-ai gives",
      () => ({ stream: items(sdkEvents), response: Promise.resolve() }),
      "got an object with stream, response. Pass its stream.",
    ],
    [
      "what withResponse() gives",
      () => ({ data: items(sdkEvents), response: new Response(""), request_id: null }),
      "got an object with data, response, request_id. Pass its data.",
    ],
  ])("names what came, and what to give instead: %s", (_, source, message) => {
    expect(() => openaiChat.read(source() as never)).toThrow(
      `openai-chat.read() takes an SDK stream, a ReadableStream or a Response, ${message}`,
    );
  });

  it("a stream that is iterated twice", async () => {
    const stream = openaiChat.read(items(sdkEvents), options);
    for await (const _ of stream) break;
    expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError);
    const done = openaiChat.read(items(sdkEvents), options);
    await done.done();
    expect(() => done[Symbol.asyncIterator]()).toThrow(TypeError);
  });

  it("options that cannot be leave the source to be read", async () => {
    const source = items(sdkEvents);
    expect(() => openaiChat.read(source, { limits: { maxDept: 3 } as never })).toThrow(TypeError);
    expect(() => openaiChat.read(source, { tools: 5 as never })).toThrow(TypeError);
    for (const signal of [new AbortController(), null, 5]) {
      expect(() => openaiChat.read(source, { signal: signal as never })).toThrow(/signal is an AbortSignal/);
    }
    expect((await openaiChat.read(source, options).done()).error).toBeUndefined();
  });
});

describe("the signal", () => {
  it("that has fired before asks the source for nothing", async () => {
    let asked = 0;
    const source = { [Symbol.asyncIterator]: () => ({ next: () => (asked++, never()) }) };
    const turn = await openaiChat.read(source, { signal: AbortSignal.abort(new Error("no")) }).done();
    expect(turn.error).toMatchObject({ code: "aborted", cause: new Error("no") });
    expect(asked).toBe(0);
  });

  it("ends a source that hangs, and lets go of it", async () => {
    const abort = new AbortController();
    const cancelled = Promise.withResolvers<void>();
    const body = byteStream([fixture.bytes.subarray(0, 900)], { cancel: () => cancelled.resolve() }, false);
    const stream = openaiChat.read(body, { ...options, signal: abort.signal });
    const events: StreamEvent[] = [];
    setTimeout(() => abort.abort(), 5);
    for await (const event of stream) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "aborted" } });
    expect(events.filter((event) => event.type === "tool-use" && !event.use.tool.eager)).toEqual([]);
    expect(stream.turn.calls.every((call) => call.outcome !== undefined)).toBe(true);
    await cancelled.promise;
  });

  it.each([
    ["whole", () => byteStream([fixture.bytes])],
    ["but for its end", () => byteStream([fixture.bytes.subarray(0, -20)], {}, false)],
  ])("ends a turn that came in one chunk, %s, after whichever event it fires", async (_, open) => {
    for (let at = 1; at < 12; at++) {
      const abort = new AbortController();
      const stream = openaiChat.read(open(), { ...options, signal: abort.signal });
      const events: StreamEvent[] = [];
      for await (const event of stream) if (events.push(event) === at) abort.abort();
      const rest = events.slice(at).map(({ type }) => type);
      expect(rest.pop()).toBe("error");
      expect(rest.every((type) => type === "tool-error")).toBe(true);
      const { turn } = stream;
      expect(turn.error).toMatchObject({ code: "aborted", cause: abort.signal.reason });
      const uses = events.flatMap((event) => (event.type === "tool-use" ? [event.use] : []));
      expect(turn.calls.filter(({ released }) => released).map(({ outcome }) => outcome)).toEqual(uses);
      expect(turn.calls.filter(({ outcome }) => outcome instanceof ToolUse)).toHaveLength(uses.length);
      expect(openaiChat.toolResults(turn)).toHaveLength(turn.calls.length);
    }
  });

  it("takes back nothing that somebody has executed who looked at the turn", async () => {
    const abort = new AbortController();
    const stream = openaiChat.read(byteStream([fixture.bytes]), { ...options, signal: abort.signal });
    const events: StreamEvent[] = [];
    let use: unknown;
    for await (const event of stream) {
      if (events.push(event) > 1) continue;
      const { calls } = await stream.done();
      use = calls[0]!.outcome;
      if (use instanceof ToolUse) use.provideResult("done");
      abort.abort();
    }
    expect(events.map(({ type }) => type)).toEqual(["start", "tool-error", "tool-error", "error"]);
    expect(stream.turn.calls.map(({ outcome }) => outcome === use)).toEqual([true, false, false]);
  });

  it("that has fired by the time that a piece is here leaves that unread", async () => {
    const abort = new AbortController();
    const next = () => {
      const step = Promise.resolve({ done: false, value: fixture.bytes });
      // The chunk is here, and nobody has looked at it.
      return Object.assign(step, {
        // oxlint-disable-next-line unicorn/no-thenable
        then(resolve: (result: unknown) => void) {
          resolve({ done: false, value: fixture.bytes });
          abort.abort();
        },
      });
    };
    const source = { [Symbol.asyncIterator]: () => ({ next }) };
    const stream = openaiChat.read(source as never, { ...options, signal: abort.signal });
    const events: StreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toMatchObject([{ type: "error", error: { code: "aborted" } }]);
    expect(stream.turn.calls).toEqual([]);
  });

  it("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...args: Parameters<typeof add>) => (listeners++, add(...args))) as typeof add;
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => (
      listeners--,
      remove(...args)
    )) as typeof remove;
    await openaiChat.read(items(sdkEvents), { ...options, signal }).done();
    openaiChat.read(items(sdkEvents), { ...options, signal });
    expect(listeners).toBe(0);
  });

  it("is the caller's too where it was given to the SDK or to fetch alone, or is the SDK's own", async () => {
    const server = createServer((request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        request.url!.endsWith("/messages")
          ? 'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[]}}\n\n'
          : 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
      );
      request.resume();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const openai = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
    const claude = new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0 });
    const chat = { model: "m", messages: [] };
    const messages = { model: "m", max_tokens: 9, messages: [] };
    const sources: ((signal: AbortSignal) => Promise<TurnStream>)[] = [
      async (signal) => openaiChat.read(await openai.chat.completions.create({ ...chat, stream: true }, { signal })),
      async (signal) => openaiChat.read(openai.chat.completions.stream(chat, { signal })),
      async (signal) => anthropic.read(await claude.messages.create({ ...messages, stream: true }, { signal })),
      async (signal) => anthropic.read(claude.messages.stream(messages, { signal })),
      async (signal) => openaiChat.read(await fetch(url, { signal })),
      async () => openaiChat.read(await fetch(url, { signal: AbortSignal.timeout(1000) })),
      async (signal) => openaiChat.read((await nodeFetch(url, { signal })) as never),
      async (signal) => {
        const stream = await openai.chat.completions.create({ ...chat, stream: true });
        signal.addEventListener("abort", () => stream.controller.abort());
        return openaiChat.read(stream);
      },
    ];
    for (const [index, open] of sources.entries()) {
      const abort = new AbortController();
      const stream = await open(abort.signal);
      for await (const event of stream) if (event.type === "start") abort.abort();
      expect([index, stream.turn.error?.code]).toEqual([index, "aborted"]);
    }
    server.closeAllConnections();
    server.close();
  });

  it("is the caller's where an SDK's class says so, whatever its message is", async () => {
    // As @google/genai 3 and @google/generative-ai throw them: with the name of every error.
    class APIUserAbortError extends Error {}
    class GoogleGenerativeAIAbortError extends Error {}
    for (const error of [
      new APIUserAbortError("This operation was aborted"),
      new GoogleGenerativeAIAbortError("Request aborted when reading from the stream"),
    ]) {
      const turn = await openaiChat
        .read(
          items([], () => {
            throw error;
          }),
        )
        .done();
      expect(turn.error).toMatchObject({ code: "aborted", cause: error });
    }
  });

  it("ends one half of an SDK's tee(), as leaving the loop does, and the other is still read to its end", async () => {
    const server = createServer(async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const frame of new TextDecoder().decode(fixture.bytes).split(/(?<=\n\n)/)) {
        response.write(frame);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      response.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const openai = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
    for (const how of ["signal", "break"]) {
      const abort = new AbortController();
      const [half, rest] = (await openai.chat.completions.create({ model: "m", messages: [], stream: true })).tee();
      const stream = openaiChat.read(half, { ...options, signal: abort.signal });
      const whole = openaiChat.read(rest, options).done();
      for await (const event of stream) {
        if (event.type !== "start") continue;
        if (how === "break") break;
        abort.abort();
      }
      expect(stream.turn.error?.code).toBe("aborted");
      expect(summarize(await whole)).toMatchObject(fixture.expected);
    }
    server.close();
  });

  it("of the caller closes the connection of an SDK's stream that hangs", async () => {
    const closed = Promise.withResolvers<void>();
    const server = createServer((request, response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[]}}\n\n');
      request.resume();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = new Anthropic({
      apiKey: "none",
      baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      maxRetries: 0,
    });
    const sdk = await client.messages.create({
      model: "m",
      max_tokens: 9,
      messages: [{ role: "user", content: "x" }],
      stream: true,
    });
    const abort = new AbortController();
    const stream = anthropic.read(sdk, { signal: abort.signal });
    for await (const event of stream) if (event.type === "start") setTimeout(() => abort.abort(), 5);
    expect(stream.turn.error?.code).toBe("aborted");
    await closed.promise;
    server.close();
  });
});

describe("a source that fails", () => {
  it.each<[string, () => any, string]>([
    [
      "in the middle",
      async function* () {
        yield* sdkEvents.slice(0, 3);
        throw new Error("socket hang up");
      },
      "connection_lost",
    ],
    [
      "at once",
      () => ({
        [Symbol.asyncIterator]: () => {
          throw new Error("consumed");
        },
      }),
      "connection_lost",
    ],
    [
      "in next(), without a promise",
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            throw new Error("x");
          },
        }),
      }),
      "connection_lost",
    ],
    [
      "with what is no error",
      async function* () {
        yield* [];
        throw "text";
      },
      "connection_lost",
    ],
    [
      "with the provider's own error",
      async function* () {
        yield* [];
        throw Object.assign(new Error("429 rate limit"), { status: 429 });
      },
      "provider_error",
    ],
  ])("%s", async (_, source, code) => {
    const given = source as () => AsyncIterable<any>;
    for (const signal of [undefined, new AbortController().signal]) {
      const stream = openaiChat.read(given(), { ...options, signal });
      const event = await last(stream);
      expect(event).toMatchObject({ type: "error", error: { code } });
      expect(stream.turn.calls.filter((call) => call.released && !call.tool!.eager)).toEqual([]);
    }
  });

  it.each<[string, () => unknown, string, RegExp]>([
    ["an error without a message", () => new TypeError(""), "connection_lost", /: TypeError$/],
    ["an object without a message", () => ({}), "connection_lost", /: an object without a message was thrown$/],
    ["without a prototype", () => Object.create(null), "connection_lost", /: what was thrown cannot be shown$/],
    [
      "of the provider, without a prototype",
      () => Object.assign(Object.create(null), { status: 429, message: "Slow down" }),
      "provider_error",
      /^Slow down$/,
    ],
    ["that is a symbol", () => Symbol("s"), "connection_lost", /: Symbol\(s\)$/],
    ["that is undefined", () => undefined, "connection_lost", /: undefined$/],
    ...["message", "status", "error"].map((name): [string, () => unknown, string, RegExp] => [
      `whose ${name} throws`,
      () => Object.defineProperty(new Error("x"), name, { get: () => raise(name) }),
      "connection_lost",
      /^The connection was lost/,
    ]),
    [
      "that cannot be looked at",
      () => new Proxy({}, { get: () => raise("get"), has: () => raise("has"), getPrototypeOf: () => raise("is") }),
      "connection_lost",
      /: what was thrown cannot be shown$/,
    ],
  ])("with a value %s", async (_, make, code, message) => {
    for (const { adapter } of adapters) {
      for (const signal of [undefined, new AbortController().signal]) {
        const thrown = make();
        const source = (async function* (): AsyncGenerator<any> {
          yield* [];
          throw thrown;
        })();
        const { error } = await adapter.read(source, { signal }).done();
        expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
        expect(error!.cause === thrown).toBe(true);
      }
    }
  });

  it.each<[string, unknown[], thrown: unknown]>([
    ["throws", [], new Error("secret")],
    ["throws for a status", [], Object.assign(new Error("secret"), { status: 502 })],
    ["gives an event that throws", [new Proxy({}, { get: () => raise("secret") })], undefined],
    ["gives bytes that are no event", [encode("data: <html>secret\n\n")], undefined],
  ])("and %s tells the model no word of what it said", async (_, more, thrown) => {
    const source = async function* (): AsyncGenerator<any> {
      for (const event of sdkEvents.slice(0, -1))
        yield ArrayBuffer.isView(more[0]) ? encode(`data: ${JSON.stringify(event)}\n\n`) : event;
      yield* more;
      if (thrown !== undefined) throw thrown;
    };
    const turn = await openaiChat.read(source()).done();
    expect(turn.calls.map(({ outcome }) => (outcome as ToolCallError).code)).toContain("turn_not_finished");
    expect(JSON.stringify(openaiChat.toolResults(turn))).not.toContain("secret");
    expect(turn.error?.message).toContain("secret");
  });

  it("with an error of ours ends the turn with that one", async () => {
    const thrown = new ToolError("too_large", "That is enough.");
    const source = async function* (): AsyncGenerator<never> {
      yield* [];
      throw thrown;
    };
    for (const { adapter } of adapters) expect((await adapter.read(source()).done()).error).toBe(thrown);
  });

  it("gives events of no form that an adapter would throw for", async () => {
    for (const adapter of [openaiChat, anthropic, google]) {
      for (const event of [
        null,
        5,
        "x",
        [],
        [null],
        { choices: 5 },
        { choices: [5] },
        { candidates: [{ content: 5 }] },
        { type: "content_block_delta" },
        { type: 5 },
      ]) {
        const turn = await adapter.read(items([event]) as never).done();
        expect(turn.error).toBeDefined();
      }
    }
  });

  const throwing: Reading<unknown> = {
    name: "throwing",
    toolName: (name) => name,
    parser: () => ({
      push: () => {
        throw new Error("boom");
      },
      end: () => {
        throw new Error("bang");
      },
      native: 1,
    }),
  };

  it("and a parser that fails end the turn with an event, too", async () => {
    const turn = await readTurn(throwing, items([1, 2])).done();
    expect(turn.error).toMatchObject({ code: "invalid_event", message: expect.stringContaining("boom") });
    const boom = { code: "invalid_event", message: expect.stringContaining("boom") };
    expect(parseResponse(throwing, {}).at(-1)).toMatchObject({ type: "error", error: boom });
    const failsLast = { ...throwing, parser: () => ({ ...throwing.parser({} as never), push: () => {} }) };
    const bang = { code: "invalid_event", message: expect.stringContaining("bang") };
    expect((await readTurn(failsLast, items([1])).done()).error).toMatchObject(bang);
  });
});

describe("a consumer that breaks out", () => {
  it("lets go of the source and ends the turn", async () => {
    for (const at of ["start", "tool-input-start", "tool-use"]) {
      let isClosed = false;
      const stream = openaiChat.read(
        items(sdkEvents, () => (isClosed = true)),
        options,
      );
      for await (const event of stream) if (event.type === at) break;
      await new Promise(setImmediate);
      expect(isClosed).toBe(true);
      expect(stream.turn.error).toMatchObject({ code: "aborted" });
      expect(stream.turn.calls.every((call) => call.outcome !== undefined)).toBe(true);
      expect(openaiChat.toolResults(stream.turn)).toHaveLength(stream.turn.calls.length);
      expect(await stream.done()).toBe(stream.turn);
    }
  });

  it("cancels bytes, also when nothing was asked for yet, or something is", async () => {
    for (const ask of [0, 1, 2]) {
      const cancelled = Promise.withResolvers<void>();
      const body = byteStream([fixture.bytes.subarray(0, 400)], { cancel: () => cancelled.resolve() }, false);
      const iterator = openaiChat.read(body, options)[Symbol.asyncIterator]();
      if (ask === 1) await iterator.next();
      const pending = Array.from({ length: ask === 2 ? 8 : 0 }, () => iterator.next());
      expect(await iterator.return!()).toEqual({ done: true, value: undefined });
      await cancelled.promise;
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
      await Promise.all(pending);
    }
  });

  it("is given nothing that comes after that", async () => {
    const piece = Promise.withResolvers<IteratorResult<Uint8Array>>();
    const source = { [Symbol.asyncIterator]: () => ({ next: () => piece.promise }) };
    const iterator = openaiChat.read(source, options)[Symbol.asyncIterator]();
    const pending = iterator.next();
    await iterator.return!();
    piece.resolve({ done: false, value: fixture.bytes });
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  it("after the last event has broken out of nothing", async () => {
    const stream = openaiChat.read(items(sdkEvents), options);
    for await (const event of stream) if (event.type === "finish") break;
    expect(stream.turn.error).toBeUndefined();
  });
});

describe("after the provider's terminal event", () => {
  // Google has none: the end of the body is the end.
  const wires = adapters.filter(({ adapter, fixtures }) => fixtures === undefined && adapter.name !== "google");

  it.each(wires)("nobody waits for a source that hangs: $adapter.name", async ({ adapter }) => {
    const { bytes, tools, expected } = loadFixture(adapter.name, "parallel");
    const stream = adapter.read(byteStream([bytes], {}, false), { tools, runId: "run" });
    expect(JSON.parse(JSON.stringify(summarize(await stream.done())))).toEqual(expected);
  });

  it("a source that is kept open is cancelled before long, and so is each of many", async () => {
    let cancelled = 0;
    for (let n = 0; n < 3; n++)
      await openaiChat.read(byteStream([fixture.bytes], { cancel: () => void cancelled++ }, false), options).done();
    await soon(() => expect(cancelled).toBe(3));
  });

  it("a source that ends is not cancelled, so that its connection can be used again", async () => {
    let isCancelled = false;
    let isEnded = false;
    const pieces = [fixture.bytes];
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const piece = pieces.shift();
          if (piece !== undefined) return controller.enqueue(piece);
          isEnded = true;
          controller.close();
        },
        cancel: () => {
          isCancelled = true;
        },
      },
      { highWaterMark: 0 }, // nothing is pulled that nobody asks for
    );
    await openaiChat.read(body, options).done();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([isEnded, isCancelled]).toEqual([true, false]);
  });

  const text = 'data: {"id":"other","choices":[{"index":0,"delta":{"content":"more"}}]}\n\n';

  it.each(["data: {\n\n", "\xffx", text])("%j is not read, also where it comes with that", async (more) => {
    const behind = Uint8Array.from(more, (char) => char.charCodeAt(0));
    const bytes = Uint8Array.from([...fixture.bytes, ...behind]);
    for (const pieces of [[bytes], [fixture.bytes, behind]]) {
      const turn = await openaiChat.read(byteStream(pieces), options).done();
      expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(fixture.expected);
    }
  });

  it("a source that goes on for ever is let go of, and says nothing more", async () => {
    const let_go = Promise.withResolvers<void>();
    const source = async function* () {
      try {
        yield fixture.bytes;
        for (;;) yield encode('data: {"choices":[{"index":0,"delta":{"content":"more"}}]}\n\n');
      } finally {
        let_go.resolve();
      }
    };
    const turn = await openaiChat.read(source(), options).done();
    expect(turn.text).toBe(fixture.expected.text);
    await let_go.promise;
  });
});

describe("the events", () => {
  it("come in order, whoever asks how", async () => {
    const order: string[] = [];
    for await (const event of openaiChat.read(items(sdkEvents), options)) order.push(event.type);
    for (const source of [() => items(sdkEvents), () => byteStream([fixture.bytes])] as const) {
      // Several at once, more of them while they are answered, each noting its place.
      const iterator = openaiChat.read(source() as never, options)[Symbol.asyncIterator]();
      const got: (string | undefined)[] = [];
      const asks: Promise<unknown>[] = [];
      let asked = 0;
      const ask = () => {
        const place = asked++;
        asks.push(
          iterator.next().then((step) => {
            got[place] = step.done === true ? undefined : step.value.type;
            if (asked < order.length + 4) ask();
          }),
        );
      };
      for (let n = 0; n < 4; n++) ask();
      for (let n = 0; n < asks.length; n++) await asks[n];
      expect(got.slice(0, order.length)).toEqual(order);
      expect(got.slice(order.length).every((type) => type === undefined)).toBe(true);
    }
  });

  it("that came together cost no more than a promise each", async () => {
    const iterator = openaiChat.read(byteStream([fixture.bytes]), options)[Symbol.asyncIterator]();
    await iterator.next();
    let ticks = 0;
    const second = iterator.next().then(() => ticks);
    await Promise.resolve().then(() => ticks++);
    expect(await second).toBeLessThanOrEqual(1);
  });

  it("that are left are read by done(), which can be asked twice", async () => {
    const stream = openaiChat.read(items(sdkEvents), options);
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    const turn = await stream.done();
    expect(await stream.done()).toBe(turn);
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(fixture.expected);
    expect(await iterator.next()).toMatchObject({ done: false });
  });

  it("start with the first that is asked for", async () => {
    let isAsked = false;
    const stream = openaiChat.read({ [Symbol.asyncIterator]: () => ((isAsked = true), items(sdkEvents)) }, options);
    await Promise.resolve();
    expect(isAsked).toBe(false);
    await stream.done();
    expect(isAsked).toBe(true);
  });
});

describe("the tools of a stream", () => {
  const called = async (adapter: Adapter, tools: readonly Tool[], name: string) => {
    const body = {
      candidates: [{ content: { parts: [{ functionCall: { name, args: { n: 1 } } }] }, finishReason: "STOP" }],
    };
    const { calls } = await adapter.read(items([body]), { tools }).done();
    const { outcome } = calls[0]!;
    return outcome instanceof ToolUse ? outcome.tool : outcome?.code;
  };
  const named = (name: string) => defineTool({ name, description: name, inputSchema: jsonSchema({ type: "object" }) });

  it("are those of its list as it is now, though another stream was read with it before", async () => {
    const [first, second, third, other] = [named("a"), named("b"), named("c"), named("b")];
    const tools = [first, second];
    expect(await called(google, tools, "b")).toBe(second);
    expect(await called(google, tools, "c")).toBe("unknown_tool");
    tools.push(third);
    expect(await called(google, tools, "c")).toBe(third);
    tools[1] = other;
    expect(await called(google, tools, "b")).toBe(other);
    tools.length = 1;
    expect(await called(google, tools, "b")).toBe("unknown_tool");
    tools[1] = first;
    await expect(async () => called(google, tools, "a")).rejects.toThrow("Two tools are called a");
    expect(await called(google, [], "a")).toBe("unknown_tool");
  });

  it("are known by the names of the adapter that reads it", async () => {
    const tools = [named("math.add")];
    const other: Adapter = {
      ...google,
      toolName: (name) => name.toUpperCase(),
      read: (source, given) => readTurn(other, source, given),
    };
    expect(await called(google, tools, "MATH.ADD")).toBe("unknown_tool");
    expect(await called(other, tools, "MATH.ADD")).toBe(tools[0]);
    expect(await called(google, tools, "MATH.ADD")).toBe("unknown_tool");
  });
});

describe("readBatches()", () => {
  it("gives the same events, in one list for each piece of the source that brought any", async () => {
    const single: StreamEvent[] = [];
    for await (const event of openaiChat.read(byteStream([fixture.bytes]), options)) single.push(event);
    const batches: (readonly StreamEvent[])[] = [];
    for await (const batch of openaiChat.read(byteStream([fixture.bytes]), options).readBatches()) batches.push(batch);
    expect(batches).toHaveLength(1);
    expect(batches.flat().map(({ type }) => type)).toEqual(single.map(({ type }) => type));

    const pieces: (readonly StreamEvent[])[] = [];
    for await (const batch of openaiChat.read(items(sdkEvents), options).readBatches()) pieces.push(batch);
    expect(pieces.every(({ length }) => length > 0)).toBe(true);
    expect(pieces.flat().map(({ type }) => type)).toEqual(single.map(({ type }) => type));
  });

  it("ends the turn when it is left, and is in place of iterating the stream", async () => {
    const stream = openaiChat.read(items(sdkEvents), options);
    for await (const _ of stream.readBatches()) break;
    expect(stream.turn.error?.code).toBe("aborted");
    expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError);
  });

  it("serves in turn those who ask before there is anything", async () => {
    const stream = openaiChat.read(byteStream([fixture.bytes]), options);
    const events = stream[Symbol.asyncIterator]();
    const [first, second, third] = await Promise.all([events.next(), events.next(), events.next()]);
    expect(first.value.type).toBe("start");
    expect([second.done, third.done]).toEqual([false, false]);
    const { turn } = stream;
    await stream.done();
    expect(turn.finishReason).toBe("tool-use");
  });
});

describe("a helper of an SDK, which keeps nothing for those who come late", () => {
  const fetchOf = (wire: string) => async () => {
    const headers = { "content-type": "text/event-stream" };
    return new Response(loadFixture(wire, "parallel").bytes.slice(), { headers });
  };
  const openai = (wire: string) => new OpenAI({ apiKey: "none", fetch: fetchOf(wire) });
  const messages = { model: "m", max_tokens: 9, messages: [] };

  it.each<[string, () => AsyncIterable<any> & { done(): Promise<void> }]>([
    ["anthropic", () => new Anthropic({ apiKey: "none", fetch: fetchOf("anthropic") }).messages.stream(messages)],
    ["openai-chat", () => openai("openai-chat").chat.completions.stream({ model: "m", messages: [] })],
    ["openai-responses", () => openai("openai-responses").responses.stream({ model: "m", input: "Hi" })],
  ])("is listened to from read() on, and refused when it has ended: %s", async (wire, open) => {
    const { adapter } = adapters.find((row) => row.adapter.name === wire)!;
    for (const signal of [undefined, new AbortController().signal]) {
      const helper = open();
      const stream = adapter.read(helper, { signal });
      await helper.done();
      expect((await stream.done()).calls).toHaveLength(3);
      expect(() => adapter.read(helper)).toThrow(/read already/);
    }
    const ended = open();
    await ended.done();
    expect(() => adapter.read(ended)).toThrow(/read\(\): this stream has ended, and kept nothing/);
  });
});
