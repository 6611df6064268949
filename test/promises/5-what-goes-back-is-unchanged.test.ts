/** Promise 5: what the provider sent and wants back goes back unchanged (ids, signatures, reasoning). */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { createDecoder } from "../../src/wire/index.ts";
import { fixtureNames, loadFixture } from "../fixtures.ts";
import { bytesOf, callsIn, input, makeTools, resultsIn, rows, run } from "./support.ts";
import { iterate } from "../iterate.ts";

/** Fields in which providers send what nobody else can read, and want back. */
const OPAQUE = new Set(["signature", "thoughtSignature", "thought_signature", "encrypted_content"]);

/** All the opaque values of a stream; a signature that comes in pieces is the sum of them. */
function opaqueIn(bytes: Uint8Array): string[] {
  const values: string[] = [];
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    // An item that is announced may hold another value than the finished one.
    if ((value as { type?: unknown }).type === "response.output_item.added") return;
    for (const [key, item] of Object.entries(value)) {
      if (OPAQUE.has(key) && typeof item === "string" && item !== "") values.push(item);
      else visit(item);
    }
  };
  const decoder = createDecoder({ onEvent: visit, onError: () => {} });
  decoder.feed(bytes);
  decoder.end();
  return values;
}

/**
 * Fixtures of which an opaque value does not go back: of a message that a gateway began again only the second attempt
 * does, and what Claude's API searched behind LiteLLM is left out together with its call, which Anthropic may reject
 * in a history (https://github.com/BerriAI/litellm/issues/17737).
 */
const STAYS = new Set(["overlapping-messages", "provider-tool-of-anthropic"]);

/** The fixtures with opaque values that go back. An answer that failed is not sent back as one that did not. */
function signed(wire: string) {
  return fixtureNames(wire)
    .map((name) => loadFixture(wire, name))
    .map((fixture) => ({ ...fixture, opaque: opaqueIn(fixture.bytes) }))
    .filter(({ name, expected, opaque }) => expected.error === null && opaque.length > 0 && !STAYS.has(name));
}

describe.each(rows)("$name", ({ name: wire, adapter, encode }) => {
  it("ids of any kind go back byte for byte, with the call and with its result", async () => {
    const id = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom("functions.f:3", "__proto__", "call_1", " ", "\u{1f642}", "\ud800", '"', "0"),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 1, maxLength: 4 }), input, async (ids, value) => {
        const { tools, ran } = makeTools();
        const calls = ids.map((one) => ({ id: one, name: "write", argsText: JSON.stringify(value) }));
        const { turn } = await run(adapter, iterate([bytesOf({ calls }, encode)]), { tools });
        expect(ran.map((call) => call.id)).toEqual(ids);
        expect(callsIn(adapter.assistantMessage(turn))).toEqual(ids);
        expect(resultsIn(adapter.toolResults(turn))).toEqual(ids);
      }),
      { numRuns: 100 },
    );
  });

  it("arguments go back as the model wrote them, whatever the handler does to its input", async () => {
    const calls = [{ id: "a", name: "write", argsText: '{ "list": [3, 1, 2],"deep":{"x":{"y":1}} }' }];
    const { tools } = makeTools();
    const execute = (value: { list: number[]; deep: { x: object } }) => {
      value.list.sort();
      Object.assign(value.deep.x, { y: 2 });
      return value;
    };
    const { turn } = await run(adapter, iterate([bytesOf({ calls }, encode)]), { tools: [{ ...tools[1]!, execute }] });
    const back = JSON.stringify(adapter.assistantMessage(turn));
    const isText = back.includes(JSON.stringify(calls[0]!.argsText).slice(1, -1));
    expect(isText || back.includes('{"list":[3,1,2],"deep":{"x":{"y":1}}}')).toBe(true);
  });

  it.each(signed(wire))("signatures of $name go back", async ({ bytes, tools, opaque }) => {
    const { turn } = await run(adapter, iterate([bytes]), { tools });
    const back = JSON.stringify(adapter.assistantMessage(turn));
    expect(opaque.filter((value) => !back.includes(JSON.stringify(value).slice(1, -1)))).toEqual([]);
  });
});

it("all wires but Cohere's have signatures", () => {
  const without = rows.filter(({ name }) => signed(name).length === 0);
  expect(without.map(({ name }) => name)).toEqual(["cohere"]);
});
