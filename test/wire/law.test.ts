import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { cutAt, decode } from "./splits.ts";

/** What streams are made of, and what breaks them. */
const fragment = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("data: ", "data:", '{"a":1}', '"', "{", "}", "[", "]", ",", "\n", "\n\n", "\r\n", "\r"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "data",
      "event: x",
      ": c",
      "error: ",
      '{"error":1}',
      "[DONE]",
      "id",
      "1",
      "true",
      " ",
      "\\",
      "é",
      "€",
      "😀",
      "\ufeff",
      "x",
    ),
  },
  { weight: 1, arbitrary: fc.json() },
);
const encoder = new TextEncoder();
const piece = fc.oneof(
  { weight: 30, arbitrary: fragment.map((text) => encoder.encode(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom([0xe2, 0x82], [0xf0, 0x9f], [0xef, 0xbb], [0xed, 0xa0], [0xc3])
      .map((bytes) => Uint8Array.from(bytes)),
  },
);
const body = fc.array(piece, { maxLength: 25 }).map((pieces) => Uint8Array.from(pieces.flatMap((bytes) => [...bytes])));

/** Events as they mostly come, each in a chunk of its own, and what is nearly that. */
const frame = fc
  .tuple(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("", "event: x\n") },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          "event:\n",
          "event: é\r\n",
          "event\n",
          "event: x\revent: y\n",
          "id: 1\n",
          ": c\n",
          "x\n",
        ),
      },
    ),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant("data: ") },
      { weight: 2, arbitrary: fc.constantFrom("data:", "data") },
    ),
    fc.oneof(
      { weight: 4, arbitrary: fc.json() },
      {
        weight: 2,
        arbitrary: fc.constantFrom('{"a":"é€😀"}', "[DONE]", "", "\ufeff", '{"a":', "1\ndata: 2", '"a\rb"'),
      },
    ),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant("\n\n") },
      { weight: 2, arbitrary: fc.constantFrom("\n", "\r\n\n", "\n\r\n", "\n\n\n", "\n: c\n\n") },
    ),
    fc.option(fc.tuple(fc.nat(), fc.constantFrom(0x80, 0xc3, 0xff, 10, 13)), { freq: 10, nil: undefined }),
  )
  .map(([head, field, data, end, wrong]) => {
    const bytes = encoder.encode(head + field + data + end);
    if (wrong !== undefined) bytes[wrong[0] % bytes.length] = wrong[1];
    return bytes;
  });

describe("the same bytes", () => {
  it("give the same events and the same error, an event at a time or in one piece or byte by byte", () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 6 }),
        fc.constantFrom(8, 30, undefined, undefined),
        (frames, maxEventBytes) => {
          const bytes = Uint8Array.from(frames.flatMap((one) => [...one]));
          const drop = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
          const dripped = decode(drop, { maxEventBytes });
          expect(decode(frames, { maxEventBytes })).toEqual(dripped);
          expect(decode([bytes], { maxEventBytes })).toEqual(dripped);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("give the same events and the same error, however they are cut, whatever they are", () => {
    fc.assert(
      fc.property(
        body,
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.constantFrom(8, 30, undefined),
        (bytes, cuts, maxEventBytes) => {
          const whole = decode([bytes], { maxEventBytes });
          const positions = cuts.map((cut) => cut % (bytes.length + 1));
          expect(decode(cutAt(bytes, positions), { maxEventBytes })).toEqual(whole);
          expect(
            decode(
              Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)),
              { maxEventBytes },
            ),
          ).toEqual(whole);
        },
      ),
      { numRuns: 3000 },
    );
  });
});
