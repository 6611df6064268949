/**
 * Synthetic streams in the true wire formats: the same turn, as each of the six wires has it. Seeded and
 * deterministic; `test/bench.test.ts` reads each of them back.
 */

export interface SyntheticCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as the model writes them. */
  readonly argsText: string;
}

export interface SyntheticTurn {
  readonly text?: string;
  readonly calls: readonly SyntheticCall[];
  /** Characters of text or arguments in one delta. Default 16. */
  readonly deltaLength?: number;
  /** Deltas of the calls alternate instead of following one another. Default false. */
  readonly interleaved?: boolean;
}

export type Wire = "openai-chat" | "openai-responses" | "anthropic" | "google" | "google-interactions" | "cohere";

/** The SSE frames of one turn; joined they are the body. */
export type Encode = (turn: SyntheticTurn) => string[];

export const wires: Record<Wire, Encode> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  google,
  "google-interactions": googleInteractions,
  cohere,
};

function openaiChat(turn: SyntheticTurn): string[] {
  const stamp = stampOf(turn);
  const chunk = (delta: object, finish: string | null = null) =>
    data({
      id: `chatcmpl-${stamp.id}`,
      object: "chat.completion.chunk",
      created: stamp.created,
      model: "gpt-5.2-2026-02-10",
      service_tier: "default",
      system_fingerprint: "fp_44709d6fcb",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage: null,
      obfuscation: padding(),
    });
  const padding = obfuscation();
  const args = (index: number, delta: string) => chunk({ tool_calls: [{ index, function: { arguments: delta } }] });
  return [
    chunk({ role: "assistant", content: null, refusal: null }),
    ...pieces(turn.text ?? "", turn).map((delta) => chunk({ content: delta })),
    ...sequence(turn, {
      begin: ({ id, name }, index) => [
        chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
      ],
      delta: (_call, index, delta) => [args(index, delta)],
      end: () => [],
    }),
    chunk({}, turn.calls.length > 0 ? "tool_calls" : "stop"),
    "data: [DONE]\n\n",
  ];
}

function openaiResponses(turn: SyntheticTurn): string[] {
  const stamp = stampOf(turn);
  let sequenceNumber = 0;
  const padding = obfuscation();
  const event = (type: string, fields: object) => named(type, { type, sequence_number: sequenceNumber++, ...fields });
  const response = (status: string, output: object[] = []) => ({
    id: `resp_${stamp.id}`,
    object: "response",
    created_at: stamp.created,
    status,
    model: "gpt-5.2",
    output,
  });
  const item = ({ id, name, argsText }: SyntheticCall, status: string) => ({
    id: `fc_${id}`,
    type: "function_call",
    status,
    arguments: status === "completed" ? argsText : "",
    call_id: id,
    name,
  });
  const part = { type: "output_text", annotations: [], logprobs: [], text: turn.text };
  const messages =
    turn.text === undefined
      ? []
      : [{ id: "msg_1", type: "message", status: "completed", content: [part], role: "assistant" }];
  const message = messages.length;
  return [
    event("response.created", { response: response("in_progress") }),
    event("response.in_progress", { response: response("in_progress") }),
    ...(message === 0
      ? []
      : [
          event("response.output_item.added", {
            output_index: 0,
            item: { id: "msg_1", type: "message", status: "in_progress", content: [], role: "assistant" },
          }),
          event("response.content_part.added", {
            item_id: "msg_1",
            output_index: 0,
            content_index: 0,
            part: { type: "output_text", annotations: [], logprobs: [], text: "" },
          }),
          ...pieces(turn.text!, turn).map((delta) =>
            event("response.output_text.delta", {
              item_id: "msg_1",
              output_index: 0,
              content_index: 0,
              delta,
              logprobs: [],
              obfuscation: padding(),
            }),
          ),
          event("response.output_text.done", {
            item_id: "msg_1",
            output_index: 0,
            content_index: 0,
            text: turn.text,
            logprobs: [],
          }),
          event("response.content_part.done", { item_id: "msg_1", output_index: 0, content_index: 0, part }),
          event("response.output_item.done", { output_index: 0, item: messages[0] }),
        ]),
    ...sequence(turn, {
      begin: (call, index) => [
        event("response.output_item.added", { output_index: index + message, item: item(call, "in_progress") }),
      ],
      delta: ({ id }, index, delta) => [
        event("response.function_call_arguments.delta", {
          item_id: `fc_${id}`,
          output_index: index + message,
          delta,
          obfuscation: padding(),
        }),
      ],
      end: (call, index) => [
        event("response.function_call_arguments.done", {
          item_id: `fc_${call.id}`,
          output_index: index + message,
          arguments: call.argsText,
        }),
        event("response.output_item.done", { output_index: index + message, item: item(call, "completed") }),
      ],
    }),
    event("response.completed", {
      response: {
        // All of it again.
        ...response("completed", [...messages, ...turn.calls.map((call) => item(call, "completed"))]),
        usage: { input_tokens: stamp.input, output_tokens: stamp.output, total_tokens: stamp.total },
      },
    }),
  ];
}

