import type { ToolUse } from "../tool/use.ts";
import { alreadyAnswered, Answers, answersOf } from "./answers.ts";
import { readRun, type StoredRun } from "./checkpoint.ts";
import type { RunDeps } from "./deps.ts";
import { unknownRun } from "./errors.ts";
import type { CallRecord } from "./format.ts";
import { executable } from "./partition.ts";
import { handedOut, isBegun, isHandedOut, lastTurn, openTurn } from "./rows.ts";
import type { ToolResultInput } from "./types.ts";
import { checkResult } from "./validate-results.ts";

/** Where results of external calls arrive: of turns that are stored, and of those that are being read. */
export class Inbox {
  readonly #deps: RunDeps;
  /** By conversation: the calls of a turn that is not stored yet. Their results may be faster than its end. */
  readonly #live = new Map<string, { readonly turnId: string; readonly calls: readonly CallRecord[] }>();

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  /** A call of a turn that is being read. */
  note(conversationId: string, turnId: string, use: ToolUse): void {
    const { invocationId, id, name, argsText, turnIndex, position } = use;
    const record = { invocationId, id, name, argsText, turnIndex, position, batch: 0, ...executable(use) };
    const known = this.#live.get(conversationId);
    const calls = known?.turnId === turnId ? known.calls : [];
    this.#live.set(conversationId, { turnId, calls: [...calls, record] });
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
    const stored = known ?? (await readRun(store, conversationId));
    if (stored === undefined) throw unknownRun(conversationId);
    const turn = live ?? lastTurn(stored.rows);
    const given = turn?.calls.filter(isHandedOut) ?? [];
    const answers = answersOf(inputs, (input) => checkResult(input, given, tools, model, validateResults));
    for (const { toolCallId } of answers) {
      if (isPast(toolCallId, stored)) throw alreadyAnswered(toolCallId, "the run has gone on with it, or without one");
    }
    const open = openTurn(stored.rows);
    return {
      answers,
      log: new Answers(store, conversationId, turn?.turnId ?? "none"),
      calls: live?.calls ?? [...handedOut(open, stored.head), ...(open?.calls.filter(isBegun) ?? [])],
    };
  }
}

/** A call of a turn whose results have gone to the model. */
function isPast(id: string, { rows }: StoredRun): boolean {
  const open = openTurn(rows);
  return rows.some(
    (row) =>
      row.kind === "turn" && row !== open && row.calls.some((call) => call.invocationId === id && isHandedOut(call)),
  );
}
