import * as fc from "../fast-check.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { WIRES, makeStream } from "../../bench/workloads.ts";
import { parseJson } from "../../src/json/index.ts";
import { createDecoder, Templates, type Delta } from "../../src/wire/index.ts";
import { lookAnew } from "../../src/wire/fit.ts";
import { plainEventOf, type PlainEvent } from "../../src/wire/plain-event.ts";
import type { Template } from "../../src/wire/template.ts";
import { indexIn, textIn } from "../../src/wire/templates.ts";
import { valueIn } from "../../src/wire/value-template.ts";

/** JSON texts of events that are alike: one shape, in which some values, and now and then a character, change. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      '"',
      "\\",
      '\\"',
      "\n",
      '","b":"',
      "a".repeat(60),
      `${"a".repeat(50)}\n${"b".repeat(70)}\t"c`,
      "é€😀",
      "\ufeff",
      `\ufeff${"é".repeat(70)}`,
      "\ud800",
      "}",
    ),
  },
  { weight: 1, arbitrary: fc.constant("x".repeat(300)) },
);
const leaf = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 2, arbitrary: fc.nat() },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, 1.5, 1e21, 123456789012345, 1234567890123456, true, false, null) },
);
const key = fc.constantFrom("a", "b", "delta", "0", "1", "__proto__", "constructor", "a b", '"', "\\", "é");

type Shape =
  | { kind: "leaf"; fixed: boolean }
  | { kind: "object"; entries: [string, Shape][] }
  | { kind: "array"; items: Shape[] };
const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("leaf" as const), fixed: fc.boolean() }) },
    // Keys may come twice.
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("object" as const),
        entries: fc.array(fc.tuple(key, tie("shape")), { maxLength: 4 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("array" as const), items: fc.array(tie("shape"), { maxLength: 3 }) }),
    },
  ),
}));

/** The text of a shape: values in turn from `values`, the fixed ones always the same, white space as told. */
function write(of: Shape, values: readonly unknown[], space: string): string {
  let next = 0;
  const json = (one: Shape): string => {
    if (one.kind === "array") return `[${one.items.map(json).join(`,${space}`)}]`;
    if (one.kind === "object") {
      return `{${one.entries.map(([name, value]) => `${JSON.stringify(name)}:${space}${json(value)}`).join(`,${space}`)}}`;
    }
    return JSON.stringify(one.fixed ? "fixed" : (values[next++ % values.length] ?? null));
  };
  return json(of);
}

const damage = fc.option(
  fc.record({
    at: fc.nat(),
    remove: fc.nat({ max: 3 }),
    put: fc.constantFrom("", " ", "0", '"', "\\", ",", "\t", "}", "-", ".5", "\\u0041"),
  }),
  { freq: 6, nil: undefined },
);
const event = fc.record({
  values: fc.array(leaf, { minLength: 1, maxLength: 6 }),
  space: fc.constantFrom("", "", "", " ", "   ", "\t"),
  padding: fc.constantFrom("", "", " ", "      "),
  damage,
});
const body = fc.record({
  shapes: fc.array(shape, { minLength: 1, maxLength: 2 }),
  events: fc.array(event, { minLength: 3, maxLength: 12 }),
});

/** The data of every event; nothing in it ends a line. */
function datas({
  shapes,
  events,
}: {
  shapes: Shape[];
  events: (typeof event extends fc.Arbitrary<infer T> ? T : never)[];
}): string[] {
  return events.map(({ values, space, padding, damage: damaged }, index) => {
    const json = write(shapes[index % shapes.length]!, values, space) + padding;
    if (damaged === undefined) return json;
    const at = damaged.at % (json.length + 1);
    // half a character is none in UTF-8
    return (json.slice(0, at) + damaged.put + json.slice(at + damaged.remove)).toWellFormed();
  });
}

function eventOf(head: string, data: string): PlainEvent {
  return { head, data, end: "\n\n" };
}

/** What the decoder makes of it; each event is spoiled after it was noted, as a parser may do that keeps it. */
function decoded(frames: readonly string[], templates?: Templates): unknown[] {
  const seen: unknown[] = [];
  const decoder = createDecoder({
    templates,
    onEvent(value) {
      seen.push(JSON.stringify(value));
      spoil(value);
    },
    onError: ({ code }) => seen.push({ code }),
  });
  for (const frame of frames) decoder.feed(new TextEncoder().encode(frame));
  decoder.end();
  return seen;
}

function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) spoil(inner);
  if (Array.isArray(value)) value.push("spoiled");
  else Object.assign(value, { spoiled: true, a: "spoiled", delta: 1 });
}

/** What JSON.parse makes of each event, up to the first that is none. */
function plain(texts: readonly string[]): unknown[] {
  const seen: unknown[] = [];
  for (const one of texts) {
    if (one.trim() === "") continue;
    try {
      seen.push(JSON.stringify(parseJson(one)));
    } catch {
      seen.push({ code: "invalid_event" });
      break;
    }
  }
  return seen;
}

