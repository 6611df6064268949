import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { main, run } from "./command.ts";

const commands = ["replay", "serve", "record", "schema", "tools", "exec", "demo"];

describe("toolstream", () => {
  it("lists its commands", async () => {
    const [asked, bare] = await Promise.all([run(["--help"]), run([])]);
    // With what each is for, in a sentence.
    for (const command of commands)
      expect(asked.stdout).toMatch(new RegExp(`  toolstream ${command} .*\\n {6}[A-Z].*\\.\\n`));
    expect(asked.status).toBe(0);
    expect(bare).toEqual({ ...asked, status: 2 });
  });

  it("says its version", async () => {
    const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8"));
    expect(await run(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
  });

  it.each(commands)("%s --help says how it is called, and so does help %s", async (command) => {
    const [asked, other] = await Promise.all([run([command, "--help"]), run(["help", command])]);
    expect(asked).toMatchObject({ status: 0, stderr: "" });
    expect(asked.stdout).toMatch(new RegExp(`^toolstream ${command} `));
    expect(other).toEqual(asked);
  });

  it.each([
    [["frobnicate"], 'there is no command "frobnicate"'],
    [["repaly"], 'there is no command "repaly". Did you mean replay?'],
    [["help", "frobnicate"], 'there is no command "frobnicate"'],
    [["replay"], "replay needs at least one file"],
    // A folder of that name would be the current one, whose programs would be started.
    [["replay", ""], "An argument is empty."],
    [["tools", ""], "An argument is empty."],
    [["serve", ""], "An argument is empty."],
    [["replay", "x", "--wire", "hermes"], "hermes is how calls are written in a text, not a wire: use --text hermes."],
    [["replay", "x", "--wire", "text-json/kimi"], "not a wire: use --text kimi."],
    [["replay", "x", "--wire", "text-helpers"], "not a wire: use --text helpers."],
    [["replay", "--frobnicate", "x"], "Unknown option '--frobnicate'. The options are --wire, --text,"],
    [["exec", "x", "--timout=1"], "Unknown option '--timout'. Did you mean --timeout? The options are --input,"],
    [["replay", "x", "--speed", "-1"], "To specify an option argument starting with a dash use '--speed=-XYZ'.\n"],
    [["replay", "x", "--wire"], "Option '--wire <value>' argument missing"],
    [["replay", "x", "--text", "xml"], 'There is no notation "xml". The notations are: helpers, hermes,'],
    [["schema", "--tools", "fixtures/tools.json"], "schema needs --tools and --provider"],
    [["schema", "--tools", "fixtures/tools.json", "--provider", "bedrock"], 'There is no wire "bedrock"'],
    [["schema", "x"], "Unexpected argument 'x'"],
    [["record", "--wire", "openai"], "record needs --wire, --url and --out"],
    [["record", "--wire", "openai", "--url", "http://x", "--out", ""], "record needs --wire, --url and --out"],
    [["record", "--wire", "openai", "--url", "ftp://x", "--out", "x"], "url has to be an http or https URL"],
    [["record", "--wire", "openai", "--url", "http://u:p@x", "--out", "x"], "url has a user or a password in it"],
    [["serve", "a", "b"], "serve takes one folder"],
    [["serve", "--port", "70000"], "--port is a number from 0 to 65535"],
    [["exec"], "exec takes one tool"],
    [["exec", "a", "b"], "exec takes one tool"],
    [["exec", "a", "--input", "{"], "--input is not JSON"],
    [["exec", "a", "--timeout", "soon"], "--timeout is a number of milliseconds"],
    [["tools", "--owner", "ada"], "--owner is the number of a user"],
    [["tools", "--write"], "--write needs --manifest"],
    [["demo", "--live", "bedrock"], 'There is no wire "bedrock"'],
    [["demo", "--live", "text"], 'There is no wire "text"'],
    [["schema", "--tools", "fixtures/tools.json", "--provider", "text"], 'There is no wire "text"'],
    [["record", "--wire", "text", "--url", "http://x", "--out", "x"], 'There is no wire "text"'],
    [["demo", "--model", "x"], "need --live"],
  ])("refuses %j with status 2, in words", async (args, words) => {
    const { status, stdout, stderr } = await run(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^toolstream: /);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("does not mind a reader who has seen enough", async () => {
    const fixtures = join(import.meta.dirname, "../../fixtures");
    const child = spawn(process.execPath, [main, "replay", "--json", fixtures], { stdio: ["ignore", "pipe", "pipe"] });
    let stderr = "";
    child.stderr.on("data", (text) => (stderr += text));
    child.stdout.once("data", () => child.stdout.destroy());
    const status = await new Promise((settle) => child.once("close", settle));
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("gives what was asked for, though nobody reads the complaints", async () => {
    const call = join(import.meta.dirname, "../../fixtures/cohere/one-call");
    const args = [main, "replay", "--wire", "cohere", "not-there", "nor-this", call];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.stderr.destroy();
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    const status = await new Promise((settle) => child.once("close", settle));
    expect(status).toBe(1);
    expect(stdout).toContain("use       get_weather");
  });

  it.skipIf(!existsSync("/dev/full"))(
    "says in words that its output cannot be written (to /dev/full, where there is one)",
    async () => {
      const full = openSync("/dev/full", "w"); // Linux's disk without room
      const child = spawn(process.execPath, [main, "--help"], { stdio: ["ignore", full, "pipe"] });
      closeSync(full);
      let stderr = "";
      child.stderr!.on("data", (text) => (stderr += text));
      const status = await new Promise((settle) => child.once("close", settle));
      expect(status).toBe(1);
      expect(stderr).toMatch(/^toolstream: the output cannot be written: ENOSPC.*\n$/);
    },
  );
});
