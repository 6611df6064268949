import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { z } from "zod";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import type { ModelRequest } from "../../src/model.ts";
import { replayModel, type ReplayModel } from "../../src/testing/index.ts";
import { defineTool, type ToolDefinition } from "../../src/tool/tool.ts";

/** A call as the scripted model writes it. */
export interface ScriptedCall {
  readonly name: string;
  /** A text goes out as it is. */
  readonly args?: unknown;
  readonly id?: string;
}

/** What the scripted model answers, one turn. */
export interface ScriptedTurn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Default: `tool_calls` with calls, else `stop`; `null`: the stream ends without it. */
  readonly finish?: string | null;
  readonly fail?: Error;
  /** Before each call, and before the end. */
  readonly pauseMs?: number;
}

let ids = 0;

/** A model that says what the script says, in the wire of Chat Completions; the last turn again and again. */
export function scripted(
  ...turns: (ScriptedTurn | ((request: ModelRequest) => ScriptedTurn))[]
): ReplayModel<ChatCompletionMessageParam> {
  const many = Array.from({ length: MANY }, (_, index) => turns[Math.min(index, turns.length - 1)]!);
  return replayModel(
    openaiChat,
    many.map((turn) => (request: ModelRequest) => chunks(typeof turn === "function" ? turn(request) : turn)),
  );
}

const MANY = 2_000;

async function* chunks({
  reasoning,
  text,
  calls = [],
  finish,
  fail,
  pauseMs = 0,
}: ScriptedTurn): AsyncIterable<unknown> {
  const pause = () => (pauseMs > 0 ? new Promise((resolve) => setTimeout(resolve, pauseMs)) : undefined);
  const chunk = (delta: object, reason: string | null = null) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: "scripted",
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  if (reasoning !== undefined) yield chunk({ reasoning_content: reasoning });
  yield chunk({ role: "assistant", content: text ?? "" });
  for (const [index, { name, args = {}, id = `call_${++ids}` }] of calls.entries()) {
    await pause();
    const written = typeof args === "string" ? args : JSON.stringify(args);
    yield chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: written } }] });
  }
  await pause();
  if (fail !== undefined) throw fail;
  if (finish === null) return;
  yield chunk({}, finish ?? (calls.length > 0 ? "tool_calls" : "stop"));
  yield { id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
}

/** A turn of calls, in a wire that says when a call is complete: the turn goes on when `hold` resolves. */
export async function* heldTurn(names: string | readonly string[], hold: Promise<unknown>): AsyncIterable<unknown> {
  const usage = { input_tokens: 10, output_tokens: 5 };
  yield {
    type: "message_start",
    message: { id: "msg_1", type: "message", role: "assistant", model: "scripted", content: [], usage },
  };
  for (const [index, name] of [names].flat().entries()) {
    const block = { type: "tool_use", id: `toolu_${index + 1}`, name, input: {} };
    yield { type: "content_block_start", index, content_block: block };
    yield { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: "{}" } };
    yield { type: "content_block_stop", index };
  }
  await hold;
  yield { type: "message_delta", delta: { stop_reason: "tool_use" }, usage };
  yield { type: "message_stop" };
}

/** An internal tool that counts how often it ran, by its input. */
export function counted(name: string, definition: Partial<ToolDefinition> = {}) {
  const inputs: unknown[] = [];
  const tool = defineTool({
    name,
    inputSchema: z.object({ n: z.number().optional() }),
    execute: (input: unknown) => {
      inputs.push(input);
      return { ran: name, n: (input as { n?: number }).n ?? null };
    },
    ...definition,
  } as ToolDefinition);
  return { tool, inputs };
}

/** A tool that the caller executes. */
export function external(name: string, definition: Partial<ToolDefinition> = {}) {
  return defineTool({ name, inputSchema: z.object({ n: z.number().optional() }), ...definition } as ToolDefinition);
}

/** The messages of a conversation in short: `user`, `call(name,name)`, `result(text)`, `say(text)`. */
export function short(messages: readonly ChatCompletionMessageParam[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === "tool") return [`result(${String(message.content)})`];
    if (message.role !== "assistant") return [message.role];
    const calls = (message.tool_calls ?? []).map((call) => (call.type === "function" ? call.function.name : "custom"));
    return calls.length > 0 ? [`call(${calls.join(",")})`] : [`say(${String(message.content)})`];
  });
}
