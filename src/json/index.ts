export { createJsonParser, type JsonChange, type JsonParser, type JsonState } from "./parser.ts";
