import { ToolError } from "../errors.ts";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** On Windows: pass the arguments as the command line, verbatim. */
  readonly verbatim: boolean;
}

/** Batch files are run by `cmd.exe`, which parses the command line a second time, by its own rules (CVE-2024-27980). */
export function isBatchFile(path: string): boolean {
  return /\.(?:cmd|bat)[ .]*$/i.test(path);
}

/**
 * The command that starts a program. For a batch file, which only `cmd.exe` can run, the command line contains nothing
 * but its path and our own arguments; a path with a character that is special to `cmd.exe` is refused.
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
