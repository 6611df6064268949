import { isToolError, ToolError } from "../errors.ts";
import type { Approvals } from "../execute/approvals/types.ts";
import { ToolExecutor } from "../execute/executor.ts";
import { knownTools, type KnownTools } from "../execute/known-tools.ts";
import { parseJson } from "../json/parse.ts";
import type { Model } from "../model.ts";
import type { Store } from "../store/store.ts";
import { textOf } from "../store/value.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import { checkLimits, liftCalls, type Budgets, type Limits } from "./budgets.ts";
import { checkMessages, checkParts, checkResumeOptions, checkRunOptions } from "./check.ts";
import { Checkpoint, FRESH, isHeld, readBegun, readRun, type HeadChange, type StoredRun } from "./checkpoint.ts";
import { decisionsOf } from "./decisions.ts";
import type { Emit, RunDeps } from "./deps.ts";
import { busy, isBusy, notGiven, notWaiting, runOpen, unknownRun } from "./errors.ts";
import { followEvents } from "./feed.ts";
import { forgetRest, forgetRun } from "./forget.ts";
import type { InputRow } from "./format.ts";
import { Inbox } from "./inbox.ts";
import { listRuns } from "./list.ts";
import { Loop, type Stop } from "./loop.ts";
import { resultOf, storedStop } from "./result.ts";
import { isGiven, isGivenUp, openTurn } from "./rows.ts";
import { openStream, type RunStream } from "./run-stream.ts";
import { transcriptOf, type TranscriptEntry } from "./transcript.ts";
import type {
  ListRuns,
  OrchestrationResult,
  PrepareStep,
  ResumeOptions,
  RunContext,
  RunEvent,
  RunOptions,
  RunSummary,
  ToolResultInput,
} from "./types.ts";
import type { ValidateResults } from "./validate-results.ts";
import { seeThrough, waitForRelease } from "./wait.ts";

export interface OrchestratorOptions<Message = any, T extends Tool = Tool> {
  /** Who is asked: `openaiChat.model(client, params)` and its counterparts. */
  readonly model: Model<Message>;
  /** The tools to offer; a registry or a server's set is consulted at each turn. Default: none. */
  readonly tools?: ToolSource<T> | undefined;
  /** Where runs are kept. Processes that share it share the runs. */
  readonly store: Store;
  /** Runs the internal tools. Default: one over `tools`, `store` and `approvals`. */
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

/**
 * The loop of an agent: asks the model, executes internal calls, hands external ones to the caller, and continues once
 * the results are in, in minutes or days, in this process or another. Every step is stored before and after.
 *
 * @example
 * const model = openaiChat.model(new OpenAI(), { model: "gpt-5-mini" });
 * const orchestrator = new Orchestrator({ model, tools, store });
 * let result = await orchestrator.run({ conversationId: "c1", input: "Open the report." });
 * while (result.status === "awaiting_tool_results") {
 *   const toolResults = await Promise.all(result.pendingToolCalls.map(executeInTheEditor));
 *   result = await orchestrator.resume("c1", { toolResults });
 * }
 */
export class Orchestrator<Message = any, T extends Tool = Tool> {
  readonly #deps: RunDeps;
  readonly #inbox: Inbox;
  readonly #onEvent: OrchestratorOptions["onEvent"];

  constructor(options: OrchestratorOptions<Message, T>) {
    checkParts(options);
    const { model, store, executor, tools = [], trim, prepareStep, validateResults = true } = options;
    const { approvals = executor?.approvals } = options;
    const { maxSteps = 32, budgets = {}, maxCutTurns = 2, retryDelayMs = 500, leaseMs = 30_000 } = options;
    const limits = { ...budgets, maxSteps };
    checkLimits(limits);
    const known = knownTools(tools);
    this.#onEvent = options.onEvent as OrchestratorOptions["onEvent"];
    this.#deps = {
      model,
      tools: known,
      store,
      approvals,
      limits,
      maxCutTurns,
      retryDelayMs,
      validateResults,
      trim,
      prepareStep,
      leaseMs,
      executor: executor ?? new ToolExecutor({ tools: internalOf(known), store, approvals, leaseMs }),
    };
    this.#inbox = new Inbox(this.#deps);
  }

