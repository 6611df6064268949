/**
 * Named rewrites from which an adapter assembles its dialect, grouped by what they change; functions are those with
 * options. Each reports what it gives up, and nothing if there is no loss.
 */
export { inlineRefs, keepLocalRefs, refsAlone } from "./rewrites/refs.ts";
export {
  closeObjects,
  ensureObjectRoot,
  listedNamesToProperties,
  openObjects,
  requireAll,
  requireDeclared,
} from "./rewrites/objects.ts";
export { flattenRootUnion, oneOfToAnyOf, spreadUnions, typeArrayToAnyOf } from "./rewrites/unions.ts";
export { foldAllOf } from "./rewrites/all-of.ts";
export { nullableKeyword, nullableProperty, nullableToType } from "./rewrites/nullability.ts";
export {
  constToEnum,
  ensureItems,
  ensureType,
  listedItemsToPrefixItems,
  stringEnums,
  tuplesToArrays,
  typedValues,
  withoutBooleanSchemas,
} from "./rewrites/values.ts";
export {
  describe,
  dropAnnotations,
  dropKeywords,
  keepFormats,
  keepKeywords,
  limitMinItems,
  tellingBounds,
  without,
} from "./rewrites/keywords.ts";
export { loosenAround } from "./rewrites/loosen.ts";
export { keepPatterns } from "./rewrites/patterns.ts";
export { isPortable } from "./rewrites/portable.ts";
export { functionPatterns, functionSchema, isFreeText, strictFunctionSchema } from "./rewrites/functions.ts";
export { anythingElse, describedSchema, hasParameters, integerBounds } from "./rewrites/described.ts";
