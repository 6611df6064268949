import { createDecoder } from "../../src/wire/index.ts";
import type { DecoderOptions } from "../../src/wire/index.ts";
import { seeded } from "../seeded.ts";

const encoder = new TextEncoder();

export function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? encoder.encode(body) : body;
}

/** What the decoder says about a body that comes in the given pieces: its events, and its error as `!code: message`. */
export function decode(pieces: Iterable<Uint8Array>, options: Pick<DecoderOptions, "maxEventBytes"> = {}): unknown[] {
  const said: unknown[] = [];
  const decoder = createDecoder({
    ...options,
    onEvent: (event) => said.push(event),
    onError: (error) => said.push(`!${error.code}: ${error.message}`),
  });
  for (const piece of pieces) decoder.feed(piece);
  decoder.end();
  return said;
}

/** The body cut at these positions, which may come in any order. */
export function cutAt(body: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const sorted = positions.toSorted((a, b) => a - b);
  return [0, ...sorted].map((from, i) => body.subarray(from, sorted[i] ?? body.length));
}

/**
 * Whole, byte by byte (also with empty pieces between), at every two-way split (at 100 or fewer if the body is long),
 * and at 20 random sets of cuts.
 */
export function* splittings(body: Uint8Array, seed = 1): Generator<{ how: string; pieces: Uint8Array[] }> {
  const random = seeded(seed);
  const position = (): number => Math.floor(random() * (body.length + 1));
  yield { how: "whole", pieces: [body] };
  yield { how: "byte by byte", pieces: Array.from(body, (_, i) => body.subarray(i, i + 1)) };
  const empty = body.subarray(0, 0);
  yield {
    how: "byte by byte, with nothing between",
    pieces: Array.from(body, (_, i) => [body.subarray(i, i + 1), empty]).flat(),
  };
  const short = body.length <= 500;
  const count = short ? body.length + 1 : Math.min(100, Math.ceil(2e6 / body.length));
  for (let i = 0; i < count; i++) {
    const at = short ? i : position();
    yield { how: `cut at ${at}`, pieces: cutAt(body, [at]) };
  }
  for (let i = 0; i < 20; i++) {
    const positions = Array.from({ length: 1 + Math.floor(random() * 20) }, position);
    yield { how: `cut at ${positions.join(", ")}`, pieces: cutAt(body, positions) };
  }
}
