import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { TOOL_ERROR_CODES } from "../src/errors.ts";
import { blocksOf, moduleOf, pages, root, type DocBlock } from "./doc-blocks.ts";

/**
 * What people copy first is right: every TypeScript block of the README and of docs/ is type-checked against the sources,
 * with the imports that a reader would write. Blocks that only show data are `json` or `text`.
 */
const blocks = pages().flatMap(blocksOf);
const examples = blocks.filter(({ language }) => language === "ts");
const folder = join(root, "node_modules/.cache/docs");

describe("the examples", () => {
  let errors: readonly string[] = [];

  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    // Without it the search for the kind of module ends at node_modules.
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    for (const block of examples) writeFileSync(join(folder, fileOf(block)), moduleOf(block));
    const up = relative(folder, root);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: `${up}/tsconfig.json`,
        compilerOptions: { paths: sources(up), typeRoots: [`${up}/node_modules/@types`] },
        include: ["*.ts"],
        exclude: [],
      }),
    );
    errors = await typeErrors();
  }, 180_000);

  it("are there", () => {
    expect(examples.length).toBeGreaterThan(20);
  });

  it.each(examples.map((block) => [`${block.page}:${block.line}`, block] as const))("%s", (_, block) => {
    const ours = errors.filter((error) => error.startsWith(`${fileOf(block)}(`));
    expect(ours.map((error) => error.replace(fileOf(block), block.page))).toEqual([]);
  });

  it("break nothing else", () => {
    expect(errors.filter((error) => !examples.some((block) => error.startsWith(`${fileOf(block)}(`)))).toEqual([]);
  });
});

it.each([
  ["docs/run.md", "src/run/options.ts", "OrchestratorOptions"],
  ["docs/run.md", "src/run/types.ts", "RunOptions<Message = any> extends RunContext"],
  ["docs/run.md", "src/run/types.ts", "RunContext"],
  ["docs/execute.md", "src/execute/options.ts", "ToolExecutorOptions"],
  ["docs/approvals.md", "src/execute/approvals/options.ts", "ApprovalServiceOptions"],
  ["docs/replay.md", "src/replay/behavior.ts", "ReplayBehavior"],
])("%s tells of every option: %s, %s", (page, file, name) => {
  const [, source = ""] = readFileSync(join(root, file), "utf8").split(`interface ${name}`);
  const options = [...source.split("\n}", 1)[0]!.matchAll(/^  readonly (\w+)/gm)].map(([, option]) => option!);
  expect(options.length).toBeGreaterThan(3);
  const rows = readFileSync(join(root, page), "utf8").match(/^\|.*?\|/gm) ?? [];
  expect(options.filter((option) => !rows.some((row) => row.includes(`\`${option}\``)))).toEqual([]);
});

it.each([
  ["docs/tools.md", "src/tool/tool.ts", "ToolDefinition"],
  ["docs/tools.md", "src/tool/lower-tools.ts", "ToolsOptions"],
  ["docs/execute.md", "src/tool/policy.ts", "ToolPolicy"],
  ["docs/execute.md", "src/execute/context.ts", "ExecutionContext"],
  ["docs/execute.md", "src/execute/undo.ts", "UndoOptions"],
  ["docs/execute.md", "src/execute/telemetry.ts", "OpenTelemetryOptions"],
  ["docs/streams.md", "src/read/index.ts", "ReadOptions"],
  ["docs/streams.md", "src/stream/limits.ts", "Limits"],
  ["docs/run.md", "src/model.ts", "ModelOptions"],
  ["docs/run.md", "src/run/budgets.ts", "Budgets"],
  ["docs/run.md", "src/run/types.ts", "ResumeOptions"],
  ["docs/run.md", "src/run/types.ts", "ToolResultInput"],
  ["docs/approvals.md", "src/execute/approvals/guard.ts", "GuardOptions"],
  ["docs/approvals.md", "src/execute/approvals/http.ts", "ApprovalHandlerOptions"],
  ["docs/approvals.md", "src/execute/approvals/sockets.ts", "ApprovalSocketsOptions"],
  ["docs/stores.md", "src/store/store.ts", "PutOptions"],
  ["docs/stores.md", "src/store/store.ts", "ListOptions"],
  ["docs/stores.md", "src/store/sqlite.ts", "SqliteStoreOptions"],
  ["docs/stores.md", "src/store/redis.ts", "RedisStoreOptions"],
  ["docs/executables.md", "src/executable/options.ts", "ExecutableRunOptions"],
  ["docs/executables.md", "src/executable/options.ts", "ExecutableOptions"],
  ["docs/executables.md", "src/executable/discover.ts", "DiscoverOptions"],
  ["docs/mcp.md", "src/mcp/types.ts", "McpToolsOptions"],
  ["docs/mcp.md", "src/mcp/serve.ts", "ServeMcpOptions"],
  ["docs/workers.md", "src/workers/tools.ts", "BullmqToolsOptions"],
  ["docs/workers.md", "src/workers/worker.ts", "BullmqWorkerOptions"],
  ["docs/replay.md", "src/replay/serve.ts", "ServeOptions"],
  ["docs/replay.md", "src/replay/proxy.ts", "ProxyOptions"],
  ["docs/text-calls.md", "adapters/text-helpers/notation.ts", "HelperTags"],
  ["docs/text-calls.md", "adapters/text-json/index.ts", "RescueTextCallsOptions"],
])("%s names every option: %s, %s", (page, file, name) => {
  const [, source = ""] = readFileSync(join(root, file), "utf8").split(new RegExp(`interface ${name}\\b`));
  const options = [...source.split("\n}", 1)[0]!.matchAll(/^  (?:readonly )?(\w+)\??:/gm)].map(([, option]) => option!);
  expect(options.length).toBeGreaterThan(0);
  const text = readFileSync(join(root, page), "utf8");
  expect(options.filter((option) => !new RegExp(`\\b${option}\\b`).test(text))).toEqual([]);
});

