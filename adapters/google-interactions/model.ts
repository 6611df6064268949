// See index.ts.
/** @ts-ignore */
import type { Interactions } from "@google/genai";
import type { Adapter } from "../../src/adapter.ts";
import { checkClient, checkParams, isSent, type Conversation, type Model, type ModelOptions } from "../../src/model.ts";
import { modelOf, opened, type Requested } from "../../src/open-turn.ts";
import { pairMessages, type PairingRules } from "../../src/pairing.ts";
import { outputText } from "../../src/stream/history.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import { isNothing } from "../../src/wire/field.ts";
import { resultContent, textStep } from "./messages.ts";
import type { StreamedEvent } from "./wire.ts";

type Step = Interactions.Step;
type Tool = Interactions.Tool;
type Request = Interactions.CreateModelInteractionParamsStreaming;

/** The part of the `@google/genai` client that is used. */
export interface InteractionsClient {
  readonly interactions: {
    create(body: Request & { stream: true }, options?: { signal?: AbortSignal }): Requested<StreamedEvent>;
  };
}

/** This adapter, or one that wraps it. */
export interface InteractionsAdapter extends Adapter<any, any, any, Step> {
  toolChoice(
    choice: ToolChoice,
    options?: { readonly parallel?: boolean | undefined; readonly strict?: boolean | undefined },
  ): Record<string, unknown>;
}

/** The parameters of `ai.interactions.create()`, without those that each turn sets. */
export interface InteractionsModelParams extends Omit<Request, "input" | "tools" | "stream"> {
  /** Tools that the provider runs (`{ type: "google_search" }`, …), offered in every turn alongside yours. */
  readonly tools?: readonly Exclude<Tool, Interactions.Function>[] | undefined;
}

export interface InteractionsModelOptions extends ModelOptions {
  /** With `toolChoice: "auto"`: calls are held to their declarations. */
  readonly strict?: boolean | undefined;
}

/** A model that uses the user's own client. */
export function interactionsModel(
  adapter: InteractionsAdapter,
  client: InteractionsClient,
  params: InteractionsModelParams,
  options: InteractionsModelOptions = {},
): Model<Step> {
  checkClient(client?.interactions?.create, "googleInteractions.model()", "@google/genai 2 or later");
  checkParams(params, "googleInteractions.model()", options);
  const { strict, onLoss } = options;
  const { tools: hosted = [], ...fields } = params;
  // Then the provider has the history, and in it the calls of the first results.
  const keepsOrphans = !isNothing(params.previous_interaction_id);
  const pair = (messages: readonly Step[]) => pairMessages(messages, { ...PAIRING, keepsOrphans });
  return modelOf(adapter, { ...conversation, pair }, options, ({ messages, tools = [], instructions, toolChoice }) => {
    const offered: Tool[] = [...adapter.tools(tools, { onLoss }), ...hosted];
    const chosen = isSent(toolChoice, offered) && adapter.toolChoice(toolChoice, { strict })["generation_config"];
    const body: Request & { stream: true } = {
      ...fields,
      input: [...messages],
      ...(instructions !== undefined && { system_instruction: instructions }),
      ...(offered.length > 0 && { tools: offered }),
      ...(chosen !== false && { generation_config: { ...fields.generation_config, ...(chosen as object) } }),
      stream: true,
    };
    return (signal) => opened(client.interactions.create(body, { signal }));
  });
}

export const conversation: Conversation<Step> = {
  userMessage: (text) => ({ type: "user_input", content: [{ type: "text", text }] }),
  modelMessage: textStep,
  pair: (messages) => pairMessages(messages, PAIRING),
  imageResult: (output, images) =>
    resultContent([
      { type: "text", text: outputText(output) },
      ...images.map(({ mediaType, data }) => ({ type: "image" as const, mime_type: mediaType, data })),
    ]),
};

const PAIRING: PairingRules<Step> = {
  joinsTurns: true,
  parts(step) {
    if (typeof step.type !== "string") throw new TypeError("it is no step: a step has a type, such as user_input");
    switch (step.type) {
      case "function_call":
        return { isModels: true, calls: [{ id: step.id, name: step.name }] };
      case "function_result":
        return { isModels: false, results: [{ id: step.call_id, name: step.name ?? "", message: step }] };
      default:
        return { isModels: step.type !== "user_input" };
    }
  },
  missing: ({ id, name }, text) => ({
    type: "function_result",
    call_id: id,
    ...(name !== "" && { name }),
    result: text,
    is_error: true,
  }),
};
