import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import type { Model } from "../../src/model.ts";
import { serveReplay } from "../../src/replay/index.ts";

export interface Connection {
  readonly model: Model;
  close(): Promise<void>;
}

/**
 * The official clients. Without `live` they talk to a local server that answers from recordings, which needs no key and
 * no network: whatever you say, the model calls its tools, and then says something about a town.
 */
export async function connect({ wire, live }: { wire: string; live: boolean }): Promise<Connection> {
  if (!Object.hasOwn(WIRES, wire)) throw new Error(`--wire is one of ${Object.keys(WIRES).join(", ")}, got ${wire}.`);
  const { key, modelAt } = WIRES[wire]!;
  if (live && !process.env[key]) throw new Error(`--live needs the key of ${wire} in ${key}.`);
  if (live) return { model: modelAt(), close: async () => {} };
  const server = await serveReplay({
    adapters: [openaiChat, anthropic],
    fixtures: join(import.meta.dirname, "../../fixtures"),
  });
  const calling = modelAt(server.url, "parallel");
  const answering = modelAt(server.url, "text-only");
  const model: Model = {
    ...calling,
    // Tool results are answered with text.
    open: (request) => (isSaid(request.messages.at(-1)) ? calling : answering).open(request),
  };
  return { model, close: () => server.close() };
}

interface Wire {
  /** The environment variable from which the client takes its key. */
  readonly key: string;
  modelAt(url?: string, recording?: string): Model;
}

const WIRES: Readonly<Record<string, Wire>> = {
  openai: {
    key: "OPENAI_API_KEY",
    modelAt(url, recording) {
      const replayed = url === undefined ? {} : { apiKey: "none", baseURL: `${url}/openai-chat/${recording}/v1` };
      return openaiChat.model(new OpenAI(replayed), { model: "gpt-5-mini" });
    },
  },
  anthropic: {
    key: "ANTHROPIC_API_KEY",
    modelAt(url, recording) {
      const replayed = url === undefined ? {} : { apiKey: "none", baseURL: `${url}/anthropic/${recording}` };
      return anthropic.model(new Anthropic(replayed), { model: "claude-sonnet-5-5", max_tokens: 4096 });
    },
  },
};

function isSaid(message: { readonly role?: string; readonly content?: unknown } | undefined): boolean {
  return message?.role === "user" && typeof message.content === "string";
}
