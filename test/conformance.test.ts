import { describe, expect, it } from "vitest";
import type { Adapter, StreamEvent } from "../src/index.ts";
import { ToolUse } from "../src/index.ts";
import { summarize } from "../src/testing/index.ts";
import { adapters, cases } from "./adapters.ts";
import { fixtureNames, loadFixture, plainEvent, plainUse, readPieces, seeded, type Fixture } from "./fixtures.ts";

/** Bodies up to this size are cut at every byte, larger ones at this many seeded places. */
const EVERY_BYTE_UP_TO = 16 * 1024;
const SEEDED_PLACES = 500;
const RANDOM_SPLITS = 200;

describe.each(adapters)("$adapter.name", ({ adapter, skips }) => {
  const names = fixtureNames(adapter.name);

  it.each(cases.filter((name) => skips[name] === undefined))("has a fixture for %s", (name) => {
    expect(names).toContain(name);
  });

  for (const [name, reason] of Object.entries(skips)) it.skip(`${name}: ${reason}`, () => {});

  describe.each(names)("%s", (name) => {
    const fixture = loadFixture(adapter.name, name);

    it("gives what is expected", async () => {
      const { turn } = await readPieces(adapter, [fixture.bytes], fixture.tools);
      expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(fixture.expected);
    });

    it("is recognised as its own wire, and by no other adapter", async () => {
      const events = await eventsOf(fixture);
      expect(events.some((event) => adapter.recognises(event))).toBe(true);
      const others = adapters.filter(
        (row) => row.adapter !== adapter && events.some((event) => row.adapter.recognises(event)),
      );
      expect(others.map((row) => row.adapter.name)).toEqual([]);
    });

    it("gives the same events byte by byte, at every split and at random splits", async () => {
      const whole = await plainEvents(adapter, [fixture.bytes], fixture);
      const { bytes } = fixture;
      const random = seeded(bytes.length);
      const bytewise = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      expect(await plainEvents(adapter, bytewise, fixture)).toBe(whole);
      for (const at of places(bytes.length, random)) {
        const events = await plainEvents(adapter, [bytes.subarray(0, at), bytes.subarray(at)], fixture);
        if (events !== whole) expect({ at, events }).toEqual({ at, events: whole });
      }
      for (let n = 0; n < RANDOM_SPLITS; n++) {
        const cuts = Array.from({ length: 1 + Math.floor(random() * 8) }, () =>
          Math.floor(random() * bytes.length),
        ).toSorted((a, b) => a - b);
        const pieces = [...cuts, bytes.length].map((end, i) => bytes.subarray(cuts[i - 1] ?? 0, end));
        const events = await plainEvents(adapter, pieces, fixture);
        if (events !== whole) expect({ cuts, events }).toEqual({ cuts, events: whole });
      }
    });

    it("cut at every byte, hands out no call that was not complete in the whole, and no write", async () => {
      const { bytes } = fixture;
      const whole = await readPieces(adapter, [bytes], fixture.tools);
      const complete = new Map(uses(whole.events).map((use) => [use.invocationId, JSON.stringify(plainUse(use))]));
      for (const call of whole.turn.calls) {
        if (call.outcome instanceof ToolUse) complete.set(call.invocationId, JSON.stringify(plainUse(call.outcome)));
      }
      for (const at of places(bytes.length, seeded(bytes.length))) {
        const cut = await readPieces(adapter, [bytes.subarray(0, at)], fixture.tools);
        const last = cut.events.at(-1)!;
        expect(["finish", "error"]).toContain(last.type);
        for (const use of uses(cut.events)) {
          const same = complete.get(use.invocationId) === JSON.stringify(plainUse(use));
          if (!same) expect({ at, use: plainUse(use) }).toBe("complete in the whole stream");
          if (!use.tool.eager && last.type !== "finish") expect({ at, use: plainUse(use) }).toBe("not released");
        }
      }
    });
  });

  it("shares nothing between two streams that are read side by side", async () => {
    const two = ["parallel", "one-call"].map((name) => loadFixture(adapter.name, name));
    const alone = await Promise.all(two.map((fixture) => plainEvents(adapter, [fixture.bytes], fixture)));
    const streams = two.map((fixture) =>
      adapter.read(bytewise(fixture.bytes), { tools: fixture.tools, runId: "run" })[Symbol.asyncIterator](),
    );
    const read: StreamEvent[][] = [[], []];
    const isDone = [false, false];
    while (!isDone.every(Boolean)) {
      for (const [i, stream] of streams.entries()) {
        const step = await stream.next();
        if (step.done === true) isDone[i] = true;
        else read[i]!.push(step.value);
      }
    }
    expect(read.map((events) => JSON.stringify(events.map(plainEvent)))).toEqual(alone);
  });
});

async function* bytewise(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1);
}

function uses(events: readonly StreamEvent[]): ToolUse[] {
  return events.flatMap((event) => (event.type === "tool-use" ? [event.use] : []));
}

async function plainEvents(adapter: Adapter, pieces: readonly Uint8Array[], fixture: Fixture): Promise<string> {
  const { events } = await readPieces(adapter, pieces, fixture.tools);
  return JSON.stringify(events.map(plainEvent));
}

function places(length: number, random: () => number): number[] {
  if (length <= EVERY_BYTE_UP_TO) return Array.from({ length: length + 1 }, (_, at) => at);
  return Array.from({ length: SEEDED_PLACES }, () => Math.floor(random() * length));
}

async function eventsOf(fixture: Fixture): Promise<unknown[]> {
  const { createDecoder } = await import("../src/wire/index.ts");
  const events: unknown[] = [];
  const decoder = createDecoder({ onEvent: (event) => events.push(event), onError: () => {} });
  decoder.feed(fixture.bytes);
  decoder.end();
  return events;
}
