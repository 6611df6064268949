import { ToolError } from "../errors.ts";
import { parseJson } from "../json/parse.ts";
import { settlesWithin } from "../time.ts";
import { createProgressQueue } from "../tool/progress-queue.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { errorOfReason, type JobResult } from "./job.ts";

/** How a job ended, according to the queue. `gone`: it does not exist (any more). */
export type JobEnd =
  | { readonly status: "completed"; readonly returned: unknown }
  | { readonly status: "failed"; readonly reason: unknown }
  | { readonly status: "gone" };

/** Operations on one job. */
export interface JobHandle {
  add(): Promise<void>;
  /** Removes it from the queue, or tells the worker that has it. */
  cancel(): Promise<void>;
}

interface Waiter {
  readonly onEnd: (end: JobEnd) => void;
  readonly onProgress: (value: unknown) => void;
  readonly onClose: () => void;
}

/**
 * The calls that wait for their jobs. Events report the ends; since events may get lost (a broken connection, a trimmed
 * stream), silent jobs are polled.
 */
export class Waiting {
  readonly #pollMs: number;
  readonly #look: (jobId: string) => Promise<JobEnd | undefined>;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #cancels = new Set<Promise<void>>();

  /** @param options.look reads how the job ended; `undefined` if it has not */
  constructor({ pollMs, look }: { pollMs: number; look(jobId: string): Promise<JobEnd | undefined> }) {
    this.#pollMs = pollMs;
    this.#look = look;
  }

  end(jobId: string, end: JobEnd): void {
    for (const { onEnd } of this.#waiters.get(jobId) ?? []) onEnd(end);
  }

  progress(jobId: string, data: unknown): void {
    const { text } = (data ?? {}) as { text?: unknown };
    if (typeof text !== "string") return;
    try {
      const value = parseJson(text);
      for (const { onProgress } of this.#waiters.get(jobId) ?? []) onProgress(value);
    } catch {
      // Not from one of our workers.
    }
  }

  /** Ends all waits. Resolves once their cancellations were sent. */
  async close(): Promise<void> {
    for (const waiters of this.#waiters.values()) for (const { onClose } of waiters) onClose();
    await Promise.all(this.#cancels);
  }

  /**
   * Queues a job and waits for its end. If the signal fires, the job is cancelled, and still waited for, unless the
   * queue does not answer.
   */
  async wait(jobId: string, tool: Tool, context: ToolContext, job: JobHandle): Promise<JobResult> {
    const { signal } = context;
    const { promise: ended, resolve: settle, reject: fail } = Promise.withResolvers<JobEnd>();
    ended.catch(() => {});
    const progress = createProgressQueue((value) => context.progress(value));
    const waiter: Waiter = {
      onEnd: settle,
      onProgress: progress.push,
      onClose: () => fail(lost(tool, "aborted", "The connection to the queue was closed while it was waited for.")),
    };
    const waiters = this.#waiters.get(jobId) ?? new Set();
    this.#waiters.set(jobId, waiters.add(waiter));
    const look = () => void this.#look(jobId).then(take, () => {});
    let grace: ReturnType<typeof setTimeout> | undefined;
    /** Whether the event of a job that is gone can no longer be expected. */
    let isOver = false;
    const take = (end: JobEnd | undefined) => {
      if (end?.status === "gone" && !isOver && signal?.aborted !== true) {
        grace ??= setTimeout(() => {
          isOver = true;
          look();
        }, EVENT_MS);
      } else if (end !== undefined) settle(end);
    };
    let timer: ReturnType<typeof setInterval> | undefined;
    let added: Promise<void>;
    const onAbort = async () => {
      if (await settlesWithin(ANSWER_MS, this.#cancel(added, job))) return;
      fail(lost(tool, "aborted", "It was given up, and the queue does not answer."));
    };
    try {
      signal?.throwIfAborted();
      added = job.add().catch((cause: unknown) => {
        throw lost(tool, "execution_failed", "It could not be handed to the queue.", cause);
      });
      signal?.addEventListener("abort", onAbort);
      // Without a server it may take forever.
      await Promise.race([added, ended]);
      timer = setInterval(look, this.#pollMs);
      // It may have ended before we listened, on behalf of another process.
      look();
      return resultOf(await ended, tool, signal);
    } finally {
      clearInterval(timer);
      clearTimeout(grace);
      isOver = true;
      signal?.removeEventListener("abort", onAbort);
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiters.delete(jobId);
      await progress.end(signal);
    }
  }

  #cancel(added: Promise<void>, job: JobHandle): Promise<void> {
    const canceled: Promise<void> = added
      .then(() => job.cancel())
      .catch(() => {})
      .finally(() => this.#cancels.delete(canceled));
    this.#cancels.add(canceled);
    return canceled;
  }
}

/**
 * A job that is removed at its end (`removeOnComplete: true`) may be gone before the event that says how it ended
 * arrives.
 */
const EVENT_MS = 1_000;

/** How long a call that was given up waits for the queue. */
const ANSWER_MS = 2_000;

function resultOf(end: JobEnd, tool: Tool, signal: AbortSignal | undefined): JobResult {
  switch (end.status) {
    case "completed": {
      const result = end.returned as Partial<JobResult> | null | undefined;
      if (typeof result?.output === "string") return result as JobResult;
      throw new ToolError("invalid_answer", "what the worker answered is no result");
    }
    case "failed":
      throw (
        errorOfReason(end.reason) ??
        lost(tool, "execution_failed", `The queue gave it up: ${String(end.reason).slice(0, 500)}.`)
      );
    case "gone":
      if (signal?.aborted === true) throw new ToolError("aborted", "It was taken out of the queue.");
      throw lost(tool, "aborted", "Its job was removed from the queue.");
  }
}

/** The error for a job without a worker's report: a write may have been started. */
function lost(tool: Tool, code: "aborted" | "execution_failed", message: string, cause?: unknown): ToolError {
  if (tool.effect !== "write") return new ToolError(code, message, { cause });
  const unknown = "Whether it was executed is unknown: look before you call it again.";
  return new ToolError("outcome_unknown", `${message} ${unknown}`, { cause });
}
