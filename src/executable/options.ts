import { isAbsolute } from "node:path";
import { checkMs } from "../time.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Effect, ToolContext } from "../tool/tool.ts";
import { defaultOwners } from "./check-file.ts";
import { checkInherited } from "./environment.ts";
import type { ExecutableRun } from "./error.ts";

/** How the programs behind tools are run. */
export interface RunOptions {
  /** For one call, until its program is asked to end. Default 30,000. */
  timeoutMs?: number;
  /** For `--schema`. Default 5,000. */
  schemaTimeoutMs?: number;
  /** From SIGTERM to SIGKILL; also how long others may hold an ended program's output. Default 1,000. */
  graceMs?: number;
  /** Limit on a call's stdout. Default 10 MiB. */
  maxOutputBytes?: number;
  /** Limit on a call's stderr, of which the last 16 Ki characters are kept. Default 10 MiB. */
  maxStderrBytes?: number;
  /** Limit on the output of `--schema`. Default 1 MiB. */
  maxSchemaBytes?: number;
  /** Maximum depth of the JSON in an answer. Default 128. */
  maxDepth?: number;
  /** The working directory, absolute. Default: that of this process when the tool is loaded. */
  cwd?: string;
  /** Added to the environment. A function is called for every call, for example to pass on the caller's identity. */
  env?: Readonly<Record<string, string>> | ((context: ToolContext) => Readonly<Record<string, string>>);
  /**
   * Variables to pass on from this process, besides HOME, LANG, LC_ALL, LC_CTYPE, LOGNAME, PATH, SHELL, TERM, TMPDIR,
   * TZ, USER.
   */
  inheritEnv?: readonly string[];
  /** User ids that may own the file, the folders above it and the links to it. Default: this process's user, and 0. */
  owners?: readonly number[];
  /** Run `.cmd` and `.bat` files, through `cmd.exe`. Default false. */
  allowBatch?: boolean;
  /** Called after every call that was started, for logs. Errors that it throws are ignored. */
  onRun?: (run: ExecutableRun) => void;
  /** Aborts loading. Calls use the signal of their context. */
  signal?: AbortSignal;
}

/** Options of {@link loadExecutable}. */
export interface ExecutableOptions extends RunOptions {
  /** Overrides the program's own name. */
  name?: string;
  /** Overrides what the program says. Default `"write"`. */
  effect?: Effect;
  /** The rules under which an executor runs the tool: approval, retries, undo, ... */
  policy?: ToolPolicy;
  /** An absolute folder that must contain the file, links resolved. */
  root?: string;
  /** The digest that the file must have before it is first run. */
  digest?: string;
}

type Optional = "name" | "effect" | "policy" | "root" | "digest" | "onRun" | "signal";
export type Settings = Required<Omit<ExecutableOptions, Optional>> & Pick<ExecutableOptions, Optional>;

const MiB = 1024 * 1024;

/** The options with their defaults. @throws TypeError for invalid options */
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
