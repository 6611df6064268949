import { create } from "../store/create.ts";
import { BRIEFLY, putSurely } from "../store/outlast.ts";
import { storeKey, type Store } from "../store/store.ts";
import type { JobResult } from "./job.ts";

/** The record of a write, under `job/<idempotency key>`. */
type Claim =
  | { readonly status: "started"; readonly worker: string; readonly at: number }
  | { readonly status: "done"; readonly result: JobResult; readonly at: number }
  | { readonly status: "failed"; readonly reason: string; readonly at: number };

/** Whether a worker may start a write, or the record of an earlier start. */
export type ClaimAnswer = { readonly status: "yours"; end(end: ClaimEnd): Promise<void> } | Claim;

export type ClaimEnd =
  | { readonly status: "done"; readonly result: JobResult }
  | { readonly status: "failed"; readonly reason: string };

/**
 * The record of writes shared by the workers. A queue hands a job out again if its worker is silent for a while,
 * although that one may have done it, or may still be running it. So a worker records that it starts a write first, and
 * only the first one may.
 *
 * @throws ToolError `store_failed`: nobody knows whether it was started before
 */
export async function claim(store: Store, idempotencyKey: string, worker: string): Promise<ClaimAnswer> {
  const key = claimKey(idempotencyKey);
  for (;;) {
    const own = await create<Claim>(store, key, { status: "started", worker, at: Date.now() });
    if (own !== undefined) {
      return {
        status: "yours",
        // Without it, the outcome is unknown to whoever is given the job again.
        async end(end) {
          await putSurely<Claim>(store, key, { ...end, at: Date.now() }, own.version, BRIEFLY);
        },
      };
    }
    const entry = await store.get<Claim>(key);
    if (entry !== undefined) return entry.value;
  }
}

/** Whether a worker has started this write. */
export async function isClaimed(store: Store, idempotencyKey: string): Promise<boolean> {
  return (await store.get(claimKey(idempotencyKey))) !== undefined;
}

/** Only once no worker can be given the job again: without its record the write would be started a second time. */
export async function forgetClaim(store: Store, idempotencyKey: string): Promise<void> {
  await store.delete(claimKey(idempotencyKey));
}

function claimKey(idempotencyKey: string): string {
  return storeKey("job", idempotencyKey);
}
