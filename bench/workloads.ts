import { codeLike, wires, type SyntheticTurn, type Wire } from "./wires.ts";

/** How the bytes of a body are cut into network chunks: one event each, or 16 KiB each. */
export type Packing = "event" | "16k";

/** One response of a provider, as it comes from the network and as an SDK would hand it out. */
export interface Stream {
  readonly turn: SyntheticTurn;
  readonly chunks: readonly Uint8Array[];
  /** The parsed events, made when first asked for: they take far more memory than the bytes. */
  readonly events: readonly unknown[];
}

/** The streams that a row reads in one run, one after the other. */
export interface Input {
  readonly wire: Wire;
  readonly streams: readonly Stream[];
}

export interface Workload {
  readonly name: string;
  readonly title: string;
  /** Characters in one delta. */
  readonly deltaLength: number;
}

export const workloads = {
  W1: { name: "W1", title: "small calls: 200 B of arguments, 4 characters a delta", deltaLength: 4 },
  W2: { name: "W2", title: "one long argument, 16 characters a delta", deltaLength: 16 },
} as const satisfies Record<string, Workload>;

export const WIRES = Object.keys(wires) as Wire[];

/** Wires that send arguments in pieces. */
export const STREAMING_WIRES = WIRES.filter((wire) => wire !== "google");

export const TOOL_NAME = "write_file";

/** `count` streams with one call of `size` characters of arguments each, every one another text. */
export function makeInput(wire: Wire, workload: Workload, size: number, count: number, packing: Packing): Input {
  return {
    wire,
    streams: Array.from({ length: count }, (_, seed) => makeStream(wire, makeTurn(workload, size, seed), packing)),
  };
}

export function makeTurn({ deltaLength }: Pick<Workload, "deltaLength">, size: number, seed: number): SyntheticTurn {
  return { calls: [{ id: callId(seed), name: TOOL_NAME, argsText: argsOf(size, seed) }], deltaLength };
}

export function makeStream(wire: Wire, turn: SyntheticTurn, packing: Packing): Stream {
  const frames = wires[wire](turn);
  let events: unknown[] | undefined;
  return {
    turn,
    chunks: pack(frames, packing),
    get events() {
      return (events ??= wires[wire](turn).flatMap(eventOf));
    },
  };
}

/** The arguments `{ path, content }` as JSON text of exactly this length; the content looks like code. */
export function argsOf(length: number, seed = 1): string {
  const head = '{"path":"src/index.ts","content":"';
  const room = length - head.length - 2;
  if (room < 0) throw new RangeError(`arguments have at least ${head.length + 2} characters, not ${length}`);
  const escaped = JSON.stringify(codeLike(room, seed + 1)).slice(1, -1);
  const parts: string[] = [];
  let taken = 0;
  // Not in the middle of an escape, of which all are of two characters here.
  for (const [piece] of escaped.matchAll(/\\.|[^\\]+/g)) {
    const isEscape = piece.startsWith("\\");
    if (isEscape && taken + 2 > room) break;
    parts.push(isEscape ? piece : piece.slice(0, room - taken));
    taken += parts.at(-1)!.length;
    if (taken === room) break;
  }
  return `${head}${parts.join("")}${"x".repeat(room - taken)}"}`;
}

function callId(seed: number): string {
  return `call_${(seed + 1).toString(36).padStart(24, "0")}`;
}

function eventOf(frame: string): unknown[] {
  const data = frame.slice(frame.indexOf("data: ") + 6).trimEnd();
  return data === "[DONE]" ? [] : [JSON.parse(data)];
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
