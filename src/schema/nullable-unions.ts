import { getOwn, isRecord } from "./json.ts";
import { decodeToken, percentDecoded } from "./pointer.ts";
import { changeAll } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * `nullable: true` of OpenAPI 3.0 beside a reference or a union becomes one more alternative. OpenAPI 3.0.3 gives it a
 * meaning beside a `type` only, but what writes it elsewhere (zod-to-json-schema, NestJS, Swashbuckle, Django) means it.
 * https://github.com/tfranzel/drf-spectacular/issues/925
 *
 * @returns values may be `undefined`: copy it as JSON
 */
export function withNullAlternatives(schema: JsonSchema): JsonSchema {
  return changeAll(schema, (node) => {
    const { nullable, $ref: given, allOf, anyOf, oneOf, ...rest } = node;
    const $ref = typeof given === "string" && given.startsWith("#") ? followed(given, schema) : given;
    const alternatives = isOneOfTwo(node) ? [{ $ref, allOf, anyOf, oneOf }] : anyOf;
    if (nullable !== true || rest["type"] !== undefined || alternatives === undefined) return { ...node, $ref };
    return { ...rest, anyOf: [alternatives, { type: "null" }].flat() };
  });
}

/** The alternatives of an `anyOf` stay where they are, beside the new one; anything else becomes the first of two. */
function isOneOfTwo({ nullable, type, $ref, allOf, oneOf }: JsonSchema): boolean {
  return nullable === true && type === undefined && ($ref ?? allOf ?? oneOf) !== undefined;
}

/** A reference, to where its target then is: zod-to-json-schema refers to where a schema came first, also in an `allOf`. */
function followed(ref: string, root: JsonSchema): string {
  let at: unknown = root;
  return ref.replaceAll(/\/([^/]*)/g, (step, token: string) => {
    const named = decodeToken(percentDecoded(token));
    // What withDiscriminators() has made of it.
    const isAny = named === "oneOf" && isRecord(at) && "discriminator" in at && at["oneOf"] === undefined;
    const isInside = isRecord(at) && isOneOfTwo(at) && /^(?:all|any|one)Of$/.test(token);
    at = getOwn(at, isAny ? "anyOf" : named);
    return (isInside ? "/anyOf/0" : "") + (isAny ? "/anyOf" : step);
  });
}
