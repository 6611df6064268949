import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");

/**
 * What each floor may import, beside itself: other floors, or single files of them. A floor is a folder or a file of
 * src/, or an adapter.
 */
const floors: Record<string, readonly string[]> = {
  "src/errors.ts": [],
  "src/promise.ts": [],
  "src/quietly.ts": [],
  "src/time.ts": [],
  "src/json": ["src/errors.ts"],
  "src/schema": ["src/json", "src/promise.ts", "src/errors.ts"],
  "src/wire": ["src/json", "src/errors.ts"],
  "src/tool": ["src/schema", "src/promise.ts", "src/time.ts", "src/errors.ts"],
  "src/stream": ["src/json", "src/tool", "src/schema", "src/errors.ts"],
  "src/source.ts": ["src/schema/json.ts", "src/promise.ts"],
  "src/read": [
    "src/source.ts",
    "src/adapter.ts",
    "src/stream",
    "src/tool",
    "src/schema/json.ts",
    "src/wire",
    "src/promise.ts",
    "src/quietly.ts",
    "src/errors.ts",
  ],
  "src/adapter.ts": ["src/read", "src/stream", "src/tool", "src/schema", "src/wire", "src/errors.ts"],
  "src/model.ts": ["src/adapter.ts", "src/read", "src/stream", "src/tool"],
  "src/open-turn.ts": ["src/source.ts", "src/model.ts", "src/read", "src/wire", "src/json", "src/errors.ts"],
  "src/endpoint.ts": ["src/adapter.ts"],
  "src/pairing.ts": [],
  "src/text": [
    "src/source.ts",
    "src/read",
    "src/adapter.ts",
    "src/model.ts",
    "src/open-turn.ts",
    "src/pairing.ts",
    "src/stream",
    "src/tool",
    "src/schema",
    "src/json",
    "src/errors.ts",
  ],
  adapters: [
    "src/text",
    "src/adapter.ts",
    "src/model.ts",
    "src/open-turn.ts",
    "src/endpoint.ts",
    "src/pairing.ts",
    "src/read",
    "src/stream",
    "src/tool",
    "src/schema",
    "src/json",
    "src/wire",
    "src/errors.ts",
  ],
  "src/store": ["src/tool/option-names.ts", "src/json", "src/time.ts", "src/errors.ts"],
  "src/mcp": ["src/stream", "src/tool", "src/schema", "src/json", "src/time.ts", "src/errors.ts"],
  "src/executable": [
    "src/stream",
    "src/tool",
    "src/schema",
    "src/json",
    "src/quietly.ts",
    "src/time.ts",
    "src/errors.ts",
  ],
  "src/execute": [
    "src/stream",
    "src/tool",
    "src/schema",
    "src/store",
    "src/json",
    "src/quietly.ts",
    "src/time.ts",
    "src/errors.ts",
  ],
  "src/workers": [
    "src/execute",
    "src/tool",
    "src/schema",
    "src/store",
    "src/json",
    "src/quietly.ts",
    "src/time.ts",
    "src/errors.ts",
  ],
  "src/run": [
    "src/adapter.ts",
    "src/model.ts",
    "src/stream",
    "src/tool",
    "src/schema",
    "src/execute",
    "src/store",
    "src/json",
    "src/quietly.ts",
    "src/time.ts",
    "src/errors.ts",
  ],
  "src/replay": ["src/adapter.ts", "src/tool", "src/wire", "src/time.ts", "src/errors.ts"],
  "src/testing": [
    "src/source.ts",
    "src/adapter.ts",
    "src/model.ts",
    "src/open-turn.ts",
    "src/read",
    "src/stream",
    "src/tool",
    "src/replay",
    "src/wire",
    "src/errors.ts",
  ],
  "src/index.ts": [
    "src/adapter.ts",
    "src/model.ts",
    "src/open-turn.ts",
    "src/pairing.ts",
    "src/read",
    "src/stream",
    "src/tool",
    "src/schema",
    "src/json",
    "src/wire",
    "src/errors.ts",
  ],
  "src/cli": [
    "src/text",
    "src/index.ts",
    "src/adapter.ts",
    "src/model.ts",
    "src/read",
    "src/stream",
    "src/tool",
    "src/schema",
    "src/json",
    "src/wire",
    "src/executable",
    "src/replay",
    "src/testing",
    "src/time.ts",
    "src/errors.ts",
    "adapters",
  ],
};

