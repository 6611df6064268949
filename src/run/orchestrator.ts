import { isToolError, ToolError } from "../errors.ts";
import { checkDecision } from "../execute/approvals/decision.ts";
import type { Approvals } from "../execute/approvals/types.ts";
import { ToolExecutor } from "../execute/executor.ts";
import { knownTools, type KnownTools } from "../execute/known-tools.ts";
import { parseJson } from "../json/parse.ts";
import type { Model } from "../model.ts";
import type { Store } from "../store/store.ts";
import { textOf } from "../store/value.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import { checkLimits, liftCalls, NOTHING_USED, type Budgets, type Limits } from "./budgets.ts";
import { checkId, checkMessages, checkParts, checkResumeOptions, checkRunOptions } from "./check.ts";
import { Checkpoint, headKey, isHeld, readRun, type HeadChange, type StoredRun } from "./checkpoint.ts";
import type { Emit, RunDeps } from "./deps.ts";
import { busy, isBusy, notWaiting, runOpen, unknownRun } from "./errors.ts";
import { followEvents } from "./feed.ts";
import { forgetRun } from "./forget.ts";
import { readHead, type Head, type InputRow } from "./format.ts";
import { Inbox } from "./inbox.ts";
import { Loop, type Stop } from "./loop.ts";
import { resultOf, storedStop } from "./result.ts";
import { isGivenUp, openTurn } from "./rows.ts";
import { openStream, type RunStream } from "./run-stream.ts";
import type {
  ApprovalInput,
  OrchestrationResult,
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
  readonly model: Model<Message>;
  /** The tools that are offered: of a registry, or of a server, those that it has at each turn. Default: none. */
  readonly tools?: ToolSource<T> | undefined;
  /** Where runs are kept. Processes that share it share the runs. */
  readonly store: Store;
  /** Runs the internal tools. Default: one over `tools`, `store` and `approvals`. */
  readonly executor?: ToolExecutor | undefined;
  /** Who is asked. Default: what the executor was made with, which is the one that asks. */
  readonly approvals?: Approvals | undefined;
  /** Turns of one run. Default 32. A `resume()` after the limit gives as many again. */
  readonly maxSteps?: number | undefined;
  readonly budgets?: Budgets | undefined;
  /** How often in a row a turn may be cut (by its length, by the connection) and asked for again. Default 2. */
  readonly maxCutTurns?: number | undefined;
  /**
   * Milliseconds before a turn in which the provider or the connection failed is asked for again; doubles with each,
   * with some chance in it, up to a minute. Default 500.
   */
  readonly retryDelayMs?: number | undefined;
  /** Whether results that are handed in are checked. Default `true`: against the tool's `outputSchema`. */
  readonly validateResults?: ValidateResults | undefined;
  /** What is sent of a long conversation. Calls and results are paired again behind it. Stored is all of it. */
  readonly trim?: ((messages: readonly Message[]) => readonly Message[] | Promise<readonly Message[]>) | undefined;
  /** Hears everything. What it throws changes nothing. */
  readonly onEvent?: ((event: RunEvent<T>, conversationId: string) => unknown) | undefined;
  /** After so many milliseconds without a sign a process is taken for dead, and another may take the run. Default 30 s. */
  readonly leaseMs?: number | undefined;
}

