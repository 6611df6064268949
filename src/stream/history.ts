import { messageOf, type FailedCall, type ToolCallError } from "../errors.ts";
import { emptiedMessage, exceedsDepth, isEmptied, jsonIn, parseJson, wellFormedJson } from "../json/index.ts";
import { isRecord, kindOf } from "../schema/json.ts";
import type { Tool } from "../tool/tool.ts";
import { ToolUse } from "../tool/use.ts";
import type { ToolCall } from "./call.ts";
import type { Turn } from "./events.ts";

/** How a wire expresses the outcome of one call. */
export interface Replies<Reply> {
  /** @param output not checked: if this throws, the model is told that the tool ran */
  result(use: ToolUse, output: unknown): Reply;
  /** @param message for the model */
  error(call: FailedCall, message: string): Reply;
}

/** A stream passed instead of its turn is a likely mistake: the message says what to pass. */
export function checkTurn(turn: Turn): void {
  if (Array.isArray(turn?.calls)) return;
  throw new TypeError(`A turn is needed: stream.turn, or what stream.done() resolves to. Got ${gotOf(turn)}.`);
}

function gotOf(value: unknown): string {
  if (value instanceof Error) return `a ${value.name}`;
  if (!isRecord(value)) return kindOf(value);
  return "turn" in value ? "the stream" : typeof value["then"] === "function" ? "a promise" : "another object";
}

/**
 * What an adapter's own parser has recorded of a turn.
 *
 * @param field one that every such record has
 * @param absent for a turn without a record, as one made by hand; default: it is refused
 * @throws TypeError for a turn of another adapter
 */
export function recordOf<Native extends object>(turn: Turn, field: keyof Native, absent?: Native): Native {
  checkTurn(turn);
  const record = (turn.native ?? absent) as Native | undefined;
  if (record !== undefined && Object.hasOwn(record, field)) return record;
  throw foreignTurn(turn);
}

export function foreignTurn({ wire }: Turn): TypeError {
  return new TypeError(
    `assistantMessage() takes a turn that this adapter has read to its end, got one of ${wire}. ` +
      "What one provider said, tell another one as text.",
  );
}

/** The part of an adapter that answers calls. */
export interface Answers<Message> {
  /**
   * The result of one call. A string is sent as it is, anything else as JSON; `undefined` becomes `null`.
   *
   * @throws TypeError where it holds a promise, or what else JSON would keep nothing of (a Response, a Map), or bytes
   */
  readonly toolResult: (use: ToolUse, output: unknown) => Message;
  /** What the model is told about a call that was not executed or failed. */
  readonly toolError: (error: ToolCallError) => Message;
  /**
   * The results of all calls of a finished turn, in call order. A call that was handed out but not executed is reported
   * to the model as such.
   *
   * @throws TypeError while a call is still open or running: wait for the turn and for its executions first.
   */
  readonly toolResults: (turn: Turn) => Message[];
}

/** @param join the replies to all calls of a turn in one message. Default: each reply is a message of its own. */
export function answers<Reply, Message = Reply>(
  { result, error }: Replies<Reply>,
  join?: (replies: Reply[]) => Message,
): Answers<Message> {
  function messages(replies: Reply[]): Message[] {
    if (join === undefined) return replies as unknown[] as Message[];
    return replies.length === 0 ? [] : [join(replies)];
  }
  return {
    toolResult(use, output) {
      // An id passed instead of the use would give an answer to no call.
      if (typeof use?.invocationId !== "string") {
        throw new TypeError(
          `toolResult() takes the use of a call, as event.use is, and its output. Got ${gotOf(use)}.`,
        );
      }
      return messages([result(use, output)])[0]!;
    },
    toolError(given) {
      // An error that a handler threw does not know its call.
      if (typeof given?.call?.invocationId !== "string") {
        throw new TypeError(
          `toolError() takes a ToolCallError, as event.error of a tool-error is; what an execution threw is in toolResults(turn). Got ${gotOf(given)}.`,
        );
      }
      return messages([error(given.call, given.message)])[0]!;
    },
    toolResults: (turn) => messages(repliesOf(turn, { result, error })),
  };
}

/**
 * One reply for every call of a finished turn, in call order: its result, or why there is none.
 * A call that was handed out but not executed is reported to the model as such, and so is an output JSON cannot
 * express.
 *
 * @example toolResults: (turn) => repliesOf(turn, { result: toolResult, error: errorReply })
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
        return replies.error(outcome, [outcome.error!.message, outcome.note].join(" ").trimEnd());
      case "new":
        return replies.error(outcome, `The call of ${outcome.name} was not executed.`);
      case "running":
        throw new TypeError(`${label} is running: await execute() before toolResults().`);
    }
  });
}

/** An output that cannot be told does not affect the other results; the model is told that the tool ran. */
function resultOf<Reply>(use: ToolUse, replies: Replies<Reply>): Reply {
  const { note, tool } = use;
  try {
    const result = modelOutput(tool, use.result);
    // To an output with an adapter's mark (images, say), the adapter adds the note.
    return replies.result(use, note === undefined || isMarked(result) ? result : { note, output: result });
  } catch (cause) {
    const why = messageOf(cause);
    return replies.error(use, `Tool ${use.name} has run, but its output cannot be sent: ${why}`);
  }
}

