import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../../src/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { createDecoder } from "../../src/wire/index.ts";
import { adapters, cases, folderOf, readers } from "../adapters.ts";
import { fixtureNames, loadFixture, plainEvent, readPieces, type Fixture } from "../fixtures.ts";

describe.each(readers.map((row) => ({ ...row, folder: folderOf(row) })))("$folder", (row) => {
  const { adapter, folder, skips } = row;
  const names = fixtureNames(folder);

  it.each((row.cases ?? cases).filter((name) => skips[name] === undefined))("has a fixture for %s", (name) => {
    expect(names).toContain(name);
  });

  for (const [name, reason] of Object.entries(skips)) it.skip(`${name}: ${reason}`, () => {});

  describe.each(names)("%s", (name) => {
    const fixture = loadFixture(folder, name);

    it("gives what is expected", async () => {
      const { turn } = await readPieces(adapter, [fixture.bytes], fixture.tools);
      expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(fixture.expected);
    });

    it("is recognised as its own wire, and as no other", () => {
      const events = eventsOf(fixture);
      expect(events.some((event) => adapter.recognizes(event))).toBe(true);
      const others = adapters.filter(
        (other) => other.adapter.name !== adapter.name && events.some((event) => other.adapter.recognizes(event)),
      );
      expect(others.map((other) => other.adapter.name)).toEqual([]);
    });
  });

  it.each([null, undefined, "[DONE]", 5, [], {}])("recognises nothing in %j", (event) => {
    expect(adapter.recognizes(event)).toBe(false);
  });

  it("shares nothing between two streams that are read side by side", async () => {
    const two = ["parallel", "one-call"].map((name) => loadFixture(folder, name));
    const alone = await Promise.all(two.map((fixture) => readPieces(adapter, [fixture.bytes], fixture.tools)));
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
    expect(read.map((events) => events.map(plainEvent))).toEqual(alone.map(({ events }) => events.map(plainEvent)));
  });
});

async function* bytewise(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1);
}

function eventsOf(fixture: Fixture): unknown[] {
  const events: unknown[] = [];
  const decoder = createDecoder({ onEvent: (event) => events.push(event), onError: () => {} });
  decoder.feed(fixture.bytes);
  decoder.end();
  return events;
}
