import { ToolError } from "../errors.ts";
import { getOwn, isRecord } from "./json.ts";
import { resolveRef } from "./refs.ts";
import { withPlainCharacters } from "./slow-patterns.ts";
import type { JsonSchema } from "./types.ts";

/** Deeper than any hand-written schema. */
const MAX_DEPTH = 64;
/** Objects in the schema, of any kind. */
const MAX_NODES = 5_000;
/** Schemas visited when every `$ref` is expanded, a recursive one once. */
const MAX_UNFOLDED = 100_000;
const MAX_PATTERN_LENGTH = 1_000;
const MAX_PATTERNS_LENGTH = 4_000;
/** As many as the analysis in pattern-cost.ts handles; it lets longer patterns pass. */
const MAX_PATTERN_CHARACTERS = 250;

/**
 * Rejects a schema from outside (a program's, a server's) that would cost too much to read or to check against: too
 * deep, too large, references that multiply (`a` is two `b`, `b` is two `c`, ...), long regular expressions. The next
 * step, `toSchema()`, rejects what is wrong in it and short patterns that take exponential time.
 *
 * @throws ToolError `too_large`
 */
export function checkForeignSchema(schema: JsonSchema): void {
  let nodes = 0;
  let patterns = 0;
  const work: { value: unknown; depth: number }[] = [{ value: schema, depth: 0 }];
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    const { value, depth } = item;
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_DEPTH * 2) refuse(`is nested deeper than ${MAX_DEPTH} schemas`); // `properties` adds a level
    if (++nodes > MAX_NODES) refuse(`has more than ${MAX_NODES} parts`);
    patterns += patternsLength(value);
    if (patterns > MAX_PATTERNS_LENGTH) {
      refuse(`has regular expressions of more than ${MAX_PATTERNS_LENGTH} characters`);
    }
    for (const child of Object.values(value)) work.push({ value: child, depth: depth + 1 });
  }
  checkUnfolded(schema);
}

function patternsLength(schema: object): number {
  const pattern = getOwn(schema, "pattern");
  const keyed = getOwn(schema, "patternProperties");
  let length = 0;
  for (const one of [pattern, ...(isRecord(keyed) ? Object.keys(keyed) : [])]) {
    if (typeof one !== "string") continue;
    length += one.length;
    if (one.length > MAX_PATTERN_LENGTH || charactersOf(one) > MAX_PATTERN_CHARACTERS) {
      refuse(`has a regular expression that is too long to analyze (${one.length} characters)`);
    }
  }
  return length;
}

/** How many characters a pattern describes: a class is one, an escape is one, counts and brackets are none. */
function charactersOf(pattern: string): number {
  return withPlainCharacters(pattern).replace(/\{\d*,?\d*\}|[()|?*+^$]/g, "").length;
}

function checkUnfolded(root: JsonSchema): void {
  const costs = new Map<object, number>();
  const open = new Set<object>();
  const cost = within(root);
  if (cost > MAX_UNFOLDED) refuse("refers to its own parts so often that checking a value could take forever");

  function within(schema: JsonSchema): number {
    try {
      return costOf(schema);
    } catch (error) {
      if (error instanceof RangeError) return Infinity; // a chain of references deeper than the stack
      throw error;
    }
  }

  function costOf(value: unknown): number {
    if (typeof value !== "object" || value === null || open.has(value)) return 1;
    const known = costs.get(value);
    if (known !== undefined) return known;
    open.add(value);
    let sum = 1;
    const ref = getOwn(value, "$ref");
    if (typeof ref === "string") sum += costOf(resolveRef(root, ref));
    // Definitions are counted where they are referred to.
    for (const [key, child] of Object.entries(value))
      if (key !== "$defs" && key !== "definitions") sum += costOf(child);
    open.delete(value);
    costs.set(value, sum);
    return sum;
  }
}

function refuse(reason: string): never {
  throw new ToolError("too_large", `the schema ${reason}.`);
}