const heads = fc.constantFrom("data: ", "event: x\ndata: ", "event: x\r\ndata:", ": y\ndata:");
const ends = fc.constantFrom("\n\n", "\r\n\r\n", "\r\n\n", "\n\r\n");

describe("an event that is like one before it", () => {
  it("has the value that JSON.parse gives it, or is the same error", () => {
    fc.assert(
      fc.property(body, heads, ends, (given, before, after) => {
        const texts = datas(given);
        const frames = texts.map((one) => before + one + after);
        const expected = plain(texts);
        expect(decoded(frames)).toEqual(expected);
        // What was learned of one stream holds for the next one.
        const templates = new Templates();
        for (let stream = 0; stream < 3; stream++) expect(decoded(frames, templates)).toEqual(expected);
        expect(decoded([frames.join("")], templates)).toEqual(expected);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ["-1", "-2", "-3", "4"],
    ["1.5", "1.25", "7", "1.75"],
    ["1e1", "1e2", "3", "-1e2"],
    ["1", "-2", "3", "-4"],
    ["123456789012345", "123456789012346", "9007199254740993", "1"],
  ])("has its own numbers: %s, %s, %s, %s", (...numbers) => {
    const texts = [...numbers, ...numbers].map((number) => `{"n":${number},"m":[${number}]}`);
    expect(decoded(texts.map((one) => `data: ${one}\n\n`))).toEqual(plain(texts));
  });

  it("has its own values, though spaces of different length stand around them", () => {
    const texts = ["", " ", "   ", "", "  "].map((space, n) => `{"a":${n}${space},${space}"b":"x"${space},"c":"${n}"}`);
    expect(decoded(texts.map((one) => `data: ${one}\n\n`))).toEqual(plain(texts));
  });

  it.each([
    ["tabs", ['{"n":1,\t"a":\t"x"}', '{"n":2,\t"a":\t"y"}', '{"n":3,\t"a":\t"z"}']],
    ["spaces only behind the first", ['{"n":1}  ', '{"n":2}', '{"n":3}']],
  ])("is known with %s", (_, texts) => {
    const templates = new Templates();
    for (const one of texts.slice(0, 2)) templates.learn(eventOf("data: ", one), JSON.parse(one));
    const bytes = new TextEncoder().encode(`data: ${texts[2]}\n\n`);
    expect(templates.find(bytes, 0)).toBe(bytes.length);
    expect(valueIn(templates.found!)).toEqual(JSON.parse(texts[2]!));
  });

  it("has its string at the very beginning, even an empty one", () => {
    const texts = ["x", "y", "", "z".repeat(20), ""].map((one) => `["${one}"]`);
    expect(decoded(texts.map((one) => `data:${one}\n\n`))).toEqual(plain(texts));
  });

  it("is too large over the limit, though it is known", () => {
    const said: unknown[] = [];
    const decoder = createDecoder({
      maxEventBytes: 30,
      onEvent: (value) => said.push(value),
      onError: ({ code }) => said.push(code),
    });
    for (const one of ["a", "b", "c", "x".repeat(40), "d"])
      decoder.feed(new TextEncoder().encode(`data: {"t":"${one}"}\n\n`));
    expect(said).toEqual([{ t: "a" }, { t: "b" }, { t: "c" }, "event_too_large"]);
  });

  it("is one in a chunk of any length", () => {
    const texts = Array.from({ length: 3000 }, (_, n) => JSON.stringify({ n, delta: "é".repeat(n % 40) }));
    expect(decoded([texts.map((one) => `data: ${one}\n\n`).join("")])).toEqual(texts);
  });

  it("is read anew where a source uses one buffer for all its chunks", () => {
    const seen: unknown[] = [];
    const decoder = createDecoder({ onEvent: (value) => seen.push(value), onError: (error) => seen.push(error) });
    const texts = Array.from({ length: 40 }, (_, n) => `{"delta":"${n + 10}"}`);
    const chunk = new Uint8Array(`data: ${texts[0]}\n\n`.length);
    for (const one of texts) {
      new TextEncoder().encodeInto(`data: ${one}\n\n`, chunk);
      decoder.feed(chunk);
    }
    expect(seen).toEqual(texts.map((one) => JSON.parse(one)));
  });

  it("is its own though another stream is read while it is told", () => {
    const streams = ["a", "b"].map((name) => Array.from({ length: 40 }, (_, n) => `{"delta":"${name}${n}"}`));
    const [one, other] = streams.map((texts) => texts.map((json) => new TextEncoder().encode(`data: ${json}\n\n`)));
    const seen: string[] = [];
    const inner = createDecoder({
      onEvent: (value) => seen.push(JSON.stringify(value)),
      onError: () => seen.push("!"),
    });
    const outer = createDecoder({
      onEvent(value) {
        seen.push(JSON.stringify(value));
        inner.feed(other!.shift()!);
      },
      onError: () => seen.push("!"),
    });
    outer.feed(Buffer.concat(one!));
    expect(seen).toEqual(streams[0]!.flatMap((json, n) => [json, streams[1]![n]]));
  });

  it("is its own though another stream reads the same long chunk to its end while it is told", () => {
    const texts = Array.from({ length: 2000 }, (_, n) => `{"delta":"${n}"}`);
    const chunk = new TextEncoder().encode(texts.map((json) => `data: ${json}\n\n`).join(""));
    const seen: string[] = [];
    const inner = createDecoder({ onEvent: () => {}, onError: () => {} });
    const outer = createDecoder({
      onEvent(value) {
        if (seen.push(JSON.stringify(value)) === 10) inner.feed(chunk);
      },
      onError: () => seen.push("!"),
    });
    // Of the very first chunk, white space before the first event is cut off, so that each stream has its own.
    for (const decoder of [inner, outer]) decoder.feed(new TextEncoder().encode(": hi\n\n"));
    outer.feed(chunk);
    expect(seen).toEqual(texts);
  });

  it("has own properties only, whatever their names", () => {
    const frames = Array.from(
      { length: 20 },
      (_, n) => `data: {"delta":"${n}","__proto__":{"a":"${n}"},"constructor":"${n}"}\n\n`,
    );
    expect(decoded(frames)).toEqual(plain(frames.map((frame) => frame.slice(6))));
  });

  it.each(WIRES)("is known in nearly all events of a stream of %s", (wire) => {
    const content = 'const x = "é";\n'.repeat(200);
    const argsText = JSON.stringify({ path: "a", content });
    const { frames } = makeStream(wire, { text: content, calls: [{ id: "1", name: "f", argsText }] }, "event");
    const templates = new Templates();
    let known = 0;
    for (const frame of frames) {
      const bytes = new TextEncoder().encode(frame);
      const plainEvent = plainEventOf(frame)!;
      if (plainEvent.data === "[DONE]") continue;
      if (templates.find(bytes, 0) === bytes.length) {
        known++;
        expect(valueIn(templates.found!)).toEqual(JSON.parse(plainEvent.data));
      } else templates.learn(plainEvent, JSON.parse(plainEvent.data));
    }
    expect(known).toBeGreaterThan(0.9 * frames.length);
  });
});

it.each(Array.from({ length: 17 }, (_, more) => more - 8))(
  "the last event of a chunk is read where it ends %i bytes behind what is looked into at once",
  (more) => {
    const like = (n: number, letters: string) => `data: {"n":${n},"text":"${letters}"}\n\n`;
    const frames = Array.from({ length: 256 }, (_, at) =>
      like(1000 + at, "xy"[at % 2]!.repeat(at === 255 ? 36 + more : 36)),
    );
    const chunk = frames.join("");
    expect(chunk).toHaveLength(16_384 + more);
    expect(decoded([chunk], new Templates())).toEqual(plain(frames.map((frame) => frame.slice(6))));
  },
);

it("an event that is cut at the end of a long chunk is not completed by what stood there before", () => {
  // 64 bytes each, so that the end of one stands where the end of another stood.
  const texts = Array.from({ length: 556 }, (_, n) => `{"n":${1000 + n},"text":"${"xy"[n % 2]!.repeat(36)}"}`);
  const sent = texts.map((one) => `data: ${one}\n\n`).join("");
  const before = sent.slice(0, 16_384);
  for (const missing of [1, 2, 3, 4, 20, 40, 60]) {
    const chunks = [before, sent.slice(16_384, -missing), sent.slice(-missing)];
    expect(decoded(chunks, new Templates())).toEqual(plain(texts));
  }
});

describe("events that come one behind the other", () => {
  const kinds = ["a", "b", "c"].map((kind) => (id: string, more: string) => `{"${kind}":"${id}","more":"${more}"}`);
  const bytesOf = (data: string) => new TextEncoder().encode(`data: ${data}\n\n`);

  it("are found in whatever order they come", () => {
    const templates = new Templates();
    for (const kind of kinds)
      for (const id of ["1", "2"]) {
        const data = kind(id, id);
        templates.learn(eventOf("data: ", data), JSON.parse(data));
      }
    const order = fc.array(fc.nat({ max: kinds.length }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(order, (events) => {
        let last: Template | undefined;
        let lastKind = -1;
        for (const [at, kind] of events.entries()) {
          if (kind === lastKind) continue; // which is looked for before any other
          const data = kinds[kind]?.(`${at}`, "x") ?? '{"none":0}';
          const frame = bytesOf(data);
          const end = templates.find(frame, 0, last);
          expect(end).toBe(kind < kinds.length ? frame.length : -1);
          if (end === -1) continue;
          expect(valueIn(templates.found!)).toEqual(JSON.parse(data));
          last = templates.found;
          lastKind = kind;
        }
      }),
    );
  });

  it("have their strings, though one that came a moment ago begins or goes on like them", () => {
    const templates = new Templates();
    const [kind] = kinds as [(typeof kinds)[0]];
    for (const id of ["1", "2"]) templates.learn(eventOf("data: ", kind(id, id)), JSON.parse(kind(id, id)));
    const plainParts = ["0123456789abcdef", "0123456789", "x".repeat(70)];
    const part = fc.constantFrom(...plainParts, "é", "😀", "\\n", '\\"', "\\\\", "\\u00e9", "\\ud83d");
    const string = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(fc.tuple(string, string), { minLength: 1, maxLength: 12 }), (events) => {
        for (const [id, more] of events) {
          const frame = bytesOf(kind(id, more));
          lookAnew();
          expect(templates.find(frame, 0)).toBe(frame.length);
          expect(valueIn(templates.found!)).toEqual(JSON.parse(kind(id, more)));
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("an event that is a delta", () => {
  const head = "data: ";
  const delta: Delta<unknown> = { text: ["d", "t"], index: ["i"], ignored: [["n"], ["p", 1]], push: () => true };
  const bytes = (data: string) => new TextEncoder().encode(`${head}${data}\n\n`);
  const after = (data: string) => {
    const templates = new Templates(() => delta);
    templates.learn(eventOf(head, data), JSON.parse(data));
    return templates;
  };
  const first = '{"i":0,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"]}';

  it("tells of those like it, without a second one", () => {
    const templates = after(first);
    const next = bytes('{"i":12,"n":10,"d":{"k":"é","t":"\\"€"},"p":[1,"yy"]}');
    expect(templates.find(next, 0)).toBe(next.length);
    const found = templates.found!;
    expect([found.delta, textIn(found), indexIn(found)]).toEqual([delta, '"€', 12]);
  });

  it("tells of those like it, though its places stand behind containers in containers", () => {
    const like = (said: string) => `{"e":[{},{"f":[2]}],"p":[{"g":[3]},"${said}"],"i":0,"d":{"h":{},"t":"${said}"}}`;
    const next = bytes(like("yy"));
    expect(after(like("x")).find(next, 0)).toBe(next.length);
  });

  it.each([
    '{"i":0,"n":9,"d":{"k":"e","t":"a"},"p":[1,"x"]}',
    '{"i":0,"n":9,"d":{"k":"é","t":"a"},"p":[2,"x"]}',
    '{"i":-1,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"]}',
    '{"i":0.5,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"]}',
    '{"i":,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"]}',
    '{"i":00,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"]}',
    '{"i":1234567890123456,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"]}',
    '{"i":0,"n":9,"d":{"k":"é","t":null},"p":[1,"x"]}',
    '{"i":0,"n":9,"d":{"k":"é","t":"a"},"p":[1,"x"],"e":1}',
  ])("is not taken for %s", (other) => {
    expect(after(first).find(bytes(other), 0)).toBe(-1);
  });

  it.each([
    // A place that comes twice, or is written in another way: the last one counts.
    '{"i":0,"d":{"t":"a"},"d":{"u":"b"}}',
    '{"i":0,"d":{"t":"a","t":1}}',
    '{"i":0,"i":1,"d":{"t":"a"}}',
    String.raw`{"i":0,"d":{"t":"a","\u0074":1}}`,
    String.raw`{"i":0,"d":{"t":"a"},"\u0064":1}`,
    // No index that could be told, and no piece.
    '{"i":-1,"d":{"t":"a"}}',
    '{"i":"0","d":{"t":"a"}}',
    '{"d":{"t":"a"}}',
    '{"i":0,"d":{"t":1}}',
    '{"i":0,"t":"a"}',
    '{"i":0,"d":[{"t":"a"}]}',
    '{"i":0,"d":"a"}',
    '{"i":0,"x":{"t":"a"}}',
    '{"i":0,"d":{"x":[1,{"t":"a"}]},"e":[]}',
  ])("tells of none where it is %s", (data) => {
    expect(after(data).find(bytes(data), 0)).toBe(-1);
  });

  it.each(Array.from({ length: 18 }, (_, length) => "k".repeat(length)))(
    "is not taken for one that differs in a single byte anywhere, with %j between two places",
    (name) => {
      const data = `{"i":0,"${name}é":1,"n":9,"d":{"t":"a"}}`;
      const templates = after(data);
      const frame = bytes(data);
      expect(templates.find(frame, 0)).toBe(frame.length);
      const places = ["0,", "9,", 'a"'].map((place) => head.length + Buffer.from(data).indexOf(place));
      for (let at = 0; at < frame.length; at++) {
        if (places.includes(at)) continue;
        const other = frame.slice();
        other[at]! ^= 0x80;
        expect(templates.find(other, 0)).toBe(-1);
      }
    },
  );

  it.each([1, 64, 65, 300])("is none where its text of %i characters is no UTF-8", (length) => {
    const templates = after(first);
    const frame = bytes(`{"i":0,"n":9,"d":{"k":"é","t":"${"a".repeat(length)}"},"p":[1,"x"]}`);
    expect(templates.find(frame, 0)).toBe(frame.length);
    const other = frame.slice();
    other[frame.lastIndexOf(0x61)] = 0xff;
    expect(templates.find(other, 0)).toBe(-1);
  });

  it.each([1, 64, 65, 300])("has its text of %i characters whole, a byte order mark at its start, too", (length) => {
    const marked = `\ufeff\ufffd${"a".repeat(length)}`;
    const templates = after(first);
    templates.find(bytes(`{"i":0,"n":9,"d":{"k":"é","t":"${marked}"},"p":[1,"x"]}`), 0);
    expect(textIn(templates.found!)).toBe(marked);
  });

  it("has its text, whatever byte stands in it, and wherever", () => {
    const digits = "0123456789";
    const templates = after(first);
    for (let byte = 0; byte < 256; byte++) {
      for (let at = 0; at < digits.length; at++) {
        const frame = bytes(`{"i":0,"n":9,"d":{"k":"é","t":"${digits}"},"p":[1,"x"]}`);
        frame[Buffer.from(frame).indexOf(digits) + at] = byte;
        const value = jsonOf(frame.subarray(head.length));
        expect([byte, at, templates.find(frame, 0)]).toEqual([byte, at, value === undefined ? -1 : frame.length]);
        if (value !== undefined) expect(textIn(templates.found!)).toBe(value.d.t);
      }
    }
  });

  it.each([
    [
      [0xc0, 0xaf],
      [0xc1, 0xbf],
      [0xc2, 0x80],
      [0xdf, 0xbf],
    ],
    [
      [0xe0, 0x80, 0xaf],
      [0xe0, 0x9f, 0xbf],
      [0xe0, 0xa0, 0x80],
      [0xef, 0xbf, 0xbf],
    ],
    [
      [0xed, 0x9f, 0xbf],
      [0xed, 0xa0, 0x80],
      [0xed, 0xbf, 0xbf],
      [0xee, 0x80, 0x80],
    ],
    [
      [0xf0, 0x8f, 0xbf, 0xbf],
      [0xf0, 0x90, 0x80, 0x80],
      [0xf4, 0x8f, 0xbf, 0xbf],
      [0xf4, 0x90, 0x80, 0x80],
    ],
    [
      [0xc3, 0x41],
      [0xe2, 0x41, 0xac],
      [0xe2, 0x82, 0x41],
      [0xf0, 0x9f, 0x98, 0x41],
    ],
  ])("has its text where that is UTF-8, at the first and last characters of each length: %j, %j, %j, %j", (...all) => {
    const templates = after(first);
    for (const sequence of all) {
      const frame = bytes('{"i":0,"n":9,"d":{"k":"é","t":"0123"},"p":[1,"x"]}');
      frame.set(sequence, Buffer.from(frame).indexOf("0123"));
      const value = jsonOf(frame.subarray(head.length));
      expect(templates.find(frame, 0)).toBe(value === undefined ? -1 : frame.length);
      if (value !== undefined) expect(textIn(templates.found!)).toBe(value.d.t);
    }
  });

  it.each(["x", "é", "x".repeat(20), `${"x".repeat(20)}é`, "\\n", "x".repeat(70)])(
    "is none while its end has not come, wherever %j is cut",
    (piece) => {
      const templates = after(first);
      const frame = bytes(`{"i":1,"n":9,"d":{"k":"é","t":"${piece}"},"p":[1,"${piece}"]}`);
      for (let end = 0; end < frame.length; end++) {
        expect(templates.find(frame, 0)).toBe(frame.length); // whose rest is still there when it is cut
        expect(templates.find(frame.slice(0, end), 0)).toBe(-1);
      }
    },
  );

  function jsonOf(data: Uint8Array): { d: { t: string } } | undefined {
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data)) as { d: { t: string } };
    } catch {
      return undefined;
    }
  }

  it("has the index 0 where it has none", () => {
    const templates = new Templates(() => ({ text: ["t"], push: () => true }));
    templates.learn(eventOf(head, '{"t":"a"}'), { t: "a" });
    templates.find(bytes('{"t":"b"}'), 0);
    expect(indexIn(templates.found!)).toBe(0);
  });

  it("is not told of behind a head that is long, of which nothing is kept, or has NULs", () => {
    for (const odd of [`event: ${"x".repeat(2000)}\ndata: `, `event: ${"\0".repeat(30)}\ndata: `]) {
      const templates = new Templates(() => delta);
      templates.learn(eventOf(odd, first), JSON.parse(first));
      const frame = new TextEncoder().encode(`${odd}${first}\n\n`);
      expect(templates.find(frame, 0)).toBe(-1);
    }
  });

  describe("with places that mean nothing", () => {
    const padded: Delta<unknown> = { ...delta, ignored: [["id"], ["made"]] };
    const like = (id: string, made: number, space: string, piece: string) =>
      `{"id":"${id}","made":${made},"i":0,"n":1,"d":{"t":"${piece}"}${space}}`;

    it.each([
      ["ids", [like("a", 1, "", "x"), like("bb", 1, "", "y"), like("é", 1, "", "z"), like('\\"', 1, "", "z")]],
      ["long ids", ["a", "b", "b", "c", "b"].map((end) => like(`${"id".repeat(20)}${end}`, 1, "", end))],
      ["ids of any length", Array.from({ length: 40 }, (_, n) => like("0123456789".repeat(4).slice(n), 1, "", "x"))],
      ["counts", [like("a", 1, "", "x"), like("a", 22, "", "y"), like("a", 3, "", "z")]],
      ["spaces", [like("a", 1, " ", "x"), like("a", 1, "   ", "y"), like("a", 1, "", "z"), like("a", 1, " ", "z")]],
    ])("tells of those with other %s", (_, events) => {
      const templates = new Templates(() => padded);
      templates.learn(eventOf(head, events[0]!), JSON.parse(events[0]!));
      for (const data of events) {
        expect(templates.find(bytes(data), 0)).toBe(bytes(data).length);
        expect(textIn(templates.found!)).toBe((JSON.parse(data) as { d: { t: string } }).d.t);
      }
    });

    it("learns of spaces from the first one that has some", () => {
      const templates = new Templates(() => padded);
      for (const space of ["", " "]) {
        const data = like("a", 1, space, "x");
        expect(templates.find(bytes(data), 0)).toBe(-1);
        templates.learn(eventOf(head, data), JSON.parse(data));
      }
      for (const space of ["", "  ", ""]) {
        const data = like("b", 2, space, "y");
        expect(templates.find(bytes(data), 0)).toBe(bytes(data).length);
      }
    });

    it.each([
      like("a", 1, "\t", "x"),
      like("a", -1, "", "x"),
      like("a", 1.5, "", "x"),
      like("a", 1, "", "x").replace('"a"', "null"),
      like("a", 1, "", "x").replace('"d":{"t":"x"}', '"d":{"t":"x" }'),
      // An id that was passed over, and then goes on.
      like(`${"id".repeat(20)}`, 1, "", "x").replace('",', "\n,"),
    ])("does not tell of %j", (other) => {
      const templates = new Templates(() => padded);
      const known = [like("a", 1, " ", "x"), like("id".repeat(20), 2, "", "y")];
      templates.learn(eventOf(head, known[0]!), JSON.parse(known[0]!));
      for (const data of known) expect(templates.find(bytes(data), 0)).toBe(bytes(data).length);
      expect(templates.find(bytes(other), 0)).toBe(-1);
    });
  });
});

describe("an event with many places", () => {
  const names = Array.from({ length: 12 }, (_, n) => `k${n}`);
  const like = (count: number, said: string) =>
    `{${names.slice(0, count).map((name) => `"${name}":"${said}"`)},"t":"${said}"}`;

  it.each([
    ["a delta", () => ({ text: ["t"], ignored: names.map((name) => [name]), push: () => true }), ["a"]],
    ["alike", undefined, ["a", "b"]],
  ] as const)("is known by 12 of them at most if it is %s", (_, deltaOf, learned) => {
    const found = [11, 12].map((count) => {
      const templates = new Templates(deltaOf);
      for (const said of learned) templates.learn(eventOf("data: ", like(count, said)), JSON.parse(like(count, said)));
      return templates.find(new TextEncoder().encode(`data: ${like(count, "c")}\n\n`), 0) !== -1;
    });
    expect(found).toEqual([true, false]);
  });
});

describe("a stream", () => {
  it("may hold values that are no objects", () => {
    const values = [null, 1, "x", [1], { t: "a" }, null, { t: "b" }];
    const said: unknown[] = [];
    const decoder = createDecoder({
      templates: new Templates(({ t }: { t?: string }) => (t === undefined ? t : { text: ["t"], push: () => true })),
      onDelta: (_, t) => said.push({ t }) > 0,
      onEvent: (value) => said.push(value),
      onError: (error) => expect.fail(error.message),
    });
    for (const value of values) decoder.feed(new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`));
    expect(said).toEqual(values);
  });

  it.each(["alone in their chunks", "in one chunk"])("tells an event whole where the piece is not taken, %s", (how) => {
    const frames = ["a", "b", "c", "d"].map((piece) => Buffer.from(`data: {"t":"${piece}"}\n\n`));
    const said: unknown[] = [];
    const decoder = createDecoder({
      templates: new Templates(() => ({ text: ["t"], push: () => true })),
      onDelta: (_, piece) => piece !== "c" && said.push(piece) > 0,
      onEvent: (value) => said.push(value),
      onError: (error) => expect.fail(error.message),
    });
    for (const chunk of how === "in one chunk" ? [Buffer.concat(frames)] : frames) decoder.feed(chunk);
    expect(said).toEqual([{ t: "a" }, "b", { t: "c" }, "d"]);
  });

  it("tells its deltas as such, though events between them that are none have the same fields", () => {
    const sent = Array.from({ length: 40 }, (_, n) => ({ i: n % 2, t: `${n}` }));
    const said: unknown[] = [];
    const decoder = createDecoder({
      templates: new Templates(({ i }: { i: number }) => (i === 0 ? { text: ["t"], push: () => true } : undefined)),
      onDelta: (_, t) => said.push(t) > 0,
      onEvent: (value) => said.push(value),
      onError: (error) => expect.fail(error.message),
    });
    for (const value of sent) decoder.feed(new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`));
    expect(said).toEqual(sent.map((value, n) => (value.i === 0 && n > 0 ? value.t : value)));
  });

  it.each(["", ": waiting", "[DONE]"])("learns from its events, however many of %j come before them", (nothing) => {
    const said: unknown[] = [];
    const decoder = createDecoder({
      templates: new Templates(() => ({ text: ["t"], push: () => true })),
      onDelta: (_, piece) => said.push(piece) > 0,
      onEvent: (value) => value !== "[DONE]" && said.push(value),
      onError: (error) => expect.fail(error.message),
    });
    for (const data of [...Array<string>(40).fill(nothing), '{"t":"a"}', '{"t":"b"}'])
      decoder.feed(new TextEncoder().encode(`data: ${data}\n\n`));
    expect(said).toEqual([{ t: "a" }, "b"]);
  });

  it("tells nothing more after an error, alone in their chunks or in one", () => {
    const frames = ['{"t":"a"}', '{"t":"b"}', '{"t":', '{"t":"c"}'].map((data) => Buffer.from(`data: ${data}\n\n`));
    for (const chunks of [frames, [Buffer.concat(frames)]]) {
      const said: unknown[] = [];
      const decoder = createDecoder({
        templates: new Templates(() => ({ text: ["t"], push: () => true })),
        onDelta: (_, piece) => said.push(piece) > 0,
        onEvent: (value) => said.push(value),
        onError: ({ code }) => said.push(code),
      });
      for (const chunk of chunks) decoder.feed(chunk);
      decoder.end();
      expect(said).toEqual([{ t: "a" }, "b", "invalid_event"]);
    }
  });
});

describe("a long stream", () => {
  const delta: Delta<unknown> = { text: ["t"], ignored: [["n"], ["id"]], push: () => true };

  it("tries what fitted last first, whatever its ids and its padding", () => {
    const templates = new Templates(() => delta);
    const find = vi.spyOn(templates, "find");
    const texts: string[] = [];
    const decoder = createDecoder({
      templates,
      onDelta: (_, piece) => texts.push(piece) > 0,
      onEvent: (value) => texts.push((value as { t: string }).t),
      onError: (error) => expect.fail(error.message),
    });
    const sent = Array.from({ length: 3000 }, (_, n) => {
      // One id for long, then others in turn, then one again, and some padding.
      const id = n < 600 ? "a".repeat(20) : n < 1200 ? `${"b".repeat(20)}${n % 3}` : "c";
      return { t: `${n}`, frame: `data: {"id":"${id}","n":${n},"t":"${n}"${" ".repeat(n % 500 === 0 ? 9 : 0)}}\n\n` };
    });
    for (const { frame } of sent) decoder.feed(new TextEncoder().encode(frame));
    expect(texts).toEqual(sent.map(({ t }) => t));
    // Mostly what fitted last fits again.
    expect(find.mock.calls.length).toBeLessThan(30);
  });
});

it("an event of a long stream that begins like one with much padding is told whole", () => {
  const templates = new Templates(() => ({ text: ["t"], push: () => true }));
  const said: unknown[] = [];
  const decoder = createDecoder({
    templates,
    onDelta: (_, piece) => said.push(piece) > 0,
    onEvent: (value) => said.push(value),
    onError: (error) => expect.fail(error.message),
  });
  const feed = (space: number, more = "") =>
    decoder.feed(new TextEncoder().encode(`data: {"t":"x"${" ".repeat(space)}${more}}\n\n`));
  feed(1);
  for (let n = 0; n < 300; n++) feed(9000);
  feed(9000, ',"error":1');
  expect(said.at(-1)).toEqual({ t: "x", error: 1 });
});

describe("what is known of a wire", () => {
  const frame = (data: string) => new TextEncoder().encode(`data: ${data}\n\n`);

  it("is bounded: what was used least gives way", () => {
    const templates = new Templates();
    const kind = (name: number, value: number) => `{"k${name}":${value}}`;
    for (let name = 0; name < 100; name++) {
      for (const value of [1, 2]) {
        templates.learn(eventOf("data: ", kind(name, value)), JSON.parse(kind(name, value)));
        expect(templates.find(frame(kind(0, 3)), 0)).toBe(name + value < 2 ? -1 : frame(kind(0, 3)).length);
      }
      // What is found earns what learning costs.
      for (let n = 0; n < 16; n++) templates.find(frame(kind(name, n)), 0);
    }
    const known = Array.from({ length: 100 }, (_, name) => templates.find(frame(kind(name, 3)), 0) !== -1);
    expect(known.filter(Boolean)).toHaveLength(24);
    expect([known[0], known[1], known[99]]).toEqual([true, false, true]);
  });

  it.each([
    ["numbers", (n: number) => `{"logprob":-0.${n}}`, undefined, 16],
    ["deltas", (n: number) => `{"t":"x","logprob":-0.${n}}`, { text: ["t"], push: () => true }, 16],
    ["kinds", (n: number) => `{"k${n}":-1}`, undefined, 130],
  ])("takes no more time to be learned of other %s than it saves, but for a start", (_, json, delta, most) => {
    let asked = 0;
    const templates = new Templates(() => {
      asked++;
      return delta;
    });
    for (let n = 0; n < 10_000; n++) {
      const data = json(n);
      expect(templates.find(frame(data), 0)).toBe(-1);
      templates.learn(eventOf("data: ", data), JSON.parse(data));
    }
    expect(asked).toBeLessThan(most);
  });

  it.each(["x", "é", "漢", "😀"])("is learned from two events as long as may be learned from, of %j", (character) => {
    const templates = new Templates();
    const like = (n: number) => `{"n":${n},"text":"${character.repeat(2000 / character.length)}${n}"}`;
    for (const n of [1, 2]) templates.learn(eventOf("data: ", like(n)), JSON.parse(like(n)));
    expect(templates.find(frame(like(3)), 0)).toBe(frame(like(3)).length);
    expect(valueIn(templates.found!)).toEqual(JSON.parse(like(3)));
  });

  it("is hardly ever looked for in events of which nothing can be learned, however many streams have one", () => {
    const templates = new Templates();
    const looks = vi.spyOn(String.prototype, "matchAll");
    onTestFinished(() => looks.mockRestore());
    for (let n = 0; n < 500; n++) {
      templates.begin();
      const data = `{"latitude":${n}.5}`;
      templates.learn(eventOf("data: ", data), JSON.parse(data));
    }
    expect(looks).toHaveBeenCalled();
    expect(looks.mock.calls.length).toBeLessThan(50);
  });

  it("is learned from the last event of each kind, of 24 kinds", () => {
    const found = [23, 24].map((others) => {
      const templates = new Templates();
      const learn = (data: string) => templates.learn(eventOf("data: ", data), JSON.parse(data));
      learn('{"n":1}');
      for (let n = 0; n < others; n++) learn(`{"k${n}":1}`);
      learn('{"n":2}');
      return templates.find(frame('{"n":3}'), 0) !== -1;
    });
    expect(found).toEqual([true, false]);
  });

  it("is learned from a stream, whatever the streams before it were like", () => {
    const templates = new Templates();
    for (let n = 0; n < 10_000; n++) templates.learn(eventOf("data: ", `{"k${n}":${n}}`), { [`k${n}`]: n });
    const decoder = createDecoder({ templates, onEvent: () => {}, onError: () => {} });
    for (let n = 0; n < 3; n++) decoder.feed(frame(`{"n":${n}}`));
    expect(templates.find(frame('{"n":4}'), 0)).not.toBe(-1);
  });

  it("is learned again, now and then, where it was learned in vain", () => {
    const templates = new Templates();
    const said = (n: number, word: string) => `{"n":${n},"text":"${word}"}`;
    const learn = (data: string) => templates.learn(eventOf("data: ", data), JSON.parse(data));
    for (let n = 0; n < 20; n++) learn(`{"n":-0.${n},"text":"x${n}"}`);
    let tries = 0;
    for (; templates.find(frame(said(0, "z")), 0) === -1 && tries < 100; tries++) learn(said(tries, `y${tries}`));
    expect(tries).toBeLessThan(20);
  });

  it("is learned anew where two were alike by chance", () => {
    const templates = new Templates();
    const events = ['{"a":1,"b":"x"}', '{"a":1,"b":"y"}', '{"a":2,"b":"x"}', '{"a":3,"b":"z"}'];
    const found = events.map((data) => {
      const end = templates.find(frame(data), 0);
      if (end === -1) templates.learn(eventOf("data: ", data), JSON.parse(data));
      else expect(valueIn(templates.found!)).toEqual(JSON.parse(data));
      return end !== -1;
    });
    expect(found).toEqual([false, false, false, true]);
  });
});
