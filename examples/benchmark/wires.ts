import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { wires as encoders, type Wire } from "../../bench/wires.ts";
import type { ConversationAdapter } from "../../src/index.ts";
import type { RecordedAnswer } from "./recording.ts";

const adapters: Record<Wire, ConversationAdapter> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  google,
  "google-interactions": googleInteractions,
  cohere,
};

export const wireNames = Object.keys(adapters) as readonly Wire[];

/** A wire that can express a recorded answer, whichever provider it came from. */
export interface RecordedWire {
  readonly adapter: ConversationAdapter;
  /** The body of the stream that the provider would have sent. */
  encode(answer: RecordedAnswer): Uint8Array;
  /** The answer as a message of the conversation. */
  message(answer: RecordedAnswer): Promise<readonly unknown[]>;
}

export function wireNamed(name: Wire): RecordedWire {
  const adapter = adapters[name];
  const encode = ({ content, tool_calls: calls = [] }: RecordedAnswer) => {
    const frames = encoders[name]({
      ...(typeof content === "string" && content !== "" && { text: content }),
      calls: calls.map(({ id, name: tool, arguments: args, arguments_text: argsText }) => ({
        id,
        name: tool,
        argsText: argsText ?? JSON.stringify(args),
      })),
    });
    return new TextEncoder().encode(frames.join(""));
  };
  return {
    adapter,
    encode,
    async message(answer) {
      const stream = adapter.read(new Response(encode(answer)));
      for await (const event of stream) if (event.type === "error") throw event.error;
      return adapter.assistantMessage(stream.turn);
    },
  };
}
