import { mkdirSync, rmSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";

/**
 * What was given on the command line. Where help is asked for, or a mistake was made, the usage is printed and the
 * program ends.
 */
export function commandLine<const Config extends ParseArgsConfig>(
  usage: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return leave(`${(error as Error).message.split(". ")[0]}.\n${usage}`, 2);
  }
}

/** A folder for the state of an example; `reset` empties it. */
export function openFolder(path: string, { reset }: { readonly reset: boolean }): void {
  try {
    if (reset) rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
  } catch (error) {
    leave(`--state is a folder that can be written to: ${(error as Error).message}`, 2);
  }
}

/** Ends the program: what the user can mend is told in words, not as a stack. */
export function leave(message: string, status: number): never {
  console.error(message);
  process.exit(status);
}
