import { checkMs } from "../time.ts";
import { storeKey, type Store } from "../store/store.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import { ToolUse } from "../tool/use.ts";
import type { Approvals, Principal } from "./approvals/types.ts";
import { settle } from "./call-outcome.ts";
import { checkContext, typeName, type ExecutionContext } from "./context.ts";
import type { Deps } from "./deps.ts";
import { Emitter, type EventListener } from "./emitter.ts";
import { EndedHere } from "./ended-here.ts";
import { EventLog } from "./event-log.ts";
import type { ToolEvent } from "./events.ts";
import { Execution } from "./execution.ts";
import { safeMessage } from "../tool/safe-message.ts";
import { isOffered, type Authorize } from "./gate.ts";
import { RunHistory } from "./history.ts";
import { knownTools } from "./known-tools.ts";
import { actionIdOf, Ledger } from "./ledger.ts";
import type { Outcome } from "./outcome.ts";
import { createSchedule, type Place, type Schedule } from "./schedule.ts";
import { actionsOf, infoOf, type ActionInfo } from "./info.ts";
import { noting, untilIdle, type RunningCall } from "./running-call.ts";
import { snapshot } from "./snapshot.ts";
import type { Redact } from "./summary.ts";
import type { Telemetry } from "./telemetry-types.ts";
import { Undoer, type MayUndo, type UndoOptions, type UndoOutcome, type UndoRunReport } from "./undo.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** What an executor is made of. All but `tools` and `store` can be left out. */
export interface ToolExecutorOptions {
  /** The tools that may run: of a registry, or of a server, those that it has then. A use of another one is denied. */
  readonly tools: ToolSource;
  /** Where actions, their results and their undo data are kept. Processes that share it share the runs. */
  readonly store: Store;
  /** Who is asked. Without it, what needs approval is denied. */
  readonly approvals?: Approvals | undefined;
  /** The application's policy, asked for every call. */
  readonly authorize?: Authorize | undefined;
  /** Who may undo an action. Default: the principal that it was made for, and anybody where there was none. */
  readonly mayUndo?: MayUndo | undefined;
  readonly onEvent?: EventListener | undefined;
  /** Keep the events of each run, and number them over all processes. Default true: one write to the store an event. */
  readonly storeEvents?: boolean | undefined;
  /** How many calls of one `executeAll()` run at the same time. Default 8. */
  readonly concurrency?: number | undefined;
  /** Wait for decisions (true, the default), or come back with `awaiting_approval`. */
  readonly waitForApproval?: boolean | undefined;
  /** How long a call may take where neither tool nor context say it, in milliseconds. Default: without limit. */
  readonly timeoutMs?: number | undefined;
  /** Hides parts of inputs and outputs in the summaries of events, and in the question that is asked by default. */
  readonly redact?: Redact | undefined;
  readonly telemetry?: Telemetry | undefined;
  /** How large an output, or undo data, may be as JSON, in bytes. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** What of a handler's error the model and the events get. Default: {@link safeMessage}. */
  readonly errorMessage?: ((error: unknown, tool: Tool) => string) | undefined;
  /**
   * The digest of the program behind a tool, so that swapping the file voids an approval. Default: what
   * `tool.metadata.executableDigest` says, a text or a function that gives one.
   */
  readonly executableDigest?: ((tool: Tool) => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * How long a process that does not answer is waited for before others take it for dead, in milliseconds. Renewed while
   * a handler runs. Default 30 s.
   */
  readonly leaseMs?: number | undefined;
  /** The wait before a first retry, in milliseconds; it doubles with each. Default 200. */
  readonly retryDelayMs?: number | undefined;
}

/**
 * Runs the calls of models under rules: modes, policy, approval, time, history; records each before and after, so that
 * none runs twice; tells what happens; and undoes it.
 *
 * @example
 * const executor = new ToolExecutor({ tools, store: memoryStore(), onEvent: (event) => console.log(event.type) });
 * const outcome = await executor.execute(use, { runId: "run_1" });
 * if (outcome.status === "completed") await executor.undo(outcome.actionId);
 */
export class ToolExecutor {
  /** Whether the events of each run are kept, so that {@link events} has them. */
  readonly storeEvents: boolean;
  readonly #deps: Deps;
  readonly #store: Store;
  readonly #log: EventLog;
  readonly #undoer: Undoer;
  readonly #concurrency: number;
  /** By action. More than one only while those before wait for somebody. */
  readonly #running = new Map<string, Set<RunningCall>>();

