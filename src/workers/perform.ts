import { isToolError, type ToolErrorCode } from "../errors.ts";
import { cutShort, runHandler, type HandlerFailure } from "../execute/attempt.ts";
import type { KnownTools } from "../execute/known-tools.ts";
import { jsonOf, outputOf, undoText } from "../execute/output.ts";
import { jsonIn } from "../json/parse.ts";
import type { Store } from "../store/store.ts";
import { safeMessage } from "../tool/safe-message.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { claim } from "./claims.ts";
import { digestOfTool, reasonText, readJob, type JobData, type JobResult } from "./job.ts";

/** What a worker needs to perform jobs. */
export interface Workshop {
  readonly tools: Pick<KnownTools, "get">;
  /** For writes. */
  readonly store: Store | undefined;
  /** Who this worker is, for the record. */
  readonly worker: string;
  readonly maxOutputBytes: number;
  readonly errorMessage: (error: unknown, tool: Tool) => string;
}

/** One start of a job. */
export interface JobStart {
  readonly data: unknown;
  /** From 1, over all workers. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => Promise<void>;
}

/** A failed job: `message` is the reason as the queue keeps it. */
export class JobFailure extends Error {
  /** Whether it must not be retried. */
  readonly isFinal: boolean;

  constructor(code: ToolErrorCode, message: string, options: { cause?: unknown; isFinal?: boolean } = {}) {
    super(reasonText(code, message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "JobFailure";
    this.isFinal = options.isFinal ?? true;
  }
}

/**
 * Performs a job: runs its tool's handler, under the tool's timeout; a write only if no worker has started it before.
 *
 * @throws JobFailure
 */
export async function perform(shop: Workshop, start: JobStart): Promise<JobResult> {
  const data = readJob(start.data);
  if (typeof data === "string") throw new JobFailure("invalid_call", `This job cannot be performed: ${data}.`);
  let call: Awaited<ReturnType<typeof checked>>;
  try {
    call = await checked(shop, data);
  } catch (error) {
    // Another worker may have started it as a write: then this error is not its outcome. Without a store there are no
    // writes.
    if (start.attempt > 1 && shop.store !== undefined) return once(shop, start, data, () => Promise.reject(error));
    throw error;
  }
  const { tool, input } = call;
  const work = () => run(shop, start, data, tool, input);
  return tool.effect === "write" ? once(shop, start, data, work) : work();
}

/** Does the work, or reports the outcome at the worker that started it. */
async function once(
  shop: Workshop,
  start: JobStart,
  data: JobData,
  work: () => Promise<JobResult>,
): Promise<JobResult> {
  const answer = await claimed(shop, start, data);
  if (answer.status === "done") return answer.result;
  if (answer.status === "failed") {
    throw Object.assign(new JobFailure("execution_failed", ""), { message: answer.reason });
  }
  if (answer.status !== "yours") {
    // Started, or a record that this version cannot have written.
    throw new JobFailure("outcome_unknown", `${UNKNOWN} Another worker began it and gave no sign any more.`);
  }
  try {
    const result = await work();
    // If it cannot be recorded, at least this worker and, if it can be told, the queue know it.
    await answer.end({ status: "done", result }).catch(() => {});
    return result;
  } catch (error) {
    const failure = asFailure(error);
    await answer.end({ status: "failed", reason: failure.message }).catch(() => {});
    throw failure;
  }
}

const UNKNOWN =
  "It was started, and it is not known what came of it. It may have had its effect: look before you call it again.";

/** Data in the queue is untrusted input. */
async function checked({ tools }: Workshop, data: JobData) {
  if (data.isGivenUp === true) throw new JobFailure("aborted", "It was given up before this worker began it.");
  const tool = tools.get(data.tool);
  if (tool?.execute === undefined) {
    throw new JobFailure("unknown_tool", `The workers have no tool ${JSON.stringify(data.tool)}. It was not executed.`);
  }
  if ((await digestOfTool(tool)) !== data.definition) {
    throw new JobFailure(
      "definition_changed",
      `The workers have another definition of ${tool.name} than the one that was called: deploy both with the same one. It was not executed.`,
    );
  }
  const read = tool.inputSchema.validate(jsonIn(data.input));
  if (!read.ok) {
    throw new JobFailure("invalid_input", `The input of ${tool.name} does not fit its schema. It was not executed.`);
  }
  return { tool, input: read.value };
}

async function claimed({ store, worker }: Workshop, { attempt }: JobStart, data: JobData) {
  try {
    return await claim(store!, data.context.idempotencyKey, worker);
  } catch (cause) {
    // At the first attempt nobody has started it.
    if (attempt === 1) {
      throw new JobFailure("store_failed", `${data.tool} was not executed: its record cannot be read.`, { cause });
    }
    throw new JobFailure("outcome_unknown", `${UNKNOWN} Its record cannot be read.`, { cause });
  }
}

async function run(shop: Workshop, start: JobStart, data: JobData, tool: Tool, input: unknown): Promise<JobResult> {
  const { attempt, signal, onProgress } = start;
  let undoData: string | false | undefined;
  const progress = (value: unknown) => tellProgress(value, onProgress);
  const { ended } = runHandler({
    handler: (_, stop) => {
      const context: ToolContext = {
        ...data.context,
        toolName: tool.name,
        attempt,
        signal: stop,
        progress: (value) => (stop.aborted ? Promise.resolve() : progress(value)),
        undoData: (value) => void (undoData = undoText(value, shop.maxOutputBytes)),
      };
      return tool.execute!(input, context) as unknown;
    },
    onProgress: progress,
    timeoutMs: tool.timeoutMs,
    signal,
  });
  const end = await ended;
  if (!end.ok) throw failureOf(shop, tool, end);
  try {
    const { value, marks } = outputOf(tool, end.value, shop.maxOutputBytes);
    return {
      output: JSON.stringify(value),
      ...(marks.length > 0 && { marks }),
      ...(undoData !== undefined && { undoData }),
    };
  } catch (cause) {
    if (!isToolError(cause)) throw cause;
    throw new JobFailure(cause.code, `It was executed, but ${cause.message}.`, { cause });
  }
}

function failureOf({ errorMessage }: Workshop, tool: Tool, end: HandlerFailure): JobFailure {
  const { code, cause } = end;
  if (code === "unbegun") return new JobFailure("aborted", "It was aborted before it was executed.", { cause });
  const cut = cutShort(end, "It", tool, tool.timeoutMs);
  if (cut !== undefined) return new JobFailure(cut.code, cut.message, { cause, isFinal: cut.code !== "timeout" });
  const known = isToolError(cause) ? cause.code : "execution_failed";
  return new JobFailure(known, errorMessage(cause, tool), { cause, isFinal: false });
}

/** Progress that is too large, or not JSON, is dropped: it changes nothing. */
async function tellProgress(value: unknown, tell: (text: string) => Promise<void>): Promise<void> {
  try {
    await tell(jsonOf(value, MAX_PROGRESS));
  } catch {
    // The queue cannot be reached, or the value cannot be sent.
  }
}

const MAX_PROGRESS = 64 * 1024;

/** Converts any error, including unexpected ones. */
export function asFailure(error: unknown): JobFailure {
  if (error instanceof JobFailure) return error;
  return new JobFailure("execution_failed", safeMessage(error), { cause: error });
}
