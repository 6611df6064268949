import type { Adapter, ToolsOptions } from "./adapter.ts";
import type { ToolChoice } from "./tool/choice.ts";
import type { ReadOptions, TurnStream } from "./read/index.ts";
import type { Turn } from "./stream/events.ts";
import type { ToolSource } from "./tool/tool-set.ts";
import type { ToolUse } from "./tool/use.ts";

/** What a model is asked. */
export interface ModelRequest<Message = any> {
  /** The conversation in the provider's own form, oldest first. Goes out as it is. */
  readonly messages: readonly Message[];
  /** The tools that are offered. Default: none. */
  readonly tools?: ToolSource | undefined;
  /** What the system says, in place of what the model's parameters say. */
  readonly instructions?: string | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Ends the turn as `aborted` and closes the connection. */
  readonly signal?: AbortSignal | undefined;
  /** The first part of every invocation id. Default: random. */
  readonly runId?: string | undefined;
}

/** What the provider's answer says beside its stream. */
export interface ResponseInfo {
  /** HTTP status, where the SDK tells it. */
  readonly status: number | undefined;
  /** The provider's id of the request, for its support. */
  readonly requestId: string | undefined;
  /** All headers but cookies, their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  /** Those of them that are about limits: `…ratelimit…` and `retry-after…`. */
  readonly rateLimits: Readonly<Record<string, string>>;
}

/** A turn that a {@link Model} was asked for. */
export interface ModelTurn extends TurnStream {
  /**
   * Known with the first event, of a refused request too; `undefined` before, where there was no answer, and for an SDK
   * that tells nothing of it, or a client that is wrapped (for tracing, say) so that it does not.
   */
  readonly response: ResponseInfo | undefined;
}

/** An image in a tool's result. */
export interface ResultImage {
  /** `image/png`, `image/jpeg`, … */
  readonly mediaType: string;
  /** Base64, without `data:` before it. */
  readonly data: string;
}

/** What a loop has to know of a provider's messages. */
export interface Conversation<Message = any> {
  /** What the user says, as a message. */
  userMessage(text: string): Message;
  /** What the model said, as a message: a text without calls. Default: `{ role: "assistant", content: text }`. */
  modelMessage?(text: string): Message;
  /**
   * The messages such that the provider takes them: behind every call its one result, in call order. Messages in which
   * nothing is amiss are given as they are; a missing result becomes an error that says that the outcome is unknown;
   * a result that came when the model had gone on goes back to its call; one without a call is dropped.
   *
   * @throws TypeError for a message in another provider's form, as far as that shows
   */
  pair(messages: readonly Message[]): Message[];
  /** The turn is not over, though nothing is called: asked again with its own message, the provider goes on with it. */
  goesOn?(turn: Turn): boolean;
  /**
   * Fills the results of other calls into a call that refers to them (`use.metadata.dependent`), and validates it: in
   * notations that know such calls. The results are by the `metadata.step` of their calls.
   *
   * @throws ToolCallError for the model to read
   */
  resolve?(use: ToolUse, results: ReadonlyMap<number, unknown>): ToolUse;
  /** A result with images, to be given to `adapter.toolResult()`; missing where results hold no images. */
  imageResult?(output: unknown, images: readonly ResultImage[]): unknown;
}

/** An adapter that can be the wire of a {@link Model}. */
export interface ConversationAdapter<Message = any> extends Adapter<any, any, any, Message> {
  readonly conversation: Conversation<Message>;
}

/**
 * A model at a provider: the user's own client with the parameters of its requests, and what a loop has to know of the
 * provider's messages. Made by `openaiChat.model(client, params)` and its like.
 *
 * ```
 * model.open({ messages, tools }) -> ModelTurn -> start, text-delta, …, finish | error
 * ```
 *
 * Whatever goes wrong after `open()` is told in one place, the last event: a refused request (its own retries are the
 * SDK's), a lost connection and an abort are `error` events, with the SDK's error as `cause`. Only misuse throws: a
 * `TypeError`, or the ToolError `schema_loss` of tools that the provider can not express.
 *
 * @example
 * const turn = model.open({ messages, tools, instructions: "Be brief." });
 * for await (const event of turn) if (event.type === "tool-use") await event.use.execute();
 * messages.push(...model.adapter.assistantMessage(turn.turn), ...model.adapter.toolResults(turn.turn));
 * console.log(turn.response?.requestId);
 */
export interface Model<Message = any> extends Conversation<Message> {
  readonly adapter: Adapter<any, any, any, Message>;
  /** Asks for one turn. The request is sent when the first event is asked for. */
  open(request: ModelRequest<Message>): ModelTurn;
}

/** How a model asks, beside the parameters of the provider's requests. */
export interface ModelOptions extends ToolsOptions, Pick<ReadOptions, "limits" | "repair"> {
  /** Whether several calls may come in one turn, where the provider knows it. Default: what the parameters say. */
  readonly parallel?: boolean | undefined;
}

/**
 * Whether a choice asks for a call. Any other says nothing where there are no tools, and providers refuse it there:
 * https://github.com/writer/writer-framework/pull/1013
 */
export function asksForCall(choice: ToolChoice): boolean {
  return typeof choice === "string" ? choice === "required" : "name" in choice || choice.required === true;
}
