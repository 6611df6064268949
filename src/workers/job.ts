import { TOOL_ERROR_CODES, ToolError, type ToolErrorCode } from "../errors.ts";
import { definitionDigest } from "../execute/digest.ts";
import { jsonOf } from "../execute/output.ts";
import { parseJson } from "../json/parse.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";

/**
 * A call as it lies in the queue: plain JSON, and nothing of the application but what it asked to be sent.
 *
 * ```
 * { version: 1, tool: "get_weather", definition: "sha256:…", input: '{"city":"Oslo"}', context: { runId, … } }
 * ```
 */
export interface JobData {
  readonly version: 1;
  readonly tool: string;
  /** Of the tool as it was offered, and perhaps approved: a worker with another one does not run it. */
  readonly definition: string;
  /** The input as JSON text: nothing on the way makes another value of it. */
  readonly input: string;
  readonly context: JobContext;
  /** Who waits for it, and may cancel it. */
  readonly owner?: string;
  /** Nobody waits for it any more: who gets it now does not begin. */
  readonly isGivenUp?: boolean;
}

/** What a handler is told about its call, over there. */
export interface JobContext {
  readonly idempotencyKey: string;
  readonly runId: string;
  readonly invocationId: string;
  readonly toolCallId: string | null;
  readonly requestId?: string;
  readonly behavior?: string;
  readonly principal?: { readonly id: string };
  readonly [key: string]: unknown;
}

/** What a worker gives back, as JSON text for the same reason. */
export interface JobResult {
  readonly output: string;
  /** Registered symbols of the output's root: an adapter's "these are content parts". */
  readonly marks?: readonly string[];
  /** `false`: it was nothing that JSON can say. */
  readonly undoData?: string | false;
}

/**
 * A call for the queue.
 *
 * @param extra what the application sends along for its handlers; JSON
 * @throws ToolError `not_serializable` for an input that would be another one at the worker, `too_large`
 */
export async function jobOf(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  extra: Readonly<Record<string, unknown>>,
): Promise<JobData> {
  const { idempotencyKey, runId, invocationId, toolCallId, requestId, behavior, principal } = context;
  return {
    version: 1,
    tool: tool.name,
    definition: await digestOfTool(tool),
    input: inputText(tool, input),
    context: {
      ...(parseJson(JSON.stringify(extra)) as object),
      idempotencyKey,
      // A use that was executed without an executor has no run.
      runId: typeof runId === "string" ? runId : invocationId,
      invocationId,
      toolCallId,
      ...(typeof requestId === "string" && { requestId }),
      ...(typeof behavior === "string" && { behavior }),
      ...(isPrincipal(principal) && { principal: { id: principal.id } }),
    },
  };
}

/**
 * The input as it travels. The worker reads it with the tool's schema again, as nobody can say who writes into the queue:
 * so the schema has to make of it what it was.
 */
function inputText(tool: Tool, input: unknown): string {
  let text: string;
  try {
    text = jsonOf(input, MAX_INPUT);
  } catch (cause) {
    if (cause instanceof ToolError && cause.code === "output_too_large") {
      throw new ToolError("too_large", `its input has more than ${MAX_INPUT} bytes, too many for a queue`, { cause });
    }
    throw new ToolError("not_serializable", `its input is nothing that JSON can say, so it can not be queued`, {
      cause,
    });
  }
  const again = tool.inputSchema.validate(parseJson(text));
  if (!again.ok || JSON.stringify(again.value) !== text) {
    throw new ToolError(
      "not_serializable",
      `its input can not be queued: read again, the schema makes ${again.ok ? "another value" : "an error"} of it. A schema for workers gives for its own output that output: do what else has to be done in the handler.`,
    );
  }
  return text;
}

const MAX_INPUT = 8 * 1024 * 1024;

/** The digest of a tool's definition, with that of the program behind it where there is one. */
export async function digestOfTool(tool: Tool): Promise<string> {
  const { executableDigest } = tool.metadata as { executableDigest?: unknown };
  const executable: unknown = typeof executableDigest === "function" ? await executableDigest() : executableDigest;
  return definitionDigest(tool, typeof executable === "string" ? executable : "");
}

/** What came out of the queue, if it is a job of ours; else what is wrong with it. */
export function readJob(data: unknown): JobData | string {
  if (typeof data !== "object" || data === null) return "it has no data";
  const { version, tool, definition, input, context } = data as Partial<Record<keyof JobData, unknown>>;
  if (typeof version === "number" && version > 1) return `it was written by a newer version (${version})`;
  const { idempotencyKey, runId, invocationId } = (context ?? {}) as Partial<Record<string, unknown>>;
  const texts = [tool, definition, input, idempotencyKey, runId, invocationId];
  if (version !== 1 || !texts.every((text) => typeof text === "string" && text !== "")) return "it is damaged";
  return data as JobData;
}

/** Why a job failed, as it is kept with the job: `[timeout] It took longer than 500 ms.` */
export function reasonText(code: ToolErrorCode, message: string): string {
  return `[${code}] ${message}`;
}

/** The error behind a reason; `undefined` for one that no worker of ours has written. */
export function errorOfReason(reason: unknown): ToolError | undefined {
  const [, code, message = ""] = /^\[([a-z_]+)\] ([^]*)$/.exec(typeof reason === "string" ? reason : "") ?? [];
  const known = TOOL_ERROR_CODES.find((one) => one === code);
  return known && new ToolError(known, message.slice(0, MAX_MESSAGE));
}

const MAX_MESSAGE = 2_000;

function isPrincipal(value: unknown): value is { readonly id: string } {
  return typeof (value as { id?: unknown } | undefined)?.id === "string";
}
