/** The official clients of every wire as models, and a server that answers them with the turns of a script. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Model } from "../../src/model.ts";
import { serveReplay, type ReplayCase, type ReplayServer } from "../../src/replay/index.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { encoders, type NeutralTurn } from "./encode.ts";

export const clientModels: Readonly<Record<string, (url: string) => Model>> = {
  "openai-chat": (url) =>
    openaiChat.model(new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }), { model: "m", stream_options: null }),
  "openai-responses": (url) =>
    openaiResponses.model(new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }), { model: "m", store: false }),
  anthropic: (url) => anthropic.model(new Anthropic({ apiKey: "none", baseURL: url }), { model: "m", max_tokens: 99 }),
  google: (url) => google.model(new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } }), { model: "m" }),
  "google-interactions": (url) =>
    googleInteractions.model(new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } }), { model: "m" }),
  cohere: (url) => cohere.model(new CohereClientV2({ token: "none", environment: url }), { model: "m" }),
};

/** One that reads, one for the caller, one that needs approval, one that fails. */
export const tools = [
  defineTool({
    name: "get_weather",
    inputSchema: z.object({ city: z.string() }),
    effect: "read",
    execute: ({ city }) => ({ city, celsius: 3 }),
  }),
  defineTool({ name: "ask_user", inputSchema: z.object({ question: z.string() }) }),
  defineTool({
    name: "delete_report",
    inputSchema: z.object({ name: z.string() }),
    needsApproval: true,
    execute: () => "deleted",
  }),
  defineTool({
    name: "book",
    inputSchema: z.object({ city: z.string() }),
    execute: () => {
      throw new Error("no seats");
    },
  }),
];

/** Answers at `/<wire>/<script>` with the turns of the script one after the other, each time that it is asked. */
export function serveTurns(turnAt: (script: string, count: number) => NeutralTurn): Promise<ReplayServer> {
  class InTurn extends Map<string, ReplayCase> {
    readonly #asked = new Map<string, number>();

    override get(key: string): ReplayCase {
      const count = this.#asked.get(key) ?? 0;
      this.#asked.set(key, count + 1);
      const [wire, script] = key.split("/") as [string, string];
      const turn = turnAt(script, count);
      const bytes = encoders[wire]!(turn);
      const stream = { bytes, chunks: [], complete: true, contentType: "text/event-stream" };
      if (turn.cut === undefined) return { stream };
      const { after, how } = turn.cut;
      const body = Buffer.from(bytes);
      const cutAtByte = body.indexOf("\n\n", body.indexOf(after)) + 2;
      return { stream, behavior: { cutAtByte, cut: how } };
    }
  }
  const adapters = [openaiChat, openaiResponses, anthropic, google, googleInteractions, cohere];
  return serveReplay({ adapters, fixtures: new InTurn() });
}
