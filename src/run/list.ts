import { unlessItThrows } from "../quietly.ts";
import type { Store } from "../store/store.ts";
import { checkOptionNames, oneOf, type OptionNames } from "../tool/option-names.ts";
import { headKey, statusOf } from "./checkpoint.ts";
import { readHead, STATUSES, type Head } from "./format.ts";
import type { ListRuns, RunSummary } from "./types.ts";

/** The stored runs, in the order of their keys. A page of heads is read at a time, however many there are. */
export async function listRuns(store: Store, options: ListRuns): Promise<RunSummary[]> {
  checkOptionNames("list()", options, OPTIONS);
  const { status, limit = Infinity, after } = options;
  const runs: RunSummary[] = [];
  let last = after === undefined ? undefined : headKey(after);
  while (runs.length < limit) {
    // With a status, few of them may be what is looked for.
    const size = status === undefined ? Math.min(PAGE, limit - runs.length) : PAGE;
    const entries = await store.list("run/", { limit: size, ...(last !== undefined && { after: last }) });
    for (const { key, value } of entries) {
      const run = summaryOf(key, value);
      if (run !== undefined && (status === undefined || status === run.status)) runs.push(run);
      if (runs.length === limit) break;
    }
    if (entries.length < size) break;
    last = entries.at(-1)!.key;
  }
  return runs;
}

const PAGE = 500;
const OPTIONS: OptionNames<ListRuns> = {
  status: oneOf(...STATUSES),
  limit(_, limit) {
    if (limit === Infinity || (Number.isSafeInteger(limit) && limit > 0)) return;
    throw new TypeError(`limit is a whole number from 1, got ${String(limit)}.`);
  },
  after: true,
};

/** `undefined` for one that cannot be read, or whose process died before it had stored the input. */
function summaryOf(key: string, value: unknown): RunSummary | undefined {
  const head = unlessItThrows(() => readHead(value, (value as Partial<Head>).conversationId ?? ""));
  if (head === undefined || head.rows === 0 || key !== headKey(head.conversationId)) return undefined;
  const { conversationId, runId, wire, startedAt, updatedAt } = head;
  return { conversationId, runId, status: statusOf(head), wire, startedAt, updatedAt };
}
