import { createParser } from "eventsource-parser";
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { SseReader } from "../../src/wire/sse-reader.ts";
import { bytesOf, cutAt } from "./splits.ts";

function fail(error: Error): never {
  throw error;
}

/** The data of every event that a blank line ends, as our decoder reads it. */
function ours(pieces: readonly Uint8Array[]): string[] {
  const events: string[] = [];
  const readData = (data: string, cut: boolean) => void (cut || events.push(data));
  const reader = new SseReader({ readData, say: () => {}, fail }, 1e6);
  reader.passed(); // an event, so that nothing is taken for an error page
  for (const piece of pieces) reader.feed(piece, 0);
  reader.end();
  return events;
}

/** The same, as eventsource-parser reads it. */
function theirs(text: string): string[] {
  const events: string[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event.data) });
  parser.feed(text);
  parser.feed("\ufeff"); // a last CR then ends its line, whatever follows
  return events;
}

const value = fc.oneof(
  fc.json(),
  fc.constantFrom("", " ", "  x", "[DONE]", ":", "data: x", "é€😀", "\ufeff", "\u2028", "\0"),
  fc.string({ unit: "binary", maxLength: 8 }).map((text) => text.replace(/[\r\n]/g, "")),
);
const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom("data: ", "data:", "data:  ", "data"), value).map((parts) => parts.join("")),
  },
  { weight: 4, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: value.map((text) => `event: ${text}`) },
  { weight: 1, arbitrary: value.map((text) => `:${text}`) },
  { weight: 1, arbitrary: value },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "id: 1",
      "retry: 5",
      "dat",
      "Data: x",
      " data: x",
      "data : x",
      "error: {}",
      "dataset: x",
      "data\t: x",
    ),
  },
);
const end = fc.constantFrom("\n", "\r\n", "\r");
/** Most bodies keep to one kind of line end, some mix them. */
const body = fc
  .oneof(
    fc.tuple(fc.array(line, { maxLength: 20 }), end).map(([lines, ending]) => lines.map((text) => text + ending)),
    fc.array(
      fc.tuple(line, end).map((parts) => parts.join("")),
      { maxLength: 20 },
    ),
  )
  .map((lines) => lines.join(""))
  // the byte order mark is our decoder's affair, above this floor
  .filter((text) => !text.startsWith("\ufeff"));

describe("reading SSE", () => {
  it("gives the events that eventsource-parser gives for the whole text, however the bytes are cut", () => {
    fc.assert(
      fc.property(body, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
        const bytes = bytesOf(text);
        const positions = cuts.map((cut) => cut % (bytes.length + 1));
        // what follows the last line end is no event for either
        expect(ours(cutAt(bytes, positions))).toEqual(
          theirs(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)),
        );
      }),
      { numRuns: 5000 },
    );
  });
});
