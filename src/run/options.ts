import type { Approvals } from "../execute/approvals/types.ts";
import { ToolExecutor } from "../execute/executor.ts";
import { knownTools, type KnownTools } from "../execute/known-tools.ts";
import { checkServices } from "../execute/options.ts";
import type { Model } from "../model.ts";
import type { Store } from "../store/store.ts";
import { checkDelayMs, checkMs } from "../time.ts";
import { aFunction, checkOptionNames, wholeFromZero, type OptionNames } from "../tool/option-names.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import { checkLimits, type Budgets } from "./budgets.ts";
import type { PrepareStep, RunEvent } from "./types.ts";
import type { ValidateResults } from "./validate-results.ts";

export interface OrchestratorOptions<Message = any, T extends Tool = Tool> {
  /** Who is asked: `openaiChat.model(client, params)` and its counterparts. */
  readonly model: Model<Message>;
  /** The tools to offer; a registry or a server's set is consulted at each turn. Default: the executor's. */
  readonly tools?: ToolSource<T> | undefined;
  /** Where runs are kept. Processes that share it share the runs. */
  readonly store: Store;
  /** Runs the internal tools, and has all of them. Default: one over `tools`, `store` and `approvals`. */
  readonly executor?: ToolExecutor | undefined;
  /** Who is asked for approval. Default: the executor's service, since the executor is the one that asks. */
  readonly approvals?: Approvals | undefined;
  /** Maximum number of turns per run. Default 32. A `resume()` after the limit grants as many again. */
  readonly maxSteps?: number | undefined;
  /** Limits on calls, tokens and time. Default: none. */
  readonly budgets?: Budgets | undefined;
  /** How many turns in a row may be cut (by their length or the connection) and asked for again. Default 2. */
  readonly maxCutTurns?: number | undefined;
  /**
   * Delay before a turn is retried after the provider or the connection failed, in milliseconds; doubles with each,
   * with jitter, up to a minute. Default 500.
   */
  readonly retryDelayMs?: number | undefined;
  /** Whether provided results are validated. Default `true`: against the tool's `outputSchema`. */
  readonly validateResults?: ValidateResults | undefined;
  /**
   * Selects what to send of a long conversation. Calls and results are paired again afterwards. All of it stays stored.
   */
  readonly trim?: ((messages: readonly Message[]) => readonly Message[] | Promise<readonly Message[]>) | undefined;
  /** Called before each turn: what to ask for it with instead, or whether to stop before it. */
  readonly prepareStep?: PrepareStep<Message> | undefined;
  /** Gets every event. Errors that it throws are ignored. */
  readonly onEvent?: ((event: RunEvent<T>, conversationId: string) => unknown) | undefined;
  /** A process silent for this many milliseconds is presumed dead, and another may take over the run. Default 30 s. */
  readonly leaseMs?: number | undefined;
}

const OPTIONS: OptionNames<OrchestratorOptions> = {
  model: true,
  tools: true,
  store: true,
  executor: true,
  approvals: true,
  maxSteps: true,
  budgets: true,
  maxCutTurns: wholeFromZero,
  retryDelayMs: checkDelayMs,
  validateResults: true,
  trim: aFunction,
  prepareStep: aFunction,
  onEvent: aFunction,
  leaseMs: checkMs,
};

/** What the parts of an orchestrator share: its options with their defaults. */
export type RunDeps = ReturnType<typeof depsOf>;

/** @throws TypeError */
export function depsOf(options: OrchestratorOptions) {
  checkParts(options);
  const { model, store, executor, tools = executor ?? [], trim, prepareStep, validateResults = true } = options;
  const { approvals = executor?.approvals } = options;
  const { maxSteps = 32, budgets = {}, maxCutTurns = 2, retryDelayMs = 500, leaseMs = 30_000 } = options;
  const limits = { ...budgets, maxSteps };
  checkLimits(limits);
  const known = knownTools(tools);
  if (executor !== undefined) checkTools(known, executor);
  return {
    model,
    tools: known,
    store,
    executor: executor ?? new ToolExecutor({ tools: internalOf(known), store, approvals, leaseMs }),
    approvals,
    limits,
    maxCutTurns,
    retryDelayMs,
    validateResults,
    trim,
    prepareStep,
    leaseMs,
  };
}

function internalOf(known: KnownTools): ToolSource {
  return { tools: () => known.all().filter(({ mode }) => mode === "internal") };
}

/** Otherwise only the model would hear of it: that there is no such tool. */
function checkTools(offered: KnownTools, executor: ToolExecutor): void {
  const names = new Set(executor.tools().map(({ name }) => name));
  const missing = offered.all().find(({ mode, name }) => mode === "internal" && !names.has(name));
  if (missing === undefined) return;
  throw new TypeError(
    `new Orchestrator() is to offer ${missing.name}, which its executor does not have: give it to both.`,
  );
}

function checkParts(options: OrchestratorOptions): void {
  checkOptionNames("new Orchestrator()", options, OPTIONS);
  const { model, approvals, executor, validateResults = true } = options;
  if (typeof model?.open !== "function") {
    throw new TypeError("new Orchestrator() needs a model: that of an adapter, adapter.model(client, params).");
  }
  checkServices("new Orchestrator()", options);
  if (executor !== undefined && typeof executor?.executeAll !== "function") {
    throw new TypeError("executor is a ToolExecutor.");
  }
  // Otherwise requests made there would never be seen here, or calls would be denied there as if there were no service.
  if (executor !== undefined && approvals !== undefined && executor.approvals !== approvals) {
    const what = executor.approvals === undefined ? "none" : "another one";
    throw new TypeError(`The executor asks the approvals it was made with, and has ${what}: give it this one.`);
  }
  if (typeof validateResults !== "boolean") aFunction("validateResults", validateResults);
}
