import { safeToolName } from "../../src/tool/names.ts";

const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

const identifier = safeToolName({ allowed: /[A-Za-z0-9_.]/, allowedFirst: /[A-Za-z_]/, maxLength: 128 });

/** A name of Python, with dots. */
export function toolName(name: string): string {
  return KEYWORDS.has(name) ? `${name}_` : identifier(name);
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
