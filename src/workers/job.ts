import { cut, TOOL_ERROR_CODES, ToolError, type ToolErrorCode } from "../errors.ts";
import { definitionDigest } from "../execute/digest.ts";
import { executableDigestOf } from "../execute/options.ts";
import { jsonOf } from "../execute/output.ts";
import { parseJson } from "../json/parse.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";

/**
 * A call as it is queued: plain JSON, with nothing of the application except what it asked to send.
 *
 * ```
 * { version: 1, tool: "get_weather", definition: "sha256:…", input: '{"city":"Oslo"}', context: { runId, … } }
 * ```
 */
export interface JobData {
  readonly version: 1;
  readonly tool: string;
  /** Digest of the tool as it was offered, and perhaps approved: a worker with a different tool does not run it. */
  readonly definition: string;
  /** The input as JSON text, so that nothing on the way can change its value. */
  readonly input: string;
  readonly context: JobContext;
  /** Who waits for it, and may cancel it. */
  readonly owner?: string;
  /** Nobody waits for it any more: a worker that gets it does not start. */
  readonly isGivenUp?: boolean;
}

/** What a worker's handler is told about its call. */
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

/** What a worker returns, as JSON text for the same reason. */
export interface JobResult {
  readonly output: string;
  /** Registered symbols on the output's root, such as an adapter's "these are content parts". */
  readonly marks?: readonly string[];
  /** `false` if JSON cannot represent it. */
  readonly undoData?: string | false;
}

/**
 * A call for the queue.
 *
 * @param extra what the application sends along for its handlers; JSON
 * @throws ToolError `not_serializable` for an input that the worker would read differently, `too_large`
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
 * The input as it is sent. The worker validates it again, since anybody might write into the queue: so the schema must
 * accept it and leave it unchanged.
 */
function inputText(tool: Tool, input: unknown): string {
  let text: string;
  try {
    text = jsonOf(input, MAX_INPUT);
  } catch (cause) {
    if (cause instanceof ToolError && cause.code === "output_too_large") {
      throw new ToolError("too_large", `its input has more than ${MAX_INPUT} bytes, too many for a queue`, { cause });
    }
    throw new ToolError("not_serializable", `its input is nothing that JSON can say, so it cannot be queued`, {
      cause,
    });
  }
  const again = tool.inputSchema.validate(parseJson(text));
  if (!again.ok || JSON.stringify(again.value) !== text) {
    throw new ToolError(
      "not_serializable",
      `its input cannot be queued: read again, the schema makes ${again.ok ? "another value" : "an error"} of it. A schema for workers gives for its own output that output: do what else has to be done in the handler.`,
    );
  }
  return text;
}

const MAX_INPUT = 8 * 1024 * 1024;

/** The digest of a tool's definition, including that of the program behind it, if there is one. */
export async function digestOfTool(tool: Tool): Promise<string> {
  return definitionDigest(tool, await executableDigestOf(tool));
}

/** Data from the queue, if it is one of our jobs; otherwise what is wrong with it. */
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

/** The error behind a reason; `undefined` if none of our workers wrote it. */
export function errorOfReason(reason: unknown): ToolError | undefined {
  const [, code, message = ""] = /^\[([a-z_]+)\] ([^]*)$/.exec(typeof reason === "string" ? reason : "") ?? [];
  const known = TOOL_ERROR_CODES.find((one) => one === code);
  return known && new ToolError(known, cut(message, MAX_MESSAGE));
}

/** As much as `safeMessage()` leaves of what a program or a server says. */
const MAX_MESSAGE = 4_000;

function isPrincipal(value: unknown): value is { readonly id: string } {
  return typeof (value as { id?: unknown } | undefined)?.id === "string";
}
