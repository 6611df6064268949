import OpenAI from "openai";
import type { Peer } from "../peer.ts";
import { BASE_URL, localFetch, outcome, outcomeOfTexts, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const client = new OpenAI({ apiKey: "none", baseURL: BASE_URL, fetch });
const request = { model: "gpt-5.2", messages: [{ role: "user" as const, content: PROMPT }] };
const response = { model: "gpt-5.2", input: PROMPT };

export const peers: Peer[] = [
  {
    name: "openai, raw",
    package: "openai",
    quadratic: false,
    readsText: true,
    wires: {
      async "openai-chat"(stream) {
        answer(stream);
        const calls: { id: string; name: string; args: string }[] = [];
        let text = "";
        for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
          text += chunk.choices[0]?.delta.content ?? "";
          for (const { index, id, function: part } of chunk.choices[0]?.delta.tool_calls ?? []) {
            const call = (calls[index] ??= { id: "", name: "", args: "" });
            if (id) call.id = id;
            if (part?.name) call.name = part.name;
            if (part?.arguments) call.args += part.arguments;
          }
        }
        return outcomeOfTexts(calls, text);
      },
      async "openai-responses"(stream) {
        answer(stream);
        const calls: { id: string; name: string; args: string }[] = [];
        let text = "";
        for await (const event of await client.responses.create({ ...response, stream: true })) {
          if (event.type === "response.output_item.added" && event.item.type === "function_call") {
            calls[event.output_index] = { id: event.item.call_id, name: event.item.name, args: "" };
          } else if (event.type === "response.function_call_arguments.delta") {
            calls[event.output_index]!.args += event.delta;
          } else if (event.type === "response.output_text.delta") text += event.delta;
        }
        return outcomeOfTexts(calls, text);
      },
    },
  },
  {
    name: "openai, helper",
    package: "openai",
    quadratic: false,
    readsText: true,
    wires: {
      async "openai-chat"(stream) {
        answer(stream);
        const { choices } = await client.chat.completions.stream(request).finalChatCompletion();
        return outcome(
          (choices[0]?.message.tool_calls ?? []).flatMap((call) =>
            call.type === "function"
              ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) }]
              : [],
          ),
          choices[0]?.message.content ?? "",
        );
      },
      async "openai-responses"(stream) {
        answer(stream);
        const { output, output_text: text } = await client.responses.stream(response).finalResponse();
        return outcome(
          output.flatMap((item) =>
            item.type === "function_call"
              ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }]
              : [],
          ),
          text,
        );
      },
    },
  },
];
