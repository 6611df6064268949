import { messageOf, type ToolErrorCode } from "../errors.ts";
import { changedLiteral, exceedsDepth, hasHugeNumber, jsonIn, lostNumber, repairJson } from "../json/index.ts";
import { isRecord } from "../schema/json.ts";
import type { RepairPolicy } from "../tool/tool.ts";
import type { Repair } from "../tool/use.ts";
import type { Limits } from "./limits.ts";

/** The outcome of an ended call's arguments. */
export type ArgumentsOutcome = { readonly ok: true; readonly value: unknown } | ArgumentsFailure;

export interface ArgumentsFailure {
  readonly ok: false;
  readonly code: ToolErrorCode;
  /** The rest of a sentence that begins with "The arguments of get_weather". */
  readonly message: string;
}

type DepthLimit = Pick<Limits, "maxDepth">;

export function failed(code: ToolErrorCode, message: string): ArgumentsFailure {
  return { ok: false, code, message };
}

export const TRUNCATED = /* @__PURE__ */ failed("truncated", "were cut before the model closed them");

/**
 * The outcome of a text: its value or, if that is `undefined` since it is not JSON, what a repair that closes nothing
 * makes of it. Each repair is added to `repairs`.
 */
export function outcomeOfText(
  text: string,
  value: unknown,
  policy: RepairPolicy,
  limits: DepthLimit,
  repairs: Repair[],
): ArgumentsOutcome {
  if (value === undefined) return repaired(text, policy, limits, repairs);
  // Servers in PHP, and some models, write `[]` for no arguments: https://github.com/agno-agi/agno/pull/6303
  if (value === null || (Array.isArray(value) && value.length === 0)) return noArguments(text, repairs);
  // `"null"`, and arguments that were encoded twice
  if (typeof value === "string") return encodedTwice(value, policy, limits, repairs);
  return exactly(value, text);
}

/** Nothing was said, which means the same as `{}`. */
export function noArguments(before: string, repairs: Repair[]): ArgumentsOutcome {
  repairs.push({ kind: "empty", before });
  return { ok: true, value: {} };
}

/** A value, unless a number in it is not the one that was written, in the text or in what somebody else parsed. */
export function exactly(value: unknown, text?: string): ArgumentsOutcome {
  if (!hasHugeNumber(value)) return { ok: true, value };
  const literal = text === undefined ? lostNumber(value) : changedLiteral(text);
  if (literal === undefined) return { ok: true, value };
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}…` : literal;
  return failed(
    "invalid_input",
    `hold the number ${shown}, which cannot be kept exactly (integers beyond ${Number.MAX_SAFE_INTEGER} cannot): write it as a string where the schema takes one`,
  );
}

export function tooLong({ maxArgumentsLength }: Limits): ArgumentsFailure {
  return failed("too_large", `are longer than ${maxArgumentsLength} characters (limits.maxArgumentsLength)`);
}

export function tooDeep({ maxDepth }: DepthLimit): ArgumentsFailure {
  return failed("too_large", `nest deeper than ${maxDepth} levels (limits.maxDepth)`);
}

/** The value of a JSON text; `undefined` if it is not JSON, or nests deeper than `maxDepth`. */
export function parse(text: string, { maxDepth }: DepthLimit): unknown {
  return exceedsDepth(text, maxDepth) ? undefined : jsonIn(text);
}

function encodedTwice(inner: string, policy: RepairPolicy, limits: DepthLimit, repairs: Repair[]): ArgumentsOutcome {
  if (inner.trim() === "" || inner.trim() === "null") return noArguments(inner, repairs);
  const value = policy === "coerce" ? parse(inner, limits) : undefined;
  if (!isRecord(value)) return { ok: true, value: inner };
  repairs.push({ kind: "coerce", path: [], before: inner, after: value });
  return exactly(value, inner);
}

function repaired(text: string, policy: RepairPolicy, limits: DepthLimit, repairs: Repair[]): ArgumentsOutcome {
  const mended = repairJson(text, { maxDepth: limits.maxDepth });
  if (!mended.ok) {
    // An unescaped quote makes it unclear where its string ends, and so whether everything is there.
    if (mended.reason === "truncated" && /[}\]]/.test(text.trimEnd().slice(-1)))
      return failed("truncated", `${TRUNCATED.message}, or a quote in them is not escaped`);
    if (mended.reason === "truncated") return TRUNCATED;
    return failed("invalid_json", `are not valid JSON. ${mended.message}`);
  }
  if (policy === "off") return failed("invalid_json", `are not valid JSON: ${jsonErrorOf(text)}`);
  repairs.push({ kind: "syntax", before: text, after: mended.text });
  return exactly(mended.value, mended.text);
}

function jsonErrorOf(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return messageOf(error);
  }
  return "";
}
