/**
 * Promise 3: the cost of a stream is linear in its bytes, with the live partial input being read or not, and bounded in
 * memory. Not measured by the clock: every character that is given to a function that reads JSON is counted.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { defineTool, jsonSchema, ToolBuffer, type ToolChunk, type ToolUse } from "../../src/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { wires } from "../../bench/wires.ts";
import type * as JsonFloor from "../../src/json/index.ts";
import { TurnReader } from "../../src/stream/turn.ts";
import { createDecoder } from "../../src/wire/index.ts";
import { makeTools, run } from "./support.ts";

type Json = typeof JsonFloor;

const counted = vi.hoisted(() => ({ live: 0, parsed: 0, scanned: 0 }));

vi.mock("../../src/json/index.ts", async (original) => {
  const json = await original<Json>();
  const counting =
    <R>(read: (text: string, ...rest: any[]) => R) =>
    (text: string, ...rest: any[]): R => {
      counted.parsed += text.length;
      return read(text, ...rest);
    };
  return {
    ...json,
    parseJson: counting(json.parseJson),
    exceedsDepth: counting(json.exceedsDepth),
    repairJson: counting(json.repairJson),
    RootScan: class extends json.RootScan {
      override feed(text: string) {
        counted.scanned += text.length;
        super.feed(text);
      }
    },
    createTwinParser: (options: { maxDepth: number }) => {
      const parser = json.createTwinParser(options);
      const feed = parser.feed.bind(parser);
      return Object.assign(parser, { feed: (text: string) => ((counted.live += text.length), feed(text)) });
    },
  };
});

beforeEach(() => {
  counted.live = counted.parsed = counted.scanned = 0;
});

const { tools } = makeTools();
const content = 'some text, with "quotes" and }{ in it\n'.repeat(3000);
const argsText = JSON.stringify({ content, list: Array.from({ length: 500 }, (_, i) => ({ i })) });

type Look = (buffer: ToolBuffer) => unknown;
const looks: [string, Look][] = [
  ["is not read", () => undefined],
  ["is read after each piece", (buffer) => buffer.current?.input],
  ["is followed after each piece", (buffer) => buffer.current?.changes()],
  ["is read and followed", (buffer) => [buffer.current?.input, buffer.current?.changes()]],
];

function assemble(chunks: Iterable<ToolChunk>, look: Look): ToolUse {
  const buffer = new ToolBuffer(tools);
  for (const chunk of chunks) {
    buffer.append(chunk);
    look(buffer);
  }
  return buffer.end("tool-use")[0] as ToolUse;
}

function pieces(text: string, size: number): ToolChunk[] {
  const chunks: ToolChunk[] = [{ callIndex: 0, name: "write" }];
  for (let at = 0; at < text.length; at += size)
    chunks.push({ callIndex: 0, argsTextDelta: text.slice(at, at + size) });
  return chunks;
}

describe.each(looks)("each character is read once, when the partial input %s", (_, look) => {
  const isLive = look !== looks[0]![1];

  it.each([1, 4, 1000])("in pieces of %i", (size) => {
    const use = assemble(pieces(argsText, size), look);
    expect((use.input as { content: string }).content).toBe(content);
    // Only a piece that ends with `}` makes somebody look whether the root is closed.
    expect(counted.live).toBeLessThanOrEqual(argsText.length);
    if (isLive) expect(counted.live).toBe(argsText.length);
    else expect(counted.live).toBe(0);
    expect(counted.scanned).toBe(isLive ? 0 : argsText.length);
    // Its depth, and the strict parse at the end.
    expect(counted.parsed).toBeLessThanOrEqual(2 * argsText.length);
  });

  it("and a call that is never closed costs no more", () => {
    const cut = argsText.slice(0, -1);
    assemble(pieces(cut, 4), look);
    // The error shows what came, which the parser may have to read for that.
    expect(counted.live).toBeLessThanOrEqual(cut.length);
    expect(counted.scanned).toBeLessThanOrEqual(cut.length);
    expect(counted.parsed).toBeLessThanOrEqual(4 * cut.length);
  });

  it("of snapshots, that is each character that was sent", () => {
    const text = JSON.stringify({ content: "x".repeat(800) });
    const snapshots = Array.from({ length: text.length }, (__, at) => ({
      callIndex: 0,
      name: "write",
      argsTextDelta: text.slice(0, at + 1),
    }));
    expect(assemble(snapshots, look).input).toEqual(JSON.parse(text));
    expect(counted.live).toBeLessThanOrEqual(2 * text.length);
    expect(counted.parsed).toBeLessThanOrEqual(4 * text.length);
  });

  it("of calls side by side, of each its own", () => {
    const chunks: ToolChunk[] = [];
    const text = JSON.stringify({ content: content.slice(0, 20_000) });
    for (let i = 0; i < 8; i++) chunks.push({ callIndex: i, id: `id${i}`, name: "write" });
    for (let at = 0; at < text.length; at += 50)
      for (let i = 0; i < 8; i++) chunks.push({ callIndex: i, argsTextDelta: text.slice(at, at + 50) });
    assemble(chunks, look);
    expect(counted.live).toBeLessThanOrEqual(8 * text.length);
    expect(counted.scanned).toBeLessThanOrEqual(8 * text.length);
    expect(counted.parsed).toBeLessThanOrEqual(16 * text.length);
  });
});

describe("bytes that are no event cost next to nothing", () => {
  const event = 'data: {"a":1}\n\n';

  it.each(["\n", "\r\n", ":\n\n", "id\n\n", ": ping\r\n\r\n", "retry: 3\n\n"])("%j, again and again", (unit) => {
    const decode = vi.spyOn(TextDecoder.prototype, "decode");
    const onEvent = vi.fn();
    const decoder = createDecoder({ onEvent, onError: () => expect.unreachable() });
    decoder.feed(new TextEncoder().encode(event + unit.repeat(100_000) + event));
    expect(onEvent.mock.calls).toEqual([[{ a: 1 }], [{ a: 1 }]]);
    // Not once for each.
    expect(decode.mock.calls.length).toBeLessThan(200);
    decode.mockRestore();
  });

  it("events that begin with an id are decoded once", () => {
    const decode = vi.spyOn(TextDecoder.prototype, "decode");
    const onEvent = vi.fn();
    const decoder = createDecoder({ onEvent, onError: () => expect.unreachable() });
    const bytes = new TextEncoder().encode(`id: 1\n${event}`.repeat(1000));
    decoder.feed(bytes);
    expect(onEvent).toHaveBeenCalledTimes(1000);
    let decoded = 0;
    for (const [given] of decode.mock.calls) decoded += given?.byteLength ?? 0;
    decode.mockRestore();
    expect(decoded).toBeLessThanOrEqual(bytes.length);
  });

  it("events without data are not parsed", () => {
    const parse = vi.spyOn(JSON, "parse");
    const decoder = createDecoder({ onEvent: vi.fn(), onError: () => expect.unreachable() });
    decoder.feed(new TextEncoder().encode(event + "data:\n\n".repeat(1000)));
    expect(parse.mock.calls.length).toBeLessThan(10);
    parse.mockRestore();
  });
});

describe("calls cost the same, however many there are", () => {
  const count = 1000;

  it.each<[string, (i: number) => ToolChunk]>([
    ["with an id each", (i) => ({ id: `id${i}`, argsTextDelta: `{"i":${i}}` })],
    ["with one id", (i) => ({ id: "id", argsTextDelta: `{"i":${i}}` })],
  ])("%s, held until the end", (_, chunkOf) => {
    const searches = (["some", "find", "findLast", "filter"] as const).map((name) => vi.spyOn(Array.prototype, name));
    const reader = new TurnReader("x", tools, { limits: { maxCalls: count }, uniqueIds: true });
    for (let i = 0; i < count; i++) reader.tool({ callIndex: i, name: "write", done: true, ...chunkOf(i) });
    reader.finish("tool-use", "x");
    reader.terminal();
    reader.end();
    const events = reader.take();
    let searched = 0;
    for (const { mock } of searches) for (const list of mock.contexts) searched += (list as unknown[]).length;
    vi.restoreAllMocks();
    expect(events.filter(({ type }) => type === "tool-use")).toHaveLength(count);
    expect(searched).toBeLessThan(20 * count);
    expect(counted.parsed).toBeLessThan(100 * count);
  });
});

describe("copies cost what they are long", () => {
  it.each<[string, string]>([
    ["of the whole", '{"a":1}'],
    ["of a placeholder", "{}"],
    ["that are none", '{"a":2'],
  ])("%s", (_, copy) => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ callIndex: 0, name: "write", argsTextDelta: '{"a":1}' });
    for (let n = 0; n < 10_000; n++) buffer.append({ callIndex: 0, argsTextDelta: copy });
    expect(counted.parsed + counted.live + counted.scanned).toBeLessThan(10_000 * 60);
    expect(buffer.calls[0]!.repairs.length).toBeLessThan(5);
  });

  it("and short ones after long arguments do not make these be read again and again", () => {
    const buffer = new ToolBuffer(tools, { limits: { maxCalls: 8 } });
    buffer.append({ callIndex: 0, id: "a", name: "write", argsTextDelta: argsText });
    for (let n = 0; n < 1000; n++) buffer.append({ callIndex: 0, id: "a", name: "write", argsTextDelta: '{"x":1' });
    expect(counted.parsed + counted.live + counted.scanned).toBeLessThan(30 * argsText.length);
  });

  it.each<[string, ToolChunk]>([
    ["as text", { argsTextDelta: '{"a":1}' }],
    ["as text with the name", { name: "write", argsTextDelta: '{"a":1}' }],
    ["as an object, late", { argsKvPatch: { a: 1 }, done: true }],
  ])("and not what the text is long that they are compared with, %s", (_, copy) => {
    const buffer = new ToolBuffer(tools, { limits: { maxCalls: 1 } });
    const padded = `{"a":1}${" ".repeat(100_000)}`;
    buffer.append({ callIndex: 0, name: "write", argsTextDelta: padded, done: copy.done });
    const after = { ...copy, callIndex: 0 };
    for (let n = 0; n < 1000; n++) {
      buffer.append(after);
      buffer.append({ callIndex: 0, argsTextDelta: " " });
    }
    expect(counted.parsed + counted.live + counted.scanned).toBeLessThan(10 * padded.length);
    expect(buffer.calls).toHaveLength(1);
  });
});

describe("limits", () => {
  const limits = { maxArgumentsLength: 1000, maxDepth: 10, maxCalls: 5, maxEventBytes: 2000 };
  const read = (calls: { id: string; name: string; argsText: string }[]) =>
    run(openaiChat, new Response(wires["openai-chat"]({ calls }).join("")), { tools, limits });

  it("on the length of arguments fail the call, and keep none of it", async () => {
    const { turn } = await read([
      { id: "a", name: "write", argsText: JSON.stringify({ x: "y".repeat(5000) }) },
      { id: "b", name: "write", argsText: "{}" },
    ]);
    expect(turn.calls.map((call) => call.outcome)).toMatchObject([
      { code: "too_large", message: expect.stringContaining("limits.maxArgumentsLength") },
      { input: {} },
    ]);
    expect(turn.calls[0]!.argsText).toBe("");
  });

  it("on depth fail the call", async () => {
    const { turn } = await read([
      { id: "a", name: "write", argsText: `{"x":${"[".repeat(20)}${"]".repeat(20)}}` },
      { id: "b", name: "write", argsText: "{}" },
    ]);
    expect(turn.calls.map((call) => call.outcome)).toMatchObject([
      { code: "too_large", message: expect.stringContaining("limits.maxDepth") },
      { input: {} },
    ]);
  });

  it("on the number of calls end the turn", async () => {
    const { turn } = await read(Array.from({ length: 9 }, (_, i) => ({ id: `${i}`, name: "write", argsText: "{}" })));
    expect(turn.error).toMatchObject({ code: "too_large", message: expect.stringContaining("limits.maxCalls") });
    expect(turn.calls).toHaveLength(5);
  });

  it("on the size of an event end the turn, while it still arrives", async () => {
    let sent = 0;
    let isLetGo = false;
    const endless = async function* () {
      try {
        yield new TextEncoder().encode('data: {"choices":[{"delta":{"content":"');
        for (;;) yield new Uint8Array(100).fill(97 + (sent++ % 20));
      } finally {
        isLetGo = true;
      }
    };
    const { turn } = await run(openaiChat, endless(), { tools, limits });
    expect(turn.error).toMatchObject({ code: "event_too_large" });
    expect(sent).toBeLessThan(30);
    await new Promise(setImmediate);
    expect(isLetGo).toBe(true);
  });

  it("hold whatever the chunks are: what is kept of a call is bounded", () => {
    const buffer = new ToolBuffer([defineTool({ name: "t", inputSchema: jsonSchema({}) })], { limits });
    for (let n = 0; n < 20_000; n++) {
      buffer.append({ callIndex: 0, name: n === 0 ? "t" : `piece${n}`, argsTextDelta: "x" });
      buffer.append({
        callIndex: 1,
        name: n === 0 ? "t" : null,
        argsPathPatch: [
          { path: [n % 17], append: "x" },
          { path: [`k${n}`], append: "" },
        ],
      });
      buffer.append({ callIndex: 2, name: n === 0 ? "t" : null, argsKvPatch: { [`k${n}`]: "x" } });
      buffer.append({ callIndex: 3, id: "same", argsTextDelta: "{}" });
    }
    const kept = JSON.stringify(buffer.calls.map((call) => [call.name, call.input, call.argsText, call.repairs]));
    expect(kept.length).toBeLessThan(20_000);
  });
});
