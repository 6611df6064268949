import { storeKey, type Store } from "../store/store.ts";
import { updateEntry } from "../store/update.ts";
import { actionIdOf, ifUnreadable, type Ledger } from "./ledger.ts";

/** How many calls of one tool a run has had: those on record as started, and those that are about to be. */
interface CountRow {
  readonly started: number;
  /** Invocation ids. If a process dies before it starts a claimed call, the one that resumes it uses the same claim. */
  readonly claimed: readonly string[];
}

/**
 * Counts the calls of tools with `maxCallsPerRun`:
 *
 * ```
 * action-count/run_1/send_mail  { started: 41, claimed: ["0-7"] }
 * ```
 *
 * The next claim turns earlier ones into a count once their actions have started, so the row stays small.
 */
export class CallCount {
  readonly #store: Store;
  readonly #ledger: Ledger;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#ledger = ledger;
  }

  /** Whether one more would be too many, as it looks now. */
  async isFull(toolName: string, max: number, runId: string, invocationId: string): Promise<boolean> {
    const row = (await this.#store.get<CountRow>(keyOf(runId, toolName)))?.value;
    return row !== undefined && !row.claimed.includes(invocationId) && row.started + row.claimed.length >= max;
  }

  /** Claims a slot right before the call starts: of two calls competing for the last one, only one gets it. */
  async claim(toolName: string, max: number, runId: string, invocationId: string): Promise<boolean> {
    let isClaimed = false;
    const hasStarted = async (id: string) => {
      const status = (await this.#ledger.get(actionIdOf(runId, id)).catch(ifUnreadable))?.value.status;
      return status !== undefined && status !== "planned";
    };
    await updateEntry<CountRow>(this.#store, keyOf(runId, toolName), async (row = NONE) => {
      // Another process has started this very call: it is counted, and the next write here will find that out.
      isClaimed = row.claimed.includes(invocationId) || (await hasStarted(invocationId));
      if (isClaimed || row.started + row.claimed.length >= max) return undefined;
      isClaimed = true;
      const claimed: string[] = [];
      for (const id of row.claimed) if (!(await hasStarted(id))) claimed.push(id);
      const started = row.started + row.claimed.length - claimed.length;
      return { started, claimed: [...claimed, invocationId] };
    });
    return isClaimed;
  }
}

const NONE: CountRow = { started: 0, claimed: [] };

function keyOf(runId: string, toolName: string): string {
  return storeKey("action-count", runId, toolName);
}
