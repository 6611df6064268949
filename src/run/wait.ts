import type { ApprovalRequest, Approvals } from "../execute/approvals/types.ts";
import type { Store } from "../store/store.ts";
import type { Answers } from "./answers.ts";
import { headKey, isHeld, readHeadEntry } from "./checkpoint.ts";
import type { CallRecord } from "./format.ts";

/** How often to look although nothing was told: messages of a store may get lost. */
const POLL_MS = 5_000;
const RELEASE_POLL_MS = 1_000;

/** Waits until nobody works on a run, or the signal fires. */
export async function waitForRelease(
  store: Store,
  conversationId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const bell = createBell(signal);
  const stop = await store.subscribe(headKey(conversationId), bell.ring);
  try {
    for (;;) {
      const entry = await readHeadEntry(store, conversationId);
      if (signal?.aborted === true || entry === undefined || !isHeld(entry.value)) return;
      await bell.wait(Math.min(RELEASE_POLL_MS, entry.value.lease!.until - Date.now()));
    }
  } finally {
    bell.end();
    await stop();
  }
}

/** Waits until something may have changed of what a run waits for: a result, a decision, the end of a call's time. */
export async function waitForChange(
  answers: Answers,
  { external = [], approvals = [] }: { external?: readonly CallRecord[]; approvals?: readonly ApprovalRequest[] },
  service: Approvals | undefined,
  isThere: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const bell = createBell(signal);
  const leave = new AbortController();
  // First listen, then look: what comes in between rings.
  const stop = await answers.watch(bell.ring);
  for (const { id } of approvals) service?.await(id, { signal: leave.signal }).then(bell.ring, () => {});
  try {
    if (signal?.aborted === true || (await isThere())) return;
    const next = Math.min(...external.map(({ expiresAt = Infinity }) => expiresAt));
    await bell.wait(Math.min(POLL_MS, next - Date.now()));
  } finally {
    bell.end();
    leave.abort();
    await stop();
  }
}

/** Something to wait on that may ring before anybody waits. */
function createBell(signal: AbortSignal | undefined) {
  let hasRung = false;
  let wake: (() => void) | undefined;
  const ring = (): void => {
    hasRung = true;
    wake?.();
  };
  signal?.addEventListener("abort", ring);
  return {
    ring,
    async wait(ms: number): Promise<void> {
      if (!hasRung) {
        let timer: ReturnType<typeof setTimeout> | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, Math.max(1, ms));
        });
        clearTimeout(timer);
      }
      hasRung = false;
      wake = undefined;
    },
    end: () => signal?.removeEventListener("abort", ring),
  };
}
