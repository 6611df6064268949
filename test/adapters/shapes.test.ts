/** Servers leave fields out, or send them as something else: no adapter trips over it, and what it says has its types. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { defineTool, ToolUse } from "../../src/index.ts";
import { createDecoder } from "../../src/wire/index.ts";
import type { ConversationAdapter } from "../../src/model.ts";
import { adapters } from "../adapters.ts";
import { fixtureNames, loadFixture, sharedTools } from "../fixtures.ts";
import { callsIn, resultsIn } from "../promises/support.ts";
import { iterate } from "../iterate.ts";

/** What stands where something else was expected. */
const JUNK = [null, 0, -1, 1e9, 1.5, "", "x", "5", "{", "__proto__", true, false, [], [null], [1], [""], [[]], {}];
const OBJECTS = [{ type: 5 }, { text: {} }, { text: null }, { id: 5 }, { name: [] }, { index: "0" }, { arguments: {} }];

/** Something becomes something else, stands in a list, is left out, or comes again, late or from elsewhere. */
const change = fc.record({
  event: fc.nat(),
  place: fc.nat(),
  how: fc.constantFrom("junk", "junk", "junk", "left out", "in a list", "other", "again", "late", "lost"),
  junk: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...JUNK) }, fc.constantFrom(...OBJECTS)),
  from: fc.nat(),
});

// How PHP encodes an empty object, and what some models write: https://github.com/agno-agi/agno/pull/6303
it.each<[string, (args: unknown) => unknown]>([
  ["openai-chat", (args) => ({ message: { tool_calls: [{ id: "1", function: { name: "now", arguments: args } }] } })],
  ["openai-responses", (args) => ({ type: "function_call", call_id: "1", name: "now", arguments: args })],
  ["anthropic", (input) => ({ type: "tool_use", id: "1", name: "now", input })],
  ["google", (args) => ({ content: { parts: [{ functionCall: { name: "now", args } }] }, finishReason: "STOP" })],
  ["google-interactions", (args) => ({ type: "function_call", id: "1", name: "now", arguments: args })],
  ["cohere", (args) => [{ id: "1", function: { name: "now", arguments: args } }]],
])("%s takes an empty list for no arguments", (name, callOf) => {
  const { adapter } = adapters.find((row) => row.adapter.name === name)!;
  const now = defineTool({ name: "now", inputSchema: { type: "object" }, execute: () => 1 });
  for (const args of [[], "[]"]) {
    const call = callOf(args);
    const response: Record<string, unknown> = {
      "openai-chat": { object: "chat.completion", choices: [{ ...(call as object), finish_reason: "tool_calls" }] },
      "openai-responses": { object: "response", status: "completed", output: [call] },
      anthropic: { type: "message", role: "assistant", content: [call], stop_reason: "tool_use" },
      google: { candidates: [call] },
      "google-interactions": { object: "interaction", status: "requires_action", steps: [call] },
      cohere: { message: { role: "assistant", tool_calls: call }, finish_reason: "TOOL_CALL" },
    };
    const last = (adapter as ConversationAdapter).parse(response[name], { tools: [now] }).at(-1)!;
    const turn = "turn" in last ? last.turn : undefined;
    expect(turn?.calls).toMatchObject([{ released: true, outcome: { input: {} } }]);
    expect(JSON.stringify(adapter.assistantMessage(turn!))).not.toContain("[]");
  }
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
          fc.array(change, { minLength: 1, maxLength: 4 }),
          async (stream, changes) => {
            const events = JSON.parse(stream) as unknown[];
            for (const one of changes) apply(events, one);
            const reading = adapter.read(iterate(events), { tools: sharedTools, runId: "run" });
            for await (const event of reading) {
              if (event.type === "text-delta" || event.type === "reasoning-delta" || event.type === "refusal-delta")
                expect(event.delta).toBeTypeOf("string");
              if (event.type === "tool-input-delta") void event.call.input;
              if (event.type === "tool-use") await event.use.execute();
            }
            const { turn } = reading;

            expect(["provider_error", "connection_lost", undefined]).toContain(turn.error?.code);
            const texts = [turn.responseId, turn.model, turn.providerFinishReason ?? undefined, turn.finishMessage];
            const ids = [...turn.calls, ...turn.providerToolCalls].flatMap(({ id, name: called }) => [id, called]);
            for (const text of texts) expect(["string", "undefined"]).toContain(typeof text);
            for (const text of ids) if (text !== null) expect(text).toBeTypeOf("string");
            const { raw: _, ...counts } = turn.usage ?? {};
            for (const count of Object.values(counts))
              expect(count === undefined || Number.isFinite(count), `a count of ${String(count)}`).toBe(true);
            for (const { argsText, outcome } of turn.calls) {
              expect(argsText).toBeTypeOf("string");
              expect(outcome).toBeDefined();
              if (turn.error !== undefined || turn.finishReason === "length")
                expect(outcome instanceof ToolUse && outcome.executed && outcome.tool.effect).not.toBe("write");
            }

            const message = adapter.assistantMessage(turn) as unknown[];
            const results = adapter.toolResults(turn) as unknown[];
            const history = [...message, ...results];
            const asked = callsIn(message);
            const given = resultsIn(results);
            for (const id of given) expect(asked).toContain(id);
            // Of a call that the server ran, the result is in its answer.
            expect(asked.length).toBeLessThanOrEqual(given.length + resultsIn(message).length);
            expect(asked).not.toContain("");
            expect(JSON.parse(JSON.stringify(history))).toEqual(history);
            const said = turn.text + turn.reasoning + turn.refusal + JSON.stringify(adapter.conversation.pair(history));
            // Where a server gave none, the id is nine letters and digits of ours, such as NaNA8YM3G.
            const words = said.replaceAll(/"(?!undefined)[a-z\d]{9}"/gi, '""');
            expect(words).not.toMatch(/\[object |undefined|NaN/);
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

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
type Place = readonly [holder: any, key: string];

function apply(events: unknown[], { event, place, how, junk, from }: Change): void {
  if (events.length === 0) return;
  const at = event % events.length;
  if (how === "again") return void events.splice(from % (events.length + 1), 0, structuredClone(events[at]));
  if (how === "late") return void events.splice(from % events.length, 0, ...events.splice(at, 1));
  if (how === "lost") return void events.splice(at, 1);
  const places = placesIn(events[at]);
  if (places.length === 0) return;
  const [holder, key] = places[place % places.length]!;
  if (how === "junk") holder[key] = structuredClone(junk);
  else if (how === "in a list") holder[key] = [holder[key]];
  else if (how === "other") {
    // Of the same field, elsewhere: an id that comes twice, another's index, the type of what came before.
    const others = events.flatMap(placesIn).filter(([one, name]) => name === key && typeof one[name] !== "object");
    if (others.length === 0) return;
    const [other, name] = others[from % others.length]!;
    holder[key] = structuredClone(other[name]);
  } else if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
}

function placesIn(event: unknown): Place[] {
  const places: Place[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push([value, key]);
      walk((value as Record<string, unknown>)[key]);
    }
  };
  walk(event);
  return places;
}
