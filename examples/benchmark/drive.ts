import { isDeepStrictEqual } from "node:util";
import type { Tool } from "../../src/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { replayModel } from "../../src/testing/index.ts";
import { createAgent, type AgentMessage, type Observation, type ToolMessage } from "./agent.ts";
import type { Recorded, RecordedAnswer, RecordedMessage } from "./recording.ts";
import type { RecordedWire } from "./wires.ts";

export interface Driven {
  /** Calls that the agent made. */
  readonly calls: number;
  /** How often it waited for results. */
  readonly pauses: number;
  /** Descriptions of what differs from the recording. */
  readonly mismatches: readonly string[];
  /** The conversation as it was sent to the model, request by request, in the provider's format. */
  readonly requests: readonly (readonly unknown[])[];
}

/** How the results of one answer are delivered. */
export type Delivery = "together" | "reversed" | "one by one";

/**
 * Plays a recorded conversation against the agent: the recorded answers become the model's streams, and the recorded
 * user messages and tool results become the agent's observations. What the agent says is compared with the recording.
 */
export async function drive(
  { id, messages }: Recorded,
  wire: RecordedWire,
  tools: readonly Tool[],
  delivery: Delivery = "together",
): Promise<Driven> {
  const start = messages.findIndex(({ role }) => role === "user");
  const greeting = messages.slice(0, Math.max(start, 0)).filter((message) => message.role === "assistant");
  const answers = messages.slice(greeting.length).filter((message) => message.role === "assistant");
  const model = replayModel(wire.adapter, answers.map(wire.encode));
  const agent = createAgent(model, tools, memoryStore());
  const history = (await Promise.all(greeting.map(wire.message))).flat();
  const mismatches: string[] = [];
  let calls = 0;
  let pauses = 0;
  let state = agent.getInitState(history);

  let before: Handed = { said: null, answer: undefined };

  for (const [turn, { observed, answer }] of exchanges(messages.slice(greeting.length)).entries()) {
    const where = `${id}, answer ${turn + 1}`;
    let said: AgentMessage | null = null;
    try {
      for (const observation of observationsOf(observed, before, delivery)) {
        // Between two messages, the state may be stored anywhere.
        const given = JSON.parse(JSON.stringify(state)) as typeof state;
        ({ message: said, state } = await agent.getNextMessage(observation, given));
      }
    } catch (error) {
      mismatches.push(`${where}: ${(error as Error).message}`);
      break;
    }
    mismatches.push(...compare(said, answer).map((difference) => `${where}: ${difference}`));
    const handedOut = said?.tool_calls?.length ?? 0;
    calls += handedOut;
    if (handedOut > 0) pauses++;
    if (handedOut !== (answer.tool_calls?.length ?? 0)) break;
    before = { said, answer };
  }

  if (model.requests.length !== answers.length && mismatches.length === 0) {
    mismatches.push(
      `${id}: the model was asked ${model.requests.length} times, recorded are ${answers.length} answers`,
    );
  }
  for (const [at, request] of model.requests.entries()) {
    // pair() would only repair defects: a call without its result, or a result without its call.
    if (!isDeepStrictEqual(model.pair(request.messages), request.messages)) {
      mismatches.push(`${id}, request ${at + 1}: not every call has its one result`);
    }
  }
  return { calls, pauses, mismatches, requests: model.requests.map(({ messages: sent }) => sent) };
}

interface Exchange {
  readonly observed: readonly RecordedMessage[];
  readonly answer: RecordedAnswer;
}

/** Pairs of observations and recorded answers. Observations without an answer are left out. */
function exchanges(messages: readonly RecordedMessage[]): Exchange[] {
  const found: Exchange[] = [];
  let observed: RecordedMessage[] = [];
  for (const message of messages) {
    if (message.role !== "assistant") observed.push(message);
    else {
      found.push({ observed, answer: message });
      observed = [];
    }
  }
  return found;
}

/** The calls that were made last, and the same ones as they were recorded. */
interface Handed {
  readonly said: AgentMessage | null;
  readonly answer: RecordedAnswer | undefined;
}

/** The recorded messages as the agent observes them, with the ids of the calls that it made. */
function observationsOf(
  observed: readonly RecordedMessage[],
  { said, answer }: Handed,
  delivery: Delivery,
): readonly Observation[] {
  const recorded: (string | undefined)[] = (answer?.tool_calls ?? []).map(({ id }) => id);
  const results = observed
    .filter((message) => message.role === "tool")
    .map((message): ToolMessage => {
      // If two calls have the same id, the first result belongs to the first one.
      const at = recorded.indexOf(message.tool_call_id);
      if (at !== -1) recorded[at] = undefined;
      return { ...message, tool_call_id: said?.tool_calls?.[at]?.id ?? message.tool_call_id };
    });
  const users = observed.filter((message) => message.role === "user");
  if (results.length === 0) return users;
  if (delivery === "one by one") return [...results, ...users];
  return [delivery === "reversed" ? results.toReversed() : results, ...users];
}

function compare(said: AgentMessage | null, recorded: RecordedAnswer): string[] {
  if (said === null) return ["nothing was said"];
  const { content, tool_calls: calls = [] } = said;
  const expected = recorded.tool_calls ?? [];
  const found: string[] = [];
  const check = (what: string, actual: unknown, wanted: unknown) => {
    if (!isDeepStrictEqual(actual, wanted)) {
      found.push(`${what} ${JSON.stringify(actual)}, recorded ${JSON.stringify(wanted)}`);
    }
  };
  check("the text is", content, recorded.content ?? "");
  check(
    "the calls are",
    calls.map(({ name }) => name),
    expected.map(({ name }) => name),
  );
  for (const [at, { wireId, arguments: args }] of calls.entries()) {
    const call = expected[at];
    if (call === undefined) break;
    check(`the arguments of call ${at + 1} are`, args, call.arguments);
    if (wireId !== null) check(`the provider's id of call ${at + 1} is`, wireId, call.id);
  }
  return found;
}
