export { jsonIn, parseJson } from "./parse.ts";
export { changedLiteral, hasHugeNumber, isHuge, lostNumber } from "./numbers.ts";
export { createJsonParser, createTwinParser, type JsonChange, type JsonParser, type TwinParser } from "./parser.ts";
export { repairJson } from "./repair.ts";
export { closedByItself, isClosedRoot } from "./broken.ts";
export { exceedsDepth, RootScan } from "./scan.ts";
export { GrowingText } from "./growing-text.ts";
export { lastMade } from "./last-made.ts";
export { wellFormed, wellFormedJson } from "./well-formed.ts";
