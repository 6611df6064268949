import { join } from "node:path";
import OpenAI from "openai";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import type { Tool } from "../../src/index.ts";
import { serveReplay } from "../../src/replay/index.ts";

/** A stored call: what is needed to make the same use again in another process. */
export interface WantedCall {
  readonly name: string;
  readonly input: unknown;
  readonly id: string | null;
  readonly invocationId: string;
}

/**
 * What the model wants to do. The official client talks to a local server that answers from a recording, so it needs no
 * key and no network. Give the client your key and leave out `baseURL` to ask the real model.
 */
export async function askModel(tools: readonly Tool[], runId: string): Promise<WantedCall[]> {
  const server = await serveReplay({
    adapters: [openaiChat],
    fixtures: join(import.meta.dirname, "../../fixtures"),
  });
  try {
    const client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/openai-chat/parallel/v1` });
    const stream = await client.chat.completions.create({
      model: "replayed",
      stream: true,
      messages: [{ role: "user", content: "My order A-1007 came broken. I want 12.50 back." }],
      tools: openaiChat.tools(tools),
    });
    const wanted: WantedCall[] = [];
    for await (const event of openaiChat.read(stream, { tools, runId })) {
      if (event.type !== "tool-use") continue;
      const { name, input, id, invocationId } = event.use;
      wanted.push({ name, input: input as unknown, id, invocationId });
    }
    return wanted;
  } finally {
    await server.close();
  }
}
