import { ToolError } from "../errors.ts";
import type { FinishReason } from "../stream/events.ts";
import type { BudgetUse } from "./budgets.ts";
import type { RunStatus } from "./types.ts";

/** Increased when older versions' data would no longer be understood. */
export const VERSION = 1;

/** Who is working on a run, and until when nobody else may. */
export interface RunLease {
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/**
 * The head of a run, small and written at every step: how many rows count, and the status.
 *
 * ```
 * run/<conversation>            head { rows: 3, status, lease, … }
 * run-row/<conversation>/…00    { kind: "input", messages }
 * run-row/<conversation>/…01    { kind: "turn", messages, calls }
 * run-row/<conversation>/…02    { kind: "results", messages, outcomes }
 * ```
 *
 * Rows are written first and count once the head says so; they are never rewritten. So a write costs only what it adds.
 */
export interface Head {
  readonly version: typeof VERSION;
  readonly conversationId: string;
  readonly runId: string;
  /** The adapter's name: messages are in its provider's format. */
  readonly wire: string;
  readonly status: RunStatus | "running";
  readonly rows: number;
  /** Grows each time the lease is taken. Part of call ids, so that no two attempts share one. */
  readonly epoch: number;
  readonly lease: RunLease | null;
  readonly startedAt: number;
  readonly updatedAt: number;
  /** Since the run began. */
  readonly used: BudgetUse;
  /** What was used, and how many rows there were, when a limit was last lifted by resuming. */
  readonly lifted: BudgetUse;
  readonly liftedRows: number;
  /** The external calls that were handed out when it stopped. */
  readonly pending: readonly PendingRecord[];
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Tokens of the run's turns that were aborted, or cut and requested again: they are not among the rows. */
  readonly lostUsage?: Usage | undefined;
  /** The provider's id of the last request, even if no turn came of it; `null` if it gave none. */
  readonly requestId?: string | null;
}

/** Tokens, as the provider counts them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

/** An external call that was handed out. */
export interface PendingRecord {
  readonly id: string;
  /** For a call whose arguments referred to other calls' results: the arguments with these filled in. */
  readonly input?: unknown;
}

/** What `run()` was given. */
export interface InputRow {
  readonly kind: "input";
  readonly runId: string;
  readonly at: number;
  readonly messages: readonly unknown[];
  readonly instructions?: string;
  readonly behavior?: string;
  readonly toolChoice?: unknown;
  /** How many of the messages before it still count, if the conversation was taken back. */
  readonly keeps?: number;
}

/** One turn of the model. */
export interface TurnRow {
  readonly kind: "turn";
  /** The first part of the ids of its calls. */
  readonly turnId: string;
  readonly at: number;
  readonly durationMs: number;
  readonly messages: readonly unknown[];
  readonly text: string;
  /** For display only: what has to go back is in the messages. */
  readonly reasoning?: string;
  readonly calls: readonly CallRecord[];
  readonly finishReason: FinishReason | null;
  /** Why it did not end normally. */
  readonly error?: { readonly code: string; readonly message: string };
  readonly usage?: Usage;
  readonly model?: string;
  readonly requestId?: string;
  /** It is not over: when asked again with its own message, the provider continues it. */
  readonly goesOn?: true;
}

/** The outcomes of the previous turn's calls. */
export interface ResultsRow {
  readonly kind: "results";
  readonly at: number;
  readonly messages: readonly unknown[];
  readonly outcomes: readonly OutcomeRecord[];
}

export type Row = InputRow | TurnRow | ResultsRow;

/** One call, with what another process needs to continue. */
export interface CallRecord {
  readonly invocationId: string;
  readonly id: string | null;
  readonly name: string | null;
  /** `invalid`: it cannot be executed, `error` says why. */
  readonly mode: "internal" | "external" | "invalid";
  readonly argsText: string;
  /** Validated, as plain JSON, for display. What is executed is parsed from `argsText` again. */
  readonly input?: unknown;
  readonly turnIndex: number;
  readonly position: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly message: string };
  /** Calls of one group run concurrently, one group after the other. */
  readonly batch: number;
  /** When the caller's time ends. */
  readonly expiresAt?: number;
}

export type CallStatus = "completed" | "failed" | "denied" | "unknown" | "invalid" | "canceled" | "expired";

export interface OutcomeRecord {
  readonly invocationId: string;
  readonly status: CallStatus;
  readonly message?: string;
  readonly at: number;
  readonly durationMs?: number;
}