/**
 * What the model is told of an output, for {@link outputText}.
 *
 * @throws what `toModelOutput` throws
 */
export function modelOutput(tool: Tool, output: unknown): unknown {
  // What the caller answers instead of a handler is meant as it is.
  const result = tool.mode === "internal" && tool.toModelOutput ? tool.toModelOutput(output) : output;
  if (result instanceof Promise) result.catch(() => {}); // nobody else handles its rejection
  return result;
}

/** Whether it is for one provider only, such as its images. */
export function isMarked(output: unknown): boolean {
  return Object.getOwnPropertySymbols(Object(output)).length > 0;
}

/**
 * The id under which a call goes back: the provider's, byte for byte; our own where it gave none or repeated the id of
 * an earlier call, since each id may have only one result.
 */
export function wireId({ id, invocationId, metadata }: Pick<FailedCall, "id" | "invocationId" | "metadata">): string {
  return id && metadata["sharesId"] !== true ? id : invocationId;
}

/**
 * An output as text: a string as it is, anything else as JSON, `undefined` as `null`; lone surrogates are replaced.
 *
 * @throws what `JSON.stringify` throws, for a BigInt or a cycle; TypeError if JSON keeps nothing of a part of it (a
 *   promise that was not awaited, a Map) or it has bytes. {@link repliesOf} tells the model then that the tool ran
 */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output.toWellFormed();
  const text = JSON.stringify(output) ?? "null";
  // Nothing else is what JSON makes of them; looking at every value costs up to as much again.
  if (/\{(\}|"0":|"type":"Buffer")/.test(text)) refuseEmptied(output);
  return wellFormedJson(text);
}

/** Walks what JSON makes of the value: a replacer would take several times as long. */
function refuseEmptied(value: unknown): void {
  const { toJSON } = (value ?? "") as { toJSON?: unknown };
  const told: unknown = typeof toJSON === "function" ? toJSON.call(value, "") : value;
  if (typeof told !== "object" || told === null) return;
  // A Buffer's toJSON() returns a list of its bytes.
  const item = ArrayBuffer.isView(value) ? value : told;
  if (isEmptied(item)) throw new TypeError(`the output holds ${emptiedMessage(item)}`);
  // JSON has no form for what a list holds besides its items.
  for (const part of Array.isArray(told) ? told : Object.values(told)) refuseEmptied(part);
}

/** {@link outputText} as a value: a string, or plain JSON that shares nothing with the output. */
export function outputValue(output: unknown): unknown {
  const text = outputText(output);
  return typeof output === "string" ? text : parseJson(text);
}

/**
 * The arguments in a form fit for the history: verbatim if they are the JSON of an object, else as repaired, else
 * wrapped as `{"INVALID_JSON":"…"}`, so that the model sees what it wrote. Servers parse the history again, and many
 * reject the whole request for anything else, also for half a character ("surrogates not allowed",
 * https://github.com/Aider-AI/aider/issues/3693): it becomes U+FFFD.
 */
export function historyArguments(call: ToolCall): string {
  return wellFormedJson(argumentsOf(call));
}

function argumentsOf(call: ToolCall): string {
  const { argsText, outcome } = call;
  const mayBeTooDeep = !isWithinLimits(outcome) && exceedsDepth(argsText, MAX_DEPTH);
  if (!mayBeTooDeep && isObjectJson(argsText)) return argsText;
  if (["", "null", '"null"', "[]"].includes(argsText.trim())) return "{}";
  for (const { kind, after } of call.repairs) {
    if (kind === "syntax" && typeof after === "string" && isObjectJson(after)) return after;
  }
  // Sent twice, or encoded twice: the value is sound even though the text is not.
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

/** A message's blocks without the calls found in its text: the remaining text goes where the first text block was. */
export function onlySaid<Block extends { readonly type: string }>(blocks: readonly Block[], said: string): Block[] {
  const isText = ({ type }: Block) => type === "text";
  const first = blocks.findIndex(isText);
  return blocks.flatMap((block, at) => {
    if (!isText(block)) return [block];
    return at === first && said.trim() !== "" ? [{ ...block, text: said }] : [];
  });
}

/**
 * How deep containers may nest in arguments whose depth was never checked. History serializers recurse: one call that
 * nests too deep would make every later request fail. As a string it is harmless.
 */
const MAX_DEPTH = 128;

/**
 * Whether the arguments were read to their end within the stream's limits. A call refused for another reason (an
 * unknown tool, a turn that was cut) may have skipped them.
 */
function isWithinLimits(outcome: ToolCall["outcome"]): boolean {
  if (outcome instanceof ToolUse) return true;
  return outcome?.code === "invalid_input" || outcome?.code === "turn_not_finished";
}

function isObjectJson(text: string): boolean {
  return /^\s*\{/.test(text) && jsonIn(text) !== undefined;
}
