import { readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loadExecutable } from "../../src/executable/index.ts";
import { execute, mark, onLinux, program, shTool, zombies } from "./support.ts";
import { soon } from "../soon.ts";

const tiny = shTool(`read -r input; printf '{"success":true,"result":%s}' "$input"`, {
  parameters: '{"n":{"type":"number"}}',
});

const kinds = (pattern: RegExp) => process.getActiveResourcesInfo().filter((kind) => pattern.test(kind)).length;

/** What this process holds: open files, what keeps its event loop alive, and who listens to its end. */
const held = () => ({
  files: onLinux ? readdirSync("/proc/self/fd").length : 0,
  pipes: kinds(/Pipe|Process/),
  timers: Math.max(kinds(/Timeout/), 10), // the test runner has a few of its own, that come and go
  listeners: ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name)),
});

/** Pipes close a little later than the call. */
async function settled(before: ReturnType<typeof held>): Promise<void> {
  await soon(() => expect(held()).toEqual(before));
}

describe("many calls", () => {
  it("1,000 in a row leave no zombie, no pipe and no listener", async () => {
    const before = held();
    const { env, left } = mark();
    const tool = await loadExecutable(program(tiny), { env });
    const signal = new AbortController().signal;
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    for (let n = 0; n < 1_000; n++) expect(await execute(tool, { n }, { signal })).toEqual({ n });
    await settled(before);
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
    if (onLinux) expect({ zombies: zombies(), left: left() }).toEqual({ zombies: 0, left: [] });
  });

  it("50 at once answer each its own caller, and leave nothing either", async () => {
    const before = held();
    const { env, left } = mark();
    const tool = await loadExecutable(program(tiny), { env });
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    expect(await Promise.all(numbers.map((n) => execute(tool, { n })))).toEqual(numbers.map((n) => ({ n })));
    await settled(before);
    if (onLinux) expect({ zombies: zombies(), left: left() }).toEqual({ zombies: 0, left: [] });
  });

  it("20 that are all given up leave nothing either", async () => {
    const before = held();
    const { env, left } = mark();
    const tool = await loadExecutable(program(shTool("sleep 600 & wait")), { env, timeoutMs: 100, graceMs: 50 });
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => execute(tool)));
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    await settled(before);
    if (onLinux) await soon(() => expect({ zombies: zombies(), left: left() }).toEqual({ zombies: 0, left: [] }));
  });
});

it("an answer that comes byte by byte takes no more memory than its bytes", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used = () => (collect(), process.memoryUsage().heapUsed);
  const body = `yes '' | dd bs=1 count=500000 2>&-; echo '{"progress":1}' >&2; sleep 0.5; echo '{"success":true,"result":1}'`;
  const tool = await loadExecutable(program(shTool(body)));
  const before = used();
  let then = 0;
  expect(await execute(tool, {}, { progress: async () => void (then = used()) })).toBe(1);
  expect(then - before).toBeLessThan(3_000_000);
});

it.runIf(onLinux)("on Linux, a group that is gone is not killed: its number may be that of another one", async () => {
  const tool = await loadExecutable(program(tiny));
  const kill = vi.spyOn(process, "kill");
  onTestFinished(() => kill.mockRestore());
  expect(await execute(tool, { n: 1 })).toEqual({ n: 1 });
  expect(kill.mock.calls.filter(([, signal]) => signal !== 0)).toEqual([]);
});
