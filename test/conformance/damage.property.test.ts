/** Whatever stands in an event, and in whatever order they come: what runs and what is told of it stays the same. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import type { Adapter, StreamEvent, Tool } from "../../src/index.ts";
import { createDecoder } from "../../src/wire/index.ts";
import { adapters, folderOf, readers, type AdapterRow } from "../adapters.ts";
import { fixtureNames, loadFixture, plainEvent } from "../fixtures.ts";
import { iterate } from "../iterate.ts";

interface Recorded {
  readonly events: readonly unknown[];
  readonly tools: readonly Tool[] | undefined;
}

const MOST_EVENTS = 60;

function recorded(row: AdapterRow): Recorded[] {
  const folder = folderOf(row);
  const fixtures = fixtureNames(folder).map((name) => loadFixture(folder, name));
  const streams = fixtures.map(({ bytes, tools }) => ({ events: eventsIn(bytes), tools }));
  return streams.filter(({ events }) => events.length <= MOST_EVENTS);
}

function eventsIn(bytes: Uint8Array): unknown[] {
  const events: unknown[] = [];
  const decoder = createDecoder({ onEvent: (event) => events.push(event), onError() {} });
  decoder.feed(bytes);
  decoder.end();
  // SDKs keep it to themselves.
  return events.filter((event) => event !== "[DONE]");
}

const value = fc.constantFrom<unknown>(
  undefined, null, "", "x", "0", "__proto__", 0, 7, -1, 1e21, true, [], [null], {}, { type: "x" }, { message: 1 },
); // prettier-ignore
const damage = fc.record({
  kind: fc.constantFrom("field", "field", "field", "everywhere", "drop", "again", "move", "cut", "whole turn again"),
  event: fc.nat(),
  other: fc.nat(),
  place: fc.nat(),
  value,
});
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

function damaged(given: readonly unknown[], list: readonly Damage[]): unknown[] {
  let events = structuredClone(given) as unknown[];
  for (const { kind, event, other, place, value: put } of list) {
    const at = event % Math.max(events.length, 1);
    const to = other % Math.max(events.length, 1);
    if (kind === "drop") events.splice(at, 1);
    else if (kind === "again") events.splice(to, 0, structuredClone(events[at]));
    else if (kind === "move") events.splice(to, 0, ...events.splice(at, 1));
    else if (kind === "cut") events.splice(at);
    else if (kind === "whole turn again") events = [...events, ...structuredClone(given)];
    else {
      const paths = pathsIn(events[at]);
      const path = paths[place % Math.max(paths.length, 1)];
      if (path === undefined) continue;
      for (const one of kind === "field" ? [events[at]] : events) set(one, path, structuredClone(put));
    }
  }
  // An event that is none cannot be told from text.
  return JSON.parse(JSON.stringify(events.filter((one) => typeof one === "object" && one !== null))) as unknown[];
}

function pathsIn(container: unknown, path: readonly string[] = []): string[][] {
  if (typeof container !== "object" || container === null) return [];
  return Object.entries(container).flatMap(([key, inner]) => [[...path, key], ...pathsIn(inner, [...path, key])]);
}

function set(container: unknown, [key, ...rest]: readonly string[], put: unknown): void {
  if (typeof container !== "object" || container === null || !Object.hasOwn(container, key!)) return;
  const owner = container as Record<string, unknown>;
  if (rest.length > 0) set(owner[key!], rest, put);
  else owner[key!] = put;
}

async function readAll(adapter: Adapter, source: readonly unknown[], tools: readonly Tool[] | undefined) {
  const stream = adapter.read(iterate(source) as never, { tools, runId: "run" });
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, turn: stream.turn };
}

/** What the engine says where a field is not checked. */
const ENGINE = /Cannot (read|set|convert|destructure)|is not (a function|iterable)|\[object |Invalid .* length/;

describe.each(readers.map((row) => [folderOf(row), row] as const))("a damaged stream of %s", (_, row) => {
  const { adapter } = row;
  const streams = recorded(row);
  const stream = fc.tuple(fc.constantFrom(...streams), fc.array(damage, { minLength: 1, maxLength: 4 }));

  it("is read to its end, with one end for every call that began, whether as events or as bytes", () =>
    fc.assert(
      fc.asyncProperty(stream, async ([{ events: given, tools }, list]) => {
        const sent = damaged(given, list);
        const { events, turn } = await readAll(adapter, sent, tools);

        expect(["finish", "error"]).toContain(events.at(-1)?.type);
        const ends = events.flatMap((event) => (event.type === "tool-use" ? [event.use.invocationId] : []));
        for (const event of events) {
          if (event.type === "tool-error") ends.push(event.error.invocationId);
          if (event.type === "tool-error" || event.type === "error") expect(event.error.message).not.toMatch(ENGINE);
        }
        expect(ends).toEqual([...new Set(ends)]);
        for (const call of turn.calls) expect(ends).toContain(call.invocationId);
        expect(adapter.toolResults(turn).length).toBeLessThanOrEqual(turn.calls.length);
        JSON.stringify([turn.native, adapter.assistantMessage(turn)]);

        const frames = sent.map((event) => new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
        // As JSON, since `toEqual` cannot compare an own `__proto__`.
        const told = events.map((event) => JSON.stringify(plainEvent(event)));
        for (const pieces of [frames, [new Uint8Array(Buffer.concat(frames))]])
          expect(
            (await readAll(adapter, pieces, tools)).events.map((event) => JSON.stringify(plainEvent(event))),
          ).toEqual(told);
      }),
      { numRuns: adapters.includes(row) ? 60 : 15 },
    ));
});
