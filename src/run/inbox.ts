import type { ToolUse } from "../tool/use.ts";
import { alreadyAnswered, Answers, answersOf } from "./answers.ts";
import { readRun, type StoredRun } from "./checkpoint.ts";
import type { RunDeps } from "./deps.ts";
import { unknownRun } from "./errors.ts";
import type { CallRecord } from "./format.ts";
import { executable } from "./partition.ts";
import { handedOut, lastTurn, openTurn } from "./rows.ts";
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
    const stored = live === undefined ? (known ?? (await readRun(store, conversationId))) : undefined;
    if (live === undefined && stored === undefined) throw unknownRun(conversationId);
    const turn = live ?? lastTurn(stored!.rows);
    const external = turn?.calls.filter(({ mode }) => mode === "external") ?? [];
    const answers = answersOf(inputs, (input) => checkResult(input, external, tools, model, validateResults));
    for (const { toolCallId } of answers) {
      if (isPast(toolCallId, stored)) throw alreadyAnswered(toolCallId, "the run has gone on with it, or without one");
    }
    const isOpen = live !== undefined || openTurn(stored!.rows) !== undefined;
    return {
      answers,
      log: new Answers(store, conversationId, turn?.turnId ?? "none"),
      calls: live?.calls ?? (isOpen ? handedOut(lastTurn(stored!.rows), stored!.head) : []),
    };
  }
}

/** A call of a turn whose results have gone to the model. */
function isPast(id: string, stored: StoredRun | undefined): boolean {
  const open = stored && openTurn(stored.rows);
  return (stored?.rows ?? []).some(
    (row) =>
      row.kind === "turn" &&
      row !== open &&
      row.calls.some((call) => call.invocationId === id && call.mode === "external"),
  );
}
