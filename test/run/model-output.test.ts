/** What a handler returns is for the application; `toModelOutput` says what the model is told of it. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic, resultContent } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { textJson } from "../../adapters/text-json/index.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import type { ConversationAdapter } from "../../src/model.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Turn } from "../../src/stream/events.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";
import { counted, external, scripted, short } from "./script.ts";

const conversationId = "c1";
const input = "Go";

const query = defineTool({
  name: "query",
  inputSchema: z.object({}),
  execute: () => ({ rows: ["secret one", "secret two"] }),
  toModelOutput: ({ rows }) => `${rows.length} rows, shown to the user`,
});

const turnOf = (use: ToolUse) =>
  ({ calls: [{ id: use.id, invocationId: use.invocationId, outcome: use }] }) as any as Turn;

describe("what the model is told of an output", () => {
  it.each<[ConversationAdapter]>([
    [openaiChat],
    [openaiResponses],
    [anthropic],
    [google],
    [googleInteractions],
    [cohere],
    [textJson("hermes") as any],
  ])("is what its tool makes of it: $name", async (adapter) => {
    const use = query.use({}, { id: "call_1" });
    expect(await use.execute()).toEqual({ rows: ["secret one", "secret two"] });
    const said = JSON.stringify(adapter.toolResults(turnOf(use)));
    expect(said).toContain("2 rows, shown to the user");
    expect(said).not.toContain("secret");
    expect(use.result).toEqual({ rows: ["secret one", "secret two"] });
  });

  it("may be more than text", async () => {
    const look = defineTool({
      name: "look",
      inputSchema: z.object({}),
      execute: async () => ({ png: "iVBORw0K" }),
      toModelOutput: ({ png }) =>
        resultContent([{ type: "image", source: { type: "base64", media_type: "image/png", data: png } }]),
    });
    const use = look.use({}, { id: "call_1" });
    await use.execute();
    expect(anthropic.toolResults(turnOf(use))[0]).toMatchObject({ content: [{ content: [{ type: "image" }] }] });
  });

  it("is an error if the function fails, or does not answer at once", async () => {
    const fails = [
      () => {
        throw new Error("no such column");
      },
      async () => "later",
      async () => Promise.reject(new Error("too late")),
    ];
    const said = fails.map((toModelOutput) => {
      const use = defineTool({ ...query, execute: () => "rows", toModelOutput }).use({}, { id: "call_1" });
      use.executeSync();
      return openaiChat.toolResults(turnOf(use))[0]!.content;
    });
    expect(said[0]).toMatch(/query has run, but its output cannot be sent: no such column/);
    expect(said[1]).toMatch(/query has run, but its output cannot be sent: .*Promise/);
    expect(said[2]).toBe(said[1]);
    await new Promise((resolve) => setTimeout(resolve, 1)); // an unhandled rejection would fail the test run
  });

  it("may name its tool", () => {
    const named = defineTool({
      ...query,
      execute: () => "rows",
      toModelOutput(rows) {
        return `${this.name}: ${rows}`;
      },
    });
    const use = named.use({}, { id: "call_1" });
    use.executeSync();
    expect(openaiChat.toolResults(turnOf(use))[0]!.content).toBe("query: rows");
  });

  it("is what the caller says, of a call that the caller executed", () => {
    const registry = new ToolRegistry();
    registry.register(query, { mode: "external" });
    const use = registry.get("query")!.use({}, { id: "call_1" });
    use.provideResult({ rows: [] });
    expect(openaiChat.toolResults(turnOf(use))[0]!.content).toBe('{"rows":[]}');
  });

  it("is a function's to say", () => {
    expect(() => defineTool({ name: "x", inputSchema: {}, toModelOutput: "short" } as never)).toThrow(/toModelOutput/);
  });
});

describe("in a run", () => {
  const rows = { rows: ["secret one", "secret two"] };

  it("the record and the transcript have the output, and the messages what the model was told", async () => {
    const model = scripted({ calls: [{ name: "query" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [query], store: memoryStore() });
    const { messages } = await orchestrator.run({ conversationId, input });
    expect(short(messages)[2]).toBe("result(2 rows, shown to the user)");
    const [, turn] = (await orchestrator.transcript(conversationId))!;
    expect(turn).toMatchObject({ calls: [{ output: rows }] });
  });

  it("the same is told by the process that goes on, whether its tool still takes the input or not", async () => {
    const told = async (inputSchema: any) => {
      const store = memoryStore();
      const approvals = new ApprovalService({ store });
      const model = scripted({ calls: [{ name: "query" }, { name: "delete" }] }, { text: "Done." });
      const other = counted("delete", { needsApproval: true });
      const before = new Orchestrator({ model, tools: [query, other.tool], store, approvals });
      const paused = await before.run({ conversationId, input });
      expect(paused.status).toBe("awaiting_approval");
      const now = defineTool({ ...query, inputSchema, execute: () => expect.unreachable() as never });
      const after = new Orchestrator({ model, tools: [now, other.tool], store, approvals });
      const id = paused.pendingApprovals[0]!.id;
      return short((await after.resume(conversationId, { approvals: [{ id, decision: "deny" }] })).messages)[2];
    };
    expect(await told(z.object({}))).toBe("result(2 rows, shown to the user)");
    expect(await told(z.object({ table: z.string() }))).toBe("result(2 rows, shown to the user)");
  });

  it("the same is told if the conversation goes on without its open calls", async () => {
    const model = scripted({ calls: [{ name: "query" }, { name: "ask" }] }, { text: "Done." });
    const orchestrator = new Orchestrator({ model, tools: [query, external("ask")], store: memoryStore() });
    expect(await orchestrator.run({ conversationId, input })).toMatchObject({ status: "awaiting_tool_results" });
    const { messages } = await orchestrator.run({ conversationId, input: "Never mind", whenOpen: "cancel" });
    expect(short(messages)[2]).toBe("result(2 rows, shown to the user)");
    expect(JSON.stringify(messages)).not.toContain("secret");
  });
});
