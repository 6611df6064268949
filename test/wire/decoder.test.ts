import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createDecoder } from "../../src/wire/index.ts";
import { bytesOf, decode, splittings } from "./splits.ts";

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...bytesOf(part)] : part)));

/** Of one to four bytes, and beside the surrogates; the first byte of each is the least or the greatest there is. */
const FIRST_AND_LAST = String.fromCodePoint(0x7f, 0x80, 0x7ff, 0x800, 0xfff, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff);

interface Case {
  name: string;
  body: string | Uint8Array;
  says: unknown[];
}

const events: Case[] = [
  { name: "reads one event", body: 'data: {"a":1}\n\n', says: [{ a: 1 }] },
  { name: "reads data without the space", body: 'data:{"a":1}\n\n', says: [{ a: 1 }] },
  {
    name: "reads padded data lines",
    body: 'data: {"a":1          }\n\ndata:   {"b":2}  \n\n',
    says: [{ a: 1 }, { b: 2 }],
  },
  {
    name: "passes over event names, ids and retry",
    body: 'event: x\nid: 1\nretry: 5\ndata: {"a":1}\n\n',
    says: [{ a: 1 }],
  },
  { name: "passes over comments", body: ': waiting\n\n: waiting\n\ndata: {"a":1}\n\n:\n\n', says: [{ a: 1 }] },
  // https://github.com/mnfst/llm-gateway/issues/2053
  {
    name: "passes over comments that a gateway has made data",
    body: 'data: : waiting\n\ndata: : waiting\ndata: {"a":1}\ndata: : waiting\ndata: {"b":2}\n\n',
    says: [{ a: 1 }, { b: 2 }],
  },
  // https://github.com/paiml/aprender/pull/2015
  {
    name: "reads data whose server writes its field twice",
    body: 'data: data: {"a":1}\ndata: \n\ndata: data:{"b":"data: "}\n\ndata: data: [DONE]\n\n',
    says: [{ a: 1 }, { b: "data: " }, "[DONE]"],
  },
  { name: "reads CRLF", body: 'event: x\r\ndata: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n', says: [{ a: 1 }, { b: 2 }] },
  { name: "reads CR", body: 'event: x\rdata: {"a":1}\r\rdata: {"b":2}\r\r', says: [{ a: 1 }, { b: 2 }] },
  {
    name: "reads mixed line ends",
    body: 'data: {"a":1}\r\n\ndata: {"b":2}\n\r\ndata: {"c":3}\r\r\n',
    says: [{ a: 1 }, { b: 2 }, { c: 3 }],
  },
  { name: "joins the data lines of one event", body: 'data: {\ndata:   "a": 1\ndata: }\n\n', says: [{ a: 1 }] },
  {
    name: "takes data lines that are events of their own apart",
    body: 'data: {"a":1}\ndata:\ndata: {"b":2}\ndata: [DONE]\n\n',
    says: [{ a: 1 }, { b: 2 }, "[DONE]"],
  },
  { name: "skips a byte order mark", body: bytes([0xef, 0xbb, 0xbf], 'data: {"a":1}\n\n'), says: [{ a: 1 }] },
  { name: "skips a byte order mark before JSON", body: bytes([0xef, 0xbb, 0xbf], '{"a":1}'), says: [{ a: 1 }] },
  {
    name: "keeps U+FEFF inside the stream",
    body: 'data: {"a":"\ufeff"}\n\ndata: "\ufeff"\n\n',
    says: [{ a: "\ufeff" }, "\ufeff"],
  },
  { name: "skips line ends at the start", body: '\r\n\n \ndata: {"a":1}\n\n', says: [{ a: 1 }] },
  {
    name: "reads characters of every length",
    body: 'data: {"a":"é€😀"}\n\ndata: {"b":"\u2028"}\n\n',
    says: [{ a: "é€😀" }, { b: "\u2028" }],
  },
  {
    name: "reads the first and the last characters of every length",
    body: `data: ${JSON.stringify(FIRST_AND_LAST)}\n\n`,
    says: [FIRST_AND_LAST],
  },
  {
    name: "reads the first and the last characters of every length in JSON",
    body: JSON.stringify(FIRST_AND_LAST),
    says: [FIRST_AND_LAST],
  },
  {
    name: "keeps U+FFFD that was sent",
    body: 'data: {"a":"\ufffd"}\n\ndata: {"a":"é\ufffd"}\n\n',
    says: [{ a: "\ufffd" }, { a: "é\ufffd" }],
  },
  { name: "hands on the word for the end", body: 'data: {"a":1}\n\ndata: [DONE]\n\n', says: [{ a: 1 }, "[DONE]"] },
  {
    name: "hands on the word for the end without its blank line",
    body: 'data: {"a":1}\n\ndata: [DONE]',
    says: [{ a: 1 }, "[DONE]"],
  },
  {
    name: "passes over events without data",
    body: 'event: ping\n\ndata:\n\ndata\n\ndata:  \n\ndata: {"a":1}\n\n',
    says: [{ a: 1 }],
  },
  {
    name: "delivers a last event without its blank line",
    body: 'data: {"a":1}\n\ndata: {"b":2}\n',
    says: [{ a: 1 }, { b: 2 }],
  },
  { name: "drops a last event that was cut", body: 'data: {"a":1}\n\ndata: {"b":"tru', says: [{ a: 1 }] },
  {
    name: "drops what is cut behind a whole line of the same event",
    body: 'data: {"a":1}\ndata: {"b":',
    says: [{ a: 1 }],
  },
  {
    name: "drops a last event that was cut between its lines",
    body: 'data: {"a":1}\n\ndata: {\ndata:   "b": 2\n',
    says: [{ a: 1 }],
  },
  {
    name: "drops a last event that was cut, though a line of it is JSON and another is not",
    body: 'data: {"a":1}\n\ndata: 1\ndata: {"b"2}\ndata: 3',
    says: [{ a: 1 }],
  },
  { name: "drops a field name that was cut", body: "da", says: [] },
  {
    name: "drops a last event that was cut in a character",
    body: bytes('data: {"a":1}\n\ndata: {"a":"', [0xf0, 0x9f]),
    says: [{ a: 1 }],
  },
  {
    name: "reads an error field",
    body: 'data: {"a":1}\n\nerror: {"message":"full"}\n',
    says: [{ a: 1 }, { error: { message: "full" } }],
  },
  {
    name: "reads an error field without a line end",
    body: 'data: {"a":1}\n\nerror: {"message":"full"}',
    says: [{ a: 1 }, { error: { message: "full" } }],
  },
  {
    name: "reads an error field that is text",
    body: "error: out of memory\n\n",
    says: [{ error: { message: "out of memory" } }],
  },
  {
    name: "passes over an error field that is empty, or was cut",
    body: 'data: {"a":1}\n\nerror:\n\nerror: {"mes',
    says: [{ a: 1 }],
  },
  {
    name: "reads a bare error between events",
    body: 'data: {"a":1}\n\n{\n  "error": {\n    "code": 503\n  }\n}\n',
    says: [{ a: 1 }, { error: { code: 503 } }],
  },
  {
    name: "reads a bare error without a wrapper between events",
    body: 'data: {"a":1}\n\n{"code":"x","message":"full"}\n{"detail":"full"} \n',
    says: [{ a: 1 }, { code: "x", message: "full" }, { detail: "full" }],
  },
  {
    name: "passes over bare JSON that is no error",
    body: 'data: {"a":1}\n\n{"b":{"c":2}}\n\ndata: {"d":3}\n\n',
    says: [{ a: 1 }, { d: 3 }],
  },
  {
    name: "reads a bare error after any number of objects that are none",
    body: `data: {"a":1}\n\n${'{"b":1}\n'.repeat(40)}{"error":1}\n`,
    says: [{ a: 1 }, { error: 1 }],
  },
  {
    name: "reads a bare error after an object that never closes",
    body: `data: {"a":1}\n\n{"b\n${"}\n".repeat(40)}{"error":1}\n`,
    says: [{ a: 1 }, { error: 1 }],
  },
  {
    name: "reads a bare error of many lines",
    body: `data: {"a":1}\n\n{"error":[\n${"1,\n".repeat(40)}1\n]}\n`,
    says: [{ a: 1 }, { error: Array.from({ length: 41 }, () => 1) }],
  },
  {
    name: "reads a bare error after an object that is too long for one",
    body: `data: {"a":1}\n\n{"error":[\n${" ".repeat(66_000)}\n1]}\n{"error":1}\n`,
    says: [{ a: 1 }, { error: 1 }],
  },
  {
    name: "joins no bare object over an error",
    body: 'data: {"a":1}\n\n{"b":2,\nerror: {"c":3}\n"error":1}\n',
    says: [{ a: 1 }, { error: { c: 3 } }],
  },
  {
    name: "joins no bare object over an event",
    body: 'data: {"a":1}\n\n{"b":2,\ndata: {"c":3}\n\n"error":1}\n',
    says: [{ a: 1 }, { c: 3 }],
  },
  {
    name: "reads a value a line",
    body: '{"a":1}\n{"b":"}{"}\r\n\n{"c":[1,{"d":"\\""}]}\n',
    says: [{ a: 1 }, { b: "}{" }, { c: [1, { d: '"' }] }],
  },
  {
    name: "reads values with nothing between them",
    body: '{"a":1}{"b":2}"c"3 true{"d":4}',
    says: [{ a: 1 }, { b: 2 }, "c", 3, true, { d: 4 }],
  },
  { name: "reads an empty string, and spaces in one", body: '{"":"a b"}', says: [{ "": "a b" }] },
  { name: "reads one document over many lines", body: '\n{\n  "a": [\n    1\n  ]\n}\n', says: [{ a: [1] }] },
  {
    name: "reads the elements of one array",
    body: '[ {\n  "a": 1\n}\n,\r\n\t{"b":[2]}, [3],4]\n',
    says: [{ a: 1 }, { b: [2] }, [3], 4],
  },
  { name: "reads one array after the other", body: '[{"a":1}]\n[{"b":2},3][]', says: [{ a: 1 }, { b: 2 }, 3] },
  { name: "reads an array that is not closed", body: '[{"a":1},\n{"b":2}', says: [{ a: 1 }, { b: 2 }] },
  { name: "drops a last JSON value that was cut", body: '{"a":1}\n{"b":"é', says: [{ a: 1 }] },
  {
    name: "drops a last JSON value that was cut in a character",
    body: bytes('{"a":1}\n{"b":"', [0xe2, 0x82]),
    says: [{ a: 1 }],
  },
  { name: "drops a bare word that was cut", body: '[{"a":1}, tru', says: [{ a: 1 }] },
  { name: "drops a bare number that may go on", body: '[{"a":1}, 12', says: [{ a: 1 }] },
  { name: "says nothing of nothing", body: "", says: [] },
  { name: "says nothing of whitespace", body: " \r\n\t\n", says: [] },
  {
    name: "keeps lone surrogates and __proto__ as they are written",
    body: '{"a":"\\ud800"}\n{"__proto__":{"b":1}}',
    says: [{ a: "\ud800" }, JSON.parse('{"__proto__":{"b":1}}')],
  },
];

