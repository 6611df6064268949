import { ToolError } from "../errors.ts";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** On Windows: the arguments are the command line as it is. */
  readonly verbatim: boolean;
}

/** Batch files are no programs: `cmd.exe` reads their command line a second time, by its own rules (CVE-2024-27980). */
export function isBatchFile(path: string): boolean {
  return /\.(?:cmd|bat)[ .]*$/i.test(path);
}

/**
 * What to start for a program. A batch file, which only `cmd.exe` can run, gets a command line in which nothing but its
 * own path and our own arguments stands; a path with a character that `cmd.exe` gives a meaning is refused.
 *
 * @throws ToolError `executable_refused`
 */
export function commandOf(path: string, args: readonly string[], platform: string = process.platform): Command {
  if (platform !== "win32" || !isBatchFile(path)) return { file: path, args, verbatim: false };
  if (/["%!&^<>|]/.test(path)) {
    throw new ToolError("executable_refused", `The path of a batch file holds none of " % ! & ^ < > |.`);
  }
  const line = [`"${path}"`, ...args].join(" ");
  return { file: process.env["ComSpec"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], verbatim: true };
}
