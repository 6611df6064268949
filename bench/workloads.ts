import { codeLike, seeded, wires, type SyntheticTurn, type Wire } from "./wires.ts";

/** How the bytes of a body are cut into network chunks: one event or 16 KiB each. */
export type Packing = "event" | "16k";

/** A provider's response, as it comes from the network. */
export interface Stream {
  readonly turn: SyntheticTurn;
  /** One event each. */
  readonly frames: readonly string[];
  readonly chunks: readonly Uint8Array[];
  /** The chunks, once, from the leanest possible source: its cost is part of every row, including the floor's. */
  open(): AsyncIterable<Uint8Array>;
  /** Whether all chunks may wait in a buffer. Otherwise their timing matters, and only `open()` gives them. */
  readonly isReady: boolean;
}

/** The streams that a row reads in one run. */
export interface Input {
  readonly wire: Wire;
  readonly workload: Workload;
  readonly streams: readonly Stream[];
}

export type WorkloadName = "W1" | "W2" | "W3" | "W4" | "W5" | "W6" | "W7";

export interface Workload {
  readonly name: WorkloadName;
  readonly title: string;
  /** Characters of the arguments of one call, or of the text (W6: fields), unless a cell has sizes of its own. */
  readonly size: number;
  /** How many streams the shown time is for. A run may read another number; its time is scaled. */
  readonly unit: number;
  /** How a run reads its streams: one after the other, all open at once, or each up to the start of its first handler. */
  readonly mode: "in turn" | "at once" | "first handler";
  turn(size: number, seed: number): SyntheticTurn;
}

export const TOOL_NAME = "write_file";

/** Accepts any object: for arguments without a fixed form. */
export const TREE_TOOL_NAME = "save_tree";

const KIB = 1024;

export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  W1: {
    name: "W1",
    title: "1,000 streams with a call of 200 B, 4 characters a delta",
    size: 200,
    unit: 1000,
    mode: "in turn",
    turn: (size, seed) => ({ calls: [callOf(size, seed)], deltaLength: 4 }),
  },
  W2: {
    name: "W2",
    title: "one call with a long argument, 16 characters a delta",
    size: 64 * KIB,
    unit: 1,
    mode: "in turn",
    turn: (size, seed) => ({ calls: [callOf(size, seed)], deltaLength: 16 }),
  },
  W3: {
    name: "W3",
    title: "32 interleaved calls, 16 characters a delta",
    size: 2 * KIB,
    unit: 1,
    mode: "in turn",
    turn: (size, seed) => ({
      calls: Array.from({ length: 32 }, (_, index) => callOf(size, 32 * seed + index)),
      deltaLength: 16,
      interleaved: true,
    }),
  },
  W4: {
    name: "W4",
    title: "1,000 streams open at once, fed in turns, a call each, 16 characters a delta",
    size: 2 * KIB,
    unit: 1000,
    mode: "at once",
    turn: (size, seed) => ({ calls: [callOf(size, seed)], deltaLength: 16 }),
  },
  W5: {
    name: "W5",
    title: "text only, 4 characters a delta",
    size: 16 * KIB,
    unit: 1,
    mode: "in turn",
    turn: (size, seed) => ({ text: codeLike(size, seed + 1), calls: [], deltaLength: 4 }),
  },
  W6: {
    name: "W6",
    title: "one call with many small fields, deep and wide, 16 characters a delta",
    size: 10_000,
    unit: 1,
    mode: "in turn",
    turn: (fields, seed) => ({
      calls: [{ id: callId(seed), name: TREE_TOOL_NAME, argsText: treeOf(fields, seed) }],
      deltaLength: 16,
    }),
  },
  W7: {
    name: "W7",
    title: "from the event that completes a read tool's call to its handler's start, while a call of 1 KiB follows",
    size: 200,
    unit: 1,
    mode: "first handler",
    turn: (size, seed) => ({ calls: [callOf(size, 2 * seed), callOf(KIB, 2 * seed + 1)], deltaLength: 4 }),
  },
};

export const WIRES = Object.keys(wires) as Wire[];

/** Wires that send arguments in pieces. */
export const STREAMING_WIRES = WIRES.filter((wire) => wire !== "google");

/** `count` streams, each with different texts. */
export function makeInput(wire: Wire, workload: Workload, size: number, count: number, packing: Packing): Input {
  const streams = Array.from({ length: count }, (_, seed) => makeStream(wire, workload.turn(size, seed), packing));
  return { wire, workload, streams };
}

