import { parseArgs, type ParseArgsConfig } from "node:util";
import { messageOf } from "../errors.ts";

/** An error that the user can fix: reported without a stack, with exit status 1. */
export class CommandError extends Error {
  readonly exitStatus: 1 | 2 = 1;
}

/** The command line is invalid: exit status 2. */
export class UsageError extends CommandError {
  override readonly exitStatus = 2;
}

/**
 * `parseArgs()` of node:util, which names what it does not know.
 *
 * @throws UsageError
 */
export function parseOptions<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const isOurs = String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS_");
    throw isOurs ? new UsageError(mistakeIn(messageOf(error))) : error;
  }
}

/** For an unknown option, the first sentence names the mistake, and the rest is about names that begin with a dash. */
function mistakeIn(message: string): string {
  const said = message.startsWith("Unknown option") ? message.split(". ")[0]! : message.replaceAll("\n", " ");
  return said.endsWith(".") ? said : `${said}.`;
}

/** @throws UsageError for anything but a positive number */
export function speedOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const speed = text.trim() === "" ? Number.NaN : Number(text);
  if (speed > 0) return speed;
  throw new UsageError(`--speed is a positive number (2 is twice as fast), got ${JSON.stringify(text)}.`);
}

/** @throws UsageError for anything but a port */
export function portOf(text: string | undefined): number {
  const port = text === undefined ? 0 : text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new UsageError(`--port is a number from 0 to 65535, got ${JSON.stringify(text)}.`);
}
