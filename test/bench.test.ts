import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { chartOf } from "../bench/chart.ts";
import { completingChunk, inTurns, Stopwatch, timed } from "../bench/feed.ts";
import { floor } from "../bench/floor.ts";
import { measureImports } from "../bench/imports.ts";
import { outcomeOf, runJob, type Result } from "../bench/job.ts";
import { files, isInstalled, loadPeers, versions } from "../bench/load-peers.ts";
import { alternate, ratios, spread } from "../bench/measure.ts";
import { labelOf, PEER_WIRES, quickPlan, wholePlan } from "../bench/plan.ts";
import { createProcesses } from "../bench/processes.ts";
import { isFor, responseRows, rows, runAll, seen } from "../bench/rows.ts";
import { targetsTable } from "../bench/targets.ts";
import {
  argsOf,
  completingFrame,
  dataOf,
  each,
  makeInput,
  makeStream,
  STREAMING_WIRES,
  treeOf,
  WIRES,
  workloads,
  type Packing,
  type Stream,
  type WorkloadName,
} from "../bench/workloads.ts";
import manifest from "../package.json" with { type: "json" };
import { ToolUse, type Turn } from "../src/index.ts";
import { adapters } from "./adapters.ts";

const packings: Packing[] = ["event", "16k"];

/** Every workload, small. */
const sizes: Record<WorkloadName, number> = { W1: 200, W2: 6000, W3: 100, W4: 500, W5: 1000, W6: 200, W7: 200 };

const cells = WIRES.flatMap((wire) =>
  packings.flatMap((packing) =>
    Object.entries(sizes).map(([name, size]) => ({ wire, packing, workload: workloads[name as WorkloadName], size })),
  ),
);

describe("the input of the benchmark", () => {
  it.each(cells)("is read back: $workload.name, $wire, $packing", async ({ wire, packing, workload, size }) => {
    const { adapter } = adapters.find((row) => row.adapter.name === wire)!;
    const turn = workload.turn(size, 1);
    const stream = makeStream(wire, turn, packing);
    const events = stream.frames.flatMap(dataOf).map((text) => JSON.parse(text) as unknown);
    for (const source of [stream.open(), each(events)]) {
      const read: Turn = await adapter.read(source).done();
      expect(read.error).toBeUndefined();
      expect(read.text).toBe(turn.text ?? "");
      expect(read.calls.map(({ id, name, argsText }) => ({ id, name, argsText }))).toEqual(turn.calls);
      expect(read.calls.flatMap((one) => one.repairs)).toEqual([]);
    }
  });

  it.each([36, 37, 200, 201, 4096, 65_536])("has arguments of exactly %i characters", (size) => {
    for (let seed = 0; seed < 5; seed++) {
      const text = argsOf(size, seed);
      expect(text).toHaveLength(size);
      expect(Object.keys(JSON.parse(text) as object)).toEqual(["path", "content"]);
    }
  });

  it("has as many fields as it says, some of them deep", () => {
    const found = fieldsOf(JSON.parse(treeOf(10_000)));
    expect(found.fields).toBe(10_000);
    expect(found.depth).toBeGreaterThan(38);
  });

  it("is the same every time", () => {
    const [first, second] = [1, 2].map(() => makeStream("openai-chat", workloads.W6.turn(300, 3), "event"));
    expect(first!.chunks).toEqual(second!.chunks);
  });

  it("comes one event a chunk, or in chunks of 16 KiB", () => {
    const text = (stream: Stream) => Buffer.concat(stream.chunks).toString();
    const single = makeStream("anthropic", workloads.W2.turn(20_000, 1), "event");
    const packed = makeStream("anthropic", workloads.W2.turn(20_000, 1), "16k");
    expect(text(single)).toBe(text(packed));
    expect(text(single)).toBe(single.frames.join(""));
    expect(single.chunks.every((chunk) => Buffer.from(chunk).indexOf("\n\n") === chunk.length - 2)).toBe(true);
    expect(packed.chunks.slice(0, -1).every((chunk) => chunk.length === 16_384)).toBe(true);
  });

  it.each([...STREAMING_WIRES])("interleaves the calls of W3: %s", (wire) => {
    const { frames, turn } = makeStream(wire, workloads.W3.turn(300, 1), "event");
    const second = (call: number) =>
      frames.findIndex((frame) => frame.includes(escapedPart(turn.calls[call]!.argsText)));
    expect(second(0)).toBeGreaterThan(-1);
    // The second delta of the first call comes after the first of the last one.
    expect(frames.findIndex((frame) => frame.includes(turn.calls.at(-1)!.id))).toBeLessThan(second(0));
  });

  it("feeds streams in turns, also when one is left early", async () => {
    const { streams } = makeInput("openai-chat", workloads.W4, 200, 3, "event");
    const order: number[] = [];
    const read = async (stream: Stream, index: number) => {
      for await (const _ of stream.open()) {
        order.push(index);
        if (index === 1 && order.length > 6) return;
      }
    };
    await Promise.all(inTurns(streams).map(read));
    expect(order.slice(0, 12)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 2, 0]);
    expect(order.filter((index) => index === 0)).toHaveLength(streams[0]!.chunks.length);
  });
});

