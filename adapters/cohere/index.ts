import type { Cohere } from "cohere-ai";
import { defineAdapter, type EventSource, type Parser, type ParserSink, type ToolsOptions } from "../../src/adapter.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import type { Model, ModelOptions } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions, type TurnStream } from "../../src/read/index.ts";
import type { StreamEvent } from "../../src/stream/events.ts";
import { walkSchema } from "../../src/schema/lower.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { lowerTools, refuseText, type LoweredTool } from "../../src/tool/lower-tools.ts";
import { namedTools, type ToolSource } from "../../src/tool/tool-set.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  cohereModel,
  type CohereAdapter,
  type CohereModelClient,
  type CohereModelParams,
} from "./model.ts";
import { CohereParser } from "./parser.ts";
import { plain, strict, toolName } from "./schema.ts";
import type { WireEvent } from "./wire.ts";

export type { CohereModelClient, CohereModelParams } from "./model.ts";
export type { CohereContent, CohereNative, WireEvent } from "./wire.ts";

/** What {@link cohere.request} gives: the fields of a request that are about tools. */
export interface CohereRequestFields {
  /** Left out where there are none. */
  tools?: Cohere.ToolV2[];
  strictTools?: true;
  toolChoice?: "REQUIRED" | "NONE";
}

/**
 * Cohere's v2 chat, through `cohere-ai` or by hand.
 *
 * @example
 * const stream = await new CohereClientV2({ token }).chatStream({ model, messages, ...cohere.request(tools) });
 * const events = cohere.read(stream, { tools });
 * for await (const event of events) {
 *   if (event.type === "tool-use") await event.use.execute();
 * }
 * messages.push(...cohere.assistantMessage(events.turn), ...cohere.toolResults(events.turn));
 */
export const cohere = defineAdapter({
  name: "cohere",
  capabilities: {
    streamsInput: true,
    wireIds: true,
    parallelCalls: true,
    strict: true,
    imagesInResults: false,
    errorFlag: false,
  },
  toolName,
  /**
   * The tools as the request takes them. Strict mode is one switch of the request, `strictTools: true`, for all of
   * them; so is `strict: "auto"` here: all tools are strict or none is, as where they have more than 200 fields in all. {@link cohere.request} sets the switch too.
   */
  tools: (tools: ToolSource, options?: ToolsOptions): Cohere.ToolV2[] => lower(tools, options).tools,
  toolChoice,
  /**
   * All fields of a request that are about tools, to be spread into it. Cohere can not name the tools that may be
   * called, so those that `choice` leaves out are left out of the list.
   *
   * @throws TypeError when `choice` names a tool that is not there
   */
  request(tools: ToolSource, options: ToolsOptions & { readonly choice?: ToolChoice } = {}): CohereRequestFields {
    const { choice = "auto", ...rest } = options;
    const lowered = lower(chosen(tools, choice), rest);
    return {
      ...(lowered.tools.length > 0 && { tools: lowered.tools }),
      ...(lowered.strict && { strictTools: true as const }),
      ...toolChoice(choice),
    };
  },
  parser: (sink: ParserSink): Parser<WireEvent> => new CohereParser(sink),
  read: (source: EventSource<WireEvent>, options?: ReadOptions): TurnStream => readTurn(cohere, source, options),
  parse: (response: WireEvent, options?: ReadOptions): StreamEvent[] => parseResponse(cohere, response, options),
  assistantMessage,
  toolResult,
  toolError,
  toolResults,
  recognises,
  endpoint,
  conversation,
  /**
   * A model for a loop: the user's own client, and the parameters of its requests.
   *
   * @example cohere.model(new CohereClientV2({ token }), { model: "command-a-03-2025" })
   */
  model(
    this: CohereAdapter | void,
    client: CohereModelClient,
    params: CohereModelParams,
    options?: ModelOptions,
  ): Model<Cohere.ChatMessageV2> {
    // As `this`, so that an adapter that wraps this one reads with what it adds.
    return cohereModel(this ?? cohere, client, params, options);
  },
});

/** A type and not an interface, so that it is a record of unknown fields too. */
type ToolChoiceFields = { toolChoice?: "REQUIRED" | "NONE" };

/**
 * `{}` for `auto`, else `toolChoice`. One tool, or some, can not be named on this wire: this says only whether the model
 * must call one, and {@link cohere.request} filters the list. Parallel calls can not be turned off.
 *
 * @throws TypeError when the choice is none, or requires one of no tools
 */
function toolChoice(wanted: ToolChoice): ToolChoiceFields {
  const choice = checkedChoice(wanted);
  if (choice === "auto") return {};
  if (choice === "none") return { toolChoice: "NONE" };
  const isRequired = choice === "required" || "name" in choice || choice.required === true;
  return isRequired ? { toolChoice: "REQUIRED" } : {};
}

function chosen(tools: ToolSource, choice: ToolChoice): ToolSource {
  if (typeof choice !== "object" || choice === null) return tools;
  return namedTools(tools, "name" in choice ? [choice.name] : choice.names);
}

function lower(tools: ToolSource, options: ToolsOptions = {}): { tools: Cohere.ToolV2[]; strict: boolean } {
  refuseText("cohere", tools);
  const dialect = { adapter: "cohere", toolName, plain, strict };
  let isStrict = options.strict ?? false;
  if (isStrict === "auto") {
    const lowered = lowerTools(tools, {
      ...dialect,
      options: { strict: "auto", onLoss: "ignore" },
      make: (_, made) => made,
    });
    const fields = lowered.reduce((count, made) => count + fieldsIn(made.schema), 0);
    isStrict = lowered.length > 0 && lowered.every((made) => made.strict) && fields <= MAX_STRICT_FIELDS;
  }
  return {
    tools: lowerTools(tools, { ...dialect, options: { ...options, strict: isStrict }, make }),
    strict: isStrict,
  };
}

/** In all tools of one request: https://docs.cohere.com/v2/docs/tool-use-parameter-types */
const MAX_STRICT_FIELDS = 200;

function fieldsIn(schema: JsonSchema): number {
  let count = 0;
  walkSchema(schema, ({ properties }) => {
    if (typeof properties === "object" && properties !== null) count += Object.keys(properties).length;
  });
  return count;
}

function make({ description }: Tool, { name, schema }: LoweredTool): Cohere.ToolV2 {
  return {
    type: "function",
    function: { name, ...(description !== undefined && { description }), parameters: { ...schema } },
  };
}

const EVENT_TYPES: ReadonlySet<unknown> = new Set([
  "message-start",
  "content-start",
  "content-delta",
  "content-end",
  "tool-plan-delta",
  "tool-call-start",
  "tool-call-delta",
  "tool-call-end",
  "citation-start",
  "citation-end",
  "message-end",
]);

/** An event of a stream by its type, a whole response by its message and finish reason. */
function recognises(event: unknown): boolean {
  if (typeof event !== "object" || event === null) return false;
  const { type, message, finish_reason, finishReason } = event as WireEvent;
  if (type !== undefined && type !== null) return EVENT_TYPES.has(type);
  return (
    typeof message === "object" && message?.role === "assistant" && typeof (finish_reason ?? finishReason) === "string"
  );
}
