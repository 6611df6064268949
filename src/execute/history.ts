import { isConflict } from "../store/errors.ts";
import { storeKey, type Store } from "../store/store.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import { CallCount } from "./call-count.ts";
import type { Denial } from "./gate.ts";
import { actionIdOf, type ActionRow, type Ledger } from "./ledger.ts";
import { Successes } from "./successes.ts";

/**
 * The rules about what happened earlier in the run. Their state is in the store, shared by all processes. None reads
 * all actions of a run for a single call, or calls would become ever more expensive in long runs.
 */
export class RunHistory {
  readonly #store: Store;
  readonly #successes: Successes;
  readonly #count: CallCount;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#successes = new Successes(store, ledger);
    this.#count = new CallCount(store, ledger);
  }

  /**
   * The action of this run with the same provider id, tool and input. Providers reuse ids for other calls, and models
   * repeat calls that were already answered: only a call that agrees in all three looks like a replay.
   */
  async repeatOf(runId: string, invocationId: string, toolCallId: string, digest: string): Promise<string | undefined> {
    const key = storeKey("action-call", runId, toolCallId, digest);
    try {
      await this.#store.put(key, invocationId, { expectedVersion: 0 });
      return undefined;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    const first = (await this.#store.get<string>(key))?.value;
    return first === undefined || first === invocationId ? undefined : actionIdOf(runId, first);
  }

  /** `requires` and `maxCallsPerRun`, as far as they can be checked before the call is shown to anybody. */
  async judge(tool: Tool, runId: string, use: ToolUse): Promise<Denial | undefined> {
    const { name, requires = [], maxCallsPerRun } = tool;
    const missing: string[] = [];
    for (const required of typeof requires === "string" ? [requires] : requires) {
      if (!(await this.#successes.has(required, runId, use))) missing.push(required);
    }
    if (missing.length > 0) {
      const message = `${name} needs ${missing.join(", ")} to succeed first, in an earlier turn.`;
      return { decision: "deny", reason: "requirement_missing", message };
    }
    if (maxCallsPerRun === undefined) return undefined;
    const isFull = maxCallsPerRun === 0 || (await this.#count.isFull(name, maxCallsPerRun, runId, use.invocationId));
    return isFull ? tooMany(tool) : undefined;
  }

  /** Counts the call, right before it starts. */
  async claim(tool: Tool, runId: string, invocationId: string): Promise<Denial | undefined> {
    const { name, maxCallsPerRun } = tool;
    if (maxCallsPerRun === undefined) return undefined;
    return (await this.#count.claim(name, maxCallsPerRun, runId, invocationId)) ? undefined : tooMany(tool);
  }

  /** Call this before a call is recorded as done. */
  succeeding(action: ActionRow): Promise<void> {
    return this.#successes.note(action);
  }
}

function tooMany(tool: Tool): Denial {
  const { name, maxCallsPerRun } = tool;
  const message = `${name} can be called ${maxCallsPerRun} times in one run, and was.`;
  return { decision: "deny", reason: "too_many_calls", message };
}
