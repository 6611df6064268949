import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { messageOf, ToolError } from "../errors.ts";
import type { Tool } from "../tool/tool.ts";
import type { ExecutableInfo } from "./load.ts";

/**
 * The programs that somebody has reviewed, by path, with the digest that each had then.
 *
 * ```json
 * { "version": 1,
 *   "executables": { "/home/ada/.toolstream/tools/resize": { "tool": "resize", "digest": "sha256:..." } } }
 * ```
 */
export interface ExecutableManifest {
  readonly version: 1;
  readonly executables: Readonly<Record<string, { readonly tool: string; readonly digest: string }>>;
}

/** The manifest of these tools; tools that are not programs are left out. */
export function manifestOf(tools: readonly Tool[]): ExecutableManifest {
  const entries = tools.flatMap((tool) => {
    const info = tool.metadata["executable"] as ExecutableInfo | undefined;
    return info === undefined ? [] : [[info.path, { tool: tool.name, digest: info.digest }] as const];
  });
  return { version: 1, executables: Object.fromEntries(entries) };
}

/** @throws ToolError `invalid_tool` if the file is missing or not a manifest */
export async function readManifest(file: string): Promise<ExecutableManifest> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    throw new ToolError("invalid_tool", `The manifest ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  if (isManifest(value)) return value;
  throw new ToolError("invalid_tool", `The file ${file} is no manifest: {"version": 1, "executables": {...}}.`);
}

/**
 * Replaces the file atomically: concurrent readers see either the old or the new one.
 *
 * @throws ToolError `invalid_tool` if the file cannot be written
 */
export async function writeManifest(file: string, manifest: ExecutableManifest): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(manifest, undefined, 2)}\n`, { flag: "wx", mode: 0o600 });
    await rename(draft, file);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {}); // the error that matters is that of the write
    const why = messageOf(cause).replaceAll(draft, file);
    throw new ToolError("invalid_tool", `The manifest ${file} cannot be written: ${why}`, { cause });
  }
}

function isManifest(value: unknown): value is ExecutableManifest {
  const { version, executables } = (value ?? {}) as Partial<ExecutableManifest>;
  if (version !== 1 || typeof executables !== "object" || executables === null) return false;
  return Object.values(executables).every(
    (entry: unknown) => typeof (entry as { digest?: unknown } | null)?.digest === "string",
  );
}
