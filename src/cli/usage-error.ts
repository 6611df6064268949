import { parseArgs, type ParseArgsConfig } from "node:util";
import { messageOf } from "../errors.ts";
import { didYouMean } from "../tool/option-names.ts";

/** An error that the user can fix: reported without a stack, with exit status 1. */
export class CommandError extends Error {
  readonly exitStatus: 1 | 2 = 1;
}

/** The command line is invalid: exit status 2. */
export class UsageError extends CommandError {
  override readonly exitStatus = 2;
}

/**
 * `parseArgs()` of node:util, which names what it does not know. An empty argument, mostly a variable that is not set,
 * would stand for the current folder.
 *
 * @throws UsageError
 */
export function parseOptions<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  let parsed: ReturnType<typeof parseArgs<Config>>;
  try {
    parsed = parseArgs(config);
  } catch (error) {
    const isOurs = String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS_");
    throw isOurs ? new UsageError(mistakeIn(messageOf(error), Object.keys(config.options ?? {}))) : error;
  }
  if ((parsed.positionals as readonly string[]).includes("")) throw new UsageError("An argument is empty.");
  return parsed;
}

/** For an unknown option, the first sentence names the mistake, and the rest is about names that begin with a dash. */
function mistakeIn(message: string, options: readonly string[]): string {
  const unknown = /^Unknown option '(.*?)'/.exec(message);
  if (unknown === null) return asSentence(message.replaceAll("\n", " "));
  const known = options.map((name) => `--${name}`);
  return `${unknown[0]}.${didYouMean(unknown[1]!, known)} The options are ${known.join(", ")}.`;
}

/** With one full stop at its end, whether or not it had one. */
export function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** @throws UsageError for anything but a number that `holds` accepts; `what` are the words for it */
export function numberOf(option: string, text: string, holds: (value: number) => boolean, what: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (holds(value)) return value;
  throw new UsageError(`${option} is ${what}, got ${JSON.stringify(text)}.`);
}

export function speedOf(text: string | undefined): number | undefined {
  return text === undefined
    ? undefined
    : numberOf("--speed", text, (speed) => speed > 0, "a positive number (2 is twice as fast)");
}

/** Default 0: a free one. */
export function portOf(text = "0"): number {
  const isPort = (port: number) => Number.isInteger(port) && port >= 0 && port <= 65535;
  return numberOf("--port", text, isPort, "a number from 0 to 65535");
}

/**
 * Loads an optional package, which is installed only by those who use it.
 *
 * @throws CommandError that says how
 */
export async function installed<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new CommandError(`The package ${name} is needed for this and cannot be loaded: npm install ${name}`, {
      cause,
    });
  }
}
