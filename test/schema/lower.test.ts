import { describe, expect, it } from "vitest";
import { lowerSchema, type Rewrite } from "../../src/schema/lower.ts";
import { resolveRef } from "../../src/schema/refs.ts";
import { mapSubschemas } from "../../src/schema/subschemas.ts";
import type { JsonSchema } from "../../src/schema/types.ts";

/** Marks every subschema that it is given. */
const mark: Rewrite = { name: "mark", apply: (node) => ({ ...node, seen: true }) };

/** Reports every subschema. */
const report: Rewrite = {
  name: "report",
  apply(node, { lose }) {
    lose("here");
    return node;
  },
};

const leaf = { type: "string" };

describe("lowerSchema", () => {
  it("gives back an equal schema when there is nothing to rewrite", () => {
    const schema = { type: "object", properties: { city: leaf }, required: ["city"] };
    expect(lowerSchema(schema, [])).toEqual({ schema, losses: [] });
  });

  it("does not change the schema that it is given", () => {
    const schema = deepFreeze({ type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } });
    const { schema: lowered } = lowerSchema(schema, [mark]);
    expect(lowered).not.toBe(schema);
    expect(JSON.stringify(schema)).not.toContain("seen");
  });

  it("reaches a schema under every keyword that holds one", () => {
    const schema = {
      properties: { a: leaf },
      patternProperties: { "^x": leaf },
      $defs: { D: leaf },
      definitions: { E: leaf },
      dependentSchemas: { a: leaf },
      dependencies: { a: leaf, b: ["a"] },
      items: leaf,
      prefixItems: [leaf],
      additionalItems: leaf,
      unevaluatedItems: leaf,
      additionalProperties: leaf,
      unevaluatedProperties: leaf,
      propertyNames: leaf,
      contains: leaf,
      contentSchema: leaf,
      anyOf: [leaf],
      oneOf: [leaf],
      allOf: [leaf],
      not: leaf,
      if: leaf,
      // oxlint-disable-next-line unicorn/no-thenable
      then: leaf,
      else: leaf,
    };
    const { losses } = lowerSchema(schema, [report]);
    const paths = losses.map((loss) => loss.path);
    expect(paths).toContain("");
    const lists = ["prefixItems", "anyOf", "oneOf", "allOf"];
    const records = {
      properties: "a",
      patternProperties: "^x",
      $defs: "D",
      definitions: "E",
      dependentSchemas: "a",
      dependencies: "a",
    };
    for (const keyword of Object.keys(schema)) {
      const name = (records as Record<string, string>)[keyword];
      const path =
        name !== undefined ? `/${keyword}/${name}` : lists.includes(keyword) ? `/${keyword}/0` : `/${keyword}`;
      expect(paths, keyword).toContain(path);
    }
    expect(paths).toHaveLength(Object.keys(schema).length + 1);
  });

  it("reads a list under items, as drafts before 2020-12 have it", () => {
    expect(lowerSchema({ items: [leaf, leaf] }, [report]).losses.map((loss) => loss.path)).toEqual([
      "",
      "/items/0",
      "/items/1",
    ]);
  });

  it("takes a property that is named like a keyword for a property", () => {
    const schema = {
      type: "object",
      properties: { anyOf: { type: "array", items: leaf }, properties: leaf, $ref: leaf, items: { type: "number" } },
    };
    const { losses } = lowerSchema(schema, [report]);
    expect(losses.map((loss) => loss.path)).toEqual([
      "",
      "/properties/anyOf",
      "/properties/anyOf/items",
      "/properties/properties",
      "/properties/$ref",
      "/properties/items",
    ]);
  });

  it("leaves literal values alone: enum, const, default and examples are no schemas", () => {
    const literal = { properties: { a: { type: "string" } } };
    const schema = { const: literal, default: literal, enum: [literal], examples: [literal] };
    expect(lowerSchema(schema, [mark]).schema).toEqual({ ...schema, seen: true });
  });

  it.each(["__proto__", "constructor", "toString"])("keeps a property named %s and changes nothing else", (name) => {
    const schema = JSON.parse(`{"type":"object","properties":{"${name}":{"type":"string"}}}`) as JsonSchema;
    const { schema: lowered } = lowerSchema(schema, [mark]);
    expect(JSON.stringify(lowered)).toBe(
      `{"type":"object","properties":{"${name}":{"type":"string","seen":true}},"seen":true}`,
    );
    expect(({} as Record<string, unknown>)["seen"]).toBeUndefined();
  });

  it("drops keywords that are undefined", () => {
    expect(Object.keys(lowerSchema({ type: "string", format: undefined }, []).schema)).toEqual(["type"]);
  });

  it("keeps boolean schemas", () => {
    const schema = { properties: { a: true, b: false }, additionalProperties: false };
    expect(lowerSchema(schema, [mark]).schema).toEqual({ ...schema, seen: true });
  });

  it("cuts a schema object that contains itself, and says so", () => {
    const schema: Record<string, unknown> = { type: "object" };
    schema["properties"] = { child: schema };
    const { losses } = lowerSchema(schema, [mark]);
    expect(losses).toEqual([expect.objectContaining({ path: "/properties/child".repeat(128), rule: "size" })]);
  });

  it("reports each of two places that share one schema object under its own path", () => {
    const { losses } = lowerSchema({ properties: { a: leaf, b: leaf } }, [report]);
    expect(losses.map((loss) => loss.path)).toEqual(["", "/properties/a", "/properties/b"]);
  });

  it("cuts what is too deep, and stays quick", () => {
    let schema: JsonSchema = { type: "string" };
    for (let depth = 0; depth < 20_000; depth++) schema = { type: "array", items: schema };
    const { losses } = lowerSchema(schema, [mark]);
    expect(losses).toEqual([expect.objectContaining({ rule: "size" })]);
  });

  it("cuts what is too large when shared objects multiply", () => {
    let schema: JsonSchema = { type: "string" };
    for (let depth = 0; depth < 30; depth++) schema = { anyOf: [schema, schema] };
    const { losses } = lowerSchema(schema, []);
    expect(losses.length).toBeGreaterThan(0);
    expect(new Set(losses.map((loss) => loss.rule))).toEqual(new Set(["size"]));
  });

  it("runs one rewrite over everything before the next", () => {
    const order: string[] = [];
    const step = (name: string): Rewrite => ({ name, apply: (node) => (order.push(name), node) });
    lowerSchema({ properties: { a: leaf } }, [step("one"), step("two")]);
    expect(order).toEqual(["one", "one", "two", "two"]);
  });

  it("visits the inside first when a rewrite asks for it", () => {
    const paths: string[] = [];
    const up: Rewrite = { name: "up", order: "up", apply: (node, { path }) => (paths.push(path), node) };
    lowerSchema({ properties: { a: { items: leaf } } }, [up]);
    expect(paths).toEqual(["/properties/a/items", "/properties/a", ""]);
  });

  it("names the place in the schema that was given, though rewrites before have moved it", () => {
    const wrap: Rewrite = {
      name: "wrap",
      apply: (node) =>
        mapSubschemas(node, (child, _, keyword) =>
          keyword === "properties" ? { anyOf: [child, { type: "null" }] } : child,
        ),
    };
    const strings: Rewrite = {
      name: "strings",
      apply(node, { lose }) {
        if (node["type"] === "string") lose("a string");
        return node;
      },
    };
    const { losses } = lowerSchema({ type: "object", properties: { "a/b": { type: "string" } } }, [wrap, strings], {
      tool: "t",
    });
    expect(losses).toEqual([{ tool: "t", path: "/properties/a~1b", rule: "strings", message: "a string" }]);
  });

  it("says one thing once for one place", () => {
    const twice: Rewrite = {
      name: "twice",
      apply(node, { lose }) {
        lose("first");
        lose("second");
        return node;
      },
    };
    expect(lowerSchema({ type: "string" }, [twice, twice]).losses).toHaveLength(1);
  });
});