/** Stored data is untrusted input: it may be newer, damaged, or forged. */
export function readHead(value: unknown, conversationId: string): Head {
  const head = record(value, conversationId);
  const { version } = head;
  if (typeof version === "number" && version > VERSION) {
    throw new ToolError(
      "checkpoint_newer",
      `The run of conversation ${conversationId} was written by a newer version of this library (format ${version}, this one reads up to ${VERSION}). Update the library where it is resumed.`,
    );
  }
  const { runId, wire, status, rows, epoch, lease, startedAt, updatedAt, used, lifted, liftedRows, pending, error } =
    head;
  const fits =
    version === VERSION &&
    head["conversationId"] === conversationId &&
    isText(runId) &&
    /^[\w-]+$/.test(runId) &&
    isText(wire) &&
    STATUSES.has(status) &&
    isCount(rows) &&
    isCount(epoch) &&
    (lease === null || (isText(lease?.["owner"]) && isNumber(lease["until"]))) &&
    isNumber(startedAt) &&
    isNumber(updatedAt) &&
    isUse(used) &&
    isUse(lifted) &&
    isCount(liftedRows) &&
    isOptionalUsage(head["lostUsage"]) &&
    Array.isArray(pending) &&
    pending.every((call: unknown) => isText((call as Fields | null)?.["id"])) &&
    (error === null ? status !== "error" : isReason(error));
  if (!fits) throw damaged(conversationId, "its head");
  return value as Head;
}

function isOptionalUsage(value: unknown): boolean {
  const { inputTokens, outputTokens, totalTokens } = (value ?? {}) as Partial<Record<keyof Usage, unknown>>;
  return value === undefined || [inputTokens, outputTokens, totalTokens].every(isNumber);
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

export function readRow(value: unknown, conversationId: string, index: number): Row {
  const row = record(value, conversationId);
  if (!Array.isArray(row["messages"]) || !isNumber(row["at"])) throw damaged(conversationId, `row ${index}`);
  const fits =
    row["kind"] === "input"
      ? isText(row["runId"]) &&
        isOptional(row["instructions"]) &&
        isOptional(row["behavior"]) &&
        (row["keeps"] === undefined || isCount(row["keeps"]))
      : row["kind"] === "turn"
        ? isText(row["turnId"]) &&
          isNumber(row["durationMs"]) &&
          typeof row["text"] === "string" &&
          isOptional(row["reasoning"]) &&
          areCalls(row["calls"])
        : row["kind"] === "results" && Array.isArray(row["outcomes"]) && row["outcomes"].every(isOutcome);
  if (!fits) throw damaged(conversationId, `row ${index}`);
  return value as Row;
}

const STATUSES: ReadonlySet<unknown> = new Set([
  "running",
  "completed",
  "awaiting_tool_results",
  "awaiting_approval",
  "error",
]);
const MODES: ReadonlySet<unknown> = new Set(["internal", "external", "invalid"]);
const OUTCOMES: ReadonlySet<unknown> = new Set([
  "completed",
  "failed",
  "denied",
  "unknown",
  "invalid",
  "canceled",
  "expired",
] satisfies CallStatus[]);

type Fields = Readonly<Record<string, any>>;

function record(value: unknown, conversationId: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged(conversationId, "it");
  return value as Fields;
}

function areCalls(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const ids = new Set<unknown>();
  return value.every((call: unknown) => {
    if (typeof call !== "object" || call === null) return false;
    const { invocationId, id, name, mode, argsText, turnIndex, position, error, batch, metadata } = call as Fields;
    const isNew = !ids.has(invocationId);
    ids.add(invocationId);
    return (
      isNew &&
      isText(invocationId) &&
      (id === null || typeof id === "string") &&
      (mode === "invalid" ? isReason(error) && (name === null || typeof name === "string") : isText(name)) &&
      MODES.has(mode) &&
      typeof argsText === "string" &&
      isCount(turnIndex) &&
      isCount(position) &&
      isCount(batch) &&
      (metadata === undefined || (typeof metadata === "object" && metadata !== null))
    );
  });
}

function isOutcome(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { invocationId, status, at } = value as Fields;
  return isText(invocationId) && OUTCOMES.has(status) && isNumber(at);
}

function isReason(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as Fields;
  return isText(code) && typeof message === "string";
}

function isUse(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { steps, calls, tokens, activeMs } = value as Fields;
  return [steps, calls, tokens, activeMs].every(isNumber);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isOptional(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function damaged(conversationId: string, what: string): ToolError {
  return new ToolError(
    "invalid_checkpoint",
    `What is stored of conversation ${conversationId} is damaged (${what}), or was not written by this library. Restore it from a backup, or begin a new conversation.`,
  );
}
