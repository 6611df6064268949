import { expect } from "vitest";
import { isToolError, ToolCallError, type Tool, type ToolContext, type ToolError } from "../src/index.ts";

/** The result, or the error of the handler (and not what the ToolUse makes of it). */
export async function execute(
  tool: Tool | undefined,
  input: unknown = {},
  context?: Partial<ToolContext>,
): Promise<unknown> {
  try {
    return await tool!.use(input).execute(context);
  } catch (error) {
    throw error instanceof ToolCallError && error.cause !== undefined ? error.cause : error;
  }
}

/** The typed error that something fails with. */
export async function failure<Failure extends ToolError = ToolError>(work: Promise<unknown>): Promise<Failure> {
  const error = await work.then(
    (value) => expect.unreachable(`it came to ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!isToolError(error)) throw error;
  return error as Failure;
}
