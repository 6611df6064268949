/** Text that comes in pieces, kept up to a length: longer text is not read again. */
export class Kept {
  /** In characters, also of what is no longer kept. */
  length = 0;
  readonly #max: number;
  #text = "";

  constructor(max = 1_048_576) {
    this.#max = max;
  }

  add(piece: string): void {
    this.length += piece.length;
    this.#text = this.length > this.#max ? "" : this.#text + piece;
  }

  /** `undefined` if it is longer than what is kept. */
  get text(): string | undefined {
    return this.length > this.#max ? undefined : this.#text;
  }
}