describe("the rows of the benchmark", () => {
  it.each(cells)("come to the same calls: $workload.name, $wire, $packing", async (cell) => {
    const { wire, packing, workload, size } = cell;
    const stream = makeStream(wire, workload.turn(size, 1), packing);
    const expected = outcomeOf(stream);
    expect(await floor(wire, stream.open())).toEqual(expected);
    for (const row of [...rows, ...responseRows]) {
      if (!isFor(row, workload.name, wire)) continue;
      await row.prepare?.(wire, [stream]);
      // Twice: a row leaves its input as it was. And many at once.
      const outcomes = [
        await row.run(wire, stream),
        ...(await Promise.all(inTurns([stream, stream, stream]).map((one) => row.run(wire, one)))),
      ];
      for (const outcome of outcomes) {
        if (/raw$|^floor [bc]$/.test(row.name)) expect(outcome, row.name).toBeUndefined();
        else expect(outcome, row.name).toEqual(expected);
      }
    }
  });

  it.each(STREAMING_WIRES)("look at the partial input where their names say so: %s", async (wire) => {
    const stream = makeStream(wire, workloads.W2.turn(20_000, 1), "event");
    for (const row of rows.filter((one) => isFor(one, "W2", wire))) {
      await row.prepare?.(wire, [stream]);
      const before = seen.characters;
      await row.run(wire, stream);
      expect(seen.characters > before, row.name).toBe(/ \+ (length|input|changes)/.test(row.name));
    }
  });

  it("refuse to be measured when they come to something else", async () => {
    const job = { workload: "W1", wire: "cohere", packing: "event", rounds: { runs: 1, warmUpMs: 0 } } as const;
    const floorRow = rows[0]!;
    const { run } = floorRow;
    const broken = floorRow as { run: typeof run };
    broken.run = async (wire, stream) => ({ ...(await run(wire, stream))!, text: "other" });
    try {
      await expect(runJob({ ...job, sizes: [{ size: 200, streams: 1 }] })).rejects.toThrow(/floor a does not give/);
    } finally {
      broken.run = run;
    }
  });
});

describe("the handler of a read tool", () => {
  const ours = rows.filter(({ name }) => /^floor a$|^toolstream/.test(name) && !name.endsWith("flat"));
  const starts = WIRES.flatMap((wire) =>
    packings.flatMap((packing) =>
      ours.filter((row) => isFor(row, "W7", wire)).map((row) => ({ wire, packing, row, name: row.name })),
    ),
  );

  it.each(starts)(
    "starts in the macrotask of the event that completes its call: $wire, $packing, $name",
    async (one) => {
      const { wire, packing, row } = one;
      const stream = makeStream(wire, workloads.W7.turn(200, 1), packing);
      await row.prepare?.(wire, [stream]);
      let isSameTask: boolean | undefined;
      let atStart: boolean | undefined;
      class Watch extends Stopwatch {
        override give(): void {
          super.give();
          isSameTask = true;
          // Whatever the event loop does next, one of them comes before it.
          setImmediate(() => (isSameTask = false));
          setTimeout(() => (isSameTask = false), 0);
          const { port1, port2 } = new MessageChannel();
          port2.addEventListener("message", () => {
            isSameTask = false;
            port1.close();
          });
          port2.start();
          port1.postMessage(null);
        }
      }
      const watch = new Watch();
      await row.run(wire, timed(wire, stream, watch), {
        onStart() {
          watch.stop();
          atStart ??= isSameTask;
        },
      });
      expect(atStart).toBe(true);
      expect(watch.milliseconds).toBeGreaterThan(0);
    },
  );

  it.each(WIRES)("is not started by the chunk before: %s", async (wire) => {
    const stream = makeStream(wire, workloads.W7.turn(200, 1), "event");
    const { adapter } = adapters.find((row) => row.adapter.name === wire)!;
    const last = completingChunk(wire, stream);
    expect(last).toBe(completingFrame(wire, stream));
    const { calls } = await adapter.read(each(stream.chunks.slice(0, last))).done();
    expect(calls.filter((call) => call.outcome instanceof ToolUse)).toEqual([]);
    // More of the turn comes after it.
    expect(stream.chunks.length).toBeGreaterThan(last + 2);
  });

  it("is waited for in vain when it starts too early or never", async () => {
    const stream = makeStream("anthropic", workloads.W7.turn(200, 1), "event");
    const watch = new Stopwatch();
    watch.stop();
    await floor("anthropic", timed("anthropic", stream, watch).open());
    expect(() => watch.milliseconds).toThrow(/was not started/);
  });
});

