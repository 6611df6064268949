import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, ToolError } from "../errors.ts";
import {
  checkRecording,
  coveringChunks,
  FORMATS,
  formatOf,
  parseJson,
  type Format,
  type RecordedChunk,
  type Recording,
} from "./recording.ts";

/**
 * Writes a recording: the body into the file itself, its timing into `<file>.timing.json` next to it.
 * In a directory, the file is `stream.sse`, `stream.ndjson` or `stream.json`. Returns the path of the body.
 *
 * @throws ToolError `invalid_recording` if the recording is empty
 */
export async function saveRecording(path: string | URL, recording: Recording): Promise<string> {
  checkRecording(recording, "saveRecording()");
  if (recording.bytes.length === 0) {
    throw invalid(
      pathOf(path),
      "there is nothing to save: the recorded body is empty",
      "Read the recorded stream to its end",
    );
  }
  const file = await bodyFile(pathOf(path), recording);
  const { contentType, complete } = recording;
  const chunks = coveringChunks(recording).map(({ atMs, length }) => [atMs, length]);
  const timing = { contentType, complete, chunks };
  await mkdir(dirname(file), { recursive: true });
  // The body last: alone, it would be loaded as a complete one. A timing that does not fit is refused.
  await writeFile(`${file}.timing.json`, `${JSON.stringify(timing)}\n`);
  await writeFile(file, recording.bytes);
  return file;
}

/** A path as it is, or that of a `file:` URL: tests name files as `new URL("call.sse", import.meta.url)`. */
export function pathOf(path: string | URL): string {
  return typeof path === "string" ? path : fileURLToPath(path);
}

/** Where the body goes: `stream.sse` etc. in a directory (existing, or a path ending in a slash), else `path`. */
export async function bodyFile(path: string, recording: Recording): Promise<string> {
  const intoDirectory = /[/\\]$/.test(path) || (await isDirectory(path));
  return intoDirectory ? join(path, `stream.${formatOf(recording)}`) : path;
}

/**
 * Reads a recording: a body with or without timing, or a directory that holds a `stream.sse`, `stream.ndjson` or
 * `stream.json` (the first found).
 *
 * @throws ToolError `invalid_recording`, which says what is wrong and what to do
 */
export async function loadRecording(path: string | URL): Promise<Recording> {
  const given = pathOf(path);
  const file = (await isDirectory(given)) ? await bodyIn(given) : given;
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await readFile(file));
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const what = missing ? "there is no such file" : `it cannot be read (${messageOf(cause)})`;
    throw invalid(file, what, "Give the path of a recorded body, or of a directory with a stream.sse in it", cause);
  }
  if (bytes.length === 0) throw invalid(file, "the file is empty", "Record it again");
  const extension = extname(file).slice(1);
  const contentType = Object.hasOwn(FORMATS, extension) ? FORMATS[extension as Format] : undefined;
  return { bytes, contentType, chunks: [], complete: true, ...(await loadTiming(file, bytes)) };
}

async function bodyIn(directory: string): Promise<string> {
  const names = await readdir(directory);
  const name = Object.keys(FORMATS)
    .map((format) => `stream.${format}`)
    .find((candidate) => names.includes(candidate));
  if (name !== undefined) return join(directory, name);
  const found = names.length === 0 ? "nothing" : names.slice(0, 10).join(", ");
  throw invalid(
    directory,
    `the directory has no stream.sse, stream.ndjson or stream.json in it, but ${found}`,
    "Name a file",
  );
}

async function loadTiming(file: string, body: Uint8Array): Promise<Partial<Recording> | undefined> {
  const path = `${file}.timing.json`;
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw invalid(path, `the timing cannot be read (${messageOf(cause)})`, "Delete it or record again", cause);
  }
  const timing = parseTiming(text);
  const length = timing?.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (timing === undefined || (timing.chunks.length > 0 && length !== body.length)) {
    const what = timing === undefined ? "it holds no timing" : `it covers ${length} bytes, the body has ${body.length}`;
    // Git for Windows adds carriage returns to what it takes for text.
    const isGits = length === body.filter((byte) => byte !== 13).length;
    const kept = `Write *${extname(file)} -text into .gitattributes, so that git keeps its line ends, and check it out again`;
    throw invalid(path, what, isGits ? kept : "Delete it (the body then comes all at once) or record again");
  }
  return timing;
}

function parseTiming(text: string): Pick<Recording, "chunks" | "complete"> | undefined {
  const { contentType, complete, chunks } = (parseJson(text) ?? {}) as Record<string, unknown>;
  if (!Array.isArray(chunks)) return undefined;
  const parsed: RecordedChunk[] = [];
  for (const chunk of chunks as unknown[]) {
    if (!Array.isArray(chunk)) return undefined;
    const [atMs, length] = chunk as unknown[];
    if (typeof atMs !== "number" || typeof length !== "number" || !(atMs >= 0) || !(length >= 0)) return undefined;
    parsed.push({ atMs, length });
  }
  return { ...(typeof contentType === "string" && { contentType }), complete: complete !== false, chunks: parsed };
}

export async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

function invalid(path: string, what: string, nextStep: string, cause?: unknown): ToolError {
  return new ToolError("invalid_recording", `${path}: ${what}. ${nextStep}.`, { cause });
}
