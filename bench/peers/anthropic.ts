import Anthropic from "@anthropic-ai/sdk";
import type { Peer } from "../peer.ts";
import { localFetch, outcome, outcomeOfTexts, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const client = new Anthropic({ apiKey: "none", baseURL: "http://localhost", fetch });
const request = {
  model: "claude-sonnet-4-6",
  max_tokens: 1024,
  messages: [{ role: "user" as const, content: PROMPT }],
};

export const peers: Peer[] = [
  {
    name: "anthropic, raw",
    package: "@anthropic-ai/sdk",
    quadratic: false,
    readsText: true,
    wires: {
      async anthropic(stream) {
        answer(stream);
        const calls: { id: string; name: string; args: string }[] = [];
        let text = "";
        for await (const event of await client.messages.create({ ...request, stream: true })) {
          if (event.type === "content_block_start" && event.content_block.type === "tool_use") {
            calls[event.index] = { id: event.content_block.id, name: event.content_block.name, args: "" };
          } else if (event.type === "content_block_delta") {
            if (event.delta.type === "input_json_delta") calls[event.index]!.args += event.delta.partial_json;
            else if (event.delta.type === "text_delta") text += event.delta.text;
          }
        }
        return outcomeOfTexts(calls, text);
      },
    },
  },
  {
    name: "anthropic, helper",
    package: "@anthropic-ai/sdk",
    quadratic: false,
    readsText: true,
    wires: {
      async anthropic(stream) {
        answer(stream);
        const { content } = await client.messages.stream(request).finalMessage();
        return outcome(
          content.flatMap((block) =>
            block.type === "tool_use" ? [{ id: block.id, name: block.name, input: block.input }] : [],
          ),
          content.map((block) => (block.type === "text" ? block.text : "")).join(""),
        );
      },
    },
  },
];
