import { remember } from "../execute/remember.ts";
import type { ToolUse } from "../tool/use.ts";
import { alreadyAnswered, Answers, answersOf, type Answer } from "./answers.ts";
import { readEnd, readRowAt, type RunState } from "./checkpoint.ts";
import { unknownRun } from "./errors.ts";
import type { CallRecord, Row } from "./format.ts";
import type { RunDeps } from "./options.ts";
import { executable } from "./partition.ts";
import { isHandedOut, isTold, openTurn, turnOfCall } from "./rows.ts";
import type { ToolResultInput } from "./types.ts";
import { checkResult } from "./validate-results.ts";

/** A turn that is not stored yet. */
interface LiveTurn {
  readonly turnId: string;
  readonly calls: CallRecord[];
}

/** Receives results of external calls, of stored turns and of those still being read. */
export class Inbox {
  readonly #deps: RunDeps;
  /** By conversation: the calls of a turn that is not stored yet. Their results may arrive before its end. */
  readonly #live = new Map<string, LiveTurn>();
  /** By conversation: the results for the turn that was last asked about, so that they are read only once. */
  readonly #logs = new Map<string, { readonly turnId: string; readonly log: Answers }>();

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  /** Notes a call of a turn that is being read. */
  note(conversationId: string, turnId: string, use: ToolUse): void {
    const { invocationId, id, name, argsText, turnIndex, position } = use;
    const record = { invocationId, id, name, argsText, turnIndex, position, batch: 0, ...executable(use) };
    const known = this.#live.get(conversationId);
    if (known?.turnId === turnId) known.calls.push(record);
    else this.#live.set(conversationId, { turnId, calls: [record] });
  }

  /** The turn has been stored or discarded. */
  forget(conversationId: string): void {
    this.#live.delete(conversationId);
  }

  /**
   * Takes results, all or none.
   *
   * @throws ToolError `unknown_run`, `unknown_call`, `already_answered`, `invalid_result`
   */
  async handIn(conversationId: string, inputs: readonly ToolResultInput[]): Promise<void> {
    // First, since the turn may be stored while the end is read.
    const live = this.#live.get(conversationId);
    const end = await readEnd(this.#deps.store, conversationId);
    if (end === undefined) throw unknownRun(conversationId);
    const { log, answers, calls } = await this.#checked(end, inputs, live);
    await log.add(answers, calls);
  }

  /** Throws what {@link handIn} would throw. @returns what takes the results then */
  async check(state: RunState, inputs: readonly ToolResultInput[]): Promise<() => Promise<void>> {
    const { log, answers, calls } = await this.#checked(state, inputs);
    await log.check(answers, calls);
    return () => log.add(answers, calls);
  }

  async #checked({ head, rows }: RunState, inputs: readonly ToolResultInput[], live?: LiveTurn) {
    const { conversationId } = head;
    const open = openTurn(rows);
    const calls = open?.calls.filter((call) => isTold(call, head)) ?? live?.calls ?? [];
    const answers = answersOf(inputs, (input) => checkResult(input, calls, this.#deps));
    for (const { toolCallId: id } of answers) {
      const at = turnOfCall(id);
      // A call of the open turn may still be answered; later rows do not exist yet.
      if (at === undefined || at >= (open === undefined ? head.rows : head.rows - 1)) continue;
      const row = await readRowAt(this.#deps.store, conversationId, at);
      if (isOf(id, row)) throw alreadyAnswered(id, "the run has gone on with it, or without one");
    }
    return { answers, calls, log: this.#log(conversationId, (open ?? live)?.turnId ?? "none") };
  }

  #log(conversationId: string, turnId: string): Answers {
    const known = this.#logs.get(conversationId);
    const log = known?.turnId === turnId ? known.log : new Answers(this.#deps.store, conversationId, turnId, idOnly);
    remember(this.#logs, conversationId, { turnId, log }, MAX_LOGS);
    return log;
  }
}

const MAX_LOGS = 100;

/** Results may be large and are read elsewhere: keep only the ids. */
function idOnly({ toolCallId, at, expired }: Answer): Answer {
  return { toolCallId, at, ...(expired === true && { expired }) };
}

/** Whether the row is the turn of a call that was handed out. */
function isOf(id: string, row: Row | undefined): boolean {
  return row?.kind === "turn" && row.calls.some((call) => call.invocationId === id && isHandedOut(call));
}