function anthropic(turn: SyntheticTurn): string[] {
  const stamp = stampOf(turn);
  const random = seeded(7);
  // Each event is padded with spaces, so that its length reveals nothing.
  const event = (type: string, fields: object) =>
    named(type, { type, ...fields }).replace(/\}\n\n$/, `${" ".repeat(random() * 16)}}\n\n`);
  const text = turn.text === undefined ? 0 : 1;
  return [
    event("message_start", {
      message: {
        id: `msg_${stamp.id}`,
        type: "message",
        role: "assistant",
        model: "claude-sonnet-4-5",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: stamp.input, output_tokens: 1 },
      },
    }),
    named("ping", { type: "ping" }),
    ...(text === 0
      ? []
      : [
          event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
          ...pieces(turn.text!, turn).map((delta) =>
            event("content_block_delta", { index: 0, delta: { type: "text_delta", text: delta } }),
          ),
          event("content_block_stop", { index: 0 }),
        ]),
    ...sequence(turn, {
      begin: ({ id, name }, index) => [
        event("content_block_start", { index: index + text, content_block: { type: "tool_use", id, name, input: {} } }),
      ],
      delta: (_call, index, delta) => [
        event("content_block_delta", { index: index + text, delta: { type: "input_json_delta", partial_json: delta } }),
      ],
      end: (_call, index) => [event("content_block_stop", { index: index + text })],
    }),
    event("message_delta", {
      delta: { stop_reason: turn.calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: stamp.output },
    }),
    event("message_stop", {}),
  ];
}

/** Calls come whole: Gemini streams no arguments unless asked to (Vertex). */
function google(turn: SyntheticTurn): string[] {
  const stamp = stampOf(turn);
  const chunk = (parts: object[], finishReason?: string) =>
    spaced({
      candidates: [
        { content: { parts, role: "model" }, ...(finishReason === undefined ? {} : { finishReason }), index: 0 },
      ],
      usageMetadata: {
        promptTokenCount: stamp.input,
        candidatesTokenCount: stamp.output,
        totalTokenCount: stamp.total,
      },
      modelVersion: "gemini-3-flash",
      responseId: stamp.id,
    });
  return [
    ...pieces(turn.text ?? "", turn).map((text) => chunk([{ text }])),
    ...turn.calls.map(({ id, name, argsText }) => chunk([{ functionCall: { id, name, args: JSON.parse(argsText) } }])),
    chunk([{ text: "" }], "STOP"),
  ];
}

function googleInteractions(turn: SyntheticTurn): string[] {
  const stamp = stampOf(turn);
  const event = (type: string, fields: object) => named(type, { ...fields, event_type: type });
  const interaction = { id: `v1_${stamp.id}`, object: "interaction", model: "gemini-3-flash" };
  const first = turn.text === undefined ? 0 : 1;
  return [
    event("interaction.created", { interaction: { ...interaction, status: "in_progress" } }),
    event("interaction.status_update", { interaction_id: interaction.id, status: "in_progress" }),
    ...(turn.text === undefined
      ? []
      : [
          event("step.start", { index: 0, step: { type: "model_output" } }),
          ...pieces(turn.text, turn).map((text) => event("step.delta", { index: 0, delta: { text, type: "text" } })),
          event("step.stop", { index: 0 }),
        ]),
    ...sequence(turn, {
      begin: ({ id, name }, index) => [
        event("step.start", { index: first + index, step: { id, type: "function_call", name, arguments: {} } }),
      ],
      delta: (_call, index, delta) => [
        event("step.delta", { index: first + index, delta: { arguments: delta, type: "arguments_delta" } }),
      ],
      end: (_call, index) => [event("step.stop", { index: first + index })],
    }),
    event("interaction.completed", {
      interaction: {
        ...interaction,
        status: turn.calls.length > 0 ? "requires_action" : "completed",
        usage: { total_tokens: stamp.total, total_input_tokens: stamp.input, total_output_tokens: stamp.output },
      },
    }),
    "event: done\ndata: [DONE]\n\n",
  ];
}