const failures: Case[] = [
  {
    name: "stops at an event that is not JSON",
    body: 'data: {"a":1}\n\ndata: {"b"2}\n\ndata: {"c":3}\n\n',
    says: [{ a: 1 }, expect.stringMatching(/^!invalid_event: .* not JSON \(Expected ':' [^")]*\): \{"b"2\}$/)],
  },
  {
    name: "stops at data lines of which one is not JSON",
    body: 'data: {"a":1}\ndata: {"b"2}\n\ndata: {"c":3}\n\n',
    says: [expect.stringMatching(/^!invalid_event: .*: \{"a":1\}\n\{"b"2\}$/)],
  },
  {
    name: "stops at an event that is not JSON, whatever error stands behind it",
    body: 'data: {"b"2}\r\rerror: {"message":"full"}\r\r',
    says: [expect.stringMatching(/^!invalid_event/)],
  },
  // https://github.com/Wei-Shaw/sub2api/issues/1471
  {
    name: "tells the error that a gateway has written into an event, and nothing else of it",
    body: 'data: {"a":1}\n\ndata: {"b":\nevent: error\ndata: {"error":"full"}\n\n',
    says: [{ a: 1 }, { error: "full" }, expect.stringMatching(/^!invalid_event/)],
  },
  {
    name: "tells nothing of an event that was torn and goes on",
    body: 'data: {"a":1}\n\ndata: {"b":\ndata: {"c":1,"error":null}\n\n',
    says: [{ a: 1 }, expect.stringMatching(/^!invalid_event/)],
  },
  {
    name: "stops at a torn event",
    body: 'data: {"id":"1","object":"chat.cdata: {"id":"2"}\n\n',
    says: [expect.stringContaining('chat.cdata: {"id":"2"}')],
  },
  {
    name: "quotes 500 characters at most",
    body: `data: ${"x".repeat(2000)}\n\n`,
    says: [expect.stringMatching(/ \(Unexpected token 'x'\): x{500}… \(2000 characters\)$/)],
  },
  {
    name: "stops at a torn line of JSON",
    body: '{"a":1}\n{"b":"tor\n{"c":3}\n',
    says: [{ a: 1 }, expect.stringMatching(/^!invalid_event: .*: \{"b":"tor$/)],
  },
  { name: "stops at JSON with the wrong bracket", body: '{"a":1]{"b":2}', says: [expect.stringContaining('{"a":1]')] },
  {
    name: "names the byte that is not UTF-8",
    body: bytes('data: {"a":1}\n\ndata: "', [0xff], '"\n\ndata: 2\n\n'),
    says: [{ a: 1 }, expect.stringMatching(/^!invalid_event: .* byte 22\b/)],
  },
  {
    name: "names the byte that is not UTF-8 beside U+FFFD that was sent",
    body: bytes('data: {"a":"\ufffd"}\n\ndata: "', [0xff], '"\n\ndata: 2\n\n'),
    says: [{ a: "\ufffd" }, expect.stringMatching(/^!invalid_event: .* byte 26\b/)],
  },
  {
    name: "names the byte that is not UTF-8 after a byte order mark",
    body: bytes([0xef, 0xbb, 0xbf], "\n: é", [0xc3, 0x28], "\n"),
    says: [expect.stringMatching(/ byte 9\b/)],
  },
  {
    name: "names the byte that is not UTF-8 between two events",
    body: bytes('data: {"a":1}\n\n', [0xc3], 'data: {"b":2}\n\n'),
    says: [{ a: 1 }, expect.stringMatching(/ byte 16\b/)],
  },
  {
    name: "names the byte that is not UTF-8 in JSON",
    body: bytes('{"a":1}\n["', [0xed, 0xa0, 0x80], '"]'),
    says: [{ a: 1 }, expect.stringMatching(/ byte 11\b/)],
  },
  {
    name: "names the byte that is not UTF-8 in what was cut",
    body: bytes('data: {"a":1}\n\ndata: {"', [0xff], "a"),
    says: [{ a: 1 }, expect.stringMatching(/ byte 23\b/)],
  },
  {
    name: "names the byte that is not UTF-8 in JSON that was cut",
    body: bytes('{"a":1}{"', [0xff], "a"),
    says: [{ a: 1 }, expect.stringMatching(/ byte 9\b/)],
  },
  {
    name: "says that a page is no stream",
    body: "<!DOCTYPE html>\n<h1>502 Bad Gateway</h1>",
    says: [expect.stringMatching(/^!invalid_event: .* error page.*: <!DOCTYPE html>\n<h1>502 Bad Gateway<\/h1>$/)],
  },
  {
    name: "says that bytes are no stream",
    body: bytes([0x1f, 0x8b, 8, 0, 0]),
    says: [expect.stringMatching(/ byte 1\b.*decompress/)],
  },
];

describe.each([...events, ...failures])("$name", ({ body, says }) => {
  it("however the bytes are split", () => {
    for (const { how, pieces } of splittings(bytesOf(body))) expect(decode(pieces), how).toEqual(says);
  });
});

it.each([1000, 3000, 10_000, 100_000])(
  "reads events of %i characters, alone in their piece and beside others",
  (size) => {
    const long = { a: "\n".repeat(size / 2) };
    const event = `data: ${JSON.stringify(long)}\n\n`;
    const short = 'data: {"b":1}\n\n';
    expect(decode([bytesOf(event), bytesOf(short), bytesOf(event)])).toEqual([long, { b: 1 }, long]);
    expect(decode([bytesOf(event + short + event), bytesOf(short + event + short)])).toEqual([
      long,
      { b: 1 },
      long,
      { b: 1 },
      long,
      { b: 1 },
    ]);
  },
);

describe("the size of an event", () => {
  const maxEventBytes = 20;
  const tooLarge = expect.stringMatching(/^!event_too_large: .* 20 bytes/);
  it.each([
    ["a data line at the limit", `data: "${"a".repeat(12)}"\n\n`, ["a".repeat(12)]],
    ["a data line over the limit", `data: 1\n\ndata: "${"a".repeat(13)}"\n\ndata: 2\n\n`, [1, tooLarge]],
    ["a data line over the limit in bytes, not in characters", `data: "${"é".repeat(7)}"\n\n`, [tooLarge]],
    ["two bytes a character, at the limit", `data: "${"é".repeat(6)}"\n\n`, ["é".repeat(6)]],
    ["three bytes a character, at the limit", `data: "${"€".repeat(4)}"\n\n`, ["€".repeat(4)]],
    ["three bytes a character, over the limit", `data: "€€€€a"\n\n`, [tooLarge]],
    ["four bytes a character, at the limit", `data: "😀😀😀"\n\n`, ["😀😀😀"]],
    ["four bytes a character, over the limit", `data: "😀😀😀a"\n\n`, [tooLarge]],
    ["a line that never ends", `data: 1\n\n: ${"a".repeat(100)}`, [1, tooLarge]],
    ["many data lines over the limit", `data: 1\n\n${"data: 1\n".repeat(12)}`, [1, tooLarge]],
    ["a JSON value at the limit", `{"a":"${"a".repeat(12)}"}`, [{ a: "a".repeat(12) }]],
    ["a JSON value over the limit", `{"a":1}{"a":"${"a".repeat(13)}"}{"b":1}`, [{ a: 1 }, tooLarge]],
    ["a JSON value that never ends", `[{"a":1},{"a":"${"a".repeat(100)}`, [{ a: 1 }, tooLarge]],
    ["CRLF at the limit", `data: "${"a".repeat(12)}"\r\n\r\ndata: 2\r\n\r\n`, ["a".repeat(12), 2]],
  ])("%s", (_, body, says) => {
    for (const { how, pieces } of splittings(bytesOf(body)))
      expect(decode(pieces, { maxEventBytes }), how).toEqual(says);
  });

  it.each([...FIRST_AND_LAST])("counts the bytes of %j", (character) => {
    const text = character.repeat(1000);
    const body = bytesOf(`data: "${text}"\n\n`);
    const length = body.length - "data: ".length - 2;
    expect(decode([body], { maxEventBytes: length + 6 })).toEqual([text]);
    expect(decode([body], { maxEventBytes: length + 5 })).toEqual([expect.stringContaining("event_too_large")]);
  });

  it("is 32 MiB by default, and a stream of more is fine", () => {
    const event = bytesOf(`data: "${"a".repeat(1024 * 1024)}"\n\n`);
    expect(decode(Array.from({ length: 40 }, () => event))).toHaveLength(40);
    const endless = bytesOf("a".repeat(1024 * 1024));
    const says = decode([bytesOf('data: "'), ...Array.from({ length: 40 }, () => endless)]);
    expect(says).toEqual([expect.stringContaining("event_too_large")]);
  });
});

function formatOf(body: string): string | undefined {
  const decoder = createDecoder({ onEvent: () => {}, onError: () => {} });
  decoder.feed(bytesOf(body));
  return decoder.format;
}

describe("a decoder", () => {
  it("says its format as soon as it knows", () => {
    expect(["\n", " {", "[", "d", ": x"].map(formatOf)).toEqual([undefined, "json", "json", "sse", "sse"]);
  });

  it("hands an event out with its last byte", () => {
    const bodies = ['data: {"a":1}\n\n', 'data: {"a":1}\r\n\r', '{"a":1}', '[{"a":1}'];
    for (const body of bodies) {
      const said: unknown[] = [];
      const decoder = createDecoder({ onEvent: (event) => said.push(event), onError: () => {} });
      const all = bytesOf(body);
      decoder.feed(all.subarray(0, -1));
      expect(said).toEqual([]);
      decoder.feed(all.subarray(-1));
      expect(said).toEqual([{ a: 1 }]);
    }
  });

  // `slice()` of a Buffer is a view of the same memory.
  it.each([new Uint8Array(1), Buffer.alloc(1)])("does not keep the caller's bytes", (reused) => {
    const said: unknown[] = [];
    const decoder = createDecoder({ onEvent: (event) => said.push(event), onError: () => {} });
    for (const byte of bytesOf('\ufeffdata: {"a":"é"}\n\n')) {
      reused[0] = byte;
      decoder.feed(reused);
    }
    expect(said).toEqual([{ a: "é" }]);
  });

  it.each([
    ["SSE", `data: "${"é".repeat(100_000)}"\n\n`],
    ["JSON", `{"a":"${"é".repeat(100_000)}"}`],
  ])("does not copy one long event of %s again and again when it comes byte by byte", (_format, body) => {
    const event = bytesOf(body);
    const copies = vi.spyOn(Uint8Array.prototype, "set");
    expect(decode(Array.from(event, (_, i) => event.subarray(i, i + 1)))).toHaveLength(1);
    const copied = copies.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
    copies.mockRestore();
    expect(copied).toBeLessThan(4 * event.length);
  });
});

/** Real bodies: the fixtures, and the recordings beside the checkout where they are present. */
const directories = ["../../fixtures", "../../../shared/recordings"].map((path) => resolve(import.meta.dirname, path));
const bodies = directories.filter(existsSync).flatMap((directory) => {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => /\.(sse|ndjson|json)$/.test(file) && !/(expect|expected|meta|tools|timing)\.json$/.test(file))
    .map((file) => join(directory, file));
});

describe("real bodies", () => {
  it.each(bodies)("%s: the same events however it is split", (file) => {
    const body = new Uint8Array(readFileSync(file));
    const whole = decode([body]);
    expect(whole).not.toEqual([]);
    for (const { how, pieces } of splittings(body)) expect(decode(pieces), how).toEqual(whole);
  });
});
