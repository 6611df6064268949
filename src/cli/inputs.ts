import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Adapter } from "../adapter.ts";
import { ToolError } from "../errors.ts";
import { isDirectory } from "../replay/files.ts";
import { loadRecording, replay, type Recording } from "../replay/index.ts";
import { paced } from "./paced.ts";
import { createLook, recognise, recordedAdapterNamed } from "./wires.ts";

/** A recorded body, and the adapter that reads it. */
export interface Input {
  readonly adapter: Adapter;
  readonly body: AsyncIterable<Uint8Array>;
  /** The bytes from which its wire can be recognised: the whole file, or the first ones from standard input. */
  soFar(): Uint8Array;
}

export interface InputOptions {
  /** Default: recognised from the content. */
  readonly wire: string | undefined;
  /** Default: immediately. */
  readonly speed: number | undefined;
  /** Whether a recording without timing is given one, if `speed` is set. */
  readonly isPaced: boolean;
}

/**
 * Opens a recording; `-` is standard input, which is read as it arrives.
 *
 * @throws ToolError `invalid_recording`, `unknown_wire`, `invalid_event`
 */
export async function openInput(file: string, { wire, speed, isPaced }: InputOptions): Promise<Input> {
  if (file === "-") return openStandardInput(wire);
  const loaded = await loadRecording(file);
  const recording: Recording = isPaced && speed !== undefined ? paced(loaded) : loaded;
  const adapter = wire === undefined ? recognise(recording.bytes) : recordedAdapterNamed(wire);
  return { adapter, body: replay(recording, { speed }), soFar: () => recording.bytes };
}

async function openStandardInput(wire: string | undefined): Promise<Input> {
  const source = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const look = createLook();
  const seen: Uint8Array[] = [];
  for (;;) {
    const step = await source.next();
    if (step.done === true) break;
    seen.push(step.value);
    look.feed(step.value);
    if (wire !== undefined || look.isDecided) break;
  }
  if (seen.length === 0) {
    throw new ToolError("invalid_recording", "-: nothing came on the standard input. Pipe a response into it.");
  }
  const adapter = wire === undefined ? look.end() : recordedAdapterNamed(wire);
  return { adapter, body: continued(seen, source), soFar: () => Buffer.concat(seen) };
}

/** The pieces already seen, then the rest, of which the first pieces are kept too. */
async function* continued(seen: Uint8Array[], source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* seen;
  for (let step = await source.next(); step.done !== true; step = await source.next()) {
    if (seen.length < PIECES_KEPT) seen.push(step.value);
    yield step.value;
  }
}

const PIECES_KEPT = 16;

/** Folders may hold folders of wires, which hold folders of cases. */
const MAX_DEPTH = 3;

/**
 * The recordings that a path stands for: the path itself, or for a folder that is not a fixture, every fixture below it
 * (a folder with a `stream.*`, and those of later turns) and every `.sse` and `.ndjson`, ordered by name.
 */
export async function recordingsAt(path: string): Promise<readonly string[]> {
  if (!(await isDirectory(path))) return [path];
  const found = await recordingsBelow(path, MAX_DEPTH);
  // An empty folder is opened anyway: the error says what is wrong with it.
  return found.length === 0 ? [path] : found;
}

async function recordingsBelow(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.map((entry) => entry.name);
  if (names.some((name) => /^stream\.(?:sse|ndjson|json)$/.test(name))) return [folder, ...laterTurns(folder, names)];
  const found: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) found.push(...(await recordingsBelow(path, depth - 1)));
    else if (entry.isFile() && /\.(?:sse|ndjson)$/.test(entry.name)) found.push(path);
  }
  return found;
}

/** The bodies after the first one of a conversation, as the recording proxy writes them. */
function laterTurns(folder: string, names: readonly string[]): string[] {
  const turns = names.filter((name) => /^stream-\d+\.(?:sse|ndjson|json)$/.test(name));
  return turns.toSorted((a, b) => turnOf(a) - turnOf(b)).map((name) => join(folder, name));
}

function turnOf(name: string): number {
  return Number(/\d+/.exec(name)![0]);
}
