import { put, type Container } from "./container.ts";

/** Containers, strings, numbers and literals of a twin: beyond this, rereading the whole text at its end costs less. */
const MAX_SIZE = 64;

/** A value built alongside another one, from finished parts only. */
export class Twin {
  root: unknown;
  #size = 0;
  /** The container being filled, and those around it. */
  #container: Container | undefined;
  #outer: Container[] | undefined;

  /** Puts a finished value into the open container. `false` if the twin is too large and must be dropped. */
  set(key: string | number, value: unknown): boolean {
    if (this.#container === undefined) this.root = value;
    else put(this.#container, key, value);
    return ++this.#size <= MAX_SIZE;
  }

  /** {@link set}, and what follows goes into this container until it is closed. */
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
