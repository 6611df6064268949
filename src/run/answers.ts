import { ToolError } from "../errors.ts";
import { hush } from "../execute/hush.ts";
import { jsonOf } from "../execute/output.ts";
import { parseJson } from "../json/parse.ts";
import type { ResultImage } from "../model.ts";
import { create } from "../store/create.ts";
import { storeKey, type Store } from "../store/store.ts";
import { kindOf, unknownKey } from "../schema/json.ts";
import type { CallRecord } from "./format.ts";
import type { ToolResultInput } from "./types.ts";

/** The result of an external call. */
export interface Answer {
  readonly toolCallId: string;
  readonly at: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly images?: readonly ResultImage[];
  /** Nobody has answered in time. */
  readonly expired?: true;
}

/**
 * The results that were provided for the external calls of one turn, in order of arrival:
 *
 * ```
 * run-answer/<conversation>/<turn>/00000000  [{ toolCallId, result }, { toolCallId, error }]
 * run-answer/<conversation>/<turn>/00000001  [{ toolCallId, result }]
 * ```
 *
 * A provider of results creates the next row, which fails if somebody else has: so each result is taken once, and those
 * of one resume all or none. No lease is needed, since a run may continue in one process while results arrive in
 * another.
 */
export class Answers {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #keep: (answer: Answer) => Answer;
  /** What was read so far: rows are never rewritten, so only later ones are read next. */
  readonly #known = new Map<string, Answer>();
  #rows = 0;

  /** @param keep which part of an answer is kept between reads; default: all of it */
  constructor(store: Store, conversationId: string, turnId: string, keep = (answer: Answer) => answer) {
    this.#store = store;
    this.#prefix = storeKey("run-answer", conversationId, turnId);
    this.#keep = keep;
  }

  /** The current answers; a later read adds to the same map. */
  async read(): Promise<ReadonlyMap<string, Answer>> {
    await this.#read();
    return this.#known;
  }

