import type { ToolErrorCode } from "../errors.ts";
import {
  changedLiteral,
  createTwinParser,
  exceedsDepth,
  GrowingText,
  hasHugeNumber,
  lostNumber,
  parseJson,
  repairJson,
  RootScan,
  type JsonChange,
  type TwinParser,
} from "../json/index.ts";
import { isRecord } from "../schema/json.ts";
import type { RepairPolicy } from "../tool/tool.ts";
import type { Repair } from "../tool/use.ts";
import type { PathPatch } from "./chunk.ts";
import { copyAgain, copyValue, TooDeep, TooLong, type Copied } from "./copy.ts";
import type { Limits } from "./limits.ts";
import { applyPatch, changeOf, hasPlace, setOwn, stepsToNew } from "./path.ts";

/** What the arguments of an ended call come to. */
export type ArgumentsOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: ToolErrorCode; readonly message: string };

/**
 * The arguments of one call while they come: as text in pieces, as an object, as changes at paths, or as free text.
 *
 * Text pieces are kept in order and joined once. The incremental parser is made when somebody looks (the live
 * partial input, or the question whether the root is closed) and is fed only what it has not seen.
 */
export class Arguments {
  readonly repairs: Repair[] = [];
  /** The arguments are free text, not JSON (custom tools). */
  custom = false;
  /** They come as changes at paths, so that nothing in them tells their end. */
  isPatched = false;
  /** Why no more is taken in; the text is given up then. */
  failure: Extract<ArgumentsOutcome, { ok: false }> | undefined;

  readonly #limits: Limits;
  readonly #text = new GrowingText();
  #length = 0;
  /** Last character that is not white space; the text may be in many pieces, so it is not looked up there. */
  #lastChar = 0;
  #parser: TwinParser | undefined;
  /** In place of a parser while nobody looks at the partial input: asked whether the root is closed. */
  #scan: RootScan | undefined;
  /** What the parser, or else the scan, if there is one, has not seen. */
  #unfed = "";
  /** The text, read when its root was found closed; `null` where it is no JSON. */
  #whole: { readonly value: unknown } | null | undefined;
  /** The last delta, when it began with everything that came before it: perhaps the stream is cumulative. */
  #snapshot: string | undefined;
  #cumulative = false;
  /** Arguments that came as values, not as text; nothing here any more once they are handed out. */
  #value: unknown;
  /** The copy of them that is looked at while they come: what is written to it is not written to what runs. */
  #shown: unknown;
  #hasValue = false;
  /** What has the same text: the object as it came, if only one did. Nobody gets it from here, so nobody changes it. */
  #source: unknown;
  /** The compact JSON of a value, or of a text whose root is closed: made once, however many copies are compared with it. */
  #json: string | undefined;
  #valueChanges: JsonChange[] | undefined;
  /** Strings that were said to go on. */
  #openPaths: Set<string> | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Nothing has come that is not white space. */
  get isEmpty(): boolean {
    return this.#lastChar === 0 && !this.#hasValue;
  }

  /** Whether only `{}` has come: the arguments of a call without any, or a placeholder for those to come. */
  get isPlaceholder(): boolean {
    return !this.#hasValue && this.#lastChar === CLOSE && this.#length <= 16 && this.text.replace(/\s/g, "") === "{}";
  }

