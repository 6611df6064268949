import { ToolError } from "../errors.ts";
import { parseJson } from "../json/parse.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { errorOfReason, type JobResult } from "./job.ts";

/** How a job has ended, as the queue tells it. `gone`: it is not there (any more). */
export type JobEnd =
  | { readonly status: "completed"; readonly returned: unknown }
  | { readonly status: "failed"; readonly reason: unknown }
  | { readonly status: "gone" };

/** What can be done about one job. */
export interface JobHandle {
  add(): Promise<void>;
  /** Takes it out of the queue, or tells the worker that has it. */
  cancel(): Promise<void>;
}

interface Waiter {
  readonly onEnd: (end: JobEnd) => void;
  readonly onProgress: (value: unknown) => void;
  readonly onClose: () => void;
}

/**
 * The calls that wait for their jobs. Told by events; as these may get lost (a connection that breaks, a stream that was
 * cut), jobs of which nothing is heard are looked at from time to time.
 */
export class Waiting {
  readonly #pollMs: number;
  readonly #look: (jobId: string) => Promise<JobEnd | undefined>;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #cancels = new Set<Promise<void>>();

  /** @param options.look how the job stands; `undefined`: it has not ended */
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
      // Not of a worker of ours.
    }
  }

  /** Nobody waits any more. Resolves when those that gave up have said so. */
  async close(): Promise<void> {
    for (const waiters of this.#waiters.values()) for (const { onClose } of waiters) onClose();
    await Promise.all(this.#cancels);
  }

  /** Puts a job into the queue and waits for its end; when the signal fires it is cancelled, and waited for nevertheless. */
  async wait(jobId: string, tool: Tool, context: ToolContext, job: JobHandle): Promise<JobResult> {
    const { signal } = context;
    let settle!: (end: JobEnd) => void;
    let fail!: (error: unknown) => void;
    const ended = new Promise<JobEnd>((resolve, reject) => {
      settle = resolve;
      fail = reject;
    });
    ended.catch(() => {});
    const waiter: Waiter = {
      onEnd: settle,
      onProgress: (value) => void context.progress(value),
      onClose: () => fail(lost(tool, "aborted", "The connection to the queue was closed while it was waited for.")),
    };
    const onAbort = () => this.#cancel(job);
    const waiters = this.#waiters.get(jobId) ?? new Set();
    this.#waiters.set(jobId, waiters.add(waiter));
    const look = () => void this.#look(jobId).then(take, () => {});
    let grace: ReturnType<typeof setTimeout> | undefined;
    /** The time in which the event of a job that is not there any more may yet come. */
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
    try {
      signal?.throwIfAborted();
      const added = job.add().catch((cause: unknown) => {
        throw lost(tool, "execution_failed", "It could not be handed to the queue.", cause);
      });
      // Without a server it may take for ever.
      await Promise.race([added, ended]);
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener("abort", onAbort);
      timer = setInterval(look, this.#pollMs);
      // It may have ended before anybody listened, for another process that asked for it.
      look();
      return resultOf(await ended, tool, signal);
    } finally {
      clearInterval(timer);
      clearTimeout(grace);
      isOver = true;
      signal?.removeEventListener("abort", onAbort);
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiters.delete(jobId);
    }
  }

  #cancel(job: JobHandle): void {
    const canceled: Promise<void> = job
      .cancel()
      .catch(() => {})
      .finally(() => this.#cancels.delete(canceled));
    this.#cancels.add(canceled);
  }
}

/** A job that is removed when it ends (`removeOnComplete: true`) may be gone before the event arrives that says how it ended. */
const EVENT_MS = 1_000;

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

/** What is known of a job without a worker's word: of a write, that it may have been begun. */
function lost(tool: Tool, code: "aborted" | "execution_failed", message: string, cause?: unknown): ToolError {
  if (tool.effect !== "write") return new ToolError(code, message, { cause });
  const unknown = "Whether it was executed is unknown: look before you call it again.";
  return new ToolError("outcome_unknown", `${message} ${unknown}`, { cause });
}
