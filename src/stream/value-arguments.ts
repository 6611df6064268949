import { messageOf } from "../errors.ts";
import { parseJson, type JsonChange } from "../json/index.ts";
import { copyJson, isObject, isRecord } from "../schema/json.ts";
import { exactly, TRUNCATED, type ArgumentsOutcome } from "./arguments-outcome.ts";
import type { PathPatch, PathStep } from "./chunk.ts";
import { copyValue, TooDeep, TooLong, type Copied } from "./copy.ts";
import type { Limits } from "./limits.ts";
import { applyPatch, changeOf, stepsToNew, valueAt } from "./path.ts";

/** What came does not fit what is already there. */
export class Misfit extends RangeError {}

/**
 * The arguments of one call that come as values, not as text: whole objects, which are merged, and changes at paths.
 *
 * There are up to three copies, so that no one writes to an object that belongs to someone else:
 *
 * ```
 * source    the object as it came, in the provider's event: only read
 * value     everything received, merged: this is what runs, once it is handed out
 * shown     the live partial input, which its readers may modify: made when it is first read
 * ```
 *
 * Throws for whatever passes a limit or does not fit; nothing more may be added after that.
 */
export class ValueArguments {
  /** They come as changes at paths, so nothing in them marks their end. */
  isPatched = false;
  /** Empty once it has been handed out. */
  #value: unknown;
  #shown: unknown;
  /** What changed since the last `changes()`; `undefined` until it is first called. */
  #changes: JsonChange[] | undefined;
  /** Strings that were announced to go on. */
  #openPaths: Set<string> | undefined;
  /** Approximate length of the JSON of everything that came. */
  #length: number;
  /** Everything has come, and nothing in it is open. */
  #isFinished = false;
  /** A number came that may differ from the one that was written. */
  #hasHuge = false;
  readonly #limits: Limits;
  /** Kept only if it is all that came and has the same text. Never handed out, so nobody can change it. */
  #source: unknown;
  /** The compact JSON: made once, however many copies are compared against it. */
  #json: string | undefined;

  /**
   * @param length of the text that came before; it counts towards the limit too.
   * @param first the object that came; without one, changes at paths follow.
   * @throws TooDeep, TooLong
   */
  constructor(limits: Limits, length: number, first?: Readonly<Record<string, unknown>>) {
    this.#limits = limits;
    this.#length = length;
    if (first === undefined) {
      this.#value = {};
      return;
    }
    const { copy, isExact } = this.#takeIn(first, 0);
    this.#value = copy;
    if (isExact) this.#source = first;
  }

