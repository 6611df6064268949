import { storeKey, type Store } from "../store/store.ts";
import { actionIdOf, ifUnreadable, type ActionRow, type Ledger } from "./ledger.ts";

/**
 * Which tools have succeeded in a run, and were not undone since: told without a look at all of its actions.
 *
 * ```
 * action-success/run_1/read_file  "0-1"     a call that succeeded, or was about to
 * ```
 *
 * The row of a tool is written before the first of its calls is on record as done. So where there is no row, none has
 * succeeded; where there is one, its action says whether it still counts. If it does not (it was undone, or its process
 * died right then), all actions are looked at, and the row names another one.
 */
export class Successes {
  readonly #store: Store;
  readonly #ledger: Ledger;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#ledger = ledger;
  }

  /**
   * To be said before a call is on record as done. Never rejects: without the row the tool seems not to have succeeded
   * (until it does so again), and what is waiting for that is denied, which is the safe side.
   */
  async note(action: ActionRow): Promise<void> {
    const { toolName, runId, invocationId } = action;
    const key = keyOf(runId, toolName);
    try {
      // Not remembered: another process may have deleted the run.
      if ((await this.#store.get(key)) !== undefined) return;
      // And with it this very action, which will not be done then.
      if (await this.#ledger.holds(action)) await this.#store.put(key, invocationId, { expectedVersion: 0 });
    } catch {
      // Somebody was faster, or the store fails.
    }
  }

  async has(toolName: string, runId: string): Promise<boolean> {
    const key = keyOf(runId, toolName);
    const noted = await this.#store.get<string>(key);
    if (noted === undefined) return false;
    // One that can not be read says nothing about the others.
    const action = await this.#ledger.get(actionIdOf(runId, noted.value)).catch(ifUnreadable);
    if (action !== undefined && isSuccess(action.value, toolName)) return true;
    const other = (await this.#ledger.list(runId)).find(({ value }) => isSuccess(value, toolName));
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
