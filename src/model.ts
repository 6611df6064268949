import type { Adapter, ToolsOptions } from "./adapter.ts";
import { requiresCall, type ToolChoice } from "./tool/choice.ts";
import type { ReadOptions, TurnStream } from "./read/index.ts";
import type { Turn } from "./stream/events.ts";
import { checkSpelling, type OptionNames } from "./tool/option-names.ts";
import type { ToolSource } from "./tool/tool-set.ts";
import type { ToolUse } from "./tool/use.ts";

/** A request to a model. */
export interface ModelRequest<Message = any> {
  /** The conversation in the provider's own form, oldest first. Sent as it is. */
  readonly messages: readonly Message[];
  /** The tools on offer. Default: none. */
  readonly tools?: ToolSource | undefined;
  /** The system instructions, replacing those in the model's parameters. */
  readonly instructions?: string | undefined;
  /** Which tools the model may or must call. Default: as in the model's parameters. */
  readonly toolChoice?: ToolChoice | undefined;
  /** Ends the turn as `aborted` and closes the connection. */
  readonly signal?: AbortSignal | undefined;
  /** The first part of every invocation id. Default: random. */
  readonly runId?: string | undefined;
}

/** What the provider's answer says besides its stream. */
export interface ResponseInfo {
  /** HTTP status, if the SDK exposes it. */
  readonly status: number | undefined;
  /** The provider's id of the request, for its support. */
  readonly requestId: string | undefined;
  /** All headers except cookies, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Those about limits: `…ratelimit…` and `retry-after…`. */
  readonly rateLimits: Readonly<Record<string, string>>;
}

/** A turn requested from a {@link Model}. */
export interface ModelTurn extends TurnStream {
  /**
   * Known with the first event, also for a refused request; `undefined` before that, if there was no answer, and with
   * an SDK that does not expose it, or a client that is wrapped (for tracing, say) so that it does not.
   */
  readonly response: ResponseInfo | undefined;
}

/** An image in a tool's result. */
export interface ResultImage {
  /** `image/png`, `image/jpeg`, … */
  readonly mediaType: string;
  /** Base64, without a `data:` prefix. */
  readonly data: string;
}

/** What a loop has to know about a provider's messages. */
export interface Conversation<Message = any> {
  /** The user's text as a message. */
  userMessage(text: string): Message;
  /**
   * The model's text as a message without calls. Default: `{ role: "assistant", content: text }`.
   *
   * @param turn the turn that it is from, if any: for wires that want more than the text back
   */
  modelMessage?(text: string, turn?: Turn): Message;
  /**
   * The messages in a form that the provider accepts: after every call its one result, in call order. Messages that are
   * in order are returned as they are; a missing result becomes an error that says that the outcome is unknown; a
   * result that came after the model had gone on is moved back to its call; one without a call is dropped.
   *
   * @throws TypeError for a message in another provider's form, as far as that is detectable
   */
  pair(messages: readonly Message[]): Message[];
  /** The turn is not over, though nothing is called: asked again with its own message, the provider continues it. */
  goesOn?(turn: Turn): boolean;
  /**
   * Fills the results of other calls into a call that refers to them (`use.metadata.dependent`), and validates it: for
   * notations that have such calls. Results are keyed by the `metadata.step` of their calls.
   *
   * @throws ToolCallError for the model to read
   */
  resolve?(use: ToolUse, results: ReadonlyMap<number, unknown>): ToolUse;
  /** A result with images, for `adapter.toolResult()`; absent if results cannot hold images. */
  imageResult?(output: unknown, images: readonly ResultImage[]): unknown;
}

/** An adapter that can be the wire of a {@link Model}. */
export interface ConversationAdapter<Message = any> extends Adapter<any, any, any, Message> {
  readonly conversation: Conversation<Message>;
}

/**
 * A model at a provider: the user's own client with the parameters of its requests, and what a loop has to know about
 * the provider's messages. Made by `openaiChat.model(client, params)` and its counterparts.
 *
 * ```
 * model.open({ messages, tools }) -> ModelTurn -> start, text-delta, …, finish | error
 * ```
 *
 * Whatever goes wrong after `open()` is reported in one place, the last event: a refused request (retries are up to the
 * SDK), a lost connection and an abort are `error` events, with the SDK's error as `cause`. Only misuse throws: a
 * `TypeError`, or the ToolError `schema_loss` for tools that the provider cannot express.
 *
 * @example
 * const turn = model.open({ messages, tools, instructions: "Be brief." });
 * for await (const event of turn) if (event.type === "tool-use") await event.use.execute();
 * messages.push(...model.adapter.assistantMessage(turn.turn), ...model.adapter.toolResults(turn.turn));
 * console.log(turn.response?.requestId);
 */
export interface Model<Message = any> extends Conversation<Message> {
  readonly adapter: Adapter<any, any, any, Message>;
  /** Asks for one turn. Nothing is sent until the first event is asked for. */
  open(request: ModelRequest<Message>): ModelTurn;
}

/** Options of a model, besides the parameters of the provider's requests. */
export interface ModelOptions extends ToolsOptions, Pick<ReadOptions, "limits" | "repair"> {
  /** Whether several calls may come in one turn, if the provider can say so. Default: as in the parameters. */
  readonly parallel?: boolean | undefined;
}

/** Options of a model whose client can give the `Response` itself: `openai` and `@anthropic-ai/sdk`. */
export interface ResponseModelOptions extends ModelOptions {
  /**
   * Reads the bytes of the client's response (`asResponse()`) instead of its events: the same turn, in a fraction of the
   * time. What listens to the client's own events, for tracing say, then hears none, and clients that decode a format of
   * their own (Bedrock's event streams) cannot be read this way. A wrapped client without `asResponse()` gives its
   * events. Default false.
   */
  readonly asResponse?: boolean | undefined;
}

/** A client without the method is the caller's mistake; calling it would look like a lost connection. */
export function checkClient(method: unknown, model: string, client: string): void {
  if (typeof method !== "function") throw new TypeError(`${model} takes a client of ${client}, made by you.`);
}

const OPTIONS: OptionNames<ModelOptions> = { strict: true, onLoss: true, limits: true, repair: true, parallel: true };

/**
 * Invalid parameters, or just the model's name: the request would go out without them, or fail when it is sent.
 *
 * @param own the options that only this model has
 */
export function checkParams(
  params: unknown,
  model: string,
  options: object = {},
  own: Readonly<Record<string, true>> = {},
): void {
  if (typeof params !== "object" || params === null) {
    const got = params === null ? "null" : typeof params;
    throw new TypeError(`${model} takes the parameters of each request, { model, ... }, after the client, got ${got}.`);
  }
  checkSpelling(model, options, { ...OPTIONS, ...own });
}

/** The model's text as a message of its wire. */
export function modelMessage(model: Conversation, text: string, turn?: Turn): unknown {
  return model.modelMessage?.(text, turn) ?? { role: "assistant", content: text };
}

/**
 * Whether a choice is sent: without tools only one that asks for a call. Any other is meaningless then, and providers
 * reject it: https://github.com/writer/writer-framework/pull/1013
 */
export function isSent(choice: ToolChoice | undefined, offered: readonly unknown[]): choice is ToolChoice {
  return choice !== undefined && (offered.length > 0 || requiresCall(choice));
}
