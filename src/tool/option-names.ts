import { isRecord, kindOf, unknownKey } from "../schema/json.ts";

/** All options of `T`, by name, each with its rule if it has one: an option that is missing does not compile. */
export type OptionNames<T> = Readonly<Record<keyof T, true | OptionRule>>;

/** Refuses what an option that was given must not be. @throws TypeError */
export type OptionRule = (name: string, value: any) => void;

/**
 * Refuses what is no object, an option that does not exist, and one that breaks its rule: a rule, a limit or a filter
 * with a typo in its name would be none. The compiler does not see it in JavaScript, in an object that is spread or kept
 * in a variable, and behind a cast.
 *
 * @param taker who takes the options: `mcpTools()`
 * @throws TypeError
 */
export function checkOptionNames(taker: string, options: object, known: OptionNames<Record<string, unknown>>): void {
  const names = Object.keys(known);
  if (!isRecord(options)) {
    throw new TypeError(`${taker} takes an object, { ${names.join(", ")} }, got ${kindOf(options)}.`);
  }
  const unknown = unknownKey(options, names);
  if (unknown !== undefined) {
    const meant = didYouMean(unknown, names);
    throw new TypeError(`${taker} has no option ${JSON.stringify(unknown)}.${meant} It has ${names.join(", ")}.`);
  }
  for (const [name, rule] of Object.entries(known))
    if (rule !== true && options[name] !== undefined) rule(name, options[name]);
}

/**
 * The same where there may be options that are not known here, such as those of an adapter that wraps this one: only
 * what is spelt like a known one is a mistake.
 */
export function checkSpelling(taker: string, options: object, known: OptionNames<Record<string, unknown>>): void {
  const names = Object.keys(known);
  for (const name of Object.keys(options)) {
    const meant = names.includes(name) ? "" : didYouMean(name, names);
    if (meant !== "") throw new TypeError(`${taker} has no option ${JSON.stringify(name)}.${meant}`);
  }
}

// Rules for options

export function aFunction(name: string, value: unknown): void {
  if (typeof value !== "function") throw new TypeError(`${name} is a function, got ${kindOf(value)}.`);
}

export function aText(name: string, value: unknown): void {
  if (typeof value !== "string") throw new TypeError(`${name} is a text, got ${kindOf(value)}.`);
}

export function aRecord(name: string, value: unknown): void {
  if (!isRecord(value)) throw new TypeError(`${name} is an object, got ${kindOf(value)}.`);
}

export function aboveZero(name: string, value: unknown): void {
  if (!(typeof value === "number" && value > 0)) throw noSuchNumber(name, "number above 0", value);
}

export function fromZero(name: string, value: unknown): void {
  if (!(typeof value === "number" && value >= 0)) throw noSuchNumber(name, "number from 0", value);
}

export function wholeFromZero(name: string, value: unknown): void {
  if (!(Number.isSafeInteger(value) && (value as number) >= 0)) throw noSuchNumber(name, "whole number from 0", value);
}

function noSuchNumber(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name} is a ${expected}, got ${String(value)}.`);
}

/** One of these: a filter that nothing can match would find nothing. */
export function oneOf(...known: readonly string[]): OptionRule {
  return (name, value) => {
    if (known.includes(value)) return;
    const meant = typeof value === "string" ? didYouMean(value, known) : "";
    const all = known.map((one) => JSON.stringify(one));
    const choice = `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
    throw new TypeError(`${name} is ${choice}, got ${JSON.stringify(value) ?? kindOf(value)}.${meant}`);
  };
}

/** No option's name is longer. */
const MAX_LENGTH = 64;

/** ` Did you mean …?` with the known name that is most like the given one; empty if none is like it. */
export function didYouMean(given: string, known: readonly string[]): string {
  const written = given.slice(0, MAX_LENGTH).toLowerCase();
  const distances = known.map((name) => distance(written, name.toLowerCase()));
  const least = Math.min(...distances);
  const nearest = known[distances.indexOf(least)]!;
  // Half of the letters: an abbreviation is like the whole, but `stream` is not like `strict`.
  const isLike = least * 2 <= written.length && least * 2 < Math.max(written.length, nearest.length);
  return isLike ? ` Did you mean ${nearest}?` : "";
}

/** How many letters have to be added, removed or replaced to get from one text to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [index, letter] of [...from].entries()) {
    const above = row;
    row = [index + 1];
    for (const [at, other] of [...to].entries()) {
      row.push(Math.min(above[at + 1]! + 1, row[at]! + 1, above[at]! + (letter === other ? 0 : 1)));
    }
  }
  return row.at(-1)!;
}
