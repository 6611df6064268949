/** One conversation on every wire, through the official clients and HTTP: what the providers are sent. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { type ReplayServer } from "../../src/replay/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { type NeutralTurn } from "./encode.ts";
import { clientModels, serveTurns, tools } from "./served.ts";

const turns: readonly NeutralTurn[] = [
  {
    reasoning: "Two cities, one question, and the old report goes.",
    text: "I look it up.",
    calls: [
      { id: "call_oslo", name: "get_weather", args: { city: "Oslo" } },
      { id: "call_rome", name: "get_weather", args: { city: "Rome" } },
      { id: "call_ask", name: "ask_user", args: { question: "Which report?" } },
      { id: "call_delete", name: "delete_report", args: { name: "old" } },
      { id: "call_book", name: "book", args: { city: "Oslo" } },
    ],
  },
  { text: "Oslo is cold." },
];

let server: ReplayServer;
beforeAll(async () => {
  server = await serveTurns((_script, count) => turns[Math.min(count, turns.length - 1)]!);
});
afterAll(() => server.close());

describe.each(Object.entries(clientModels))("%s", (wire, modelAt) => {
  it("is sent every call with its result, in call order", async () => {
    const store = memoryStore();
    const approvals = new ApprovalService({ store });
    const model = modelAt(`${server.url}/${wire}/talk`);
    const orchestrator = new Orchestrator({ model, tools, store, approvals });
    const paused = await orchestrator.run({ conversationId: "c", input: "What is the weather?" });
    expect(paused).toMatchObject({ status: "awaiting_tool_results", content: "I look it up." });
    expect(paused.pendingToolCalls).toMatchObject([{ name: "ask_user", arguments: { question: "Which report?" } }]);
    expect(paused.pendingApprovals).toMatchObject([{ toolName: "delete_report", input: { name: "old" } }]);
    const result = await orchestrator.resume("c", {
      approvals: [{ id: paused.pendingApprovals[0]!.id, decision: "deny", reason: "keep it" }],
      toolResults: [{ toolCallId: paused.pendingToolCalls[0]!.id, result: { report: "new" } }],
    });
    expect(result).toMatchObject({ status: "completed", content: "Oslo is cold." });

    const [first, second] = server.requests.filter(({ fixture }) => fixture === `${wire}/talk`);
    expect(conversationIn(first!.body)).toHaveLength(1);
    // Nothing is amiss in it, though it was put together over a pause.
    expect(model.pair(result.messages)).toEqual(result.messages);
    expect(JSON.stringify(conversationIn(second!.body))).not.toContain("undefined");
    expect(conversationIn(second!.body)).toMatchSnapshot();
  });
});

function conversationIn(body: unknown): unknown[] {
  const { messages, input, contents } = body as Record<string, unknown[] | undefined>;
  return (messages ?? input ?? contents)!;
}
