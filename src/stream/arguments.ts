import { isObject } from "../schema/json.ts";
import {
  createTwinParser,
  exceedsDepth,
  firstCharOf,
  GrowingText,
  jsonIn,
  lastCharOf,
  RootScan,
  type JsonChange,
  type TwinParser,
} from "../json/index.ts";
import type { RepairPolicy } from "../tool/tool.ts";
import type { Repair } from "../tool/use.ts";
import {
  exactly,
  failed,
  noArguments,
  outcomeOfText,
  parse,
  tooDeep,
  tooLong,
  type ArgumentsFailure,
  type ArgumentsOutcome,
} from "./arguments-outcome.ts";
import type { PathPatch } from "./chunk.ts";
import { TooDeep, TooLong } from "./copy.ts";
import type { Limits } from "./limits.ts";
import { Misfit, ValueArguments } from "./value-arguments.ts";

/**
 * The arguments of one call while they arrive: as JSON text in pieces, as free text, or as values.
 *
 * Text pieces are kept in order and joined once. Their reader is created when it is first needed (to tell whether the
 * root is closed, or for the live partial input) and is fed only what it has not seen. From the first value on,
 * {@link ValueArguments} answers for everything that came.
 */
export class Arguments {
  // First the fields read for every delta, as in CallState.
  /** Why nothing more is taken in; the text is then dropped. */
  failure: ArgumentsFailure | undefined;
  /** For arguments that come as values: created with the first one. */
  #values: ValueArguments | undefined;
  /** An object that says the same as the text: what else comes as values is added to it. */
  #same: Readonly<Record<string, unknown>> | undefined;
  /** The arguments are free text, not JSON (custom tools). */
  custom = false;
  /** No delta is a copy of what came. */
  verbatim = false;
  #length = 0;
  /** The last character that is not white space, kept here since the text may be in many pieces. */
  #lastChar = 0;
  /** The last delta, if it began with everything that came before it: the stream may be cumulative. */
  #snapshot: string | undefined;
  readonly #limits: Limits;
  readonly #text = new GrowingText();
  /** A scan, which only tells whether the root may be closed, until somebody reads the partial input; then a parser. */
  #reader: RootScan | TwinParser | undefined;
  /** What the reader has not seen yet. */
  #unfed = "";
  /** What changed in free text since the last `changes()`; `undefined` until it is first called. */
  #changes: JsonChange[] | undefined;
  /** The value of the text, made when a scan found its root closed; `null` if it is not JSON. */
  #whole: unknown;
  /** The compact JSON of a text whose root is closed: made once, however many copies are compared against it. */
  #json: string | undefined;
  #cumulative = false;
  /** What was dropped as a repetition was not one: `{` twice and then `"a":1}` has a bracket that was never closed. */
  #isMixed = false;
  #beginsObject: boolean | undefined;
  readonly repairs: Repair[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Whether no piece can make arguments of what came; an end that tells all of them may. */
  get isBroken(): boolean {
    return this.failure !== undefined || this.#isMixed;
  }

  /** Nothing but white space has come. */
  get isEmpty(): boolean {
    return this.#lastChar === 0 && this.#values === undefined;
  }

  /** Whether the text begins an object. */
  get beginsObject(): boolean {
    if (this.isEmpty) return false;
    return (this.#beginsObject ??= /^\s*\{/.test(this.text));
  }

  /** Whether only `{}` has come: the arguments of a call without any, or a placeholder for some to come. */
  get isPlaceholder(): boolean {
    if (this.#values !== undefined) return !this.custom && this.#values.isEmpty;
    if (this.#lastChar !== CLOSE || this.#length > 16) return false;
    return this.text.replace(/\s/g, "") === "{}";
  }

  /** Whether the arguments came as an object or as changes at paths, so that the model wrote no text. */
  get isValue(): boolean {
    return this.#values !== undefined;
  }

  /** Whether they come as changes at paths, so that nothing in them marks their end. */
  get isPatched(): boolean {
    return this.#values !== undefined && this.#values.isPatched;
  }

  /** The text as it came; for arguments that came as values, their compact JSON. */
  get text(): string {
    return this.#values === undefined ? this.#text.text : this.#values.text;
  }

  /** Whether `text` is nearly free. */
  get isTextMade(): boolean {
    return this.#values === undefined || this.#values.isTextMade;
  }

  /** The live partial input: a preview. Reading it costs time in proportion to what is new. */
  get partial(): unknown {
    if (this.#values !== undefined) return this.#values.partial;
    if (this.custom) return this.text;
    return this.#parse().value;
  }

  /** What changed in the partial input since the last call. */
  changes(): JsonChange[] {
    if (this.#values !== undefined) return this.#values.changes();
    if (!this.custom) return this.#parse().changes();
    const changes = this.#changes ?? [{ path: [], value: this.text, done: false }];
    this.#changes = [];
    return changes;
  }

  /** A cheap first check for {@link isClosed}. */
  get mayBeClosed(): boolean {
    return (this.#lastChar === CLOSE && !this.custom) || this.#values !== undefined;
  }

  /**
   * Whether nothing can follow: the model has closed the root value, or the arguments came as an object.
   * The end of free text cannot be seen.
   */
  get isClosed(): boolean {
    if (this.#values !== undefined) return true;
    if (this.#lastChar !== CLOSE || this.custom) return false;
    if (this.#read().state !== "closed") return false;
    // What a scan has found closed need not be JSON.
    if (this.#reader instanceof RootScan && this.#whole === undefined) this.#whole = jsonIn(this.text) ?? null;
    return this.#whole !== null;
  }

  /** Takes in a delta and returns what it added to the text: `""` for a copy that was dropped. */
  append(delta: string): string {
    const { length } = delta;
    if (length === 0 || this.failure !== undefined) return "";
    if (this.#values !== undefined) return this.#afterValue(delta);
    if (this.#length > 0 && !this.custom && !this.verbatim) {
      // The fast path is all but the first few deltas: a delta shorter than what came cannot be a copy of it,
      // and nothing can follow a closed root but a copy, the successor of a placeholder, or garbage.
      if (length >= (this.#snapshot?.length ?? this.#length)) {
        const added = this.#asSnapshot(delta);
        if (added !== undefined) return added;
      } else this.#snapshot = undefined;
      if (this.#lastChar === CLOSE && startsValue(delta)) {
        const added = this.#afterClosed(delta);
        if (added !== undefined) return added;
      }
      if (this.#cumulative && !this.isClosed && delta.trim() !== "") {
        this.#isMixed = true;
        return "";
      }
    }
    this.#push(delta);
    return delta;
  }

  /** Takes in a whole object: merged with earlier objects, replacing earlier text, unless that says the same. */
  merge(object: Readonly<Record<string, unknown>>): void {
    if (this.failure !== undefined) return;
    if (this.#values === undefined && !this.isEmpty && this.equals(object)) return void (this.#same = object);
    try {
      if (this.#values !== undefined) return this.#values.merge(object);
      const values = new ValueArguments(this.#limits, this.#length, this.#same ?? object);
      if (this.#same !== undefined) values.merge(object);
      if (!this.isEmpty) this.note("object", this.text, object);
      this.#values = values;
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Takes in changes at paths. A path that does not fit fails the call. */
  patch(patches: readonly PathPatch[]): void {
    if (this.failure !== undefined) return;
    try {
      this.#values ??= new ValueArguments(this.#limits, this.#length, this.#same);
      this.#values.patch(patches);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Whether a value repeats what came, perhaps encoded as a JSON string. */
  equals(value: unknown): boolean {
    const json = jsonOf(value);
    if (json !== undefined && this.isClosed && json === this.#compact) return true;
    return typeof value === "string" && this.equals(parse(value, this.#limits));
  }

  /** The same for a text. */
  equalsText(text: string): boolean {
    return this.custom ? text === this.text : this.equals(parse(text, this.#limits));
  }

  /** The same text for all arguments that say the same; the call has ended. */
  get said(): string {
    return (this.custom || !this.isClosed ? undefined : this.#compact) ?? this.text;
  }

  /**
   * The outcome of the arguments, now that the call has ended.
   *
   * Only a strict `JSON.parse`, or a repair that closed nothing, makes them complete: text whose root the model left
   * open is `truncated`, whatever the provider says about the end.
   */
  finish(policy: RepairPolicy): ArgumentsOutcome {
    if (this.failure !== undefined) return this.failure;
    if (this.#values !== undefined) return this.#values.finish();
    if (this.#isMixed) return failed("invalid_json", MIXED);
    const { text } = this;
    if (this.custom) {
      this.#changes = [...this.changes(), { path: [], done: true }];
      return { ok: true, value: text };
    }
    if (this.#lastChar === 0) return noArguments(text, this.repairs);
    const read = this.#takeRead();
    if (read !== undefined) return exactly(read, text);
    // What the reader has closed was already checked against the depth limit.
    if (this.#reader?.state !== "closed" && exceedsDepth(text, this.#limits.maxDepth)) return tooDeep(this.#limits);
    const value = jsonIn(text);
    const meant = value === undefined ? this.#copied(text) : value;
    return outcomeOfText(text, meant, policy, this.#limits, this.repairs);
  }

  /** The fast path of {@link append}. */
  #push(delta: string): void {
    this.#length += delta.length;
    if (this.#length > this.#limits.maxArgumentsLength) return this.#giveUp();
    this.#text.append(delta);
    if (this.#reader !== undefined) this.#unfed += delta;
    if (this.custom) this.#changes?.push({ path: [], append: delta, done: false });
    this.#lastChar = lastCharOf(delta) || this.#lastChar;
  }

  /** The reader, fed what has come since. */
  #read(): RootScan | TwinParser {
    const reader = (this.#reader ??= this.#readBy(new RootScan(this.#limits.maxDepth)));
    if (this.#unfed !== "") reader.feed(this.#unfed);
    this.#unfed = "";
    return reader;
  }

  /** The same as a parser. */
  #parse(): TwinParser {
    if (this.#reader === undefined || this.#reader instanceof RootScan) {
      this.#reader = this.#readBy(createTwinParser(this.#limits));
      this.#whole = undefined;
    }
    return this.#read() as TwinParser;
  }

  #readBy<Reader>(reader: Reader): Reader {
    this.#unfed = this.#text.text;
    return reader;
  }

  /** The parsed arguments, if there are any that nobody has seen yet: the text need not be parsed again. */
  #takeRead(): unknown {
    if (this.#reader === undefined || !this.isClosed) return undefined;
    const value = this.#reader instanceof RootScan ? this.#whole : this.#reader.takeTwin();
    this.#whole = TAKEN;
    // Anything but an object takes the general path.
    return isObject(value) ? value : undefined;
  }

  /**
   * Cumulative deltas: each begins with everything that came before. That may be coincidence (`{"a":` twice is how
   * `{"a":{"a":1}}` begins), so it counts only if the text so far could be JSON and the text with this delta cannot.
   */
  #asSnapshot(delta: string): string | undefined {
    const before = this.#snapshot ?? this.text;
    this.#snapshot = undefined;
    if (this.#lastChar === 0 || delta.slice(0, before.length) !== before) return undefined;
    const added = delta.slice(before.length);
    if (this.#cumulative) {
      this.#push(added);
      return added;
    }
    if (this.isClosed) return undefined; // a copy of the whole: see #afterClosed
    const couldBeJson = this.#parse().state === "open";
    this.#push(delta);
    if (!couldBeJson || this.#parse().state !== "invalid") {
      this.#snapshot = delta;
      return delta;
    }
    this.#replace(delta);
    this.note("snapshot", undefined);
    this.#cumulative = true;
    return added;
  }

  /** The root is closed, and something that looks like a value follows. */
  #afterClosed(delta: string): string | undefined {
    if (!this.isClosed) return undefined;
    if (this.equals(parse(delta, this.#limits))) {
      this.note("resend", delta);
      return "";
    }
    if (!this.isPlaceholder) return undefined;
    this.note("placeholder", this.text);
    this.#replace(delta);
    return delta;
  }

  /** Text after a value adds nothing: it is a copy, or wrong. Except after `{}`, as servers that decode may begin. */
  #afterValue(delta: string): string {
    if (delta.trim() === "") return "";
    if (this.equals(parse(delta, this.#limits))) return "";
    if (this.isPlaceholder && delta.trimStart().startsWith("{")) {
      this.note("placeholder", this.text);
      this.#values = undefined;
      this.#replace(delta);
      return delta;
    }
    this.failure = failed("invalid_json", "came as an object, then others as text");
    return "";
  }

  /** A copy that came in pieces, or copies in one: https://github.com/Soju06/codex-lb/issues/284 */
  #copied(text: string): unknown {
    for (const times of [2, 3]) {
      const part = text.slice(0, text.length / times);
      const value = part.repeat(times) === text ? jsonIn(part) : undefined;
      if (value === undefined) continue;
      this.note("resend", text);
      this.#replace(part);
      return value;
    }
    return undefined;
  }

  /** The compact JSON of closed arguments. */
  get #compact(): string | undefined {
    if (this.#values !== undefined) return this.#values.text;
    // Only white space can have followed the text that was parsed: once closed, the value is final. Nothing is a copy
    // of a text that was dropped since.
    return (this.#json ??= jsonOf(jsonIn(this.text)));
  }

  /** Starts over with this text. */
  #replace(text: string): void {
    this.#text.clear();
    this.#reader = this.#whole = this.#json = undefined;
    this.#length = 0;
    this.#lastChar = 0;
    this.#push(text);
  }

  /** Each repair is reported once, however often it is needed: a server that needs it once needs it again and again. */
  note(kind: Repair["kind"], before: unknown, after?: unknown): void {
    if (this.repairs.some((repair) => repair.kind === kind)) return;
    this.repairs.push(after === undefined ? { kind, before } : { kind, before, after });
  }

  /** A value was not accepted. */
  #refuse(error: unknown): void {
    if (error instanceof TooLong) this.#giveUp();
    else if (error instanceof TooDeep) this.failure = tooDeep(this.#limits);
    else if (error instanceof Misfit) this.failure = failed("rejected", error.message);
    else throw error;
  }

  #giveUp(): void {
    this.failure = tooLong(this.#limits);
    // The text is dropped; those who read the partial input keep what they have seen.
    this.#text.clear();
    this.#unfed = "";
  }
}

const QUOTE = 34;
const OPEN = 123; // "{"
const CLOSE = 125; // "}"
const TAKEN = true;
const MIXED = "came as snapshots, each beginning with all that came before, and then as a piece of something else";

/** Compact; `undefined` if too deep to compare, and for no value. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** An object, or a copy of one that was encoded twice. */
function startsValue(text: string): boolean {
  const first = firstCharOf(text);
  return first === OPEN || first === QUOTE;
}
