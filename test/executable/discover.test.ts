import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { defineTool, ToolRegistry } from "../../src/index.ts";
import {
  discoverExecutables,
  manifestOf,
  readManifest,
  writeManifest,
  type ExecutableManifest,
} from "../../src/executable/index.ts";
import { execute, failure, folder, program, shTool } from "./support.ts";

const named = (name: string, result: unknown = name) =>
  shTool(`echo '{"success":true,"result":"${result}"}'`, { name });

describe("discoverExecutables()", () => {
  it("finds the tools of a folder, in order, and says of all else why it is none", async () => {
    const root = folder();
    program(named("b"), { inside: root, name: "2-b" });
    program(named("a"), { inside: root, name: "1-a" });
    program("# Tools\n", { inside: root, name: "README.md", mode: 0o644 });
    program("#!/bin/sh\nexit 4\n", { inside: root, name: "broken" });
    program(named("hidden"), { inside: root, name: ".hidden" });
    mkdirSync(join(root, "lib"));
    symlinkSync(program(named("elsewhere")), join(root, "link"));
    program(named("A"), { inside: root, name: "3-also-a" });

    const { tools, skipped } = await discoverExecutables({ searchPaths: [root, join(root, "none")] });
    expect(tools.map((tool) => tool.name)).toEqual(["a", "b"]);
    expect(await execute(new ToolRegistry(tools).get("b")!)).toBe("b");
    const reasons = Object.fromEntries(skipped.map(({ path, reason }) => [path.replace(`${root}/`, ""), reason]));
    expect(reasons).toEqual({
      ".hidden": "is hidden",
      none: "is not there",
      "README.md": "is not executable: chmod +x makes it so",
      broken: expect.stringContaining("--schema ended with status 4"),
      lib: "is a folder",
      link: expect.stringMatching(/^leads out of /),
      "3-also-a": expect.stringMatching(/^is called A, and .*1-a came first with a$/),
    });
  });

  it("prefers the first search path", async () => {
    const [mine, theirs] = [folder(), folder()];
    program(named("search", "mine"), { inside: mine });
    program(named("search", "theirs"), { inside: theirs });
    const { tools, skipped } = await discoverExecutables({ searchPaths: [mine, theirs] });
    expect(await execute(tools[0]!)).toBe("mine");
    expect(skipped).toMatchObject([{ path: join(theirs, "tool"), code: "duplicate_tool" }]);
  });

  it("looks into ~/.toolstream/tools and ./tools, and does not mind if they are not there", async () => {
    const home = folder();
    vi.stubEnv("HOME", home);
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(home);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      cwd.mockRestore();
    });
    expect(await discoverExecutables()).toEqual({ tools: [], skipped: [], unread: [] });
    mkdirSync(join(home, ".toolstream/tools"), { recursive: true });
    program(named("mine"), { inside: join(home, ".toolstream/tools") });
    expect((await discoverExecutables()).tools.map((tool) => tool.name)).toEqual(["mine"]);
    expect((await discoverExecutables({ searchPaths: ["~/.toolstream/tools"] })).tools).toHaveLength(1);
    writeFileSync(join(home, "tools"), "");
    expect(await discoverExecutables()).toMatchObject({ unread: [join(home, "tools")] });
  });

  it("says which folders could not be read", async () => {
    const root = folder();
    const inner = join(root, "inner");
    mkdirSync(inner);
    const { skipped, unread } = await discoverExecutables({ searchPaths: [root, inner, join(root, "nowhere")] });
    expect(unread).toEqual([join(root, "nowhere")]);
    expect(skipped.map(({ path, reason }) => [path, reason])).toEqual([
      [join(root, "nowhere"), "is not there"],
      [inner, "is a folder"],
    ]);
  });

  it("gives each tool the effect that the caller says", async () => {
    const root = folder();
    program(named("a"), { inside: root, name: "a" });
    program(named("b"), { inside: root, name: "b" });
    const effect = (path: string) => (path.endsWith("/a") ? ("read" as const) : undefined);
    const { tools } = await discoverExecutables({ searchPaths: [root], effect });
    expect(tools.map((tool) => tool.effect)).toEqual(["read", "write"]);
  });

  it("runs no further program once the caller's own function has thrown", async () => {
    const inside = folder();
    const trace = folder();
    for (let at = 0; at < 20; at++) program(`#!/bin/sh\ntouch ${trace}/${at}\n`, { inside, name: `tool-${at}` });
    let calls = 0;
    const effect = () => {
      if (++calls === 3) throw new Error("mine");
      return undefined;
    };
    await expect(discoverExecutables({ searchPaths: [inside], effect })).rejects.toThrow("mine");
    expect(calls).toBeLessThan(5);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(readdirSync(trace).length).toBeLessThan(5);
  });

  it("one that hangs keeps only itself waiting", async () => {
    const root = folder();
    program("#!/bin/sh\nexec sleep 600\n", { inside: root, name: "hangs" });
    program(named("works"), { inside: root, name: "works" });
    const { tools, skipped } = await discoverExecutables({ searchPaths: [root], schemaTimeoutMs: 500, graceMs: 100 });
    expect(tools.map((tool) => tool.name)).toEqual(["works"]);
    expect(skipped).toMatchObject([{ code: "timeout" }]);
  });

  it("a folder of a thousand files is none of tools", async () => {
    const root = folder();
    for (let count = 0; count <= 1_000; count++) writeFileSync(join(root, `${count}`), "");
    const { tools, skipped } = await discoverExecutables({ searchPaths: [root] });
    expect(tools).toEqual([]);
    expect(skipped).toMatchObject([{ path: root, reason: expect.stringContaining("holds more than 1000 files") }]);
  });

  it("mistakes of the caller's are no skipped files", async () => {
    await expect(discoverExecutables({ searchPaths: [], timeoutMs: -1 })).rejects.toThrow(TypeError);
    await expect(discoverExecutables({ searchPaths: "./tools" as never })).rejects.toThrow(
      new TypeError('searchPaths is a list of folders, got "./tools"'),
    );
    const signal = AbortSignal.abort();
    const root = program(named("a")).replace(/\/tool$/, "");
    expect(await failure(discoverExecutables({ searchPaths: [root], signal }))).toMatchObject({ code: "aborted" });
  });
});

