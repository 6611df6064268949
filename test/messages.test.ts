import { expect, it } from "vitest";
import { google } from "../adapters/google/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { textHelpers } from "../adapters/text-helpers/index.ts";
import type { ToolCallError } from "../src/errors.ts";
import { ToolBuffer } from "../src/stream/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { defineTool } from "../src/tool/tool.ts";

const tools = [defineTool({ name: "f", inputSchema: {} })];
const errorOf = async (response: Response) => (await openaiChat.read(response).done()).error?.message;

it.each<[string, (text: string) => string | undefined | Promise<string | undefined>]>([
  [
    "the name of an unknown tool",
    (name) => {
      const buffer = new ToolBuffer(tools);
      buffer.append({ name, argsTextDelta: "{}" });
      buffer.end("tool-use");
      return buffer.errors[0]?.message;
    },
  ],
  ["the body of an error response", (text) => errorOf(new Response(text, { status: 500 }))],
  ["a body that is no stream", (text) => errorOf(new Response(text))],
  ["an event that is not JSON", (text) => errorOf(new Response(`data: {${text}\n\n`))],
  [
    "the path of an argument",
    (text) => {
      const partialArgs = [{ jsonPath: `$['${text}']`, stringValue: "", willContinue: true }];
      const parts = [{ functionCall: { name: "f", partialArgs, willContinue: true } }];
      const last = google.parse({ candidates: [{ content: { parts }, finishReason: "STOP" }] }).at(-1);
      return last?.type === "finish" ? (last.turn.calls[0]?.outcome as ToolCallError | undefined)?.message : undefined;
    },
  ],
  [
    "a place in a variable of Python",
    (text) => {
      const last = textHelpers().parse(`<helpers>x = [1]\nf(x["${text}"])</helpers>`).at(-1);
      return last?.type === "finish" ? (last.turn.calls[0]?.outcome as ToolCallError | undefined)?.message : undefined;
    },
  ],
  [
    "the key of an entry",
    (text) =>
      memoryStore()
        .get(text)
        .then(String, ({ message }: Error) => message),
  ],
])("shortens %s, but cuts no character in two", async (_, messageOf) => {
  for (const before of ["", "x"]) {
    const text = before + "😀".repeat(1000);
    const message = await messageOf(text);
    expect(message).toContain("😀…");
    expect(message?.isWellFormed()).toBe(true);
  }
});
