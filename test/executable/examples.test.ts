import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ToolRegistry } from "../../src/index.ts";
import { discoverExecutables } from "../../src/executable/index.ts";
import { execute, failure, folder } from "./support.ts";

const examples = resolve(import.meta.dirname, "../../examples/executables");

/** Copies, since the rights of the repository's own folders are not ours to say. */
async function load(env: Record<string, string> = {}) {
  const root = folder();
  for (const name of readdirSync(examples)) {
    copyFileSync(join(examples, name), join(root, name));
    chmodSync(join(root, name), 0o755);
  }
  const { tools, skipped } = await discoverExecutables({ searchPaths: [root], schemaTimeoutMs: 30_000, env });
  expect(skipped).toEqual([]);
  return new ToolRegistry(tools);
}

describe("the examples", () => {
  it("are tools, in Python, Bash and Node", async () => {
    const tools = await load();
    expect(tools.tools().map(({ name, effect }) => [name, effect])).toEqual([
      ["csv_summary", "read"],
      ["disk_usage", "read"],
      ["find_text", "read"],
    ]);
  });

  it("csv_summary says what the columns hold", async () => {
    const file = join(folder(), "cities.csv");
    writeFileSync(file, "\ufeffcity,degrees,rain\nOslo,-3,nan\nBergen,5,2\nOslo,,\n");
    const tool = (await load()).get("csv_summary")!;
    expect(await execute(tool, { file })).toEqual({
      rows: 3,
      columns: {
        city: { values: 3, distinct: 2 },
        degrees: { values: 2, distinct: 2, min: -3, max: 5, mean: 1 },
        rain: { values: 2, distinct: 2 },
      },
    });
    expect(await failure(execute(tool, { file: "/none" }))).toMatchObject({
      code: "tool_failed",
      message: expect.stringContaining("No such file"),
    });
  });

  it("csv_summary reads UTF-8 where the system's encoding is another one (stashapp/CommunityScrapers#2752)", async () => {
    const file = join(folder(), "städte.csv");
    writeFileSync(file, "city\nOslo\n");
    const tool = (await load({ PYTHONIOENCODING: "cp1252" })).get("csv_summary")!;
    expect(await execute(tool, { file })).toMatchObject({ rows: 1 });
  });

  it("disk_usage lists the largest first", async () => {
    const root = folder();
    mkdirSync(join(root, "large folder"));
    writeFileSync(join(root, "large folder/file"), "x".repeat(200_000));
    writeFileSync(join(root, "small"), "x");
    writeFileSync(join(root, 'odd"name'), "x");
    const tool = (await load()).get("disk_usage")!;
    const result = await execute(tool, { folder: root });
    expect(result).toMatchObject({ folder: root, entries: [{ name: "large folder" }, { name: "small" }] });
    expect(await execute(tool, { folder: root, count: 1 })).toMatchObject({ entries: [{ name: "large folder" }] });
    expect(await failure(execute(tool, { folder: `${root}/none` }))).toMatchObject({ code: "tool_failed" });
    expect(() => tool.use({ folder: 'a"; rm -rf /' })).toThrow("does not fit its schema");
  });

  it("find_text finds lines, and tells its progress", async () => {
    const root = folder();
    mkdirSync(join(root, "deep"));
    writeFileSync(join(root, "deep/a.txt"), "one\nneedle two\n");
    writeFileSync(join(root, "b.md"), "needle\n");
    const tool = (await load()).get("find_text")!;
    const progress = vi.fn(async () => {});
    expect(await execute(tool, { folder: root, text: "needle" }, { progress })).toEqual({
      matches: [
        { file: "b.md", line: 1, text: "needle" },
        { file: "deep/a.txt", line: 2, text: "needle two" },
      ],
      more: false,
    });
    expect(progress).toHaveBeenCalledWith({ progress: 0 });
    expect(await execute(tool, { folder: root, text: "needle", ending: ".md" })).toMatchObject({
      matches: [{ file: "b.md" }],
    });
    expect(await failure(execute(tool, { folder: "/none", text: "x" }))).toMatchObject({
      message: expect.stringContaining("ENOENT"),
    });
  });
});
