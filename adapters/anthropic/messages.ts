import type { ContentBlockParam, ToolResultBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { FailedCall, ToolCallError } from "../../src/errors.ts";
import type { ToolCall } from "../../src/stream/call.ts";
import type { Turn } from "../../src/stream/events.ts";
import { isRecord } from "../../src/schema/json.ts";
import { historyInput, outputText, repliesOf, wireId } from "../../src/stream/history.ts";
import type { ToolUse } from "../../src/tool/use.ts";
import { CUT_REASONS, type AnthropicRecord, type BlockRecord, type MessageRecord } from "./parser.ts";
import { toolName } from "./schema.ts";

/** The SDK's `MessageParam` of either role, always with a list of blocks. */
export interface AssistantMessage {
  role: "assistant";
  content: ContentBlockParam[];
}
export interface UserMessage {
  role: "user";
  content: ContentBlockParam[];
}

/**
 * The turn as the message that goes back: one, or none for a turn in which nothing came. Blocks are as they came and in
 * their order, signatures, citations and unknown fields included, save for what the API would refuse:
 *
 * - text of nothing but white space
 * - blocks that were cut: thinking without its signature, a server's call that never got its result
 * - the input of a call that is no JSON object: it goes back as `{ "INVALID_JSON": "..." }`
 *   (https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming)
 * - text and thinking after a call: the calls are moved behind them
 *
 * @throws TypeError for a turn of another adapter, or one that has not been read to its end
 */
export function assistantMessage(turn: Turn): AssistantMessage[] {
  const { messages } = (turn.native ?? {}) as Partial<AnthropicRecord>;
  if (messages === undefined) {
    throw new TypeError(
      `assistantMessage() takes a turn that this adapter has read to its end, got one of ${turn.wire}.`,
    );
  }
  const calls = new Map(turn.calls.map((call) => [`${call.turnIndex}/${call.callIndex}`, call]));
  const ended = messages.flatMap(({ blocks }) => blocks).filter(({ done }) => done);
  const answered = new Set(ended.map(({ block }) => block["tool_use_id"]));
  const content = messages.flatMap((message) =>
    message.blocks.flatMap((record): Block[] => {
      if (record.call === undefined) return goesBack(record, message, answered) ? [record.block] : [];
      const key = `${record.call.turnIndex}/${record.call.callIndex}`;
      const call = calls.get(key);
      calls.delete(key);
      return call === undefined ? [] : [callBlock(record.block, call)];
    }),
  );
  // What no block tells: calls that were found in the text.
  for (const call of calls.values()) content.push(callBlock({ type: "tool_use", name: call.name }, call));
  if (content.length === 0) return [];
  return [{ role: "assistant", content: callsLast(content) as unknown as ContentBlockParam[] }];
}

type Block = BlockRecord["block"];

/** Whether a block that is no call of ours may stand in the history. */
function goesBack({ block, done }: BlockRecord, message: MessageRecord, answered: ReadonlySet<unknown>): boolean {
  const { stopReason, replaced } = message;
  // What a gateway gave up is in nobody's memory; its calls stay only because each of them has a result.
  if (replaced) return false;
  const wasCut = stopReason === null || CUT_REASONS.has(stopReason);
  switch (block.type) {
    case "text":
      // "text content blocks must be non-empty", "... must contain non-whitespace text":
      // https://github.com/anthropics/anthropic-sdk-python/issues/461, https://github.com/anthropics/claude-code/issues/23440
      return typeof block["text"] === "string" && block["text"].trim() !== "";
    case "thinking":
      // Other servers with this API send no signatures and take none.
      return !!block["signature"] || (done && !wasCut);
    default:
      if (!done) return false;
      // A pause and a program that waits for our results go on with the call; anything else has lost the result.
      if (!block.type.endsWith("_tool_use") || answered.has(block["id"])) return true;
      return stopReason === "pause_turn" || stopReason === "tool_use";
  }
}

function callBlock(block: Block, call: ToolCall): Block {
  const name = toolName(typeof block["name"] === "string" && block["name"] !== "" ? block["name"] : "unnamed");
  return { ...block, type: "tool_use", id: wireId(call), name, input: historyInput(call) };
}

/**
 * Moves the calls behind the last text or thinking that follows one of them, and leaves the rest as it is.
 * The API takes such a message for one whose results are missing: https://github.com/anthropics/claude-code/issues/473
 */
function callsLast(blocks: readonly Block[]): readonly Block[] {
  const isCall = ({ type }: Block) => type === "tool_use";
  const first = blocks.findIndex(isCall);
  const last = blocks.findLastIndex(
    ({ type }) => type === "text" || type === "thinking" || type === "redacted_thinking",
  );
  if (first === -1 || last < first) return blocks;
  const upTo = blocks.slice(0, last + 1);
  return [...upTo.filter((block) => !isCall(block)), ...upTo.filter(isCall), ...blocks.slice(last + 1)];
}

/**
 * The result of one call, as a user message of its own: the API joins user messages that follow one another.
 * A string goes as it is, {@link resultContent} as its blocks, anything else as JSON; nothing at all is `null`.
 */
export function toolResult(use: ToolUse, output: unknown): UserMessage {
  return userMessage([resultBlock(use, output)]);
}

/** What the model hears of a call that did not happen or failed, with the wire's own flag. */
export function toolError(error: ToolCallError): UserMessage {
  return userMessage([errorBlock(error.call, error.message)]);
}

/**
 * The results of all calls of a turn, in call order: one user message, or none for a turn without calls.
 * A call that was handed out and never executed is reported to the model as that.
 * Put what else the user says behind the results: the API wants them first.
 *
 * @throws TypeError while a call is still open or running: wait for the turn and for its executions first.
 */
export function toolResults(turn: Turn): UserMessage[] {
  const blocks = repliesOf(turn, { result: resultBlock, error: errorBlock });
  return blocks.length === 0 ? [] : [userMessage(blocks)];
}

function resultBlock(call: FailedCall, output: unknown): ToolResultBlockParam {
  return { type: "tool_result", tool_use_id: wireId(call), content: contentOf(output), ...toolset(call) };
}

function errorBlock(call: FailedCall, message: string): ToolResultBlockParam {
  return { type: "tool_result", tool_use_id: wireId(call), content: message, is_error: true, ...toolset(call) };
}

function userMessage(content: ToolResultBlockParam[]): UserMessage {
  return { role: "user", content };
}

/** A result of a toolset's member names the toolset, as the call did. */
function toolset({ metadata }: FailedCall): { toolset_name?: string } {
  const { toolset_name: name } = metadata;
  return typeof name === "string" ? { toolset_name: name } : {};
}

/** The content of a tool result: text, images, documents, search results, tool references. */
export type ResultBlocks = Exclude<ToolResultBlockParam["content"], string | undefined>;

const RESULT_CONTENT: unique symbol = Symbol.for("toolstream.anthropic.resultContent");

/**
 * Marks a handler's output as content blocks, for results that are more than text. Without the mark an
 * array is data and goes as JSON, whatever it looks like.
 *
 * @example
 * execute: async () => resultContent([{ type: "image", source: { type: "base64", media_type: "image/png", data } }]),
 */
export function resultContent(blocks: ResultBlocks): { readonly content: ResultBlocks } {
  return Object.freeze({ [RESULT_CONTENT]: true, content: blocks });
}

function contentOf(output: unknown): string | ResultBlocks {
  if (isRecord(output) && RESULT_CONTENT in output) return output["content"] as ResultBlocks;
  return outputText(output);
}
