/**
 * Reads the same stream of every wire twice, and says which objects of the two differ in their hidden class:
 *
 *     node --allow-natives-syntax test/hidden-classes-child.ts
 */
import { helpers } from "../adapters/text-helpers/notation.ts";
import { textJson } from "../adapters/text-json/index.ts";
import { notations } from "../adapters/text-json/notations/index.ts";
import type { Adapter, ParserSink } from "../src/adapter.ts";
import { createRateLimit, DEFAULT_RATE } from "../src/execute/approvals/guard.ts";
import { resolveLimits } from "../src/stream/limits.ts";
import { textSink } from "../src/text/sink.ts";
import { createWriter } from "../src/text/writer.ts";
import { folderOf, readers } from "./adapters.ts";
import { loadFixture, sharedTools } from "./fixtures.ts";

type Objects = Readonly<Record<string, object>>;

// As texts, since this syntax is none of TypeScript's.
const haveSameMap = new Function("a", "b", "return %HaveSameMap(a, b)") as (a: object, b: object) => boolean;
const isFast = new Function("a", "return %HasFastProperties(a)") as (a: object) => boolean;

/** What V8 keeps as a dictionary has no hidden class, though it may have the same map as another one. */
function areAlike(a: object, b: object): boolean {
  return haveSameMap(a, b) && isFast(a) && isFast(b);
}

const nobody: ParserSink = {
  start() {},
  text() {},
  reasoning() {},
  refusal() {},
  tool() {},
  providerTool() {},
  usage() {},
  finish() {},
  terminal() {},
  fail() {},
};

async function* once<T>(item: T): AsyncGenerator<T> {
  yield item;
}

/** What whoever reads a stream with a call may hold of it. */
async function ofStream(adapter: Adapter, bytes: Uint8Array): Promise<Objects> {
  const stream = adapter.read(once(bytes), { tools: sharedTools });
  const events: Record<string, object> = {};
  for await (const event of stream) events[event.type] = event;
  const call = stream.turn.calls[0]!;
  return { ...events, stream, turn: stream.turn, call, use: call.outcome!, parser: adapter.parser(nobody) };
}

async function ofModel(): Promise<Objects> {
  const model = textJson("hermes").model(() => once("Hello."));
  const stream = model.open({ messages: [] });
  await stream.done();
  return { stream };
}

/** What is made for a text, and for each of its blocks. */
function ofText(): Objects {
  const writer = createWriter(nobody);
  const limits = resolveLimits(undefined);
  const context = { tool: () => undefined, limits, variables: {}, isWhole: false, isBlind: false };
  const objects: Record<string, object> = {
    sink: textSink(nobody, [], { toolName: String }),
    writer,
    call: writer.call(),
  };
  for (const [name, { markers, start }] of Object.entries({ helpers: helpers(), ...notations })) {
    for (const marker of markers) objects[`${name} ${marker}`] = start(writer, context)(marker);
  }
  return objects;
}

/** That a difference is seen. */
function ofGetter(): Objects {
  const value = {};
  return { "its own": Object.defineProperty({}, "value", { get: () => value }) };
}

const sources: Readonly<Record<string, () => Objects | Promise<Objects>>> = {
  ...Object.fromEntries(
    readers.map((row) => [folderOf(row), () => ofStream(row.adapter, loadFixture(folderOf(row), "one-call").bytes)]),
  ),
  "a model": ofModel,
  "a text": ofText,
  "a connection": () => ({ rateLimit: createRateLimit(DEFAULT_RATE) }),
  "a getter": ofGetter,
};

const compared: string[] = [];
const different: string[] = [];
for (const [source, make] of Object.entries(sources)) {
  // The first objects of a kind make its hidden class.
  await make();
  const [first, second] = [await make(), await make()];
  for (const [name, object] of Object.entries(first)) {
    compared.push(`${source}: ${name}`);
    if (!areAlike(object, second[name]!)) different.push(`${source}: ${name}`);
  }
}
console.log(JSON.stringify({ compared, different }));
