import { expect, it } from "vitest";
import type { Adapter, Usage } from "../../src/index.ts";
import { adapters } from "../adapters.ts";

/** A whole response that counts what each provider counts, in the shapes of the SDKs' own types. */
const rows: Record<string, { response: object; usage: Omit<Usage, "raw"> }> = {
  "openai-chat": {
    response: {
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 8 },
        completion_tokens_details: { reasoning_tokens: 12 },
      },
    },
    usage: counts(100, 20, 120, 64, 8, 12),
  },
  "openai-responses": {
    response: {
      object: "response",
      status: "completed",
      output: [],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 64, cache_write_tokens: 8 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 12 },
        total_tokens: 120,
      },
    },
    usage: counts(100, 20, 120, 64, 8, 12),
  },
  anthropic: {
    response: {
      type: "message",
      content: [{ type: "text", text: "x" }],
      stop_reason: "end_turn",
      usage: {
        // Without what is cached.
        input_tokens: 28,
        cache_creation_input_tokens: 8,
        cache_read_input_tokens: 64,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 12 },
      },
    },
    usage: counts(100, 20, 120, 64, 8, 12),
  },
  google: {
    response: {
      candidates: [{ content: { role: "model", parts: [{ text: "x" }] }, finishReason: "STOP" }],
      usageMetadata: {
        promptTokenCount: 100,
        cachedContentTokenCount: 64,
        // Without the thoughts.
        candidatesTokenCount: 8,
        thoughtsTokenCount: 12,
        totalTokenCount: 120,
      },
    },
    usage: counts(100, 20, 120, 64, undefined, 12),
  },
  "google-interactions": {
    response: {
      object: "interaction",
      status: "completed",
      steps: [],
      usage: {
        total_input_tokens: 90,
        // The prompts of tools that the server ran.
        total_tool_use_tokens: 10,
        total_cached_tokens: 64,
        // Without the thoughts.
        total_output_tokens: 8,
        total_thought_tokens: 12,
        total_tokens: 120,
      },
    },
    usage: counts(100, 20, 120, 64, undefined, 12),
  },
  cohere: {
    response: {
      message: { role: "assistant", content: [{ type: "text", text: "x" }] },
      finish_reason: "COMPLETE",
      usage: { tokens: { input_tokens: 100, output_tokens: 20 }, cached_tokens: 64 },
    },
    usage: counts(100, 20, 120, 64, undefined, undefined),
  },
};

function counts(
  inputTokens: number,
  outputTokens: number,
  totalTokens: number,
  cacheReadTokens: number | undefined,
  cacheWriteTokens: number | undefined,
  reasoningTokens: number | undefined,
) {
  return { inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens };
}

const counting = adapters.flatMap(({ adapter }) => (rows[adapter.name] === undefined ? [] : [{ adapter }]));

it.each(counting)(
  "$adapter.name counts a prompt with its cache, an answer with its thoughts, and both apart",
  (row) => {
    const { response, usage } = rows[row.adapter.name]!;
    expect(usageOf(row.adapter, response)).toEqual({ ...usage, raw: expect.anything() });
  },
);

it.each(counting)("$adapter.name says nothing of what was not counted", ({ adapter }) => {
  const response = structuredClone(rows[adapter.name]!.response) as Record<string, Record<string, unknown>>;
  for (const counted of [response["usage"], response["usageMetadata"]])
    for (const key of Object.keys(counted ?? {})) if (/detail|cache|thought/i.test(key)) counted![key] = null;
  expect(usageOf(adapter, response)).toMatchObject({
    cacheReadTokens: undefined,
    cacheWriteTokens: undefined,
    reasoningTokens: undefined,
  });
});

function usageOf(adapter: Adapter, response: object): Usage | undefined {
  return adapter.parse(response).find((event) => event.type === "usage")?.usage;
}
