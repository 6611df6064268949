import type { StoreEntry } from "../store/store.ts";
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
  const isAborted = () => signal?.aborted === true;
  let wake!: () => void;
  const woken = new Promise<void>((resolve) => (wake = resolve));
  const timer = setTimeout(wake, Math.max(10, row.lease!.until - Date.now() + 10));
  signal?.addEventListener("abort", wake);
  try {
    const unwatch = await ledger.watch(actionId, wake);
    try {
      // It may have ended before the watch began.
      const now = await ledger.get(actionId);
      if (now?.version === version && !isAborted()) await woken;
    } finally {
      await unwatch();
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", wake);
  }
  return !isAborted();
}
