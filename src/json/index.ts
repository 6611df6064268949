export { parseJson } from "./parse.ts";
export { createJsonParser, type JsonChange, type JsonParser, type JsonState } from "./parser.ts";
export { repairJson, type RepairLimits, type RepairOutcome } from "./repair.ts";
export { closedByItself, exceedsDepth } from "./scan.ts";
