import { chmodSync, chownSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/json/index.ts";
import { folderWith, run } from "./command.ts";

const greet = `#!/bin/sh
[ "$1" = --schema ] && { echo '{"name":"greet","description":"Greets.","effect":"read","parameters":{"name":{"type":"string","required":true}}}'; exit; }
echo '{"progress":1}' >&2
echo 'careful' >&2
input=$(cat)
case "$input" in *Ada*) echo '{"success":true,"result":{"text":"Hello, Ada"}}';; *slow*) sleep 600;; *) echo '{"success":false,"error":"I know no such person"}'; exit 1;; esac
`;

function tools(): string {
  const folder = folderWith({ greet, "README.md": "# Tools\\n" });
  chmodSync(join(folder, "greet"), 0o755);
  chmodSync(join(folder, "README.md"), 0o644);
  return folder;
}

describe("toolstream exec", () => {
  it("prints the result", async () => {
    const outcome = await run(["exec", join(tools(), "greet"), "--input", '{"name":"Ada"}']);
    expect(outcome).toEqual({ status: 0, stdout: '{\n  "text": "Hello, Ada"\n}\n', stderr: "" });
  });

  it("reads the input from stdin, and shows progress when asked", async () => {
    const outcome = await run(["exec", join(tools(), "greet"), "--input", "-", "--progress"], {
      input: '{"name":"Ada"}',
    });
    expect(outcome).toMatchObject({ status: 0, stderr: '{"progress":1}\n' });
  });

  it.each([
    ["an answer", "", "loading\n", /no JSON; it has to print one JSON object.*\nIt printed: loading\n.*\ncareful\n$/s],
    ["a schema", "loading\n", "", /--schema printed what is no JSON\. It says: loading\nIt printed: loading\n/],
  ])("shows what the program printed in place of %s", async (_, schema, answer, words) => {
    const printing = greet
      .replace('echo \'{"name"', `printf '${schema}'; $&`)
      .replace("input=", `printf '${answer}'; $&`);
    const folder = folderWith({ greet: printing });
    chmodSync(join(folder, "greet"), 0o755);
    const outcome = await run(["exec", join(folder, "greet"), "--input", '{"name":"Ada"}']);
    expect(outcome).toMatchObject({ status: 1, stdout: "", stderr: expect.stringMatching(words) });
  });

  it.each([
    ["its error", '{"name":"Bob"}', [], "toolstream: Tool greet failed: I know no such person\ncareful\n"],
    ["what does not fit its schema", "{}", [], "toolstream: The input of greet does not fit its schema: "],
    ["that it took too long", '{"name":"slow"}', ["--timeout", "300"], "The program took longer than 300 ms"],
  ])("fails with %s on stderr and status 1", async (_, input, more, words) => {
    const outcome = await run(["exec", join(tools(), "greet"), "--input", input, ...more]);
    expect(outcome).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(words) });
  });

  it("hands on the keys of the input, also where V8 reads them wrong", async () => {
    const echo = `#!/bin/sh
[ "$1" = --schema ] && { echo '{"name":"echo","parameters":{"a":{"type":"object"},"b":{"type":"object"}}}'; exit; }
printf '{"success":true,"result":%s}' "$(cat)"
`;
    const folder = folderWith({ echo });
    chmodSync(join(folder, "echo"), 0o755);
    // https://github.com/nodejs/node/issues/63785
    const input = { a: { first: [], "\\": 0 }, b: { first: 1, '"': 2 } };
    const { stdout } = await run(["exec", join(folder, "echo"), "--input", JSON.stringify(input)]);
    expect(parseJson(stdout)).toEqual(input);
  });

  it("finds a tool by its name", async () => {
    const home = folderWith({});
    mkdirSync(join(home, ".toolstream"));
    const { status, stderr } = await run(["exec", "greet"], { env: { HOME: home } });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'toolstream: There is no tool "greet" in ~/.toolstream/tools and ./tools. There are: none.\n',
    });
  });

  it("names the tools that there are, and how many files are none", async () => {
    const home = folderWith({});
    mkdirSync(join(home, ".toolstream"));
    renameSync(tools(), join(home, ".toolstream/tools"));
    const env = { HOME: home };
    expect((await run(["exec", "greet", "--input", '{"name":"Ada"}'], { env })).stdout).toContain("Hello, Ada");
    expect((await run(["exec", "great"], { env })).stderr).toContain(
      "There are: greet. Skipped: 1; toolstream tools says why.\n",
    );
  });

  it("finds no tool by a name that is longer than a file's can be", async () => {
    const { status, stderr } = await run(["exec", "x".repeat(300)], { env: { HOME: folderWith({}) } });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^toolstream: There is no tool "x+" in .*\n$/),
    });
  });

  it("says how to call a file of the current folder", async () => {
    const { status, stderr } = await run(["exec", "package.json"], { env: { HOME: folderWith({}) } });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/ For the file here, give its path: \.\/package\.json\n$/),
    });
  });

  it("says why a file cannot be run", async () => {
    const outcome = await run(["exec", join(tools(), "README.md")]);
    expect(outcome).toMatchObject({ status: 1, stderr: expect.stringContaining("is not executable") });
    expect(outcome.stderr).not.toMatch(/\n\s+at /);
  });
});

