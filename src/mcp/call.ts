import { ToolError } from "../errors.ts";
import { createProgressQueue } from "../tool/progress-queue.ts";
import type { ToolContext } from "../tool/tool.ts";
import {
  callTool,
  requestTool,
  withoutOutput,
  type McpClient,
  type McpInputRequired,
  type McpProgress,
  type McpResult,
  type McpToolDefinition,
  type RequestOptions,
} from "./client.ts";
import { callError, inputRequired } from "./failure.ts";
import type { McpToolsOptions } from "./types.ts";

/** Rounds in which a server may ask for more. */
const MAX_ROUNDS = 10;
/** How long progress listeners may delay the outcome, which is reported after them. */
const PROGRESS_MS = 1_000;

interface CallOptions {
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** What it does to the world is not to be done twice. */
  readonly isWrite: boolean;
  /** Its output schema is of no use: a client of version 2 would send no call if it cannot compile it. */
  readonly isUncheckable: boolean;
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
  definition: McpToolDefinition,
  input: unknown,
  context: ToolContext,
  options: CallOptions,
): Promise<McpResult> {
  const progress = createProgressQueue((value: McpProgress) => context.progress(value));
  try {
    return await ask(client, definition, input, context, progress.push, options);
  } finally {
    await progress.end(context.signal?.aborted === true ? 0 : PROGRESS_MS);
  }
}

async function ask(
  client: McpClient,
  definition: McpToolDefinition,
  input: unknown,
  context: ToolContext,
  onprogress: (progress: McpProgress) => void,
  { timeoutMs, maxTimeoutMs, isWrite, isUncheckable, onInputRequired, begin }: CallOptions,
): Promise<McpResult> {
  const params = { name: definition.name, arguments: input as Record<string, unknown> };
  const how: RequestOptions = {
    // The clients look at the limit for all of it only when progress is reported.
    timeout: Math.min(timeoutMs, maxTimeoutMs),
    maxTotalTimeout: maxTimeoutMs,
    resetTimeoutOnProgress: true,
    ...(context.signal === undefined ? {} : { signal: context.signal }),
    onprogress,
    ...(isUncheckable && { toolDefinition: withoutOutput(definition) }),
  };
  const asked = async <T>(request: () => Promise<T>): Promise<T> => {
    try {
      return await request();
    } catch (error) {
      throw callError(error, context.signal, isWrite);
    }
  };
  if (onInputRequired === undefined) {
    return checkResult(await begin(() => asked(() => callTool(client, params, how))));
  }

  let result: McpResult & McpInputRequired = await begin(() =>
    asked(() => requestTool(client, definition, params, how)),
  );
  for (let round = 0; result.resultType === "input_required" && round < MAX_ROUNDS; round++) {
    const inputResponses = await onInputRequired(result, context);
    const { requestState } = result;
    const again = { ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) };
    result = await asked(() => requestTool(client, definition, again, how));
  }
  return checkResult(result);
}

function checkResult(result: McpResult): McpResult {
  if (result.resultType === "input_required") throw inputRequired();
  if (Array.isArray(result.content) || result.structuredContent !== undefined) return result;
  throw new ToolError("invalid_answer", "The MCP server's answer has no content.");
}
