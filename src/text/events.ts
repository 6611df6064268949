import type { Parser } from "../adapter.ts";
import { isToolError, ToolCallError, ToolError, type FailedCall } from "../errors.ts";
import { isRecord, kindOf } from "../schema/json.ts";
import { toolChunk, type ToolChunk } from "../stream/chunk.ts";
import type { FinishReason, ProviderToolCall, StreamEvent, Usage } from "../stream/events.ts";
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
        return sink.start(textOf(event.responseId), textOf(event.model));
      case "text-delta":
        return onText(deltaOf(event));
      case "reasoning-delta":
        return sink.reasoning(deltaOf(event));
      case "refusal-delta":
        return sink.refusal(deltaOf(event));
      case "tool-use":
        // Only the consumer of the other stream may have run it.
        return event.use instanceof ToolUse ? onCall(event.use, true) : undefined;
      case "provider-tool":
        if (isRecord(event.call)) sink.providerTool(event.call as object as ProviderToolCall);
        return;
      case "usage":
        if (isRecord(event.usage)) sink.usage(event.usage as object as Usage);
        return;
      case "finish":
        onFinish(event.reason, event.providerReason, event.message);
        return sink.terminal();
      case "error":
        return sink.fail(errorOf(event.error));
      case "tool-error":
        return event.error instanceof ToolCallError ? onFailedCall(event.error) : undefined;
      default: // a call while it streams: it comes whole later
    }
  }

  /** @param word a finish reason; any other word is reported as the provider's */
  function onFinish(word: unknown, providerReason?: unknown, message?: unknown): void {
    const reason = REASONS.includes(word) ? (word as FinishReason) : "unknown";
    const other = reason === word ? undefined : textOf(word);
    if (reason === "stop" && stop !== undefined && sink.isInBlock()) onText(stop);
    sink.finish(reason, textOf(providerReason) ?? other ?? null, textOf(message));
  }

  /** It failed on the wire: either for good, or because only the text's reader knows its tool. */
  function onFailedCall({ code, message, call }: ToolCallError): void {
    if (code === "truncated") onCall(call, undefined, undefined, code);
    else if (code === "rejected") onCall(call, undefined, message, code);
    else onCall(call, true);
  }

  /** A native call of the wire, besides those in its text. */
  function onCall(call: FailedCall, done: true | undefined, error?: string, errorType?: ToolChunk["errorType"]): void {
    const { turnIndex, position, id, name, argsText, metadata } = call;
    sink.tool(
      toolChunk(turnIndex, position, id, name, argsText, done, metadata, undefined, undefined, error, errorType),
    );
  }

  function onWhole({ text, reasoning, finishReason = "stop" }: TextResponse): void {
    hasEvents = true;
    if (typeof text !== "string") return;
    sink.reasoning(textOf(reasoning) ?? "");
    onText(text);
    onFinish(finishReason);
    sink.terminal();
  }

  function end(): void {
    sink.end();
    onEnd();
  }

  return {
    push,
    end() {
      if (hasStrings && !hasEvents) onFinish("stop");
      end();
    },
    cut() {
      hasStrings = false; // their end is not that of the text
      end();
    },
    native: native satisfies TextNative,
  };
}

const REASONS: readonly unknown[] = [
  "stop",
  "tool-use",
  "length",
  "content-filter",
  "refusal",
  "error",
  "unknown",
] satisfies FinishReason[];

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** @throws TypeError for anything but text: what is left out here may be a call. */
function deltaOf({ type, delta }: { readonly type: string; readonly delta: unknown }): string {
  if (typeof delta === "string") return delta;
  throw new TypeError(`the delta of a ${type} is a string, got ${kindOf(delta)}.`);
}

function errorOf(error: unknown): ToolError {
  if (isToolError(error)) return error;
  const message = textOf(isRecord(error) ? error["message"] : error);
  return new ToolError("provider_error", message ?? "The stream reported an error without a message.", {
    cause: error,
  });
}
