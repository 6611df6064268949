import {
  createTwinParser,
  exceedsDepth,
  GrowingText,
  RootScan,
  type JsonChange,
  type TwinParser,
} from "../json/index.ts";
import type { RepairPolicy } from "../tool/tool.ts";
import type { Repair } from "../tool/use.ts";
import {
  exactly,
  noArguments,
  outcomeOfText,
  parse,
  tooDeep,
  tooLong,
  type ArgumentsFailure,
  type ArgumentsOutcome,
  type Parsed,
} from "./arguments-outcome.ts";
import type { PathPatch } from "./chunk.ts";
import { TooDeep, TooLong } from "./copy.ts";
import type { Limits } from "./limits.ts";
import { Misfit, ValueArguments } from "./value-arguments.ts";

/**
 * The arguments of one call while they come: as JSON text in pieces, as free text, or as values.
 *
 * Text pieces are kept in order and joined once. The incremental parser is made when somebody looks (the live
 * partial input, or the question whether the root is closed) and is fed only what it has not seen.
 * From the first value on {@link ValueArguments} answers for all that came.
 */
export class Arguments {
  // First what is looked at with every delta, as in CallState.
  /** Why no more is taken in; the text is given up then. */
  failure: ArgumentsFailure | undefined;
  /** Where they come as values: made for the first one. */
  #values: ValueArguments | undefined;
  /** The arguments are free text, not JSON (custom tools). */
  custom = false;
  #length = 0;
  /** Last character that is not white space; the text may be in many pieces, so it is not looked up there. */
  #lastChar = 0;
  /** The last delta, when it began with everything that came before it: perhaps the stream is cumulative. */
  #snapshot: string | undefined;
  readonly #limits: Limits;
  readonly #text = new GrowingText();
  #parser: TwinParser | undefined;
  /** In place of a parser while nobody looks at the partial input: asked whether the root is closed. */
  #scan: RootScan | undefined;
  /** What the parser, or else the scan, if there is one, has not seen. */
  #unfed = "";
  /** What has changed in free text since that was last asked; `undefined` until it is. */
  #changes: JsonChange[] | undefined;
  /** The text, read when its root was found closed; `null` where it is no JSON. */
  #whole: Parsed | null | undefined;
  /** The compact JSON of a text whose root is closed: made once, however many copies are compared with it. */
  #json: string | undefined;
  #cumulative = false;
  #beginsObject: boolean | undefined;
  readonly repairs: Repair[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Nothing has come that is not white space. */
  get isEmpty(): boolean {
    return this.#lastChar === 0 && this.#values === undefined;
  }

  /** Whether the text begins an object. */
  get beginsObject(): boolean {
    if (this.isEmpty) return false;
    return (this.#beginsObject ??= /^\s*\{/.test(this.text));
  }

  /** Whether only `{}` has come: the arguments of a call without any, or a placeholder for those to come. */
  get isPlaceholder(): boolean {
    if (this.#values !== undefined) return !this.custom && this.#values.isEmpty;
    if (this.#lastChar !== CLOSE || this.#length > 16) return false;
    return this.text.replace(/\s/g, "") === "{}";
  }

  /** Whether the arguments came as an object or as changes at paths, so that there is no text of the model's. */
  get isValue(): boolean {
    return this.#values !== undefined;
  }

  /** Whether they come as changes at paths, so that nothing in them tells their end. */
  get isPatched(): boolean {
    return this.#values !== undefined && this.#values.isPatched;
  }

  /** The text as it came; the compact JSON of arguments that came as values. */
  get text(): string {
    return this.#values === undefined ? this.#text.text : this.#values.text;
  }

  /** Whether `text` costs next to nothing. */
  get isTextMade(): boolean {
    return this.#values === undefined || this.#values.isTextMade;
  }

  /** The live partial input: a preview. Reading it costs time in proportion to what is new. */
  get partial(): unknown {
    if (this.#values !== undefined) return this.#values.partial;
    if (this.custom) return this.text;
    return this.#feed().value;
  }

  /** What has changed in the partial input since this was last asked. */
  changes(): JsonChange[] {
    if (this.#values !== undefined) return this.#values.changes();
    if (!this.custom) return this.#feed().changes();
    const changes = this.#changes ?? [{ path: [], value: this.text, done: false }];
    this.#changes = [];
    return changes;
  }

  /** A cheap first look at {@link isClosed}. */
  get mayBeClosed(): boolean {
    return (this.#lastChar === CLOSE && !this.custom) || this.#values !== undefined;
  }

  /**
   * Whether nothing can follow: the model has closed the root value, or the arguments came as an object.
   * Free text has no end that could be seen.
   */
  get isClosed(): boolean {
    if (this.#values !== undefined) return true;
    if (this.#lastChar !== CLOSE || this.custom) return false;
    return this.#parser === undefined ? this.#isWhole() : this.#feed().state === "closed";
  }

  /** Takes in a delta and says what it added to the text: `""` for a copy that was dropped. */
  append(delta: string): string {
    const { length } = delta;
    if (length === 0 || this.failure !== undefined) return "";
    if (this.#values !== undefined) return this.#afterValue(delta);
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
      if (this.#cumulative && !this.isClosed && delta.trim() !== "") return this.#afterSnapshots();
    }
    this.#push(delta);
    return delta;
  }

  /** Takes in a whole object: merged with objects that came before, in place of text that did. */
  merge(object: Readonly<Record<string, unknown>>): void {
    if (this.failure !== undefined) return;
    try {
      if (this.#values !== undefined) return this.#values.merge(object);
      const values = new ValueArguments(this.#limits, this.#length, object);
      if (!this.isEmpty) this.#note("object", this.text);
      this.#values = values;
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Takes in changes at paths. A path that does not fit fails this call. */
  patch(patches: readonly PathPatch[]): void {
    if (this.failure !== undefined) return;
    try {
      this.#values ??= new ValueArguments(this.#limits, this.#length);
      this.#values.patch(patches);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Whether an object is what came already. */
  equals(value: Readonly<Record<string, unknown>>): boolean {
    return this.#isJson(jsonOf(value));
  }

  /** Whether the arguments of another call, which has ended as this one has, say the same. */
  equalsThoseOf(other: Arguments): boolean {
    return this.text === other.text || (other.isClosed && this.equalsText(other.text));
  }

  /** Whether a text says what came already. */
  equalsText(text: string): boolean {
    if (this.custom) return text === this.text;
    const parsed = this.#parse(text);
    return parsed !== undefined && this.#isJson(jsonOf(parsed.value));
  }

  /**
   * What the call's arguments are, now that the call has ended.
   *
   * Only a strict `JSON.parse`, or a repair that closed nothing, makes them complete: text whose root the model left
   * open is `truncated`, whatever the provider says about the end.
   */
  finish(policy: RepairPolicy): ArgumentsOutcome {
    if (this.failure !== undefined) return this.failure;
    if (this.#values !== undefined) return this.#values.finish();
    const { text } = this;
    if (this.custom) {
      this.#changes = [...this.changes(), { path: [], done: true }];
      return { ok: true, value: text };
    }
    if (this.#lastChar === 0) return noArguments(text, this.repairs);
    const read = this.#takeRead();
    if (read !== undefined) return exactly(read, text);
    // What the parser has closed it has found no deeper than the limit.
    if (this.#parser?.state !== "closed" && exceedsDepth(text, this.#limits.maxDepth)) return tooDeep(this.#limits);
    const parsed = parse(text) ?? this.#parseCopies(text);
    return outcomeOfText(text, parsed, policy, this.#limits, this.repairs);
  }

  /** The fast path of {@link append}. */
  #push(delta: string): void {
    this.#length += delta.length;
    if (this.#length > this.#limits.maxArgumentsLength) return this.#giveUp();
    this.#text.append(delta);
    if (this.#parser !== undefined || this.#scan !== undefined) this.#unfed += delta;
    if (this.custom) this.#changes?.push({ path: [], append: delta, done: false });
    this.#lastChar = lastCharOf(delta) || this.#lastChar;
  }

  /** The parser, made for the first who looks, and fed what has come since. */
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
    if (!couldBeJson || this.#feed().state !== "invalid") {
      this.#snapshot = delta;
      return delta;
    }
    this.#replace(delta);
    this.#note("snapshot", undefined);
    this.#cumulative = true;
    this.#snapshot = undefined;
    return added;
  }

  /** What was dropped as said before was not: `{` twice and then `"a":1}` has a bracket that was never closed. */
  #afterSnapshots(): string {
    const message =
      "came as snapshots, each beginning with all that came before, and then as a piece of something else";
    this.failure = { ok: false, code: "invalid_json", message };
    return "";
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

  /** Text after a value adds nothing: it is a copy, or wrong. Unless the value was none, as a server begins that decodes. */
  #afterValue(delta: string): string {
    const next = this.#parse(delta);
    if (next !== undefined && this.#isCopy(next.value)) return "";
    if (this.isPlaceholder && delta.trimStart().startsWith("{")) {
      this.#note("placeholder", this.text);
      this.#values = undefined;
      this.#replace(delta);
      return delta;
    }
    this.failure = { ok: false, code: "invalid_json", message: "came as an object, and other ones as text" };
    return "";
  }

  /** A copy that came in pieces. */
  #parseCopies(text: string): Parsed | undefined {
    const half = text.length / 2;
    if (text.slice(0, half) !== text.slice(half)) return undefined;
    const parsed = parse(text.slice(0, half));
    if (parsed === undefined) return undefined;
    this.#note("resend", text);
    this.#replace(text.slice(half));
    return parsed;
  }

  /** Whether `next` is what came once more, perhaps encoded as a JSON string. */
  #isCopy(next: unknown): boolean {
    if (this.#isJson(jsonOf(next))) return true;
    const inner = typeof next === "string" ? this.#parse(next) : undefined;
    return inner !== undefined && this.#isCopy(inner.value);
  }

  /** Whether the arguments are closed, and of this compact JSON. */
  #isJson(json: string | undefined): boolean {
    if (json === undefined || !this.isClosed) return false;
    if (this.#values !== undefined) return json === this.#values.text;
    // Only white space can have followed the text that was read: what is closed says the same for good. Of a text that
    // was given up since nothing is a copy.
    return json === (this.#json ??= jsonOf(parse(this.text)?.value));
  }

  /** `JSON.parse` of what may be a copy; `undefined` for what is none, or nests too deep to be compared. */
  #parse(text: string): Parsed | undefined {
    return parse(text, this.#limits.maxDepth);
  }

  /** Begins again with this text. */
  #replace(text: string): void {
    this.#text.clear();
    this.#parser = this.#scan = this.#whole = this.#json = undefined;
    this.#length = 0;
    this.#lastChar = 0;
    this.#push(text);
  }

  /** Each mercy is told once, however often it is needed: a server that does it, does it again and again. */
  #note(kind: Repair["kind"], before: unknown): void {
    if (this.repairs.every((repair) => repair.kind !== kind)) this.repairs.push({ kind, before });
  }

  /** A value could not be taken in. */
  #refuse(error: unknown): void {
    if (error instanceof TooLong) this.#giveUp();
    else if (error instanceof TooDeep) this.failure = tooDeep(this.#limits);
    else if (error instanceof Misfit) this.failure = { ok: false, code: "rejected", message: error.message };
    else throw error;
  }

  #giveUp(): void {
    this.failure = tooLong(this.#limits);
    // The text is given up; who has looked at the partial input keeps what it has seen.
    this.#text.clear();
    this.#unfed = "";
  }
}

const QUOTE = 34;
const OPEN = 123; // "{"
const CLOSE = 125; // "}"
const TAKEN = { value: undefined };

/** Compact; `undefined` for what is too deep to be compared. */
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

/** The first character that is not white space; 0 where there is none. */
export function firstCharOf(text: string): number {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 32) return c;
  }
  return 0;
}

function lastCharOf(text: string): number {
  for (let i = text.length - 1; i >= 0; i--) {
    const c = text.charCodeAt(i);
    if (c > 32) return c;
  }
  return 0;
}
