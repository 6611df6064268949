import type { FailedCall } from "../errors.ts";
import { answers, checkTurn, historyInput, outputValue } from "../stream/history.ts";
import type { Turn } from "../stream/events.ts";
import { knownCall, type TextDialect, type WrittenResult } from "./dialect.ts";
import type { TextNative } from "./events.ts";
import { TEXT_TURN } from "./writer.ts";

/** A message of plain text: every chat API takes it in this form, or nearly. */
export interface TextMessage {
  role: "assistant" | "user";
  content: string;
}

/** History as seen by a model that writes its calls into its text. */
export function textMessages(dialect: TextDialect) {
  /**
   * The turn as the message that goes back: one, or none for a turn in which nothing came. It is exactly what the model
   * wrote, calls included.
   */
  function assistantMessage(turn: Turn): TextMessage[] {
    checkTurn(turn);
    const text = writtenBy(turn);
    // Native calls of a wire are not in the text.
    const others = turn.calls.filter(({ turnIndex }) => turnIndex < TEXT_TURN);
    const content = text === undefined ? rewritten(turn.text, turn.calls) : rewritten(text, others);
    return content === "" ? [] : [{ role: "assistant", content: content.toWellFormed() }];
  }

  /** A turn read by another adapter, or put together by hand. */
  function rewritten(text: string, list: Turn["calls"]): string {
    if (list.length === 0) return text;
    const calls = list.map((call) => ({ ...knownCall(dialect, call), args: historyInput(call), tool: call.tool }));
    return [text, dialect.writeCalls(calls)].filter((part) => part !== "").join("\n");
  }

  function written(call: FailedCall, output: unknown, isError: boolean): WrittenResult {
    return { ...knownCall(dialect, call), output, isError };
  }

  return {
    assistantMessage,
    ...answers<WrittenResult, TextMessage>(
      {
        result: (use, output) => written(use, outputValue(output), false),
        error: (call, message) => written(call, message, true),
      },
      (results) => ({ role: "user", content: dialect.writeResults(results) }),
    ),
  };
}

function writtenBy({ native }: Turn): string | undefined {
  const { text } = (native ?? {}) as Partial<TextNative>;
  return typeof text === "string" ? text : undefined;
}
