import type { FailedCall, ToolCallError } from "../errors.ts";
import { emptiedMessage, exceedsDepth, isEmptied, jsonIn, parseJson, wellFormedJson } from "../json/index.ts";
import { isRecord } from "../schema/json.ts";
import { textOfThrown } from "../tool/thrown.ts";
import { ToolUse } from "../tool/use.ts";
import type { ToolCall } from "./call.ts";
import type { Turn } from "./events.ts";

/** How a wire says the outcome of one call. */
export interface Replies<Reply> {
  result(use: ToolUse, output: unknown): Reply;
  error(call: FailedCall, message: string): Reply;
}

/** A stream in the place of its turn is told what to give. */
export function checkTurn(turn: Turn): void {
  if (Array.isArray(turn?.calls)) return;
  throw new TypeError(`A turn is needed: stream.turn, or what stream.done() resolves to. Got ${gotOf(turn)}.`);
}

/** An id in the place of the use would be an answer to no call. */
export function checkUse(use: ToolUse): void {
  if (typeof use?.invocationId === "string") return;
  throw new TypeError(`toolResult() takes the use of a call, as event.use is, and its output. Got ${gotOf(use)}.`);
}

/** What a handler threw knows no call. */
export function checkCallError(error: ToolCallError): void {
  if (typeof error?.call?.invocationId === "string") return;
  throw new TypeError(
    `toolError() takes a ToolCallError, as event.error of a tool-error is; what an execution threw is in toolResults(turn). Got ${gotOf(error)}.`,
  );
}

function gotOf(value: unknown): string {
  if (value instanceof Error) return `a ${value.name}`;
  if (!isRecord(value)) return value === undefined ? "undefined" : typeof value;
  return "turn" in value ? "the stream" : typeof value["then"] === "function" ? "a promise" : "another object";
}

/**
 * One reply for every call of a finished turn, in call order: its result, or why there is none.
 * A call that was handed out and not executed is reported to the model as that, and so is an output that JSON can not say.
 *
 * @throws TypeError while a call is still open or running: wait for the turn and for its executions first.
 */
export function repliesOf<Reply>(turn: Turn, replies: Replies<Reply>): Reply[] {
  checkTurn(turn);
  return turn.calls.map((call) => {
    const { outcome } = call;
    const label = `Call ${call.id || call.invocationId} (${call.name})`;
    if (outcome === undefined) {
      throw new TypeError(`${label} has not ended: read the stream to its end before toolResults().`);
    }
    if (!(outcome instanceof ToolUse)) return replies.error(outcome.call, outcome.message);
    switch (outcome.state) {
      case "done":
        return resultOf(outcome, replies);
      case "failed":
        return replies.error(outcome, outcome.error!.message);
      case "new":
        return replies.error(outcome, `The call of ${outcome.name} was not executed.`);
      case "running":
        throw new TypeError(`${label} is running: await execute() before toolResults().`);
    }
  });
}

/**
 * An output that JSON has no word for (a BigInt, a cycle), or of which it keeps nothing (a Response, a Map), takes no
 * other one with it; the model hears that the tool ran.
 */
function resultOf<Reply>(use: ToolUse, replies: Replies<Reply>): Reply {
  const unsent = (why: string) =>
    replies.error(use, `Tool ${use.name} has run, but its output can not be sent: ${why}`);
  const { result } = use;
  try {
    if (isEmptied(result) && !("toJSON" in result)) return unsent(`it is ${emptiedMessage(result)}`);
    return replies.result(use, result);
  } catch (cause) {
    return unsent(textOfThrown(cause));
  }
}

/**
 * The id under which a call goes back: the provider's, byte for byte; our own where it gave none, or that of a call before
 * it, since each may have one result only.
 */
export function wireId({ id, invocationId, metadata }: Pick<FailedCall, "id" | "invocationId" | "metadata">): string {
  return id && metadata["repeatsId"] !== true ? id : invocationId;
}

/** An output as text: a string as it is, anything else as JSON, nothing at all as `null`; half characters are mended. */
export function outputText(output: unknown): string {
  return typeof output === "string" ? output.toWellFormed() : wellFormedJson(JSON.stringify(output) ?? "null");
}

/** {@link outputText} as a value. */
export function outputValue(output: unknown): unknown {
  const text = outputText(output);
  return typeof output === "string" ? text : parseJson(text);
}

/**
 * The arguments as they may stand in the history: verbatim if they are the JSON of an object, else as they were mended,
 * else wrapped as `{"INVALID_JSON":"…"}`, so that the model sees what it wrote. Servers parse the history again, and
 * many refuse all of it for anything else.
 */
export function historyArguments(call: ToolCall): string {
  const { argsText, outcome } = call;
  const mayBeTooDeep = !isWithinLimits(outcome) && exceedsDepth(argsText, MAX_DEPTH);
  if (!mayBeTooDeep && isObjectJson(argsText)) return argsText;
  if (["", "null", '"null"'].includes(argsText.trim())) return "{}";
  for (const { kind, after } of call.repairs) {
    if (kind === "syntax" && typeof after === "string" && isObjectJson(after)) return after;
  }
  // Sent twice, or encoded twice: the value is sound, though the text is not.
  if (outcome instanceof ToolUse || outcome?.code === "turn_not_finished") {
    const validated = outcome instanceof ToolUse ? outcome.input : outcome.call.input;
    const value = [call.input, validated].find(isRecord);
    if (value !== undefined) return JSON.stringify(value);
  }
  return JSON.stringify({ INVALID_JSON: argsText });
}

/** {@link historyArguments} as a value. */
export function historyInput(call: ToolCall): Record<string, unknown> {
  return parseJson(historyArguments(call)) as Record<string, unknown>;
}

/** The blocks of a message without the calls that were found in its text: what it says beside them stands where it began. */
export function onlySaid<Block extends { readonly type: string }>(blocks: readonly Block[], said: string): Block[] {
  const isText = ({ type }: Block) => type === "text";
  const first = blocks.findIndex(isText);
  return blocks.flatMap((block, at) => {
    if (!isText(block)) return [block];
    return at === first && said.trim() !== "" ? [{ ...block, text: said }] : [];
  });
}

/**
 * Containers that may be nested in arguments whose depth nobody has looked at. Those who serialize the history recurse:
 * one call that nests too deep would make every request after it fail. As a string it is harmless.
 */
const MAX_DEPTH = 128;

/**
 * Whether the arguments were read to their end, within the limits of the stream. What was refused for something else
 * (an unknown tool, a turn that was cut) may have come by them.
 */
function isWithinLimits(outcome: ToolCall["outcome"]): boolean {
  if (outcome instanceof ToolUse) return true;
  return outcome?.code === "invalid_input" || outcome?.code === "turn_not_finished";
}

function isObjectJson(text: string): boolean {
  return /^\s*\{/.test(text) && jsonIn(text) !== undefined;
}
