import { describe, expect, it } from "vitest";
import { isToolError } from "../../src/errors.ts";
import { checkForeignSchema } from "../../src/schema/foreign.ts";
import type { JsonSchema } from "../../src/schema/types.ts";

const nested = (depth: number): JsonSchema => {
  let schema: JsonSchema = {};
  for (let at = 0; at < depth; at++) schema = { properties: { a: schema } };
  return schema;
};
const many = (count: number): JsonSchema => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, {}])),
});
const patterns = (...list: readonly string[]): JsonSchema => ({ anyOf: list.map((pattern) => ({ pattern })) });
/** Each definition is two of the next. */
const doubling = (depth: number): JsonSchema => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries(
    Array.from({ length: depth + 1 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, at === depth ? {} : { properties: { a: { allOf: [next, next] } } }];
    }),
  ),
});

describe("a schema from outside", () => {
  it.each<[string, JsonSchema, JsonSchema]>([
    ["depth", nested(60), nested(70)],
    ["number of parts", many(4_000), many(6_000)],
    ["length of a pattern", patterns("[a-z]".repeat(199)), patterns("[a-z]".repeat(201))],
    ["characters of a pattern", patterns("a".repeat(250)), patterns("a".repeat(251))],
    [
      "length of all patterns",
      patterns(...Array(10).fill("[0-9]".repeat(70))),
      patterns(...Array(12).fill("[0-9]".repeat(70))),
    ],
    ["patterns of names", { patternProperties: { a: {} } }, { patternProperties: { ["a".repeat(300)]: {} } }],
    ["references that multiply", doubling(10), doubling(20)],
  ])("has a limit of %s", (_, passes, fails) => {
    expect(() => checkForeignSchema(passes)).not.toThrow();
    expect(codeOf(() => checkForeignSchema(fails))).toBe("too_large");
  });

  it("may be recursive", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: { node: { properties: { left: { $ref: "#/$defs/node" }, right: { $ref: "#" } } } },
    };
    expect(() => checkForeignSchema(tree)).not.toThrow();
  });

  it("may be a long chain", () => {
    const chain = {
      $defs: Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }])),
    };
    expect(() => checkForeignSchema({ ...chain, $ref: "#/$defs/d0" })).not.toThrow();
  });
});

function codeOf(work: () => void): unknown {
  try {
    return work();
  } catch (error) {
    return isToolError(error) ? error.code : error;
  }
}
