import { storeKey } from "../store/store.ts";
import { headKey, isHeld } from "./checkpoint.ts";
import type { RunDeps } from "./deps.ts";
import { busy } from "./errors.ts";
import type { Head, Row } from "./format.ts";

/**
 * Deletes everything stored for a conversation, including the approvals of its runs. The head first: without it nobody
 * can continue the run, and if the process dies here, doing it again deletes the rest.
 */
export async function forgetRun({ store, executor }: RunDeps, conversationId: string): Promise<boolean> {
  const head = await store.get<Partial<Head> | null>(headKey(conversationId));
  if (head !== undefined) {
    // Unreadable runs may be deleted too.
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
