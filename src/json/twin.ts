import { put, type Container } from "./container.ts";

/** Containers, strings, numbers and literals of a twin: past that, to read all of the text again at its end costs less. */
const MAX_SIZE = 64;

/** A value that is made beside another one, of finished parts only. */
export class Twin {
  root: unknown;
  #size = 0;
  /** The container that is being filled, and those around it. */
  #container: Container | undefined;
  #outer: Container[] | undefined;

  /** Puts a finished value into the container that is open. `false`: the twin is too large, and is to be given up. */
  set(key: string | number, value: unknown): boolean {
    if (this.#container === undefined) this.root = value;
    else put(this.#container, key, value);
    return ++this.#size <= MAX_SIZE;
  }

  /** {@link set}, and what follows goes into this container, until it is closed. */
  open(key: string | number, opened: Container): boolean {
    const isSmall = this.set(key, opened);
    if (this.#container !== undefined) (this.#outer ??= []).push(this.#container);
    this.#container = opened;
    return isSmall;
  }

  close(): void {
    this.#container = this.#outer?.pop();
  }
}
