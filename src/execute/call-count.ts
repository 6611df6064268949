import { storeKey, type Store } from "../store/store.ts";
import { updateEntry } from "../store/update.ts";
import { actionIdOf, ifUnreadable, type ActionRow, type Ledger } from "./ledger.ts";

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
    const row = (await this.#store.get<CountRow>(keyOf(runId, toolName)))?.value ?? NONE;
    if (row.claimed.includes(invocationId) || sizeOf(row) < max) return false;
    return sizeOf(await this.#now(row, runId)) >= max;
  }

  /** Claims a slot right before the call starts: of two calls competing for the last one, only one gets it. */
  async claim(toolName: string, max: number, runId: string, invocationId: string): Promise<boolean> {
    let isClaimed = false;
    await updateEntry<CountRow>(this.#store, keyOf(runId, toolName), async (row = NONE) => {
      // Another process has started this very call: it is counted, and the next write here will find that out.
      isClaimed =
        row.claimed.includes(invocationId) || (await this.#action(runId, invocationId))?.startedAt !== undefined;
      if (isClaimed) return undefined;
      const now = await this.#now(row, runId);
      isClaimed = sizeOf(now) < max;
      return isClaimed ? { ...now, claimed: [...now.claimed, invocationId] } : undefined;
    });
    return isClaimed;
  }

  /** Claims whose actions have started are counted; those whose actions have ended without that are gone. */
  async #now({ started, claimed }: CountRow, runId: string): Promise<CountRow> {
    const open: string[] = [];
    for (const id of claimed) {
      const action = await this.#action(runId, id);
      if (action?.startedAt !== undefined) started++;
      else if (action === undefined || action.status === "planned") open.push(id);
    }
    return { started, claimed: open };
  }

  async #action(runId: string, invocationId: string): Promise<ActionRow | undefined> {
    return (await this.#ledger.get(actionIdOf(runId, invocationId)).catch(ifUnreadable))?.value;
  }
}

function sizeOf({ started, claimed }: CountRow): number {
  return started + claimed.length;
}

const NONE: CountRow = { started: 0, claimed: [] };

function keyOf(runId: string, toolName: string): string {
  return storeKey("action-count", runId, toolName);
}
