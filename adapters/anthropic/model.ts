// See index.ts.
/** @ts-ignore */
import type {
  BetaRawMessageStreamEvent,
  BetaTool,
  BetaToolUnion,
  MessageCreateParamsStreaming as BetaCreateParams,
} from "@anthropic-ai/sdk/resources/beta/messages/messages";
/** @ts-ignore */
import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  RawMessageStreamEvent,
  ServerToolCaller,
  TextBlockParam,
  Tool,
  ToolChoice as WireToolChoice,
  ToolUnion,
  ImageBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
  WebSearchToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import type { Adapter } from "../../src/adapter.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import {
  checkClient,
  checkParams,
  isSent,
  type Conversation,
  type Model,
  type ResponseModelOptions,
} from "../../src/model.ts";
import { modelOf, opened, type Requested } from "../../src/open-turn.ts";
import { pairMessages, type PairingRules } from "../../src/pairing.ts";
import { outputText } from "../../src/stream/history.ts";
import type { Turn } from "../../src/stream/events.ts";
import { namedTools, type ToolSource } from "../../src/tool/tool-set.ts";
import { isObject } from "../../src/wire/field.ts";
import { container, resultContent, withoutLastThinking } from "./messages.ts";
import { isServerCall } from "./server-calls.ts";

/** The part of the `@anthropic-ai/sdk` client that is used: `Anthropic`, or its clients for other clouds. */
export interface MessagesClient {
  readonly messages: {
    create(body: MessageCreateParamsStreaming, options?: { signal?: AbortSignal }): Requested<RawMessageStreamEvent>;
  };
}

/** `client.beta`: for MCP servers, context management, fallbacks and other beta features. */
export interface BetaMessagesClient {
  readonly messages: {
    create(body: BetaCreateParams, options?: { signal?: AbortSignal }): Requested<BetaRawMessageStreamEvent>;
  };
}

/** This adapter, or one that wraps it. */
export type MessagesAdapter = Adapter<any, any, any, MessageParam>;

/** The parameters of `client.messages.create()`, without those that each turn sets. */
export interface MessagesModelParams extends Omit<MessageCreateParamsStreaming, "messages" | "tools" | "stream"> {
  /** Tools that the provider runs (`web_search_20250305`, …), offered in every turn alongside yours. */
  readonly tools?: readonly Exclude<ToolUnion, Tool>[] | undefined;
}

/** The parameters of `client.beta.messages.create()`, without those that each turn sets. */
export interface BetaMessagesModelParams extends Omit<BetaCreateParams, "messages" | "tools" | "stream"> {
  /** Tools that the provider runs (`mcp_toolset`, …), offered in every turn alongside yours. */
  readonly tools?: readonly Exclude<BetaToolUnion, BetaTool>[] | undefined;
}

/** A model that uses the user's own client. */
export function messagesModel(
  adapter: MessagesAdapter,
  client: MessagesClient,
  params: MessagesModelParams,
  options: ResponseModelOptions = {},
): Model<MessageParam> {
  checkClient(client?.messages?.create, "anthropic.model()", "@anthropic-ai/sdk");
  checkParams(params, "anthropic.model()", options, { asResponse: true });
  const { parallel } = options;
  const { tools: hosted = [], ...fields } = params;
  const model = modelOf(adapter, conversation, options, ({ messages, tools = [], instructions, toolChoice }) => {
    const offered: ToolUnion[] = [...adapter.tools(chosenTools(tools, toolChoice), options), ...hosted];
    const body: MessageCreateParamsStreaming = {
      ...fields,
      ...containerOf(messages, fields.container),
      messages: messages.map(withoutContainer),
      ...(instructions !== undefined && { system: instructions }),
      ...(offered.length > 0 && { tools: offered }),
      ...(isSent(toolChoice, offered)
        ? adapter.toolChoice(toolChoice, { parallel })
        : offered.length > 0 && parallel !== undefined && parallelChoice(parallel, fields.tool_choice)),
      stream: true,
    };
    return (signal) => opened(client.messages.create(body, { signal }), options);
  });
  const assistantMessage = (turn: Turn) => withContainer(adapter.assistantMessage(turn), turn);
  return { ...model, adapter: { ...adapter, assistantMessage } };
}

/** The container in which code waits is kept with its message, so that any process that resumes the run finds it. */
type Contained = MessageParam & { readonly container?: string };

function withContainer(messages: MessageParam[], turn: Turn): Contained[] {
  const { container: id } = container(turn);
  const waits = turn.providerFinishReason === "tool_use" || turn.providerFinishReason === "pause_turn";
  return id === undefined || !waits ? messages : messages.map((message) => ({ ...message, container: id }));
}

function withoutContainer(message: Contained): MessageParam {
  if (message.container === undefined) return message;
  const { container: _, ...rest } = message;
  return rest;
}

/** It is sent next to the messages: the one of the turn being answered, since an older one may be gone. */
function containerOf(
  messages: readonly Contained[],
  given: MessageCreateParamsStreaming["container"],
): Pick<MessageCreateParamsStreaming, "container"> {
  const id = messages.findLast(({ role }) => role === "assistant")?.container;
  if (id === undefined) return {};
  return { container: isObject(given) ? { ...given, id } : id };
}

/** Parallel calls are a setting of the tool choice: of the one in the parameters, if no other is made. */
function parallelChoice(parallel: boolean, given: WireToolChoice = { type: "auto" }): { tool_choice: WireToolChoice } {
  return { tool_choice: given.type === "none" ? given : { ...given, disable_parallel_tool_use: !parallel } };
}

