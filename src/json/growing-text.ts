/** Pieces become one flat string when they add up to this many characters. */
const BLOCK = 4096;
/** The same of a text that is shorter than that, and that nobody has looked at. */
const FIRST = 256;

/**
 * A string that grows by many small pieces. V8 adds strings by making a tree of them: cheap, but each piece stays an
 * object of its own until a character of the whole is touched, which then copies all of it. So the pieces are made flat
 * a block at a time: a tree of few, large leaves.
 *
 * The first blocks are small: of short texts, thousands of which may be open at once, the pieces are most of the memory.
 */
export class GrowingText {
  #blocks = "";
  #block = "";
  #limit = FIRST;

  /** All of it, at no cost in proportion to its length. */
  get text(): string {
    if (this.#blocks !== "" && this.#limit === FIRST) this.#unite();
    return this.#blocks === "" ? this.#block : this.#blocks + this.#block;
  }

  append(piece: string): void {
    const block = this.#block + piece;
    if (block.length < this.#limit) this.#block = block;
    else this.#close(block);
  }

  /** Begins again with nothing. */
  clear(): void {
    this.#blocks = this.#block = "";
    this.#limit = FIRST;
  }

  #close(block: string): void {
    touched.unit = block.charCodeAt(0); // makes it flat
    this.#blocks += block;
    this.#block = "";
    if (this.#blocks.length >= BLOCK) this.#limit = BLOCK;
  }

  /** Whoever touches what is handed out makes that flat: it should be what goes on growing, not a copy of it. */
  #unite(): void {
    this.#limit = BLOCK;
    this.#block = this.#blocks + this.#block;
    this.#blocks = "";
  }
}

/** Where the touched character goes: the optimizer would drop a touch that leaves no trace. */
const touched = { unit: 0 };
