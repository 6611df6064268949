import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import type { StreamEvent, TurnStream } from "../../src/index.ts";
import { loadFixture } from "../fixtures.ts";

const { bytes, tools } = loadFixture("openai-chat", "parallel");

/** The fixture in pieces of so many bytes, each after a turn of the event loop. */
async function* pieces(size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise(setImmediate);
    yield bytes.subarray(at, at + size);
  }
}

const open = (size: number) => openaiChat.read(pieces(size), { tools, runId: "run" });

/** What tells an event from the others. */
const told = (event: StreamEvent) => [event.type, "delta" in event ? event.delta : undefined];

async function all(stream: TurnStream): Promise<unknown[]> {
  const list = [];
  for await (const event of stream) list.push(told(event));
  return list;
}

describe.each([20, 700, bytes.length])("done() while a loop reads, in pieces of %i bytes", (size) => {
  it("takes no event from the loop, wherever in it it is called, and however often", async () => {
    const events = await all(open(size));
    for (let at = 0; at < events.length; at++) {
      const stream = open(size);
      const got: unknown[] = [];
      const turns: Promise<unknown>[] = [];
      for await (const event of stream) {
        got.push(told(event));
        if (got.length > at) turns.push(stream.done());
        if (got.length % 3 === 0) await new Promise(setImmediate);
      }
      expect(got).toEqual(events);
      for (const turn of turns) expect(await turn).toBe(stream.turn);
    }
  });

  it("gives the whole turn to a loop that waits for it", async () => {
    const events = await all(open(size));
    const stream = open(size);
    const got: unknown[] = [];
    for await (const event of stream) {
      got.push(told(event));
      const { finishReason, calls } = await stream.done();
      expect([finishReason, calls.every(({ outcome }) => outcome !== undefined)]).toEqual(["tool-use", true]);
    }
    expect(got).toEqual(events);
  });

  it("beside the loop gives it as well", async () => {
    const events = await all(open(size));
    const stream = open(size);
    const loop = all(stream);
    const [got, turn] = await Promise.all([loop, stream.done()]);
    expect(got).toEqual(events);
    expect(turn.finishReason).toBe("tool-use");
  });

  it("takes nothing from readBatches(), and adds nothing to a list that was handed out", async () => {
    const events = await all(open(size));
    const stream = open(size);
    const lists: (readonly StreamEvent[])[] = [];
    const lengths: number[] = [];
    for await (const batch of stream.readBatches()) {
      lists.push(batch);
      lengths.push(batch.length);
      if (lists.length === 1) void stream.done();
      if (lists.length % 2 === 0) await new Promise(setImmediate);
    }
    expect(lists.flat().map(told)).toEqual(events);
    expect(lists.map(({ length }) => length)).toEqual(lengths);
  });

  it("takes nothing from those who ask for several events at once", async () => {
    const events = await all(open(size));
    const stream = open(size);
    const iterator = stream[Symbol.asyncIterator]();
    const asked = Array.from({ length: 5 }, () => iterator.next());
    const done = stream.done();
    asked.push(...Array.from({ length: events.length }, () => iterator.next()));
    const steps = await Promise.all(asked);
    expect(steps.flatMap((step) => (step.done === true ? [] : [told(step.value)]))).toEqual(events);
    expect(await done).toBe(stream.turn);
  });

  it("ends with the loop when that is left", async () => {
    const stream = open(size);
    let done: Promise<unknown> | undefined;
    for await (const event of stream) {
      done = stream.done();
      if (event.type === "start") break;
    }
    expect(await done).toBe(stream.turn);
    expect(stream.turn.error?.code ?? stream.turn.finishReason).toBe(size === bytes.length ? "tool-use" : "aborted");
    const { value } = await (stream as unknown as AsyncIterator<StreamEvent>).next();
    expect(value).toBeUndefined();
  });
});

it("done() beside a loop asks a source for nothing after the provider's terminal event", async () => {
  const steps: Promise<IteratorResult<Uint8Array>>[] = [Promise.resolve({ done: false, value: bytes })];
  const hangs = new Promise<never>(() => {});
  const source = { [Symbol.asyncIterator]: () => ({ next: () => steps.shift() ?? hangs }) };
  const stream = openaiChat.read(source, { tools });
  const [events, turn] = await Promise.all([all(stream), stream.done()]);
  expect(events.at(-1)).toEqual(["finish", undefined]);
  expect(turn.finishReason).toBe("tool-use");
});