describe("a manifest", () => {
  it("lets only those through that it knows, as it knows them, and runs no other", async () => {
    const root = folder();
    const trace = join(folder(), "trace");
    program(named("same"), { inside: root, name: "same" });
    program(named("other"), { inside: root, name: "other" });
    const file = join(folder(), "manifest.json");
    const found = (await discoverExecutables({ searchPaths: [root] })).tools;
    const no = defineTool({ name: "no_program", inputSchema: {} });
    await writeManifest(file, manifestOf([...found, no]));
    expect(Object.keys((await readManifest(file)).executables)).toEqual([join(root, "other"), join(root, "same")]);
    program(`#!/bin/sh\ntouch ${trace}\n`, { inside: root, name: "other" });
    program(`#!/bin/sh\ntouch ${trace}\n`, { inside: root, name: "new" });

    const manifest = await readManifest(file);
    const { tools, skipped } = await discoverExecutables({ searchPaths: [root], manifest });
    expect(tools.map((tool) => tool.name)).toEqual(["same"]);
    expect(skipped).toMatchObject([
      { path: join(root, "new"), reason: "is not in the manifest", code: "executable_changed" },
      {
        path: join(root, "other"),
        reason: expect.stringMatching(
          /^is not the file that was looked at: it is sha256:.*, not sha256:.*\. Look at it again$/,
        ),
        code: "executable_changed",
      },
    ]);
    expect(() => symlinkSync("x", trace)).not.toThrow(); // nothing has made it
  });

  it("that cannot be written leaves nothing behind, and says which", async () => {
    const taken = join(folder(), "manifest.json");
    mkdirSync(taken);
    expect(await failure(writeManifest(taken, { version: 1, executables: {} }))).toMatchObject({
      code: "invalid_tool",
      message: expect.stringContaining(`The manifest ${taken} cannot be written`),
    });
    expect(readdirSync(dirname(taken))).toEqual(["manifest.json"]);
  });

  it("knows no file called constructor", async () => {
    const manifest: ExecutableManifest = { version: 1, executables: {} };
    const root = folder();
    program(named("a"), { inside: root, name: "constructor" });
    expect((await discoverExecutables({ searchPaths: [root], manifest })).tools).toEqual([]);
  });

  const executables = ["", "5", "null", '{"/a":{}}', '{"/a":null}'].map((all) => `{"version":1,"executables":${all}}`);
  it.each(["", "[]", "{}", '{"version":2,"executables":{}}', "null", ...executables])("is not %j", async (text) => {
    const file = join(folder(), "manifest.json");
    writeFileSync(file, text);
    expect(await failure(readManifest(file))).toMatchObject({ code: "invalid_tool" });
  });
});
