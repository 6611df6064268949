import { exceedsDepth, parseJson, wellFormed } from "../../src/json/index.ts";

/** A piece of an input, which some gateways send parsed. */
export function inputText(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/**
 * The input of a server tool. Text that is not JSON is wrapped in an object, since the API takes nothing else; so is
 * JSON that nests too deep for those who serialize the history. Lone surrogates are replaced: the API rejects them.
 */
export function parsedInput(json: string): unknown {
  try {
    if (!exceedsDepth(json, MAX_DEPTH)) return wellFormed(parseJson(json));
  } catch {}
  return { INVALID_JSON: json };
}

const MAX_DEPTH = 128;