describe("resolveRef", () => {
  const root: JsonSchema = {
    $id: "https://example.com/root.json",
    $defs: {
      Plain: { type: "string" },
      "a/b": { type: "number" },
      "m%n": { type: "boolean" },
      anchored: { $anchor: "here", type: "null" },
      other: { $id: "https://example.com/other.json", $defs: { X: { type: "integer" } } },
      yes: true as never,
    },
    properties: { list: { prefixItems: [{ type: "array" }] } },
  };
  it.each([
    ["#", root],
    ["#/$defs/Plain", { type: "string" }],
    ["#/$defs/a~1b", { type: "number" }],
    ["#/%24defs/m%25n", { type: "boolean" }],
    ["#/$defs/a%7E1b", { type: "number" }],
    ["#/$defs/a%2Fb", { type: "number" }],
    ["#here", { $anchor: "here", type: "null" }],
    ["#/properties/list/prefixItems/0", { type: "array" }],
    ["https://example.com/root.json#/$defs/Plain", { type: "string" }],
    ["https://example.com/other.json#/$defs/X", { type: "integer" }],
    ["#/$defs/yes", {}],
    ["#/$defs/Missing", undefined],
    ["#/$defs/toString", undefined],
    ["#/$defs/__proto__", undefined],
    ["https://example.com/elsewhere.json", undefined],
    ["#nowhere", undefined],
  ])("finds %s", (ref, expected) => {
    expect(resolveRef(root, ref)).toEqual(expected);
  });
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
