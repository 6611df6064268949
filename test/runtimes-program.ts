import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { googleInteractions } from "../adapters/google-interactions/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";
import { textJson } from "../adapters/text-json/index.ts";
import { ApprovalService, ToolExecutor } from "../src/execute/index.ts";
import { defineTool } from "../src/index.ts";
import { Orchestrator } from "../src/run/index.ts";
import { memoryStore } from "../src/store/index.ts";

/** What an application makes at the top of its module, where workerd allows no timer and no random value. */
const inputSchema = { type: "object", properties: { n: { type: "number" } } };
const undone: unknown[] = [];
const pay = defineTool({
  name: "pay",
  inputSchema,
  needsApproval: true,
  execute: (input) => input,
  undo: ({ input }) => void undone.push(input),
});
const store = memoryStore();
const approvals = new ApprovalService({ store, tools: [pay] });
const executor = new ToolExecutor({ tools: [pay], store, approvals });
const texts = ['<tool_call>{"name":"ask","arguments":{"n":2}}</tool_call>', "Done."];
const model = textJson("hermes").model(async function* () {
  yield texts.shift()!;
});
const runs = new Orchestrator({ model, tools: [defineTool({ name: "ask", inputSchema })], store });

const requests = [
  [openaiChat, "v1/chat/completions"],
  [openaiResponses, "v1/responses"],
  [anthropic, "v1/messages"],
  [google, "v1beta/models/any:streamGenerateContent?alt=sse"],
  [googleInteractions, "v1beta/interactions"],
  [cohere, "v2/chat"],
] as const;

/** Reads each wire's answer as it comes, runs its calls, asks and undoes, and goes on with a run. */
export async function program(url: string): Promise<unknown> {
  const read: Record<string, unknown> = {};
  for (const [adapter, path] of requests) {
    const response = await ask(`${url}/${adapter.name}/parallel/${path}`);
    const names = ["get_weather", "refund_order"];
    const tools = names.map((name) => defineTool({ name, inputSchema: { type: "object" }, execute: (input) => input }));
    const results: unknown[] = [];
    for await (const event of adapter.read(response, { tools })) {
      if (event.type === "tool-use") results.push([event.use.name, await event.use.execute()]);
      if (event.type === "error") results.push(event.error.message);
    }
    read[adapter.name] = results;
  }
  const abort = new AbortController();
  const cut = anthropic.read(await ask(`${url}/anthropic/long/v1/messages`), { signal: abort.signal });
  for await (const event of cut) if (event.type === "tool-input-delta") abort.abort();

  const [use, context] = [pay.use({ n: 1 }), { runId: "run" }];
  const asked = await executor.execute(use, { ...context, waitForApproval: false });
  const running = executor.execute(pay.use({ n: 1 }, { id: use.id, invocationId: use.invocationId }), context);
  if (asked.status === "awaiting_approval") await approvals.decide(asked.approval.id, { decision: "approve" });
  const { status, actionId } = await running;
  await executor.undo(actionId);

  const { conversationId, pendingToolCalls } = await runs.run({ input: "Go" });
  const toolResults = pendingToolCalls.map(({ id }) => ({ toolCallId: id, result: 7 }));
  const { content } = await runs.resume(conversationId, { toolResults });
  return { read, aborted: cut.turn.error?.code, status, undone: undone.splice(0), content };
}

function ask(url: string): Promise<Response> {
  const body = JSON.stringify({ model: "any", stream: true });
  return fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
}
