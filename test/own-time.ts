/** A clock of the test's own, and processes that die, stall and lose their store on it. Nobody sleeps. */
import { createHash } from "node:crypto";
import { vi } from "vitest";
import { ToolError } from "../src/errors.ts";
import type { Store } from "../src/store/index.ts";

/** Makes clock, chance and digests the test's own while something is lived: the same world is always lived the same. */
export async function inOwnTime<T>(live: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({
    now: 1_000_000,
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
  });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  // The real one answers from another thread, at a moment of its own.
  vi.spyOn(crypto.subtle, "digest").mockImplementation(async (_, data) => {
    return Uint8Array.from(
      createHash("sha256")
        .update(data as Uint8Array)
        .digest(),
    ).buffer;
  });
  try {
    return await live();
  } finally {
    vi.clearAllTimers();
    vi.useRealTimers();
    vi.restoreAllMocks();
  }
}

/** All has happened that needs no time. */
export const quiet = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Lets time pass, timer by timer. */
export async function pass(forMs: number): Promise<void> {
  await quiet();
  let isOver = false;
  setTimeout(() => (isOver = true), forMs);
  while (!isOver) {
    vi.advanceTimersToNextTimer();
    await quiet();
  }
}

/** What never comes. */
export const never = new Promise<never>(() => {});

export const after = (forMs: number) => new Promise<void>((resolve) => setTimeout(resolve, forMs));

/** One process, as far as it can go wrong. */
export class Process {
  readonly number: number;
  /** Nothing comes back from its store any more, and its handlers come to no end. */
  isDead = false;
  /** How often its store has failed. */
  failures = 0;
  #death: { atWrite: number; isWritten: boolean } | undefined;
  #failure: { at: number; times: number; isWritten: boolean } | undefined;
  #standsUntil = 0;

  constructor(number: number) {
    this.number = number;
  }

  /** It dies at its n-th write from now on, right before it or right after. */
  dieAt(atWrite: number, isWritten: boolean): void {
    this.#death ??= { atWrite, isWritten };
  }

  /** From the n-th verb on its store fails so many times. What it should have written is there, or not. */
  failAt(at: number, times: number, isWritten: boolean): void {
    this.#failure = { at, times, isWritten };
  }

  /** It stands still: nothing goes to its store, or comes back, before the time is over. */
  stall(forMs: number): void {
    this.#standsUntil = Date.now() + forMs;
  }

  /** One verb of the store, as this process sees it. */
  async ask<T>(isWrite: boolean, delayMs: number, verb: () => Promise<T>): Promise<T> {
    if (this.isDead) return never;
    if (delayMs > 0) await after(delayMs);
    await this.#stand();
    if (isWrite && this.#death !== undefined && --this.#death.atWrite === 0) {
      this.isDead = true;
      if (this.#death.isWritten) await verb().catch(() => {});
      return never;
    }
    const failure = this.#failure;
    const isFailing = failure !== undefined && --failure.at <= 0 && failure.times-- > 0;
    if (isFailing) {
      this.failures++;
      if (isWrite && failure.isWritten) await verb();
      throw new ToolError("store_failed", "The store is down.");
    }
    const answer = await verb();
    await this.#stand();
    return answer;
  }

  async #stand(): Promise<void> {
    const leftMs = this.#standsUntil - Date.now();
    if (leftMs > 0) await after(leftMs);
    if (this.isDead) await never;
  }
}

/** After so many verbs somebody goes round in a circle, and is stopped. */
const MAX_VERBS = 3_000;

/** One store, as its processes see it. `delays`: how long each verb takes, round and round: what makes processes meet. */
export class SharedStore {
  readonly store: Store;
  readonly #delays: readonly number[];
  readonly #onPut: (key: string, value: unknown) => void;
  #verbs = 0;

  constructor(store: Store, delays: readonly number[], onPut: (key: string, value: unknown) => void = () => {}) {
    this.store = store;
    this.#delays = delays;
    this.#onPut = onPut;
  }

  get isCircle(): boolean {
    return this.#verbs > MAX_VERBS;
  }

  for(process: Process): Store {
    const { store } = this;
    const ask = <T>(isWrite: boolean, verb: () => Promise<T>): Promise<T> => {
      if (this.isCircle) return never;
      return process.ask(isWrite, this.#delays[this.#verbs++ % this.#delays.length]!, verb);
    };
    return {
      ...store,
      get: (key) => ask(false, () => store.get(key)),
      put: (key, value, options) =>
        ask(true, async () => {
          const entry = await store.put(key, value, options);
          this.#onPut(key, entry.value);
          return entry;
        }),
      delete: (key, options) => ask(true, () => store.delete(key, options)),
      list: (prefix, options) => ask(false, () => store.list(prefix, options)),
      subscribe: (prefix, listener) =>
        ask(false, () => store.subscribe(prefix, (change) => (process.isDead ? undefined : listener(change)))),
    };
  }
}