function cohere(turn: SyntheticTurn): string[] {
  const stamp = stampOf(turn);
  const event = (type: string, fields: object = {}) => named(type, { type, ...fields });
  const message = (fields: object) => ({ delta: { message: fields } });
  return [
    named("message-start", {
      id: stamp.id,
      type: "message-start",
      ...message({ role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] }),
    }),
    ...(turn.text === undefined
      ? []
      : [
          event("content-start", { index: 0, ...message({ content: { type: "text", text: "" } }) }),
          ...pieces(turn.text, turn).map((text) =>
            event("content-delta", { index: 0, ...message({ content: { text } }) }),
          ),
          event("content-end", { index: 0 }),
        ]),
    ...sequence(turn, {
      begin: ({ id, name }, index) => [
        event("tool-call-start", {
          index,
          ...message({ tool_calls: { id, type: "function", function: { name, arguments: "" } } }),
        }),
      ],
      delta: (_call, index, delta) => [
        event("tool-call-delta", { index, ...message({ tool_calls: { function: { arguments: delta } } }) }),
      ],
      end: (_call, index) => [event("tool-call-end", { index })],
    }),
    event("message-end", {
      delta: {
        finish_reason: turn.calls.length > 0 ? "TOOL_CALL" : "COMPLETE",
        usage: {
          billed_units: { input_tokens: stamp.input, output_tokens: stamp.output },
          tokens: { input_tokens: stamp.input, output_tokens: stamp.output },
        },
      },
    }),
    "data: [DONE]\n\n",
  ];
}

interface Steps {
  begin(call: SyntheticCall, index: number): string[];
  delta(call: SyntheticCall, index: number, delta: string): string[];
  end(call: SyntheticCall, index: number): string[];
}

/** The frames of the calls, one call after the other or in turns. */
function sequence(turn: SyntheticTurn, steps: Steps): string[] {
  const frames = turn.calls.map((call, index) => [
    ...steps.begin(call, index),
    ...pieces(call.argsText, turn).flatMap((delta) => steps.delta(call, index, delta)),
    ...steps.end(call, index),
  ]);
  if (turn.interleaved !== true) return frames.flat();
  const longest = Math.max(0, ...frames.map((list) => list.length));
  return Array.from({ length: longest }, (_, row) => frames.flatMap((list) => list.slice(row, row + 1))).flat();
}

function pieces(text: string, { deltaLength = 16 }: SyntheticTurn): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += deltaLength) found.push(text.slice(at, at + deltaLength));
  return found;
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** With a space after each colon, and the line endings of HTTP. */
function spaced(value: object): string {
  return `data: ${JSON.stringify(value, null, 1).replace(/\n */g, "")}\r\n\r\n`;
}

function named(event: string, value: object): string {
  return `event: ${event}\n${data(value)}`;
}

/** What differs in every response: id, time and counts. */
function stampOf({ calls, text }: SyntheticTurn) {
  let seed = 0;
  for (const char of calls[0]?.id ?? text ?? "") seed = (Math.imul(seed, 31) + char.charCodeAt(0)) >>> 0;
  const random = seeded(seed);
  const input = Math.floor(random() * 1e5);
  const output = Math.floor(random() * 1e4);
  const created = 1_763_700_000 + Math.floor(random() * 1e6);
  return { id: lettersOf(24, random), created, input, output, total: input + output };
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

function lettersOf(length: number, random: () => number): string {
  return Array.from({ length }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join("");
}

/** OpenAI pads every event with a random string, so that its length reveals nothing. */
function obfuscation(): () => string {
  const random = seeded(7);
  return () => lettersOf(1 + Math.floor(random() * 14), random);
}

/** Numbers in [0, 1) from a seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/** Text that looks like code: words, indents, quotes and line breaks, so that its JSON has escapes. */
export function codeLike(length: number, seed = 1): string {
  const random = seeded(seed);
  const words = [
    "const",
    "value",
    "=>",
    "return",
    '"text"',
    "{ id }",
    "for (const item of items)",
    "await",
    "// note",
    "\\d+",
    "é",
    "if (x)",
  ];
  let text = "";
  while (text.length < length) {
    text +=
      words[Math.floor(random() * words.length)]! +
      (random() < 0.15 ? `;\n${" ".repeat(2 * Math.floor(random() * 4))}` : " ");
  }
  return text.slice(0, length);
}
