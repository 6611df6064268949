import { readFileSync } from "node:fs";
import { defineTool, jsonSchema, type Effect, type Tool } from "../../src/index.ts";
import type { ToolMessage, UserMessage } from "./agent.ts";

/** One recorded conversation: a line of the file. */
export interface Recorded {
  readonly id: string;
  readonly messages: readonly RecordedMessage[];
}

export type RecordedMessage = UserMessage | ToolMessage | RecordedAnswer;

/** An answer of the model. */
export interface RecordedAnswer {
  readonly role: "assistant";
  readonly content?: string | null;
  readonly tool_calls?: readonly RecordedCall[];
}

export interface RecordedCall {
  /** The provider's id, which may be repeated. */
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** As the model wrote them, if that was recorded. */
  readonly arguments_text?: string;
}

interface RecordedTool {
  readonly name: string;
  readonly description?: string;
  readonly kind?: string;
  readonly parameters: Record<string, unknown>;
}

/** Reads a file with one conversation per line. @throws Error that names the malformed line */
export function readConversations(file: string): Recorded[] {
  const conversations: Recorded[] = [];
  for (const [at, line] of readFileSync(file, "utf8").split("\n").entries()) {
    if (line.trim() === "") continue;
    conversations.push(
      parsed(line, `${file}:${at + 1}`, isRecorded, "a conversation with id and messages") as Recorded,
    );
  }
  return conversations;
}

/**
 * Reads a list of tools, without handlers, since the benchmark executes them. @throws Error, ToolError `invalid_tool`
 */
export function readTools(file: string): Tool[] {
  const tools = parsed(readFileSync(file, "utf8"), file, Array.isArray, "a list of tools") as RecordedTool[];
  return tools.map(({ name, description = "", kind, parameters }) => {
    const effect: Effect = kind === "read" ? "read" : "write";
    return defineTool({ name, description, effect, inputSchema: jsonSchema(parameters) });
  });
}

function parsed(text: string, where: string, fits: (value: unknown) => boolean, expected: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${where} is no JSON: ${(cause as Error).message}`, { cause });
  }
  if (!fits(value)) throw new Error(`${where} is not ${expected}.`);
  return value;
}

function isRecorded(value: unknown): boolean {
  const { id, messages } = (value ?? {}) as Partial<Recorded>;
  return typeof id === "string" && Array.isArray(messages) && messages.every(isMessage);
}

function isMessage(value: unknown): boolean {
  const message = (value ?? {}) as Record<string, unknown>;
  switch (message["role"]) {
    case "user":
      return typeof message["content"] === "string";
    case "tool":
      return typeof message["content"] === "string" && typeof message["tool_call_id"] === "string";
    case "assistant":
      return (
        (message["content"] === undefined || message["content"] === null || typeof message["content"] === "string") &&
        (message["tool_calls"] === undefined || areCalls(message["tool_calls"]))
      );
    default:
      return false;
  }
}

function areCalls(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((call: Partial<RecordedCall> | null) => typeof call?.id === "string" && typeof call.name === "string")
  );
}
