/**
 * An adapter of your own, for a wire that this library does not have: Ollama's `/api/chat`, NDJSON with whole calls.
 * Outside this repository, `../../src/index.ts` is `toolstream`.
 *
 * https://docs.ollama.com/api/chat, https://docs.ollama.com/capabilities/tool-calling (2026-11)
 */
import {
  checkedChoice,
  defineAdapter,
  historyInput,
  lowerTools,
  namedTools,
  openTurn,
  outputText,
  pairMessages,
  parseResponse,
  readTurn,
  repliesOf,
  responseInfo,
  Templates,
  ToolError,
  wireId,
  type Conversation,
  type Delta,
  type FailedCall,
  type FinishReason,
  type JsonSchema,
  type Model,
  type Parser,
  type ParserSink,
  type ReadOptions,
  type StreamEvent,
  type StreamSource,
  type Tool,
  type ToolChoice,
  type ToolSource,
  type ToolsOptions,
  type ToolUse,
  type Turn,
  type TurnStream,
} from "../../src/index.ts";

// What comes and goes: only the fields that are read.

export interface ChatEvent {
  readonly model?: string;
  readonly message?: {
    readonly content?: string;
    readonly thinking?: string;
    readonly tool_calls?: readonly {
      readonly id?: string;
      readonly function: { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> };
    }[];
  };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly error?: string;
}

export interface ChatTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: JsonSchema };
}

export type ChatMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly thinking?: string;
      readonly tool_calls?: readonly { readonly id?: string; readonly function: { name: string; arguments: object } }[];
    }
  | { readonly role: "tool"; readonly tool_call_id?: string; readonly tool_name: string; readonly content: string };

// Deltas in.

class ChatParser implements Parser<ChatEvent> {
  readonly native = undefined; // all that goes back is in the turn
  readonly #sink: ParserSink;
  #isStarted = false;
  #hasCalls = false;

  /** Most of a stream is pieces of text. Optional: with it, they are read without parsing each event. */
  static readonly #text: Delta<ChatParser> = {
    text: ["message", "content"],
    ignored: [["created_at"]],
    push(parser, text) {
      if (!parser.#isStarted) return false;
      parser.#sink.text(text);
      return true;
    },
  };
  static readonly #templates = new Templates(({ message, done }: ChatEvent) =>
    done === false && message?.thinking === undefined && message?.tool_calls === undefined ? this.#text : undefined,
  );

  get templates(): Templates {
    return ChatParser.#templates;
  }

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  push({ model, message, error, ...event }: ChatEvent): void {
    if (error !== undefined) return this.#sink.fail(new ToolError("provider_error", error));
    if (!this.#isStarted) this.#sink.start(undefined, model);
    this.#isStarted = true;
    if (message?.thinking) this.#sink.reasoning(message.thinking);
    if (message?.content) this.#sink.text(message.content);
    for (const { id, function: called } of message?.tool_calls ?? []) {
      this.#sink.tool({ id, name: called.name, argsKvPatch: called.arguments ?? {}, done: true }); // always whole
      this.#hasCalls = true;
    }
    if (event.done === true) this.#onDone(event);
  }

  #onDone({ done_reason: word = "stop", prompt_eval_count: inputTokens, eval_count: outputTokens, ...raw }: ChatEvent) {
    this.#sink.usage({
      inputTokens,
      outputTokens,
      totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0),
      cacheReadTokens: undefined,
      cacheWriteTokens: undefined,
      reasoningTokens: undefined,
      raw,
    });
    this.#sink.finish(word === "stop" && this.#hasCalls ? "tool-use" : (REASONS[word] ?? "unknown"), word);
    this.#sink.terminal();
  }

  end(): void {}
}

const REASONS: Readonly<Record<string, FinishReason>> = { stop: "stop", length: "length" };

// Tools out.

/** Ollama takes names and schemas as they are. For providers that do not, see `safeToolName()` and `plain` below. */
const toolName = (name: string): string => name;

function tools(source: ToolSource, options?: ToolsOptions): ChatTool[] {
  return lowerTools(source, {
    adapter: "ollama",
    toolName,
    plain: [], // what has to be changed in the schemas; no `strict`, since there is no such mode
    options,
    make: ({ description }, { name, schema }) => ({
      type: "function",
      function: { name, ...(description !== undefined && { description }), parameters: schema },
    }),
  });
}

/** The request has no field for it: {@link chosen} leaves out the tools that may not be called. */
function toolChoice(choice: ToolChoice): Record<string, never> {
  const wanted = checkedChoice(choice);
  const isRequired = wanted === "required" || (typeof wanted === "object" && ("name" in wanted || wanted.required));
  if (isRequired) throw new TypeError("ollama cannot make a model call a tool");
  return {};
}

