/** What is measured: the floor and this library, each from the same bytes to the same calls. */
import { z } from "zod";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { googleInteractions } from "../adapters/google-interactions/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";
import { defineTool, type Adapter, type StreamSource, type Tool, type ToolCall } from "../src/index.ts";
import { inTurns, Stopwatch, timed } from "./feed.ts";
import { floor, parseEvents, parseInputs, textsOf, type Outcome } from "./floor.ts";
import { spread } from "./measure.ts";
import { responseOf } from "./response.ts";
import { loadSdk, RESPONSE_WIRES, type OpenSdk, type Requested } from "./sdks.ts";
import type { Wire } from "./wires.ts";
import { completingFrame, TOOL_NAME, TREE_TOOL_NAME, type Input, type Stream, type WorkloadName } from "./workloads.ts";

export interface Row {
  readonly name: string;
  /** @returns the result; `undefined` for a row that makes nothing of the events */
  run(wire: Wire, stream: Stream, use?: Use): Promise<Outcome | undefined>;
  /** Runs before it is timed: to make texts that only this row needs, or to load an SDK. */
  prepare?(wire: Wire, streams: readonly Stream[]): Promise<void>;
  /** Characters of arguments beyond which a run would take minutes. */
  readonly maxSize?: number;
  /** Where the row makes sense. Default: everywhere. */
  readonly workloads?: readonly WorkloadName[];
  readonly wires?: readonly Wire[];
}

/** How to use a call whose handler may start while the turn goes on. */
export interface Use {
  onStart(): void;
}

/** Changed by readers of the partial input, so that the reading cannot be optimised away. */
export const seen = { characters: 0 };

const notLatency: readonly WorkloadName[] = ["W1", "W2", "W3", "W4", "W5", "W6"];

/** Every other row is compared with the first. */
export const rows: readonly Row[] = [
  {
    name: "floor a",
    run: (wire, stream, use) => floor(wire, stream.open(), use && (() => use.onStart())),
  },
  floorB(),
  {
    name: "floor c",
    workloads: notLatency,
    async run(_wire, stream) {
      parseInputs(stream);
      return undefined;
    },
  },
  bytes("toolstream bytes", () => undefined),
  { ...bytes("toolstream bytes + length", () => lengthReader), workloads: ["W1", "W2", "W3", "W4"] },
  bytes("toolstream bytes + input", inputReader),
  // Quadratic with any library: see flatReader.
  { ...bytes("toolstream bytes + input, flat", () => flatReader), maxSize: 128 * 1024, workloads: ["W2"] },
  bytes("toolstream bytes + changes", () => changesReader),
  {
    name: "sdk raw",
    maxSize: 1024 * 1024,
    prepare: prepareSdk,
    async run(wire, stream, use) {
      const last = use === undefined ? -1 : completingFrame(wire, stream);
      let at = 0;
      for await (const event of await openSdk(wire, stream)) {
        if (event === undefined) throw new Error("an event is missing");
        if (at++ === last) use?.onStart();
      }
      return undefined;
    },
  },
  sdk("toolstream sdk", () => undefined),
  sdk("toolstream sdk + input", inputReader),
  sdk("toolstream sdk + changes", () => changesReader),
  sdkResponse("toolstream sdk response", () => undefined),
  sdkResponse("toolstream sdk response + input", inputReader),
];

/** Peers are given a `Response`: these rows show what that costs without any work, and this library reading one. */
export const responseRows: readonly Row[] = [
  {
    name: "response raw",
    async run(_wire, stream) {
      for await (const chunk of responseOf(stream).body!) if (chunk.length === 0) throw new Error("a chunk is empty");
      return undefined;
    },
  },
  {
    name: "toolstream response + input",
    run: (wire, stream) => read(wire, responseOf(stream), inputReader()),
  },
];

/** Whether a row makes sense for this workload and wire. */
export function isFor({ workloads, wires }: Row, workload: WorkloadName, wire: Wire): boolean {
  return (workloads?.includes(workload) ?? true) && (wires?.includes(wire) ?? true);
}

/** The rows whose growth is shown. */
export const growing: readonly string[] = [
  "floor a",
  "toolstream bytes",
  "toolstream bytes + input",
  "toolstream bytes + changes",
];

/** Reads the whole input once, in the mode of its workload. @returns milliseconds */
export async function runAll(row: Pick<Row, "run">, { wire, workload, streams }: Input): Promise<number> {
  if (workload.mode === "first handler") {
    const latencies: number[] = [];
    for (const stream of streams) {
      const watch = new Stopwatch();
      await row.run(wire, timed(wire, stream, watch), { onStart: () => watch.stop() });
      latencies.push(watch.milliseconds);
    }
    // The median of one call, times their number: a garbage collection during one call is not part of its cost.
    return spread(latencies).median * streams.length;
  }
  const start = performance.now();
  if (workload.mode === "at once") await Promise.all(inTurns(streams).map((stream) => row.run(wire, stream)));
  else for (const stream of streams) await row.run(wire, stream);
  return performance.now() - start;
}

