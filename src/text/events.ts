import type { Parser } from "../adapter.ts";
import { isToolError, ToolCallError, ToolError } from "../errors.ts";
import { isRecord } from "../schema/json.ts";
import { toolChunk } from "../stream/chunk.ts";
import type { FinishReason, StreamEvent, Usage } from "../stream/events.ts";
import { ToolUse } from "../tool/use.ts";
import type { TextSink } from "./sink.ts";

/**
 * The forms text comes in: plain strings, or the events of another adapter's stream (live, or as JSON).
 *
 * Plain strings end with their source. Once events came, only `finish` ends the turn cleanly.
 */
export type TextEvent =
  | string
  | StreamEvent
  | { readonly type: "text-delta" | "reasoning-delta" | "refusal-delta"; readonly delta: string }
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly providerReason?: string | null | undefined;
      readonly message?: string | undefined;
    }
  | { readonly type: "error"; readonly error: { readonly message: string } };

/** A response that was not streamed. */
export interface TextResponse {
  readonly text: string;
  readonly reasoning?: string | undefined;
  /** Default `stop`. */
  readonly finishReason?: FinishReason | undefined;
}

/** The parser's record: the text as the model wrote it, calls and all. */
export interface TextNative {
  readonly text: string;
}

/** Reads text events. Text goes through the sink's scanner, everything else to the turn. */
export function createTextParser(sink: TextSink, onEnd: () => void, stop?: string): Parser<TextEvent | TextResponse> {
  const native = { text: "" };
  let hasEvents = false;
  let hasStrings = false;

  function push(event: TextEvent | TextResponse): void {
    if (typeof event === "string") {
      hasStrings = true;
      return onText(event);
    }
    if (!isRecord(event)) return;
    if ("type" in event) onEvent(event);
    else onWhole(event);
  }

  function onText(delta: string): void {
    native.text += delta;
    sink.text(delta);
  }

  function onEvent(event: Exclude<TextEvent, string>): void {
    hasEvents = true;
    switch (event.type) {
      case "start":
        return sink.start(event.responseId, event.model);
      case "text-delta":
        return onText(event.delta);
      case "reasoning-delta":
        return sink.reasoning(event.delta);
      case "refusal-delta":
        return sink.refusal(event.delta);
      case "tool-use":
        return onUse(event.use);
      case "provider-tool":
        return sink.providerTool(event.call);
      case "usage":
        return sink.usage(event.usage as Usage);
      case "finish":
        onFinish(event.reason, event.providerReason, event.message);
        return sink.terminal();
      case "error":
        return sink.fail(errorOf(event.error));
      case "tool-error":
        return onFailedCall(event.error);
      default: // a call while it streams: it comes whole later
    }
  }

  function onFinish(reason: FinishReason, providerReason: string | null = null, message?: string): void {
    if (reason === "stop" && stop !== undefined && sink.isInBlock()) onText(stop);
    sink.finish(reason, providerReason, message);
  }

  /** A native call that failed on the wire: either for good, or because only the text's reader knows its tool. */
  function onFailedCall(error: unknown): void {
    if (!(error instanceof ToolCallError)) return;
    const { code, message } = error;
    const { turnIndex, position, id, name, argsText, metadata } = error.call;
    const isOver = code === "truncated" || code === "rejected";
    const failure = isOver ? ([code === "rejected" ? message : undefined, code] as const) : ([] as const);
    const chunk = [turnIndex, position, id, name, argsText, !isOver || undefined, metadata] as const;
    sink.tool(toolChunk(...chunk, undefined, undefined, ...failure));
  }

  /** A native call of the wire, besides those in its text. Only the consumer of the other stream may have run it. */
  function onUse(use: unknown): void {
    if (!(use instanceof ToolUse)) return;
    const { turnIndex, position, id, name, argsText, metadata } = use;
    sink.tool(toolChunk(turnIndex, position, id, name, argsText, true, metadata));
  }

  function onWhole({ text, reasoning = "", finishReason = "stop" }: TextResponse): void {
    hasEvents = true;
    if (typeof text !== "string") return;
    sink.reasoning(reasoning);
    onText(text);
    onFinish(finishReason);
    sink.terminal();
  }

  return {
    push,
    end() {
      if (hasStrings && !hasEvents) onFinish("stop");
      sink.end();
      onEnd();
    },
    native: native satisfies TextNative,
  };
}

function errorOf(error: unknown): ToolError {
  if (isToolError(error)) return error;
  const message = isRecord(error) && typeof error["message"] === "string" ? error["message"] : JSON.stringify(error);
  return new ToolError("provider_error", message, { cause: error });
}
