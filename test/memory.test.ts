import { describe, expect, it } from "vitest";
import { measureEnded, measureOpen } from "../bench/memory.ts";

/**
 * In processes of their own, with a garbage collector that can be called. Every wire, half of the streams with one
 * signal for all of them, their partial input read, their calls executed.
 */
describe("memory", () => {
  /** Below the smallest object that could be left of a stream, above what the heap's size wavers by: some megabyte. */
  const NOTHING = 24;
  const MANY = 100_000;

  it("keeps nothing of 100,000 streams that have ended", () => {
    const { streams, watched, alive, bytesPerStream } = measureEnded(MANY);
    expect(streams).toBe(MANY);
    expect(watched).toBeGreaterThan(30_000);
    expect(alive).toBe(0);
    expect(bytesPerStream).toBeLessThan(NOTHING);
  });

  it("would see one small object that is kept of every stream", () => {
    expect(measureEnded(MANY, { leak: true }).bytesPerStream).toBeGreaterThan(NOTHING);
  });

  it("takes of an open stream no more than a few times its bytes", () => {
    for (const { wire, row, bytes } of measureOpen(50)) expect(bytes, `${wire}, ${row}`).toBeLessThan(64 * 1024);
  });
});