  /** The text as it came; the compact JSON of arguments that came as values. */
  get text(): string {
    if (!this.#hasValue) return this.#text.text;
    return (this.#json ??= JSON.stringify(this.#source ?? this.#value));
  }

  /** The live partial input: a preview. Reading it costs time in proportion to what is new. */
  get partial(): unknown {
    if (this.#hasValue) return (this.#shown ??= this.#copyOfValue());
    if (this.custom) return this.text;
    return this.#feed().value;
  }

  /** What has changed in the partial input since this was last asked. */
  changes(): JsonChange[] {
    if (!this.#hasValue && !this.custom) return this.#feed().changes();
    const changes = this.#valueChanges;
    this.#valueChanges = [];
    if (changes !== undefined) return changes;
    return [{ path: [], value: this.#hasValue ? this.#copyOfValue() : this.text, done: false }];
  }

  /** A cheap first look at {@link isClosed}. */
  get mayBeClosed(): boolean {
    return (this.#lastChar === CLOSE && !this.custom) || this.#hasValue;
  }

  /**
   * Whether nothing can follow: the model has closed the root value, or the arguments came as an object.
   * Free text has no end that could be seen.
   */
  get isClosed(): boolean {
    if (this.#hasValue) return true;
    if (this.#lastChar !== CLOSE || this.custom) return false;
    return this.#parser === undefined ? this.#isWhole() : this.#feed().state === "closed";
  }

  /** Whether the arguments came as an object or as changes at paths, so that there is no text of the model's. */
  get isValue(): boolean {
    return this.#hasValue;
  }

  /** Whether `text` costs next to nothing. To make that of a long value costs as much as to parse it, and few ask for it. */
  get isTextMade(): boolean {
    return this.#source === undefined || this.#length < LONG_VALUE;
  }

  /** Takes in a delta and says what it added to the text: `""` for a copy that was dropped. */
  append(delta: string): string {
    const { length } = delta;
    if (length === 0 || this.failure !== undefined) return "";
    if (this.#hasValue) return this.#afterValue(delta);
    if (this.#length > 0 && !this.custom) {
      // The fast path is all but the first few deltas: it can be no copy of what came if it is shorter,
      // and nothing can follow a closed root but a copy, a placeholder's successor or rubbish.
      if (length >= (this.#snapshot?.length ?? this.#length)) {
        const added = this.#asSnapshot(delta);
        if (added !== undefined) return added;
      } else if (this.#snapshot !== undefined) {
        this.#snapshot = undefined;
      }
      if (this.#lastChar === CLOSE && startsValue(delta)) {
        const added = this.#afterClosed(delta);
        if (added !== undefined) return added;
      }
    }
    this.#push(delta);
    return delta;
  }

  /** Takes in a whole object: merged with objects that came before, in place of text that did. */
  merge(patch: Readonly<Record<string, unknown>>): void {
    if (this.failure !== undefined) return;
    const copied = this.#takeIn(patch, 0);
    if (copied === undefined) return;
    const copy = copied.copy as Record<string, unknown>;
    if (!this.#hasValue) {
      if (!this.isEmpty) this.#note("object", this.text);
      this.#becomeValue(copy);
      if (copied.isExact) this.#source = patch;
      return;
    }
    this.#source = this.#json = undefined;
    const target = this.#value;
    if (!isRecord(target)) {
      this.failure = { ok: false, code: "rejected", message: "came as an object, after a value that is none" };
      return;
    }
    for (const key of Object.keys(copy)) {
      setOwn(target, key, copy[key]);
      if (this.#hasOpenPath) this.#openPaths!.delete(JSON.stringify([key]));
      this.#show({ path: [key], value: copy[key] });
      this.#valueChanges?.push({ path: [key], value: copyAgain(copy[key]), done: true });
    }
  }

  /** Whether an object is what came already. */
  equals(value: Readonly<Record<string, unknown>>): boolean {
    return this.#isJson(jsonOf(value));
  }

  /** Whether a text says what came already. */
  equalsText(text: string): boolean {
    if (this.custom) return text === this.text;
    const parsed = this.#parse(text);
    return parsed !== undefined && this.#isJson(jsonOf(parsed.value));
  }

  /** Takes in changes at paths. A path that does not fit fails this call. */
  patch(patches: readonly PathPatch[]): void {
    if (this.failure !== undefined) return;
    this.isPatched = true;
    if (!this.#hasValue) this.#becomeValue({});
    this.#source = this.#json = undefined;
    for (const patch of patches) {
      this.#takePatch(patch);
      if (this.failure !== undefined) return;
    }
  }

  /**
   * What the call's arguments are, now that the call has ended.
   *
   * Only a strict `JSON.parse`, or a repair that closed nothing, makes them complete: text whose root the model left
   * open is `truncated`, whatever the provider says about the end.
   */
  finish(policy: RepairPolicy): ArgumentsOutcome {
    if (this.failure !== undefined) return this.failure;
    if (this.#hasValue) {
      if (this.#hasOpenPath) return TRUNCATED;
      // Before somebody else has the value: the text says what the model wrote, whatever is done to it.
      if (this.#source === undefined) this.#json = this.text;
      const value = this.#value ?? this.#copyOfValue();
      const failed = hasHugeNumber(value) ? lost(lostNumber(value)) : undefined;
      if (failed !== undefined) return failed;
      this.#value = undefined;
      return { ok: true, value };
    }
    const { text } = this;
    if (this.custom) return { ok: true, value: text };
    if (this.#lastChar === 0) return this.#empty(text);
    const read = this.#takeRead();
    if (read !== undefined) return exactly(read, text);
    // What the parser has closed it has found no deeper than the limit, and a text no longer than that cannot be.
    if (
      this.#parser?.state !== "closed" &&
      text.length > this.#limits.maxDepth &&
      exceedsDepth(text, this.#limits.maxDepth)
    ) {
      this.#tooDeep();
      return this.failure!;
    }
    const parsed = parse(text) ?? this.#parseCopies(text);
    if (parsed === undefined) return this.#repair(text, policy);
    if (parsed.value === null) return this.#empty(text);
    // `"null"`, and arguments that were encoded twice
    if (typeof parsed.value === "string") return this.#encodedTwice(parsed.value, policy);
    return exactly(parsed.value, text);
  }

  #becomeValue(value: Record<string, unknown>): void {
    this.#hasValue = true;
    this.#value = value;
    this.#json = undefined;
    this.#valueChanges = undefined;
    this.#text.clear();
    this.#parser = undefined;
  }

  /** {@link isClosed} without a parser: as soon as the root may be closed, all of it is read by the engine. */
  #isWhole(): boolean {
    if (this.#scan === undefined) {
      this.#scan = new RootScan(this.#limits.maxDepth);
      this.#unfed = this.#text.text;
    }
    if (this.#unfed !== "") this.#scan.feed(this.#unfed);
    this.#unfed = "";
    if (this.#scan.state !== "closed") return false;
    if (this.#whole === undefined) this.#whole = parse(this.text) ?? null;
    return this.#whole !== null;
  }

  /** The arguments, if they were read already and nobody has seen what was read: then the text need not be read again. */
  #takeRead(): unknown {
    if ((this.#parser === undefined && this.#scan === undefined) || !this.isClosed) return undefined;
    const value = this.#parser === undefined ? this.#whole!.value : this.#parser.takeTwin();
    if (this.#parser === undefined) this.#whole = TAKEN;
    // Anything but an object takes the long way.
    return typeof value === "object" && value !== null ? value : undefined;
  }

  /** A copy of a value that came as one, so that what is done to it here is not done to the event it came in. */
  #takeIn(value: unknown, depth: number): Copied | undefined {
    try {
      const copied = copyValue(value, this.#limits.maxDepth - depth, this.#limits.maxArgumentsLength - this.#length);
      this.#length += copied.length;
      return copied;
    } catch (error) {
      if (error instanceof TooDeep) this.#tooDeep();
      else if (error instanceof TooLong) this.#tooLong();
      else throw error;
      return undefined;
    }
  }

  #takePatch(patch: PathPatch): void {
    const { path, append } = patch;
    if (path.length > this.#limits.maxDepth) return this.#tooDeep();
    const isValue = append === undefined && patch.value !== undefined;
    let value: unknown;
    if (isValue) {
      value = this.#takeIn(patch.value, path.length)?.copy;
      if (this.failure !== undefined) return;
      this.#count(lengthOf(path));
      // Where a string was said to go on, there is another value now.
      if (this.#hasOpenPath) this.#openPaths!.delete(JSON.stringify(path));
    } else {
      const place = JSON.stringify(path);
      // A place counts once, so that it costs a long string nothing that its path comes with every piece.
      const openPaths = (this.#openPaths ??= new Set());
      if (patch.done === true ? !openPaths.delete(place) : !openPaths.has(place)) this.#count(place.length);
      if (append !== undefined) {
        this.#count(append.length);
        if (patch.done !== true) openPaths.add(place);
      }
    }
    if (this.#length > this.#limits.maxArgumentsLength) return this.#tooLong();
    if (!isValue && append === undefined) {
      if (patch.done === true && hasPlace(this.#value, path)) this.#valueChanges?.push({ path: [...path], done: true });
      return;
    }
    const own = isValue ? { ...patch, value } : patch;
    const told = this.#valueChanges === undefined ? 0 : stepsToNew(this.#value, own);
    try {
      this.#value = applyPatch(this.#value, own);
    } catch (error) {
      this.failure = { ok: false, code: "rejected", message: `fit no value: ${(error as Error).message}` };
      return;
    }
    this.#show(own);
    this.#valueChanges?.push(changeOf(own, told, this.#value));
  }

  /** Does the same to what is shown. */
  #show(patch: PathPatch): void {
    if (this.#shown === undefined) return;
    const own = patch.append === undefined ? { ...patch, value: copyAgain(patch.value) } : patch;
    try {
      this.#shown = applyPatch(this.#shown, own);
    } catch {
      this.#shown = undefined; // somebody has written to it so that this does not fit: it is copied anew
    }
  }

  /** Of what came, also where the value was handed out and may have been written to. */
  #copyOfValue(): unknown {
    const value = this.#source ?? this.#value;
    return value === undefined ? parseJson(this.text) : copyAgain(value);
  }

  get #hasOpenPath(): boolean {
    return this.#openPaths !== undefined && this.#openPaths.size > 0;
  }

  #count(length: number): void {
    this.#length += length;
  }

  /** Each mercy is told once, however often it is needed: a server that does it, does it again and again. */
  #note(kind: Repair["kind"], before: unknown): void {
    if (this.repairs.every((repair) => repair.kind !== kind)) this.repairs.push({ kind, before });
  }

  /** Whether the arguments are closed, and of this compact JSON. */
  #isJson(json: string | undefined): boolean {
    if (json === undefined || !this.isClosed) return false;
    // Only white space can have followed the text that was read: what is closed says the same for good.
    if (!this.#hasValue) this.#json ??= jsonOf(parse(this.text)!.value);
    return json === (this.#hasValue ? this.text : this.#json);
  }

  /** Whether `next` is what came once more, perhaps encoded as a JSON string. */
  #isCopy(next: unknown): boolean {
    if (this.#isJson(jsonOf(next))) return true;
    const inner = typeof next === "string" ? this.#parse(next) : undefined;
    return inner !== undefined && this.#isCopy(inner.value);
  }

  /** `JSON.parse` of what may be a copy; `undefined` for what is none, or nests too deep to be compared. */
  #parse(text: string): { value: unknown } | undefined {
    return exceedsDepth(text, this.#limits.maxDepth) ? undefined : parse(text);
  }

  #push(delta: string): void {
    this.#length += delta.length;
    if (this.#length > this.#limits.maxArgumentsLength) return this.#tooLong();
    this.#text.append(delta);
    if (this.#parser !== undefined || this.#scan !== undefined) this.#unfed += delta;
    if (this.custom) this.#valueChanges?.push({ path: [], append: delta, done: false });
    this.#lastChar = lastCharOf(delta) || this.#lastChar;
  }

  #feed(): TwinParser {
    if (this.#parser === undefined) {
      this.#parser = createTwinParser(this.#limits);
      this.#parser.feed(this.#text.text);
      this.#unfed = "";
      this.#scan = this.#whole = undefined;
    } else if (this.#unfed !== "") {
      this.#parser.feed(this.#unfed);
      this.#unfed = "";
    }
    return this.#parser;
  }

  /** Begins again with this text. */
  #replace(text: string): void {
    const asked = this.#parser;
    this.#text.clear();
    this.#length = 0;
    this.#lastChar = 0;
    this.#parser = this.#scan = this.#whole = this.#json = undefined;
    this.#unfed = "";
    this.#push(text);
    // Who follows the changes gets a new root as the next one.
    if (asked !== undefined) this.#feed();
  }

  /**
   * Cumulative deltas: each begins with all that came before. That may be chance (`{"a":` twice is how `{"a":{"a":1}}`
   * begins), so it counts only where what came could be JSON, and all of it with this delta can not.
   */
  #asSnapshot(delta: string): string | undefined {
    const before = this.#snapshot ?? this.text;
    if (this.#lastChar === 0 || delta.slice(0, before.length) !== before) {
      this.#snapshot = undefined;
      return undefined;
    }
    const added = delta.slice(before.length);
    if (this.#cumulative) {
      this.#push(added);
      return added;
    }
    if (this.isClosed) return undefined; // a copy of the whole: see #afterClosed
    const couldBeJson = this.#feed().state === "open";
    this.#push(delta);
    if (!couldBeJson || this.failure !== undefined || this.#feed().state !== "invalid") {
      this.#snapshot = delta;
      return delta;
    }
    this.#replace(delta);
    this.#note("snapshot", undefined);
    this.#cumulative = true;
    this.#snapshot = undefined;
    return added;
  }

  /** The root is closed and something that looks like a value follows. */
  #afterClosed(delta: string): string | undefined {
    if (!this.isClosed) return undefined;
    const next = this.#parse(delta);
    if (next !== undefined && this.#isCopy(next.value)) {
      this.#note("resend", delta);
      return "";
    }
    if (!this.isPlaceholder) return undefined;
    this.#note("placeholder", this.text);
    this.#replace(delta);
    return delta;
  }

  /** A copy that came in pieces. */
  #parseCopies(text: string): { value: unknown } | undefined {
    const half = text.length / 2;
    if (!Number.isInteger(half) || text.slice(0, half) !== text.slice(half)) return undefined;
    const parsed = parse(text.slice(0, half));
    if (parsed === undefined) return undefined;
    this.#note("resend", text);
    this.#replace(text.slice(half));
    return parsed;
  }

  #afterValue(delta: string): string {
    const parsed = this.#parse(delta);
    if (parsed === undefined || !this.#isCopy(parsed.value)) {
      this.failure = {
        ok: false,
        code: "invalid_json",
        message: "came as an object, and other ones as text",
      };
    }
    return "";
  }

  #empty(before: string): ArgumentsOutcome {
    this.repairs.push({ kind: "empty", before });
    return { ok: true, value: {} };
  }

  #encodedTwice(inner: string, policy: RepairPolicy): ArgumentsOutcome {
    if (inner.trim() === "" || inner.trim() === "null") return this.#empty(inner);
    const parsed = policy === "coerce" ? this.#parse(inner) : undefined;
    if (parsed === undefined || typeof parsed.value !== "object" || parsed.value === null)
      return { ok: true, value: inner };
    this.repairs.push({ kind: "coerce", path: [], before: inner, after: parsed.value });
    return exactly(parsed.value, inner);
  }

  #repair(text: string, policy: RepairPolicy): ArgumentsOutcome {
    const repaired = repairJson(text, { maxDepth: this.#limits.maxDepth });
    if (!repaired.ok) {
      if (repaired.reason === "truncated") return TRUNCATED;
      if (repaired.reason === "too_deep") {
        this.#tooDeep();
        return this.failure!;
      }
      return { ok: false, code: "invalid_json", message: `are not valid JSON. ${repaired.message}` };
    }
    if (policy === "off")
      return { ok: false, code: "invalid_json", message: `are not valid JSON: ${jsonErrorOf(text)}` };
    this.repairs.push({ kind: "syntax", before: text, after: repaired.text });
    return exactly(repaired.value, repaired.text);
  }

  #tooLong(): void {
    const { maxArgumentsLength } = this.#limits;
    this.failure = {
      ok: false,
      code: "too_large",
      message: `are longer than ${maxArgumentsLength} characters (limits.maxArgumentsLength)`,
    };
    // The text is given up; who has looked at the partial input keeps what it has seen.
    this.#text.clear();
    this.#unfed = "";
  }

  #tooDeep(): void {
    this.failure = {
      ok: false,
      code: "too_large",
      message: `nest deeper than ${this.#limits.maxDepth} levels (limits.maxDepth)`,
    };
  }
}

export const TRUNCATED: Extract<ArgumentsOutcome, { ok: false }> = {
  ok: false,
  code: "truncated",
  message: "were cut before the model closed them",
};

const CLOSE = 125; // "}"
const TAKEN = { value: undefined };
const LONG_VALUE = 1024;

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}

function jsonErrorOf(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

/** Compact; `undefined` for what is too deep to be compared. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function startsValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 32) return c === 123 || c === 34; // `{`, or `"` for a copy that was encoded twice
  }
  return false;
}

function lastCharOf(text: string): number {
  for (let i = text.length - 1; i >= 0; i--) {
    const c = text.charCodeAt(i);
    if (c > 32) return c;
  }
  return 0;
}

function lengthOf(path: readonly (string | number)[]): number {
  let length = 0;
  for (const step of path) length += typeof step === "string" ? step.length + 3 : 1;
  return length;
}

/** A value that was read from a text, unless it says another number than the text does. */
function exactly(value: unknown, text: string): ArgumentsOutcome {
  return (hasHugeNumber(value) ? lost(changedLiteral(text)) : undefined) ?? { ok: true, value };
}

function lost(literal: string | undefined): ArgumentsOutcome | undefined {
  if (literal === undefined) return undefined;
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}…` : literal;
  return {
    ok: false,
    code: "invalid_input",
    message: `hold the number ${shown}, which can not be kept exactly (integers beyond ${Number.MAX_SAFE_INTEGER} can not): write it as a string where the schema takes one`,
  };
}
