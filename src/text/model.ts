import { checkedChoice, requiresCall, type ToolChoice } from "../tool/choice.ts";
import { modelMessage, type Model, type ModelOptions, type ModelRequest } from "../model.ts";
import { openTurn, responseInfo, type Opened } from "../open-turn.ts";
import { isResponse, openSource } from "../source.ts";
import { checkSpelling } from "../tool/option-names.ts";
import { toolList, type ToolSource } from "../tool/tool-set.ts";
import { isRecord } from "../schema/json.ts";
import type { TextAdapter, TextSource } from "./adapter.ts";
import { isTextMessage, type TextConversation } from "./conversation.ts";
import type { TextEvent } from "./events.ts";
import type { TextMessage } from "./messages.ts";
import { TEXT_OPTIONS, type TextOptions } from "./notation.ts";

/** The request to a function that generates text. */
export interface TextRequest {
  /** The system prompt, with the description of the tools; `undefined` if there is neither. */
  readonly instructions: string | undefined;
  /** Oldest first. */
  readonly messages: readonly TextMessage[];
  /** Fires once the text is no longer read. */
  readonly signal: AbortSignal;
}

/** What generates the text: the model of an adapter, or a function. */
export type TextSpeaker = Model | ((request: TextRequest) => TextSource | Promise<TextSource>);

export type TextModelOptions = Pick<ModelOptions, "limits" | "repair"> &
  Pick<TextOptions, "reasoning" | "thinking" | "stop">;

/**
 * A model that writes its calls into its text. The history consists of {@link TextMessage}s; a message in any other
 * form goes to the speaker unchanged.
 */
export function textModel(
  adapter: TextAdapter,
  conversation: TextConversation,
  speaker: TextSpeaker,
  options: TextModelOptions,
): Model {
  if (typeof speaker !== "function" && typeof (speaker as Partial<Model> | null)?.open !== "function") {
    throw new TypeError("model() takes the model of another adapter, or a function that generates text.");
  }
  checkSpelling(`${adapter.name}.model()`, options, TEXT_OPTIONS);
  const { variables, ...known } = conversation;
  return {
    ...known,
    adapter,
    open(request) {
      const { messages, tools = [], signal, runId } = request;
      return openTurn<TextEvent>(
        (source) => adapter.read(source, { ...options, tools, signal, runId, variables: variables(messages) }),
        speak(adapter, speaker, request),
      );
    },
  };
}

function speak(adapter: TextAdapter, speaker: TextSpeaker, request: ModelRequest) {
  const { messages, runId } = request;
  const instructions = instructionsOf(adapter, request);
  if (typeof speaker === "function") {
    return async (abort: AbortSignal): Promise<Opened<TextEvent>> => {
      const source = await speaker({ instructions, messages, signal: abort });
      const response = isRecord(source) && isResponse(source) ? source : undefined;
      // Of an error response the events tell the status.
      const events = response?.ok === false ? adapter.read(source) : openSource("model", source).items;
      return {
        events: events as AsyncIterable<TextEvent>,
        response: response && responseInfo(response.status, response.headers),
      };
    };
  }
  // Opened immediately, so that misuse throws; the request is sent when the first event is asked for.
  const closing = new AbortController();
  const turn = speaker.open({
    messages: messages.map((message) => messageFor(speaker, message)),
    instructions,
    signal: closing.signal,
    runId,
  });
  return async (abort: AbortSignal): Promise<Opened<TextEvent>> => {
    abort.addEventListener("abort", () => closing.abort(), { once: true });
    return { events: turn as AsyncIterable<TextEvent>, responseOf: () => turn.response };
  };
}

function messageFor(speaker: Model, message: unknown): unknown {
  if (!isTextMessage(message)) return message;
  const { role, content } = message;
  if (role === "user") return speaker.userMessage(content);
  return modelMessage(speaker, content);
}

/** The system prompt, then the tools. */
function instructionsOf(adapter: TextAdapter, { instructions, tools = [], toolChoice = "auto" }: ModelRequest) {
  const choice = checkedChoice(toolChoice);
  const offered = chosen(tools, choice);
  const parts = [instructions, offered.length === 0 ? undefined : adapter.describeTools(offered), word(choice)];
  const said = parts.filter((part) => part !== undefined && part !== "");
  return said.length === 0 ? undefined : said.join("\n\n");
}

/** A text has no field for the choice: tools that may not be called are not described. */
function chosen(tools: ToolSource, choice: ToolChoice) {
  const list = toolList(tools);
  if (choice === "none") return [];
  if (typeof choice === "string") return list;
  const names = "name" in choice ? [choice.name] : choice.names;
  return list.filter(({ name }) => names.includes(name));
}

function word(choice: ToolChoice): string | undefined {
  if (choice === "none") return "Do not call any function now.";
  return requiresCall(choice) ? "Call a function now, before you answer." : undefined;
}
