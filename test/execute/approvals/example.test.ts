import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { sharedTemporary } from "../../temporary.ts";

/** The example, driven as a person would. */
const example = join(import.meta.dirname, "../../../examples/approval");
const folder = sharedTemporary();
const running = new Set<ChildProcessWithoutNullStreams>();
afterEach(() => running.forEach((child) => child.kill("SIGKILL")));

interface Program {
  readonly child: ChildProcessWithoutNullStreams;
  /** Waits for output, and gives the match. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with all output when it has ended by itself. */
  readonly ended: Promise<string>;
}

function start(script: string, ...args: readonly string[]): Program {
  const child = spawn(process.execPath, [join(example, script), ...args]);
  running.add(child);
  let text = "";
  let wake = () => {};
  const hear = (data: Buffer) => {
    text += String(data);
    wake();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const ended = once(child, "close").then(() => {
    running.delete(child);
    wake();
    return text;
  });
  return {
    child,
    ended,
    async says(pattern) {
      for (;;) {
        const match = pattern.exec(text);
        if (match !== null) return match;
        if (child.exitCode !== null) throw new Error(`ended without ${pattern}:\n${text}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

const books = (state: string) => {
  try {
    return readFileSync(join(state, "refunds.txt"), "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
};

const REQUESTED = /approval requested (apr_\w+): Refund 12\.50 for order A-1007\?/;

describe("examples/approval", () => {
  it("survives kill -9 between request and decision: restart, approve, undo", async () => {
    const state = join(folder, "terminal");
    const first = start("main.ts", "--state", state);
    const [, id] = await first.says(REQUESTED);
    first.child.kill("SIGKILL");
    await first.ended;
    expect(books(state)).toEqual([]);

    const second = start("main.ts", "--state", state, "--approve");
    expect((await second.says(REQUESTED))[1]).toBe(id);
    expect(await second.ended).toContain('refund_order: {"refunded":12.5}');
    expect(books(state)).toEqual([expect.stringMatching(/^refund A-1007 12\.50/)]);

    const third = start("main.ts", "--state", state, "--undo");
    const text = await third.ended;
    expect(text).toContain("was undone");
    expect(text).not.toMatch(REQUESTED);
    expect(books(state)).toEqual([expect.stringMatching(/^refund/), "charge A-1007 12.50"]);
  });

  it("takes the decision over the WebSocket, after a kill -9, too", async () => {
    const state = join(folder, "socket");
    const first = start("main.ts", "--state", state);
    await first.says(REQUESTED);
    first.child.kill("SIGKILL");
    await first.ended;

    const second = start("main.ts", "--state", state, "--undo");
    const [url] = await second.says(/ws:\S+/);
    await second.says(REQUESTED);
    const decided = await start("decide.ts", url, "approve").ended;
    expect(decided).toContain('"type":"approval.outcome"');
    expect(decided).toContain('"decided_by":"manager"');
    expect(await second.ended).toContain("was undone");
    expect(books(state)).toHaveLength(2);
  });

  it("a denial executes nothing, and the model hears of it", async () => {
    const state = join(folder, "denied");
    const text = await start("main.ts", "--state", state, "--deny").ended;
    expect(text).toContain("refund_order was denied by a person");
    expect(books(state)).toEqual([]);
  });

  it("in two processes at once: decided in one, executed once", async () => {
    const state = join(folder, "two");
    const one = start("main.ts", "--state", state);
    await one.says(REQUESTED);
    const two = start("main.ts", "--state", state, "--approve");
    for (const { ended } of [one, two]) expect(await ended).toContain('refund_order: {"refunded":12.5}');
    expect(books(state)).toHaveLength(1);
  });
});
