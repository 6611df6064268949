/** Whether a text continues with a word at some place: `maybe` while the text ends inside the word. */
export type Look = "yes" | "no" | "maybe";

export function look(text: string, at: number, word: string): Look {
  const left = text.length - at;
  if (left >= word.length) return text.startsWith(word, at) ? "yes" : "no";
  return word.startsWith(text.slice(at)) ? "maybe" : "no";
}

/**
 * The word that the text continues with, the longest if several match; `maybe` while it could still become one of them,
 * or a longer one, `undefined` if none matches.
 */
export function lookFor(text: string, at: number, words: readonly string[]): { word: string } | "maybe" | undefined {
  let found: string | undefined;
  // Most marks share their first character, and many differ in the second.
  const second = at + 1 < text.length ? text.charCodeAt(at + 1) : undefined;
  for (const word of words) {
    if (second !== undefined && word.length > 1 && word.charCodeAt(1) !== second) continue;
    const answer = look(text, at, word);
    // It is longer than the rest of the text, and so longer than any match.
    if (answer === "maybe") return answer;
    if (answer === "yes" && (found === undefined || word.length > found.length)) found = word;
  }
  return found === undefined ? undefined : { word: found };
}

/**
 * The place of the first of these words, from `at` on. If there is none, `word` is `undefined`, and `at` is where an
 * incomplete one may begin, or the end of the text.
 */
export function find(text: string, at: number, words: readonly string[]): { at: number; word: string | undefined } {
  for (; at < text.length; at++) {
    const found = lookFor(text, at, words);
    if (found === "maybe") return { at, word: undefined };
    if (found !== undefined) return { at, word: found.word };
  }
  return { at, word: undefined };
}

/** The end of the white space that begins here. */
export function skipSpace(text: string, at: number): number {
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** JSON's white space, which models put between the parts of a call. */
export function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}
