import * as fc from "../fast-check.ts";
import { describe, expect, it, vi } from "vitest";
import { each, WIRES, makeStream } from "../../bench/workloads.ts";
import { createJsonParser, type Adapter } from "../../src/index.ts";
import { createDecoder } from "../../src/wire/index.ts";
import { adapters } from "../adapters.ts";
import { fixtureNames, loadFixture } from "../fixtures.ts";

/**
 * A parser is told of most events by `Delta.push` instead of `push`. Here every stream is read in both ways, with all
 * kinds of damage: what comes out has to be the same.
 */
function said(
  adapter: Adapter,
  pieces: readonly Uint8Array[],
  withDeltas: boolean,
): { log: unknown[]; deltas: number } {
  const log: unknown[] = [];
  let deltas = 0;
  let failed = false;
  const sink = new Proxy(
    {},
    {
      get:
        (_, method) =>
        (...told: unknown[]) =>
          log.push(JSON.stringify([method, told])),
    },
  );
  const parser = adapter.parser(sink as never);
  const guarded = <T>(read: () => T): T | true => {
    if (failed) return true;
    try {
      return read();
    } catch {
      failed = true;
      log.push("threw");
      return true;
    }
  };
  const decoder = createDecoder({
    onEvent: (event) => guarded(() => parser.push(event)),
    onError: ({ code }) => log.push(code),
    ...(withDeltas && {
      onDelta(delta, text, index) {
        deltas++;
        return guarded(() => delta.push(parser, text, index));
      },
      templates: parser.templates,
    }),
  });
  for (const piece of pieces) decoder.feed(piece);
  decoder.end();
  guarded(() => parser.end());
  log.push(JSON.stringify(parser.native));
  return { log, deltas };
}

const encoder = new TextEncoder();

/** A turn with everything that comes in pieces: text, and calls side by side. */
function syntheticFrames(adapter: Adapter, count = 2, seed = ""): string[] {
  const wire = WIRES.find((name) => name === adapter.name)!;
  const argsText = JSON.stringify({
    a: 'x = "é";\n'.repeat(6),
    b: "中文\\".repeat(5),
    plain: "plain words ".repeat(5),
    c: [1, { d: "}" }],
  });
  const call = (id: string) => ({ id: `${id}${seed}`, name: "f", argsText });
  const turn = {
    text: 'Hello "you"\n'.repeat(5),
    calls: Array.from({ length: count }, (_, n) => call(`${n}`)),
    interleaved: true,
    deltaLength: 5,
  };
  return makeStream(wire, turn, "event").chunks.map((chunk) => new TextDecoder().decode(chunk));
}

function fixtureFrames(adapter: Adapter): string[][] {
  const whole = fixtureNames(adapter.name).map((name) =>
    new TextDecoder().decode(loadFixture(adapter.name, name).bytes),
  );
  return whole.map((text) => text.split(/(?<=\n\n)/));
}

const value = fc.constantFrom<unknown>(
  null,
  "",
  "x",
  "custom",
  '"',
  0,
  1,
  2,
  -1,
  1.5,
  "1",
  true,
  [],
  {},
  { text: "y" },
  ["z"],
);
const key = fc.constantFrom(
  "index", "type", "delta", "text", "id", "name", "role", "content", "arguments", "function", "tool_calls", "thinking",
  "finish_reason", "usage", "error", "object", "output_index", "content_index", "item_id", "citations", "extra_content",
  "obfuscation", "sequence_number", "refusal", "partial_json", "delta.text", "message", "x_groq", "choices",
); // prettier-ignore
const damage = fc.record({
  kind: fc.constantFrom("set", "set", "set", "add", "drop", "again", "swap", "text"),
  frame: fc.nat(),
  /** How many frames from there on. */
  count: fc.constantFrom(1, 1, 1, 3, 8),
  place: fc.nat(),
  key,
  value,
});

function damaged(
  frames: readonly string[],
  list: readonly (typeof damage extends fc.Arbitrary<infer T> ? T : never)[],
) {
  const result = [...frames];
  for (const { kind, frame, count, place, key: name, value: put } of list) {
    const at = frame % Math.max(1, result.length);
    if (kind === "drop") result.splice(at, 1);
    else if (kind === "again") result.splice(at, 0, ...result.slice(at, at + count));
    else if (kind === "swap") result.splice(at, 2, ...result.slice(at, at + 2).toReversed());
    else {
      for (let i = at; i < Math.min(at + count, result.length); i++) {
        if (kind === "text") {
          const cut = place % result[i]!.length;
          result[i] = `${result[i]!.slice(0, cut)}${JSON.stringify(put)}${result[i]!.slice(cut + 1)}`.toWellFormed();
        } else {
          result[i] = result[i]!.replace(/^data: (.*)$/m, (line, json: string) =>
            edited(line, json, kind, place, name, put),
          );
        }
      }
    }
  }
  return result;
}

