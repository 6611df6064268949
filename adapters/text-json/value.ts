/**
 * Finds the end of a JSON value that comes in pieces, by its brackets and quotes alone. It checks nothing else: errors
 * inside are left to the reader of the value. Broken JSON may use single quotes.
 */
export class ValueEnd {
  /** The value is over. */
  isClosed = false;
  #hasBegun = false;
  #depth = 0;
  #quote = 0;
  #isEscaped = false;
  #last = 0;

  /** Inside a string. */
  get isQuoted(): boolean {
    return this.#quote !== 0;
  }

  /** Reads on, and returns where the value ends, or the end of the text. */
  read(text: string, at: number): number {
    for (; at < text.length && !this.isClosed; at++) {
      const code = text.charCodeAt(at);
      // A number or a word ends at the first character that cannot be part of it.
      if (this.#hasBegun && this.#depth === 0 && this.#quote === 0 && endsWord(code)) {
        this.isClosed = true;
        return at;
      }
      this.see(code);
    }
    return at;
  }

  /** Takes one more character. */
  see(code: number): void {
    this.#hasBegun = true;
    if (this.#quote !== 0) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === this.#quote) {
        this.#quote = 0;
        this.isClosed = this.#depth === 0;
      }
    } else if (code === DOUBLE || (code === SINGLE && !isLetter(this.#last))) this.#quote = code;
    else if (code === 123 || code === 91) this.#depth++;
    else if (code === 125 || code === 93) this.isClosed = --this.#depth <= 0;
    this.#last = code;
  }
}

const DOUBLE = 34;
const SINGLE = 39;
const BACKSLASH = 92;

/** An apostrophe after a letter, as in "it's", is not a quote. */
function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

/** White space, `,`, `:`, `]`, `}`. */
function endsWord(code: number): boolean {
  return code <= 32 || code === 44 || code === 58 || code === 93 || code === 125;
}
