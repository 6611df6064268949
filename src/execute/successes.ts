import { storeKey, type Store } from "../store/store.ts";
import type { ToolUse } from "../tool/use.ts";
import { actionIdOf, ifUnreadable, type ActionRow, type Ledger } from "./ledger.ts";

/**
 * Which tools have succeeded in a run and were not undone since, known without reading all of its actions.
 *
 * ```
 * action-success/run_1/read_file  "0-1"     a call that succeeded, or was about to
 * ```
 *
 * A tool's row is written before its first call is recorded as done. So without a row, none has succeeded; with one,
 * the action it names says whether it still counts. If not (it was undone, or its process died at that moment), all
 * actions are read, and the row then names another one.
 */
export class Successes {
  readonly #store: Store;
  readonly #ledger: Ledger;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#ledger = ledger;
  }

  /**
   * Call this before a call is recorded as done. Never rejects: without the row the tool seems not to have succeeded
   * (until it does so again), and calls that require it are denied, which is safe.
   */
  async note(action: ActionRow): Promise<void> {
    const { toolName, runId, invocationId } = action;
    const key = keyOf(runId, toolName);
    try {
      // Not cached: another process may have deleted the run.
      if ((await this.#store.get(key)) !== undefined) return;
      // And with it this very action, which then will not be done.
      if (await this.#ledger.holds(action)) await this.#store.put(key, invocationId, { expectedVersion: 0 });
    } catch {
      // Another process was faster, or the store failed.
    }
  }

  /** @param use the call that needs it: those of its own turn do not count, since the model wrote it before their result */
  async has(toolName: string, runId: string, use: ToolUse): Promise<boolean> {
    const key = keyOf(runId, toolName);
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

function keyOf(runId: string, toolName: string): string {
  return storeKey("action-success", runId, toolName);
}

function isSuccess({ toolName, status, undo }: ActionRow, name: string): boolean {
  return toolName === name && status === "done" && undo?.state !== "undone";
}

/** The ids of a stream's calls end in their turn and position: within a turn, only the position differs. */
function isOfTurn(invocationId: string, { invocationId: own, turnIndex, position }: ToolUse): boolean {
  if (!own.endsWith(`-${turnIndex}-${position}`)) return false;
  const turn = own.slice(0, -String(position).length);
  return invocationId.startsWith(turn) && /^\d+$/.test(invocationId.slice(turn.length));
}
