import type { StreamEvent, Tool, Turn } from "../../src/index.ts";
import type { TextAdapter } from "../../src/text/adapter.ts";
import type { TextEvent } from "../../src/text/events.ts";
import type { Notation } from "../../src/text/notation.ts";
import { resolveLimits } from "../../src/stream/limits.ts";
import type { ToolChunk } from "../../src/stream/chunk.ts";
import { createScanner } from "../../src/text/scanner.ts";
import { createWriter } from "../../src/text/writer.ts";
import { createDecoder } from "../../src/wire/index.ts";
import { plainEvent, type Fixture } from "../fixtures.ts";
import { iterate } from "../iterate.ts";

/** Reads a text in these pieces. */
export async function readText(adapter: TextAdapter, pieces: readonly TextEvent[], tools?: readonly Tool[]) {
  const stream = adapter.read(iterate(pieces), { tools, runId: "run" });
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, turn: stream.turn };
}

/** What a reading says, whatever the pieces in which it said it. */
export function said({ events, turn }: { events: readonly StreamEvent[]; turn: Turn }): string {
  const told = events.filter(({ type }) => !type.endsWith("-delta"));
  const calls = turn.calls.map(({ name, argsText }) => ({ name, argsText }));
  return JSON.stringify({ text: turn.text, reasoning: turn.reasoning, calls, told: told.map(plainEvent) });
}

/** The text of a fixture. */
export function textOf({ bytes }: Fixture): string {
  let text = "";
  const decoder = createDecoder({
    onEvent(event) {
      const { delta, text: whole, type } = event as { delta?: string; text?: string; type?: string };
      if (type === undefined || type === "text-delta") text += delta ?? whole ?? "";
    },
    onError(error) {
      throw error;
    },
  });
  decoder.feed(bytes);
  decoder.end();
  return text;
}

/** A scanner by itself: what it has said so far. */
export function scannerOf(notations: readonly Notation[]) {
  const heard = { text: "", chunks: [] as ToolChunk[] };
  const writer = createWriter({
    text: (delta) => (heard.text += delta),
    reasoning: () => {},
    tool: (chunk) => heard.chunks.push(chunk),
  });
  const knowledge = { tool: () => undefined, limits: resolveLimits(undefined), variables: {} };
  return { scanner: createScanner(notations, writer, knowledge), heard };
}
