/** What the adapter takes and gives fits the types of both SDKs, without a cast. Checked by `tsc`. */
import type * as genai from "@google/genai";
import type * as legacy from "@google/generative-ai";
import { google, resultContent } from "../../adapters/google/index.ts";
import type { Adapter } from "../../src/adapter.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";

declare const turn: Turn;
declare const use: ToolUse;

const clock = defineTool({ name: "now", inputSchema: { type: "object", properties: {} }, execute: () => Date.now() });
const tools = [clock];

export const isAdapter: Adapter = google;

export async function withGenai(ai: genai.GoogleGenAI, contents: genai.Content[]): Promise<void> {
  const request: genai.GenerateContentParameters = {
    model: "gemini-3-flash-preview",
    contents,
    config: { tools: google.tools(tools), ...google.toolChoice({ names: ["now"] }) },
  };
  for await (const event of google.read(await ai.models.generateContentStream(request), { tools })) {
    if (event.type === "tool-use") contents.push(google.toolResult(event.use, await event.use.execute()));
  }
  google.parse(await ai.models.generateContent(request), { tools });
  contents.push(...google.assistantMessage(turn), ...google.toolResults(turn), google.toolResult(use, 1));
  contents.push(google.toolResult(use, resultContent(1, [{ inlineData: { mimeType: "image/png", data: "" } }])));
  const declaration: genai.FunctionDeclaration | undefined = google.tools(tools)[0]?.functionDeclarations[0];
  const config: genai.ToolConfig = google.toolChoice("required").toolConfig;
  void [declaration, config];
}

export async function withGenerativeAi(ai: legacy.GoogleGenerativeAI, contents: legacy.Content[]): Promise<void> {
  const model = ai.getGenerativeModel({
    model: "gemini-2.5-flash",
    tools: google.tools(tools, { dialect: "schema" }),
    ...google.toolChoice("auto", { dialect: "schema" }),
  });
  const { stream } = await model.generateContentStream({ contents });
  for await (const event of google.read(stream, { tools })) {
    if (event.type === "tool-use") contents.push(google.toolResult(event.use, await event.use.execute()));
  }
  const { response } = await model.generateContent({ contents, tools: google.tools(tools) });
  google.parse(response, { tools });
  contents.push(...google.assistantMessage(turn), ...google.toolResults(turn), google.toolResult(use, 1));
  contents.push(google.toolResult(use, resultContent(1, [{ inlineData: { mimeType: "image/png", data: "" } }])));
  const declaration: legacy.FunctionDeclaration | undefined = google.tools(tools, { dialect: "schema" })[0]
    ?.functionDeclarations?.[0];
  void declaration;
}

export function refused(): void {
  // @ts-expect-error -- there is no such dialect
  google.tools(tools, { dialect: "openapi" });
  // @ts-expect-error -- a choice has a name or names
  google.toolChoice({ tool: "now" });
  const other = async function* () {
    yield { choices: 1, candidates: "no" };
  };
  // @ts-expect-error -- a stream of something else
  google.read(other());
}
