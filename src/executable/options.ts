import { isAbsolute } from "node:path";
import { checkMs } from "../time.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Effect, ToolContext } from "../tool/tool.ts";
import { defaultOwners } from "./check-file.ts";
import { checkInherited } from "./environment.ts";
import type { ExecutableRun } from "./error.ts";

/** How the programs behind tools are run. */
export interface RunOptions {
  /** Of one call, until its program is asked to end. Default 30,000. */
  timeoutMs?: number;
  /** Of `--schema`. Default 5,000. */
  schemaTimeoutMs?: number;
  /** From SIGTERM to SIGKILL, and how long others may hold the output of a program that has ended. Default 1,000. */
  graceMs?: number;
  /** Of what a call prints to stdout. Default 10 MiB. */
  maxOutputBytes?: number;
  /** Of what a call prints to stderr; the last 16 Ki characters are kept. Default 10 MiB. */
  maxStderrBytes?: number;
  /** Of what `--schema` prints. Default 1 MiB. */
  maxSchemaBytes?: number;
  /** Of the JSON in an answer. Default 128. */
  maxDepth?: number;
  /** The working directory, absolute. Default: the one that this process has when the tool is loaded. */
  cwd?: string;
  /** Added to the environment; a function is asked at every call, so that a caller's identity can be handed over explicitly. */
  env?: Readonly<Record<string, string>> | ((context: ToolContext) => Readonly<Record<string, string>>);
  /** Names of our own environment to pass on, beside HOME, LANG, LC_ALL, LC_CTYPE, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ, USER. */
  inheritEnv?: readonly string[];
  /** Users who may own the file, the folders above it and the links to it. Default: the user of this process, and 0. */
  owners?: readonly number[];
  /** Run `.cmd` and `.bat` files, through `cmd.exe`. Default false. */
  allowBatch?: boolean;
  /** Hears of every call that was started, when it is over: for logs. What it throws is ignored. */
  onRun?: (run: ExecutableRun) => void;
  /** Gives up loading. A call has the signal of its context. */
  signal?: AbortSignal;
}

/** What {@link loadExecutable} takes. */
export interface ExecutableOptions extends RunOptions {
  /** Instead of what the program says. */
  name?: string;
  /** Instead of what the program says; it is `"write"` if nobody says. */
  effect?: Effect;
  /** The rules under which an executor runs the tool: approval, retries, undo, ... */
  policy?: ToolPolicy;
  /** A folder that the file does not leave, by links neither. Absolute. */
  root?: string;
  /** The digest that the file has to have, before it is run for the first time. */
  digest?: string;
}

type Optional = "name" | "effect" | "policy" | "root" | "digest" | "onRun" | "signal";
export type Settings = Required<Omit<ExecutableOptions, Optional>> & Pick<ExecutableOptions, Optional>;

const MiB = 1024 * 1024;

/** The options with their defaults. @throws TypeError for what can not be */
export function settingsOf(options: ExecutableOptions): Settings {
  const settings: Settings = {
    ...options,
    timeoutMs: options.timeoutMs ?? 30_000,
    schemaTimeoutMs: options.schemaTimeoutMs ?? 5_000,
    graceMs: options.graceMs ?? 1_000,
    maxOutputBytes: options.maxOutputBytes ?? 10 * MiB,
    maxStderrBytes: options.maxStderrBytes ?? 10 * MiB,
    maxSchemaBytes: options.maxSchemaBytes ?? MiB,
    maxDepth: options.maxDepth ?? 128,
    cwd: options.cwd ?? process.cwd(),
    env: options.env ?? {},
    inheritEnv: options.inheritEnv ?? [],
    owners: options.owners ?? defaultOwners(),
    allowBatch: options.allowBatch ?? false,
  };
  for (const name of ["timeoutMs", "schemaTimeoutMs", "graceMs"] as const) checkMs(name, settings[name]);
  for (const name of ["maxOutputBytes", "maxStderrBytes", "maxSchemaBytes", "maxDepth"] as const) {
    if (!(settings[name] > 0)) throw new TypeError(`${name} is a number above 0, got ${settings[name]}`);
  }
  for (const name of ["cwd", "root"] as const) {
    const path = settings[name];
    if (path !== undefined && !(typeof path === "string" && isAbsolute(path))) {
      throw new TypeError(`${name} is an absolute path, ${got(path)}`);
    }
  }
  const { owners, inheritEnv } = settings;
  if (!Array.isArray(owners) || !owners.every(Number.isInteger)) {
    throw new TypeError(`owners is a list of users' numbers, ${got(owners)}`);
  }
  if (!Array.isArray(inheritEnv) || inheritEnv.some((name) => typeof name !== "string")) {
    throw new TypeError(`inheritEnv is a list of names, ${got(inheritEnv)}`);
  }
  checkInherited(inheritEnv);
  return settings;
}

function got(value: unknown): string {
  return `got ${JSON.stringify(value)}`;
}
