import { isToolError, ToolError } from "../errors.ts";
import { checkFile, type CheckedFile } from "./check-file.ts";
import { createDigester } from "./digest.ts";
import { environmentOf } from "./environment.ts";
import type { Settings } from "./options.ts";
import { runProcess, type ProcessOptions, type ProcessOutcome } from "./process.ts";

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
  /** @param how with `env` added to what the program inherits */
  run(how: ProgramRun): Promise<ProcessOutcome>;
}

type ProgramRun = Omit<ProcessOptions, "file" | "cwd" | "graceMs" | "maxStderrBytes">;

/**
 * @throws TypeError for a relative path
 * @throws ToolError `executable_refused`, `spawn_failed`, `executable_changed` if the digest is not `settings.digest`
 */
export async function openProgram(path: string, settings: Settings): Promise<Program> {
  const digestOf = createDigester();
  const file = await checkFile(path, settings, digestOf);
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
      now = await checkFile(path, settings, digestOf);
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
    const { cwd, graceMs, maxStderrBytes, inheritEnv } = settings;
    const env = environmentOf(inheritEnv, how.env);
    return runProcess({ ...how, file: file.realPath, cwd, graceMs, maxStderrBytes, env });
  }
}
