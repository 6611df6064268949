/** Pieces are flattened into one string once they add up to this many characters. */
const BLOCK = 4096;
/** The same for a text that is still shorter than a block and was never read. */
const FIRST = 256;

/**
 * A string that grows by many small pieces. V8 concatenates strings into a tree: cheap, but each piece stays an object
 * of its own until a character of the whole is read, which then copies all of it. So the pieces are flattened a block
 * at a time, into a tree of few, large leaves.
 *
 * The first blocks are small: for short texts, of which thousands may be open at once, the pieces are most of the
 * memory.
 */
export class GrowingText {
  #blocks = "";
  #block = "";
  #limit = FIRST;

  /** The whole text, at a cost independent of its length. */
  get text(): string {
    if (this.#blocks !== "" && this.#limit === FIRST) this.#unite();
    return this.#blocks === "" ? this.#block : this.#blocks + this.#block;
  }

  append(piece: string): void {
    const block = this.#block + piece;
    if (block.length < this.#limit) this.#block = block;
    else this.#close(block);
  }

  /** Starts over, empty. */
  clear(): void {
    this.#blocks = this.#block = "";
    this.#limit = FIRST;
  }

  #close(block: string): void {
    touched.unit = block.charCodeAt(0); // flattens it
    this.#blocks += block;
    this.#block = "";
    if (this.#blocks.length >= BLOCK) this.#limit = BLOCK;
  }

  /** Reading a character of what is handed out flattens it: it should be the text that keeps growing, not a copy. */
  #unite(): void {
    this.#limit = BLOCK;
    this.#block = this.#blocks + this.#block;
    this.#blocks = "";
  }
}

/** Where the character that was read goes: the optimizer would drop a read without an effect. */
const touched = { unit: 0 };
