import type { ToolChoice } from "../tool/choice.ts";
import type { ToolError } from "../errors.ts";
import type { ApprovalRequest, Decision, Principal } from "../execute/approvals/types.ts";
import type { ToolEvent } from "../execute/events.ts";
import type { Model, ResultImage } from "../model.ts";
import type { FinishReason, StreamEvent } from "../stream/events.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import type { BudgetUse } from "./budgets.ts";
import type { TranscriptEntry } from "./transcript.ts";
import type { ExecutionTree } from "./tree.ts";

/**
 * - `completed`: the model has answered without further calls
 * - `awaiting_tool_results`: the caller has calls to execute (and perhaps approvals to decide)
 * - `awaiting_approval`: only approvals are open
 * - `error`: it failed, was aborted or has used up a budget; `resume()` continues from there
 */
export type RunStatus = "completed" | "awaiting_tool_results" | "awaiting_approval" | "error";

/** A call that the caller has to execute. */
export interface PendingToolCall {
  /** Our own id of the call, unique across all runs: results refer to it. */
  readonly id: string;
  /** The provider's id; `null` if it gave none. Not unique: providers repeat ids. */
  readonly wireId: string | null;
  readonly name: string;
  /** Validated, as plain JSON, by the process that stored the call, whose schema may be older. */
  readonly arguments: unknown;
  /** The arguments as the model wrote them. */
  readonly rawText: string;
  /** When the model is told that there was no result, in milliseconds since 1970; `null` means never. */
  readonly expiresAt: number | null;
}

/** The result of an external call: `result`, or `error` with what went wrong, for the model to read. */
export interface ToolResultInput {
  /** The `id` of the {@link PendingToolCall}. */
  readonly toolCallId: string;
  /** Plain JSON; a string is sent as it is. */
  readonly result?: unknown;
  readonly error?: string | undefined;
  /** Only for providers that take images in results. */
  readonly images?: readonly ResultImage[] | undefined;
}

/** A decision on a pending approval. */
export interface ApprovalInput extends Decision {
  /** The `id` of the pending approval. */
  readonly id: string;
  /** Who decides. */
  readonly principal?: Principal | undefined;
}

