import { Refusal } from "./refusal.ts";

/** The literals that are words: those of JSON, too, which models that write much of it use (sgl-project/sglang#27614). */
export const WORDS: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
]);

const STRING = /^([a-zA-Z]{0,2})("""|'''|"|')([^]*)$/;

/** Whether the token of a string includes its end. The grammar lets an unclosed one end with its line. */
export function isClosedString(token: string): boolean {
  const [, , quote = "", rest = ""] = STRING.exec(token) ?? [];
  if (quote === "" || rest.length < quote.length || !rest.endsWith(quote)) return false;
  let backslashes = 0;
  for (let at = rest.length - quote.length - 1; rest[at] === "\\"; at--) backslashes++;
  return backslashes % 2 === 0;
}

/**
 * The text of a Python string.
 *
 * @see https://docs.python.org/3/reference/lexical_analysis.html#string-and-bytes-literals
 */
export function stringOf(token: string): string {
  const [, prefix = "", quote = "", rest = ""] = STRING.exec(token)!;
  const kind = prefix.toLowerCase();
  if (kind.includes("b")) throw new Refusal("bytes cannot be an argument: write a string");
  const body = rest.slice(0, -quote.length).replaceAll("\r\n", "\n");
  return kind.includes("r") ? body : body.replace(ESCAPE, unescaped);
}

/**
 * A character that begins no known escape keeps its backslash, as in Python. No name has 100 characters; without a
 * limit, the end of each `\N{` would be looked for up to the end of the text.
 */
const ESCAPE =
  /\\(\n|[\\'"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]{0,100}\}|[xuUN])/g;

const CHARACTERS: Readonly<Record<string, string>> = {
  "\n": "",
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

function unescaped(escape: string, what: string): string {
  const first = what[0]!;
  if (/[0-7]/.test(first)) return String.fromCharCode(Number.parseInt(what, 8));
  if (what.length === 1) {
    if (/[xuUN]/.test(first)) throw new Refusal(`the escape ${escape} is incomplete`);
    return CHARACTERS[first] ?? first;
  }
  if (first === "N") throw new Refusal(`the escape ${escape} is not supported: write the character itself`);
  const code = Number.parseInt(what.slice(1), 16);
  if (code > 0x10ffff) throw new Refusal(`the escape ${escape} is not a character`);
  return String.fromCodePoint(code);
}

/** The largest double has 1024 binary digits. */
const MAX_DIGITS = 1100;

/** A Python number as JSON; integers keep all their digits. */
export function numberOf(token: string, sign = ""): string {
  const digits = digitsOf(token);
  return sign === "-" && digits !== "0" ? `-${digits}` : digits;
}

function digitsOf(token: string): string {
  const plain = token.replaceAll("_", "");
  if (/^(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/.test(plain)) {
    // Decimal digits take more than linear time.
    if (plain.length > MAX_DIGITS) throw new Refusal(`the number ${token} is too large`);
    return BigInt(plain.toLowerCase()).toString();
  }
  if (/^(0+|[1-9]\d*)$/.test(plain)) return plain.replace(/^0+(?=0$)/, "");
  if (/j$/i.test(plain)) throw new Refusal(`JSON has no complex numbers such as ${token}`);
  if (!/^(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(plain) || /^0\d+$/.test(plain)) {
    throw new Refusal(`${token} is not a Python number`);
  }
  const value = Number(plain);
  if (!Number.isFinite(value)) throw new Refusal(`the number ${token} is too large`);
  return JSON.stringify(value);
}