/**
 * This wire cannot name several tools, so only those are offered. A single one that must be called can be named, and
 * the others stay: other tools would mean another prompt, for the cache and for thinking that is bound to it.
 */
function chosenTools(tools: ToolSource, choice: ToolChoice | undefined): ToolSource {
  if (!isObject(choice) || "name" in choice || choice.names.length === 0) return tools;
  const named = namedTools(tools, choice.names);
  return choice.required === true && choice.names.length === 1 ? tools : named;
}

export const conversation: Conversation<MessageParam> = {
  userMessage: (text) => ({ role: "user", content: text }),
  pair: (messages) => withoutLost(pairMessages(messages, PAIRING)),
  // https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons, and the compaction beta
  goesOn: ({ providerFinishReason }) => providerFinishReason === "pause_turn" || providerFinishReason === "compaction",
  imageResult: (output, images) =>
    resultContent([
      { type: "text", text: outputText(output) } satisfies TextBlockParam,
      ...images.map(({ mediaType, data }): ImageBlockParam => ({
        type: "image",
        source: { type: "base64", media_type: mediaType as "image/png", data },
      })),
    ]),
};

/**
 * Drops server tool calls that never got a result, once the conversation has gone on without them: a turn that was
 * paused and then given up, or one after which the user says more than the results. The API never accepts them (`was
 * found without a corresponding web_search_tool_result block`), unless only results follow: then it resumes them
 * (https://github.com/anthropics/anthropic-sdk-typescript/issues/1090). With a call goes the thinking that led to it, if
 * nothing else follows. Nor does it accept a result whose call is gone, as from a history that was shortened between the
 * messages of one turn (`must have a corresponding server_tool_use block before it`):
 * https://github.com/anthropics/claude-code/issues/64026
 */
function withoutLost(messages: MessageParam[]): MessageParam[] {
  const answered = new Set<unknown>();
  const lost = new Set<unknown>();
  let goesOn = true;
  for (const { role, content } of messages.toReversed()) {
    const blocks = Array.isArray(content) ? content : [];
    if (role !== "assistant") goesOn &&= blocks.length > 0 && blocks.every(isResult);
    for (const block of blocks) if ("tool_use_id" in block) answered.add(block.tool_use_id);
    for (const block of blocks) if (!goesOn && isServerCall(block) && !answered.has(block.id)) lost.add(block.id);
  }
  const called = new Set<unknown>();
  const goesBack = (block: ContentBlockParam) => {
    if (!isServerCall(block)) return !isServerResult(block) || called.has(block.tool_use_id);
    if (!lost.has(block.id)) called.add(block.id);
    return called.has(block.id);
  };
  const isOrphan = (block: ContentBlockParam) => callerOf(block) !== undefined && !called.has(callerOf(block));
  // A program that has not ended, or its call: what still needs the container.
  const isWaiting = (block: ContentBlockParam) =>
    callerOf(block) !== undefined || (isServerCall(block) && !answered.has(block.id));
  return messages.flatMap((message): MessageParam[] => {
    const { content } = message;
    if (!Array.isArray(content)) return [message];
    const kept = content.filter(goesBack);
    if (kept.length === content.length && !kept.some(isOrphan)) return [message];
    const left = withoutLastThinking(kept).map((block) => (isOrphan(block) ? withoutCaller(block) : block));
    if (left.length === 0) return [];
    const mended = { ...message, content: left } as MessageParam;
    return [left.some(isWaiting) ? mended : withoutContainer(mended)];
  });
}

/** The id of the program that made a call. */
function callerOf(block: ContentBlockParam): string | undefined {
  const { caller } = block as { readonly caller?: Partial<ServerToolCaller> | null };
  return caller?.tool_id;
}

/** The API rejects a call whose program is gone: `source tool ... not found for tool use block ...`. */
function withoutCaller(block: ContentBlockParam): ContentBlockParam {
  const { caller: _, ...rest } = block as ToolUseBlockParam;
  return rest;
}

function isServerResult(block: ContentBlockParam): block is WebSearchToolResultBlockParam {
  return block.type.endsWith("_tool_result");
}

const PAIRING: PairingRules<MessageParam> = {
  joinsTurns: true,
  parts(message) {
    const { role, content } = message;
    // Only what no message of this API can be.
    if ((role as string) === "tool" || "tool_calls" in message)
      throw new TypeError("calls and results are blocks of a message's content");
    // Without content, a system message may set the effort (beta).
    if (typeof content !== "string" && !Array.isArray(content) && !("output_config" in message))
      throw new TypeError("a message has content, a text or a list of blocks");
    const blocks = Array.isArray(content) ? content : [];
    if (role === "assistant") return { isModels: true, calls: blocks.filter((block) => block.type === "tool_use") };
    const results = blocks.filter(isResult);
    const others = blocks.filter((block) => !isResult(block));
    return {
      isModels: false,
      results: results.map((block) => ({ id: block.tool_use_id, name: "", message: userMessage([block]) })),
      rest: others.length === 0 ? undefined : userMessage(others),
      // The API wants them first: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
      isMixed: !blocks.slice(0, results.length).every(isResult),
    };
  },
  missing: ({ id }, text) =>
    userMessage([{ type: "tool_result", tool_use_id: id, content: text, is_error: true } as ToolResultBlockParam]),
  join: (messages) => [userMessage(messages.flatMap(({ content }) => content as ContentBlockParam[]))],
};

function isResult(block: ContentBlockParam): block is ToolResultBlockParam {
  return block.type === "tool_result";
}

function userMessage(content: ContentBlockParam[]): MessageParam {
  return { role: "user", content };
}
