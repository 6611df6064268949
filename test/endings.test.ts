/**
 * A call that its model did not finish, and every end that such a stream may have: it is never executed, and the model
 * hears why.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { google } from "../adapters/google/index.ts";
import { clients } from "../src/cli/clients.ts";
import {
  defineTool,
  jsonSchema,
  ToolCallError,
  type Adapter,
  type Effect,
  type RepairPolicy,
  type StreamEvent,
  type Tool,
  type Turn,
} from "../src/index.ts";
import { serveReplay, type ReplayCase, type ReplayServer } from "../src/replay/index.ts";
import { args, cutCalls, wholeGeminiCall, type CutCall } from "./cut-calls.ts";
import { executed, resultsIn, run } from "./promises/support.ts";

let executions = 0;

interface Cell {
  readonly required: readonly string[];
  readonly effect: Effect;
  readonly eager: boolean;
  readonly repair: RepairPolicy;
}

/** Tools with required, optional and only optional fields, of every effect, under every policy of repair. */
const cells: Cell[] = [["path", "content"], ["path"], []].flatMap((required) =>
  (["read", "write"] as const).flatMap((effect) =>
    (["off", "syntax", "coerce"] as const).flatMap((repair) =>
      [effect === "read", true].map((eager) => ({ required, effect, eager, repair })),
    ),
  ),
);

function toolOf({ required, effect, eager, repair }: Cell): Tool {
  const properties = { path: { type: "string" }, content: { type: "string" } };
  return defineTool({
    name: "save",
    inputSchema: jsonSchema({ type: "object", properties, required }),
    effect,
    eager,
    repair,
    execute: () => ++executions,
  });
}

/** Nothing ran, there is no ToolUse, and there is one result, which says why. */
function expectNotRun(adapter: Adapter, { turn, events }: { turn: Turn; events: StreamEvent[] }, cell: unknown): void {
  const [call] = turn.calls;
  const error = call?.outcome;
  const results = adapter.toolResults(turn);
  const told = {
    cell,
    executions,
    uses: events.filter((event) => event.type === "tool-use").length,
    errors: events.flatMap((event) => (event.type === "tool-error" ? [event.error.code] : [])),
    calls: turn.calls.length,
    released: call?.released,
    isError: error instanceof ToolCallError,
    results: resultsIn(results).length,
    hearsWhy:
      error instanceof ToolCallError && JSON.stringify(results).includes(JSON.stringify(error.message).slice(1, -1)),
  };
  expect(told).toEqual({
    cell,
    executions: 0,
    uses: 0,
    errors: ["truncated"],
    calls: 1,
    released: false,
    isError: true,
    results: 1,
    hearsWhy: true,
  });
  expect((error as ToolCallError).message).toMatch(
    /^The call of save was not executed: its arguments were cut.*\. Send it again, whole, or in smaller parts\.$/,
  );
}

const encode = (frames: readonly string[]) => new TextEncoder().encode(frames.join(""));

async function* bytesOf(bytes: Uint8Array, error?: Error): AsyncGenerator<Uint8Array> {
  yield bytes;
  if (error !== undefined) throw error;
}