describe("the peers of the benchmark", () => {
  it("are every file of bench/peers", () => {
    const found = readdirSync(new URL("../bench/peers/", import.meta.url)).filter((name) => name !== "fetch.ts");
    expect(files.map((name) => `${name}.ts`).toSorted()).toEqual(found.toSorted());
  });

  it("have exact versions, those of the root's SDKs among them", () => {
    for (const version of Object.values(versions)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    for (const name of ["openai", "@anthropic-ai/sdk"] as const) {
      expect(versions[name]).toBe(manifest.devDependencies[name]);
    }
  });

  // They are installed by `npm run bench`, not with the library.
  it.skipIf(!isInstalled()).each(PEER_WIRES)(
    "come to the same calls, where `npm run bench` has installed them: %s",
    async (wire) => {
      const { peers, failures } = await loadPeers(undefined, wire);
      expect(failures).toEqual([]);
      for (const name of ["W1", "W5"] as const) {
        const stream = makeStream(wire, workloads[name].turn(200, 1), "event");
        for (const peer of peers) {
          if (name === "W5" && peer.readsText !== true) continue;
          expect(await peer.wires[wire]!(stream), peer.name).toEqual(outcomeOf(stream));
        }
      }
    },
  );
});

describe("the sums of the benchmark", () => {
  it("gives the middle of the runs", () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
  });

  it("compares runs of one round", () => {
    expect(ratios([2, 40, 6], [1, 10, 2])).toEqual({ median: 3, min: 2, max: 4 });
    // On a slow machine floor a alone may take longer than LONG_MS.
    expect(ratios([2, 40, 6, 7, 8], [1, 10, 2])).toEqual({ median: 3, min: 2, max: 4 });
  });

  it("times every row in every round, and one that takes long in the first ones only", async () => {
    const times = await alternate([{ run: async () => 100 }, { run: async () => 9000 }], { runs: 9, warmUpMs: 0 });
    expect(times).toEqual([Array(9).fill(100), Array(3).fill(9000)]);
  });

  it("runs a row untimed until it is warm by the clock, whatever it says of itself", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const ran: string[] = [];
    const row = (name: string, took: number, says: number) => ({
      run: async () => {
        ran.push(name);
        vi.advanceTimersByTime(took);
        return says;
      },
    });
    const times = await alternate([row("long", 300, 300), row("short", 60, 55)], { runs: 1, warmUpMs: 200 });
    expect(ran).toEqual(["long", "short", "short", "short", "short", "long", "short"]);
    expect(times).toEqual([[300], [55]]);
  });

  it("gives the time of a workload's unit, and the growth to half the size", async () => {
    const sizesOf = [1024, 2048].map((size) => ({ size, streams: 2048 / size, growthOnly: true }));
    const job = { workload: "W2", wire: "openai-chat", packing: "16k", rounds: { runs: 3, warmUpMs: 0 } } as const;
    const { results, notes } = await runJob({ ...job, sizes: sizesOf });
    expect(notes).toEqual([]);
    expect(results.map(({ row, size }) => `${row}, ${size}`)).toHaveLength(8);
    for (const { size, row, ratio, growth } of results) {
      expect(growth === undefined, `${row}, ${size}`).toBe(size === 1024);
      if (row === "floor a") expect(ratio).toBe(1);
    }
  });

  it("says by which signal a process ended, as one does that has no memory left", async () => {
    const processes = createProcesses({ shared: false });
    const job = { workload: "W1", wire: "cohere", packing: "event", rounds: { runs: 1, warmUpMs: 0 } } as const;
    const ended = expect(processes.run({ ...job, sizes: [{ size: 200, streams: 1 }] })).rejects.toThrow(/with SIGKILL/);
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
    const worker = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("bench/worker.ts"));
    process.kill(Number(worker), "SIGKILL");
    await ended;
  });

  it("measures a handler's start, not its turn", async () => {
    const input = makeInput("anthropic", workloads.W7, 200, 2, "event");
    const start = performance.now();
    const measured = await runAll(rows[0]!, input);
    expect(measured).toBeLessThan(performance.now() - start);
  });
});