  constructor(options: ToolExecutorOptions) {
    checkOptions(options);
    const { store, concurrency = 8, storeEvents = true, mayUndo, redact } = options;
    const ledger = new Ledger(store);
    this.storeEvents = storeEvents;
    this.#store = store;
    this.#log = new EventLog(store);
    this.#concurrency = concurrency;
    this.#deps = {
      tools: knownTools(options.tools),
      ledger,
      history: new RunHistory(store, ledger),
      emitter: new Emitter(storeEvents ? this.#log : undefined, options.onEvent),
      ended: new EndedHere(),
      approvals: options.approvals,
      authorize: options.authorize,
      // The root is a copy, and so is what is below it: a redaction may write into what it gets, and that is what runs.
      redact: redact && ((path, value) => redact(path, path.length === 1 ? snapshot(value) : value)),
      telemetry: options.telemetry,
      errorMessage: options.errorMessage ?? safeMessage,
      executableDigest: options.executableDigest ?? executableDigestOf,
      waitForApproval: options.waitForApproval ?? true,
      timeoutMs: options.timeoutMs,
      leaseMs: options.leaseMs ?? 30_000,
      retryDelayMs: options.retryDelayMs ?? 200,
      maxOutputBytes: options.maxOutputBytes ?? 1024 * 1024,
      owner: crypto.randomUUID(),
    };
    this.#undoer = new Undoer(this.#deps, mayUndo);
  }

  /** Who is asked, as it was given; `undefined`: nobody. */
  get approvals(): Approvals | undefined {
    return this.#deps.approvals;
  }

  /** The tools that may be called in a mode: what to offer to the model in the first place. */
  toolsFor(behavior?: string): readonly Tool[] {
    return this.#deps.tools.all().filter((tool) => isOffered(tool, behavior));
  }

