import type { Limits } from "../../src/stream/limits.ts";
import { skipSpace } from "../../src/text/look.ts";
import { numberOf, stringOf, WORDS } from "../../src/text/python/literals.ts";
import { Refusal } from "../../src/text/python/refusal.ts";
import { endOfName } from "./names.ts";

/** A call whose arguments are literals, as JSON. */
export interface PythonCall {
  readonly name: string;
  readonly args: string;
}

const KEY = /[\p{L}\p{N}_$-]+/uy;
/** The prefix of a string, mostly empty. Of other letters (`"a"or"b"`), it is an expression. */
const STRING = /(?:[bfru]|[bf]r|r[bf])?(?=["'])/iy;
const NUMBER = /[+-]?\s*[\d.][\w.]*(?:(?<=[eE])[+-]\d+)?/y;

/**
 * Reads a list of Python calls: `[f(a="x", b=[1, None]), g()]`. Nothing is evaluated.
 *
 * @param isLines a line break between two calls is as good as a comma
 * @throws Refusal for anything else
 */
export function readCalls(code: string, { maxDepth, maxCalls }: Limits, isLines = false): PythonCall[] {
  let at = 0;
  let depth = 0;
  let calling = "";

  function space(): void {
    at = skipSpace(code, at);
  }

  /** Whether this comes next; it is then read. */
  function has(sign: string): boolean {
    space();
    if (!code.startsWith(sign, at)) return false;
    at += sign.length;
    return true;
  }

  function match(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(code)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  function refuse(reason: string): never {
    const rest = code.slice(at, at + 40);
    throw new Refusal(`${calling === "" ? "" : `in ${calling}(): `}${reason}, at ${JSON.stringify(rest)}`);
  }

  /**
   * Items up to a closing bracket.
   *
   * @returns whether a comma follows the last one
   */
  function items(close: string, item: () => void, byLines = false): boolean {
    if (++depth > maxDepth + 2) refuse(`it nests deeper than ${maxDepth} levels (limits.maxDepth)`);
    let hasComma = false;
    while (!has(close)) {
      space();
      item();
      const end = at;
      hasComma = has(",") || (byLines && code.slice(end, at).includes("\n"));
      if (hasComma) continue;
      if (has(close)) break;
      refuse(`a comma or ${close} is missing`);
    }
    depth--;
    return hasComma;
  }

  function call(): PythonCall {
    const end = endOfName(code, at);
    calling = code.slice(at, end);
    if (end === at || code[skipSpace(code, end)] !== "(") refuse("every item is a call");
    at = skipSpace(code, end) + 1;
    const args = new Map<string, string>();
    items(")", () => {
      if (has("**")) {
        if (!has("{")) refuse("a dict follows **");
        return entries((key, json) => add(args, key, json));
      }
      const key = match(KEY);
      if (key === undefined || code[skipSpace(code, at)] !== "=") refuse("an argument is written as name=value");
      has("=");
      add(args, key!, value());
    });
    const name = calling;
    calling = "";
    return { name, args: objectOf(args) };
  }

  function add(args: Map<string, string>, key: string, json: string): void {
    if (args.has(key)) refuse(`the argument ${key} is given twice`);
    args.set(key, json);
  }

  function value(): string {
    space();
    const prefix = match(STRING);
    if (prefix !== undefined) return string(prefix);
    if (has("[")) return list();
    if (has("(")) return tuple();
    if (has("{")) {
      const dict = new Map<string, string>();
      entries((key, item) => dict.set(key, item));
      return objectOf(dict);
    }
    const number = match(NUMBER);
    if (number !== undefined) return numberOf(number.replace(/^[+-]\s*/, ""), number[0]);
    const word = match(KEY);
    const json = WORDS.get(word ?? "");
    if (json === undefined) refuse("a value is a literal, and nothing is evaluated");
    return json!;
  }

  /** Strings next to each other are one. */
  function string(first: string): string {
    let text = "";
    for (let prefix: string | undefined = first; prefix !== undefined; prefix = match(STRING)) {
      if (/f/i.test(prefix)) refuse("an f-string is not evaluated: write the text itself");
      const from = at - prefix.length;
      at = endOfString(code, at);
      text += stringOf(code.slice(from, at));
      space();
    }
    return JSON.stringify(text);
  }

  function list(): string {
    const values: string[] = [];
    items("]", () => values.push(value()));
    return `[${values.join(",")}]`;
  }

  /** One value in brackets is that value, and no tuple. */
  function tuple(): string {
    const values: string[] = [];
    const hasComma = items(")", () => values.push(value()));
    return values.length === 1 && !hasComma ? values[0]! : `[${values.join(",")}]`;
  }

  function entries(take: (key: string, json: string) => void): void {
    items("}", () => {
      const prefix = match(STRING);
      const key = prefix === undefined ? refuse("the keys of a dict are strings") : string(prefix);
      if (!has(":")) refuse("a dict has a value for each key");
      take(JSON.parse(key) as string, value());
    });
  }

  const calls: PythonCall[] = [];
  has("[");
  const next = () => {
    if (calls.length >= maxCalls) refuse(`it has more than ${maxCalls} calls (limits.maxCalls)`);
    calls.push(call());
  };
  items("]", next, isLines);
  space();
  if (at < code.length) refuse("something follows the list");
  return calls;
}

/** The end of the string whose quotes begin here. */
function endOfString(code: string, from: number): number {
  const quote = code.startsWith(code[from]!.repeat(3), from) ? code[from]!.repeat(3) : code[from]!;
  for (let at = from + quote.length; at < code.length; at++) {
    if (code[at] === "\\") at++;
    else if (code.startsWith(quote, at)) return at + quote.length;
  }
  throw new Refusal("a string has no end");
}

function objectOf(entries: ReadonlyMap<string, string>): string {
  return `{${Array.from(entries, ([key, json]) => `${JSON.stringify(key)}:${json}`).join(",")}}`;
}