export function makeStream(wire: Wire, turn: SyntheticTurn, packing: Packing): Stream {
  const chunks = pack(wires[wire](turn), packing);
  return {
    turn,
    // Created on demand: they take far more memory than the bytes.
    get frames() {
      return wires[wire](turn);
    },
    chunks,
    open: () => each(chunks),
    isReady: true,
  };
}

/**
 * The event that completes the first call: it ends the call, or begins the next one. On most wires it is the one after
 * the last delta. In OpenAI Responses that one ends only the arguments, and the next says whether the call is complete;
 * Google's calls come whole.
 *
 * @returns its index
 */
export function completingFrame(wire: Wire, { frames, turn }: Stream): number {
  const { argsText } = turn.calls[0]!;
  if (wire === "google") return frames.findIndex((frame) => frame.includes('"functionCall"'));
  const deltas = Math.ceil(argsText.length / turn.deltaLength!);
  const first = frames.findIndex((frame) => frame.includes(JSON.stringify(argsText.slice(0, turn.deltaLength))));
  return first + deltas + (wire === "openai-responses" ? 1 : 0);
}

export function each<T>(items: readonly T[]): AsyncIterable<T> {
  let at = 0;
  const next = (): Promise<IteratorResult<T>> =>
    Promise.resolve(at < items.length ? { value: items[at++]!, done: false } : { value: undefined, done: true });
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/** The text of an event's `data:` line; none for `[DONE]`. */
export function dataOf(frame: string): string[] {
  const data = frame.slice(frame.indexOf("data: ") + 6).trimEnd();
  return data === "[DONE]" ? [] : [data];
}

/** The arguments `{ path, content }` as JSON text of exactly this length; the content looks like code. */
export function argsOf(length: number, seed = 1): string {
  const head = '{"path":"src/index.ts","content":"';
  const room = length - head.length - 2;
  if (room < 0) throw new RangeError(`arguments have at least ${head.length + 2} characters, not ${length}`);
  const escaped = JSON.stringify(codeLike(room, seed + 1)).slice(1, -1);
  const parts: string[] = [];
  let taken = 0;
  // Not in the middle of an escape; all escapes have two characters here.
  for (const [piece] of escaped.matchAll(/\\.|[^\\]+/g)) {
    const isEscape = piece.startsWith("\\");
    if (isEscape && taken + 2 > room) break;
    parts.push(isEscape ? piece : piece.slice(0, room - taken));
    taken += parts.at(-1)!.length;
    if (taken === room) break;
  }
  return `${head}${parts.join("")}${"x".repeat(room - taken)}"}`;
}

/**
 * An object with this many small fields: a quarter of them in one wide object, the others along branches that go
 * 40 deep.
 */
export function treeOf(fields: number, seed = 1): string {
  const random = seeded(seed + 1);
  const leaf = (): unknown => {
    const kind = Math.floor(random() * 5);
    if (kind === 0) return Math.floor(random() * 1e6);
    if (kind === 1) return Math.floor(random() * 1e6) / 1000;
    if (kind === 2) return random() < 0.5;
    return kind === 3 ? null : codeLike(4 + Math.floor(random() * 16), Math.floor(random() * 1e9));
  };
  const wide: Record<string, unknown> = {};
  let left = fields;
  for (; left > (3 * fields) / 4; left--) wide[`field_${left}`] = leaf();
  const branches: unknown[] = [];
  while (left > 0) {
    const root: Record<string, unknown> = {};
    for (let depth = 0, at = root; depth < 40 && left > 0; depth += 2) {
      for (let count = 0; count < 4 && left > 0; count++, left--) at[`field_${count}`] = leaf();
      const next = {};
      at["list"] = [next];
      at = next;
    }
    branches.push(root);
  }
  return JSON.stringify({ wide, branches });
}

function callOf(size: number, seed: number) {
  return { id: callId(seed), name: TOOL_NAME, argsText: argsOf(size, seed) };
}

function callId(seed: number): string {
  return `call_${(seed + 1).toString(36).padStart(24, "0")}`;
}

/** Views of one buffer, as a socket gives them. */
function pack(frames: readonly string[], packing: Packing): Uint8Array[] {
  const lengths = frames.map((frame) => Buffer.byteLength(frame));
  const bytes = Buffer.alloc(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const frame of frames) at += bytes.write(frame, at);
  const chunks: Uint8Array[] = [];
  const cut = (from: number, to: number) =>
    chunks.push(new Uint8Array(bytes.buffer, bytes.byteOffset + from, to - from));
  if (packing === "16k") {
    for (let from = 0; from < bytes.length; from += 16_384) cut(from, Math.min(from + 16_384, bytes.length));
  } else {
    let from = 0;
    for (const length of lengths) cut(from, (from += length));
  }
  return chunks;
}
