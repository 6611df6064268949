import type { ToolChoice } from "../tool/choice.ts";
import type { ToolError } from "../errors.ts";
import type { ApprovalRequest, Decision, Principal } from "../execute/approvals/types.ts";
import type { ToolEvent } from "../execute/events.ts";
import type { ResultImage } from "../model.ts";
import type { FinishReason, StreamEvent } from "../stream/events.ts";
import type { Tool } from "../tool/tool.ts";
import type { BudgetUse } from "./budgets.ts";
import type { ExecutionTree } from "./tree.ts";

/**
 * - `completed`: the model has answered and calls nothing more
 * - `awaiting_tool_results`: the caller has calls to execute (and perhaps approvals to see to)
 * - `awaiting_approval`: nothing is open but approvals
 * - `error`: it went wrong, was aborted or has used up a budget; `resume()` goes on from where it was
 */
export type RunStatus = "completed" | "awaiting_tool_results" | "awaiting_approval" | "error";

/** A call that the caller has to execute. */
export interface PendingToolCall {
  /** Our own id of the call, unique in all runs: what a result is handed in under. */
  readonly id: string;
  /** The provider's id; `null` where it gave none. No identity: providers repeat ids. */
  readonly wireId: string | null;
  readonly name: string;
  /** Validated, as plain JSON; by the schema of the process that stored the call, which may be an older one. */
  readonly arguments: unknown;
  /** The arguments as the model wrote them. */
  readonly rawText: string;
  /** When the model hears that there was no result, in milliseconds since 1970; `null`: never. */
  readonly expiresAt: number | null;
}

/** The result of an external call: `result`, or `error` with what went wrong, for the model to read. */
export interface ToolResultInput {
  /** The `id` of the {@link PendingToolCall}. */
  readonly toolCallId: string;
  /** Plain JSON; a string as it is. */
  readonly result?: unknown;
  readonly error?: string | undefined;
  /** Where the provider takes images in results. */
  readonly images?: readonly ResultImage[] | undefined;
}

/** A decision on a pending approval. */
export interface ApprovalInput extends Decision {
  /** The `id` of the pending approval. */
  readonly id: string;
  /** Who decides. */
  readonly principal?: Principal | undefined;
}

/** What holds for a run, and for each `resume()` of it. Nothing of it is stored but `behavior` and `instructions`. */
export interface RunContext {
  readonly signal?: AbortSignal | undefined;
  /** On whose behalf the calls are made. */
  readonly principal?: Principal | undefined;
  /** The application's own id of the request that it serves. */
  readonly requestId?: string | undefined;
  /** Handed to the handlers and to the rules, beside the call's own ids. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
}

/** What `run()` and `stream()` take. */
export interface RunOptions<Message = any> extends RunContext {
  /** Default: a random one. A known one goes on with what was said. */
  readonly conversationId?: string | undefined;
  /** What the user says. */
  readonly input?: string | undefined;
  /** In place of `input` or before it: messages in the provider's own form. Their calls are history, never executed. */
  readonly messages?: readonly Message[] | undefined;
  /** What the system says; default: what it said in the conversation before, else what the model's parameters say. */
  readonly instructions?: string | undefined;
  /** The mode in which the model works: tools with `behaviors` are offered and run in these alone. */
  readonly behavior?: string | undefined;
  /** For the first turn of the run; the others are free to answer. */
  readonly toolChoice?: ToolChoice | undefined;
  /**
   * When the conversation waits for results or approvals: `"refuse"` (default), or `"cancel"`: what is open is not
   * executed any more, and the model hears so.
   */
  readonly whenOpen?: "refuse" | "cancel" | undefined;
}

/** What `resume()` and `resumeStream()` take. */
export interface ResumeOptions extends RunContext {
  /** In any order, of any of the open calls, each once. One that can not be taken leaves everything as it was. */
  readonly toolResults?: readonly ToolResultInput[] | undefined;
  readonly approvals?: readonly ApprovalInput[] | undefined;
}

/** What came of a run, so far. Plain data but for `tree`'s two methods and `error`. */
export type OrchestrationResult<Message = any> = ResultBase<Message> & Standing;

/** Where a run stands. */
export type Standing =
  | {
      readonly status: "error";
      /** Code `max_steps` or `budget_exceeded` for a limit, from `get()` `run_busy` while it goes on. */
      readonly error: ToolError;
    }
  | { readonly status: Exclude<RunStatus, "error">; readonly error?: undefined };

interface ResultBase<Message> {
  /** What the model said in its last turn; empty before the run has had one. */
  readonly content: string;
  readonly conversationId: string;
  readonly runId: string;
  /** Only those that can be executed now: of calls that depend on each other the first. */
  readonly pendingToolCalls: readonly PendingToolCall[];
  readonly pendingApprovals: readonly ApprovalRequest[];
  /** The conversation in the provider's own form. */
  readonly messages: readonly Message[];
  readonly tree: ExecutionTree;
  readonly metadata: RunMetadata;
}

export interface RunMetadata extends BudgetUse {
  /** As the provider counted them, over all turns of the run; 0 where it did not say. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number };
  /** Why the last turn ended; `undefined` before one has. */
  readonly finishReason: FinishReason | undefined;
  /** The provider's id of the last request, for its support. */
  readonly requestId: string | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly updatedAt: number;
}

/** What a run tells while it goes on: all that its turns and its tools tell, and what it does itself. */
export type RunEvent<T extends Tool = Tool> =
  | StreamEvent<T>
  | ToolEvent
  | { readonly type: "run.started" | "run.resumed"; readonly conversationId: string; readonly runId: string }
  /** A turn was asked for. */
  | { readonly type: "turn.started"; readonly turn: number; readonly attempt: number }
  /** The turn was cut; what it said so far does not count, and it is asked for again. */
  | { readonly type: "turn.retried"; readonly turn: number; readonly error: ToolError }
  /**
   * A call for the caller is complete: it may be started now, and its result handed in with `provideToolResult()`.
   * `released: false`: its turn goes on, and may yet be cut. If it is, and no result is there, the model hears that the
   * outcome is unknown. What must not run then is started at its `tool-use`, which comes with the end of the turn.
   */
  | { readonly type: "external_tool_detected"; readonly call: PendingToolCall; readonly released: boolean }
  | { readonly type: "run.ended"; readonly result: OrchestrationResult };

/** One run as `list()` gives it. */
export interface RunSummary {
  readonly conversationId: string;
  readonly runId: string;
  /** `running`: a process works on it, or has died while it did (`resume()` takes it over). */
  readonly status: RunStatus | "running";
  readonly wire: string;
  readonly startedAt: number;
  readonly updatedAt: number;
}
