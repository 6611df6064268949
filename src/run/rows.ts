import { ToolError } from "../errors.ts";
import type { Answer } from "./answers.ts";
import {
  NO_USAGE,
  type CallRecord,
  type Head,
  type InputRow,
  type OutcomeRecord,
  type Row,
  type TurnRow,
  type Usage,
} from "./format.ts";
import { isDependent } from "./partition.ts";
import { isAborted, isCut } from "./turn.ts";

export function lastTurn(rows: readonly Row[]): TurnRow | undefined {
  return rows.findLast((row): row is TurnRow => row.kind === "turn");
}

/**
 * The rows without what the conversation was taken back from, and without turns that were requested again. Of a turn
 * that failed, a row holds only the text that was seen: new input makes it part of the history; `resume()` requests the
 * turn again.
 *
 * @param next the kind of the row that will follow
 */
export function rowsThatCount(rows: readonly Row[], next: Row["kind"] = "input"): Row[] {
  const kept: Row[] = [];
  let count = 0;
  for (const [at, row] of rows.entries()) {
    const isSeenOnly = row.kind === "turn" && row.error !== undefined && row.calls.length === 0;
    if (isSeenOnly && (rows[at + 1]?.kind ?? next) !== "input") continue;
    const keeps = (row.kind === "input" ? row.keeps : undefined) ?? count;
    // From the end, so that a conversation that is taken back time and again is not copied each time.
    while (count > keeps) {
      const last = kept.pop()!;
      count -= last.messages.length;
      if (count >= keeps) continue;
      kept.push({ ...last, messages: last.messages.slice(0, keeps - count) });
      count = keeps;
    }
    kept.push(row);
    count += row.messages.length;
  }
  return kept;
}

/** Whether the message at this index is one that `run()` was given. */
export function isGiven(rows: readonly Row[], index: unknown): boolean {
  if (typeof index !== "number") return false;
  let next = 0;
  return rowsThatCount(rows).some(({ kind, messages }) => {
    const offset = index - next;
    next += messages.length;
    return kind === "input" && messages[offset] !== undefined;
  });
}

/** The messages of the {@link rowsThatCount}. */
export function messagesOf(rows: readonly Row[]): unknown[] {
  return rowsThatCount(rows).flatMap(({ messages }) => messages);
}

/** The turns since the last input. */
export function turnsOfRun(rows: readonly Row[]): TurnRow[] {
  const counted = rowsThatCount(rows, "turn");
  const own = counted.slice(counted.findLastIndex(({ kind }) => kind === "input") + 1);
  return own.filter((row): row is TurnRow => row.kind === "turn");
}

/** The last turn, while some of its calls have no result. */
export function openTurn(rows: readonly Row[]): TurnRow | undefined {
  const last = rows.at(-1);
  return last?.kind === "turn" && last.calls.length > 0 ? last : undefined;
}

/**
 * The outcomes of the calls of the turn in a row.
 *
 * @param open those of the last turn, if some of its calls are open
 */
export function outcomesAt(
  rows: readonly Row[],
  index: number,
  open: readonly OutcomeRecord[] = [],
): readonly OutcomeRecord[] {
  const next = rows[index + 1];
  return next?.kind === "results" ? next.outcomes : next === undefined ? open : [];
}

/** The index of the row with a call's turn, from the call's id; `undefined` if it is not a call's id. */
export function turnOfCall(invocationId: string): number | undefined {
  // <run>-<row>-<epoch>-<attempt>-<turn index>-<position>
  const row = /-(\d{1,8})(?:-\d+){4}$/.exec(invocationId)?.[1];
  return row === undefined ? undefined : Number(row);
}

/** The external calls that the caller has to execute now, whether answered or not. */
export function handedOut(turn: TurnRow | undefined, { pending }: Pick<Head, "pending">): CallRecord[] {
  const external = turn?.calls.filter(({ mode }) => mode === "external") ?? [];
  return external.flatMap((call) => {
    const known = pending.find(({ id }) => id === call.invocationId);
    if (known === undefined) return isDependent(call) ? [] : [call];
    return [known.input === undefined ? call : { ...call, input: known.input }];
  });
}

/**
 * Whether the caller was told of a call: during its turn or, if it refers to other calls' results, once those were
 * there. Then its result counts, even if another group of calls has to finish first.
 */
export function isTold(call: CallRecord, { pending }: Pick<Head, "pending">): boolean {
  if (call.mode !== "external") return isBegun(call);
  return !isDependent(call) || pending.some(({ id }) => id === call.invocationId);
}

/**
 * Whether the caller was told of a call before its turn was cut: it must not be started any more, but its result
 * counts.
 */
export function isBegun({ error }: CallRecord): boolean {
  return error?.code === "outcome_unknown";
}

/** Whether the caller may have been told of a call, in a turn that has ended one way or another. */
export function isHandedOut(call: CallRecord): boolean {
  return call.mode === "external" || isBegun(call);
}

/** Whether a turn was abandoned: the caller ended it, so nothing more of it is executed or waited for. */
export function isGivenUp(turn: TurnRow): boolean {
  return isAborted(turn) && turn.calls.every(({ mode }) => mode !== "external");
}

export function unanswered(calls: readonly CallRecord[], answers: ReadonlyMap<string, Answer>): CallRecord[] {
  return calls.filter(({ invocationId }) => !answers.has(invocationId));
}

/** How many calls of a turn are executed, here or by the caller. */
export function executableCalls({ calls }: TurnRow): number {
  return calls.filter(({ mode }) => mode !== "invalid").length;
}

/** The latest value, which applies until another one is set. */
export function latest(rows: readonly Row[], field: "instructions" | "behavior"): string | undefined {
  return rows.findLast((row): row is InputRow => row.kind === "input" && row[field] !== undefined)?.[field];
}

/** How many turns in a row were cut, up to the last one. */
export function cutTurns(rows: readonly Row[]): number {
  return inARow(rows, isCut);
}

/** In how many turns in a row the provider or the connection failed, up to the last one. */
export function failedTurns(rows: readonly Row[]): number {
  return inARow(rows, (turn) => turn.error !== undefined && !isAborted(turn));
}

function inARow(rows: readonly Row[], isOne: (turn: TurnRow) => boolean): number {
  const turns = turnsOfRun(rows);
  return turns.length - 1 - turns.findLastIndex((turn) => !isOne(turn));
}

export function cutError(rows: readonly Row[]): ToolError {
  const turn = lastTurn(rows);
  const why = turn?.error?.message ?? `it ended with ${turn?.finishReason}`;
  return new ToolError(
    "truncated",
    `${cutTurns(rows)} turns in a row were cut before the model had finished its calls; the last one: ${why}. resume() asks again.`,
  );
}

/** @param lost tokens of turns that are not among the rows */
export function usageOf(rows: readonly Row[], lost: Usage | undefined): Usage {
  const usages = rows.map((row) => (row.kind === "turn" ? row.usage : undefined));
  return [lost, ...usages].reduce<Usage>(addUsage, NO_USAGE);
}

export function addUsage(a: Usage = NO_USAGE, b: Usage = NO_USAGE): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  };
}
