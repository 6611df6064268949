import type { Adapter } from "../src/adapter.ts";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";

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
  /** Folders of recordings of other people's that this adapter reads. */
  readonly recordings: readonly string[];
  /** Cases that this wire can not have, each with the reason. */
  readonly skips: Partial<Record<(typeof cases)[number], string>>;
}

/** Every adapter: a new one joins all suites with one row. */
export const adapters: readonly AdapterRow[] = [
  {
    adapter: openaiChat,
    recordings: ["openai-chat", "mistral"],
    skips: { "provider-tool": "Chat Completions runs no tools of the provider's" },
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
  {
    adapter: cohere,
    recordings: ["cohere"],
    skips: { "provider-tool": "Cohere v2 chat runs no tools of the provider's" },
  },
];
