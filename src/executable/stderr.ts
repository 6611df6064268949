import { parseJson } from "../json/index.ts";

/** What is kept of stderr: its end, where the reason stands. In UTF-16 units. */
const KEPT = 16 * 1024;
/** A longer line is no progress line. */
const MAX_LINE = 64 * 1024;

/** Reads a program's stderr as it arrives. */
export interface StderrReader {
  push(bytes: Uint8Array): void;
  /** The end of everything that was not progress. */
  end(): string;
}

/** A line `{"progress": ...}` of a program's stderr; other properties are up to the program. */
export interface ProgressLine {
  readonly progress: unknown;
  readonly [key: string]: unknown;
}

/** Passes lines `{"progress": ...}` to `onProgress`, and keeps the last 16 Ki characters of all others. */
export function createStderrReader(onProgress: ((line: ProgressLine) => void) | undefined): StderrReader {
  const decoder = new TextDecoder(); // used with `stream`: a character may arrive in two pieces
  let line = "";
  let kept = "";

  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end() {
      read(decoder.decode());
      if (line !== "") finishLine("");
      return kept.slice(-KEPT).toWellFormed();
    },
  };

  function read(text: string): void {
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      line += text.slice(from, at);
      finishLine("\n");
      from = at + 1;
    }
    line += text.slice(from);
    if (line.length > MAX_LINE) finishLine("");
  }

  function finishLine(end: "\n" | ""): void {
    const progress = onProgress === undefined ? undefined : readProgress(line);
    if (progress === undefined) keep(line + end);
    else onProgress!(progress);
    line = "";
  }

  function keep(text: string): void {
    kept += text;
    if (kept.length > 4 * KEPT) kept = kept.slice(-KEPT);
  }
}

function readProgress(line: string): ProgressLine | undefined {
  if (line.length > MAX_LINE || !/^\s*\{.*"progress"/.test(line)) return undefined;
  try {
    const value = parseJson(line) as Record<string, unknown>;
    return Object.hasOwn(value, "progress") ? (value as ProgressLine) : undefined;
  } catch {
    return undefined;
  }
}
