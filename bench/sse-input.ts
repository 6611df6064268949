/** Seeded bodies of event streams for sse.bench.ts, as lists of events in wire form. */

import { seeded } from "./wires.ts";

const random = seeded(7);
const word = (): string => Math.floor(random() * 36 ** 4).toString(36);

function chat(delta: string): string {
  const chunk = {
    id: "chatcmpl-BG7OTM3ub2HDuZ1PCj137Me5EGRPt",
    object: "chat.completion.chunk",
    created: 1743693653,
    model: "gpt-5-2025-08-07",
    system_fingerprint: "fp_898ac29719",
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: delta } }] }, finish_reason: null }],
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function block(delta: string): string {
  const event = { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: delta } };
  return `event: content_block_delta\ndata: ${JSON.stringify(event).slice(0, -1)}${" ".repeat(1 + Math.floor(random() * 12))}}\n\n`;
}

const list = (length: number, event: (delta: string) => string, delta = word): string[] =>
  Array.from({ length }, () => event(delta()));

export const events: Record<string, string[]> = {
  "chat, 250 B events": list(4000, chat),
  "chat, not Latin-1": list(4000, chat, () => `${word()}→😀`),
  "blocks with event names": list(4000, block),
  CRLF: list(4000, (delta) => chat(delta).replaceAll("\n", "\r\n")),
  "20 B events": list(20_000, (delta) => `data: {"d":"${delta}"}\n\n`),
  "64 KiB events": list(20, chat, () => `${word()} `.repeat(12_000)),
};

/** One event per network chunk, 16 KiB per chunk, 64 bytes per chunk. */
export function packings(body: readonly string[]): Record<string, Uint8Array[]> {
  const encoder = new TextEncoder();
  const whole = encoder.encode(body.join(""));
  const pieces = (size: number): Uint8Array[] =>
    Array.from({ length: Math.ceil(whole.length / size) }, (_, i) => whole.slice(i * size, (i + 1) * size));
  return {
    "an event a chunk": body.map((event) => encoder.encode(event)),
    "16 KiB chunks": pieces(16384),
    "64 B chunks": pieces(64),
  };
}