  /**
   * Executes one call, once: the same run and invocation again, in this process or another, gives the outcome that is on
   * record, or goes on where it waits. The use gets its result or error, so that `adapter.toolResults(turn)` finds it.
   *
   * Never rejects for what tools, rules or stores do.
   *
   * @param schedule of {@link schedule}, when it is one of several. Default: nobody is waited for
   * @throws TypeError for a caller's mistake: no `runId`, an external tool, a use that was executed elsewhere, or an
   *   invocation id that another call of the run has
   * @throws ToolError `unresolved` for a use that waits for the result of another call
   */
  execute<Use extends ToolUse>(
    use: Use,
    context: ExecutionContext,
    schedule: Schedule = createSchedule(1),
  ): Promise<Outcome<OutputOf<Use>>> {
    this.#checkUse(use);
    checkContext(context);
    const place = schedule(this.#isSequential(use));
    return this.#execute(use, { ...context }, place) as Promise<Outcome<OutputOf<Use>>>;
  }

  /**
   * For calls of one turn that are executed as they come: those that are given the same one run as those of one
   * {@link executeAll} do.
   */
  schedule(): Schedule {
    return createSchedule(this.#concurrency);
  }

  /**
   * Executes the calls of a turn: begun in call order, side by side up to `concurrency`, a `sequential` tool alone. A
   * policy that takes long holds up those behind it where no place is left beside it. The outcomes are in call
   * order, and none depends on another's. A call that waits for approval holds nobody up.
   *
   * @param schedule of {@link schedule}, when calls of the turn were given it before. Default: one of its own
   * @throws TypeError as {@link execute}: before anything runs where the arguments tell it; for a use that was executed
   *   elsewhere, or an invocation id of another call, when the others have ended. Their uses have their outcomes
   */
  async executeAll(
    uses: readonly ToolUse[],
    context: ExecutionContext,
    schedule: Schedule = this.schedule(),
  ): Promise<Outcome[]> {
    if (!Array.isArray(uses)) throw new TypeError(`executeAll() takes a list of uses, got ${typeName(uses)}.`);
    for (const use of uses) this.#checkUse(use);
    checkContext(context);
    const places = uses.map((use) => schedule(this.#isSequential(use)));
    // Copied: the caller may go on to use the object for the next call.
    const own = { ...context };
    const settled = await Promise.allSettled(uses.map((use, at) => this.#execute(use, own, places[at]!)));
    return settled.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  /**
   * Undoes an action with the tool's `undo` function, once: of two that try, one does. Never rejects for what tools,
   * rules or stores do.
   *
   * @param actionId from the outcome or an event
   * @param principal who wants it undone; see `mayUndo`
   */
  undo(actionId: string, principal?: Principal, options: UndoOptions = {}): Promise<UndoOutcome> {
    if (typeof actionId !== "string" || actionId === "") {
      throw new TypeError(`undo() takes the actionId of an outcome or event, got ${typeName(actionId)}.`);
    }
    return this.#undoer.undo(actionId, principal, options);
  }

  /** Undoes what can be undone of a run, the last first, and reports what it could not. */
  undoRun(runId: string, principal?: Principal, options: UndoOptions = {}): Promise<UndoRunReport> {
    return this.#undoer.undoRun(runId, principal, options);
  }

  /**
   * The actions of a run as they are on record, in the order in which they began.
   *
   * @param options.invocationIds only those that are there of these: costs as much as they are, however long the run is
   */
  actions(runId: string, options: { readonly invocationIds?: readonly string[] } = {}): Promise<ActionInfo[]> {
    return actionsOf(this.#deps.ledger, runId, options.invocationIds);
  }

  /** One action as it is on record; `undefined` when there is none. */
  async action(actionId: string): Promise<ActionInfo | undefined> {
    const entry = await this.#deps.ledger.get(actionId);
    return entry === undefined ? undefined : infoOf(entry.value);
  }

  /** The number of the last event of a run, 0 before the first: to read on from there. */
  position(runId: string): Promise<number> {
    return this.#log.position(runId);
  }

  /**
   * Hears every event of this executor from now on, beside `onEvent`.
   *
   * @returns ends it
   */
  listen(listener: EventListener): () => void {
    if (typeof listener !== "function") throw new TypeError(`listen() takes a function, got ${typeName(listener)}.`);
    return this.#deps.emitter.listen(listener);
  }

  /** The events of a run behind a number: what a listener has missed. Needs `storeEvents`. */
  events(
    runId: string,
    { after = 0, limit }: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<ToolEvent[]> {
    return this.#log.read(runId, after, limit);
  }

  /**
   * Deletes what is on record of a run: its approvals, its actions, their undo data, its events. For runs that are over:
   * whoever executes one of its calls again after that asks again, and runs it again. One that is being executed is not:
   * its outcome is `unknown`.
   */
  async forget(runId: string): Promise<void> {
    // First: without its action an approval that was used would let the call run again.
    await this.#deps.approvals?.forget?.(runId);
    // The actions before the events: what still runs finds none, and tells nothing any more. Once more at the end: a call
    // that began meanwhile has seen the events of before, and what it wrote is gone with them.
    for (const kind of ["action", "event", "action-call", "action-count", "action-success", "action"]) {
      for (const { key } of await this.#store.list(`${storeKey(kind, runId)}/`)) await this.#store.delete(key);
    }
    this.#log.forget(runId);
    this.#deps.ended.forget(runId);
  }

  #isSequential({ name }: ToolUse): boolean {
    return this.#deps.tools.get(name)?.sequential === true;
  }

  #checkUse(use: ToolUse): void {
    if (typeof use?.take !== "function") {
      throw new TypeError(`execute() takes a ToolUse of a stream or of tool.use(), got ${typeName(use)}.`);
    }
    // A registry may have made it external for this executor alone.
    const { mode } = this.#deps.tools.get(use.name) ?? use.tool;
    if (use.tool.mode === "external" || mode === "external") {
      throw new TypeError(
        `Tool ${use.name} is external: its caller executes it and hands the result in with use.provideResult().`,
      );
    }
  }

  async #execute(use: ToolUse, context: ExecutionContext, place: Place): Promise<Outcome> {
    const actionId = actionIdOf(context.runId, use.invocationId);
    // In this process twice at once: the second gets what the first one gets, from the record.
    const others = this.#running.get(actionId) ?? new Set<RunningCall>();
    // While the first waits for somebody, the second does so by itself: it may want to come back at once, or to give up.
    const busy = [...others].find((one) => !one.isWaiting);
    if (busy !== undefined && context.signal?.aborted !== true) {
      // It runs elsewhere: those behind it need not wait for that.
      place.leave();
      await unlessAborted(() => untilIdle(busy), context.signal);
      return this.#execute(use, context, place);
    }
    // The same use is the first one's to settle, unless that gives up.
    const isTaken = [...others].some((one) => one.use === use);
    const running: RunningCall = { use, isWaiting: false, onWaiting: new Set(), ended: undefined! };
    const own = isTaken ? new ToolUse(use) : use;
    running.ended = new Execution(this.#deps, own, context, noting(running, place)).run();
    this.#running.set(actionId, others.add(running));
    try {
      const outcome = await running.ended;
      if (isTaken && use.state === "new") settle(use.take(), outcome);
      // While the first one is at it still, the copy alone has what is on record.
      const isAhead = use.state === "running" && outcome.status !== "awaiting_approval";
      return { ...outcome, use: isAhead ? own : use };
    } finally {
      others.delete(running);
      if (others.size === 0 && this.#running.get(actionId) === others) this.#running.delete(actionId);
    }
  }
}

/** What the handler behind a use gives. */
type OutputOf<Use> = Use extends ToolUse<any, infer Output> ? Output : never;

function executableDigestOf({ metadata }: Tool): string | undefined | Promise<string | undefined> {
  const { executableDigest } = metadata as { executableDigest?: unknown };
  return typeof executableDigest === "function" ? executableDigest() : (executableDigest as string | undefined);
}

function checkOptions(options: ToolExecutorOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`new ToolExecutor() takes { tools, store }, got ${typeName(options)}.`);
  }
  const { store, onEvent, authorize, approvals } = options;
  if (typeof store?.put !== "function") {
    throw new TypeError("new ToolExecutor() needs a store: memoryStore(), sqliteStore(…) or redisStore(…).");
  }
  if (onEvent !== undefined && typeof onEvent !== "function") throw new TypeError("onEvent is a function.");
  if (authorize !== undefined && typeof authorize !== "function") throw new TypeError("authorize is a function.");
  if (approvals !== undefined && typeof approvals?.request !== "function") {
    throw new TypeError("approvals is an ApprovalService.");
  }
  for (const name of ["timeoutMs", "leaseMs", "retryDelayMs"] as const) {
    const value = options[name];
    if (value !== undefined) checkMs(name, value);
  }
  for (const name of ["concurrency", "maxOutputBytes"] as const) {
    const value = options[name];
    if (value !== undefined && !(typeof value === "number" && value > 0)) {
      throw new TypeError(`${name} is a positive number, got ${String(value)}.`);
    }
  }
}
