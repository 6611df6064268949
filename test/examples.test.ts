/** How the programs of examples/ are started. What they do is tested where the parts are that they show. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporary } from "./temporary.ts";

const root = join(import.meta.dirname, "..");

async function run(program: string, ...args: readonly string[]) {
  // No keys: what the machine has set must not decide a test.
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], NODE_NO_WARNINGS: "1" };
  const child = spawn(process.execPath, [join(root, "examples", program), ...args], { cwd: root, env });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
  }
  child.stdin.end();
  const status = await new Promise<number | null>((settle) => child.once("close", settle));
  return { status, ...said };
}

it.each(["chat/main.ts", "approval/main.ts", "approval/decide.ts", "benchmark/main.ts"])(
  "examples/%s says how it is called, also where there is no such option",
  async (program) => {
    const [asked, wrong] = await Promise.all([run(program, "--help"), run(program, "--frobnicate")]);
    expect(asked).toMatchObject({ status: 0, stderr: "" });
    expect(asked.stdout.startsWith(`node examples/${program} `)).toBe(true);
    expect(wrong).toEqual({ status: 2, stdout: "", stderr: `Unknown option '--frobnicate'.\n${asked.stdout}` });
  },
);

it.each([
  ["chat/main.ts", ["--live"], "--live needs the key of openai in OPENAI_API_KEY.\n"],
  ["chat/main.ts", ["--wire", "toString"], "--wire is one of openai, anthropic, got toString.\n"],
  ["chat/main.ts", ["--state", "package.json"], "--state is a folder that can be written to: EEXIST"],
  ["approval/main.ts", ["--port", "soon"], '--port is a number from 0 to 65535, got "soon".\n'],
  ["approval/main.ts", ["--port", "70000"], '--port is a number from 0 to 65535, got "70000".\n'],
  ["approval/decide.ts", ["localhost"], "Which address?\n"],
  ["approval/decide.ts", ["ws://localhost:1", "maybe"], "approve or deny?\n"],
])("examples/%s %j says what is missing, without a stack", async (program, args, words) => {
  const { status, stdout, stderr } = await run(program, ...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr.startsWith(words)).toBe(true);
  expect(stderr).not.toMatch(/\n\s+at /);
});

it("examples/approval/main.ts says why its server cannot listen", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const { status, stderr } = await run("approval/main.ts", "--state", temporary(), "--port", String(port));
  expect(status).toBe(1);
  expect(stderr).toMatch(/^The WebSocket server cannot listen: .*EADDRINUSE.*\n$/);
});
