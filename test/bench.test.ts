import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { floor, type Outcome } from "../bench/floor.ts";
import { ratios, spread } from "../bench/measure.ts";
import { files, versions } from "../bench/load-peers.ts";
import { responseRows, rows, seen } from "../bench/rows.ts";
import { codeLike, type SyntheticTurn } from "../bench/wires.ts";
import {
  argsOf,
  makeStream,
  STREAMING_WIRES,
  TOOL_NAME,
  WIRES,
  type Packing,
  type Stream,
} from "../bench/workloads.ts";
import manifest from "../package.json" with { type: "json" };
import type { Turn } from "../src/index.ts";
import { adapters } from "./adapters.ts";

const call = (seed: number, size: number) => ({ id: `call_${seed}`, name: TOOL_NAME, argsText: argsOf(size, seed) });

const turns: Record<string, SyntheticTurn> = {
  "one small call": { calls: [call(1, 200)], deltaLength: 4 },
  "one long call": { calls: [call(2, 20_000)] },
  "text only": { text: codeLike(3000), calls: [] },
  "text and calls": { text: codeLike(500), calls: [call(3, 300), call(4, 400)] },
  "calls side by side": { text: codeLike(100), calls: [call(5, 500), call(6, 200), call(7, 900)], interleaved: true },
};

const packings: Packing[] = ["event", "16k"];

const cells = WIRES.flatMap((wire) =>
  packings.flatMap((packing) => Object.keys(turns).map((name) => ({ wire, packing, name }))),
);

describe("the input of the benchmark", () => {
  it.each(cells)("is read back by its adapter: $wire, $packing, $name", async ({ wire, packing, name }) => {
    const { adapter } = adapters.find((row) => row.adapter.name === wire)!;
    const turn = turns[name]!;
    const { chunks, events } = makeStream(wire, turn, packing);
    for (const source of [chunks, events]) {
      const read: Turn = await adapter.read(from(source)).done();
      expect(read.error).toBeUndefined();
      expect(read.text).toBe(turn.text ?? "");
      expect(read.calls.map(({ id, name: tool, argsText }) => ({ id, name: tool, argsText }))).toEqual(turn.calls);
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

  it("is the same every time", () => {
    const [first, second] = [1, 2].map(() => makeStream("openai-chat", turns["text and calls"]!, "event"));
    expect(first!.chunks).toEqual(second!.chunks);
  });

  it("comes one event a chunk, or in chunks of 16 KiB", () => {
    const text = (stream: Stream) => Buffer.concat(stream.chunks).toString();
    const single = makeStream("anthropic", turns["one long call"]!, "event");
    const packed = makeStream("anthropic", turns["one long call"]!, "16k");
    expect(text(single)).toBe(text(packed));
    expect(single.chunks.every((chunk) => Buffer.from(chunk).indexOf("\n\n") === chunk.length - 2)).toBe(true);
    expect(packed.chunks.slice(0, -1).every((chunk) => chunk.length === 16_384)).toBe(true);
  });
});

describe("the rows of the benchmark", () => {
  it.each(cells)("come to the same calls: $wire, $packing, $name", async ({ wire, packing, name }) => {
    const turn = turns[name]!;
    const stream = makeStream(wire, turn, packing);
    const expected = outcomeOf(turn);
    expect(await floor(wire, from(stream.chunks))).toEqual(expected);
    for (const row of [...rows, ...responseRows]) {
      // Twice: a row leaves its input as it was.
      for (let run = 0; run < 2; run++) {
        const outcome = await row.run(wire, stream);
        if (!row.name.endsWith(" raw")) expect(outcome, row.name).toEqual(expected);
      }
    }
  });

  it.each(STREAMING_WIRES)("look at the partial input where their names say so: %s", async (wire) => {
    const stream = makeStream(wire, turns["one long call"]!, "event");
    const looked: Record<string, boolean> = {};
    for (const row of rows) {
      const before = seen.characters;
      await row.run(wire, stream);
      looked[row.name] = seen.characters > before;
    }
    expect(looked).toEqual({
      "floor a": false,
      "toolstream bytes": false,
      "toolstream bytes + input": true,
      "toolstream bytes + input, flat": true,
      "toolstream bytes + changes": true,
      "events raw": false,
      "toolstream sdk": false,
    });
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
});

describe("the sums of the benchmark", () => {
  it("gives the middle of the runs", () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
  });

  it("compares runs of one round", () => {
    expect(ratios([2, 40, 6], [1, 10, 2])).toEqual({ median: 3, min: 2, max: 4 });
  });
});

function outcomeOf({ text = "", calls }: SyntheticTurn): Outcome {
  return { text, calls: calls.map(({ id, name, argsText }) => ({ id, name, input: JSON.parse(argsText) as unknown })) };
}

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
