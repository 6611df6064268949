import { isToolError } from "../errors.ts";
import { quietly } from "../quietly.ts";
import { parseJson, wellFormedJson } from "../json/index.ts";
import { textOf } from "../store/value.ts";
import type { Tool } from "../tool/tool.ts";
import { checkMessages, checkResumeOptions, checkRunOptions } from "./check.ts";
import { FRESH, readBegun, type Checkpoint, type HeadChange } from "./checkpoint.ts";
import { decisionsOf } from "./decisions.ts";
import { notWaiting, unknownRun } from "./errors.ts";
import { followEvents } from "./feed.ts";
import { forgetRun } from "./forget.ts";
import type { InputRow } from "./format.ts";
import { Inbox } from "./inbox.ts";
import { listRuns } from "./list.ts";
import { createLoop, type Loop, type Stop } from "./loop.ts";
import { depsOf, type OrchestratorOptions, type RunDeps } from "./options.ts";
import { resultOf, storedStop } from "./result.ts";
import { openStream, type RunStream } from "./run-stream.ts";
import { readToResume, takeForRun, takeToResume } from "./take.ts";
import { transcriptOf, type TranscriptEntry } from "./transcript.ts";
import type {
  Emit,
  ListRuns,
  OrchestrationResult,
  ResumeOptions,
  RunContext,
  RunOptions,
  RunSummary,
  ToolResultInput,
} from "./types.ts";
import { seeThrough } from "./wait.ts";

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
    this.#deps = depsOf(options as OrchestratorOptions);
    this.#inbox = new Inbox(this.#deps);
    this.#onEvent = options.onEvent as OrchestratorOptions["onEvent"];
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

  /** Short for `resume(conversationId, { ...context, toolResults })`: see {@link resume}. */
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
  async waitAndResume(conversationId: string, context: RunContext = {}): Promise<OrchestrationResult<Message>> {
    checkResumeOptions(context);
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
    const checkpoint = await takeForRun(this.#deps, options, conversationId, runId);
    if (checkpoint === undefined) return this.#asItStands(conversationId, emit);
    return this.#work(checkpoint, options, emit, async (loop, tell) => {
      // Only now, since takeForRun() may have waited.
      const at = Date.now();
      const canceled = await loop.cancelOpen();
      const liftedRows = checkpoint.rows.length + canceled.length;
      await checkpoint.commit({ ...FRESH, runId, startedAt: at, liftedRows }, [...canceled, { ...input, at }]);
      await tell({ type: "run.started", conversationId, runId });
    });
  }

  async #resume(conversationId: string, options: ResumeOptions, emit?: Emit): Promise<OrchestrationResult<Message>> {
    checkResumeOptions(options);
    const { toolResults = [], approvals = [] } = options;
    const before = await readToResume(this.#deps, conversationId, options);
    // First, what may be refused, for a completed run too: the error says which results it already has.
    const handIn = await this.#inbox.check(before, toolResults);
    const decisions = await decisionsOf(this.#deps, before, approvals);
    if (before.head.status === "completed") throw notWaiting(conversationId);
    for (const { id, principal, ...decision } of decisions) {
      await this.#deps.approvals!.decide(id, decision, principal);
    }
    await handIn();
    const checkpoint = await takeToResume(this.#deps, before, options);
    if (checkpoint === undefined) return this.#asItStands(conversationId, emit);
    return this.#work(checkpoint, options, emit, async (_, tell) => {
      await tell({ type: "run.resumed", conversationId, runId: checkpoint.head.runId });
    });
  }

  /** There is nothing left to do here: another call or process does it, or has done it. */
  async #asItStands(conversationId: string, emit: Emit | undefined): Promise<OrchestrationResult<Message>> {
    const result = await this.get(conversationId);
    if (result === undefined) throw unknownRun(conversationId);
    // Only to who reads this stream: to listeners, the other process has told it.
    await emit?.({ type: "run.ended", result });
    return result;
  }

  /** Works on a run until it stops, and releases it whatever happens. */
  async #work(
    checkpoint: Checkpoint,
    context: RunContext,
    emit: Emit | undefined,
    prepare: (loop: Loop, tell: Emit) => Promise<void>,
  ): Promise<OrchestrationResult<Message>> {
    const { executor } = this.#deps;
    const { conversationId } = checkpoint.head;
    const onEvent = this.#onEvent;
    const tell: Emit = (event) => {
      if (onEvent !== undefined) void quietly(() => onEvent(event, conversationId));
      return emit?.(event);
    };
    const isHeard = emit !== undefined || onEvent !== undefined;
    const loop = createLoop(this.#deps, checkpoint, context, this.#inbox, tell);
    let stop: Stop;
    let hasBegun = false;
    try {
      await loop.dropLost();
      await prepare(loop, tell);
      hasBegun = true;
      const feed = isHeard ? await followEvents(executor, checkpoint.head.runId, tell) : undefined;
      stop = await this.#stopped(loop, checkpoint).finally(() => feed?.end().catch(() => {}));
    } catch (error) {
      const { code, message } = isToolError(error)
        ? error
        : { code: "execution_failed" as const, message: String(error) };
      // Nothing was added before: then the run stays as it was.
      const change: HeadChange = hasBegun ? { status: "error", error: { code, message } } : {};
      // If this fails too, the lease expires by itself.
      await checkpoint.release(change).catch(() => checkpoint.abandon());
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
    const { input, messages = [], inputId, instructions, behavior, toolChoice, rewindTo } = options;
    const { model } = this.#deps;
    checkMessages(messages, model);
    // A blank input says nothing: see checkRunOptions().
    const said = input === undefined || input.trim() === "" ? [] : [model.userMessage(input)];
    const all = [...messages, ...said];
    if (all.length === 0) throw new TypeError("run() needs something to say: input, or messages.");
    return {
      kind: "input",
      runId: newId("run"),
      ...(inputId !== undefined && { inputId }),
      // A copy, as the store would return it, so that later changes to the caller's array have no effect. Half of a
      // character, as at the end of a text that was shortened, would make providers refuse the conversation for good.
      messages: parseJson(wellFormedJson(textOf(all))) as unknown[],
      ...(instructions !== undefined && { instructions }),
      ...(behavior !== undefined && { behavior }),
      ...(toolChoice !== undefined && { toolChoice: parseJson(textOf(toolChoice)) }),
      ...(rewindTo !== undefined && { keeps: rewindTo }),
    };
  }

  #streamed(
    conversationId: string,
    signal: AbortSignal | undefined,
    begin: (signal: AbortSignal, emit: Emit) => Promise<OrchestrationResult<Message>>,
  ): RunStream<Message, T> {
    return openStream(conversationId, signal, begin, (answer) => this.provideToolResult(conversationId, answer));
  }
}

/** Invalid options are refused later, where all of them are checked. */
function conversationIdOf(options: RunOptions | undefined): string {
  return options?.conversationId ?? newId("conversation");
}

function newId(kind: string): string {
  return `${kind}_${crypto.randomUUID().replaceAll("-", "")}`;
}
