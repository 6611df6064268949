import type { Model, ToolSource } from "../../src/index.ts";
import { Orchestrator, type PendingToolCall, type ToolResultInput } from "../../src/run/index.ts";
import type { Store } from "../../src/store/index.ts";

/** What the agent observes: a user message, or results of the calls that it made, in any order and number. */
export type Observation = UserMessage | ToolMessage | readonly ToolMessage[];

export interface UserMessage {
  readonly role: "user";
  readonly content: string;
}

export interface ToolMessage {
  readonly role: "tool";
  /** The `id` of the call in the agent's message. */
  readonly tool_call_id: string;
  readonly content: string;
  readonly error?: boolean;
}

/** What the agent says: text, calls, or both. */
export interface AgentMessage {
  readonly role: "assistant";
  readonly content: string;
  readonly tool_calls?: readonly AgentCall[];
}

export interface AgentCall {
  /** Unique in the conversation, whatever the provider sent. Results refer to it. */
  readonly id: string;
  /** The provider's id; `null` if it gave none. Providers repeat ids. */
  readonly wireId: string | null;
  readonly name: string;
  readonly arguments: unknown;
}

/** Plain JSON: to be kept by the benchmark between two messages, and to be given back. */
export interface AgentState {
  readonly conversationId: string;
  /** What was said before the user said anything, in the provider's form. */
  readonly history: readonly unknown[];
  /** The calls that wait for their results. */
  readonly waiting: readonly string[];
}

export interface NextMessage {
  /** `null` while more results are needed. */
  readonly message: AgentMessage | null;
  readonly state: AgentState;
}

/** An agent as tool-use benchmarks expect it: one message in, one message out; the environment runs the tools. */
export interface BenchmarkAgent {
  getInitState(history?: readonly unknown[]): AgentState;
  getNextMessage(observation: Observation, state: AgentState): Promise<NextMessage>;
}

/**
 * An agent whose tools are executed by the benchmark. The conversation is in the store, so any process with the same
 * store can take the next observation.
 *
 * @param tools external ones; a tool with a handler would run here, unseen by the benchmark
 */
export function createAgent(model: Model, tools: ToolSource, store: Store): BenchmarkAgent {
  const orchestrator = new Orchestrator({ model, tools, store });
  return {
    getInitState: (history = []) => ({ conversationId: crypto.randomUUID(), history, waiting: [] }),

    async getNextMessage(observation, { conversationId, history, waiting }) {
      const result =
        "role" in observation && observation.role === "user"
          ? await orchestrator.run({ conversationId, messages: history, input: observation.content })
          : await orchestrator.resume(conversationId, { toolResults: [observation].flat().map(resultOf) });
      if (result.status === "error") throw result.error!;
      const { content, pendingToolCalls } = result;
      // The others were handed out before, and still wait for their results.
      const calls = pendingToolCalls.filter(({ id }) => !waiting.includes(id)).map(callOf);
      const isWaiting = pendingToolCalls.length > 0 && calls.length === 0;
      return {
        message: isWaiting ? null : { role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) },
        state: { conversationId, history: [], waiting: pendingToolCalls.map(({ id }) => id) },
      };
    },
  };
}

function callOf({ id, wireId, name, arguments: args }: PendingToolCall): AgentCall {
  return { id, wireId, name, arguments: args };
}

function resultOf(message: UserMessage | ToolMessage): ToolResultInput {
  if (message.role !== "tool") throw new TypeError("What the user says is an observation of its own.");
  const { tool_call_id: toolCallId, content, error = false } = message;
  return error ? { toolCallId, error: content } : { toolCallId, result: content };
}
