import { conjunction, GiveUp } from "../../src/schema/fits.ts";
import { isRecord } from "../../src/schema/json.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { safeToolName } from "../../src/tool/names.ts";

const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

const allowed = safeToolName({ allowed: /[A-Za-z0-9_.]/, maxLength: 120 });

/** A name of Python, with dots: `import_.from_` for `import.from`. */
export function toolName(name: string): string {
  return allowed(name).split(".").map(argumentName).join(".");
}

/** The properties of a schema, those of what it refers to included, in the order of positional arguments. */
export function propertiesOf(root: JsonSchema): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  for (const { properties } of partsOf(root)) {
    if (!isRecord(properties)) continue;
    for (const [name, schema] of Object.entries(properties)) if (!found.has(name)) found.set(name, schema);
  }
  return found;
}

/** The properties that a schema asks for. */
export function requiredOf(root: JsonSchema): ReadonlySet<unknown> {
  return new Set(partsOf(root).flatMap(({ required }) => (Array.isArray(required) ? (required as unknown[]) : [])));
}

function partsOf(root: JsonSchema): readonly JsonSchema[] {
  try {
    return conjunction(root, { root, steps: 10_000 });
  } catch (error) {
    if (error instanceof GiveUp) return [];
    throw error;
  }
}

/**
 * What the properties of a tool are called as arguments in Python, which has no argument `from` and no `user-id`:
 * `from_`, `user_id`; `user_id_2` beside a property of that name. Names that are fine stay as they are.
 */
export function parameterNames(properties: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(properties.filter((property) => argumentName(property) === property));
  const names = properties.map((property) => {
    const plain = argumentName(property);
    if (plain === property) return [property, property] as const;
    let name = plain;
    for (let number = 2; taken.has(name); number++) name = `${plain}_${number}`;
    taken.add(name);
    return [property, name] as const;
  });
  return new Map(names);
}

function argumentName(property: string): string {
  if (KEYWORDS.has(property)) return `${property}_`;
  const name = property.replaceAll(/[^\p{L}\p{N}_]/gu, "_");
  return /^[\p{L}_]/u.test(name) ? name : `_${name}`;
}
