import { isToolError } from "../errors.ts";
import { storeKey, type Store } from "../store/store.ts";
import type { JobResult } from "./job.ts";

/** What is on record of a write, under `job/<idempotency key>`. */
type Claim =
  | { readonly status: "started"; readonly worker: string; readonly at: number }
  | { readonly status: "done"; readonly result: JobResult; readonly at: number }
  | { readonly status: "failed"; readonly reason: string; readonly at: number };

/** Whether a worker may begin a write, or what came of it before. */
export type ClaimAnswer = { readonly status: "yours"; end(end: ClaimEnd): Promise<void> } | Claim;

export type ClaimEnd =
  | { readonly status: "done"; readonly result: JobResult }
  | { readonly status: "failed"; readonly reason: string };

/**
 * The record of writes, between the workers: a queue hands a job out again when the worker that has it gives no sign for a
 * while, and that one may have done it, or may still be at it. So who begins a write says so first, and only the first one
 * may.
 *
 * @throws ToolError `store_failed`: nobody knows whether it was begun before
 */
export async function claim(store: Store, idempotencyKey: string, worker: string): Promise<ClaimAnswer> {
  const key = storeKey("job", idempotencyKey);
  for (;;) {
    try {
      const started: Claim = { status: "started", worker, at: Date.now() };
      const { version } = await store.put<Claim>(key, started, { expectedVersion: 0 });
      return {
        status: "yours",
        async end(end) {
          await store.put<Claim>(key, { ...end, at: Date.now() }, { expectedVersion: version });
        },
      };
    } catch (error) {
      if (!isToolError(error) || error.code !== "version_conflict") throw error;
    }
    const entry = await store.get<Claim>(key);
    if (entry !== undefined) return entry.value;
  }
}