/**
 * The loop of an agent: asks the model, executes what it calls here, hands the rest to the caller, and goes on when the
 * results are in; in minutes or days, in this process or another. Every step is stored before and after.
 *
 * @example
 * const orchestrator = new Orchestrator({ model: openaiChat.model(new OpenAI(), { model: "gpt-5-mini" }), tools, store });
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
    const { model, store, executor, tools = [], trim, validateResults = true } = options;
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
      leaseMs,
      executor: executor ?? new ToolExecutor({ tools: internalOf(known), store, approvals, leaseMs }),
    };
    this.#inbox = new Inbox(this.#deps);
  }

  /**
   * Begins a run: a new conversation, or more of a known one. What a provider or a tool does wrong is a result; rejected
   * is what nobody could go on from.
   *
   * @throws ToolError `run_open` (the conversation waits for results), `run_busy`, `lease_lost`, `store_failed`,
   *   `invalid_checkpoint`, `checkpoint_newer`, `wrong_wire`
   * @throws TypeError for a caller's mistake
   */
  run(options: RunOptions<Message>): Promise<OrchestrationResult<Message>> {
    return this.#run(options, conversationIdOf(options));
  }

  /** {@link run}, with its events while they happen. */
  stream(options: RunOptions<Message>): RunStream<Message, T> {
    const conversationId = conversationIdOf(options);
    return this.#streamed(conversationId, options?.signal, (signal, emit) =>
      this.#run({ ...options, signal }, conversationId, emit),
    );
  }

  /**
   * Goes on with a run that waits, has failed, has reached a limit, or whose process died. With results, decisions, or
   * without: then what has arrived in other ways counts, and calls whose time is over.
   *
   * @throws ToolError `unknown_run`, `not_waiting` (it is completed), `unknown_call`, `already_answered`,
   *   `invalid_result`, `approval_not_found` and its like: nothing was changed then; and those of {@link run}
   */
  resume(conversationId: string, options: ResumeOptions = {}): Promise<OrchestrationResult<Message>> {
    return this.#resume(conversationId, options);
  }

  /** {@link resume}, with its events while they happen. */
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
   * Hands in one result and does nothing else: while the turn still streams, or another process works on the run. A run
   * that waits goes on with `resume()`.
   *
   * @throws ToolError `unknown_run`, `unknown_call`, `already_answered`, `invalid_result`
   */
  provideToolResult(conversationId: string, result: ToolResultInput): Promise<void> {
    return this.#inbox.handIn(conversationId, [result]);
  }

  /**
   * How a conversation stands; changes nothing. `undefined` when there is none. One that is worked on now has the status
   * `error` with code `run_busy`, or `awaiting_tool_results` where results can be handed in meanwhile.
   */
  async get(conversationId: string): Promise<OrchestrationResult<Message> | undefined> {
    const stored = await readRun(this.#deps.store, conversationId);
    if (stored === undefined || hasNotBegun(stored)) return undefined;
    return resultOf(stored, await storedStop(this.#deps, stored));
  }

  /** The runs that are stored, in the order of their conversations' keys. What can not be read is left out. */
  async list(filter: { readonly status?: RunSummary["status"] } = {}): Promise<RunSummary[]> {
    const entries = await this.#deps.store.list("run/");
    return entries.flatMap(({ key, value }) => {
      try {
        const head = readHead(value, (value as Partial<Head>).conversationId ?? "");
        const { conversationId, runId, status, wire, startedAt, updatedAt } = head;
        const fits =
          key === headKey(conversationId) && head.rows > 0 && (filter.status === undefined || filter.status === status);
        return fits ? [{ conversationId, runId, status, wire, startedAt, updatedAt }] : [];
      } catch {
        return [];
      }
    });
  }

  /**
   * Sees a run through: waits until something of what it waits for is there, whoever brought it and to which process,
   * and resumes it; until it waits for nothing more, or the signal fires. A store that fails for a moment is looked at
   * again, five times in a row, some 15 seconds in all.
   *
   * @throws ToolError `unknown_run`, and what {@link resume} throws
   */
  waitAndResume(conversationId: string, context: RunContext = {}): Promise<OrchestrationResult<Message>> {
    return seeThrough(this.#deps, conversationId, context.signal, () => this.resume(conversationId, context));
  }

  /**
   * Deletes a conversation: what was said, the results that were handed in, the executor's record of its runs, and
   * the approvals that were asked for in them.
   *
   * @returns false when there was none
   * @throws ToolError `run_busy`, `version_conflict` (somebody went on with it at this moment): nothing was deleted
   */
  forget(conversationId: string): Promise<boolean> {
    checkId(conversationId);
    return forgetRun(this.#deps, conversationId);
  }

  // -- the two ways in

  async #run(options: RunOptions<Message>, conversationId: string, emit?: Emit): Promise<OrchestrationResult<Message>> {
    const { store, model, leaseMs } = this.#deps;
    checkRunOptions(options);
    checkId(conversationId);
    const input = this.#inputOf(options);
    const stored = await readRun(store, conversationId);
    if (stored !== undefined) this.#checkWire(stored);
    // Whoever works on it may be at these very calls.
    if (stored !== undefined && isHeld(stored.head)) throw busy(conversationId);
    const open = stored && openTurn(stored.rows);
    if (open !== undefined && !isGivenUp(open) && options.whenOpen !== "cancel") throw runOpen(conversationId);
    const { runId, at: startedAt } = input;
    const checkpoint =
      stored === undefined
        ? await Checkpoint.create(store, leaseMs, { conversationId, runId, wire: model.adapter.name })
        : await Checkpoint.take(store, leaseMs, stored);
    return this.#work(checkpoint, options, emit, async (loop, tell) => {
      await loop.cancelOpen();
      const fresh = {
        runId,
        startedAt,
        used: NOTHING_USED,
        lifted: NOTHING_USED,
        error: null,
        pending: [],
        requestId: null,
      };
      await checkpoint.append(input, { ...fresh, liftedRows: checkpoint.rows.length });
      await tell({ type: "run.started", conversationId, runId });
    });
  }

  async #resume(conversationId: string, options: ResumeOptions, emit?: Emit): Promise<OrchestrationResult<Message>> {
    checkResumeOptions(options);
    const { toolResults = [], approvals = [], signal } = options;
    checkId(conversationId);
    const before = await readRun(this.#deps.store, conversationId);
    if (before === undefined || hasNotBegun(before)) throw unknownRun(conversationId);
    this.#checkWire(before);
    if (isHeld(before.head)) throw busy(conversationId);
    // First what may be refused, of a completed run too: it says which results it has had.
    await this.#inbox.check(before, toolResults);
    const decisions = await this.#decisionsOf(before, approvals);
    if (before.head.status === "completed") throw notWaiting(conversationId);
    for (const { id, principal, ...decision } of decisions) {
      await this.#deps.approvals!.decide(id, decision, principal);
    }
    if (toolResults.length > 0) await this.#inbox.handIn(conversationId, toolResults, before);
    const checkpoint = await this.#take(before, toolResults.length + approvals.length > 0, signal);
    if (checkpoint === undefined) return (await this.get(conversationId))!;
    return this.#work(checkpoint, options, emit, async (_, tell) => {
      await tell({ type: "run.resumed", conversationId, runId: checkpoint.head.runId });
    });
  }

  /**
   * Before any is decided: they are of this run. Those that will be refused (decided already, or by somebody else only), or
   * may be (for an edited input), come first, so that nothing was changed then.
   */
  async #decisionsOf({ head }: StoredRun, approvals: readonly ApprovalInput[]): Promise<readonly ApprovalInput[]> {
    if (approvals.length === 0) return [];
    const service = this.#deps.approvals;
    if (service === undefined) {
      throw new TypeError("To decide approvals with resume(), give new Orchestrator() an ApprovalService.");
    }
    const { conversationId, runId } = head;
    const ranked: { readonly rank: number; readonly input: ApprovalInput }[] = [];
    for (const input of approvals) {
      const { id, principal, ...decision } = input;
      checkDecision(decision);
      if ((await service.get(id))?.runId !== runId) {
        throw new ToolError(
          "approval_not_found",
          `No call of conversation ${conversationId} waits for the approval ${JSON.stringify(id)}. Nothing was changed.`,
        );
      }
      if (ranked.some((before) => before.input.id === id)) {
        throw new ToolError("already_decided", `The approval ${id} is decided twice at once. Nothing was changed.`);
      }
      const open = await service.list({ runId, status: "pending", principal });
      const rank = !open.some((one) => one.id === id) ? 0 : decision.editedInput !== undefined ? 1 : 2;
      ranked.push({ rank, input });
    }
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ input }) => input);
  }

  /**
   * Takes the run. Who has brought something waits until another one is done, for that one may not have seen it.
   *
   * @returns `undefined` when the other one has completed it
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

  /** Works on a run until it stops, and gives it back whatever happens. */
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
      const { code, message } = isToolError(error) ? error : { code: "aborted", message: String(error) };
      // If this fails too, the lease ends by itself.
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

  #inputOf(options: RunOptions<Message>): InputRow {
    const { input, messages = [], instructions, behavior, toolChoice } = options;
    const { model } = this.#deps;
    checkMessages(messages, model);
    // A blank one is nothing to say: see checkRunOptions().
    const said = input === undefined || input.trim() === "" ? [] : [model.userMessage(input)];
    const all = [...messages, ...said];
    if (all.length === 0) throw new TypeError("run() needs something to say: input, or messages.");
    return {
      kind: "input",
      runId: newId("run"),
      at: Date.now(),
      // A copy, as the store gives it back: what the caller does with its own list later changes nothing.
      messages: parseJson(textOf(all)) as unknown[],
      ...(instructions !== undefined && { instructions }),
      ...(behavior !== undefined && { behavior }),
      ...(toolChoice !== undefined && { toolChoice: parseJson(textOf(toolChoice)) }),
    };
  }

  #checkWire({ head }: StoredRun): void {
    const { name } = this.#deps.model.adapter;
    if (head.wire === name) return;
    throw new ToolError(
      "wrong_wire",
      `Conversation ${head.conversationId} has messages in the form of ${head.wire}, and the model speaks ${name}. Go on with a model of ${head.wire}.`,
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

/** What a `resume()` changes: a limit, reached again at once, would be one for ever. */
function freshStart({ head, rows }: StoredRun, limits: Limits): HeadChange {
  const { error, used, lifted } = head;
  if (error === null || !LIMITS.has(error.code)) return { error: null };
  const isOfCalls = openTurn(rows) !== undefined;
  return { error: null, lifted: isOfCalls ? liftCalls(used, lifted, limits) : used, liftedRows: head.rows };
}

/** Its process died before it had stored what was said: nobody was told of it, and `run()` begins it again. */
function hasNotBegun({ rows }: StoredRun): boolean {
  return rows.length === 0;
}

/** What is no object is refused where all of it is looked at. */
function conversationIdOf(options: RunOptions | undefined): string {
  return options?.conversationId ?? newId("conversation");
}

function newId(kind: string): string {
  return `${kind}_${crypto.randomUUID().replaceAll("-", "")}`;
}

function internalOf(known: KnownTools): ToolSource {
  return { tools: () => known.all().filter(({ mode }) => mode === "internal") };
}
