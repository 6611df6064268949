import { ToolCallError, type FailedCall, type ToolErrorCode } from "../errors.ts";
import { orderedText } from "../json/index.ts";
import type { KnownTools } from "../execute/known-tools.ts";
import { unlessItThrows } from "../quietly.ts";
import type { Model } from "../model.ts";
import { jsonSchema } from "../schema/index.ts";
import { decideWhole } from "../stream/decide.ts";
import type { Turn } from "../stream/events.ts";
import { defineTool, type Tool } from "../tool/tool.ts";
import { ToolUse } from "../tool/use.ts";
import type { Answer } from "./answers.ts";
import type { CallRecord, CallStatus, OutcomeRecord } from "./format.ts";
import { isBegun } from "./rows.ts";

/** The outcome of one call: for the model, and for the record. */
export interface Settled {
  readonly record: OutcomeRecord;
  /** The use with its result, or the error. */
  readonly outcome: ToolUse | ToolCallError;
}

/**
 * The executable call, from its record: its arguments are parsed, repaired and validated again as when they arrived, so
 * that a handler gets the same input in every process.
 */
export function useOf(call: CallRecord, tools: KnownTools): ToolUse | ToolCallError {
  const tool = tools.get(call.name ?? "");
  if (tool === undefined) {
    const message = `The call of ${call.name} cannot be executed any more: there is no tool of that name.`;
    return new ToolCallError("unknown_tool", message, failedCall(call));
  }
  // The repair policy of that time: what was repaired then is repaired now, by the same rules.
  const read = decideWhole(failedCall(call), tool, call.input === undefined ? undefined : "coerce");
  if (read instanceof ToolUse) {
    const { input, argsValue, repairs } = read;
    const own = { name: tool.name, tool, input: asShown(call, tool, input), argsValue, repairs };
    return new ToolUse({ ...failedCall(call), ...own });
  }
  const message = `The call of ${call.name} cannot be executed any more: ${read.message}`;
  return new ToolCallError(read.code, message, failedCall(call));
}

/** A default may differ each time (an id): the input that was shown is the one that runs, if the schema accepts it. */
function asShown({ input: shown }: CallRecord, tool: Tool, input: unknown): unknown {
  if (shown === undefined || isSameJson(input, shown)) return input;
  const again = tool.inputSchema.validate(shown);
  return again.ok && isSameJson(again.value, shown) ? again.value : input;
}

/**
 * A call whose tool is gone, or no longer accepts it: for the executor, which has its outcome on record if it was
 * started, and otherwise tells the model why it is not executed.
 */
export function recordedUse(call: CallRecord, tools: KnownTools): ToolUse {
  const { dependent: isUnresolved, ...metadata } = call.metadata ?? {};
  const input = isUnresolved === true ? undefined : call.input;
  const name = call.name!;
  const tool = placeholder(name, tools.get(name));
  return new ToolUse({ ...failedCall(call), name, tool, input, metadata, repairs: [] });
}

/**
 * A call that refers to other calls' results, with these filled in.
 *
 * @param settled the calls before it
 */
export function resolved(call: CallRecord, use: ToolUse, settled: Iterable<Settled>, model: Model): ToolUse | Settled {
  const results = new Map<number, unknown>();
  for (const { outcome } of settled) {
    if (!(outcome instanceof ToolUse) || outcome.state !== "done") continue;
    const { step } = outcome.metadata;
    if (typeof step === "number") results.set(step, outcome.result);
  }
  try {
    if (model.resolve !== undefined) return model.resolve(use, results);
  } catch (error) {
    if (error instanceof ToolCallError) return failure(call, "invalid", error.code, error.message);
    throw error;
  }
  const message = `The call of ${call.name} was not executed: it refers to the result of another call, which nobody here can fill in.`;
  return failure(call, "invalid", "unresolved", message);
}

/** A call that cannot be executed, as the model is told. */
export function invalidCall(call: CallRecord): Settled {
  const { code, message } = call.error!;
  return failure(call, isBegun(call) ? "unknown" : "invalid", code, message);
}

/** An abandoned call: nothing was executed, and nothing will be. */
export function canceledCall(call: CallRecord): Settled {
  const message = `The call of ${call.name} was not executed: the conversation went on without it.`;
  return failure(call, "canceled", "aborted", message);
}

/** A call that was handed out, and for which no result came. */
export function unknownCall(call: CallRecord): Settled {
  const message = `The outcome of the call of ${call.name} is unknown: it was begun, and the conversation went on without its result.`;
  return failure(call, "unknown", "outcome_unknown", message);
}

/** An external call with the result that the caller provided. */
export function answeredCall(call: CallRecord, answer: Answer, model: Model): Settled {
  const failed = failedAnswer(call, answer);
  if (failed !== undefined) return failed;
  const { result, images = [], at } = answer;
  const name = call.name!;
  const use = new ToolUse({ ...failedCall(call), name, tool: placeholder(name), input: call.input, repairs: [] });
  use.provideResult(images.length === 0 ? result : model.imageResult!(result, images));
  return { record: { invocationId: call.invocationId, status: "completed", at }, outcome: use };
}

/** An external call whose answer is no result; `undefined` if it is one. */
export function failedAnswer(call: CallRecord, { error, at, expired }: Answer): Settled | undefined {
  if (expired === true) {
    const message = `The call of ${call.name} got no result in time; whether it was executed is unknown.`;
    return failure(call, "expired", "timeout", message, at);
  }
  if (error === undefined) return undefined;
  return failure(call, "failed", "execution_failed", `Tool ${call.name} failed: ${error}`, at);
}

export function failure(
  call: CallRecord,
  status: CallStatus,
  code: ToolErrorCode,
  message: string,
  at = Date.now(),
): Settled {
  return {
    record: { invocationId: call.invocationId, status, message, at },
    outcome: new ToolCallError(code, message, failedCall(call)),
  };
}

/**
 * One result for every call, in call order, in the provider's format, as the adapter produces them for a whole turn.
 */
export function resultMessages(model: Model, settled: readonly Settled[]): unknown[] {
  const calls = settled.map(({ outcome }) => ({ id: outcome.id, invocationId: outcome.invocationId, outcome }));
  return model.adapter.toolResults({ calls } as unknown as Turn);
}

function failedCall(call: CallRecord): FailedCall {
  const { invocationId, id, name, argsText, input, turnIndex, position, metadata = {} } = call;
  return { invocationId, id, name, argsText, input, turnIndex, position, metadata };
}

/** For a call that only has a result to report: its tool may no longer be known. */
function placeholder(name: string, known?: Tool): Tool {
  const { toModelOutput } = known ?? {};
  return defineTool({ name, inputSchema: jsonSchema({}), execute: () => undefined, toModelOutput });
}

function isSameJson(value: unknown, json: unknown): boolean {
  return unlessItThrows(() => orderedText(value) === orderedText(json)) === true;
}