describe("the report of the benchmark", () => {
  const result = (given: Partial<Result>): Result => ({
    workload: "W1",
    size: 200,
    wire: "openai-chat",
    packing: "event",
    row: "toolstream bytes + input",
    ratio: 0.7,
    ms: 1,
    spread: { ratio: [0.6, 0.8], ms: [1, 1] },
    ...given,
  });

  it("says which targets were met", () => {
    const { body } = targetsTable([
      result({}),
      result({ wire: "cohere", ratio: 0.8 }),
      result({ workload: "W5", size: 16_384 }),
      // Beside the peers it counts against the peers only.
      result({ beside: "linear", ratio: 3 }),
      result({ beside: "linear", row: "openai, raw", ratio: 4 }),
    ]);
    expect(body).toEqual([
      ["W1, to floor a", "<= 0.75", "0.80 (W1, 200 B, cohere, event)", "MISSED by 1 of 2"],
      ["W5, to floor a", "<= 0.9", "0.70 (W5, 16 KiB, openai-chat, event)", "met"],
      [
        "To the fastest peer of the same table, partial input read",
        "<= 1",
        "0.75 (openai, raw, W1, 200 B, openai-chat, event)",
        "met",
      ],
    ]);
  });

  it("draws a chart only of what was measured", () => {
    expect(chartOf([result({})])).toBeUndefined();
    const chart = chartOf([
      result({ beside: "linear" }),
      result({ beside: "linear", row: "openai, raw", ratio: 4 }),
      result({ beside: "quadratic", row: "pi-ai, stream", ratio: 400 }),
    ])!;
    expect(chart).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(chart.match(/<rect class="(ours|peer)"/g)).toHaveLength(3);
    expect(chart).toContain(">400x<");
  });

  it("plans every workload on every wire in both packings, quickly too", () => {
    for (const plan of [wholePlan(), quickPlan()]) {
      const planned = plan.jobs
        .filter(({ peers }) => peers === undefined)
        .map(({ workload, wire, packing }) => `${workload} ${wire} ${packing}`);
      expect(planned.toSorted()).toEqual(
        cells.map(({ workload, wire, packing }) => `${workload.name} ${wire} ${packing}`).toSorted(),
      );
      expect(new Set(plan.jobs.map((job) => `${labelOf(job)} ${job.peers ?? ""}`)).size).toBe(plan.jobs.length);
    }
    expect(wholePlan().jobs.every(({ rounds }) => rounds.runs >= 9)).toBe(true);
  });

  it("bundles what an app imports, and imports it in a process", () => {
    const [nothing, ours, ...others] = measureImports(1, false);
    expect(others).toEqual([]);
    expect(nothing!.packages).toEqual([]);
    expect(nothing!.bytes).toBeLessThan(10);
    expect(ours!.packages).toEqual(["toolstream", "toolstream/openai-chat"]);
    // Both entries with all that they need, compressed.
    expect(ours!.bytes).toBeGreaterThan(20_000);
    expect(ours!.bytes).toBeLessThan(100_000);
    expect(ours!.ms).toBeGreaterThan(nothing!.ms);
  });

  it("says of a quick run that it is one", async () => {
    const main = join(import.meta.dirname, "../bench/main.ts");
    const args = [main, "--quick", "--no-peers", "--only", "w7 google event"];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain("Smaller is faster. A quick run: too short to be exact.\n");
  });

  it("prints rows for machines", async () => {
    const main = join(import.meta.dirname, "../bench/main.ts");
    const args = [main, "--quick", "--json", "--no-peers", "--only", "w1 200 b google"];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const printed = JSON.parse(stdout) as { rows: object[] };
    expect(Object.keys(printed)).toEqual(["node", "machine", "rows"]);
    expect(printed.rows.length).toBeGreaterThan(15);
    for (const row of printed.rows) {
      expect(Object.keys(row)).toEqual(["workload", "size", "wire", "packing", "row", "ratio", "ms", "spread"]);
    }
    const names = printed.rows.map((row) => (row as Result).row);
    for (const suffix of ["bytes", "bytes + input", "bytes + changes", "sdk"])
      expect(names).toContain(`toolstream ${suffix}`);
  });
});

/** A piece of the second delta, as it stands inside a frame. */
function escapedPart(argsText: string): string {
  return JSON.stringify(argsText.slice(16, 32)).slice(1, -1);
}

function fieldsOf(value: unknown): { fields: number; depth: number } {
  if (typeof value !== "object" || value === null) return { fields: 1, depth: 0 };
  let fields = 0;
  let depth = 0;
  for (const one of Object.values(value)) {
    const inner = fieldsOf(one);
    fields += inner.fields;
    depth = Math.max(depth, inner.depth + 1);
  }
  return { fields, depth };
}
