import { cut, issuesText, ToolError, type Issue } from "../errors.ts";
import type { Schema } from "../schema/index.ts";
import { sentence } from "../stream/call-failures.ts";
import { pause } from "../time.ts";
import { createProgressQueue } from "../tool/progress-queue.ts";
import type { ToolContext } from "../tool/tool.ts";
import { callTool, type McpClient, type McpProgress, type McpResult, type RequestOptions } from "./client.ts";
import type { CheckedDefinition } from "./definition.ts";
import { textOf } from "./content.ts";
import { callError, inputRequired, keptAsking, MAX_SAID } from "./failure.ts";
import type { McpToolsOptions } from "./types.ts";

/** Rounds in which a server may ask for more. */
const MAX_ROUNDS = 10;

/** As long as the client of version 2 waits. */
const AGAIN_MS = 250;

interface CallOptions {
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** What it does to the world is not to be done twice. */
  readonly isWrite: boolean;
  readonly onInputRequired: McpToolsOptions["onInputRequired"];
  /** Sends the first request, perhaps more than once. */
  readonly begin: <T>(request: () => Promise<T>) => Promise<T>;
}

/**
 * One call of a server's tool, including everything that it asks for in between.
 *
 * @throws ToolError `server_failed`, `timeout`, `outcome_unknown`, `aborted`, `input_required`, `invalid_answer`; and what
 *   `onInputRequired` throws
 */
export async function callServer(
  client: McpClient,
  { definition, outputSchema }: CheckedDefinition,
  input: unknown,
  context: ToolContext,
  { timeoutMs, maxTimeoutMs, isWrite, onInputRequired, begin }: CallOptions,
): Promise<McpResult> {
  const { signal } = context;
  const progress = createProgressQueue((value: McpProgress) => context.progress(value));
  const how: RequestOptions = {
    // The clients look at the limit for all of it only when progress is reported.
    timeout: Math.min(timeoutMs, maxTimeoutMs),
    maxTotalTimeout: maxTimeoutMs,
    resetTimeoutOnProgress: true,
    ...(signal && { signal }),
    onprogress: progress.push,
    allowInputRequired: onInputRequired !== undefined,
  };
  const params = { name: definition.name, arguments: input as Record<string, unknown> };
  const ask = (more = {}) =>
    callTool(client, definition, { ...params, ...more }, how).catch((error: unknown) => {
      throw callError(error, signal, isWrite);
    });
  try {
    let result = await begin(ask);
    for (let round = 0; onInputRequired && result.resultType === "input_required" && round < MAX_ROUNDS; round++) {
      const { inputRequests = {}, requestState } = result;
      const more = requestState === undefined ? {} : { requestState };
      const isAsked = Object.keys(inputRequests).length > 0;
      // A server that is busy, or still waits for somebody, asks for nothing but to be called again:
      // https://github.com/modelcontextprotocol/modelcontextprotocol/issues/2920
      if (!isAsked) await pause(AGAIN_MS, signal);
      result = await ask(isAsked ? { ...more, inputResponses: await onInputRequired(result, context) } : more);
    }
    if (result.resultType === "input_required") throw onInputRequired ? keptAsking() : inputRequired();
    return checkResult(result, outputSchema);
  } finally {
    await progress.end(signal);
  }
}

function checkResult(result: McpResult, outputSchema: Schema | undefined): McpResult {
  const { content, structuredContent, isError } = result;
  if (!Array.isArray(content) && structuredContent === undefined) throw unusable("it has no content.");
  if (outputSchema === undefined || isError === true) return result;
  const fits = outputSchema.validate(structuredContent);
  if (fits.ok) return result;
  const why =
    structuredContent === undefined
      ? "gave no structure, which its output schema promises"
      : `its structure does not fit its output schema: ${issuesText(fits.issues, "structure")}`;
  // Servers also say so that they refused: https://github.com/langchain-ai/deepagents/pull/6276,
  // https://github.com/modelcontextprotocol/python-sdk/pull/2447
  const text = cut(textOf(content ?? []), MAX_SAID);
  // Whoever does not read of a write that it was executed calls it again.
  const words = `the tool was executed, but ${sentence(why)}${text === "" ? "" : ` It said: ${text}`}`;
  throw unusable(words, fits.issues);
}

function unusable(words: string, issues?: readonly Issue[]): ToolError {
  return new ToolError("invalid_answer", `The MCP server gave no usable answer: ${words}`, { issues });
}
