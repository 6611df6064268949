import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "..");

/** One fenced block of a page. */
export interface DocBlock {
  /** From the root of the repository, for example `docs/tools.md`. */
  readonly page: string;
  /** Of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /**
   * What its reader does not see: the lines of a comment `<!-- ts ... -->` right above it, which declare what the
   * example takes for granted. Each with its own line.
   */
  readonly setup: readonly { readonly line: number; readonly code: string }[];
}

/** The pages whose examples are checked. */
export function pages(): string[] {
  const docs = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));
  return ["README.md", ...docs.toSorted().map((file) => `docs/${file}`)];
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): DocBlock[] {
  const lines = readFileSync(join(root, page), "utf8").split("\n");
  const blocks: DocBlock[] = [];
  let setup: { line: number; code: string }[] = [];
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at]!;
    if (text.trim() === "<!-- ts") {
      while (++at < lines.length && lines[at]!.trim() !== "-->") setup.push({ line: at + 1, code: lines[at]! });
      continue;
    }
    const fence = /^(\s*)(`{3,})\s*([\w-]*)/.exec(text);
    if (fence === null) {
      if (text.trim() !== "") setup = [];
      continue;
    }
    const [, , ticks = "", language = ""] = fence;
    const start = at + 1;
    while (++at < lines.length && lines[at]!.trim() !== ticks);
    blocks.push({ page, line: start + 1, language, code: lines.slice(start, at).join("\n"), setup });
    setup = [];
  }
  return blocks;
}

/** A block as a module of its own, in which every line has the number that it has on its page. */
export function moduleOf({ line, code, setup }: DocBlock): string {
  const lines: string[] = [];
  for (const hidden of setup) lines[hidden.line - 1] = hidden.code;
  code.split("\n").forEach((text, index) => (lines[line - 1 + index] = text));
  // Without an import or export of its own it would share its names with all the others.
  return `${Array.from(lines, (text) => text ?? "").join("\n")}\nexport {};\n`;
}