function chosen(source: ToolSource, choice: ToolChoice = "auto"): ToolSource {
  toolChoice(choice);
  const wanted = checkedChoice(choice);
  if (wanted === "none") return [];
  return typeof wanted === "object" && "names" in wanted ? namedTools(source, wanted.names) : source;
}

// Results back.

function assistantMessage({ text, reasoning, calls }: Turn): ChatMessage[] {
  if (text === "" && reasoning === "" && calls.length === 0) return [];
  const toolCalls = calls.map((call) => ({
    id: wireId(call),
    function: { name: sentName(call), arguments: historyInput(call) },
  }));
  return [
    {
      role: "assistant",
      content: text,
      ...(reasoning !== "" && { thinking: reasoning }),
      ...(calls.length > 0 && { tool_calls: toolCalls }),
    },
  ];
}

function toolResult(use: ToolUse, output: unknown): ChatMessage {
  return reply(use, outputText(output));
}

function errorReply(call: FailedCall, message: string): ChatMessage {
  return reply(call, JSON.stringify({ error: message }));
}

function reply(call: FailedCall, content: string): ChatMessage {
  return { role: "tool", tool_call_id: wireId(call), tool_name: sentName(call), content };
}

/** As the provider knows it; a call may have ended before it had a name. */
function sentName({ name }: Pick<FailedCall, "name">): string {
  return toolName(name ?? "unnamed");
}

// All of it.

const reading = {
  name: "ollama",
  toolName,
  parser: (sink: ParserSink): Parser<ChatEvent> => new ChatParser(sink),
};

const conversation: Conversation<ChatMessage> = {
  userMessage: (content) => ({ role: "user", content }),
  pair: (messages) =>
    pairMessages(messages, {
      joinsTurns: false,
      parts(message) {
        // Messages that others have stored may be without ids: those are paired by name.
        if (message.role === "tool") {
          const { tool_call_id: id = "", tool_name: name } = message;
          return { isModels: false, results: [{ id, name, message }] };
        }
        if (message.role !== "assistant") return { isModels: false };
        const calls = (message.tool_calls ?? []).map(({ id = "", function: { name } }) => ({ id, name }));
        return { isModels: true, calls };
      },
      missing: ({ id, name }, text) => ({
        role: "tool",
        ...(id !== "" && { tool_call_id: id }),
        tool_name: name,
        content: JSON.stringify({ error: text }),
      }),
    }),
};

/** What is read and sent. @example for await (const event of ollama.read(await fetch(url, request), { tools })) … */
export const ollama = defineAdapter({
  ...reading,
  capabilities: {
    streamsInput: false,
    wireIds: false,
    parallelCalls: true,
    strict: false,
    imagesInResults: false,
    errorFlag: false,
  },
  tools,
  toolChoice,
  read: <T extends Tool = Tool>(source: StreamSource<ChatEvent>, options?: ReadOptions<T>): TurnStream<T> =>
    readTurn(reading, source, options),
  parse: <T extends Tool = Tool>(response: ChatEvent, options?: ReadOptions<T>): StreamEvent<T>[] =>
    parseResponse(reading, response, options),
  assistantMessage,
  toolResult,
  toolError: ({ call, message }) => errorReply(call, message),
  toolResults: (turn) => repliesOf(turn, { result: toolResult, error: errorReply }),
  recognizes: (event) => typeof event === "object" && event !== null && "done" in event && "message" in event,
  endpoint: {
    match({ method, path, body }) {
      if (method !== "POST" || !path.endsWith("/api/chat")) return undefined;
      return (body as { stream?: unknown } | undefined)?.stream === false ? "whole" : "stream";
    },
    errorBody: (_status, message) => ({ error: message }),
  },
  conversation,
});

/** A model for a run: `new Orchestrator({ model: ollamaModel(url, { model: "qwen3" }), tools, store })`. */
export function ollamaModel(
  url: string,
  params: { readonly model: string; readonly think?: boolean },
): Model<ChatMessage> {
  return {
    ...conversation,
    adapter: ollama,
    open({ messages, tools: offered = [], instructions, toolChoice: choice, signal, runId }) {
      const taken = chosen(offered, choice);
      const system: ChatMessage[] = instructions === undefined ? [] : [{ role: "system", content: instructions }];
      const body = JSON.stringify({ ...params, messages: [...system, ...messages], tools: tools(taken) });
      return openTurn<Uint8Array>(
        (source) => ollama.read(source, { tools: taken, signal, runId }),
        async (abort) => {
          const headers = { "content-type": "application/json" };
          const response = await fetch(`${url}/api/chat`, { method: "POST", headers, body, signal: abort });
          const { status } = response;
          if (!response.ok || response.body === null) {
            throw Object.assign(new Error(await response.text()), { status, headers: response.headers });
          }
          return { events: response.body, response: responseInfo(status, response.headers) };
        },
      );
    },
  };
}
