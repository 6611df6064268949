import { propertiesOf as ownProperties, requiredOf as ownRequired } from "../../src/schema/fields.ts";
import { rootParts } from "../../src/schema/fits.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { safeToolName } from "../../src/tool/names.ts";

const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

const allowed = safeToolName({ allowed: /[A-Za-z0-9_.]/, maxLength: 120 });

/** A dotted Python name: `import_.from_` for `import.from`. */
export function toolName(name: string): string {
  return allowed(name).split(".").map(argumentName).join(".");
}

/** Models also write the module in which they were shown tools in training: Gemini `default_api.f()`. */
export const namespaced = /^(?:functions|default_api)\.(.+)$/;

/** The properties of a schema, including those of schemas it refers to, in the order of positional arguments. */
export function propertiesOf(root: JsonSchema): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  for (const part of rootParts(root)) {
    for (const [name, schema] of Object.entries(ownProperties(part))) if (!found.has(name)) found.set(name, schema);
  }
  return found;
}

/** The properties that a schema requires. */
export function requiredOf(root: JsonSchema): ReadonlySet<string> {
  return new Set(rootParts(root).flatMap(ownRequired));
}

/**
 * The names of a tool's properties as Python arguments. Python allows neither `from` nor `user-id`, so these become
 * `from_` and `user_id`, or `user_id_2` if that name is taken. Valid names stay unchanged.
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
