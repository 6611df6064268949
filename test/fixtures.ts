import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Adapter, StreamEvent, Tool, ToolUse } from "../src/index.ts";
import { defineTool, jsonSchema } from "../src/index.ts";
import type { TurnSummary } from "../src/testing/index.ts";
import { iterate } from "./iterate.ts";

export const fixturesDir = resolve(import.meta.dirname, "../fixtures");

export interface Fixture {
  readonly name: string;
  readonly dir: string;
  readonly bytes: Uint8Array;
  /** Whether the body is one response that was not streamed. */
  readonly isWhole: boolean;
  readonly expected: TurnSummary;
  readonly tools: readonly Tool[] | undefined;
}

interface ToolFile {
  readonly name: string;
  readonly description: string;
  readonly effect: "read" | "write";
  readonly parameters: Record<string, unknown>;
}

/** The tools that the fixtures' models were offered. */
export const sharedTools: readonly Tool[] = (
  JSON.parse(readFileSync(join(fixturesDir, "tools.json"), "utf8")) as ToolFile[]
).map(({ name, description, effect, parameters }) =>
  defineTool({
    name,
    description,
    effect,
    inputSchema: jsonSchema(parameters),
    execute: (input) => ({ tool: name, input }),
  }),
);

export function loadFixture(wire: string, name: string): Fixture {
  const dir = join(fixturesDir, wire, name);
  const file = readdirSync(dir).find((entry) => /^stream\.(sse|ndjson|json)$/.test(entry));
  if (file === undefined) throw new Error(`${dir} has no stream.sse, stream.ndjson or stream.json`);
  const meta = JSON.parse(readFileSync(join(dir, "meta.json"), "utf8")) as { tools: "shared" | null };
  return {
    name,
    dir,
    bytes: new Uint8Array(readFileSync(join(dir, file))),
    isWhole: file === "stream.json",
    expected: JSON.parse(readFileSync(join(dir, "expected.json"), "utf8")) as TurnSummary,
    tools: meta.tools === "shared" ? sharedTools : undefined,
  };
}

export function fixtureNames(wire: string): string[] {
  const dir = join(fixturesDir, wire);
  return existsSync(dir) ? readdirSync(dir).toSorted() : [];
}

/** Reads bytes in pieces, and gives the events. */
export async function readPieces(adapter: Adapter, pieces: readonly Uint8Array[], tools: readonly Tool[] | undefined) {
  const stream = adapter.read(iterate(pieces), { tools, runId: "run" });
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, turn: stream.turn };
}

/** What an event says, without live objects: to compare two readings of one stream. */
export function plainEvent(event: StreamEvent): unknown {
  switch (event.type) {
    case "tool-input-start":
      return { type: event.type, call: event.call.invocationId };
    case "tool-input-delta":
      return { type: event.type, call: event.call.invocationId, delta: event.delta };
    case "tool-use":
      return { type: event.type, ...plainUse(event.use) };
    case "tool-error":
      return { type: event.type, code: event.error.code, message: event.error.message, call: event.error.call };
    case "finish":
      return { type: event.type, reason: event.reason, providerReason: event.providerReason, message: event.message };
    case "error":
      return { type: event.type, code: event.error.code, message: event.error.message };
    default:
      return event;
  }
}

export function plainUse(use: ToolUse): Record<string, unknown> {
  const { invocationId, id, name, input, argsText, repairs, metadata } = use;
  return { invocationId, id, name, input, argsText, repairs, metadata };
}

/** Bodies up to this size are cut at every byte, larger ones at so many seeded places. */
const EVERY_BYTE_UP_TO = 16 * 1024;
const SEEDED_PLACES = 1000;

/** Where to cut a body of this length. */
export function places(length: number, random: () => number): number[] {
  if (length <= EVERY_BYTE_UP_TO) return Array.from({ length: length + 1 }, (_, at) => at);
  return Array.from({ length: SEEDED_PLACES }, () => Math.floor(random() * (length + 1)));
}

/** Splits a body at every place: its first piece has each length below `size`, those behind it have `size`. */
export function* splits<Whole extends Uint8Array | string>(whole: Whole, size: number): Generator<Whole[]> {
  for (let first = 0; first < size && first <= whole.length; first++) yield piecesOf(whole, first, size);
}

/** The first piece, which may be empty, and then pieces of one size. */
function piecesOf<Whole extends Uint8Array | string>(whole: Whole, first: number, size: number): Whole[] {
  const pieces = [whole.slice(0, first)];
  for (let at = first; at < whole.length; at += size) pieces.push(whole.slice(at, at + size));
  return pieces as Whole[];
}
