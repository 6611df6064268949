import { opendir } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isToolError, ToolError, type ToolErrorCode } from "../errors.ts";
import type { Effect, Tool } from "../tool/tool.ts";
import { loadExecutable } from "./load.ts";
import type { ExecutableManifest } from "./manifest.ts";
import { settingsOf, type RunOptions } from "./options.ts";

/** What {@link discoverExecutables} takes. */
export interface DiscoverOptions extends RunOptions {
  /** Folders; `~/` is the user's home. Default `["~/.toolstream/tools", "./tools"]`. */
  searchPaths?: readonly string[];
  /** Only files that it knows are run, and only as it knows them. */
  manifest?: ExecutableManifest;
  /** The effect of the tool that a file is, instead of what the program says. */
  effect?: (path: string) => Effect | undefined;
}

/** A file that is no tool, or no tool that may be used. */
export interface SkippedExecutable {
  readonly path: string;
  /** For a person. */
  readonly reason: string;
  /** Where an error was the reason. */
  readonly code: ToolErrorCode | undefined;
}

/** What {@link discoverExecutables} finds. */
export interface DiscoveredExecutables {
  /** By search path, then by file name. No two have one name. */
  readonly tools: readonly Tool[];
  readonly skipped: readonly SkippedExecutable[];
  /** Search paths whose files are not known, for the reason in `skipped`; not the default ones that are not there. */
  readonly unread: readonly string[];
}

/** Where {@link discoverExecutables} looks if nothing else is said. Neither has to be there. */
export const DEFAULT_SEARCH_PATHS = ["~/.toolstream/tools", "./tools"] as const;

/** More files than this, and the folder holds something else than tools. */
const MAX_FILES = 1_000;
const AT_ONCE = 4;

/**
 * Every program in some folders, as a tool. Each is run once, with `--schema`: search only where you would run what is
 * there. Nothing is left out in silence; a file that fails is in `skipped`, with the reason, and harms no other.
 *
 * @throws TypeError for options that can not be
 * @example
 * const { tools, skipped } = await discoverExecutables({ searchPaths: ["./tools"] });
 * for (const { path, reason } of skipped) console.warn(path, reason);
 */
export async function discoverExecutables(options: DiscoverOptions = {}): Promise<DiscoveredExecutables> {
  const { searchPaths = DEFAULT_SEARCH_PATHS, manifest, effect, ...runOptions } = options;
  if (typeof searchPaths.map !== "function")
    throw new TypeError(`searchPaths is a list of folders, got ${JSON.stringify(searchPaths)}`);
  settingsOf(runOptions); // a mistake of the caller's is no reason to skip files
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
    // Names that differ in case only are two to a program and one to a reader.
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
      const known =
        manifest === undefined ? undefined : Object.hasOwn(manifest.executables, path) && manifest.executables[path];
      if (known === false) throw new ToolError("executable_changed", "is not in the manifest");
      const chosen = effect?.(path);
      return await loadExecutable(path, {
        ...runOptions,
        root,
        ...(known === undefined ? {} : { digest: known.digest }),
        ...(chosen === undefined ? {} : { effect: chosen }),
      });
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

/** The names of the files in a folder, or why nobody knows them. */
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
        : `can not be read (${code ?? message})`;
  }
  return names.toSorted();
}

/** A few at once; the answers in the order of the questions. */
async function inOrder<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