  /** The compact JSON of what came. */
  get text(): string {
    return (this.#json ??= JSON.stringify(this.#source ?? this.#value));
  }

  /** Whether `text` is nearly free. Making it costs as much as parsing it, and few ask for it. */
  get isTextMade(): boolean {
    return this.#source === undefined;
  }

  /** Whether only an empty object has come. */
  get isEmpty(): boolean {
    return !this.isPatched && isRecord(this.#value) && Object.keys(this.#value).length === 0;
  }

  /** The live partial input. */
  get partial(): unknown {
    return (this.#shown ??= this.#copy());
  }

  /** What changed in the partial input since the last call. */
  changes(): JsonChange[] {
    const changes = this.#changes ?? this.#tellAll();
    this.#changes = [];
    return changes;
  }

  /** Everything there is, for the first call: an object property by property, as the text parser reports it. */
  #tellAll(): JsonChange[] {
    const all = this.#copy();
    if (!isRecord(all)) return [{ path: [], value: all, done: this.#isFinished }];
    const changes: JsonChange[] = [{ path: [], value: {}, done: false }];
    for (const [key, value] of Object.entries(all))
      changes.push({ path: [key], value, done: this.#isDone(key, value) });
    if (this.#isFinished) changes.push({ path: [], done: true });
    return changes;
  }

  /** Whether a property is final. For a container that is filled at paths, only the end of the call says so. */
  #isDone(key: string, value: unknown): boolean {
    if (this.#isFinished || !this.isPatched) return true;
    return !isObject(value) && this.#openPaths?.has(JSON.stringify([key])) !== true;
  }

  /**
   * Merges one more object: its properties replace those that are there.
   *
   * @throws TooDeep, TooLong, Misfit
   */
  merge(object: Readonly<Record<string, unknown>>): void {
    const copy = this.#takeIn(object, 0).copy as Record<string, unknown>;
    this.#source = this.#json = undefined;
    if (!isRecord(this.#value)) throw new Misfit("came as an object after a value that is not one");
    for (const key of Object.keys(copy)) this.#apply({ path: [key], value: copy[key], done: true });
  }

  /**
   * Takes in changes at paths.
   *
   * @throws TooDeep, TooLong, Misfit
   */
  patch(patches: readonly PathPatch[]): void {
    this.isPatched = true;
    this.#source = this.#json = undefined;
    for (const patch of patches) this.#takePatch(patch);
  }

  /** The outcome, now that the call has ended. The value is handed out: later readers get a copy. */
  finish(): ArgumentsOutcome {
    if (this.#hasOpenPath) return TRUNCATED;
    // Made before the value is handed out: the text says what the model wrote, whatever is done to the value.
    if (this.#source === undefined) this.#json = this.text;
    const value = this.#value ?? this.#copy();
    this.#value = undefined;
    if (!this.#isFinished) this.#changes?.push({ path: [], done: true });
    this.#isFinished = true;
    return this.#hasHuge ? exactly(value) : { ok: true, value };
  }

  #takePatch(patch: PathPatch): void {
    const { path, append, value, done } = patch;
    if (path.length > this.#limits.maxDepth) throw new TooDeep();
    let own = patch;
    if (append === undefined && value !== undefined) {
      own = { ...patch, value: this.#takeIn(value, path.length).copy };
      this.#length += lengthOf(path);
    } else {
      const place = JSON.stringify(path);
      // A place counts once, so that a long string is not charged for repeating its path with every piece.
      const openPaths = (this.#openPaths ??= new Set());
      if (done === true ? !openPaths.delete(place) : !openPaths.has(place)) this.#length += place.length;
      if (append !== undefined) {
        this.#length += append.length;
        if (done !== true) openPaths.add(place);
      }
    }
    if (this.#length > this.#limits.maxArgumentsLength) throw new TooLong();
    if (append !== undefined || value !== undefined) this.#apply(own);
    else if (done === true && valueAt(this.#value, path) !== undefined)
      this.#changes?.push({ path: [...path], done: true });
  }

  /** Applies a patch, of which nothing belongs to someone else, to the value and to what is shown and told of it. */
  #apply(patch: PathPatch): void {
    // A value replaces the string that was announced to go on.
    if (this.#hasOpenPath && patch.append === undefined) this.#openPaths!.delete(JSON.stringify(patch.path));
    const told = this.#changes === undefined ? 0 : stepsToNew(this.#value, patch);
    try {
      this.#value = applyPatch(this.#value, patch);
    } catch (error) {
      throw new Misfit(`do not fit together: ${messageOf(error)}`, { cause: error });
    }
    this.#show(patch);
    this.#changes?.push(changeOf(patch, told, this.#value));
  }

  /** A copy of what came, so that changes to it do not change the event it came in. */
  #takeIn(value: unknown, depth: number): Copied {
    const { maxDepth, maxArgumentsLength } = this.#limits;
    const copied = copyValue(value, maxDepth - depth, maxArgumentsLength - this.#length);
    this.#length += copied.length;
    this.#hasHuge ||= copied.hasHuge;
    return copied;
  }

  #show(patch: PathPatch): void {
    if (this.#shown === undefined) return;
    const own = patch.append === undefined ? { ...patch, value: copyJson(patch.value) } : patch;
    try {
      this.#shown = applyPatch(this.#shown, own);
    } catch {
      this.#shown = undefined; // a reader modified it so that this no longer fits: it will be copied again
    }
  }

  /** A copy of what came, even if the value was handed out and may have been modified. */
  #copy(): unknown {
    const value = this.#source ?? this.#value;
    return value === undefined ? parseJson(this.text) : copyJson(value);
  }

  get #hasOpenPath(): boolean {
    return this.#openPaths !== undefined && this.#openPaths.size > 0;
  }
}

function lengthOf(path: readonly PathStep[]): number {
  let length = 0;
  for (const step of path) length += typeof step === "string" ? step.length + 3 : 1;
  return length;
}
