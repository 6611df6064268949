import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import {
  DEFAULT_SEARCH_PATHS,
  discoverExecutables,
  ExecutableError,
  loadExecutable,
  type ExecutableRunOptions,
} from "../executable/index.ts";
import { cut, isToolError, messageOf, type ToolError } from "../errors.ts";
import { parseJson } from "../json/index.ts";
import { isTimerMs, MAX_TIMER_MS } from "../time.ts";
import type { Tool } from "../tool/tool.ts";
import { ownersOf } from "./owners.ts";
import { printable } from "./text.ts";
import { CommandError, numberOf, parseOptions, UsageError } from "./usage-error.ts";

export const usage = `toolstream exec TOOL [--input JSON] [--timeout MS] [--progress] [--owner UID]

Calls an executable tool and prints its result as JSON. If it fails, the error is on stderr and the exit status is 1.

  TOOL          a path (with a slash in it), or the name of a tool in ${DEFAULT_SEARCH_PATHS.join(" or ")}
  --input JSON  its input; - reads it from stdin. Default {}
  --timeout MS  how long it may take. Default 30000
  --progress    print its progress to stderr
  --owner UID   also run files of this user; may be repeated`;

/** @returns the exit status */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      input: { type: "string" },
      timeout: { type: "string" },
      progress: { type: "boolean" },
      owner: { type: "string", multiple: true },
    },
  });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError(`exec takes one tool.\n\n${usage}`);
  const input = readInput(values.input === "-" ? await text(process.stdin) : (values.input ?? "{}"));
  const options = { timeoutMs: timeoutOf(values.timeout), ...ownersOf(values.owner) };
  try {
    const tool = await find(name, options);
    const progress = async (value: unknown) => {
      if (values.progress === true) process.stderr.write(`${printable(JSON.stringify(value))}\n`);
    };
    process.stdout.write(`${JSON.stringify(await tool.use(input).execute({ progress }), undefined, 2)}\n`);
    return 0;
  } catch (error) {
    if (!isToolError(error)) throw error;
    process.stderr.write(`${[`toolstream: ${error.message}`, ...printedOf(error)].map(printable).join("\n")}\n`);
    return 1;
  }
}

/** What the program wrote to stderr, or printed instead of an answer: the message, meant for a model, has neither. */
function printedOf(error: ToolError): string[] {
  const failure = error.cause instanceof ExecutableError ? error.cause : error;
  if (!(failure instanceof ExecutableError)) return [];
  const { stdout, stderr } = failure.run;
  const printed = failure.code === "invalid_answer" && stdout.trim() !== "" ? `It printed: ${cut(stdout, 500)}` : "";
  return [printed, stderr].map((one) => one.trimEnd()).filter((one) => one !== "");
}

async function find(name: string, options: ExecutableRunOptions): Promise<Tool> {
  if (/[/\\]/.test(name)) return loadExecutable(resolve(name), options);
  const { tools, skipped } = await discoverExecutables(options);
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = tools.map((tool) => tool.name).join(", ") || "none";
  const isHere = existsSync(name) && statSync(name).isFile();
  const here = isHere ? ` For the file here, give its path: ./${name}` : "";
  const hint = skipped.length > 0 ? ` Skipped: ${skipped.length}; toolstream tools says why.` : "";
  const where = DEFAULT_SEARCH_PATHS.join(" and ");
  throw new CommandError(`There is no tool ${JSON.stringify(name)} in ${where}. There are: ${names}.${hint}${here}`);
}

function readInput(json: string): unknown {
  try {
    return parseJson(json);
  } catch (error) {
    throw new UsageError(`--input is not JSON: ${messageOf(error).replaceAll("\n", " ")}.`);
  }
}

function timeoutOf(given = "30000"): number {
  const what = `a number of milliseconds above 0 and at most ${MAX_TIMER_MS}`;
  return numberOf("--timeout", given, isTimerMs, what);
}
