import { ToolError } from "../errors.ts";
import { isRecord } from "../schema/json.ts";

const MAX_MESSAGE = 2_000;

/**
 * An error of either SDK as one of ours. Both have a `code`: a number of JSON-RPC where the server said it, else a word
 * (version 2) or a number (before).
 */
export function serverError(error: unknown, signal: AbortSignal | undefined, what: string): ToolError {
  const { code, message, data } = (isRecord(error) ? error : {}) as {
    code?: unknown;
    message?: unknown;
    data?: unknown;
  };
  if (signal?.aborted === true) {
    return new ToolError("aborted", "The call was given up by its caller.", { cause: signal.reason ?? error });
  }
  // Version 1 has a number for its own timeouts, too, and what they were. Servers say `Session not found` with it.
  const isOwn = code === -32001 && isRecord(data) && ("timeout" in data || "maxTotalTimeout" in data);
  if (code === "REQUEST_TIMEOUT" || isOwn) {
    return new ToolError("timeout", "The MCP server did not answer in time.", { cause: error });
  }
  if (isAboutInput(code, message)) return inputRequired(error);
  const said =
    typeof message === "string" ? message.replace(/^MCP error -?\d+: /, "").slice(0, MAX_MESSAGE) : String(error);
  return new ToolError("server_failed", `The MCP server ${what}: ${said.toWellFormed()}`, { cause: error });
}

export function inputRequired(cause?: unknown): ToolError {
  const message = "The MCP server asks for something before it answers, and nobody here can give it.";
  return new ToolError("input_required", message, { cause });
}

/**
 * What says that a server asked and got no answer: the client can not do what is asked for (-32021, -32042), or has no
 * handler for it, or the server asked again and again. What a server itself says of inputs has a number, and is its own.
 */
function isAboutInput(code: unknown, message: unknown): boolean {
  if (code === -32021 || code === -32042 || code === "INPUT_REQUIRED_ROUNDS_EXCEEDED") return true;
  return typeof code === "string" && typeof message === "string" && message.includes("input_required");
}