function bytes(name: string, look: () => Look | undefined): Row {
  return { name, run: (wire, stream, use) => read(wire, stream.open(), look(), use) };
}

function sdk(name: string, look: () => Look | undefined): Row {
  return {
    name,
    maxSize: 1024 * 1024,
    prepare: prepareSdk,
    run: async (wire, stream, use) => read(wire, await openSdk(wire, stream), look(), use),
  };
}

/** The same client and request, read from its `Response` instead of its events. */
function sdkResponse(name: string, look: () => Look | undefined): Row {
  return {
    ...sdk(name, look),
    wires: RESPONSE_WIRES,
    run: async (wire, stream, use) => read(wire, await openSdk(wire, stream).asResponse!(), look(), use),
  };
}

const sdks = new Map<Wire, OpenSdk>();

async function prepareSdk(wire: Wire): Promise<void> {
  if (!sdks.has(wire)) sdks.set(wire, await loadSdk(wire));
}

function openSdk(wire: Wire, stream: Stream): Requested {
  const open = sdks.get(wire);
  if (open === undefined) throw new TypeError("prepare() comes first");
  return open(stream);
}

function floorB(): Row {
  /** Keyed by the chunks, since a stream with another source is another object. */
  const texts = new WeakMap<Stream["chunks"], readonly string[]>();
  return {
    name: "floor b",
    maxSize: 1024 * 1024,
    workloads: notLatency,
    async prepare(_wire, streams) {
      for (const stream of streams) texts.set(stream.chunks, textsOf(stream));
    },
    async run(_wire, stream) {
      parseEvents(texts.get(stream.chunks)!);
      return undefined;
    },
  };
}

const adapters: Record<Wire, Adapter> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  google,
  "google-interactions": googleInteractions,
  cohere,
};

export function adapterOf(wire: Wire): Adapter {
  return adapters[wire];
}

/** Set while a call may be executed. */
let started: (() => void) | undefined;

export const tools: readonly Tool[] = [
  defineTool({
    name: TOOL_NAME,
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    effect: "read",
    execute({ path }) {
      started?.();
      return path;
    },
  }),
  defineTool({
    name: TREE_TOOL_NAME,
    inputSchema: z.record(z.string(), z.unknown()),
    effect: "read",
    execute: () => null,
  }),
];

type Look = (call: ToolCall) => void;

/** Reads as the README shows it: every event, the calls as they are released. */
async function read(wire: Wire, source: StreamSource<unknown>, look: Look | undefined, use?: Use): Promise<Outcome> {
  const stream = adapters[wire].read(source, { tools });
  const calls: { id: string | null; name: string; input: unknown }[] = [];
  const executed: Promise<unknown>[] = [];
  started = use && (() => use.onStart());
  for await (const event of stream) {
    switch (event.type) {
      case "tool-input-delta":
        look?.(event.call);
        break;
      case "tool-use":
        // Calls that stream side by side are released as they end.
        calls[event.use.position] = { id: event.use.id, name: event.use.name, input: event.use.input };
        if (use !== undefined) executed.push(event.use.execute());
        break;
      case "tool-error":
      case "error":
        throw event.error;
    }
  }
  if (use !== undefined) await Promise.all(executed);
  return { text: stream.turn.text, calls };
}

/** Strings below this are touched at every delta, which flattens them with any library: see the row `+ length`. */
const SMALL = 4096;

/**
 * Reads the partial input at every delta, and the length of its growing field. The last 16 characters are touched, too,
 * but past 4 KiB only each time the field has grown by an eighth: V8 flattens a concatenated string when a character of
 * it is touched, which copies all of it, with any library.
 */
function inputReader(): Look {
  const next = new Map<ToolCall, number>();
  return (call) => {
    const { input } = call;
    const content = contentOf(input);
    if (content === undefined) {
      if (input !== undefined) seen.characters++;
      return;
    }
    seen.characters += content.length;
    if (content.length < SMALL || content.length >= (next.get(call) ?? 0)) {
      seen.characters += content.slice(-16).length;
      if (content.length >= SMALL) next.set(call, content.length * 1.125);
    }
  };
}

/** Reads the partial input at every delta, and the length of its growing field: this library's share of the cost. */
function lengthReader(call: ToolCall): void {
  seen.characters += contentOf(call.input)?.length ?? 0;
}

/** Touches the last 16 characters at every delta, to show in the docs what that costs. */
function flatReader(call: ToolCall): void {
  seen.characters += contentOf(call.input)?.slice(-16).length ?? 0;
}

/** Reads what an editor that appends would use. */
function changesReader(call: ToolCall): void {
  for (const change of call.changes()) {
    if ("append" in change) seen.characters += change.append.slice(-16).length;
    else if ("value" in change) seen.characters += typeof change.value === "string" ? change.value.length : 1;
  }
}

function contentOf(input: unknown): string | undefined {
  const content = (input as { content?: unknown } | undefined)?.content;
  return typeof content === "string" ? content : undefined;
}
