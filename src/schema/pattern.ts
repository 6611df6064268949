/**
 * The pattern as the validator can compile it (with the `u` flag, as the specification recommends).
 * Needless escapes (`\_`, `\@`), which that flag forbids and many schemas have, are written in the way it allows.
 *
 * @param refuse called with the reason when the pattern can not be used; does not return
 */
export function readPattern(pattern: unknown, refuse: (reason: string) => never): string {
  if (typeof pattern !== "string") return refuse(`a pattern is a string, got ${JSON.stringify(pattern)}`);
  const withoutNeedless = pattern.replace(/\\([^\p{L}\p{N}\s\\^$.*+?()[\]{}|/])|\\./gsu, (escape, needless?: string) =>
    needless === undefined ? escape : `\\u{${needless.codePointAt(0)!.toString(16)}}`,
  );
  const candidates = [pattern, withoutNeedless];
  const usable = candidates.find((candidate) => failure(candidate) === undefined);
  return usable ?? refuse(`the pattern ${JSON.stringify(pattern)} is no regular expression: ${failure(pattern)}`);
}

function failure(pattern: string): string | undefined {
  try {
    return void new RegExp(pattern, "u");
  } catch (error) {
    return (error as Error).message;
  }
}
