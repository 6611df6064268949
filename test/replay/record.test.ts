import { getEventListeners } from "node:events";
import { mkdir, rmdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import * as fc from "../fast-check.ts";
import { Response as NodeFetchResponse } from "node-fetch";
import { describe, expect, it, vi } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { isToolError } from "../../src/errors.ts";
import { loadRecording, record, replay, saveRecording } from "../../src/replay/index.ts";
import type { Recording } from "../../src/replay/index.ts";
import { temporary } from "../temporary.ts";
import { decode } from "../wire/splits.ts";
import { streamBody, wholeBody } from "./wire.ts";
import { soon } from "../soon.ts";

const encoder = new TextEncoder();
const recordingOf = (text: string, rest: Partial<Recording> = {}): Recording => ({
  bytes: encoder.encode(text),
  chunks: [],
  complete: true,
  ...rest,
});

function streamOf(chunks: readonly Uint8Array[], failure?: Error): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (failure === undefined) controller.close();
      else controller.error(failure);
    },
  });
}

async function read<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of source) items.push(item);
  return items;
}

describe("record", () => {
  it("gives back exactly what passed, chunk by chunk: record and replay are inverse", async () => {
    const property = fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1 })), async (chunks) => {
      const { stream, recording } = record(streamOf(chunks));
      expect(await read(stream)).toEqual(chunks);
      const kept = await recording;
      expect(kept.complete).toBe(true);
      expect(await read(replay(kept))).toEqual(chunks);
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it("keeps when each chunk came, never backwards", async () => {
    const { stream, recording } = record(streamOf([encoder.encode("a"), encoder.encode("bc")]));
    await read(stream);
    const { chunks } = await recording;
    expect(chunks.map((chunk) => chunk.length)).toEqual([1, 2]);
    expect(chunks[0]!.atMs).toBeLessThanOrEqual(chunks[1]!.atMs);
    expect(chunks.map((chunk) => chunk.atMs).every(Number.isInteger)).toBe(true);
  });

  it("reads no faster than its reader asks", async () => {
    let pulls = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      controller.enqueue(encoder.encode(`${pulls++}`));
    const reader = record(new ReadableStream({ pull }, { highWaterMark: 0 })).stream.getReader();
    await new Promise((settle) => setTimeout(settle));
    expect(pulls).toBe(0);
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("0");
    expect(pulls).toBe(1);
  });

  it("passes a Response with its status and headers", async () => {
    const source = new Response(streamBody, {
      status: 201,
      statusText: "Made",
      headers: { "content-type": "text/event-stream", "x-a": "1" },
    });
    const { stream, recording } = record(source);
    expect([stream.status, stream.statusText, stream.headers.get("x-a")]).toEqual([201, "Made", "1"]);
    expect(await stream.text()).toBe(streamBody);
    expect(await recording).toMatchObject({ contentType: "text/event-stream", complete: true });
  });

  it("passes a Response of node-fetch, too", async () => {
    const headers = { "content-type": "text/event-stream", "x-a": "1" };
    const source = new NodeFetchResponse(Readable.from([Buffer.from(streamBody)]), { status: 201, headers });
    const { stream, recording } = record(source as unknown as Response);
    expect([stream.status, stream.headers.get("x-a"), await stream.text()]).toEqual([201, "1", streamBody]);
    expect(await recording).toMatchObject({ contentType: "text/event-stream", complete: true });
  });

  it("passes a Response without a body", async () => {
    const source = new Response(null, { status: 204 });
    const { stream, recording } = record(source);
    expect(stream).toBe(source);
    expect(await recording).toMatchObject({ bytes: new Uint8Array(0), complete: true });
  });

  it("keeps the events of an SDK's iterable as NDJSON, and passes the very objects", async () => {
    const events = [{ a: "é" }, null, { b: [1] }];
    async function* source(): AsyncGenerator<unknown> {
      yield* events;
    }
    const web = new ReadableStream<unknown>({
      start(controller) {
        for (const event of events) controller.enqueue(event);
        controller.close();
      },
    });
    for (const sdks of [source(), web]) {
      const { stream, recording } = record(sdks);
      const passed = await read(stream);
      expect(passed[0]).toBe(events[0]);
      const kept = await recording;
      expect(kept).toMatchObject({ contentType: "application/x-ndjson", complete: true });
      expect(decode([kept.bytes])).toEqual(events);
    }
  });

  it("keeps the bytes of an iterable of bytes as they are", async () => {
    async function* source(): AsyncGenerator<Uint8Array> {
      yield encoder.encode(streamBody);
    }
    const { stream, recording } = record(source());
    await read(stream);
    expect(await recording).toMatchObject({ bytes: encoder.encode(streamBody), contentType: undefined });
  });

  it("gives the recording so far when the source fails, and passes the failure", async () => {
    const failure = new Error("reset");
    const { stream, recording } = record(streamOf([encoder.encode("abc")], failure));
    await expect(read(stream)).rejects.toBe(failure);
    expect(await recording).toMatchObject({ bytes: encoder.encode("abc"), complete: false });
  });

  it("gives the recording so far when an iterable fails or its reader leaves", async () => {
    let closed = 0;
    async function* source(): AsyncGenerator<number> {
      try {
        yield 1;
        yield 2;
        throw new Error("lost");
      } finally {
        closed++;
      }
    }
    const failing = record(source());
    await expect(read(failing.stream)).rejects.toThrow("lost");
    expect(await failing.recording).toMatchObject({ bytes: encoder.encode("1\n2\n"), complete: false });
    const left = record(source());
    for await (const _ of left.stream) break;
    expect(await left.recording).toMatchObject({ bytes: encoder.encode("1\n"), complete: false });
    expect(closed).toBe(2);
  });

  it("is empty when the reader of an iterable leaves before the first event, and the source is told", async () => {
    const left = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
    const source = { next: () => new Promise<never>(() => {}), return: left, [Symbol.asyncIterator]: () => source };
    const { stream, recording } = record<unknown>(source);
    const gaveUp = openaiChat.read(stream as AsyncIterable<never>, { signal: AbortSignal.abort() });
    expect(await gaveUp.done()).toMatchObject({ error: { code: "aborted" } });
    expect(await recording).toMatchObject({ bytes: new Uint8Array(), complete: false });
    expect(left).toHaveBeenCalledOnce();
  });

  it("gives the recording so far when the reader cancels, and cancels the source", async () => {
    let reason: unknown;
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(encoder.encode("abc")),
      cancel: (why) => void (reason = why),
    });
    const { stream, recording } = record(source);
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel("enough");
    expect(await recording).toMatchObject({ bytes: encoder.encode("abc"), complete: false });
    expect(reason).toBe("enough");
  });

  it("is not harmed by a reader that overwrites its bytes", async () => {
    const { stream, recording } = record(streamOf([encoder.encode("abc")]));
    for await (const chunk of stream) chunk.fill(0);
    expect((await recording).bytes).toEqual(encoder.encode("abc"));
  });

  it("keeps a copy of the bytes of a source that uses its Buffer again, and of any view of bytes", async () => {
    async function* source(): AsyncGenerator<Buffer | DataView> {
      const buffer = Buffer.alloc(3);
      for (const text of ["abc", "def"]) {
        buffer.write(text);
        yield buffer;
      }
      yield new DataView(buffer.buffer, buffer.byteOffset, 1);
    }
    const { stream, recording } = record(source());
    await read(stream);
    expect((await recording).bytes).toEqual(encoder.encode("abcdefd"));
  });

  it("refuses what is no stream", () => {
    expect(() => record("text" as never)).toThrow(TypeError);
    expect(() => record(undefined as never)).toThrow(TypeError);
    // The Response of React Native has no body.
    expect(() => record({ headers: new Headers() } as Response)).toThrow(
      /^record\(\) takes a Response, a ReadableStream/,
    );
  });
});

