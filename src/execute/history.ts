import { create } from "../store/create.ts";
import { storeKey, type Store } from "../store/store.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import { CallCount } from "./call-count.ts";
import type { Denial } from "./gate.ts";
import { actionIdOf, ifUnreadable, type ActionRow, type Ledger } from "./ledger.ts";
import { quietly } from "../quietly.ts";

/**
 * The rules about what happened earlier in the run. Their state is in the store, shared by all processes. None reads
 * all actions of a run for a single call, or calls would become ever more expensive in long runs.
 *
 * ```
 * action-call/run_1/call_7/sha256:…  "0-1"     the first call with this provider id, tool and input
 * action-success/run_1/read_file     "0-1"     a call that succeeded, or was about to
 * action-count/run_1/send_mail       { … }     see CallCount
 * ```
 *
 * A tool's success is written before its first call is recorded as done. So without that row, none has succeeded; with
 * one, the action it names says whether it still counts. If not (it was undone, or its process died at that moment), all
 * actions are read, and the row then names another one.
 */
export class RunHistory {
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #count: CallCount;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#ledger = ledger;
    this.#count = new CallCount(store, ledger);
  }

  /**
   * The action of this run with the same provider id, tool and input. Providers reuse ids for other calls, and models
   * repeat calls that were already answered: only a call that agrees in all three looks like a replay.
   */
  async repeatOf(runId: string, invocationId: string, toolCallId: string, digest: string): Promise<string | undefined> {
    const key = storeKey("action-call", runId, toolCallId, digest);
    if ((await create(this.#store, key, invocationId)) !== undefined) return undefined;
    const first = (await this.#store.get<string>(key))?.value;
    return first === undefined || first === invocationId ? undefined : actionIdOf(runId, first);
  }

  /** `requires` and `maxCallsPerRun`, as far as they can be checked before the call is shown to anybody. */
  async judge(tool: Tool, runId: string, use: ToolUse): Promise<Denial | undefined> {
    const { name, requires = [], maxCallsPerRun } = tool;
    const missing: string[] = [];
    for (const required of typeof requires === "string" ? [requires] : requires) {
      if (!(await this.#hasSucceeded(required, runId, use))) missing.push(required);
    }
    if (missing.length > 0) {
      const message = `${name} needs ${missing.join(", ")} to succeed first, in an earlier turn.`;
      return { decision: "deny", reason: "requirement_missing", message };
    }
    if (maxCallsPerRun === undefined) return undefined;
    // Also for a call that was counted before the limit became 0, and whose process died.
    const isFull = maxCallsPerRun === 0 || (await this.#count.isFull(name, maxCallsPerRun, runId, use.invocationId));
    return isFull ? tooMany(tool) : undefined;
  }

  /** Counts the call, right before it starts. */
  async claim(tool: Tool, runId: string, invocationId: string): Promise<Denial | undefined> {
    const { name, maxCallsPerRun } = tool;
    if (maxCallsPerRun === undefined) return undefined;
    return (await this.#count.claim(name, maxCallsPerRun, runId, invocationId)) ? undefined : tooMany(tool);
  }

  /**
   * Call this before a call is recorded as done. Never rejects: without the row the tool seems not to have succeeded
   * (until it does so again), and calls that require it are denied, which is safe.
   */
  succeeding(action: ActionRow): Promise<void> {
    const { toolName, runId, invocationId } = action;
    const key = successKey(runId, toolName);
    return quietly(async () => {
      // Not cached: another process may have deleted the run.
      if ((await this.#store.get(key)) !== undefined) return;
      // And with it this very action, which then will not be done.
      if (await this.#ledger.holds(action)) await create(this.#store, key, invocationId);
    });
  }

  /** Whether a tool has succeeded and was not undone since, before the turn of the call that needs it. */
  async #hasSucceeded(toolName: string, runId: string, use: ToolUse): Promise<boolean> {
    const key = successKey(runId, toolName);
    const counts = (row: ActionRow) => isSuccess(row, toolName) && !isOfTurn(row.invocationId, use);
    const noted = await this.#store.get<string>(key);
    if (noted === undefined) return false;
    // An unreadable row says nothing about the others.
    const action = await this.#ledger.get(actionIdOf(runId, noted.value)).catch(ifUnreadable);
    if (action !== undefined && counts(action.value)) return true;
    const other = (await this.#ledger.list(runId)).find(({ value }) => counts(value));
    if (other === undefined) return false;
    await this.#store.put(key, other.value.invocationId);
    return true;
  }
}

function successKey(runId: string, toolName: string): string {
  return storeKey("action-success", runId, toolName);
}

function isSuccess({ toolName, status, undo }: ActionRow, name: string): boolean {
  return toolName === name && status === "done" && undo?.state !== "undone";
}

/**
 * The model wrote a call of the same turn before its result. The ids of a stream's calls end in their turn and
 * position: within a turn, only the position differs.
 */
function isOfTurn(invocationId: string, { invocationId: own, turnIndex, position }: ToolUse): boolean {
  if (!own.endsWith(`-${turnIndex}-${position}`)) return false;
  const turn = own.slice(0, -String(position).length);
  return invocationId.startsWith(turn) && /^\d+$/.test(invocationId.slice(turn.length));
}

function tooMany(tool: Tool): Denial {
  const { name, maxCallsPerRun } = tool;
  const message = `${name} can be called ${maxCallsPerRun} times in one run, and was.`;
  return { decision: "deny", reason: "too_many_calls", message };
}
