import { isRecord } from "./json.ts";
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

/**
 * All schemas in `start` that contain one that `matches`, themselves or through references. Found backwards from the
 * matches, so the time is linear in the number of schemas and references.
 */
export function reaching(
  root: JsonSchema,
  matches: (node: JsonSchema) => boolean,
  start = root,
): ReadonlySet<JsonSchema> {
  const holders = new Map<JsonSchema, JsonSchema[]>([[start, []]]);
  const found = new Set<JsonSchema>();
  for (const node of holders.keys()) {
    if (matches(node)) found.add(node);
    const link = (next: unknown) => {
      if (!isRecord(next)) return;
      const known = holders.get(next as JsonSchema);
      if (known === undefined) holders.set(next as JsonSchema, [node]);
      else known.push(node);
    };
    eachSubschema(node, link);
    const { $ref } = node;
    if (typeof $ref === "string") link(resolveRef(root, $ref));
  }
  for (const node of found) for (const holder of holders.get(node)!) found.add(holder);
  return found;
}

const known = new WeakMap<JsonSchema, ReadonlyMap<string, JsonSchema>>();

/** The named schemas in a schema, by `$id`, or by `#` and anchor: the first one if two share a name. */
function namesIn(root: JsonSchema): ReadonlyMap<string, JsonSchema> {
  const found = known.get(root);
  if (found !== undefined) return found;
  const names = new Map<string, JsonSchema>();
  known.set(root, names);
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
}
