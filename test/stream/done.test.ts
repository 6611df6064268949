import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { ToolUse, type StreamEvent, type TurnStream } from "../../src/index.ts";
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

/** An event of text for each of these, in one chunk. */
function textOf(...texts: unknown[]): Uint8Array {
  const events = texts.map((text) => ({ id: "c", model: "m", choices: [{ index: 0, delta: { content: `${text}` } }] }));
  return new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

async function* hanging(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
  await new Promise<never>(() => {});
}

it("done() holds up no event that is here already, while it waits for the next piece", async () => {
  const stream = openaiChat.read(hanging(textOf(1, 2, 3)));
  const got: unknown[] = [];
  for await (const event of stream) {
    got.push(told(event));
    void stream.done();
    if (got.length === 4) break;
  }
  expect(got).toEqual([
    ["start", undefined],
    ["text-delta", "1"],
    ["text-delta", "2"],
    ["text-delta", "3"],
  ]);
});

it("a call that was taken back by the signal cannot be executed by who has it from the turn", async () => {
  const abort = new AbortController();
  const stream = openaiChat.read(pieces(bytes.length), { tools, signal: abort.signal });
  const iterator = stream[Symbol.asyncIterator]();
  await iterator.next();
  const { calls } = await stream.done();
  const uses = calls.map(({ outcome }) => outcome).filter((outcome) => outcome instanceof ToolUse);
  expect(uses.length).toBeGreaterThan(0);
  abort.abort();
  while ((await iterator.next()).done !== true);
  for (const use of uses) await expect(use.execute()).rejects.toMatchObject({ code: "already_executed" });
  expect(JSON.stringify(openaiChat.toolResults(stream.turn))).toContain("was not executed");
});

describe("when the loop is left while the source hangs", () => {
  it.each(["with a signal", "without a signal"])("done() settles, %s", async (how) => {
    const signal = how === "with a signal" ? new AbortController().signal : undefined;
    const stream = openaiChat.read(hanging(textOf(1)), { signal });
    const turns: Promise<unknown>[] = [];
    for await (const event of stream) {
      turns.push(stream.done(), stream.done());
      await new Promise(setImmediate);
      if (event.type === "text-delta") break;
    }
    turns.push(stream.done());
    for (const turn of turns) expect(await turn).toBe(stream.turn);
    expect(stream.turn.error?.code).toBe("aborted");
  });

  it("whoever asked for an event gets none, where there is a signal", async () => {
    const stream = openaiChat.read(hanging(), { signal: new AbortController().signal });
    const iterator = stream[Symbol.asyncIterator]();
    const asked = [iterator.next(), iterator.next()];
    const done = stream.done();
    await iterator.return!();
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 2 }, () => ({ value: undefined, done: true })));
    expect(await done).toBe(stream.turn);
  });
});

it("next(), done(), return() and the signal, in any order, lose no event, mix up none and leave nobody waiting", async () => {
  const acts = fc.array(fc.constantFrom("next", "next", "next", "done", "wait", "return", "abort"), { maxLength: 30 });
  const sizes = fc.array(fc.nat(3), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(acts, sizes, fc.boolean(), fc.boolean(), async (list, chunkSizes, isBatched, isSlow) => {
      let count = 0;
      const chunks = chunkSizes.map((size) => textOf(...Array.from({ length: size }, () => count++)));
      const source = async function* () {
        for (const chunk of chunks) {
          if (isSlow) await new Promise(setImmediate);
          yield chunk;
        }
      };
      const abort = new AbortController();
      const stream = openaiChat.read(source(), { signal: abort.signal });
      const iterator = (isBatched ? stream.readBatches() : stream)[Symbol.asyncIterator]() as AsyncIterator<any>;
      const asked: Promise<IteratorResult<any>>[] = [];
      const turns: Promise<unknown>[] = [];
      for (const act of list) {
        if (act === "next") asked.push(iterator.next());
        else if (act === "done") turns.push(stream.done());
        else if (act === "return") await iterator.return!();
        else if (act === "abort") abort.abort();
        else await new Promise(setImmediate);
      }
      do asked.push(iterator.next());
      while ((await asked.at(-1)!).done !== true);
      const steps = await Promise.all(asked);
      for (const turn of turns) expect(await turn).toBe(stream.turn);

      const end = steps.findIndex(({ done }) => done);
      expect(steps.slice(end).every(({ done }) => done)).toBe(true);
      const events = steps.slice(0, end).flatMap(({ value }) => value as StreamEvent | StreamEvent[]);
      const texts = events.flatMap((event) => (event.type === "text-delta" ? [Number(event.delta)] : []));
      const isLeft = list.includes("return");
      const isWhole = !isLeft && !list.includes("abort");
      expect(texts).toEqual(Array.from({ length: isWhole ? count : texts.length }, (_, index) => index));
      const ends = events.filter(({ type }) => type === "error");
      if (!isLeft) expect(ends).toEqual([events.at(-1)]);
    }),
    { numRuns: 300 },
  );
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