function edited(line: string, json: string, kind: string, place: number, name: string, put: unknown): string {
  try {
    const event = JSON.parse(json) as unknown;
    const containers: Record<string, unknown>[] = [];
    (function collect(one: unknown) {
      if (typeof one !== "object" || one === null) return;
      containers.push(one as Record<string, unknown>);
      Object.values(one).forEach(collect);
    })(event);
    const target = containers[place % containers.length]!;
    const keys = Object.keys(target);
    // Of a list: one more like the last one.
    if (kind === "add" && Array.isArray(target)) target.push(structuredClone(target.at(-1) ?? put));
    else if (kind === "add" || keys.length === 0) target[name] = put;
    else target[keys[(place >> 4) % keys.length]!] = put;
    return `data: ${JSON.stringify(event)}`;
  } catch {
    return line;
  }
}

describe.each(adapters)("$adapter.name", ({ adapter }) => {
  const synthetic = syntheticFrames(adapter);
  const streams = [synthetic, synthetic, synthetic, ...fixtureFrames(adapter)];

  // Google has no deltas of arguments, and sends few, long texts.
  it.skipIf(adapter.name === "google").each([2, 32])(
    "reads most events of %i calls side by side as deltas, if its wire has some",
    (count) => {
      const pieces = syntheticFrames(adapter, count).map((frame) => encoder.encode(frame));
      expect(said(adapter, pieces, true).deltas).toBeGreaterThan(0.7 * pieces.length);
    },
  );

  it("reads the next stream of the wire without parsing any of its events", () => {
    const turns = ["a", "b", "c", "d"].map((seed) =>
      syntheticFrames(adapter, 2, seed).map((frame) => encoder.encode(frame)),
    );
    for (const pieces of turns.slice(0, 3)) said(adapter, pieces, true);
    const parse = vi.spyOn(JSON, "parse");
    said(adapter, turns[3]!, true);
    const texts = parse.mock.calls.map(([text]) => text);
    parse.mockRestore();
    // Of a long string in an event only that is parsed.
    expect(texts.filter((text) => text.startsWith("{"))).toEqual([]);
  });

  it("shows the live input that the arguments so far come to, read at every piece", async () => {
    for (const seed of ["a", "b", "c"]) {
      const bytes = syntheticFrames(adapter, 2, seed).map((frame) => encoder.encode(frame));
      for await (const event of adapter.read(each(bytes))) {
        if (event.type !== "tool-input-delta") continue;
        const parser = createJsonParser();
        parser.feed(event.call.argsText);
        expect(event.call.input).toEqual(parser.value);
      }
    }
  });

  it("says the same whether it is given deltas or events, whatever is wrong with the stream", () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(damage, { maxLength: 4 }), fc.boolean(), (which, list, whole) => {
        const frames = damaged(streams[which % streams.length]!, list);
        const pieces = whole ? [encoder.encode(frames.join(""))] : frames.map((frame) => encoder.encode(frame));
        expect(said(adapter, pieces, true).log).toEqual(said(adapter, pieces, false).log);
      }),
      { numRuns: 1000 },
    );
  });
});

it("of a choice that is read says as an event does that it was there", () => {
  const adapter = adapters.find(({ adapter: { name } }) => name === "openai-chat")!.adapter;
  const frame = (index: number, delta: unknown) =>
    encoder.encode(`data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index, delta }] })}\n\n`);
  const pieces = [frame(1, { role: "assistant" }), ...["I", " w", "ill"].map((content) => frame(0, { content }))];
  said(adapter, pieces, true); // knows such events from now on
  const done = encoder.encode("data: [DONE]\n\n");
  expect(said(adapter, [...pieces, done], true).log).toEqual(said(adapter, [...pieces, done], false).log);
});

it("of a status that is none of success says as an event does that the turn has failed", () => {
  const adapter = adapters.find(({ adapter: { name } }) => name === "openai-chat")!.adapter;
  const frame = (content: string, status_code: number) => {
    const base_resp = { status_code, status_msg: status_code === 0 ? "" : "output is sensitive" };
    const event = { id: "c", model: "m", choices: [{ index: 0, delta: { content } }], base_resp };
    return encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
  };
  const pieces = [frame("I", 0), frame(" w", 0), frame("ill", 1027)];
  said(adapter, pieces, true); // knows such events from now on
  expect(said(adapter, pieces, true).log).toEqual(said(adapter, pieces, false).log);
});

// Only this wire takes what came for complete without a word of the provider, and only as long as nothing follows.
it("of an answer in sound that goes on, a delta says as an event does that it is not at its end", () => {
  const adapter = adapters.find(({ adapter: { name } }) => name === "openai-chat")!.adapter;
  const frame = (delta: unknown) =>
    encoder.encode(`data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta }] })}\n\n`);
  const begin = { tool_calls: [{ index: 0, id: "1", type: "function", function: { name: "pay", arguments: "" } }] };
  const sound = { audio: { id: "a", expires_at: 9 } };
  for (const then of [{ content: "I w" }, { tool_calls: [{ index: 0, function: { arguments: '{"' } }] }]) {
    for (const more of [[then], [then, sound], [{ content: "" }, then]]) {
      const pieces = [begin, then, then, sound, ...more].map(frame);
      const { log, deltas } = said(adapter, pieces, true);
      expect(deltas).toBeGreaterThan(0);
      expect(log).toEqual(said(adapter, pieces, false).log);
    }
  }
});
