/** Reads the bytes as the floor does, but parses the arguments of the call at every delta instead of once. */
import { StringDecoder } from "node:string_decoder";
import { JSONParser } from "@streamparser/json";
import { parsePartialJson } from "ai";
import { parse as bestEffort } from "best-effort-json-parser";
import { IncompleteJsonParser } from "incomplete-json-parser";
import { jsonrepair } from "jsonrepair";
import { parse as river } from "jsonriver";
import { parse as partialJson } from "partial-json";
import type { Outcome } from "../floor.ts";
import type { Peer } from "../peer.ts";
import type { Wire } from "../wires.ts";
import type { Stream } from "../workloads.ts";
import { outcome } from "./fetch.ts";

interface Reader {
  /** The partial input after one more delta. */
  read(delta: string): unknown;
  /** Called once, at the end. */
  input(): unknown;
}

export const peers: Peer[] = [
  {
    name: "partial-json at each delta",
    package: "partial-json",
    quadratic: true,
    wires: over(() => again(partialJson)),
  },
  {
    name: "best-effort-json-parser at each delta",
    package: "best-effort-json-parser",
    quadratic: true,
    wires: over(() => again(bestEffort)),
  },
  {
    name: "jsonrepair at each delta",
    package: "jsonrepair",
    quadratic: true,
    wires: over(() => again((text) => JSON.parse(jsonrepair(text)))),
  },
  {
    name: "ai, parsePartialJson at each delta",
    package: "ai",
    quadratic: true,
    wires: over(() => again(async (text) => (await parsePartialJson(text)).value)),
  },
  {
    name: "@streamparser/json, no partial values",
    package: "@streamparser/json",
    quadratic: false,
    wires: over(() => incremental(false)),
  },
  {
    name: "@streamparser/json, partial values",
    package: "@streamparser/json",
    quadratic: false,
    wires: over(() => incremental(true)),
  },
  {
    name: "jsonriver",
    package: "jsonriver",
    quadratic: false,
    wires: over(asking),
  },
  {
    name: "incomplete-json-parser",
    package: "incomplete-json-parser",
    quadratic: true,
    wires: over(scoped),
  },
];

/** A parser that takes all of the text so far. It throws on what it cannot read yet: then the input stays as it was. */
function again(parse: (text: string) => unknown): Reader {
  let text = "";
  let partial: unknown;
  return {
    read(delta) {
      text += delta;
      try {
        partial = parse(text);
      } catch {}
      return partial;
    },
    input: () => JSON.parse(text),
  };
}

/** A parser that continues where it stopped. */
function incremental(partials: boolean): Reader {
  const parser = new JSONParser({ emitPartialTokens: partials, emitPartialValues: partials });
  let last: unknown;
  parser.onValue = ({ value }) => {
    last = value;
  };
  return {
    read(delta) {
      parser.write(delta);
      return last;
    },
    input: () => last,
  };
}

/** A parser that pulls the text: a delta has been read once it asks for the next. */
function asking(): Reader {
  let asked = Promise.withResolvers<void>();
  let given = Promise.withResolvers<IteratorResult<string>>();
  let last: unknown;
  const next = () => {
    asked.resolve();
    return given.promise;
  };
  void (async () => {
    for await (const value of river({ [Symbol.asyncIterator]: () => ({ next }) })) last = value;
  })();
  return {
    async read(delta) {
      await asked.promise;
      const { resolve } = given;
      given = Promise.withResolvers();
      asked = Promise.withResolvers();
      resolve({ value: delta, done: false });
      await asked.promise;
      return last;
    },
    input: () => last,
  };
}

/** A parser that keeps its position, and creates the value anew whenever asked. */
function scoped(): Reader {
  const parser = new IncompleteJsonParser();
  return {
    read(delta) {
      parser.write(delta);
      return parser.getObjects();
    },
    input: () => parser.getObjects(),
  };
}

function over(create: () => Reader): Peer["wires"] {
  return {
    "openai-chat": (stream) => walk("openai-chat", stream, create),
    "openai-responses": (stream) => walk("openai-responses", stream, create),
    anthropic: (stream) => walk("anthropic", stream, create),
  };
}

async function walk(wire: Wire, { chunks }: Stream, create: () => Reader): Promise<Outcome> {
  const utf8 = new StringDecoder("utf8");
  const calls: { id: string; name: string; reader: Reader }[] = [];
  let rest = "";
  for (const chunk of chunks) {
    const text = rest + utf8.write(chunk);
    let from = 0;
    for (let to = text.indexOf("\n"); to !== -1; to = text.indexOf("\n", from)) {
      if (text.startsWith("data: {", from)) {
        for (const { index, begin, delta } of partsOf(wire, JSON.parse(text.slice(from + 6, to)))) {
          if (begin !== undefined) calls[index] = { ...begin, reader: create() };
          if (delta === "") continue;
          const partial = calls[index]!.reader.read(delta);
          if (partial instanceof Promise) await partial;
        }
      }
      from = to + 1;
    }
    rest = text.slice(from);
  }
  return outcome(calls.map(({ id, name, reader }) => ({ id, name, input: reader.input() })));
}

interface Part {
  readonly index: number;
  readonly begin?: { readonly id: string; readonly name: string };
  readonly delta: string;
}

function partsOf(wire: Wire, event: any): Part[] {
  if (wire === "anthropic") {
    const { type, index, delta, content_block: block } = event;
    if (type === "content_block_start") return [{ index, begin: { id: block.id, name: block.name }, delta: "" }];
    return type === "content_block_delta" ? [{ index, delta: delta.partial_json }] : [];
  }
  if (wire === "openai-responses") {
    const { type, output_index: index, item, delta } = event;
    if (type === "response.output_item.added")
      return [{ index, begin: { id: item.call_id, name: item.name }, delta: "" }];
    return type === "response.function_call_arguments.delta" ? [{ index, delta }] : [];
  }
  const calls: any[] = event.choices[0].delta.tool_calls ?? [];
  return calls.map(({ index, id, function: part }) => ({
    index,
    delta: part.arguments,
    ...(id !== undefined && { begin: { id, name: part.name } }),
  }));
}
