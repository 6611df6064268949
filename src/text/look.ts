/** Whether a text goes on with a word at some place: `maybe` while the text ends inside of it. */
export type Look = "yes" | "no" | "maybe";

export function look(text: string, at: number, word: string): Look {
  const left = text.length - at;
  if (left >= word.length) return text.startsWith(word, at) ? "yes" : "no";
  return word.startsWith(text.slice(at)) ? "maybe" : "no";
}

/**
 * The word that the text goes on with, the longest one where several fit; `maybe` while it could be one of them, or a
 * longer one, `undefined` if it is none.
 */
export function lookFor(text: string, at: number, words: readonly string[]): { word: string } | "maybe" | undefined {
  let found: string | undefined;
  for (const word of words) {
    const answer = look(text, at, word);
    // It is longer than what is left of the text, and so than any that fits.
    if (answer === "maybe") return answer;
    if (answer === "yes" && (found === undefined || word.length > found.length)) found = word;
  }
  return found === undefined ? undefined : { word: found };
}

/**
 * The place of the first of these words, from `at` on. Without one `word` is `undefined`, and `at` where one may begin
 * that the text does not hold whole.
 */
export function find(text: string, at: number, words: readonly string[]): { at: number; word: string | undefined } {
  for (; at < text.length; at++) {
    const found = lookFor(text, at, words);
    if (found === "maybe") return { at, word: undefined };
    if (found !== undefined) return { at, word: found.word };
  }
  return { at, word: undefined };
}

/**
 * The place of a word that begins less than `max` characters behind `at`; -1 without one. No more of the text is looked
 * at: where every tag is searched for its end, the way to the end of the text would be gone for each.
 */
export function indexWithin(text: string, word: string, at: number, max: number): number {
  const index = text.slice(at, at + max + word.length - 1).indexOf(word);
  return index < 0 ? -1 : at + index;
}

/** Where the white space that begins here ends. */
export function skipSpace(text: string, at: number): number {
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** JSON's white space, which is what models put between the parts of a call. */
export function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}
