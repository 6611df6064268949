import { isAbsolute, delimiter } from "node:path";

/**
 * The variables that a program inherits: where things are, who the user is, how to write text. No keys, no tokens, and
 * nothing that decides which code runs (`LD_PRELOAD`, `NODE_OPTIONS`, `PYTHONPATH`, ...).
 */
const INHERITED =
  process.platform === "win32"
    ? "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE".split(
        " ",
      )
    : "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER".split(" ");

/**
 * Names that make loaders, interpreters and shells run other code. `env` may set them, but they are never inherited.
 */
const STEERING =
  /^(?:LD_|DYLD_|BASH_FUNC_|(?:NODE_OPTIONS|NODE_PATH|PYTHONPATH|PYTHONSTARTUP|PYTHONHOME|PERL5OPT|PERL5LIB|PERLLIB|RUBYOPT|RUBYLIB|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|IFS|PROMPT_COMMAND|GCONV_PATH|JAVA_TOOL_OPTIONS)$)/i;

/**
 * @param inherit names besides the usual ones
 * @throws TypeError for a name that decides which code runs
 */
export function checkInherited(inherit: readonly string[]): void {
  const steering = inherit.find((name) => STEERING.test(name));
  if (steering === undefined) return;
  throw new TypeError(
    `inheritEnv: ${steering} decides which code a program runs and is not passed on. If it is meant, give its value in env.`,
  );
}

/** The environment of a program: the usual names, those in `inherit`, and then `given`. */
export function environmentOf(
  inherit: readonly string[],
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of [...INHERITED, ...inherit]) {
    const value = name === "PATH" ? absolutePath(process.env[name]) : process.env[name];
    // A value that starts like this is a bash function, which bash would define (CVE-2014-6271).
    if (value !== undefined && !value.startsWith("()")) env[name] = value;
  }
  return { ...env, ...given };
}

/**
 * Drops empty and relative entries, which would look for interpreters and commands in the working directory, as an
 * empty PATH does: if nothing is left, there is none.
 */
function absolutePath(path: string | undefined): string | undefined {
  return path?.split(delimiter).filter(isAbsolute).join(delimiter) || undefined;
}
