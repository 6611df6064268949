import { constants } from "node:fs";
import { access, lstat, open, readlink, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, normalize, relative, sep } from "node:path";
import { isToolError, ToolError } from "../errors.ts";
import { commandOf, isBatchFile } from "./command.ts";
import type { Digester } from "./digest.ts";
import { shortage } from "./error.ts";
import { HEADER_BYTES, interpreterOf, notAProgram } from "./file-kind.ts";

/** The conditions for running a file. */
export interface FileRules {
  /** A folder that must contain the file, links resolved. */
  readonly root?: string | undefined;
  /** User ids that may own the file, the folders above it and the links to it. */
  readonly owners: readonly number[];
  /** Whether `.cmd` and `.bat` files may be run. */
  readonly allowBatch: boolean;
}

/** A file that may be run, in its current state. */
export interface CheckedFile {
  /** With links resolved. This is what is run. */
  readonly realPath: string;
  readonly digest: string;
}

/**
 * Checks that nobody but us or the system can replace the program: the file, all folders above it and all links on the
 * way to it must belong to one of `owners`, and others must not be able to write to them (except to a sticky folder
 * such as `/tmp`, in which they cannot replace our files).
 *
 * @throws TypeError for a relative path
 * @throws ToolError `executable_refused`, or `spawn_failed` if the system has no room to look at it, with a message for
 *   the developer that contains the path
 */
export async function checkFile(path: string, rules: FileRules, digestOf: Digester): Promise<CheckedFile> {
  if (typeof path !== "string" || !isAbsolute(path)) {
    throw new TypeError(`an executable has an absolute path, got ${JSON.stringify(path)}; resolve() makes one`);
  }
  if (normalize(path) !== path) throw refused(path, `has a path that is not the shortest: write ${normalize(path)}`);
  try {
    return await check(path, rules, digestOf);
  } catch (error) {
    if (isToolError(error)) throw error;
    const lacking = shortage((error as NodeJS.ErrnoException).code);
    if (lacking === undefined) throw refused(path, reasonOf(error as NodeJS.ErrnoException), error);
    throw new ToolError("spawn_failed", `The executable ${path} could not be started: ${lacking}.`, { cause: error });
  }
}

async function check(path: string, rules: FileRules, digestOf: Digester): Promise<CheckedFile> {
  const realPath = await realpath(path);
  if (isBatchFile(realPath)) {
    if (!rules.allowBatch) {
      throw refused(path, "is a batch file, which cmd.exe would run: set allowBatch if it is meant");
    }
    commandOf(realPath, []);
  }
  if (rules.root !== undefined && !isWithin(await realpath(rules.root), realPath)) {
    throw refused(path, `leads out of ${rules.root}, to ${realPath}`);
  }
  const file = await stat(realPath);
  if (file.isDirectory()) throw refused(path, "is a folder");
  if (!file.isFile()) throw refused(path, "is no regular file");
  if (process.platform !== "win32") await checkWay(path, rules); // Windows uses access lists, which Node does not read
  await access(realPath, constants.X_OK).catch((cause: unknown) => {
    throw refused(path, "is not executable: chmod +x makes it so", cause);
  });
  const { digest, header } = await digestOf(realPath);
  const reason = notAProgram(header) ?? (await badInterpreter(header));
  if (reason !== undefined) throw refused(path, reason);
  return { realPath, digest };
}

/**
 * What the C library does with a file that is no program, it also does with a script whose interpreter is none: it hands
 * the script to `/bin/sh`, whatever language it is in. https://github.com/Perl/perl5/issues/18402
 */
async function badInterpreter(header: Buffer, depth = MAX_INTERPRETERS): Promise<string | undefined> {
  const path = interpreterOf(header)?.path;
  if (path === undefined || depth === 0 || process.platform === "win32") return undefined;
  const its = await headerOf(path).catch((error: NodeJS.ErrnoException) => {
    if (shortage(error.code) !== undefined) throw error;
    return undefined; // missing, or not readable: the system says so when it starts it
  });
  const reason = its && (notAProgram(its) ?? (await badInterpreter(its, depth - 1)));
  return reason && `has the interpreter ${path.toString()}, which ${reason}`;
}

/** An interpreter may be a script itself. Linux gives up after as many. */
const MAX_INTERPRETERS = 5;

/** `undefined` for what is no file. */
async function headerOf(path: Buffer): Promise<Buffer | undefined> {
  if (!(await stat(path)).isFile()) return undefined;
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(HEADER_BYTES) });
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Walks the path as the system does, from the root, following every link. */
async function checkWay(path: string, { owners }: FileRules): Promise<void> {
  const steps = path.split("/").toReversed();
  let at = "/";
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    const place = join(at, step);
    const state = await lstat(place);
    const isLink = state.isSymbolicLink();
    const what = place === path ? "it" : `${place},`;
    if (!owners.includes(state.uid)) {
      const list = owners.join(", ");
      throw refused(
        path,
        `is not trusted: ${what} belongs to user ${state.uid}, not to ${list}; see the option owners`,
      );
    }
    const isSticky = (state.mode & 0o1000) !== 0 && state.isDirectory();
    if ((state.mode & 0o002) !== 0 && !isSticky && !isLink) {
      throw refused(path, `is not trusted: ${what} is writable by everyone; chmod o-w mends that`);
    }
    if (isLink) {
      const target = await readlink(place);
      if (isAbsolute(target)) at = "/";
      steps.push(...target.split("/").toReversed());
    } else at = place;
  }
}

/** This process's user, and root. */
export function defaultOwners(): readonly number[] {
  return [...new Set([process.getuid?.() ?? 0, 0])];
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "is not there";
  if (error.code === "ENOTDIR") return "is not there: a part of the path is no folder";
  if (error.code === "EACCES") return "cannot be read by this user";
  if (error.code === "ELOOP") return "is a link that leads back to itself";
  return `cannot be read (${error.code ?? error.message})`;
}

function refused(path: string, reason: string, cause?: unknown): ToolError {
  return new ToolError("executable_refused", `The executable ${path} ${reason}.`, { cause });
}
