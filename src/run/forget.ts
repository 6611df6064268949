import { isConflict } from "../store/errors.ts";
import { storeKey, type Store, type StoreEntry } from "../store/store.ts";
import { headKey, isHeld, rowKey } from "./checkpoint.ts";
import { busy } from "./errors.ts";
import type { Head, Row } from "./format.ts";
import type { RunDeps } from "./options.ts";

/**
 * Deletes everything stored for a conversation, including the approvals of its runs. The head first: without it nobody
 * can continue the run, and if the process dies here, doing it again deletes the rest.
 */
export async function forgetRun(deps: RunDeps, conversationId: string): Promise<boolean> {
  const { head, ...rest } = await readAll(deps.store, conversationId);
  if (head !== undefined) {
    // Unreadable runs may be deleted too.
    const lease = head.value?.lease;
    if (lease && isHeld({ lease })) throw busy(conversationId);
    await deps.store.delete(head.key, { expectedVersion: head.version });
  }
  await deleteRest(deps, rest);
  return head !== undefined;
}

/** Deletes what an interrupted {@link forgetRun} has left, before a new run overwrites the rows that say what it is. */
export async function forgetRest(deps: RunDeps, conversationId: string): Promise<void> {
  if ((await deps.store.get(rowKey(conversationId, 0))) === undefined) return;
  const { head, ...rest } = await readAll(deps.store, conversationId);
  if (head === undefined) await deleteRest(deps, rest);
}

async function deleteRest({ store, executor }: RunDeps, { rows, answers }: Rest): Promise<void> {
  for (const { value } of rows) {
    if (value?.kind === "input" && typeof value.runId === "string") await executor.forget(value.runId);
  }
  // The first row last: as long as it is there, forgetRest() knows that something is left.
  for (const { key, version } of [...answers, ...rows.toReversed()]) {
    // Somebody may have started the conversation anew: those rows stay.
    await store.delete(key, { expectedVersion: version }).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  }
}

type HeadEntry = StoreEntry<Partial<Head> | null>;

interface Rest {
  readonly rows: readonly StoreEntry<Partial<Row> | null>[];
  readonly answers: readonly StoreEntry[];
}

/** The head, and what belongs to it: what is read while it is stored, or while there is none, is of no later run. */
async function readAll(store: Store, conversationId: string): Promise<Rest & { head: HeadEntry | undefined }> {
  const key = headKey(conversationId);
  for (;;) {
    const head: HeadEntry | undefined = await store.get(key);
    const rows = await store.list<Partial<Row> | null>(`${storeKey("run-row", conversationId)}/`);
    const answers = await store.list(`${storeKey("run-answer", conversationId)}/`);
    // Whether that head is still stored is checked when it is deleted.
    if (head !== undefined || (await store.get(key)) === undefined) return { head, rows, answers };
  }
}
