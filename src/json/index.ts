export { parseJson } from "./parse.ts";
export { createJsonParser, type JsonChange, type JsonParser } from "./parser.ts";
export { repairJson } from "./repair.ts";
export { closedByItself, exceedsDepth } from "./scan.ts";
export { GrowingText } from "./growing-text.ts";
