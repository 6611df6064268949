import { isAbsolute } from "node:path";
import { checkMs } from "../time.ts";
import type { OptionNames } from "../tool/option-names.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Effect, ToolContext } from "../tool/tool.ts";
import { defaultOwners } from "./check-file.ts";
import { checkInherited } from "./environment.ts";
import type { ExecutableRun } from "./error.ts";

/** Of the environment. */
export type Variables = Readonly<Record<string, string>>;

/** How the programs behind tools are run. */
export interface ExecutableRunOptions {
  /** For one call, until its program is asked to end. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** For `--schema`. Default 5,000. */
  readonly schemaTimeoutMs?: number | undefined;
  /** From SIGTERM to SIGKILL; also how long others may hold an ended program's output. Default 1,000. */
  readonly graceMs?: number | undefined;
  /** Limit on a call's stdout. Default 10 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** Limit on a call's stderr, of which the last 16 Ki characters are kept. Default 10 MiB. */
  readonly maxStderrBytes?: number | undefined;
  /** Limit on the output of `--schema`. Default 1 MiB. */
  readonly maxSchemaBytes?: number | undefined;
  /** Maximum depth of the JSON in an answer. Default 128. */
  readonly maxDepth?: number | undefined;
  /** The working directory, absolute. Default: that of this process when the tool is loaded. */
  readonly cwd?: string | undefined;
  /** Added to the environment. A function is called for every call, for example to pass on the caller's identity. */
  readonly env?: Variables | ((context: ToolContext) => Variables | Promise<Variables>) | undefined;
  /**
   * Variables to pass on from this process, besides HOME, LANG, LC_ALL, LC_CTYPE, LOGNAME, PATH, SHELL, TERM, TMPDIR,
   * TZ, USER.
   */
  readonly inheritEnv?: readonly string[] | undefined;
  /** User ids that may own the file, the folders above it and the links to it. Default: this process's user, and 0. */
  readonly owners?: readonly number[] | undefined;
  /** Run `.cmd` and `.bat` files, through `cmd.exe`. Default false. */
  readonly allowBatch?: boolean | undefined;
  /** Called after every call that was started, for logs. Errors that it throws are ignored. */
  readonly onRun?: ((run: ExecutableRun) => void) | undefined;
  /** Aborts loading. Calls use the signal of their context. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link loadExecutable}. */
export interface ExecutableOptions extends ExecutableRunOptions {
  /** Overrides the program's own name. */
  readonly name?: string | undefined;
  /** Overrides what the program says. Default `"write"`. */
  readonly effect?: Effect | undefined;
  /** The rules under which an executor runs the tool: approval, retries, undo, ... */
  readonly policy?: ToolPolicy | undefined;
  /** An absolute folder that must contain the file, links resolved. */
  readonly root?: string | undefined;
  /** The digest that the file must have before it is first run. */
  readonly digest?: string | undefined;
}

export const RUN_OPTIONS: OptionNames<ExecutableRunOptions> = {
  timeoutMs: true,
  schemaTimeoutMs: true,
  graceMs: true,
  maxOutputBytes: true,
  maxStderrBytes: true,
  maxSchemaBytes: true,
  maxDepth: true,
  cwd: true,
  env: true,
  inheritEnv: true,
  owners: true,
  allowBatch: true,
  onRun: true,
  signal: true,
};

type Optional = "name" | "effect" | "policy" | "root" | "digest" | "onRun" | "signal";
export type Settings = Pick<ExecutableOptions, Optional> & {
  readonly [Name in Exclude<keyof ExecutableOptions, Optional>]-?: NonNullable<ExecutableOptions[Name]>;
};

const MiB = 1024 * 1024;

/** The options with their defaults. @throws TypeError for invalid options */
export function settingsOf(options: ExecutableOptions): Settings {
  const settings: Settings = {
    timeoutMs: 30_000,
    schemaTimeoutMs: 5_000,
    graceMs: 1_000,
    maxOutputBytes: 10 * MiB,
    maxStderrBytes: 10 * MiB,
    maxSchemaBytes: MiB,
    maxDepth: 128,
    cwd: options.cwd ?? process.cwd(), // not asked for if given: it may be gone
    env: {},
    inheritEnv: [],
    owners: defaultOwners(),
    allowBatch: false,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null)),
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
