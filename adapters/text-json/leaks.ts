import { jsonIn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import type { Leaks } from "../../src/text/notation.ts";

/** Of V3.2, V4 and V4.1. */
export const DSML_SECTIONS: readonly string[] = ["function_calls", "tool_calls", "calls"];

/**
 * Marks of DSML in the arguments of a call that a server has parsed: parameters instead of JSON, or the end of a
 * parameter and the following ones inside the value of the first. Only unambiguous cases are repaired: a value in which
 * a parameter begins before one ends is a text about DSML, and stays unchanged.
 *
 * @see https://github.com/vllm-project/vllm/issues/53227
 */
export function dsmlLeaks(marks: readonly string[]): Leaks {
  return {
    marks: marks.flatMap((mark) => [`<${mark}`, `</${mark}`]),
    mend(before, rest) {
      const mark = marks.findLast((one) => rest.startsWith(`<${one}`) || rest.startsWith(`</${one}`))!;
      if (before.trim() === "") {
        const parameters = parametersOf(rest, mark, false);
        if (parameters === undefined || new Set(parameters.map(([name]) => name)).size < parameters.length)
          return undefined;
        return `{${parameters.map(written).join(",")}}`;
      }
      return mendValue(before, rest, mark);
    },
  };
}

type Parameter = readonly [name: string, json: string];

function mendValue(before: string, rest: string, mark: string): string | undefined {
  const end = endOfString(rest);
  const close = `</${mark}parameter>`;
  const inner = jsonIn(`"${rest.slice(0, end)}"`);
  if (typeof inner !== "string" || !inner.startsWith(close)) return undefined;
  const parameters = parametersOf(inner.slice(close.length), mark, true);
  const known = jsonIn(`${before}${rest.slice(end)}`);
  if (parameters === undefined || !isRecord(known)) return undefined;
  const names = [...Object.keys(known), ...parameters.map(([name]) => name)];
  const mended = `"${parameters.map((one) => `,${written(one)}`).join("")}${rest.slice(end + 1)}`;
  const value = jsonIn(before + mended);
  // A duplicate name, or names in a nested object: then it was something else.
  const isSound = new Set(names).size === names.length && isRecord(value) && Object.keys(value).length === names.length;
  return isSound ? mended : undefined;
}

/** The parameters that a text consists of; `undefined` if it contains anything else. */
function parametersOf(text: string, mark: string, isOpenAtEnd: boolean): Parameter[] | undefined {
  const [open, close] = [`<${mark}parameter`, `</${mark}parameter>`];
  const parameters: Parameter[] = [];
  let left = text.trim();
  while (left.startsWith(open)) {
    const [head, name, kind] = /^ name="([^"]+)"(?: string="(true|false)")?>/.exec(left.slice(open.length)) ?? [];
    if (head === undefined) return undefined;
    const from = open.length + head.length;
    const end = left.indexOf(close, from);
    if (end < 0 && !isOpenAtEnd) return undefined;
    const value = left.slice(from, end < 0 ? undefined : end);
    if (value.includes(`<${mark}`)) return undefined;
    const json = kind === "false" && jsonIn(value) !== undefined ? value.trim() : JSON.stringify(value);
    parameters.push([name!, json]);
    left = end < 0 ? "" : left.slice(end + close.length).trimStart();
  }
  const ends = ["invoke", ...DSML_SECTIONS].map((name) => `</${mark}${name}>`);
  for (const one of ends) if (left.startsWith(one)) left = left.slice(one.length).trimStart();
  return left === "" && (isOpenAtEnd || parameters.length > 0) ? parameters : undefined;
}

function written([name, json]: Parameter): string {
  return `${JSON.stringify(name)}:${json}`;
}

/** The index of the quote that ends the JSON string in which a text begins. */
function endOfString(text: string): number {
  let at = 0;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}
