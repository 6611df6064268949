import { cyclesFrom } from "./cycles.ts";
import { isRecord } from "./json.ts";
import { once } from "./once.ts";
import { followPointer } from "./pointer.ts";
import { eachSubschema, walkSchema } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * The target of a `$ref` inside a schema: `#`, `#/$defs/Name`, `#anchor`, or any of them after an `$id` that occurs in
 * it. `undefined` if it points to nothing here; nothing is ever fetched.
 */
export function resolveRef(root: JsonSchema, ref: string): JsonSchema | undefined {
  const [base = "", fragment = ""] = ref.split(/#(.*)/s);
  const resource = base === "" ? root : namesIn(root).get(base);
  if (resource === undefined || fragment === "") return resource;
  if (!fragment.startsWith("/")) return namesIn(resource).get(`#${fragment}`);
  const value = followPointer(resource, fragment.slice(1));
  if (value === true) return {};
  if (value === false) return { not: {} };
  return isRecord(value) ? value : undefined;
}

/** What the `$ref` of a schema leads to; `undefined` if it has none, or one that points to nothing here. */
export function targetOf({ $ref }: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  return typeof $ref === "string" ? resolveRef(root, $ref) : undefined;
}

/**
 * All schemas that contain one that `matches`, themselves or through references. Found backwards from the matches, so
 * the time is linear in the number of schemas and references.
 */
export function reaching(root: JsonSchema, matches: (node: JsonSchema) => boolean): ReadonlySet<JsonSchema> {
  const holders = new Map<JsonSchema, JsonSchema[]>([[root, []]]);
  const found = new Set<JsonSchema>();
  for (const node of holders.keys()) {
    if (matches(node)) found.add(node);
    for (const next of linksOf(node, root)) {
      const known = holders.get(next);
      if (known === undefined) holders.set(next, [node]);
      else known.push(node);
    }
  }
  for (const node of found) for (const holder of holders.get(node)!) found.add(holder);
  return found;
}

/** The schemas that contain themselves, through any number of references. */
export const recursiveIn = /* @__PURE__ */ once((root: JsonSchema): Pick<ReadonlySet<JsonSchema>, "has"> =>
  cyclesFrom(root, (node) => linksOf(node, root)),
);

/** The direct subschemas of a schema, and what its `$ref` leads to. */
export function linksOf(node: JsonSchema, root: JsonSchema): JsonSchema[] {
  const links: JsonSchema[] = [];
  eachSubschema(node, (child) => links.push(child));
  const target = targetOf(node, root);
  if (target !== undefined) links.push(target);
  return links;
}

/** The named schemas in a schema, by `$id`, or by `#` and anchor: the first one if two share a name. */
const namesIn = once((root: JsonSchema): ReadonlyMap<string, JsonSchema> => {
  const names = new Map<string, JsonSchema>();
  const add = (sign: string, name: unknown, node: JsonSchema) => {
    if (typeof name === "string" && !names.has(sign + name)) names.set(sign + name, node);
  };
  walkSchema(root, (node) => {
    const { $id, $anchor, $dynamicAnchor } = node;
    add("", typeof $id === "string" ? $id.replace(/#$/, "") : $id, node);
    add("#", $anchor, node);
    add("#", $dynamicAnchor, node);
  });
  return names;
});