/** Where `node:` may be imported: everything else runs in a browser or on an edge runtime. */
const nodeFloors = ["src/executable", "src/replay", "src/cli"];

/** Files of other floors that may: a driver on node:sqlite, with a subpath of its own. Nothing else imports them. */
const nodeFiles = ["src/store/sqlite.ts", "src/store/sqlite-file.ts"];

/** Provider SDKs: types only, and only in adapters. */
const sdks = ["openai", "@anthropic-ai/sdk", "@google/genai", "@google/generative-ai", "cohere-ai"];

const providers = /openai|anthropic|gemini|google|cohere|claude|gpt/i;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = globSync(["src/**/*.ts", "adapters/**/*.ts"], { cwd: root }).toSorted();
const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
const imports = files.flatMap(importsOf);

describe("layers", () => {
  it("finds the sources", () => {
    expect(files.length).toBeGreaterThan(30);
    expect(imports.length).toBeGreaterThan(60);
  });

  it("puts every source on a floor", () => {
    expect(files.filter((file) => floorOf(file) === undefined)).toEqual([]);
  });

  it("imports downhill only", () => {
    const uphill = imports
      .filter(({ to }) => to.startsWith("src/") || to.startsWith("adapters/"))
      .filter(({ from, to }) => {
        const here = floorOf(from)!;
        const there = floorOf(to);
        return there !== here && (there === undefined || ![there, to].some((one) => floors[here]!.includes(one)));
      });
    expect(uphill.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it("keeps adapters apart from each other", () => {
    const folder = (file: string) => file.split("/")[1];
    const siblings = imports.filter(
      ({ from, to }) => from.startsWith("adapters/") && to.startsWith("adapters/") && folder(from) !== folder(to),
    );
    expect(siblings.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it("imports node: only on the floors that touch the machine", () => {
    const strays = imports.filter(
      ({ from, to }) => to.startsWith("node:") && !nodeFloors.includes(floorOf(from)!) && !nodeFiles.includes(from),
    );
    expect(strays.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
    expect(imports.filter(({ from, to }) => nodeFiles.includes(to) && !nodeFiles.includes(from))).toEqual([]);
  });

  it("imports the provider SDKs for their types only, outside the command line", () => {
    const values = imports.filter(
      ({ from, to, typeOnly }) =>
        !from.startsWith("src/cli/") && !typeOnly && sdks.some((sdk) => to === sdk || to.startsWith(`${sdk}/`)),
    );
    expect(values.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it("names no provider in src/ outside the command line", () => {
    const named = [...sources].flatMap(([file, text]) => {
      if (!file.startsWith("src/") || file.startsWith("src/cli/")) return [];
      return withoutComments(text)
        .split("\n")
        .filter((line) => providers.test(line))
        .map((line) => `${file}: ${line.trim()}`);
    });
    expect(named).toEqual([]);
  });

  it("keeps decorator syntax out of the sources", () => {
    const decorated = [...sources].filter(([, text]) => /^\s*@[a-z]\w*\(/m.test(withoutComments(text)));
    expect(decorated.map(([file]) => file)).toEqual([]);
  });
});

function floorOf(file: string): string | undefined {
  return Object.keys(floors).find((floor) => file === floor || file.startsWith(`${floor}/`));
}

function importsOf(file: string): Import[] {
  const text = withoutComments(sources.get(file)!);
  const found: Import[] = [];
  const statement =
    /\b(?:import|export)\s+(type\s+)?(?:([^"';]*?)\s+from\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;
  for (const [, type, names, specifier, dynamic] of text.matchAll(statement)) {
    const target = specifier ?? dynamic!;
    const inline =
      names
        ?.match(/^\{(.*)\}$/s)?.[1]
        ?.split(",")
        .filter((name) => name.trim() !== "") ?? [];
    const typeOnly =
      type !== undefined || (inline.length > 0 && inline.every((name) => name.trim().startsWith("type ")));
    const to = target.startsWith(".") ? relative(root, join(root, dirname(file), target)) : target;
    found.push({ from: file, to, typeOnly });
  }
  return found;
}

/** Comments may name providers (they say where a rule comes from) and show decorators. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}
