import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { mark, onLinux, program, shTool } from "./support.ts";
import { soon } from "../soon.ts";

/** Starts a process that calls a tool, and says when the tool runs. */
function startHost(path: string, ending: string, env: Record<string, string> = {}, limits = "true") {
  const host = [process.execPath, join(import.meta.dirname, "host.ts"), path, ending];
  const child = spawn("/bin/sh", ["-c", `${limits} && exec "$@"`, "sh", ...host], {
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...env,
    },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  const closed = new Promise((done) => child.once("exit", (status, signal) => done(signal ?? status)));
  return { child, closed, printed: () => stdout };
}

// Started in a group of its own, a program hears no Ctrl-C and survives its host, unless the host ends it.
describe.runIf(onLinux)("on Linux, when the host ends, what it started ends", () => {
  const hangs = shTool(
    `[ -n "$QUICK" ] && { echo '{"success":true}'; exit; }\ntrap '' TERM INT HUP\nsleep 600 &\necho '{"progress":1}' >&2\nsleep 600`,
  );

  it.each([
    ["process.exit()", "exit", undefined, 3],
    ["an uncaught error", "throw", undefined, 1],
    ["SIGINT", "", "SIGINT", "SIGINT"],
    ["SIGTERM", "", "SIGTERM", "SIGTERM"],
    ["SIGHUP", "", "SIGHUP", "SIGHUP"],
    ["SIGINT, which the host handles itself", "own-handler", "SIGINT", 7],
    ["SIGTERM, which the host handles itself, once and not at once", "own-handler-once", "SIGTERM", 8],
    ["SIGTERM, after another program has ended", "after-another", "SIGTERM", "SIGTERM"],
    ["SIGINT, for which signal-exit listens", "signal-exit", "SIGINT", "SIGINT"],
    ["SIGINT, for which another copy of this library listens", "another-copy", "SIGINT", "SIGINT"],
  ] as const)("by %s", async (_, ending, signal, outcome) => {
    const { env, left } = mark();
    const { child, closed, printed } = startHost(program(hangs), ending, env);
    if (signal !== undefined) {
      await soon(() => expect(printed()).toBe("running\n"));
      child.kill(signal);
    }
    expect(await closed).toBe(outcome);
    await soon(() => expect(left()).toEqual([]));
  });
});

it.runIf(onLinux)(
  "on Linux, no room for more open files is an error with a code, and ends nobody's process",
  async () => {
    const tiny = program(shTool(`sleep 0.1; echo '{"success":true,"result":"room"}'`));
    const { closed, printed } = startHost(tiny, "many", {}, "ulimit -n 60");
    expect(await closed).toBe(0);
    const [codes, last] = printed().split("\n");
    expect(last).toBe("room");
    expect(["done", "spawn_failed"]).toEqual(expect.arrayContaining(JSON.parse(codes!) as string[]));
    expect(codes).toContain("spawn_failed");
  },
);

it("no listener of ours stays when no program runs", async () => {
  const { closed, printed } = startHost(program(shTool(`echo '{"success":true}'`)), "listeners");
  expect(await closed).toBe(0);
  expect(printed()).toBe("true\n");
});
