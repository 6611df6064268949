/** Servers leave fields out, or send them as something else: no adapter trips over it, and what it says has its types. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { createDecoder } from "../../src/wire/index.ts";
import type { ConversationAdapter } from "../../src/model.ts";
import { adapters } from "../adapters.ts";
import { fixtureNames, loadFixture } from "../fixtures.ts";

/** What stands where something else was expected. */
const JUNK = [null, 0, -1, 1e9, "", "x", "__proto__", true, [], [null], [1], {}, { type: 5 }, { text: {} }, [[]]];

/** One field of one event becomes something else, or is left out, or stands in a list. */
const change = fc.record({
  event: fc.nat(),
  place: fc.nat(),
  how: fc.constantFrom("junk", "junk", "junk", "left out", "in a list"),
  junk: fc.constantFrom(...JUNK),
});

describe.each(adapters.map(({ adapter }) => [adapter.name, adapter as ConversationAdapter] as const))(
  "%s",
  (name, adapter) => {
    const streams = fixtureNames(name)
      .filter((fixture) => fixture !== "long")
      .flatMap((fixture) => {
        const { bytes, isWhole } = loadFixture(name, fixture);
        const events = isWhole ? [JSON.parse(new TextDecoder().decode(bytes)) as unknown] : eventsIn(bytes);
        return events.length === 0 ? [] : [JSON.stringify(events)];
      });

    it("reads events of any shape", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...streams),
          fc.array(change, { minLength: 1, maxLength: 3 }),
          async (stream, changes) => {
            const events = JSON.parse(stream) as unknown[];
            for (const one of changes) apply(events, one);
            const turn = await adapter.read(list(events)).done();

            expect(["provider_error", "connection_lost", undefined]).toContain(turn.error?.code);
            const texts = [turn.responseId, turn.model, turn.providerFinishReason ?? undefined, turn.finishMessage];
            const ids = [...turn.calls, ...turn.providerToolCalls].flatMap(({ id, name: called }) => [id, called]);
            for (const text of texts) expect(["string", "undefined"]).toContain(typeof text);
            for (const text of ids) if (text !== null) expect(text).toBeTypeOf("string");
            const { inputTokens, outputTokens, totalTokens } = turn.usage ?? {};
            for (const count of [inputTokens, outputTokens, totalTokens])
              expect(["number", "undefined"]).toContain(typeof count);

            const history = [...adapter.assistantMessage(turn), ...adapter.toolResults(turn)] as unknown[];
            const said = turn.text + turn.reasoning + turn.refusal + JSON.stringify(adapter.conversation.pair(history));
            expect(said).not.toContain("[object ");
          },
        ),
        { numRuns: 400 },
      );
    });
  },
);

function eventsIn(bytes: Uint8Array): unknown[] {
  const events: unknown[] = [];
  const decoder = createDecoder({ onEvent: (event) => void events.push(event), onError: () => {} });
  decoder.feed(bytes);
  decoder.end();
  return events.filter((event) => typeof event === "object");
}

function apply(
  events: unknown[],
  { event, place, how, junk }: typeof change extends fc.Arbitrary<infer T> ? T : never,
) {
  const places: [holder: any, key: string][] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push([value, key]);
      walk((value as Record<string, unknown>)[key]);
    }
  };
  walk(events[event % events.length]);
  if (places.length === 0) return;
  const [holder, key] = places[place % places.length]!;
  if (how === "junk") holder[key] = structuredClone(junk);
  else if (how === "in a list") holder[key] = [holder[key]];
  else if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
}

async function* list<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
