import type { StoreEntry } from "../store/store.ts";
import { createWakeUp } from "../time.ts";
import { actionIdOf, type ActionRow, type Ledger } from "./ledger.ts";

/**
 * Another process is working on it: waits for its outcome, or for the end of its lease.
 *
 * @returns false when the caller gave up first
 */
export async function waitForOther(
  ledger: Ledger,
  { value: row, version }: StoreEntry<ActionRow>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const actionId = actionIdOf(row.runId, row.invocationId);
  const wakeUp = createWakeUp(signal);
  const unwatch = await ledger.watch(actionId, wakeUp.wake);
  try {
    // It may have ended before the watch began.
    const now = await ledger.get(actionId);
    if (now?.version === version) await wakeUp.wait(Math.max(10, row.lease!.until - Date.now() + 10));
  } finally {
    await unwatch();
  }
  return signal?.aborted !== true;
}
