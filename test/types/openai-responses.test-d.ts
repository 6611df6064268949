import type OpenAI from "openai";
import { z } from "zod";
import { openaiResponses, resultContent } from "../../adapters/openai-responses/index.ts";
import type { ToolCallError } from "../../src/errors.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";

/** The types of items that come in a form in which they do not go back: `inputItem()` has a rule for each. */
type Output = OpenAI.Responses.ResponseOutputItem;
type Refused = Output extends infer Item extends Output
  ? Item extends OpenAI.Responses.ResponseInputItem
    ? never
    : Item["type"]
  : never;
export const rules: { readonly [type in Refused]: string } = {
  additional_tools: "only the developer's",
  computer_call_output: "without the status `failed`",
};

declare const client: OpenAI;
declare const turn: Turn;
declare const use: ToolUse;
declare const error: ToolCallError;
const tools = [
  defineTool({ name: "get_weather", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
  defineTool({ name: "write_sql", inputSchema: z.string(), execute: (sql) => sql.length }),
];

/** What the adapter makes goes into the SDK's requests, and what the SDK gives goes into the adapter, without a cast. */
export async function fitsTheSdk(): Promise<void> {
  const request = {
    model: "gpt-5.4",
    input: [
      { role: "user", content: "Hi" },
      ...openaiResponses.assistantMessage(turn),
      ...openaiResponses.toolResults(turn),
      openaiResponses.toolResult(use, { celsius: 21 }),
      openaiResponses.toolResult(use, resultContent([{ type: "input_text", text: "hot" }])),
      openaiResponses.toolError(error),
    ],
    tools: [...openaiResponses.tools(tools, { strict: "auto", onLoss: "throw" }), { type: "web_search" }],
    ...openaiResponses.toolChoice({ names: ["get_weather"], required: true }, { parallel: false }),
  } satisfies OpenAI.Responses.ResponseCreateParams;

  openaiResponses.read(await client.responses.create({ ...request, stream: true }), { tools });
  openaiResponses.read(client.responses.stream(request), { tools });
  openaiResponses.read(await client.responses.retrieve("resp_1", { stream: true }));
  openaiResponses.read(await client.beta.responses.create({ model: "gpt-5.4", input: "Hi", stream: true }), { tools });
  openaiResponses.read(await client.responses.create({ ...request, stream: true }).asResponse(), { tools });
  openaiResponses.parse(await client.responses.create(request), { tools });
  openaiResponses.parse(await client.responses.parse(request), { tools });
  openaiResponses.tools(tools).map((tool): OpenAI.Responses.Tool => ({ ...tool, defer_loading: true }));
  const history: OpenAI.Responses.ResponseInput = openaiResponses.assistantMessage(turn);
  history.push(...openaiResponses.toolResults(turn));

  // @ts-expect-error a chat completion is no response
  openaiResponses.parse(await client.chat.completions.create({ model: "gpt-5.4", messages: [] }));
  // @ts-expect-error its chunks are no events
  openaiResponses.read(await client.chat.completions.create({ model: "gpt-5.4", messages: [], stream: true }));
  // @ts-expect-error no such choice
  openaiResponses.toolChoice("any");
  // @ts-expect-error no such mode
  openaiResponses.tools(tools, { strict: "always" });
}
