/** Pieces become one flat string when they add up to this many characters. */
const BLOCK = 4096;

/**
 * A string that grows by many small pieces. V8 adds strings by making a tree of them: cheap, but each piece stays an
 * object of its own until a character of the whole is touched, which then copies all of it. So the pieces are made flat
 * a block at a time: a tree of few, large leaves.
 */
export class GrowingText {
  #blocks = "";
  #block = "";

  /** All of it, at no cost in proportion to its length. */
  get text(): string {
    return this.#blocks === "" ? this.#block : this.#blocks + this.#block;
  }

  append(piece: string): void {
    const block = this.#block + piece;
    if (block.length < BLOCK) this.#block = block;
    else {
      touched.unit = block.charCodeAt(0); // makes it flat
      this.#blocks += block;
      this.#block = "";
    }
  }

  /** Begins again with nothing. */
  clear(): void {
    this.#blocks = this.#block = "";
  }
}

/** Where the touched character goes: the optimizer would drop a touch that leaves no trace. */
const touched = { unit: 0 };