describe("replay", () => {
  it("gives pieces of 16 KiB where the timing is not known", async () => {
    const pieces = await read(replay(recordingOf("a".repeat(40_000))));
    expect(pieces.map((piece) => piece.length)).toEqual([16384, 16384, 7232]);
  });

  it("is at once by default, and leaves nothing at its signal when it has ended", async () => {
    const chunks = [0, 3_600_000].map((atMs) => ({ atMs, length: 1 }));
    const { signal } = new AbortController();
    expect(await read(replay(recordingOf("ab", { chunks }), { signal }))).toHaveLength(2);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("never gives a chunk before its time, divided by the speed", async () => {
    const recording = recordingOf("abc", {
      chunks: [
        { atMs: 0, length: 1 },
        { atMs: 400, length: 2 },
      ],
    });
    const start = performance.now();
    expect(await read(replay(recording, { speed: 10 }))).toHaveLength(2);
    expect(performance.now() - start).toBeGreaterThanOrEqual(39);
  });

  it("ends with the signal's reason, before the first chunk and while it waits", async () => {
    const recording = recordingOf("ab", {
      chunks: [
        { atMs: 0, length: 1 },
        { atMs: 3_600_000, length: 1 },
      ],
    });
    const reason = new Error("enough");
    await expect(read(replay(recording, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    const controller = new AbortController();
    const reader = replay(recording, { speed: 1, signal: controller.signal }).getReader();
    await reader.read();
    const waiting = reader.read();
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it("waits for nothing more when its reader has left", async ({ onTestFinished }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const late = { atMs: 3_600_000, length: 1 };
    const reader = replay(recordingOf("a", { chunks: [late] }), { speed: 1 }).getReader();
    const waiting = reader.read();
    await soon(() => expect(vi.getTimerCount()).toBe(1));
    await reader.cancel();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([["a path"], [Promise.resolve()], [undefined]])("refuses what is no recording: %s", async (none) => {
    expect(() => replay(none as never)).toThrow(/takes a recording: await loadRecording/);
    await expect(saveRecording("none.sse", none as never)).rejects.toThrow(/takes a recording: await loadRecording/);
  });

  it.each(["data: a private one\n\n", "data: -\n\n", ""])(
    "loses nothing of bytes that were changed: %j",
    async (text) => {
      const chunks = [0, 5, 9].map((atMs) => ({ atMs, length: 4 }));
      const changed = { ...recordingOf("data: a one\n\n", { chunks }), bytes: encoder.encode(text) };
      expect(Buffer.concat(await read(replay(changed))).toString()).toBe(text);
    },
  );

  it("refuses a speed that is none", () => {
    for (const speed of [0, -1, Number.NaN]) expect(() => replay(recordingOf("a"), { speed })).toThrow(TypeError);
  });
});

describe("files", () => {
  it("load what was saved, in a file or a directory", async () => {
    const directory = temporary();
    const recording = recordingOf(streamBody, {
      chunks: [
        { atMs: 0, length: 10 },
        { atMs: 7, length: encoder.encode(streamBody).length - 10 },
      ],
      contentType: "text/event-stream; charset=utf-8",
      complete: false,
    });
    for (const path of [join(directory, "a", "new", "a.sse"), `${join(directory, "case")}/`]) {
      const file = await saveRecording(path, recording);
      expect(await loadRecording(path)).toEqual(recording);
      expect(await readFile(file, "utf8")).toBe(streamBody);
    }
    expect(await readdir(join(directory, "case"))).toEqual(["stream.sse", "stream.sse.timing.json"]);
  });

  it("that were cut are not taken for complete ones, though saving them failed halfway", async () => {
    const file = join(temporary(), "a.sse");
    await mkdir(`${file}.timing.json`);
    const cut = recordingOf("data: 1\n\n", { complete: false });
    await expect(saveRecording(file, cut)).rejects.toThrow(/EISDIR/);
    await rmdir(`${file}.timing.json`);
    await expect(loadRecording(file)).rejects.toThrow(/there is no such file/);
  });

  it("load what was saved, though its bytes were changed", async () => {
    const file = join(temporary(), "a.sse");
    const recording = recordingOf("data: private\n\n", { chunks: [{ atMs: 0, length: 9 }] });
    await saveRecording(file, recording);
    const chunks = [{ atMs: 0, length: 15 }];
    expect(await loadRecording(file)).toEqual({ ...recording, chunks, contentType: "text/event-stream" });
  });

  it.each([
    ["stream.sse", streamBody],
    ["stream.json", wholeBody],
    ["stream.json", '{\n  "a": 1\n}\n'],
    ["stream.json", '[{"a":1},\n{"b":2}]'],
    ["stream.json", '\n {"a":1}'],
    ["stream.ndjson", '{"a":1}\n{"b":2}\n'],
    ["stream.ndjson", '{"a":1}\n', "Application/JSONL"],
    ["stream.sse", '{"a":1}\n', "Text/Event-Stream"],
  ])("get the name %s in a directory", async (name, body, contentType?: string) => {
    const directory = temporary();
    expect(await saveRecording(directory, recordingOf(body, { contentType }))).toBe(join(directory, name));
  });

  it("need no timing", async () => {
    const directory = temporary();
    await writeFile(join(directory, "stream.ndjson"), "{}\n");
    const recording = recordingOf("{}\n", { contentType: "application/x-ndjson" });
    expect(await loadRecording(directory)).toEqual(recording);
    await saveRecording(directory, recording);
    expect(await loadRecording(directory)).toEqual(recording);
    await writeFile(join(directory, "stream.ndjson.timing.json"), '{"chunks":[[5,3]]}');
    expect(await loadRecording(directory)).toEqual({ ...recording, chunks: [{ atMs: 5, length: 3 }] });
  });

  it("that cannot be read say why and what to do", async () => {
    const directory = temporary();
    const put = async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    await mkdir(join(directory, "nothing"));
    await put("a.sse.timing.json", "{");
    await put("b.sse.timing.json", '{"chunks":[[0,3],[5]]}');
    await put("e.sse.timing.json", '{"chunks":[[0,10],[1,-1]]}');
    await put("f.sse.timing.json", '{"chunks":[[-1,9]]}');
    await put("g.sse.timing.json", "null");
    await mkdir(join(directory, "h.sse.timing.json"));
    await put("c.sse.timing.json", '{"chunks":[[0,3]]}');
    await put("d.sse.timing.json", '{"chunks":[[0,9]]}');
    const cases: [string, RegExp][] = [
      [join(directory, "missing.sse"), /missing\.sse: there is no such file\. Give the path/],
      [`${join(directory, "missing")}/`, /there is no such file/],
      [directory, /no stream\.sse, stream\.ndjson or stream\.json in it, but (?:[^,]+, ){9}[^,]+\. Name a file/],
      [join(directory, "nothing"), /but nothing/],
      [await put("empty.sse", ""), /the file is empty\. Record it again/],
      [await put("a.sse", "data: 1\n\n"), /a\.sse\.timing\.json: it holds no timing\. Delete it/],
      [await put("b.sse", "data: 1\n\n"), /it holds no timing/],
      [await put("e.sse", "data: 1\n\n"), /it holds no timing/],
      [await put("f.sse", "data: 1\n\n"), /it holds no timing/],
      [await put("g.sse", "data: 1\n\n"), /it holds no timing/],
      [await put("h.sse", "data: 1\n\n"), /the timing cannot be read \(EISDIR.*\)\. Delete it/],
      [join(directory, "a.sse.timing.json", "below.sse"), /it cannot be read \(ENOTDIR.*\)\. Give the path/],
      [await put("c.sse", "data: 1\n\n"), /it covers 3 bytes, the body has 9\. Delete it/],
      [
        await put("d.sse", "data: 1\r\n\r\n"),
        /it covers 9 bytes, the body has 11\. Write \*\.sse -text into \.gitattr/,
      ],
    ];
    for (const [path, message] of cases) {
      const error = await loadRecording(path).catch((reason: unknown) => reason);
      expect(isToolError(error) && error.code, path).toBe("invalid_recording");
      expect(error).toHaveProperty("message", expect.stringMatching(message));
    }
    await expect(saveRecording(directory, recordingOf(""))).rejects.toThrow(/the recorded body is empty/);
  });
});
