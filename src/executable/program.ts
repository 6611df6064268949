import { isToolError, ToolError } from "../errors.ts";
import { checkFile, type CheckedFile } from "./check-file.ts";
import { createDigests } from "./digest.ts";
import { environmentOf } from "./environment.ts";
import type { Settings } from "./options.ts";
import { runProcess, type ProcessOutcome } from "./process.ts";
import type { ProgressLine } from "./stderr.ts";

/** A checked file, which may be run as long as it does not change. */
export interface Program {
  /** As it was when it was opened. */
  readonly file: CheckedFile;
  /**
   * Time passes between approval and call: checks that what runs now is what was checked before.
   *
   * @throws ToolError `executable_changed`, `executable_refused`, `spawn_failed`, with a message for the model that
   *   contains no path
   */
  checkAgain(): Promise<void>;
  run(how: ProgramRun): Promise<ProcessOutcome>;
}

export interface ProgramRun {
  readonly args: readonly string[];
  readonly input: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress?: (line: ProgressLine) => void;
}

/**
 * @throws TypeError for a relative path
 * @throws ToolError `executable_refused`, `spawn_failed`, `executable_changed` if the digest is not `settings.digest`
 */
export async function openProgram(path: string, settings: Settings): Promise<Program> {
  const digests = createDigests();
  const file = await checkFile(path, settings, digests);
  if (settings.digest !== undefined && settings.digest !== file.digest) {
    throw new ToolError(
      "executable_changed",
      `The executable ${path} is not the file that was looked at: it is ${file.digest}, not ${settings.digest}. Look at it again.`,
    );
  }
  return { file, checkAgain, run };

  async function checkAgain(): Promise<void> {
    let now: CheckedFile;
    try {
      now = await checkFile(path, settings, digests);
    } catch (cause) {
      const code = isToolError(cause) ? cause.code : "executable_refused";
      const message =
        code === "spawn_failed"
          ? "The program could not be started: the system has no room for another process or file."
          : "The program cannot be run any more.";
      throw new ToolError(code, message, { cause });
    }
    if (now.digest === file.digest && now.realPath === file.realPath) return;
    throw new ToolError(
      "executable_changed",
      "The program was changed after it was loaded, and is not run. It has to be loaded and approved again.",
    );
  }

  function run(how: ProgramRun): Promise<ProcessOutcome> {
    return runProcess({
      file: file.realPath,
      cwd: settings.cwd,
      graceMs: settings.graceMs,
      maxStderrBytes: settings.maxStderrBytes,
      onProgress: undefined,
      ...how,
      env: environmentOf(settings.inheritEnv, how.env),
    });
  }
}
