import type { Rewrite } from "../lower.ts";
import { eachSubschema } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { isObjectNode, propertiesOf } from "../fields.ts";

/** How much a schema may have in total, its definitions included. */
export interface SchemaLimits {
  readonly properties: number;
  /** Nested objects, the root being the first. The target of a reference is counted where it is defined. */
  readonly nesting: number;
  /** Values in value lists. */
  readonly values: number;
  /** Characters in names of properties and definitions, and in values. */
  readonly characters: number;
  /** Characters in the values of one list with more than 250 of them. */
  readonly list: number;
}

/** Reports a schema that is larger than a provider accepts, once for each limit that it exceeds. It stays as it is. */
export function withinLimits(limits: SchemaLimits): Rewrite {
  return {
    name: "withinLimits",
    order: "root",
    apply(node, { lose }) {
      for (const [what, size] of Object.entries(sizeOf(node))) {
        const limit = limits[what as keyof SchemaLimits];
        if (size > limit) lose(`${what}: ${size}, and no more than ${limit} are taken.`, { rule: `limit:${what}` });
      }
      return node;
    },
  };
}

function sizeOf(schema: JsonSchema): SchemaLimits {
  const size = { properties: 0, nesting: 0, values: 0, characters: 0, list: 0 };
  add(schema, 0);
  return size;

  function add(node: JsonSchema, outside: number): void {
    const nesting = outside + (isObjectNode(node) ? 1 : 0);
    const names = Object.keys(propertiesOf(node));
    const values = Array.isArray(node["enum"]) ? node["enum"] : [];
    const characters = lengthOf(values);
    size.properties += names.length;
    size.nesting = Math.max(size.nesting, nesting);
    size.values += values.length;
    size.characters += characters + lengthOf(names) + lengthOf(Object.keys(node["$defs"] ?? {}));
    if (values.length > 250) size.list = Math.max(size.list, characters);
    eachSubschema(node, (child) => add(child, nesting));
  }
}

function lengthOf(texts: readonly unknown[]): number {
  return texts.reduce((length: number, text) => length + (typeof text === "string" ? text.length : 0), 0);
}
