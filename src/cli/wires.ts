import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../adapter.ts";
import { ToolError } from "../errors.ts";
import { createDecoder } from "../wire/index.ts";

/** Every wire of the command line, by name. */
export const adapters: readonly Adapter[] = [openaiChat, openaiResponses, anthropic, google, cohere];

/** Names that people use for the same wires. */
const aliases: Readonly<Record<string, string>> = {
  openai: "openai-chat",
  "openai-compatible": "openai-chat",
  mistral: "openai-chat",
  ollama: "openai-chat",
  responses: "openai-responses",
  claude: "anthropic",
  gemini: "google",
};

/** @throws ToolError `unknown_wire` that names the ones there are */
export function adapterNamed(name: string): Adapter {
  const wanted = Object.hasOwn(aliases, name) ? aliases[name] : name;
  const adapter = adapters.find((candidate) => candidate.name === wanted);
  if (adapter !== undefined) return adapter;
  throw new ToolError(
    "unknown_wire",
    `There is no wire ${JSON.stringify(name)}. The wires are: ${adapters.map((known) => known.name).join(", ")}.`,
  );
}

/** How many events are looked at: some streams begin with events that say nothing. */
const EVENTS_TO_LOOK_AT = 50;

/**
 * Tells the wire of a body from its content.
 *
 * @throws ToolError `unknown_wire`, `invalid_event` for a body that holds no events
 */
export function recognise(bytes: Uint8Array): Adapter {
  const events: unknown[] = [];
  let failure: ToolError | undefined;
  const decoder = createDecoder({
    onEvent: (event) => {
      if (events.length < EVENTS_TO_LOOK_AT) events.push(event);
    },
    onError: (error) => (failure = error),
  });
  // A piece at a time, since the first few events of a long recording are enough.
  for (let at = 0; at < bytes.length && events.length < EVENTS_TO_LOOK_AT && failure === undefined; at += 4096) {
    decoder.feed(bytes.subarray(at, at + 4096));
  }
  if (failure === undefined && events.length < EVENTS_TO_LOOK_AT) decoder.end();
  for (const event of events) {
    const adapter = adapters.find((candidate) => candidate.recognises(event));
    if (adapter !== undefined) return adapter;
  }
  if (failure !== undefined) throw failure;
  throw new ToolError(
    "unknown_wire",
    `The content looks like none of the wires ${adapters.map((known) => known.name).join(", ")}. Name it with --wire.`,
  );
}
