import type { ToolCallError, ToolError } from "../errors.ts";
import type { Tool } from "../tool/tool.ts";
import type { UseOf } from "../tool/use.ts";
import type { ToolCall } from "./call.ts";

/** Why a turn ended, in the same words for every provider. */
export type FinishReason = "stop" | "tool-use" | "length" | "content-filter" | "refusal" | "error" | "unknown";

/** Tokens as the provider counted them; `raw` is its own object. */
export interface Usage {
  /** The whole prompt, including what came from a cache. */
  readonly inputTokens: number | undefined;
  /** Everything the model wrote, including its reasoning. */
  readonly outputTokens: number | undefined;
  readonly totalTokens: number | undefined;
  /** The part of the prompt that was read from the provider's cache, and the part that was written to it. */
  readonly cacheReadTokens: number | undefined;
  readonly cacheWriteTokens: number | undefined;
  /** The part of the output that was reasoning. */
  readonly reasoningTokens: number | undefined;
  /** As the provider sent it. */
  readonly raw: unknown;
}

/** A call that is not ours: the provider runs it itself, or it is a provider's built-in that the client runs. */
export interface ProviderToolCall {
  readonly id: string | null;
  /** `web_search`, `code_execution`, the name at an MCP server, ... */
  readonly name: string;
  /** The provider's word for its kind: a block, item or part type. */
  readonly type: string;
  readonly status: "started" | "completed" | "failed";
  /** `client`: a provider-defined built-in (a local shell, say) that the client has to run; not one of our tools. */
  readonly executedBy: "provider" | "client";
  readonly input?: unknown;
  readonly output?: unknown;
}

/**
 * One model response, as far as it has been read. The last event of a stream carries it, complete.
 * `native` is the adapter's own record, from which `assistantMessage()` rebuilds what must go back.
 */
export interface Turn {
  /** The name of the adapter that read it. */
  readonly wire: string;
  readonly runId: string;
  /** The provider's id of the response. */
  readonly responseId: string | undefined;
  readonly model: string | undefined;
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  /** Every call of the turn in the order they began, each with its outcome (or open, while the turn goes on). */
  readonly calls: readonly ToolCall[];
  readonly providerToolCalls: readonly ProviderToolCall[];
  readonly finishReason: FinishReason | undefined;
  /** The provider's own word; `null` where it gave none. */
  readonly providerFinishReason: string | null;
  /** What the provider said about the end, if more than a word. */
  readonly finishMessage: string | undefined;
  readonly usage: Usage | undefined;
  /** Why the turn failed; `undefined` when it did not. */
  readonly error: ToolError | undefined;
  readonly native: unknown;
}

/** Everything a stream can say, for offered tools of the types `T`. The last event is one `finish` or `error`. */
export type StreamEvent<T extends Tool = Tool> =
  | { readonly type: "start"; readonly responseId: string | undefined; readonly model: string | undefined }
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  | { readonly type: "refusal-delta"; readonly delta: string }
  /** A call began and its name is known. `call` is live: `call.input` is the partial input so far. */
  | { readonly type: "tool-input-start"; readonly call: ToolCall }
  /** More arguments. `delta` is JSON text; `""` if the wire sends values instead of text. */
  | { readonly type: "tool-input-delta"; readonly call: ToolCall; readonly delta: string }
  /** A complete, validated call, released for execution. */
  | { readonly type: "tool-use"; readonly use: UseOf<T> }
  /** A call that cannot be executed: tell the model, with `toolError(event.error)`. */
  | { readonly type: "tool-error"; readonly error: ToolCallError }
  | { readonly type: "provider-tool"; readonly call: ProviderToolCall }
  | { readonly type: "usage"; readonly usage: Usage }
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly providerReason: string | null;
      readonly message: string | undefined;
      readonly turn: Turn;
    }
  | { readonly type: "error"; readonly error: ToolError; readonly turn: Turn };
