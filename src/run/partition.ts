import type { ToolCallError } from "../errors.ts";
import { unlessItThrows } from "../quietly.ts";
import { parseJson } from "../json/parse.ts";
import type { ToolCall } from "../stream/call.ts";
import { ToolUse } from "../tool/use.ts";
import type { CallRecord } from "./format.ts";
import type { PendingToolCall } from "./types.ts";

/** The calls of a turn, by who has to act on them. */
export interface Partition {
  /** The group of the calls that are executed here. */
  readonly batch: number;
  readonly internal: readonly CallRecord[];
  readonly external: readonly CallRecord[];
}

/**
 * The calls that can be executed now: the first group that is not done, and all external calls that refer to no other.
 *
 * ```
 * a  b  c(dependent)  d       groups: a b | c d
 * ```
 */
export function partition(calls: readonly CallRecord[], isThrough: (call: CallRecord) => boolean): Partition {
  const open = calls.filter((call) => call.mode !== "invalid" && !isThrough(call));
  const batch = Math.min(...open.map((call) => call.batch));
  return {
    batch,
    internal: open.filter((call) => call.mode === "internal" && call.batch === batch),
    external: open.filter((call) => call.mode === "external" && (call.batch === batch || !isDependent(call))),
  };
}

/**
 * A call that needs an earlier call's result has `metadata.dependent: true` (set by notations in which calls can refer
 * to each other): it starts a new group.
 */
export function isDependent({ metadata }: Pick<CallRecord, "metadata">): boolean {
  return metadata?.["dependent"] === true;
}

/**
 * The records of a finished turn's calls.
 *
 * @param errors of calls that were complete, but cannot be executed after all
 */
export function recordsOf(calls: readonly ToolCall[], errors: ReadonlyMap<string, ToolCallError>): CallRecord[] {
  let batch = 0;
  return calls.map((call) => {
    if (isDependent(call)) batch++;
    return recordOf(call, errors.get(call.invocationId) ?? call.outcome!, batch);
  });
}

function recordOf(call: ToolCall, outcome: ToolUse | ToolCallError, batch: number): CallRecord {
  const { invocationId, id, name, argsText, turnIndex, position, metadata } = call;
  // A call that refers to others has no deadline yet, since nobody knows when it will start.
  const kept = Object.keys(metadata).length > 0 && { metadata };
  const base = { invocationId, id, name, argsText, turnIndex, position, batch, ...kept };
  if (outcome instanceof ToolUse) return { ...base, ...executable(outcome, !isDependent(call)) };
  const { code, message } = outcome;
  const error = { code, message: `${message}${expected(call, outcome)}` };
  // For a call that was handed out before its turn was cut: needed when its result is looked at.
  const { input } = call.outcome instanceof ToolUse ? shown(call.outcome.input) : {};
  return { ...base, mode: "invalid", ...(input !== undefined && { input }), error };
}

/** What a use adds to its call's record. */
export function executable({ tool, input }: ToolUse, isTimed = true): Pick<CallRecord, "mode" | "input" | "expiresAt"> {
  if (tool.mode === "internal") return { mode: "internal", ...shown(input) };
  return {
    mode: "external",
    ...shown(input),
    ...(isTimed && tool.timeoutMs !== undefined && { expiresAt: Date.now() + tool.timeoutMs }),
  };
}

/** The call as the caller sees it. */
export function pendingCall(
  call: Pick<CallRecord, "invocationId" | "id" | "name" | "input" | "argsText" | "expiresAt">,
): PendingToolCall {
  const { invocationId, id, name, input = null, argsText, expiresAt = null } = call;
  return { id: invocationId, wireId: id, name: name!, arguments: input, rawText: argsText, expiresAt };
}

/** A model that wrote an invalid input is shown the schema again, if it is short. */
function expected({ tool }: ToolCall, { code }: ToolCallError): string {
  if (tool === undefined || (code !== "invalid_input" && code !== "invalid_json")) return "";
  const schema = JSON.stringify(tool.inputSchema.jsonSchema);
  return schema.length > MAX_SCHEMA ? "" : ` The input of ${tool.name} is ${schema}.`;
}

const MAX_SCHEMA = 2_000;

/** A validated input that JSON cannot represent is not shown. */
function shown(input: unknown): { input?: unknown } {
  const text = unlessItThrows(() => JSON.stringify(input));
  return text === undefined ? {} : { input: parseJson(text) };
}
