import { isToolError, type ToolErrorCode } from "../errors.ts";
import { parseJson } from "../json/parse.ts";
import type { Tool } from "../tool/tool.ts";
import type { HandlerEnd } from "./attempt.ts";
import type { ActionRow, UndoRow } from "./ledger.ts";
import { jsonOfInput, outputOf } from "./output.ts";

/** Everything about how a handler ended. */
export interface EndedHandler {
  readonly tool: Tool;
  readonly end: HandlerEnd;
  readonly input: unknown;
  /** What the handler passed to `undoData()`, as JSON; `false` if it cannot be kept. */
  readonly undoData: string | false | undefined;
  readonly timeoutMs: number | undefined;
  readonly maxOutputBytes: number;
  readonly messageOf: (error: unknown) => string;
}

/** What the row says of a handler's end, and the error behind it. */
export function rowOfEnd(ended: EndedHandler): { readonly change: Partial<ActionRow>; readonly cause?: unknown } {
  const { tool, end, maxOutputBytes } = ended;
  if (!end.ok) {
    const status = isUnknown(end) ? "unknown" : "failed";
    return { change: { status, error: failureOf(ended, end) }, cause: end.cause };
  }
  const undo = tool.undo === undefined ? {} : { undo: undoRowOf(ended) };
  try {
    const { value, marks } = outputOf(tool, end.value, maxOutputBytes);
    return { change: { status: "done", output: value, ...(marks.length > 0 && { marks }), ...undo } };
  } catch (cause) {
    if (!isToolError(cause)) throw cause;
    // The handler has done its work, which can be undone even though its output cannot be shown.
    const error = { code: cause.code, message: `${tool.name} was executed, but ${cause.message}.` };
    return { change: { status: "failed", error, ...undo }, cause };
  }
}

function failureOf(
  { tool, timeoutMs, messageOf }: EndedHandler,
  end: Extract<HandlerEnd, { readonly ok: false }>,
): { readonly code: ToolErrorCode; readonly message: string } {
  const mayHave = tool.effect === "write" ? " It may have had its effect nevertheless." : "";
  switch (end.code) {
    case "timeout":
      return { code: "timeout", message: `${tool.name} did not end within ${timeoutMs} ms.${mayHave}` };
    case "unbegun": // not started here, but by a process that has since died
    case "lost":
    case "aborted":
      return { code: "aborted", message: `${tool.name} was aborted while it ran.${mayHave}` };
    case "execution_failed": {
      const code = isToolError(end.cause) ? end.cause.code : "execution_failed";
      const message = messageOf(end.cause);
      return { code, message: isUnknown(end) ? `${tool.name}: ${message}` : `Tool ${tool.name} failed: ${message}` };
    }
  }
}

/** A handler that delegates its work may not know the outcome. It says so with an error with this code. */
function isUnknown(end: Extract<HandlerEnd, { readonly ok: false }>): boolean {
  return end.code === "execution_failed" && isToolError(end.cause) && end.cause.code === "outcome_unknown";
}

function undoRowOf({ tool, input, undoData }: EndedHandler): UndoRow {
  const expiresAt = Date.now() + (tool.undoTtlMs ?? HOUR);
  try {
    if (undoData !== false) {
      const data = undoData === undefined ? {} : { data: parseJson(undoData) };
      return { state: "available", expiresAt, input: jsonOfInput(input), ...data };
    }
  } catch {
    // JSON cannot represent the input.
  }
  const message = `What ${tool.name} gave to undo it with cannot be kept, so it cannot be undone.`;
  return { state: "undo_failed", expiresAt, error: { code: "not_undoable", message } };
}

const HOUR = 3_600_000;
