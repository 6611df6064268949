import type { Conversation } from "../model.ts";
import { OUTCOME_UNKNOWN } from "../pairing.ts";
import { isObject, setOwn } from "../schema/json.ts";
import { once } from "../schema/once.ts";
import type { StreamEvent } from "../stream/events.ts";
import { knownCall, type TextDialect, type WrittenResult } from "./dialect.ts";
import type { TextMessage } from "./messages.ts";

/** What a loop has to know about a history of texts that contain the calls. */
export interface TextConversation extends Conversation<TextMessage> {
  /** The variables that the results in a history have assigned. */
  variables(messages: readonly unknown[]): Record<string, unknown>;
}

/** @param parse finds the calls in a text */
export function textConversation(
  dialect: TextDialect,
  parse: (text: string) => readonly StreamEvent[],
): TextConversation {
  /** The calls in a message of the model, each with an unknown outcome. Messages stay the same from turn to turn. */
  const callsIn = once(({ content: text }: TextMessage): readonly WrittenResult[] => {
    if (!dialect.markers.some((marker) => text.includes(marker))) return [];
    // Those of its turn: the events come in another order, and some are about calls that were taken back.
    const end = parse(text).at(-1)!;
    const calls = "turn" in end ? end.turn.calls : [];
    return calls.map((call) => ({ ...knownCall(dialect, call), output: OUTCOME_UNKNOWN, isError: true }));
  });

  const resultsIn = (message: unknown): number =>
    isTextMessage(message) && message.role === "user" ? dialect.countResults(message.content) : 0;

  return {
    userMessage: (content) => ({ role: "user", content }),
    modelMessage: (content) => ({ role: "assistant", content }),
    /** No server rejects a text, so nothing is dropped: only the model misses the results. */
    pair: (messages) =>
      messages.flatMap((message, index) => {
        if (!isTextMessage(message) || message.role === "user" || resultsIn(messages[index + 1]) > 0) return [message];
        const calls = callsIn(message);
        return calls.length === 0 ? [message] : [message, { role: "user", content: dialect.writeResults(calls) }];
      }),
    ...(dialect.resolve !== undefined && { resolve: dialect.resolve }),
    variables(messages) {
      const variables: Record<string, unknown> = {};
      if (dialect.assigned === undefined) return variables;
      /** How many results may follow: a user message that only looks like a result assigns nothing. */
      let left = 0;
      for (const message of messages) {
        if (!isTextMessage(message)) left = 0;
        else if (resultsIn(message) === 0) left = message.role === "assistant" ? callsIn(message).length : 0;
        else {
          for (const [name, value] of Object.entries(dialect.assigned(message.content, left))) {
            setOwn(variables, name, value);
          }
          left = Math.max(0, left - resultsIn(message));
        }
      }
      return variables;
    },
  };
}

/** A message that has a role and a text, and nothing else. */
export function isTextMessage(message: unknown): message is TextMessage {
  if (!isObject(message)) return false;
  const { role, content } = message as Partial<TextMessage>;
  return (role === "user" || role === "assistant") && typeof content === "string" && Object.keys(message).length === 2;
}