it.runIf(process.getuid?.() === 0)("as root, runs the files of others when they are named", async () => {
  const folder = tools();
  chownSync(join(folder, "greet"), 12345, 12345);
  const input = ["--input", '{"name":"Ada"}'];
  const refused = await run(["exec", join(folder, "greet"), ...input]);
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("belongs to user 12345") });
  expect(await run(["exec", join(folder, "greet"), ...input, "--owner", "12345"])).toMatchObject({ status: 0 });
  expect((await run(["tools", folder, "--owner", "12345"])).stdout).toContain("greet  (read)");
});

describe("toolstream tools", () => {
  it("lists what is a tool, and why the rest is none", async () => {
    const folder = tools();
    const { status, stdout } = await run(["tools", folder]);
    expect(status).toBe(0);
    expect(stdout).toBe(
      `greet  (read)  ${folder}/greet\n  Greets.\n\nSkipped:\n  ${folder}/README.md: is not executable: chmod +x makes it so\n`,
    );
  });

  it.each([
    ["nowhere", "is not there"],
    ["package.json", "is no folder"],
  ])("fails for %s, which %s, and lists the others", async (dir, reason) => {
    const { status, stdout } = await run(["tools", dir, tools()]);
    expect(status).toBe(1);
    expect(stdout).toContain("greet  (read)");
    expect(stdout).toContain(`${dir}: ${reason}\n`);
  });

  it("as JSON", async () => {
    const folder = tools();
    const { stdout } = await run(["tools", folder, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      tools: [
        { name: "greet", effect: "read", digest: expect.stringMatching(/^sha256:/), inputSchema: { type: "object" } },
      ],
      skipped: [{ path: `${folder}/README.md`, code: "executable_refused" }],
    });
  });

  it("says where it looked if there are none", async () => {
    const folder = folderWith({});
    expect(await run(["tools", folder])).toEqual({ status: 0, stdout: `No tools in ${folder}.\n`, stderr: "" });
  });

  it("knows what a manifest knows", async () => {
    const folder = tools();
    const manifest = join(folderWith({}), "manifest.json");
    expect(await run(["tools", folder, "--manifest", manifest])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("cannot be read"),
    });
    const asJson = await run(["tools", folder, "--manifest", manifest, "--write", "--json"]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ tools: [{ name: "greet" }] });
    const written = await run(["tools", folder, "--manifest", manifest, "--write"]);
    expect(written.stdout).toContain(`\nWrote ${manifest}. Known: 1; no other file is run with it.\n`);
    expect(await run(["tools", folder, "--manifest", join(folder, "nowhere/m.json"), "--write"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^toolstream: The manifest .*m\.json cannot be written: ENOENT.*m\.json'\n$/),
    });
    expect((await run(["tools", folder, "--manifest", manifest])).stdout).toContain("greet  (read)");
    const mistyped = await run(["tools", `${folder}s`, "--manifest", manifest, "--write"]);
    expect(mistyped).toMatchObject({ status: 1, stderr: expect.stringContaining("is not written") });
    expect((await run(["tools", folder, "--manifest", manifest])).stdout).toContain("greet  (read)"); // it still knows
    mkdirSync(join(folder, "more")); // a folder in one is no tool, and one to look into all the same
    expect(await run(["tools", folder, join(folder, "more"), "--manifest", manifest, "--write"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Known: 1"),
    });
    const changed = folderWith({ greet: `${greet}# changed` });
    expect((await run(["tools", changed, "--manifest", manifest])).stdout).toContain("is not in the manifest");
  });
});