/** Options of `run()` that `resume()` takes as well. Only `behavior` and `instructions` are stored. */
export interface RunContext {
  /** Ends the run with code `aborted`; `resume()` continues it. */
  readonly signal?: AbortSignal | undefined;
  /** The user that the calls are made for. */
  readonly principal?: Principal | undefined;
  /** The application's own id of the request that it serves. */
  readonly requestId?: string | undefined;
  /** Passed to handlers and rules, next to the call's own ids. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
}

/** Options of `run()` and `stream()`. */
export interface RunOptions<Message = any> extends RunContext {
  /** A known id continues that conversation. Default: a random one. */
  readonly conversationId?: string | undefined;
  /**
   * The application's own id of this input, such as that of a webhook's delivery. Input that the conversation has under
   * this id already is not said again: the result is what {@link Orchestrator.get} gives. Only with a `conversationId`.
   */
  readonly inputId?: string | undefined;
  /** The user's message. */
  readonly input?: string | undefined;
  /** Instead of `input` or before it: messages in the provider's format. Calls in them are history, never executed. */
  readonly messages?: readonly Message[] | undefined;
  /** The system prompt. Default: the conversation's previous one, else that of the model's parameters. */
  readonly instructions?: string | undefined;
  /** The mode in which the model works: tools with `behaviors` are offered and run only in those. */
  readonly behavior?: string | undefined;
  /**
   * Takes the conversation back to before something that the user said, to say it again or otherwise: its `index` in
   * the {@link Orchestrator.transcript}. It and what came after stay stored, but are neither sent nor shown any more.
   */
  readonly rewindTo?: number | undefined;
  /** For the first turn of the run only. */
  readonly toolChoice?: ToolChoice | undefined;
  /**
   * If the conversation waits for results or approvals: `"refuse"` (default) or `"cancel"`, in which case the open
   * calls are no longer executed, and the model is told so.
   */
  readonly whenOpen?: "refuse" | "cancel" | undefined;
  /**
   * If somebody is working on the conversation: `"refuse"` (default) or `"wait"` until they are done, as for input that
   * is sent while an answer is being stopped, which takes a moment.
   */
  readonly whenBusy?: "refuse" | "wait" | undefined;
}

/** Options of `resume()` and `resumeStream()`. */
export interface ResumeOptions extends RunContext {
  /** In any order, for any of the open calls, each once. If one cannot be taken, nothing is changed. */
  readonly toolResults?: readonly ToolResultInput[] | undefined;
  /** Decisions on pending approvals. */
  readonly approvals?: readonly ApprovalInput[] | undefined;
  /**
   * If somebody is working on the run: `"refuse"` (default) or `"wait"` until they are done, as for a decision that
   * comes while the call that was approved before is running.
   */
  readonly whenBusy?: "refuse" | "wait" | undefined;
}

/** Asked before each turn. If it throws, the run rejects, in a state that can be resumed. */
export type PrepareStep<Message = any> = (
  step: Step<Message>,
) => StepChange<Message> | undefined | Promise<StepChange<Message> | undefined>;

/** What a turn is going to be asked for with, and where the run stands. */
export interface Step<Message = any> extends RunContext {
  readonly conversationId: string;
  /** How many turns the run has had, in all processes: 0 before its first. */
  readonly step: number;
  /** As `trim` selected them. */
  readonly messages: readonly Message[];
  /** Those of the mode. */
  readonly tools: readonly Tool[];
  readonly instructions: string | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly behavior: string | undefined;
  /** The conversation so far, with its calls and what came of them: {@link Orchestrator.transcript}. */
  transcript(): Promise<TranscriptEntry[]>;
}

/** What a turn is asked for with instead; what is `undefined` stays as it is. Nothing of it is stored. */
export interface StepChange<Message = any> {
  /** Of the same wire. */
  readonly model?: Model<Message> | undefined;
  readonly messages?: readonly Message[] | undefined;
  /** Some of the orchestrator's. */
  readonly tools?: ToolSource | undefined;
  readonly instructions?: string | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Asks for no further turn: the run is `completed` as it is. */
  readonly stop?: boolean | undefined;
}

/** The result of a run so far. Plain data, except for the two methods of `tree`, and `error`. */
export type OrchestrationResult<Message = any> = ResultBase<Message> & Standing;

/** The state of a run. */
export type Standing =
  | {
      readonly status: "error";
      /**
       * With code `max_steps` or `budget_exceeded` for a limit; from `get()`, `run_busy` while it is being worked on.
       */
      readonly error: ToolError;
    }
  | { readonly status: Exclude<RunStatus, "error">; readonly error?: undefined };

interface ResultBase<Message> {
  /** The text or refusal of the model's last turn, as far as it came; empty before there is one. */
  readonly content: string;
  readonly conversationId: string;
  readonly runId: string;
  /** Only calls that can be executed now: of calls that depend on each other, the first. */
  readonly pendingToolCalls: readonly PendingToolCall[];
  readonly pendingApprovals: readonly ApprovalRequest[];
  /** The conversation in the provider's format. If the last turn was stopped or failed, it ends with its text. */
  readonly messages: readonly Message[];
  readonly tree: ExecutionTree;
  readonly metadata: RunMetadata;
}

export interface RunMetadata extends BudgetUse {
  /** As counted by the provider, over all turns of the run; 0 if it did not say. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number };
  /** Why the last turn ended; `undefined` before one has. */
  readonly finishReason: FinishReason | undefined;
  /** The provider's id of the last request, for its support; not the `requestId` that `run()` was given. */
  readonly providerRequestId: string | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly updatedAt: number;
}

/** The events of a run: those of its turns and its tools, and its own. */
export type RunEvent<T extends Tool = Tool> =
  | StreamEvent<T>
  | ToolEvent
  | { readonly type: "run.started" | "run.resumed"; readonly conversationId: string; readonly runId: string }
  /** A turn was asked for. */
  | { readonly type: "turn.started"; readonly turn: number; readonly attempt: number }
  /** The turn was cut; what it said so far does not count, and it is requested again. */
  | { readonly type: "turn.retried"; readonly turn: number; readonly error: ToolError }
  /**
   * An external call is complete: it may be started now, and its result provided with `provideToolResult()`.
   * `released: false`: its turn is still going, and may yet be cut. If it is, and there is no result, the model is told
   * that the outcome is unknown. To avoid that, start the call at its `tool-use` event, at the end of the turn.
   */
  | { readonly type: "external_tool_detected"; readonly call: PendingToolCall; readonly released: boolean }
  | { readonly type: "run.ended"; readonly result: OrchestrationResult };

/** Receives the events of a run. If it returns a promise, the run waits for it before it emits more. */
export type Emit = (event: RunEvent) => void | Promise<void>;

/** Which runs `list()` gives. */
export interface ListRuns {
  readonly status?: RunSummary["status"] | undefined;
  /** At most so many. Default: all. If there are fewer, they are the last ones. */
  readonly limit?: number | undefined;
  /** Those after this conversation: the last one of the page before, whether or not it is still there. */
  readonly after?: string | undefined;
}

/** One run as `list()` gives it. */
export interface RunSummary {
  readonly conversationId: string;
  readonly runId: string;
  /** `running`: a process is working on it, or died while it was (`resume()` takes it over). */
  readonly status: RunStatus | "running";
  readonly wire: string;
  readonly startedAt: number;
  readonly updatedAt: number;
}
