#!/usr/bin/env node
// A tool in Node: the lines in the files of a folder that hold a text.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { json } from "node:stream/consumers";

const schema = {
  name: "find_text",
  description: "Find a text in the files of a folder and its subfolders. Gives file, line number and line.",
  effect: "read",
  inputSchema: {
    type: "object",
    properties: {
      folder: { type: "string" },
      text: { type: "string", minLength: 1 },
      ending: { type: "string", description: "Only in files whose name ends with this, for example .ts" },
      limit: { type: "integer", minimum: 1, maximum: 1000 },
    },
    required: ["folder", "text"],
    additionalProperties: false,
  },
};

async function find({ folder, text, ending = "", limit = 100 }) {
  const matches = [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(ending));
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  for (const [at, path] of paths.entries()) {
    if (at % 100 === 0) console.error(JSON.stringify({ progress: at / paths.length }));
    const content = await readFile(path, "utf8");
    for (const [index, line] of content.split("\n").entries()) {
      if (!line.includes(text)) continue;
      matches.push({ file: relative(folder, path), line: index + 1, text: line.slice(0, 500).toWellFormed() });
      if (matches.length === limit) return { matches, more: true };
    }
  }
  return { matches, more: false };
}

if (process.argv[2] === "--schema") {
  console.log(JSON.stringify(schema));
} else {
  try {
    console.log(JSON.stringify({ success: true, result: await find(await json(process.stdin)) }));
  } catch (error) {
    console.log(JSON.stringify({ success: false, error: error.message }));
    process.exitCode = 1;
  }
}