  /**
   * Starts a run: a new conversation, or the continuation of a known one. Failures of providers and tools are results;
   * it only rejects if nothing can continue.
   *
   * @throws ToolError `run_open` (the conversation waits for results), `run_busy`, `lease_lost`, `store_failed`,
   *   `invalid_checkpoint`, `checkpoint_newer`, `wrong_wire`
   * @throws TypeError for a caller's mistake
   */
  run(options: RunOptions<Message>): Promise<OrchestrationResult<Message>> {
    return this.#run(options, conversationIdOf(options));
  }

  /** {@link run}, with its events as they happen. */
  stream(options: RunOptions<Message>): RunStream<Message, T> {
    const conversationId = conversationIdOf(options);
    return this.#streamed(conversationId, options?.signal, (signal, emit) =>
      this.#run({ ...options, signal }, conversationId, emit),
    );
  }

  /**
   * Continues a run that waits, has failed, has reached a limit, or whose process died. Without results or decisions,
   * it takes into account what has arrived in other ways, and calls that have timed out.
   *
   * @throws ToolError `unknown_run`, `not_waiting` (it is completed), `unknown_call`, `already_answered`,
   *   `invalid_result`, `approval_not_found` and the like, in which case nothing was changed; and those of {@link run}
   */
  resume(conversationId: string, options: ResumeOptions = {}): Promise<OrchestrationResult<Message>> {
    return this.#resume(conversationId, options);
  }

  /** {@link resume}, with its events as they happen. */
  resumeStream(conversationId: string, options: ResumeOptions = {}): RunStream<Message, T> {
    return this.#streamed(conversationId, options?.signal, (signal, emit) =>
      this.#resume(conversationId, { ...options, signal }, emit),
    );
  }

  /** {@link resume} for the common case. */
  continueWithToolResults(
    conversationId: string,
    toolResults: readonly ToolResultInput[],
    context: RunContext = {},
  ): Promise<OrchestrationResult<Message>> {
    return this.resume(conversationId, { ...context, toolResults });
  }

  /**
   * Provides one result and does nothing else: for when the turn is still streaming, or another process works on the
   * run. A waiting run continues with `resume()`.
   *
   * @throws ToolError `unknown_run`, `unknown_call`, `already_answered`, `invalid_result`
   */
  provideToolResult(conversationId: string, result: ToolResultInput): Promise<void> {
    return this.#inbox.handIn(conversationId, [result]);
  }

  /**
   * The state of a conversation; changes nothing. `undefined` if there is none. While a process works on it, the status
   * is `error` with code `run_busy`, or `awaiting_tool_results` if results can be provided meanwhile.
   */
  async get(conversationId: string): Promise<OrchestrationResult<Message> | undefined> {
    const stored = await readBegun(this.#deps.store, conversationId);
    return stored && resultOf(stored, await storedStop(this.#deps, stored));
  }

  /**
   * A conversation to show, in the same form for every provider: what the user and the model said, and the calls with
   * what came of them, as far as it is stored. `undefined` if there is none.
   */
  async transcript(conversationId: string): Promise<TranscriptEntry[] | undefined> {
    const stored = await readBegun(this.#deps.store, conversationId);
    return stored && transcriptOf(this.#deps, stored);
  }

  /**
   * The stored runs, in the order of their conversations' keys. Unreadable ones are left out.
   *
   * @example
   * const page = await orchestrator.list({ limit: 100 });
   * const next = await orchestrator.list({ limit: 100, after: page.at(-1)?.conversationId });
   */
  async list(options: ListRuns = {}): Promise<RunSummary[]> {
    return listRuns(this.#deps.store, options);
  }

  /**
   * Sees a run through: waits for whatever the run needs, whoever provides it to whichever process, and resumes it,
   * until it waits for nothing more or the signal fires. A failing store is retried five times in a row, over some 15
   * seconds.
   *
   * @throws ToolError `unknown_run`, and what {@link resume} throws
   */
  waitAndResume(conversationId: string, context: RunContext = {}): Promise<OrchestrationResult<Message>> {
    return seeThrough(this.#deps, conversationId, context.signal, () => this.resume(conversationId, context));
  }

  /**
   * Deletes a conversation: its messages, provided results, the executor's record of its runs, and their approvals.
   *
   * @returns false if there was none
   * @throws ToolError `run_busy`, `version_conflict` (somebody continued it at this moment): nothing was deleted
   */
  forget(conversationId: string): Promise<boolean> {
    return forgetRun(this.#deps, conversationId);
  }

  // -- the two ways in

  async #run(options: RunOptions<Message>, conversationId: string, emit?: Emit): Promise<OrchestrationResult<Message>> {
    checkRunOptions(options);
    const input = this.#inputOf(options);
    const { runId } = input;
    const checkpoint = await this.#begin(options, conversationId, runId);
    return this.#work(checkpoint, options, emit, async (loop, tell) => {
      // Only now, since begin() may have waited.
      const at = Date.now();
      await loop.cancelOpen();
      const fresh = { ...FRESH, runId, startedAt: at, liftedRows: checkpoint.rows.length };
      await checkpoint.append({ ...input, at }, fresh);
      await tell({ type: "run.started", conversationId, runId });
    });
  }

  /** Takes a conversation for a new run; with `whenBusy: "wait"`, once nobody else works on it. */
  async #begin(
    { whenOpen, whenBusy, rewindTo, signal }: RunOptions<Message>,
    conversationId: string,
    runId: string,
  ): Promise<Checkpoint> {
    const { store, model, leaseMs } = this.#deps;
    for (;;) {
      const stored = await readRun(store, conversationId);
      if (stored !== undefined) this.#checkWire(stored);
      try {
        // The process working on it may be executing these very calls.
        if (stored !== undefined && isHeld(stored.head)) throw busy(conversationId);
        const open = stored && openTurn(stored.rows);
        if (open !== undefined && !isGivenUp(open) && whenOpen !== "cancel") throw runOpen(conversationId);
        if (rewindTo !== undefined && !isGiven(stored?.rows ?? [], rewindTo)) throw notGiven(conversationId, rewindTo);
        if (stored !== undefined) return await Checkpoint.take(store, leaseMs, stored);
        await forgetRest(this.#deps, conversationId);
        return await Checkpoint.create(store, leaseMs, { conversationId, runId, wire: model.adapter.name });
      } catch (error) {
        if (!isBusy(error) || whenBusy !== "wait" || signal?.aborted === true) throw error;
      }
      await waitForRelease(store, conversationId, signal);
    }
  }

  async #resume(conversationId: string, options: ResumeOptions, emit?: Emit): Promise<OrchestrationResult<Message>> {
    checkResumeOptions(options);
    const { toolResults = [], approvals = [], signal } = options;
    const before = await readBegun(this.#deps.store, conversationId);
    if (before === undefined) throw unknownRun(conversationId);
    this.#checkWire(before);
    if (isHeld(before.head)) throw busy(conversationId);
    // First, what may be refused, for a completed run too: the error says which results it already has.
    const handIn = await this.#inbox.check(before, toolResults);
    const decisions = await decisionsOf(this.#deps, before, approvals);
    if (before.head.status === "completed") throw notWaiting(conversationId);
    for (const { id, principal, ...decision } of decisions) {
      await this.#deps.approvals!.decide(id, decision, principal);
    }
    await handIn();
    const checkpoint = await this.#take(before, toolResults.length + approvals.length > 0, signal);
    if (checkpoint === undefined) return (await this.get(conversationId))!;
    return this.#work(checkpoint, options, emit, async (_, tell) => {
      await tell({ type: "run.resumed", conversationId, runId: checkpoint.head.runId });
    });
  }

  /**
   * Takes over the run. A caller that brought something waits until another process is done, which may not have seen
   * it.
   *
   * @returns `undefined` if the other process has completed the run
   */
  async #take(
    before: StoredRun,
    hasBrought: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Checkpoint | undefined> {
    const { store, leaseMs, limits } = this.#deps;
    const { conversationId } = before.head;
    for (let stored: StoredRun = before; ;) {
      try {
        return await Checkpoint.take(store, leaseMs, stored, freshStart(stored, limits));
      } catch (error) {
        if (!hasBrought || !isBusy(error)) throw error;
      }
      await waitForRelease(store, conversationId, signal);
      const now = await readRun(store, conversationId);
      if (now === undefined) throw unknownRun(conversationId);
      if (now.head.status === "completed" || signal?.aborted === true) return undefined;
      stored = now;
    }
  }

  /** Works on a run until it stops, and releases it whatever happens. */
  async #work(
    checkpoint: Checkpoint,
    context: RunContext,
    emit: Emit | undefined,
    prepare: (loop: Loop, tell: Emit) => Promise<void>,
  ): Promise<OrchestrationResult<Message>> {
    const { store, executor } = this.#deps;
    const { conversationId } = checkpoint.head;
    const tell: Emit = (event) => {
      this.#hear(event, conversationId);
      return emit?.(event);
    };
    const isHeard = emit !== undefined || this.#onEvent !== undefined;
    const loop = new Loop(this.#deps, checkpoint, context, this.#inbox, tell);
    let stop: Stop;
    try {
      await prepare(loop, tell);
      const feed = isHeard ? await followEvents(store, executor, checkpoint.head.runId, tell) : undefined;
      stop = await this.#stopped(loop, checkpoint).finally(() => feed?.end().catch(() => {}));
    } catch (error) {
      const { code, message } = isToolError(error)
        ? error
        : { code: "execution_failed" as const, message: String(error) };
      // If this fails too, the lease expires by itself.
      await checkpoint.release({ status: "error", error: { code, message } }).catch(() => checkpoint.abandon());
      throw error;
    } finally {
      this.#inbox.forget(conversationId);
    }
    const result = resultOf(checkpoint, stop);
    await tell({ type: "run.ended", result });
    return result;
  }

  /** Works until the run stops, and stores why. */
  async #stopped(loop: Loop, checkpoint: Checkpoint): Promise<Stop> {
    const stop = await loop.run();
    const { status, error: reason, row, change } = stop;
    const error = reason === undefined ? null : { code: reason.code, message: reason.message };
    await checkpoint.release({ ...change, status, error }, row);
    return stop;
  }

  // -- what comes in, and what is told

  #inputOf(options: RunOptions<Message>): Omit<InputRow, "at"> {
    const { input, messages = [], instructions, behavior, toolChoice, rewindTo } = options;
    const { model } = this.#deps;
    checkMessages(messages, model);
    // A blank input says nothing: see checkRunOptions().
    const said = input === undefined || input.trim() === "" ? [] : [model.userMessage(input)];
    const all = [...messages, ...said];
    if (all.length === 0) throw new TypeError("run() needs something to say: input, or messages.");
    return {
      kind: "input",
      runId: newId("run"),
      // A copy, as the store would return it, so that later changes to the caller's array have no effect.
      messages: parseJson(textOf(all)) as unknown[],
      ...(instructions !== undefined && { instructions }),
      ...(behavior !== undefined && { behavior }),
      ...(toolChoice !== undefined && { toolChoice: parseJson(textOf(toolChoice)) }),
      ...(rewindTo !== undefined && { keeps: rewindTo }),
    };
  }

  #checkWire({ head }: StoredRun): void {
    const { name } = this.#deps.model.adapter;
    if (head.wire === name) return;
    throw new ToolError(
      "wrong_wire",
      `Conversation ${head.conversationId} has messages in the form of ${head.wire}, and the model speaks ${name}. Go on with a model of ${head.wire}, or begin another conversation with what was said as messages.`,
    );
  }

  #hear(event: RunEvent, conversationId: string): void {
    try {
      const heard = this.#onEvent?.(event, conversationId);
      if (heard instanceof Promise) heard.catch(() => {});
    } catch {
      // A listener changes no outcome.
    }
  }

  #streamed(
    conversationId: string,
    signal: AbortSignal | undefined,
    begin: (signal: AbortSignal, emit: Emit) => Promise<OrchestrationResult<Message>>,
  ): RunStream<Message, T> {
    return openStream(conversationId, signal, begin, (answer) => this.provideToolResult(conversationId, answer));
  }
}

/** The limits that a `resume()` lifts. */
const LIMITS: ReadonlySet<string> = new Set(["max_steps", "budget_exceeded", "truncated"]);

/** What a `resume()` resets: otherwise a limit would be reached again immediately, forever. */
function freshStart({ head, rows }: StoredRun, limits: Limits): HeadChange {
  const { error, used, lifted } = head;
  if (error === null || !LIMITS.has(error.code)) return { error: null };
  const isOfCalls = openTurn(rows) !== undefined;
  return { error: null, lifted: isOfCalls ? liftCalls(used, lifted, limits) : used, liftedRows: head.rows };
}

/** Invalid options are refused later, where all of them are checked. */
function conversationIdOf(options: RunOptions | undefined): string {
  return options?.conversationId ?? newId("conversation");
}

function newId(kind: string): string {
  return `${kind}_${crypto.randomUUID().replaceAll("-", "")}`;
}

function internalOf(known: KnownTools): ToolSource {
  return { tools: () => known.all().filter(({ mode }) => mode === "internal") };
}
