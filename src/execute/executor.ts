import { storeKey, type Store } from "../store/store.ts";
import { kindOf } from "../schema/json.ts";
import type { Tool } from "../tool/tool.ts";
import { checkOptionNames, oneOf, type OptionNames } from "../tool/option-names.ts";
import { ToolUse } from "../tool/use.ts";
import type { Approvals, Principal } from "./approvals/types.ts";
import { Call } from "./call.ts";
import { checkAfter, checkContext, checkPrincipal, checkRunId, type ExecutionContext } from "./context.ts";
import { Emitter, type EventListener } from "./emitter.ts";
import { EventLog } from "./event-log.ts";
import type { ToolEvent } from "./events.ts";
import { execute } from "./execution.ts";
import { isOffered } from "./gate.ts";
import { RunHistory } from "./history.ts";
import { knownTools } from "./known-tools.ts";
import { actionIdOf, Ledger } from "./ledger.ts";
import { checkExecutorOptions, settingsOf, type Deps, type ToolExecutorOptions } from "./options.ts";
import { settle, type Outcome } from "./outcome.ts";
import { createSchedule, type Place, type Schedule } from "./schedule.ts";
import { actionsOf, infoOf, type ActionInfo } from "./info.ts";
import { noting, type RunningCall } from "./running-call.ts";
import { Undoer, type UndoOptions, type UndoOutcome, type UndoRunReport } from "./undo.ts";
import { unlessAborted } from "./unless-aborted.ts";

const UNDO_OPTIONS: OptionNames<UndoOptions> = { retry: true, onFailure: oneOf("continue", "stop"), signal: true };
const ACTIONS_OPTIONS: OptionNames<WhichActions> = { invocationIds: true };
const EVENTS_OPTIONS: OptionNames<WhichEvents> = { after: true, limit: true };

/** Which of a run's actions. */
interface WhichActions {
  readonly invocationIds?: readonly string[] | undefined;
}

/** Which of a run's events. */
interface WhichEvents {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/**
 * Runs calls of models under rules: modes, policy, approval, time limits, history. Records each action before and
 * after, so that none runs twice, emits events, and can undo actions.
 *
 * @example
 * const executor = new ToolExecutor({ tools, store: memoryStore(), onEvent: (event) => console.log(event.type) });
 * const outcome = await executor.execute(use, { runId: "run_1" });
 * if (outcome.status === "completed") await executor.undo(outcome.actionId);
 */
export class ToolExecutor {
  /** Whether the events of each run are kept, for {@link events}. */
  readonly storeEvents: boolean;
  /** Where actions and events are kept. */
  readonly store: Store;
  readonly #deps: Deps;
  readonly #log: EventLog;
  readonly #undoer: Undoer;
  readonly #concurrency: number;
  /** By action. There is more than one only while the earlier ones wait for somebody. */
  readonly #running = new Map<string, Set<RunningCall>>();

  constructor(options: ToolExecutorOptions) {
    checkExecutorOptions(options);
    const { store, concurrency = 8, storeEvents = true } = options;
    const ledger = new Ledger(store);
    this.storeEvents = storeEvents;
    this.store = store;
    this.#log = new EventLog(store);
    this.#concurrency = concurrency;
    this.#deps = {
      ...settingsOf(options),
      tools: knownTools(options.tools),
      ledger,
      history: new RunHistory(store, ledger),
      emitter: new Emitter(storeEvents ? this.#log : undefined, options.onEvent),
      ended: new Map(),
    };
    this.#undoer = new Undoer(this.#deps, options.mayUndo);
  }

  /** The approval service that was given; `undefined` if none. */
  get approvals(): Approvals | undefined {
    return this.#deps.approvals;
  }

  /** All the tools that it may run: the executor itself can be passed wherever tools are taken. */
  tools(): readonly Tool[] {
    return this.#deps.tools.all();
  }

  /** The tools that may be called in a mode: those to offer to the model. */
  toolsFor(behavior?: string): readonly Tool[] {
    return this.#deps.tools.all().filter((tool) => isOffered(tool, behavior));
  }