it.each(examples.map((block) => [`${block.page}:${block.line}`, block] as const))(
  "%s shows the imports of what it uses",
  (_, { setup, code }) => {
    const hidden = setup.flatMap(
      ({ code: line }) => /^import (?:type )?(.*) from "/.exec(line)?.[1]?.match(/\w+/g) ?? [],
    );
    expect(hidden.filter((name) => name !== "type" && new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  },
);

it("blocks say what they are", () => {
  const languages = new Set(["ts", "json", "sh", "text"]);
  expect(blocks.filter(({ language }) => !languages.has(language)).map(({ page, line }) => `${page}:${line}`)).toEqual(
    [],
  );
});

it.each(blocks.filter(({ language }) => language === "json").map(({ page, line, code }) => [`${page}:${line}`, code]))(
  "%s is JSON",
  (_, code) => {
    expect(() => JSON.parse(code!)).not.toThrow();
  },
);

it("every error code has its line in docs/streams.md", () => {
  const text = readFileSync(join(root, "docs/streams.md"), "utf8");
  expect(TOOL_ERROR_CODES.filter((code) => !text.includes(`| \`${code}\``))).toEqual([]);
});

it.each(pages())("the links of %s lead somewhere", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  const targets = Array.from(text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g), ([, target]) => target!);
  expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
});

it.each(pages())("%s leads to no source: the package has the types, and their comments, in its place", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  expect(text.match(/\]\((?:\.\.\/)?(?:src|adapters)\/[^)]*\)/g) ?? []).toEqual([]);
});

it("the pages that the README speaks of are in the package", () => {
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };
  const text = readFileSync(join(root, "README.md"), "utf8");
  const targets = Array.from(text.matchAll(/\]\(((?:docs\/|CHANGELOG)[^)#\s]*)/g), ([, target]) => target!);
  expect(targets.length).toBeGreaterThan(15);
  expect(targets.filter((target) => !files.includes(target.split("/")[0]!))).toEqual([]);
});

/** `docs/tools.md` from line 12 on is `docs_tools.md_12.ts`. */
function fileOf({ page, line }: DocBlock): string {
  return `${page.replaceAll("/", "_")}_${line}.ts`;
}

/** What a user imports, and the source file that it is. */
function sources(up: string): Record<string, readonly string[]> {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, string | { types: string }>;
  };
  const entries = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string"
      ? []
      : [[path.replace(/^\./, "toolstream"), [target.types.replace("./dist", up).replace(".d.ts", ".ts")]] as const],
  );
  return Object.fromEntries(entries);
}

/** The errors of `tsc`, one a line: `docs_tools.md_12.ts(14,3): error TS2339: ...`. */
function typeErrors(): Promise<readonly string[]> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  return new Promise((done, fail) => {
    execFile(process.execPath, [tsc, "-p", "tsconfig.json", "--pretty", "false"], { cwd: folder }, (error, stdout) => {
      if (error !== null && typeof error.code !== "number") fail(error);
      else done(stdout.split("\n").filter((line) => /^\S.*: error TS\d+/.test(line)));
    });
  });
}
