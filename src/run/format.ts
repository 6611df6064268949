import { ToolError, type ToolErrorCode } from "../errors.ts";
import {
  isCount,
  isNumber,
  isObject,
  isString,
  isText,
  listOf,
  nullable,
  oneOf,
  optional,
  shape,
  type Check,
} from "../store/shape.ts";
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
  readonly error: { readonly code: ToolErrorCode; readonly message: string } | null;
  /** Tokens of the run's turns that were aborted, or cut and requested again: they are not among the rows. */
  readonly lostUsage?: Usage | undefined;
  /** The provider's id of the last request, even if no turn came of it; `null` if it gave none. */
  readonly requestId?: string | null;
}

export const STATUSES = Object.keys({
  running: true,
  completed: true,
  awaiting_tool_results: true,
  awaiting_approval: true,
  error: true,
} satisfies Record<Head["status"], true>);

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
  /** The application's own id of it. */
  readonly inputId?: string;
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
  readonly error?: { readonly code: ToolErrorCode; readonly message: string };
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
  readonly error?: { readonly code: ToolErrorCode; readonly message: string };
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

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

export function readHead(value: unknown, conversationId: string): Head {
  const { version } = (value ?? {}) as { readonly version?: unknown };
  if (typeof version === "number" && version > VERSION) {
    throw new ToolError(
      "checkpoint_newer",
      `The run of conversation ${conversationId} was written by a newer version of this library (format ${version}, this one reads up to ${VERSION}). Update the library where it is resumed.`,
    );
  }
  const head = value as Head;
  const fits =
    isHead(value) && head.conversationId === conversationId && (head.error !== null || head.status !== "error");
  if (!fits) throw damaged(conversationId, "its head");
  return head;
}

export function readRow(value: unknown, conversationId: string, index: number): Row {
  if (!isInput(value) && !isTurn(value) && !isResults(value)) throw damaged(conversationId, `row ${index}`);
  return value as Row;
}

const isReason = shape({ code: isText, message: isString });
const isUse = shape({ steps: isNumber, calls: isNumber, tokens: isNumber, activeMs: isNumber });

const isHead = shape({
  version: oneOf(VERSION),
  conversationId: isText,
  runId: (value) => isText(value) && /^[\w-]+$/.test(value),
  wire: isText,
  status: oneOf(...STATUSES),
  rows: isCount,
  epoch: isCount,
  lease: nullable(shape({ owner: isText, until: isNumber })),
  startedAt: isNumber,
  updatedAt: isNumber,
  used: isUse,
  lifted: isUse,
  liftedRows: isCount,
  pending: listOf(shape({ id: isText })),
  error: nullable(isReason),
  lostUsage: optional(shape({ inputTokens: isNumber, outputTokens: isNumber, totalTokens: isNumber })),
  requestId: optional(nullable(isString)),
} satisfies Record<keyof Head, Check>);

const fields = { at: isNumber, messages: Array.isArray };

const isInput = shape({
  ...fields,
  kind: oneOf("input"),
  runId: isText,
  inputId: optional(isString),
  instructions: optional(isString),
  behavior: optional(isString),
  keeps: optional(isCount),
});

const isCall = shape({
  invocationId: isText,
  id: nullable(isString),
  name: nullable(isString),
  mode: oneOf<CallRecord["mode"]>("internal", "external", "invalid"),
  argsText: isString,
  turnIndex: isCount,
  position: isCount,
  batch: isCount,
  metadata: optional(isObject),
});

const isTurn = shape({
  ...fields,
  kind: oneOf("turn"),
  turnId: isText,
  durationMs: isNumber,
  text: isString,
  reasoning: optional(isString),
  calls: (value) =>
    listOf(isCall)(value) &&
    (value as CallRecord[]).every(({ mode, name, error }) => (mode === "invalid" ? isReason(error) : isText(name))) &&
    new Set((value as CallRecord[]).map(({ invocationId }) => invocationId)).size === (value as CallRecord[]).length,
});

const isResults = shape({
  ...fields,
  kind: oneOf("results"),
  outcomes: listOf(
    shape({
      invocationId: isText,
      status: oneOf<CallStatus>("completed", "failed", "denied", "unknown", "invalid", "canceled", "expired"),
      at: isNumber,
    }),
  ),
});

export function damaged(conversationId: string, what: string): ToolError {
  return new ToolError(
    "invalid_checkpoint",
    `What is stored of conversation ${conversationId} is damaged (${what}), or was not written by this library. Restore it from a backup, or begin a new conversation.`,
  );
}
