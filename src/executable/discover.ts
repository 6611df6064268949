import { opendir } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isToolError, ToolError, type ToolErrorCode } from "../errors.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import type { Effect, Tool } from "../tool/tool.ts";
import { loadExecutable } from "./load.ts";
import type { ExecutableManifest } from "./manifest.ts";
import { RUN_OPTIONS, settingsOf, type ExecutableRunOptions } from "./options.ts";

/** Options of {@link discoverExecutables}. */
export interface DiscoverOptions extends ExecutableRunOptions {
  /** Folders to search; `~/` is the user's home. Default `["~/.toolstream/tools", "./tools"]`. */
  readonly searchPaths?: readonly string[] | undefined;
  /** If given, only files listed in it are run, and only with the digests listed. */
  readonly manifest?: ExecutableManifest | undefined;
  /** Overrides the effect that a program states. */
  readonly effect?: ((path: string) => Effect | undefined) | undefined;
}

const OPTIONS: OptionNames<DiscoverOptions> = { ...RUN_OPTIONS, searchPaths: true, manifest: true, effect: true };

/** A file that is not a tool, or not a usable one. */
export interface SkippedExecutable {
  readonly path: string;
  /** For a person. */
  readonly reason: string;
  /** If the reason was an error. */
  readonly code: ToolErrorCode | undefined;
}

/** What {@link discoverExecutables} finds. */
export interface DiscoveredExecutables {
  /** Ordered by search path, then by file name. Names are unique. */
  readonly tools: readonly Tool[];
  readonly skipped: readonly SkippedExecutable[];
  /** Search paths that could not be read, for the reason in `skipped`; without default ones that do not exist. */
  readonly unread: readonly string[];
}

/** The default search paths of {@link discoverExecutables}. They need not exist. */
export const DEFAULT_SEARCH_PATHS = ["~/.toolstream/tools", "./tools"] as const;

/** A folder with more files than this holds something other than tools. */
const MAX_FILES = 1_000;
const AT_ONCE = 4;

/**
 * Loads every program in some folders as a tool. Each is run once, with `--schema`: search only folders whose programs
 * you would run. Nothing is left out silently: a file that fails is in `skipped`, with the reason, and affects no
 * other.
 *
 * @throws TypeError for invalid options
 * @example
 * const { tools, skipped } = await discoverExecutables({ searchPaths: ["./tools"] });
 * for (const { path, reason } of skipped) console.warn(path, reason);
 */
export async function discoverExecutables(options: DiscoverOptions = {}): Promise<DiscoveredExecutables> {
  checkOptionNames("discoverExecutables()", options, OPTIONS);
  const { searchPaths = DEFAULT_SEARCH_PATHS, manifest, effect, ...runOptions } = options;
  if (typeof searchPaths.map !== "function")
    throw new TypeError(`searchPaths is a list of folders, got ${JSON.stringify(searchPaths)}`);
  settingsOf(runOptions); // a caller's mistake should throw, not skip files
  const skipped: SkippedExecutable[] = [];
  const unread: string[] = [];
  const found: { path: string; root: string }[] = [];
  for (const root of new Set(searchPaths.map(expand))) {
    const names = await namesIn(root, skipped);
    if (Array.isArray(names)) found.push(...names.map((name) => ({ path: join(root, name), root })));
    else if (names !== "is not there" || searchPaths !== DEFAULT_SEARCH_PATHS) {
      unread.push(root);
      skipped.push({ path: root, reason: names, code: undefined });
    }
  }
  const loaded = await inOrder(found, ({ path, root }) => load(path, root));

  const tools: Tool[] = [];
  const byName = new Map<string, Tool>();
  for (const each of loaded) {
    if ("reason" in each) {
      skipped.push(each);
      continue;
    }
    // Names that differ only in case are two to a program, but one to a reader.
    const key = each.name.toLowerCase();
    const first = byName.get(key);
    if (first === undefined) {
      byName.set(key, each);
      tools.push(each);
    } else {
      const reason = `is called ${each.name}, and ${first.qualifiedName} came first with ${first.name}`;
      skipped.push({ path: each.qualifiedName, reason, code: "duplicate_tool" });
    }
  }
  return { tools, skipped, unread };

  async function load(path: string, root: string): Promise<Tool | SkippedExecutable> {
    try {
      const known = manifest?.executables[path];
      if (manifest !== undefined && known === undefined) {
        throw new ToolError("executable_changed", "is not in the manifest");
      }
      return await loadExecutable(path, { ...runOptions, root, digest: known?.digest, effect: effect?.(path) });
    } catch (error) {
      if (!isToolError(error) || error.code === "aborted") throw error;
      return {
        path,
        reason: error.message.replace(`The executable ${path} `, "").replace(/\.$/, ""),
        code: error.code,
      };
    }
  }
}

function expand(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : resolve(path);
}

/** The names of the files in a folder, or why they cannot be read. */
async function namesIn(root: string, skipped: SkippedExecutable[]): Promise<string[] | string> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(root)) {
      if (name.startsWith(".")) skipped.push({ path: join(root, name), reason: "is hidden", code: undefined });
      else names.push(name);
      if (names.length > MAX_FILES) return `holds more than ${MAX_FILES} files: it is no folder of tools`;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ENOENT"
      ? "is not there"
      : code === "ENOTDIR"
        ? "is no folder"
        : `cannot be read (${code ?? message})`;
  }
  return names.toSorted();
}

/** Runs a few at once; the results are in the order of the items. After an error no other is begun. */
async function inOrder<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  const worker = async () => {
    try {
      for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
    } finally {
      next = items.length;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
