import { storeKey } from "../store/store.ts";
import { headKey, isHeld } from "./checkpoint.ts";
import type { RunDeps } from "./deps.ts";
import { busy } from "./errors.ts";
import type { Head, Row } from "./format.ts";

/**
 * Deletes all that is stored of a conversation, with the approvals of its runs. The head first: without it nobody goes on
 * with the run, and what is left when the process dies here is deleted by doing it again.
 */
export async function forgetRun({ store, executor }: RunDeps, conversationId: string): Promise<boolean> {
  const head = await store.get<Partial<Head> | null>(headKey(conversationId));
  if (head !== undefined) {
    // Also what can not be read any more may be deleted.
    const lease = head.value?.lease;
    if (lease && isHeld({ lease })) throw busy(conversationId);
    await store.delete(head.key, { expectedVersion: head.version });
  }
  const rows = await store.list<Partial<Row> | null>(`${storeKey("run-row", conversationId)}/`);
  for (const { value } of rows) {
    if (value?.kind === "input" && typeof value.runId === "string") await executor.forget(value.runId);
  }
  const answers = await store.list(`${storeKey("run-answer", conversationId)}/`);
  for (const { key } of [...answers, ...rows]) await store.delete(key);
  return head !== undefined;
}
