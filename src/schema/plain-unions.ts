import type { Schema as CheckedSchema, SchemaDraft } from "@cfworker/json-schema";
import { isObject, isRecord } from "./json.ts";
import type { Lookup } from "./plain-issues.ts";
import { takeStep, type Work } from "./work.ts";

/**
 * The validator checks all alternatives of a union to the end: if they contain the same union again (expressions,
 * filters, page layouts), each level multiplies the time. Nearly always a constant tells them apart (`kind: "circle"`):
 * it is checked first, and an alternative that it excludes is not checked any further.
 */
export function guardUnions(prepared: unknown, known: Lookup, draft: SchemaDraft): void {
  if (!isObject(prepared)) return;
  for (const [keyword, value] of Object.entries(prepared)) {
    if (keyword === "const" || keyword === "enum") continue;
    guardUnions(value, known, draft);
    const isUnion = (keyword === "anyOf" || keyword === "oneOf") && Array.isArray(value);
    if (isUnion) (prepared as Record<string, unknown>)[keyword] = guarded(value);
  }

  function guarded(alternatives: readonly unknown[]): unknown[] {
    const all = alternatives.map((one) => [...partsOf(one)].flatMap(constants));
    const seen = Map.groupBy(all.flat(), ({ name }) => name);
    return alternatives.map((one, index) => {
      // Properties with another constant in another alternative.
      const own = all[index]!.filter(({ name, values }) => seen.get(name)!.some((other) => other.values !== values));
      if (own.length === 0) return one;
      const properties = Object.fromEntries(own.map(({ name, schema }) => [name, schema]));
      const required = own.filter(({ isRequired }) => isRequired).map(({ name }) => name);
      const guard: CheckedSchema = { properties, required };
      // oxlint-disable-next-line unicorn/no-thenable
      return { if: guard, then: one, else: guard };
    });
  }

  /** The schemas for the same value, each once. No chain of them leads back to itself, see checkReferences(). */
  function partsOf(schema: unknown, parts = new Set<CheckedSchema>()): Set<CheckedSchema> {
    if (!isRecord(schema) || parts.has(schema)) return parts;
    const target = known[String(schema["__absolute_ref__"])];
    if (target !== undefined) partsOf(target, parts);
    if (target !== undefined && draft === "7") return parts; // siblings of a $ref are ignored
    parts.add(schema);
    for (const part of (schema["allOf"] as unknown[] | undefined) ?? []) partsOf(part, parts);
    return parts;
  }

  function constants({ properties, required = [] }: CheckedSchema) {
    return Object.entries(properties ?? {}).flatMap(([name, schema]) => {
      const constant = [...partsOf(schema)].find((part) => "const" in part || "enum" in part);
      if (constant === undefined) return [];
      const values = JSON.stringify(constant.enum ?? [constant.const]);
      return [{ name, schema, values, isRequired: required.includes(name) }];
    });
  }
}

/**
 * The references, for one check of a value. Only they can make the time disproportionate: schemas are trees.
 *
 * @throws TooMuchWork when one is looked up too often: nested alternatives that no constant tells apart
 */
export function limitWork(known: Lookup, value: unknown): Record<string, CheckedSchema | boolean> {
  const work: Work = { steps: 50_000, value };
  return new Proxy(known, {
    get(target, uri) {
      takeStep(work, 20);
      return target[uri as string];
    },
  });
}
