import * as fc from "../fast-check.ts";
import { wires, type SyntheticTurn, type Wire } from "../../bench/wires.ts";
import {
  defineTool,
  jsonSchema,
  type Adapter,
  type StreamSource,
  type ReadOptions,
  type StreamEvent,
  type Turn,
  type TurnStream,
} from "../../src/index.ts";
import { adapters } from "../adapters.ts";

export const rows = adapters.map(({ adapter }) => ({
  name: adapter.name,
  adapter,
  encode: wires[adapter.name as Wire],
}));

/** Two tools that take any object; `ran` notes each execution. */
export function makeTools() {
  const ran: { name: string; id: string | null; input: unknown }[] = [];
  const tools = (["read", "write"] as const).map((effect) =>
    defineTool({
      name: effect,
      inputSchema: jsonSchema({ type: "object" }),
      effect,
      execute: (input, { toolCallId }) => {
        ran.push({ name: effect, id: toolCallId, input });
        return { ok: true };
      },
    }),
  );
  return { tools, ran };
}

export function bytesOf(turn: SyntheticTurn, encode: (turn: SyntheticTurn) => string[]): Uint8Array {
  return new TextEncoder().encode(encode(turn).join(""));
}

/** Reads as a program would that executes whatever it is handed. */
export async function run(
  adapter: Adapter,
  source: StreamSource<any>,
  options: ReadOptions,
): Promise<{ turn: Turn; events: StreamEvent[] }> {
  return executed(adapter.read(source, { runId: "run", ...options }));
}

/** The same with a stream that is open. */
export async function executed(stream: TurnStream): Promise<{ turn: Turn; events: StreamEvent[] }> {
  const events: StreamEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type === "tool-use") await event.use.execute().catch(() => {});
  }
  return { turn: stream.turn, events };
}

/** Arguments of any shape, with what is hard about JSON in them. */
export const input: fc.Arbitrary<Record<string, unknown>> = fc
  .dictionary(
    fc.oneof(fc.string({ maxLength: 8, unit: "binary" }), fc.constantFrom("__proto__", "constructor", "", "a b", '"')),
    fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("}{", '\\"', "\u2028"),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string(), { maxLength: 3 }),
      fc.constant({ a: [{}] }),
    ),
    { maxKeys: 4 },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

export const syntheticTurn: fc.Arbitrary<SyntheticTurn> = fc
  .record({
    text: fc.option(fc.string(), { nil: undefined }),
    calls: fc.array(fc.record({ name: fc.constantFrom("read", "write"), input }), { minLength: 1, maxLength: 4 }),
    deltaLength: fc.integer({ min: 1, max: 24 }),
    interleaved: fc.boolean(),
  })
  .map(({ text, calls, ...rest }) => ({
    ...rest,
    ...(text !== undefined && text !== "" && { text }),
    calls: calls.map(({ name, input: value }, i) => ({ id: `call_${i}`, name, argsText: JSON.stringify(value) })),
  }));

/** What identifies the calls in messages of any provider, in their order. */
export function callsIn(value: unknown): unknown[] {
  return found(value, (item) => {
    if (item["type"] === "tool_use") return item["id"];
    if (item["type"] === "function_call" || item["type"] === "custom_tool_call") return item["call_id"] ?? item["id"];
    if (Array.isArray(item["tool_calls"] ?? item["toolCalls"])) return undefined;
    if ((item["type"] === "function" || item["type"] === "custom") && "id" in item) return item["id"];
    if (isRecord(item["functionCall"])) return item["functionCall"]["id"] ?? item["functionCall"]["name"];
    return undefined;
  });
}

/** What identifies the results. */
export function resultsIn(value: unknown): unknown[] {
  return found(value, (item) => {
    if (isRecord(item["functionResponse"])) return item["functionResponse"]["id"] ?? item["functionResponse"]["name"];
    const isOutput = /^(function_call_output|custom_tool_call_output|function_result)$/.test(String(item["type"]));
    return (
      item["tool_use_id"] ?? item["tool_call_id"] ?? item["toolCallId"] ?? (isOutput ? item["call_id"] : undefined)
    );
  });
}

function found(value: unknown, idOf: (item: Record<string, unknown>) => unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => found(item, idOf));
  if (!isRecord(value)) return [];
  const id = idOf(value);
  return id === undefined ? Object.values(value).flatMap((item) => found(item, idOf)) : [id];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