  /**
   * Takes results, all or none.
   *
   * @param calls the external calls that are open
   * @throws ToolError `already_answered`, `unknown_call`
   */
  async add(answers: readonly Answer[], calls: readonly CallRecord[]): Promise<void> {
    for (;;) {
      const rows = await this.check(answers, calls);
      if (answers.length === 0 || (await this.#put(rows, answers))) return;
    }
  }

  /** Throws what {@link add} would throw. @returns how many rows there are */
  async check(answers: readonly Answer[], calls: readonly CallRecord[]): Promise<number> {
    const rows = answers.length === 0 ? 0 : await this.#read();
    for (const { toolCallId } of answers) refuse(toolCallId, this.#known, calls);
    return rows;
  }

  /** Ends the calls that have timed out. */
  async expire(calls: readonly CallRecord[]): Promise<void> {
    const now = Date.now();
    await this.close(calls.filter(({ expiresAt = Infinity }) => expiresAt <= now));
  }

  /**
   * Stops taking results of these calls; one that arrives at the same moment either wins or is too late.
   *
   * @returns the results that count
   */
  async close(calls: readonly CallRecord[]): Promise<Map<string, Answer>> {
    if (calls.length === 0) return new Map();
    for (;;) {
      const rows = await this.#read();
      const open = calls.filter(({ invocationId }) => !this.#known.has(invocationId));
      if (open.length === 0) return new Map([...this.#known].filter(([, { expired }]) => expired !== true));
      const at = Date.now();
      await this.#put(
        rows,
        open.map(({ invocationId }) => ({ toolCallId: invocationId, at, expired: true })),
      );
    }
  }

  /** Calls the listener when a result was provided. */
  watch(listener: () => void): Promise<() => Promise<void>> {
    return this.#store.subscribe(`${this.#prefix}/`, listener);
  }

  /** @returns how many rows there are */
  async #read(): Promise<number> {
    const known = this.#rows;
    const behind = known === 0 ? {} : { after: this.#keyOf(known - 1) };
    const entries = await this.#store.list<Answer[]>(`${this.#prefix}/`, behind);
    for (const { value } of entries) for (const answer of value) this.#known.set(answer.toolCallId, this.#keep(answer));
    const rows = known + entries.length;
    this.#rows = Math.max(this.#rows, rows);
    return rows;
  }

  #keyOf(row: number): string {
    return `${this.#prefix}/${String(row).padStart(8, "0")}`;
  }

  /** @returns false if somebody else was faster, with other results or with these */
  async #put(row: number, answers: readonly Answer[]): Promise<boolean> {
    return (await create(this.#store, this.#keyOf(row), answers)) !== undefined;
  }
}

/** The results that were provided for all turns of a conversation, by call. */
export async function answersIn(store: Store, conversationId: string): Promise<Map<string, Answer>> {
  const entries = await store.list<Answer[]>(`${storeKey("run-answer", conversationId)}/`);
  return new Map(entries.flatMap(({ value }) => value.map((answer) => [answer.toolCallId, answer])));
}

function refuse(id: string, answers: ReadonlyMap<string, Answer>, calls: readonly CallRecord[]): void {
  const given = answers.get(id);
  if (given !== undefined)
    throw alreadyAnswered(id, given.expired === true ? "its time was over before" : "it was handed in before");
  if (calls.some(({ invocationId }) => invocationId === id)) return;
  const open = calls.map(({ invocationId }) => invocationId).filter((known) => !answers.has(known));
  throw new ToolError(
    "unknown_call",
    `No call ${JSON.stringify(id)} waits for a result${open.length === 0 ? "" : `; waiting are ${open.join(", ")}`}. Results go by the id in pendingToolCalls. Nothing was changed.`,
  );
}

export function alreadyAnswered(id: string, what: string): ToolError {
  return new ToolError(
    "already_answered",
    `Call ${id} has its result: ${what}, and the first one counts. Nothing was changed; resume() without it goes on.`,
  );
}

/**
 * Checks the results that a caller provides, and copies them.
 *
 * @throws ToolError `invalid_result`
 */
export function answersOf(inputs: readonly ToolResultInput[], check: (input: ToolResultInput) => string | undefined) {
  if (!Array.isArray(inputs)) throw invalid("toolResults", "a list", inputs);
  const seen = new Set<string>();
  return inputs.map((input: ToolResultInput): Answer => {
    if (typeof input !== "object" || input === null) throw invalid("a tool result", "an object", input);
    const { toolCallId, result, error, images } = input;
    if (typeof toolCallId !== "string") throw invalid("toolCallId", "a text", toolCallId);
    if (seen.has(toolCallId)) {
      throw new ToolError("already_answered", `Call ${toolCallId} has two results at once. Nothing was changed.`);
    }
    seen.add(toolCallId);
    // `isError: true`, as other protocols have it: what went wrong would be told as a result.
    const unknown = unknownKey(input, FIELDS);
    if (unknown !== undefined) {
      const has = "toolCallId, result or error, and images";
      throw new ToolError("invalid_result", `A tool result has ${has}, and no ${unknown}. Nothing was changed.`);
    }
    if (error !== undefined && typeof error !== "string") throw invalid(`the error of ${toolCallId}`, "a text", error);
    if ((result === undefined) === (error === undefined)) {
      throw new ToolError(
        "invalid_result",
        `The result of ${toolCallId} has ${result === undefined ? "neither" : "both"} of result and error; expected one. For nothing at all give result: null. Nothing was changed.`,
      );
    }
    const wrong = check(input);
    if (wrong !== undefined) {
      throw new ToolError("invalid_result", `The result of ${toolCallId} does not fit: ${wrong}. Nothing was changed.`);
    }
    return {
      toolCallId,
      at: Date.now(),
      ...(error === undefined ? { result: plain(result, toolCallId) } : { error }),
      ...(images !== undefined && { images }),
    };
  });
}

/**
 * Checked like the outputs of internal tools: what JSON would silently drop (an unawaited promise) is refused.
 */
function plain(value: unknown, id: string): unknown {
  try {
    return parseJson(jsonOf(value, Infinity));
  } catch (cause) {
    hush(value);
    const why = (cause as ToolError).message;
    throw new ToolError("invalid_result", `The result of ${id} cannot be taken: ${why}. Nothing was changed.`, {
      cause,
    });
  }
}

const FIELDS = ["toolCallId", "result", "error", "images"];

function invalid(what: string, expected: string, got: unknown): ToolError {
  return new ToolError("invalid_result", `${what} is ${expected}, got ${kindOf(got)}. Nothing was changed.`);
}
