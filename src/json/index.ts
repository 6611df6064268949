export { jsonIn, objectIn, parseJson } from "./parse.ts";
export { changedLiteral, hasHugeNumber, isHuge, lostNumber } from "./numbers.ts";
export {
  createJsonParser,
  createTwinParser,
  type JsonChange,
  type JsonParser,
  type JsonState,
  type TwinParser,
} from "./parser.ts";
export { repairJson } from "./repair.ts";
export { closedByItself, isAmidObject, isClosedRoot } from "./broken.ts";
export { emptiedMessage, isEmptied, isPlainObject } from "./emptied.ts";
export { orderedText } from "./ordered.ts";
export { exceedsDepth, RootScan } from "./scan.ts";
export { GrowingText } from "./growing-text.ts";
export { isHighSurrogate } from "./characters.ts";
export { wellFormed, wellFormedJson } from "./well-formed.ts";
