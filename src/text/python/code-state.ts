/**
 * Tracks whether a place in Python code, read character by character, is code, or inside a string or a comment. Finding
 * the end of a block takes no more knowledge of Python. A tag in a comment ends the block, since a comment would hardly
 * be about the tag.
 */
export class CodeState {
  /** How many brackets are open. */
  depth = 0;
  #state: "code" | "comment" | "opening" | "string" = "code";
  #quote = 0;
  #isTriple = false;
  /** Quotes in a row: of an opening, or at the end of a triple-quoted string. */
  #run = 0;
  #isEscaped = false;
  readonly #isExpression: boolean;

  /** @param isExpression no comments, and line breaks in strings of any kind: models write them in calls */
  constructor(isExpression = false) {
    this.#isExpression = isExpression;
  }

  /** Whether the next character is in a string, unless it is a quote. */
  get isString(): boolean {
    return this.#state === "string" || (this.#state === "opening" && this.#run === 1);
  }

  see(code: number): void {
    switch (this.#state) {
      case "comment":
        if (code === NEWLINE) this.#state = "code";
        return;
      case "opening":
        if (code === this.#quote) {
          if (++this.#run === 3) this.#begin(true);
          return;
        }
        // One quote began a string, two were an empty one.
        if (this.#run === 2) this.#state = "code";
        else this.#begin(false);
        return this.see(code);
      case "string":
        return this.#seeInString(code);
      case "code":
        if (code === HASH && !this.#isExpression) this.#state = "comment";
        else if (code === DOUBLE || code === SINGLE) {
          this.#state = "opening";
          this.#quote = code;
          this.#run = 1;
        } else if (code === 40 || code === 91 || code === 123) this.depth++;
        else if (code === 41 || code === 93 || code === 125) this.depth--;
    }
  }

  #begin(isTriple: boolean): void {
    this.#state = "string";
    this.#isTriple = isTriple;
    this.#run = 0;
    this.#isEscaped = false;
  }

  #seeInString(code: number): void {
    if (this.#isEscaped) {
      this.#isEscaped = false;
      this.#run = 0;
    } else if (code === BACKSLASH) {
      this.#isEscaped = true;
      this.#run = 0;
    } else if (code === this.#quote) {
      if (!this.#isTriple || ++this.#run === 3) this.#state = "code";
    } else {
      this.#run = 0;
      // A single-quoted string ends with its line, closed or not.
      if (code === NEWLINE && !this.#isTriple && !this.#isExpression) this.#state = "code";
    }
  }
}

/** How deep the brackets of some code nest: checked before parsing, which takes long for very many. */
export function nestingOf(text: string): number {
  const state = new CodeState();
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    state.see(text.charCodeAt(at));
    deepest = Math.max(deepest, state.depth);
  }
  return deepest;
}

const NEWLINE = 10;
const DOUBLE = 34;
const HASH = 35;
const SINGLE = 39;
const BACKSLASH = 92;
