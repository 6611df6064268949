import { messageOf } from "../errors.ts";
import { isExponential } from "./pattern-cost.ts";

/**
 * The pattern in a form that the validator can compile (with the `u` flag, as the specification recommends). Needless
 * escapes (`\_`, `\@`), which that flag forbids and many schemas have, are rewritten to an allowed form.
 *
 * @param refuse called with the reason when the pattern cannot be used; does not return
 */
export function readPattern(pattern: unknown, refuse: (reason: string) => never): string {
  if (typeof pattern !== "string") return refuse(`a pattern is a string, got ${JSON.stringify(pattern)}`);
  const withoutNeedless = pattern.replace(/\\([^\p{L}\p{N}\s\\^$.*+?()[\]{}|/])|\\./gsu, (escape, needless?: string) =>
    needless === undefined ? escape : `\\u{${needless.codePointAt(0)!.toString(16)}}`,
  );
  const candidates = [pattern, withoutNeedless];
  const usable = candidates.find((candidate) => failure(candidate) === undefined);
  const shown = JSON.stringify(pattern);
  if (usable === undefined) return refuse(`the pattern ${shown} is not a regular expression: ${failure(pattern)}`);
  if (!isExponential(usable)) return usable;
  return refuse(
    `the pattern ${shown} takes exponential time on some texts: a repetition in it can read one text in two ways; write a+, not (a+)+`,
  );
}

function failure(pattern: string): string | undefined {
  try {
    return void new RegExp(pattern, "u");
  } catch (error) {
    return messageOf(error);
  }
}
