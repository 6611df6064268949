import { exceedsDepth, parseJson, wellFormed } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { isNothing } from "../../src/wire/field.ts";

/** Whether it may be what stands for an input that is still to come. */
export function isEmpty(input: unknown): boolean {
  return isNothing(input) || input === "" || (isRecord(input) && Object.keys(input).length === 0);
}

/** An input that is no object: the text itself from gateways that do not parse it, else something for the schema to refuse. */
export function inputText(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/**
 * The input of a server tool. Text that is no JSON is kept in an object, since the API takes no other; so is what nests
 * too deep for those who serialize the history. Nor does it take half a character.
 */
export function parsedInput(json: string): unknown {
  try {
    if (!exceedsDepth(json, MAX_DEPTH)) return wellFormed(parseJson(json));
  } catch {}
  return { INVALID_JSON: json };
}

const MAX_DEPTH = 128;
