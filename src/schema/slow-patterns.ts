import type { JsonSchema } from "./types.ts";
import { isRecord } from "./json.ts";
import { changeAll } from "./subschemas.ts";

/** The patterns of a schema whose time can grow with a power of a text's length. */
export interface SlowPatterns {
  /** How many there are, by power: `[0, 0, 3]` are three quadratic ones. Empty if all are linear. */
  readonly counts: readonly number[];
  /** Whether some of them are for names of properties: without those the schema would mean something else. */
  readonly areForNames: boolean;
  /** The schema without them. */
  readonly rest: JsonSchema;
}

/** Above this, even a word is too long. */
const MAX_POWER = 50;

/** @param schema not deeper than the stack: see `checkForeignSchema()` */
export function findSlowPatterns(schema: JsonSchema): SlowPatterns {
  const counts: number[] = [];
  let areForNames = false;
  const rest = changeAll(schema, (node) => {
    const { pattern, ...others } = node;
    const { patternProperties: keyed } = node;
    if (isRecord(keyed)) areForNames = Object.keys(keyed).filter(isSlow).length > 0 || areForNames;
    return typeof pattern === "string" && isSlow(pattern) ? others : node;
  });
  return { counts, areForNames, rest };

  function isSlow(pattern: string): boolean {
    const power = powerOf(pattern);
    if (power < 2) return false;
    const known = Math.min(power, MAX_POWER);
    while (counts.length <= known) counts.push(0);
    counts[known]!++;
    return true;
  }
}

/**
 * An upper bound on how many of a pattern's repetitions can share a text between them, each way of which a backtracking
 * engine may try: two for `^.*.*x$`, ten for `^(a?){10}$`. One more if a match may begin anywhere. Judged from the
 * outside, so it can be too high (in `^a+-b+$` neither loop reads what the other does).
 */
export function powerOf(pattern: string): number {
  const bare = withPlainCharacters(pattern).replaceAll("(?", "(");
  const open: number[] = []; // for each enclosing group, the sum before it
  let sum = bare.startsWith("^") && !bare.includes("|") ? 0 : 1;
  let inside = 0; // of the part before a quantifier
  for (const [token, symbol, low, comma, high] of bare.matchAll(/([*+?])\??|\{(\d+)(,?)(\d*)\}\??|[^]/g)) {
    if (token === "(") open.push(sum);
    if (symbol === undefined && low === undefined) {
      inside = token === ")" ? sum - open.pop()! : 0;
      continue;
    }
    const isCounted = low !== undefined && (comma === "" || high !== "");
    if (isCounted) sum += inside * (Number(high || low) - 1);
    if (!isCounted || (comma !== "" && low !== high)) sum++;
  }
  return sum;
}

/** The pattern with an `x` for each escape and each class. */
export function withPlainCharacters(pattern: string): string {
  return pattern.replace(/\\(?:[pPu]\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)/gsu, "x").replace(/\[[^\]]*\]/g, "x");
}

/** An upper bound on the steps that the patterns take for all texts of a value, names of properties included. */
export function stepsOf(value: unknown, counts: readonly number[]): number {
  let steps = 0;
  const work: unknown[] = [value];
  while (work.length > 0) {
    const item = work.pop();
    if (typeof item === "string") steps += stepsFor(item.length);
    else if (Array.isArray(item)) for (const child of item) work.push(child);
    else if (isRecord(item)) for (const [key, child] of Object.entries(item)) work.push(key, child);
  }
  return steps;

  function stepsFor(length: number): number {
    let sum = 0;
    let ways = 1; // to place `power` borders in the text
    for (let power = 1; power < counts.length; power++) {
      ways *= (length + power) / power;
      sum += counts[power]! * ways;
    }
    return sum;
  }
}
