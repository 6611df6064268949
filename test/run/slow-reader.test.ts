/** Who reads the events of a run more slowly than they come, or asks for several at once. */
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { replayModel } from "../../src/testing/index.ts";
import type { ToolContext } from "../../src/tool/tool.ts";
import { counted, heldTurn } from "./script.ts";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A call of a tool that reads, and then far more text than waits for a reader. */
async function* longTurn(): AsyncIterable<unknown> {
  for await (const event of heldTurn("read", Promise.resolve())) {
    if ((event as { type: string }).type === "message_delta") {
      yield { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } };
      for (let at = 0; at < 3_000; at++) {
        yield { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "x" } };
      }
      yield { type: "content_block_stop", index: 1 };
    }
    yield event;
  }
}

async function* lastTurn(): AsyncIterable<unknown> {
  for await (const event of heldTurn("read", Promise.resolve())) {
    const { type, delta } = event as { type: string; delta?: object };
    if (type.startsWith("content_block")) continue;
    yield type === "message_delta" ? { ...(event as object), delta: { ...delta, stop_reason: "end_turn" } } : event;
  }
}

/** A tool that goes on telling while the turn, too, has more to tell than is read. */
function setup() {
  const read = counted("read", {
    effect: "read",
    execute: async (_: unknown, { progress }: ToolContext) => {
      for (let at = 0; at < 20; at++) {
        await sleep(2);
        await progress(at);
      }
    },
  });
  const model = replayModel(anthropic, [() => longTurn(), () => lastTurn()]);
  return new Orchestrator({ model, tools: [read.tool], store: memoryStore() });
}

describe("a reader who asks for several events at once", () => {
  it("and leaves gets nothing more, though the run cannot end yet", async () => {
    const store = memoryStore();
    const model = replayModel(anthropic, [heldTurn("read", new Promise(() => {}))]);
    const events = new Orchestrator({ model, store }).stream({ input: "Go" })[Symbol.asyncIterator]();
    while ((await events.next()).value?.type !== "start");
    // What it stops with is not stored.
    store.put = () => new Promise(() => {});
    const asked = Promise.all(Array.from({ length: 20 }, () => events.next()));
    await events.return!();
    expect((await asked).at(-1)).toEqual({ value: undefined, done: true });
  });

  it("gets them, each once, and then the end", async () => {
    const model = replayModel(anthropic, [() => lastTurn()]);
    const events = new Orchestrator({ model, store: memoryStore() }).stream({ input: "Go" })[Symbol.asyncIterator]();
    const asked = await Promise.all(Array.from({ length: 20 }, () => events.next()));
    const types = asked.flatMap((one) => (one.done === true ? [] : [one.value.type]));
    expect(types[0]).toBe("run.started");
    expect(types.at(-1)).toBe("run.ended");
    expect(new Set(types).size).toBe(types.length);
  });
});

describe("a slow reader", () => {
  it("holds up turn and tools alike, and none of them for ever", async () => {
    const stream = setup().stream({ input: "Go" });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    await sleep(100);
    let last: string | undefined;
    for (let next = await events.next(); next.done !== true; next = await events.next()) last = next.value.type;
    expect(last).toBe("run.ended");
    expect(await stream.result).toMatchObject({ status: "completed" });
  });

  it("who reads no more and gives up ends the run", async () => {
    const controller = new AbortController();
    const stream = setup().stream({ input: "Go", signal: controller.signal });
    await stream[Symbol.asyncIterator]().next();
    await sleep(100);
    controller.abort();
    expect(await stream.result).toMatchObject({ status: "error", error: { code: "aborted" } });
  });

  it("who is always a little behind holds on to nothing that was read", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    // The model says one more word for each event that is read, after ten words ahead.
    let ahead = 10;
    let goOn = () => {};
    async function* paced(): AsyncIterable<unknown> {
      for await (const event of longTurn()) {
        while (ahead === 0) await new Promise<void>((resolve) => (goOn = resolve));
        ahead--;
        yield event;
      }
    }
    const model = replayModel(anthropic, [paced, lastTurn]);
    const events = new Orchestrator({ model, store: memoryStore() }).stream({ input: "Go" })[Symbol.asyncIterator]();
    const read: WeakRef<object>[] = [];
    while (read.length < 2_500) {
      await setImmediate();
      read.push(new WeakRef((await events.next()).value as object));
      ahead++;
      goOn();
    }
    await setImmediate();
    collect();
    expect(read.filter((event) => event.deref() !== undefined).length).toBeLessThan(1_100);
    await events.return!();
  });
});
