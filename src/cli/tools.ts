import {
  DEFAULT_SEARCH_PATHS,
  discoverExecutables,
  manifestOf,
  readManifest,
  writeManifest,
  type ExecutableInfo,
} from "../executable/index.ts";
import { ownersOf } from "./owners.ts";
import { printable, short } from "./text.ts";
import { parseOptions, UsageError } from "./usage-error.ts";

export const usage = `toolstream tools [DIR...] [--json] [--manifest FILE [--write]] [--owner UID]

Lists the executables in some folders that are tools, and says why each other file is not one. Each executable is
run once, with --schema. Without DIR: ${DEFAULT_SEARCH_PATHS.join(" and ")}.

  --json           one JSON object
  --manifest FILE  only files listed in FILE, unchanged; no others are run
  --write          writes the tools that are found to FILE
  --owner UID      also run files of this user; may be repeated

Exit status 1 when a DIR could not be read; FILE is then not written.`;

/** @returns the exit status */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      manifest: { type: "string" },
      write: { type: "boolean" },
      owner: { type: "string", multiple: true },
    },
  });
  const { json = false, manifest, write = false } = values;
  if (write && manifest === undefined) throw new UsageError("--write needs --manifest FILE.");
  const searchPaths = positionals.length === 0 ? DEFAULT_SEARCH_PATHS : positionals;
  const { tools, skipped, unread } = await discoverExecutables({
    ...ownersOf(values.owner),
    ...(positionals.length === 0 ? {} : { searchPaths }),
    ...(manifest === undefined || write ? {} : { manifest: await readManifest(manifest) }),
  });
  const isUnread = unread.length > 0;
  if (write && !isUnread) await writeManifest(manifest!, manifestOf(tools));

  const found = tools.map(({ name, description, effect, inputSchema, metadata }) => {
    const { path, digest } = metadata["executable"] as ExecutableInfo;
    return { name, description, effect, path, digest, inputSchema: inputSchema.jsonSchema };
  });
  process.stdout.write(
    json ? `${JSON.stringify({ tools: found, skipped }, undefined, 2)}\n` : listing(searchPaths, found, skipped),
  );
  if (write && isUnread)
    process.stderr.write(`toolstream: ${manifest!} is not written, since a folder could not be read.\n`);
  else if (write && !json)
    process.stdout.write(`\nWrote ${manifest!}. Known: ${found.length}; no other file is run with it.\n`);
  return isUnread ? 1 : 0;
}

interface Listed {
  readonly name: string;
  readonly description: string | undefined;
  readonly effect: string;
  readonly path: string;
}

function listing(
  searched: readonly string[],
  found: readonly Listed[],
  skipped: readonly { path: string; reason: string }[],
): string {
  const lines = found.flatMap(({ name, description, effect, path }) => [
    `${name}  (${effect})  ${printable(path)}`,
    ...(description === undefined ? [] : [`  ${short(description, 110)}`]),
  ]);
  if (found.length === 0) lines.push(`No tools in ${searched.join(" and ")}.`);
  if (skipped.length > 0) lines.push("", "Skipped:");
  for (const { path, reason } of skipped) lines.push(`  ${printable(path)}: ${short(reason, 300)}`);
  return `${lines.join("\n")}\n`;
}
