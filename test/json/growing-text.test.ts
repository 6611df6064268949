import * as fc from "../fast-check.ts";
import { expect, it } from "vitest";
import { GrowingText } from "../../src/json/index.ts";

it("is all that was appended, whenever it is read or begun again", () => {
  const piece = fc.tuple(fc.string({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 200 }));
  const steps = fc.array(
    fc.oneof(
      { weight: 8, arbitrary: piece.map(([text, times]) => text.repeat(times)) },
      { weight: 2, arbitrary: fc.constant("read") },
      { weight: 1, arbitrary: fc.constant("clear") },
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const text = new GrowingText();
      let expected = "";
      for (const step of all) {
        if (step === "clear") text.clear();
        else if (step !== "read") text.append(step);
        expected = step === "clear" ? "" : step === "read" ? expected : expected + step;
        if (step === "read") expect(text.text).toBe(expected);
      }
      expect(text.text).toBe(expected);
    }),
  );
});

it("gives the same text to those who read it between all pieces, over the ends of small and large blocks", () => {
  const pieces = Array.from({ length: 1200 }, (_, i) => String(i).padStart(16, "."));
  const unread = new GrowingText();
  const read = new GrowingText();
  let expected = "";
  for (const piece of pieces) {
    unread.append(piece);
    read.append(piece);
    expected += piece;
    expect(read.text).toBe(expected);
  }
  expect(unread.text).toBe(expected);
});
