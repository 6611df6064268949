import { issuesText, ToolError } from "../errors.ts";
import { byteLength, emptiedMessage, exceedsDepth, isEmptied } from "../json/index.ts";
import { parseJson } from "../json/parse.ts";
import { safeMessage } from "../tool/safe-message.ts";
import type { Tool } from "../tool/tool.ts";
import { bytesOf, jsonForm } from "./forms.ts";
import { hush } from "./hush.ts";

/** How deep an output may nest: far less than stores allow, since messages wrap it further. */
export const MAX_OUTPUT_DEPTH = 256;

/** An output as it is stored and returned: JSON, plus the marks by which adapters recognise it. */
export interface Output {
  readonly value: unknown;
  /** Registered symbols on the root, such as an adapter's "these are content parts", which JSON would lose. */
  readonly marks: readonly string[];
}

/**
 * Checks what a handler returned against the tool's output schema, and turns it into plain JSON, so that the model gets
 * the same now as after a restart.
 *
 * @throws ToolError `not_serializable`, `output_too_large`, `invalid_output`
 */
export function outputOf(tool: Tool, returned: unknown, maxBytes: number): Output {
  try {
    return checkedOutput(tool, returned, maxBytes);
  } catch (error) {
    hush(returned);
    throw error;
  }
}

function checkedOutput(tool: Tool, returned: unknown, maxBytes: number): Output {
  const marks = sayable("output", () => marksOf(returned));
  let value = returned;
  if (tool.outputSchema !== undefined) {
    const checked = validated(tool, returned);
    if (!checked.ok) {
      // A custom check's message may contain anything, like a handler's.
      const why = safeMessage(issuesText(checked.issues, "output"));
      throw new ToolError("invalid_output", `its output does not fit its schema: ${why}`, { issues: checked.issues });
    }
    ({ value } = checked);
  }
  const text = jsonOf(value, maxBytes);
  return { value: withMarks(parseJson(text), marks), marks };
}

/** Puts the marks back on a stored value. */
export function withMarks(value: unknown, marks: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const mark of marks) Object.defineProperty(value, Symbol.for(mark), { value: true });
  return value;
}

function validated(tool: Tool, returned: unknown) {
  try {
    return tool.outputSchema!.validate(returned);
  } catch (cause) {
    throw new ToolError("invalid_output", "its output cannot be checked", { cause });
  }
}

/** Unlike `JSON.stringify`, it refuses what would be left out or turned into `null`, and bytes as a list of numbers. */
export function jsonOf(value: unknown, maxBytes: number): string {
  // A Buffer's toJSON() returns such a list.
  const form = (item: unknown, given: unknown) =>
    ArrayBuffer.isView(given) && typeof item !== "string" ? given : item;
  return textOf("output", value, maxBytes, form);
}

/**
 * A snapshot of what a handler keeps for undoing, since the handler may go on to change the object. Bytes are a list of
 * them, a Buffer what its `toJSON()` returns: no model reads that.
 *
 * @returns `false` if it cannot be kept
 */
export function undoText(data: unknown, maxBytes: number): string | false | undefined {
  if (data === undefined) return undefined;
  try {
    return textOf("output", data, maxBytes, (item) => bytesOf(item) ?? item);
  } catch {
    hush(data);
    return false;
  }
}

/**
 * An input as a person and an undo function see it. Values that a schema may produce but JSON lacks are converted: a
 * bigint to its digits, a Map to a list of entries, a Set to a list of items, a RegExp to its text.
 *
 * @throws ToolError `not_serializable`
 */
export function jsonOfInput(value: unknown): unknown {
  return parseJson(textOf("input", value, Infinity, jsonForm));
}

/** @param form what is written of an item: `given`, or what its `toJSON()` returned */
function textOf(
  what: "input" | "output",
  value: unknown,
  maxBytes: number,
  form: (item: unknown, given: unknown) => unknown,
): string {
  // Long strings are the usual way to be too large: do not serialize them first.
  if (typeof value === "string" && value.length > maxBytes) throw tooLarge(value.length, maxBytes);
  const replacer = function (this: Record<string, unknown>, key: string, item: unknown): unknown {
    const given = this[key];
    // Whatever its toJSON() returned: that (a request with its headers) is meant for a log.
    if (isError(given)) throw hasError(what, given);
    return refuseLosses(what, form(item, given));
  };
  const text = sayable(what, () => JSON.stringify(value, replacer) ?? "null");
  const bytes = byteLength(text, maxBytes);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
  if (exceedsDepth(text, MAX_OUTPUT_DEPTH)) {
    throw new ToolError("not_serializable", `its ${what} nests deeper than ${MAX_OUTPUT_DEPTH} levels`);
  }
  return text;
}

/** Throws for a bigint, a cycle, too much depth, and a getter, toJSON() or proxy that throws. */
function sayable<T>(what: "input" | "output", look: () => T): T {
  try {
    return look();
  } catch (cause) {
    if (cause instanceof ToolError) throw cause;
    throw new ToolError("not_serializable", `its ${what} is nothing that JSON can say`, { cause });
  }
}

function refuseLosses(what: "input" | "output", value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new ToolError("not_serializable", `its ${what} holds a ${typeof value}, which JSON cannot say`);
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new ToolError("not_serializable", `its ${what} holds ${value}, which JSON cannot say`);
  }
  // For an input kept for undo, the rest may be enough; inputs that a person could not see never get here.
  if (what === "output" && isEmptied(value)) {
    throw new ToolError("not_serializable", `its output holds ${emptiedMessage(value)}`);
  }
  return value;
}

/**
 * A handler that means to fail throws; the properties of an error (a path, a query, headers) are nobody else's
 * business.
 */
function hasError(what: string, { name }: Error): ToolError {
  return new ToolError(
    "not_serializable",
    `its ${what} holds an error (${name}): throw it, or say what may be known of it`,
  );
}

/** Errors of other realms too, if the engine can tell: https://tc39.es/proposal-is-error/ (ES2026) */
function isError(value: unknown): value is Error {
  const { isError: isAny } = Error as { isError?: (value: unknown) => boolean };
  return isAny?.(value) ?? value instanceof Error;
}

function marksOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.getOwnPropertySymbols(value).flatMap((symbol) => {
    const mark = Symbol.keyFor(symbol);
    return mark?.startsWith("toolstream.") === true ? [mark] : [];
  });
}

function tooLarge(bytes: number, maxBytes: number): ToolError {
  return new ToolError(
    "output_too_large",
    `its output has ${bytes} bytes or more; at most ${maxBytes} are kept and shown (maxOutputBytes)`,
  );
}
