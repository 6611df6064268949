import { describe, expect, it } from "vitest";
import type { Adapter } from "../../src/index.ts";
import { folderOf, readers } from "../adapters.ts";
import { fixtureNames, loadFixture, plainEvent, readPieces, splits, type Fixture } from "../fixtures.ts";
import { seeded } from "../seeded.ts";

/** Pieces of so many bytes, begun at each offset, split a body at every place: within events, and with whole ones around. */
const PIECES = [31, 509];
const RANDOM_SPLITS = 50;

describe.each(readers.map((row) => ({ ...row, folder: folderOf(row) })))("$folder", ({ adapter, folder }) => {
  it.each(fixtureNames(folder))(
    "%s gives the same events byte by byte, at every split and at random splits",
    async (name) => {
      const fixture = loadFixture(folder, name);
      const { bytes } = fixture;
      const random = seeded(bytes.length);
      const whole = await plainEvents(adapter, [bytes], fixture);
      const bytewise = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      expect(await plainEvents(adapter, bytewise, fixture)).toBe(whole);
      for (const size of PIECES) {
        for (const pieces of splits(bytes, size)) {
          const events = await plainEvents(adapter, pieces, fixture);
          const first = pieces[0]!.length;
          if (events !== whole) expect({ first, size, events }).toEqual({ first, size, events: whole });
        }
      }
      for (let n = 0; n < RANDOM_SPLITS; n++) {
        const cuts = Array.from({ length: 1 + Math.floor(random() * 8) }, () => Math.floor(random() * bytes.length));
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
        const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
        const events = await plainEvents(adapter, pieces, fixture);
        if (events !== whole) expect({ ends, events }).toEqual({ ends, events: whole });
      }
    },
  );
});

async function plainEvents(adapter: Adapter, pieces: readonly Uint8Array[], fixture: Fixture): Promise<string> {
  const { events } = await readPieces(adapter, pieces, fixture.tools);
  return JSON.stringify(events.map(plainEvent));
}
