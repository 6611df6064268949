/** A turn of a model, whatever the provider. */
export interface NeutralTurn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  /** What the server does once it has sent the event with this text. Default: it goes on to the end. */
  readonly cut?: { readonly after: string; readonly how: "reset" | "stall" };
}

/** The body of a stream in which a provider says this turn, by the name of the wire. */
export const encoders: Readonly<Record<string, (turn: NeutralTurn) => Uint8Array>> = {
  "openai-chat"({ reasoning, text, calls = [] }) {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1790000000,
      model: "m",
      choices: [{ index: 0, delta, finish_reason }],
    });
    return sse([
      chunk({ role: "assistant", content: "" }),
      ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
      ...(text === undefined ? [] : [chunk({ content: text })]),
      ...calls.flatMap(({ id, name, args }, index) => [
        chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
        chunk({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }),
      ]),
      chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
      "[DONE]",
    ]);
  },

  "openai-responses"({ reasoning, text, calls = [] }) {
    const output: object[] = [];
    const events: object[] = [];
    const add = (item: object, ...between: object[]) => {
      const output_index = output.length;
      const begun = between.length === 0 ? item : { ...item, status: "in_progress", content: [] };
      events.push({ type: "response.output_item.added", output_index, item: begun });
      events.push(...between.map((event) => ({ output_index, ...event })));
      events.push({ type: "response.output_item.done", output_index, item });
      output.push(item);
    };
    if (reasoning !== undefined) {
      const summary = [{ type: "summary_text", text: reasoning }];
      add({ id: "rs_1", type: "reasoning", summary, encrypted_content: "ZW5jcnlwdGVk" });
    }
    if (text !== undefined) {
      const content = [{ type: "output_text", text, annotations: [] }];
      const delta = { type: "response.output_text.delta", item_id: "msg_1", content_index: 0, delta: text };
      add({ id: "msg_1", type: "message", role: "assistant", status: "completed", content }, delta);
    }
    for (const [at, { id, name, args }] of calls.entries()) {
      const written = JSON.stringify(args);
      add({ id: `fc_${at}`, type: "function_call", call_id: id, name, arguments: written, status: "completed" });
    }
    const response = { id: "resp_1", object: "response", model: "m" };
    return sse([
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      ...events,
      { type: "response.completed", response: { ...response, status: "completed", output } },
    ]);
  },

  anthropic({ reasoning, text, calls = [] }) {
    const usage = { input_tokens: 10, output_tokens: 5 };
    let index = 0;
    const block = (content_block: object, ...deltas: object[]) => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index: index++ },
    ];
    const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage };
    return sse([
      { type: "message_start", message },
      ...(reasoning === undefined
        ? []
        : block(
            { type: "thinking", thinking: "", signature: "" },
            { type: "thinking_delta", thinking: reasoning },
            { type: "signature_delta", signature: "c2lnbmVk" },
          )),
      ...(text === undefined ? [] : block({ type: "text", text: "" }, { type: "text_delta", text })),
      ...calls.flatMap(({ id, name, args }) =>
        block(
          { type: "tool_use", id, name, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(args) },
        ),
      ),
      { type: "message_delta", delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn" }, usage },
      { type: "message_stop" },
    ]);
  },

  google({ reasoning, text, calls = [] }) {
    const chunk = (part: object, more: object = {}) => ({
      candidates: [{ content: { parts: [part], role: "model" }, index: 0, ...more }],
      modelVersion: "m",
    });
    const parts = [
      ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
      ...(text === undefined ? [] : [{ text }]),
      ...calls.map(({ name, args }, at) => ({
        functionCall: { name, args },
        ...(at === 0 && { thoughtSignature: "c2lnbmVk" }),
      })),
    ];
    return sse(parts.map((part, at) => chunk(part, at === parts.length - 1 ? { finishReason: "STOP" } : {})));
  },

  "google-interactions"({ reasoning, text, calls = [] }) {
    const interaction = { id: "v1_1", object: "interaction", model: "m" };
    const steps: [step: object, ...deltas: object[]][] = [
      ...(reasoning === undefined
        ? []
        : [
            [
              { type: "thought" },
              { type: "thought_summary", content: { type: "text", text: reasoning } },
              { type: "thought_signature", signature: "c2lnbmVk" },
            ] satisfies [object, ...object[]],
          ]),
      ...(text === undefined ? [] : [[{ type: "model_output" }, { type: "text", text }] satisfies [object, object]]),
      ...calls.map(({ id, name, args }): [object, object] => [
        { type: "function_call", id, name, arguments: {} },
        { type: "arguments_delta", arguments: JSON.stringify(args) },
      ]),
    ];
    return sse([
      { event_type: "interaction.created", interaction: { ...interaction, status: "in_progress" } },
      ...steps.flatMap(([step, ...deltas], index) => [
        { event_type: "step.start", index, step },
        ...deltas.map((delta) => ({ event_type: "step.delta", index, delta })),
        { event_type: "step.stop", index },
      ]),
      {
        event_type: "interaction.completed",
        interaction: { ...interaction, status: calls.length > 0 ? "requires_action" : "completed" },
      },
      "[DONE]",
    ]);
  },

  cohere({ reasoning, text, calls = [] }) {
    const content = (index: number, type: "thinking" | "text", value: string) => [
      { type: "content-start", index, delta: { message: { content: { type, [type]: "" } } } },
      { type: "content-delta", index, delta: { message: { content: { [type]: value } } } },
      { type: "content-end", index },
    ];
    const message = { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] };
    return sse([
      { id: "1", type: "message-start", delta: { message } },
      ...(reasoning === undefined ? [] : content(0, "thinking", reasoning)),
      ...(text === undefined ? [] : content(reasoning === undefined ? 0 : 1, "text", text)),
      ...calls.flatMap(({ id, name, args }, index) => [
        {
          type: "tool-call-start",
          index,
          delta: { message: { tool_calls: { id, type: "function", function: { name, arguments: "" } } } },
        },
        {
          type: "tool-call-delta",
          index,
          delta: { message: { tool_calls: { function: { arguments: JSON.stringify(args) } } } },
        },
        { type: "tool-call-end", index },
      ]),
      { type: "message-end", delta: { finish_reason: calls.length > 0 ? "TOOL_CALL" : "COMPLETE" } },
    ]);
  },
};

function sse(events: readonly (object | string)[]): Uint8Array {
  const text = events.map((event) => {
    if (typeof event === "string") return `data: ${event}\n\n`;
    const { type } = event as { type?: string };
    return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
  });
  return new TextEncoder().encode(text.join(""));
}
