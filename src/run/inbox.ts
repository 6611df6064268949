import type { ToolUse } from "../tool/use.ts";
import { alreadyAnswered, Answers, answersOf, type Answer } from "./answers.ts";
import { readEnd, readRowAt, type StoredRun } from "./checkpoint.ts";
import type { RunDeps } from "./deps.ts";
import { unknownRun } from "./errors.ts";
import type { CallRecord, Row } from "./format.ts";
import { executable } from "./partition.ts";
import { isHandedOut, isTold, openTurn, turnOfCall } from "./rows.ts";
import type { ToolResultInput } from "./types.ts";
import { checkResult } from "./validate-results.ts";

/** A turn that is not stored yet. */
interface LiveTurn {
  readonly turnId: string;
  readonly calls: CallRecord[];
}

/** Where results of external calls arrive: of turns that are stored, and of those that are being read. */
export class Inbox {
  readonly #deps: RunDeps;
  /** By conversation: the calls of a turn that is not stored yet. Their results may be faster than its end. */
  readonly #live = new Map<string, LiveTurn>();
  /** By conversation: what was handed in for the turn that was asked about last, so that it is read once. */
  readonly #logs = new Map<string, { readonly turnId: string; readonly log: Answers }>();

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  /** A call of a turn that is being read. */
  note(conversationId: string, turnId: string, use: ToolUse): void {
    const { invocationId, id, name, argsText, turnIndex, position } = use;
    const record = { invocationId, id, name, argsText, turnIndex, position, batch: 0, ...executable(use) };
    const known = this.#live.get(conversationId);
    if (known?.turnId === turnId) known.calls.push(record);
    else this.#live.set(conversationId, { turnId, calls: [record] });
  }

  /** The turn is stored, or is none. */
  forget(conversationId: string): void {
    this.#live.delete(conversationId);
  }

  /**
   * Takes results, all or none.
   *
   * @throws ToolError `unknown_run`, `unknown_call`, `already_answered`, `invalid_result`
   */
  async handIn(conversationId: string, inputs: readonly ToolResultInput[], known?: StoredRun): Promise<void> {
    const { log, answers, calls } = await this.#checked(conversationId, inputs, known);
    await log.add(answers, calls);
  }

  /** Refuses what {@link handIn} would refuse, and takes nothing. */
  async check(stored: StoredRun, inputs: readonly ToolResultInput[]): Promise<void> {
    const { log, answers, calls } = await this.#checked(stored.head.conversationId, inputs, stored);
    await log.check(answers, calls);
  }

  async #checked(conversationId: string, inputs: readonly ToolResultInput[], known: StoredRun | undefined) {
    const { store, tools, model, validateResults } = this.#deps;
    const live = this.#live.get(conversationId);
    const end = known === undefined ? await readEnd(store, conversationId) : { ...known, last: known.rows.at(-1) };
    if (end === undefined) throw unknownRun(conversationId);
    const { head, last } = end;
    const open = last && openTurn([last]);
    const turn = live ?? open;
    const given = turn?.calls.filter(isHandedOut) ?? [];
    const answers = answersOf(inputs, (input) => checkResult(input, given, tools, model, validateResults));
    const waiting = live?.calls ?? open?.calls.filter((call) => isTold(call, head)) ?? [];
    for (const { toolCallId: id } of answers) {
      const at = turnOfCall(id);
      // That of the open turn waits; what comes behind it is not there yet.
      if (at === undefined || at >= (open === undefined ? head.rows : head.rows - 1)) continue;
      const row = known === undefined ? await readRowAt(store, conversationId, at) : known.rows[at];
      if (isOf(id, row)) throw alreadyAnswered(id, "the run has gone on with it, or without one");
    }
    return { answers, log: this.#log(conversationId, turn?.turnId ?? "none"), calls: waiting };
  }

  #log(conversationId: string, turnId: string): Answers {
    const known = this.#logs.get(conversationId);
    const log = known?.turnId === turnId ? known.log : new Answers(this.#deps.store, conversationId, turnId, idOnly);
    // The last one that was used is the last one to go.
    this.#logs.delete(conversationId);
    this.#logs.set(conversationId, { turnId, log });
    for (const oldest of this.#logs.keys()) {
      if (this.#logs.size <= MAX_LOGS) break;
      this.#logs.delete(oldest);
    }
    return log;
  }
}

const MAX_LOGS = 100;

/** Results may be large, and somebody else reads them. */
function idOnly({ toolCallId, at, expired }: Answer): Answer {
  return { toolCallId, at, ...(expired === true && { expired }) };
}

/** A call that was handed out, of a turn whose results have gone to the model. */
function isOf(id: string, row: Row | undefined): boolean {
  return row?.kind === "turn" && row.calls.some((call) => call.invocationId === id && isHandedOut(call));
}