describe.each(cutCalls)("$name", ({ adapter, frames, pieces, inString, from }: CutCall) => {
  const cut = pieces.slice(0, inString);

  it.each<[title: string, source: () => AsyncIterable<Uint8Array>]>([
    ["a finish that says length", () => bytesOf(encode(frames(cut, "length")))],
    ["a connection that ends as if that were all", () => bytesOf(encode(frames(cut, "none")))],
    ["a connection that is reset", () => bytesOf(encode(frames(cut, "none")), new Error("read ECONNRESET"))],
    ["a finish that lies", () => bytesOf(encode(frames(cut, "lie")))],
  ])("cut inside a string, with %s", async (_, source) => {
    for (const cell of cells) expectNotRun(adapter, await run(adapter, source(), { tools: [toolOf(cell)] }), cell);
  });

  it.each(["length", "lie", "none"] as const)("cut at every place of the arguments, with finish %s", async (finish) => {
    for (const cell of cells.filter(({ required, eager }) => required.length === 0 && eager)) {
      for (let length = from; length < pieces.length; length++) {
        const turn = await run(adapter, bytesOf(encode(frames(pieces.slice(0, length), finish))), {
          tools: [toolOf(cell)],
        });
        expectNotRun(adapter, turn, { ...cell, length });
      }
    }
  });

  it("and whole, it runs: the streams are what they say they are", async () => {
    const whole =
      adapter === google
        ? [wholeGeminiCall, 'data: {"candidates":[{"index":0,"finishReason":"STOP"}]}\n\n']
        : frames(pieces, "lie");
    const { turn } = await run(adapter, bytesOf(encode(whole)), { tools: [toolOf(cells[0]!)] });
    expect(turn.calls.map((call) => call.input)).toEqual([args]);
    expect(executions).toBe(1);
    executions = 0;
    const limited = await run(adapter, bytesOf(encode(frames(cut, "length"))), { tools: [toolOf(cells[0]!)] });
    expect(limited.turn.finishReason).toBe("length");
  });
});

describe("google, a call in one event that is cut", () => {
  const bytes = encode([wholeGeminiCall]);
  it.each(["ends", "is reset"])("is no call, wherever the connection %s", async (how) => {
    const error = how === "ends" ? undefined : new Error("read ECONNRESET");
    for (const cell of cells.filter(({ required, eager }) => required.length === 0 && eager)) {
      // The last brace of the event is the 5th byte from the end.
      for (let length = 1; length <= bytes.length - 5; length++) {
        const { turn, events } = await run(google, bytesOf(bytes.subarray(0, length), error), {
          tools: [toolOf(cell)],
        });
        expect({ length, executions, calls: turn.calls.length, last: events.at(-1)!.type }).toEqual({
          length,
          executions: 0,
          calls: 0,
          last: "error",
        });
        expect(turn.error).toMatchObject({ code: "connection_lost" });
        expect(google.toolResults(turn)).toEqual([]);
      }
    }
  });
});

describe("through the official clients", () => {
  let server: ReplayServer;
  const cases = new Map<string, ReplayCase>();
  for (const { adapter, frames, pieces, inString } of cutCalls) {
    const recording = (list: readonly string[]) => ({
      bytes: encode(list),
      chunks: [],
      contentType: "text/event-stream",
      complete: true,
    });
    const cut = frames(pieces.slice(0, inString), "none");
    const cutAtByte = encode(cut).length;
    // Cut in the middle of the next frame, too, as networks do.
    const more = recording(frames(pieces, "lie"));
    cases.set(`${adapter.name}/length`, { stream: recording(frames(pieces.slice(0, inString), "length")) });
    cases.set(`${adapter.name}/lie`, { stream: recording(frames(pieces.slice(0, inString), "lie")) });
    cases.set(`${adapter.name}/reset`, { stream: more, behavior: { cutAtByte: cutAtByte + 20, cut: "reset" } });
    cases.set(`${adapter.name}/end`, { stream: more, behavior: { cutAtByte, cut: "end" } });
  }
  beforeAll(async () => {
    server = await serveReplay({ adapters: cutCalls.map(({ adapter }) => adapter), fixtures: cases });
  });
  afterAll(() => server.close());

  describe.each(clients.map((client) => ({ name: client.adapter.name, client })))("$name", ({ name, client }) => {
    it.each(["length", "end", "reset", "lie"])("cut inside a string, with %s", async (ending) => {
      for (const cell of cells.filter((one) => one.repair === "coerce")) {
        const tools = [toolOf(cell)];
        const model = await client.model({ baseUrl: `${server.url}/${name}/${ending}`, apiKey: "none", model: "m" });
        const stream = model.open({ messages: [model.userMessage("x")], tools, runId: "run" });
        expectNotRun(client.adapter, await executed(stream), cell);
      }
    });
  });
});
