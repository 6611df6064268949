import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../adapter.ts";
import { ToolError } from "../errors.ts";
import { plainText } from "../text/plain.ts";
import { createDecoder } from "../wire/index.ts";
import { short } from "./text.ts";
import { UsageError } from "./usage-error.ts";

/** Every wire of the command line. */
export const adapters: readonly Adapter[] = [
  openaiChat,
  openaiResponses,
  anthropic,
  google,
  googleInteractions,
  cohere,
];

/** Their names, for those who are to choose one. */
export const wireNames = adapters.map(({ name }) => name).join(", ");

/** The possible wires of a recording: also plain text, which is no provider's. */
const recorded: readonly Adapter[] = [...adapters, plainText];

/** Other names that people use for these wires. */
const aliases: Readonly<Record<string, string>> = {
  openai: "openai-chat",
  "openai-compatible": "openai-chat",
  mistral: "openai-chat",
  ollama: "openai-chat",
  responses: "openai-responses",
  claude: "anthropic",
  gemini: "google",
  interactions: "google-interactions",
};

/**
 * The adapter of a provider.
 *
 * @throws UsageError that names the known ones
 */
export function adapterNamed(name: string): Adapter {
  return named(name, adapters);
}

/**
 * The adapter for a recording.
 *
 * @throws UsageError that names the known ones
 */
export function recordedAdapterNamed(name: string): Adapter {
  return named(name, recorded);
}

function named(name: string, among: readonly Adapter[]): Adapter {
  const wanted = aliases[name] ?? name;
  const adapter = among.find((candidate) => candidate.name === wanted);
  if (adapter !== undefined) return adapter;
  const names = among.map((known) => known.name).join(", ");
  throw new UsageError(`There is no wire ${JSON.stringify(name)}. The wires are: ${names}.`);
}

/** How many events are examined: some streams begin with events that reveal nothing. */
const EVENTS_TO_LOOK_AT = 50;
/** A piece at a time, since the first few events of a long recording are enough. */
const PIECE_BYTES = 4096;

/**
 * Recognises the wire of a body from its content.
 *
 * @throws ToolError `unknown_wire`; `invalid_event` for a body without events
 */
export function recognise(bytes: Uint8Array): Adapter {
  const look = createLook();
  for (let at = 0; at < bytes.length && !look.isDecided; at += PIECE_BYTES) {
    look.feed(bytes.subarray(at, at + PIECE_BYTES));
  }
  return look.end();
}

/**
 * For a body in which `adapter` found nothing: whether it belongs to another wire.
 *
 * @throws ToolError `unknown_wire`
 */
export function checkWire(bytes: Uint8Array, adapter: Adapter): void {
  let other: Adapter | undefined;
  try {
    other = recognise(bytes);
  } catch {
    other = undefined;
  }
  if (other === adapter) return;
  const hint =
    other === undefined ? "No other wire is recognised." : `It looks like ${other.name}: use that, or omit --wire.`;
  throw new ToolError("unknown_wire", `Nothing in the body is of the wire ${adapter.name}. ${hint}`);
}

/** Examines a body as it arrives. */
export interface Look {
  feed(bytes: Uint8Array): void;
  /** More bytes would not change the result. */
  readonly isDecided: boolean;
  /** @throws ToolError `unknown_wire`, `invalid_event` */
  end(): Adapter;
}

export function createLook(): Look {
  let adapter: Adapter | undefined;
  let failure: ToolError | undefined;
  let seen = 0;
  let first: unknown;
  const isDecided = () => adapter !== undefined || failure !== undefined || seen >= EVENTS_TO_LOOK_AT;
  const decoder = createDecoder({
    onEvent(event) {
      if (isDecided()) return;
      if (seen++ === 0) first = event;
      adapter = recorded.find((candidate) => candidate.recognizes(event));
    },
    onError: (error) => (failure ??= error),
  });
  return {
    feed: (bytes) => decoder.feed(bytes),
    get isDecided() {
      return isDecided();
    },
    end() {
      if (!isDecided()) decoder.end();
      if (adapter !== undefined) return adapter;
      if (failure !== undefined) throw failure;
      const what =
        seen === 0
          ? "The body holds no events"
          : `The content looks like none of the wires ${wireNames}; it begins with ${short(JSON.stringify(first), 200)}`;
      throw new ToolError("unknown_wire", `${what}. If you know the wire, name it with --wire.`);
    },
  };
}
