import type { Store } from "../store/store.ts";
import { checkDelayMs, checkMs } from "../time.ts";
import { aboveZero, aFunction, checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { safeMessage } from "../tool/safe-message.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import type { Approvals } from "./approvals/types.ts";
import type { Emitter, EventListener } from "./emitter.ts";
import type { Authorize } from "./gate.ts";
import type { RunHistory } from "./history.ts";
import { hush } from "./hush.ts";
import type { KnownTools } from "./known-tools.ts";
import type { Ledger } from "./ledger.ts";
import { unlessItThrows } from "../quietly.ts";
import type { EndedCall } from "./running.ts";
import { snapshot } from "./snapshot.ts";
import type { Redact } from "./summary.ts";
import type { Telemetry } from "./telemetry-types.ts";
import type { MayUndo } from "./undo.ts";

/** Options of an executor. Only `tools` and `store` are required. */
export interface ToolExecutorOptions {
  /** The tools that may run; a registry or a server's set is consulted at each call. Uses of other tools are denied. */
  readonly tools: ToolSource;
  /** Where actions, their results and their undo data are kept. Processes that share it share the runs. */
  readonly store: Store;
  /** Who is asked for approval. Without it, calls that need approval are denied. */
  readonly approvals?: Approvals | undefined;
  /** The application's policy, asked for every call. */
  readonly authorize?: Authorize | undefined;
  /** Who may undo an action. Default: the principal that it ran for, or anybody if there was none. */
  readonly mayUndo?: MayUndo | undefined;
  /** Gets every event, as does a listener of {@link ToolExecutor.listen}. Errors that it throws are ignored. */
  readonly onEvent?: EventListener | undefined;
  /** Keep the events of each run, numbered across all processes. Default true, at one write to the store per event. */
  readonly storeEvents?: boolean | undefined;
  /** How many calls of one `executeAll()` run at the same time. Default 8. */
  readonly concurrency?: number | undefined;
  /** Wait for decisions (true, the default), or return `awaiting_approval`. */
  readonly waitForApproval?: boolean | undefined;
  /** How long a call may take if neither tool nor context say so, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Hides parts of inputs and outputs in the summaries of events, and in the question that is asked by default. */
  readonly redact?: Redact | undefined;
  /** Spans and durations of the calls: `openTelemetry()` of `toolstream/execute/telemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** How large an output, or undo data, may be as JSON, in bytes. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * What the model and the events are told of a handler's error. Default, and if it throws or gives no text:
   * {@link safeMessage}.
   */
  readonly errorMessage?: ((error: unknown, tool: Tool) => string) | undefined;
  /**
   * The digest of the program behind a tool, so that swapping the file voids an approval. Default: what
   * `tool.metadata.executableDigest` says, a string or a function that returns one.
   */
  readonly executableDigest?: ((tool: Tool) => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * After how long a silent process is presumed dead by others, in milliseconds. Renewed while a handler runs.
   * Default 30 s.
   */
  readonly leaseMs?: number | undefined;
  /** The delay before the first retry, in milliseconds; doubles with each, plus up to as much at random. Default 200. */
  readonly retryDelayMs?: number | undefined;
}

export const EXECUTOR_OPTIONS: OptionNames<ToolExecutorOptions> = {
  tools: true,
  store: true,
  approvals: true,
  authorize: aFunction,
  mayUndo: aFunction,
  onEvent: aFunction,
  storeEvents: true,
  concurrency: aboveZero,
  waitForApproval: true,
  timeoutMs: checkMs,
  redact: aFunction,
  telemetry: true,
  maxOutputBytes: aboveZero,
  errorMessage: aFunction,
  executableDigest: aFunction,
  leaseMs: checkMs,
  retryDelayMs: checkDelayMs,
};

/** What an executor passes to its parts: its settings, and what they share. */
export interface Deps extends ReturnType<typeof settingsOf> {
  readonly tools: KnownTools;
  readonly ledger: Ledger;
  readonly history: RunHistory;
  readonly emitter: Emitter;
  /** By action: ends known only to this process, until they are recorded. What others recorded takes precedence. */
  readonly ended: Map<string, EndedCall>;
}

/** The options that the parts of an executor read, with their defaults. */
export function settingsOf(options: ToolExecutorOptions) {
  const { approvals, authorize, redact, telemetry, timeoutMs, errorMessage, executableDigest } = options;
  const { waitForApproval = true, leaseMs = 30_000, retryDelayMs = 200, maxOutputBytes = 1024 * 1024 } = options;
  // It gets copies: a redaction may write into its argument, which is what runs.
  const ofCopies: Redact = (path, value) => redact!(path, path.length === 1 ? snapshot(value) : value);
  return {
    approvals,
    authorize,
    redact: redact && ofCopies,
    telemetry,
    timeoutMs,
    errorMessage: toldOf(errorMessage),
    executableDigest: executableDigest ?? executableDigestOf,
    waitForApproval,
    leaseMs,
    retryDelayMs,
    maxOutputBytes,
  };
}

/** What is told of a handler's error: if the application's function fails, or gives no text, the default. */
export function toldOf(given: ToolExecutorOptions["errorMessage"]) {
  return (error: unknown, tool: Tool | undefined): string => {
    const message: unknown = tool && unlessItThrows(() => given?.(error, tool));
    if (typeof message === "string") return message;
    hush(message);
    return safeMessage(error);
  };
}

export function executableDigestOf({ metadata }: Tool): string | undefined | Promise<string | undefined> {
  const { executableDigest } = metadata as { executableDigest?: unknown };
  return typeof executableDigest === "function" ? executableDigest() : (executableDigest as string | undefined);
}

/** @throws TypeError */
export function checkExecutorOptions(options: ToolExecutorOptions): void {
  checkOptionNames("new ToolExecutor()", options, EXECUTOR_OPTIONS);
  checkServices("new ToolExecutor()", options);
}

/** @throws TypeError */
export function checkServices(
  taker: string,
  { store, approvals }: Pick<ToolExecutorOptions, "store" | "approvals">,
): void {
  if (typeof store?.put !== "function") {
    throw new TypeError(`${taker} needs a store: memoryStore(), sqliteStore(…) or redisStore(…).`);
  }
  if (approvals !== undefined && typeof approvals?.request !== "function") {
    throw new TypeError("approvals is an ApprovalService.");
  }
}
