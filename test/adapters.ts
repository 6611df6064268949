import type { Adapter } from "../src/adapter.ts";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { googleInteractions } from "../adapters/google-interactions/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";
import { textHelpers } from "../adapters/text-helpers/index.ts";
import { rescueTextCalls, textJson, type NotationName } from "../adapters/text-json/index.ts";

/** The cases that every wire shows, under these names, in `fixtures/<wire>/`. */
export const cases = [
  "text-only",
  "one-call",
  "no-arguments",
  "parallel",
  "interleaved",
  "nested",
  "unicode-and-escapes",
  "long",
  "truncated-by-length",
  "connection-cut",
  "error-mid-stream",
  "reasoning",
  "provider-tool",
  "malformed-json",
  "unknown-tool",
  "invalid-input",
  "non-streamed",
] as const;

export interface AdapterRow {
  readonly adapter: Adapter;
  /** The folder of its fixtures; default: its name. */
  readonly fixtures?: string;
  /** Folders of recordings of other people's that this adapter reads. */
  readonly recordings: readonly string[];
  /** The cases that it shows; default: all. */
  readonly cases?: readonly (typeof cases)[number][];
  /** Cases that this wire cannot have, each with the reason. */
  readonly skips: Partial<Record<(typeof cases)[number], string>>;
}

/** Every adapter: a new one joins all suites with one row. */
export const adapters: readonly AdapterRow[] = [
  {
    adapter: openaiChat,
    recordings: ["openai-chat", "mistral"],
    skips: {},
  },
  { adapter: openaiResponses, recordings: ["openai-responses"], skips: {} },
  { adapter: anthropic, recordings: ["anthropic"], skips: {} },
  {
    adapter: google,
    recordings: ["gemini"],
    skips: {
      interleaved: "a functionCall part is whole, or is continued by the parts right after it: there is no index",
    },
  },
  { adapter: googleInteractions, recordings: [], skips: {} },
  {
    adapter: cohere,
    recordings: ["cohere"],
    skips: { "provider-tool": "Cohere v2 chat runs no tools of the provider's" },
  },
];

const textSkips: AdapterRow["skips"] = {
  interleaved: "a text has no index: a call is whole before the next one begins",
  "provider-tool": "a text is of the model alone",
};

const notations: readonly NotationName[] = [
  "hermes",
  "mistral",
  "qwen-xml",
  "glm",
  "function-tag",
  "kimi",
  "deepseek",
  "dsml",
  "invoke",
  "xtml",
  "harmony",
  "gemma",
  "pythonic",
];

/** Adapters of text in which the calls stand: what is true of a stream is true of them, but they are no provider's. */
export const textAdapters: readonly AdapterRow[] = [
  { adapter: textHelpers(), recordings: [], skips: textSkips },
  ...notations.map((name) => ({ adapter: textJson(name), recordings: [], skips: textSkips })),
];

/** A wire whose text is searched for calls. All else about it is shown by the wire itself. */
const rescuer: AdapterRow = {
  adapter: rescueTextCalls(openaiChat, { reasoning: true }),
  fixtures: "text-json/rescue",
  recordings: [],
  cases: ["one-call", "parallel"],
  skips: {},
};

/** Whatever reads a stream. */
export const readers: readonly AdapterRow[] = [...adapters, ...textAdapters, rescuer];

/** The folder of a row's fixtures. */
export function folderOf({ adapter, fixtures }: AdapterRow): string {
  return fixtures ?? adapter.name;
}
