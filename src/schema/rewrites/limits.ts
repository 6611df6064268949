import type { Rewrite } from "../lower.ts";
import { eachSubschema, walkSchema } from "../subschemas.ts";
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
  const size = { properties: 0, nesting: nestingOf(schema), values: 0, characters: 0, list: 0 };
  walkSchema(schema, (node) => {
    const names = Object.keys(propertiesOf(node));
    size.properties += names.length;
    size.characters += lengthOf(names) + lengthOf(Object.keys(node["$defs"] ?? {}));
    const { enum: values } = node;
    if (!Array.isArray(values)) return;
    const characters = lengthOf(values);
    size.values += values.length;
    size.characters += characters;
    if (values.length > 250) size.list = Math.max(size.list, characters);
  });
  return size;
}

function nestingOf(node: JsonSchema): number {
  let inside = 0;
  eachSubschema(node, (child) => (inside = Math.max(inside, nestingOf(child))));
  return inside + (isObjectNode(node) ? 1 : 0);
}

function lengthOf(texts: readonly unknown[]): number {
  return texts.reduce((length: number, text) => length + (typeof text === "string" ? text.length : 0), 0);
}
