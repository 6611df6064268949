/** Text that comes in pieces, kept up to a length: longer text is not read again. */
export class Kept {
  /** In characters, also of what is no longer kept. */
  length = 0;
  readonly #max: number;
  #pieces: string[] = [];

  constructor(max = 1_048_576) {
    this.#max = max;
  }

  add(piece: string): void {
    this.length += piece.length;
    if (this.length <= this.#max) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** `undefined` if it is longer than what is kept. */
  get text(): string | undefined {
    return this.length > this.#max ? undefined : this.#pieces.join("");
  }
}
