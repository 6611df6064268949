import { literals } from "../../src/schema/fields.ts";
import type { Rewrite } from "../../src/schema/lower.ts";
import { describe, dropKeywords, loosenAround, without } from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { isObject } from "../../src/wire/field.ts";

/**
 * Leaves out properties whose names the API rejects (`input_schema.properties: Property keys should match pattern
 * '^[a-zA-Z0-9_.-]{1,64}$'`). The description lists them, and the object stays open for them: a name such as `$filter`
 * may be required. Run it before {@link closeObjects}.
 */
export const keepLegalKeys: Rewrite = {
  name: "keepLegalKeys",
  apply(given, context) {
    const node = loosenAround(given, context, hasIllegalKeys);
    if (!hasIllegalKeys(node)) return node;
    const { properties, required } = node;
    const entries = Object.entries(properties as JsonSchema);
    const illegal = entries.filter(isIllegal);
    const names = illegal.map(([name]) => name);
    context.lose(
      `Properties whose names the API refuses (it takes ${LEGAL_KEY.source}) are left out: ${names.join(", ")}.`,
    );
    const open = {
      ...without(node, ["additionalProperties", "unevaluatedProperties"]),
      properties: Object.fromEntries(entries.filter((entry) => !isIllegal(entry))),
      ...(Array.isArray(required) && { required: required.filter((name) => !names.includes(name)) }),
    };
    const said = illegal.map(([name, property]) => [`property ${JSON.stringify(name)}`, property]);
    return describe(open, Object.fromEntries(said));
  },
};

function hasIllegalKeys({ properties }: JsonSchema): boolean {
  return isObject(properties) && Object.entries(properties).some(isIllegal);
}

function isIllegal([name]: readonly [string, unknown]): boolean {
  return !LEGAL_KEY.test(name);
}

const LEGAL_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Value lists may hold strings, numbers, booleans and null; one with an object or an array in it is only described. */
export const describeObjectValues: Rewrite = {
  name: "describeObjectValues",
  apply(node, context) {
    if (literals(node)?.some(isObject) !== true) return node;
    return dropKeywords(["enum", "const"]).apply(node, context);
  },
};
