import type { Rewrite } from "../../src/schema/lower.ts";
import { nullableProperty } from "../../src/schema/rewrites.ts";

/**
 * Every object needs a required property, and so do a tool's arguments: "Tools with only optional parameters are not
 * supported in this mode", https://docs.cohere.com/v2/docs/structured-outputs. If all are optional, the first becomes
 * required and nullable, and its null is read as absent.
 */
export const requireOne: Rewrite = {
  name: "requireOne",
  apply(node, context) {
    const { properties, required } = node as { properties?: Record<string, never>; required?: unknown[] };
    if (properties === undefined || (Array.isArray(required) && required.length > 0)) return node;
    const [first] = Object.keys(properties);
    if (first === undefined) {
      context.lose("An object needs a required property, and this one has no properties.");
      return node;
    }
    const entries = Object.entries(properties).map(([name, property]) => [
      name,
      name === first ? nullableProperty(property, context, "anyOf") : property,
    ]);
    return { ...node, properties: Object.fromEntries(entries), required: [first] };
  },
};