  /**
   * Executes one call, once: executing the same run and invocation again, in this process or another, returns the
   * recorded outcome, or continues where it waits. The use gets its result or error, where `adapter.toolResults(turn)`
   * finds it.
   *
   * Never rejects because of tools, rules or stores.
   *
   * @param schedule from {@link schedule}, if it is one of several calls. Default: waits for no other call
   * @throws TypeError for a caller's mistake: no `runId`, an external tool, a use that was executed elsewhere, or an
   *   invocation id that another call of the run has
   * @throws ToolError `unresolved` for a use that waits for the result of another call
   */
  execute<Use extends ToolUse>(
    use: Use,
    context: ExecutionContext,
    schedule: Schedule = createSchedule(1),
  ): Promise<Outcome<OutputOf<Use>>> {
    checkContext(context);
    this.#checkUse(use, context);
    const place = schedule(this.#isSequential(use));
    return this.#execute(use, { ...context }, place) as Promise<Outcome<OutputOf<Use>>>;
  }

  /**
   * For calls of one turn that are executed as they arrive: calls that share a schedule follow the rules of one
   * {@link executeAll}.
   */
  schedule(): Schedule {
    return createSchedule(this.#concurrency);
  }

  /**
   * Executes the calls of a turn: started in call order, up to `concurrency` at once, `sequential` tools alone. A slow
   * policy holds up the calls after it if no slot is left. The outcomes are in call order and independent of each
   * other. A call that waits for approval holds up no other.
   *
   * @param schedule from {@link schedule}, if earlier calls of the turn used one. Default: a new one
   * @throws TypeError as {@link execute} does: before anything runs if the arguments show it; for a use that was
   *   executed elsewhere, or the invocation id of another call, after the others have ended. Their uses have their
   *   outcomes
   */
  async executeAll(
    uses: readonly ToolUse[],
    context: ExecutionContext,
    schedule: Schedule = this.schedule(),
  ): Promise<Outcome[]> {
    if (!Array.isArray(uses)) throw new TypeError(`executeAll() takes a list of uses, got ${kindOf(uses)}.`);
    checkContext(context);
    for (const use of uses) this.#checkUse(use, context);
    const places = uses.map((use) => schedule(this.#isSequential(use)));
    // Copied, since the caller may reuse the object for the next call.
    const own = { ...context };
    const settled = await Promise.allSettled(uses.map((use, at) => this.#execute(use, own, places[at]!)));
    return settled.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  /**
   * Undoes an action with the tool's `undo` function, once: of two attempts, one succeeds. Never rejects because of
   * tools, rules or stores.
   *
   * @param actionId from the outcome or an event
   * @param principal who wants to undo it; see `mayUndo`
   */
  undo(actionId: string, principal?: Principal, options: UndoOptions = {}): Promise<UndoOutcome> {
    if (typeof actionId !== "string" || actionId === "") {
      throw new TypeError(`undo() takes the actionId of an outcome or event, got ${kindOf(actionId)}.`);
    }
    checkUndo("undo()", principal, options);
    return this.#undoer.undo(actionId, principal, options);
  }

  /** Undoes what can be undone of a run, last action first, and reports what could not be undone. */
  undoRun(runId: string, principal?: Principal, options: UndoOptions = {}): Promise<UndoRunReport> {
    checkRunId("undoRun()", runId);
    checkUndo("undoRun()", principal, options);
    return this.#undoer.undoRun(runId, principal, options);
  }

  /**
   * The recorded actions of a run, in the order in which they started.
   *
   * @param options.invocationIds only these, as far as they exist: the cost depends on their number, not on the run's
   */
  actions(runId: string, options: WhichActions = {}): Promise<ActionInfo[]> {
    checkRunId("actions()", runId);
    checkOptionNames("actions()", options, ACTIONS_OPTIONS);
    return actionsOf(this.#deps.ledger, runId, options.invocationIds);
  }

  /** One recorded action; `undefined` if there is none. */
  async action(actionId: string): Promise<ActionInfo | undefined> {
    const entry = await this.#deps.ledger.get(actionId);
    return entry === undefined ? undefined : infoOf(entry.value);
  }

  /** The number of the last event of a run, 0 before the first: to read on from there. */
  position(runId: string): Promise<number> {
    checkRunId("position()", runId);
    return this.#log.position(runId);
  }

  /**
   * Listens to every event of this executor from now on, in addition to `onEvent`.
   *
   * @returns a function that stops listening
   */
  listen(listener: EventListener): () => void {
    if (typeof listener !== "function") throw new TypeError(`listen() takes a function, got ${kindOf(listener)}.`);
    return this.#deps.emitter.listen(listener);
  }

  /**
   * The events of a run after a number: what a listener has missed. Needs `storeEvents`.
   *
   * @param options.after default 0: from the first one
   * @param options.limit at most so many. Default: all
   */
  events(runId: string, options: WhichEvents = {}): Promise<ToolEvent[]> {
    checkRunId("events()", runId);
    checkOptionNames("events()", options, EVENTS_OPTIONS);
    const { after = 0, limit } = options;
    checkAfter(after);
    return this.#log.read(runId, after, limit);
  }

  /**
   * Deletes everything recorded for a run: its approvals, actions, undo data and events. For finished runs: executing
   * one of its calls afterwards asks and runs again. The outcome of a call that is being executed meanwhile is
   * `unknown`.
   */
  async forget(runId: string): Promise<void> {
    checkRunId("forget()", runId);
    // Approvals first: a used approval whose action is gone would let the call run again.
    await this.#deps.approvals?.forget?.(runId);
    // Actions before events: calls that still run then find no action, and emit nothing more; what they were just about
    // to emit comes in time for the events. And once more at the end, for calls that started meanwhile and saw the old
    // events.
    for (const kind of ["action", "action-call", "action-count", "action-success", "event", "action"]) {
      for (const { key } of await this.store.list(`${storeKey(kind, runId)}/`)) await this.store.delete(key);
    }
    this.#log.forget(runId);
    const { ended } = this.#deps;
    for (const actionId of ended.keys()) if (actionId.startsWith(`${storeKey(runId)}/`)) ended.delete(actionId);
  }

  #isSequential({ name }: ToolUse): boolean {
    return this.#deps.tools.get(name)?.sequential === true;
  }

  #checkUse(use: ToolUse, { uniqueIds }: ExecutionContext): void {
    if (typeof use?.take !== "function") {
      throw new TypeError(`execute() takes a ToolUse of a stream or of tool.use(), got ${kindOf(use)}.`);
    }
    // A registry may have made it external for this executor alone. A call on record may have run before it was.
    const known = uniqueIds === true ? undefined : this.#deps.tools.get(use.name);
    if (use.tool.mode === "external" || known?.mode === "external") {
      throw new TypeError(
        `Tool ${use.name} is external: its caller executes it and hands the result in with use.provideResult().`,
      );
    }
  }

  async #execute(use: ToolUse, context: ExecutionContext, place: Place): Promise<Outcome> {
    const actionId = actionIdOf(context.runId, use.invocationId);
    // Executed twice at once in this process: the second gets the first one's outcome from the record.
    const others = this.#running.get(actionId) ?? new Set<RunningCall>();
    // While the first waits for somebody, the second waits by itself: it may want to return immediately, or to give up.
    const busy = [...others].find((one) => one.busy !== undefined)?.busy;
    if (busy !== undefined && context.signal?.aborted !== true && context.abandon !== true) {
      // It runs elsewhere: the calls after it need not wait.
      place.leave();
      await unlessAborted(() => busy.promise, context.signal);
      return this.#execute(use, context, place);
    }
    // The first execution settles a shared use, unless it gives up.
    const isTaken = [...others].some((one) => one.use === use);
    const running: RunningCall = { use, busy: Promise.withResolvers() };
    const own = isTaken ? new ToolUse(use) : use;
    this.#running.set(actionId, others.add(running));
    try {
      const outcome = await execute(new Call(this.#deps, own, context, noting(running, place)));
      if (isTaken && use.state === "new") settle(use.take(), outcome);
      // While the first one is still running, only the copy has what is on record.
      const isAhead = use.state === "running" && outcome.status !== "awaiting_approval";
      return { ...outcome, use: isAhead ? own : use };
    } finally {
      others.delete(running);
      if (others.size === 0) this.#running.delete(actionId);
    }
  }
}

/** What the handler behind a use returns. */
type OutputOf<Use> = Use extends ToolUse<any, infer Output> ? Output : never;

function checkUndo(taker: string, principal: Principal | undefined, options: UndoOptions): void {
  checkPrincipal(principal);
  checkOptionNames(taker, options, UNDO_OPTIONS);
}
