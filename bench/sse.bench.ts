/**
 * From bytes to the `data` of the events: our decoder against eventsource-parser alone, and both with `JSON.parse`.
 *
 * Run: node bench/sse.bench.ts
 * Guards: that what the decoder adds to eventsource-parser (whole lines, limits, byte offsets, stray errors) costs
 * next to nothing. The input is seeded; every row's number of events is checked first. Ratios are relative to our own
 * row, medians of alternating rounds in one process: smaller is faster.
 */
import { createParser } from "eventsource-parser";
import { createDecoder } from "../src/wire/index.ts";
import { SseReader } from "../src/wire/sse-reader.ts";
import { alternate, ratios, spread } from "./measure.ts";
import { events, packings } from "./sse-input.ts";

const ROUNDS = 15;
const MAX = 32 * 1024 * 1024;

type Row = (chunks: readonly Uint8Array[], onData: (data: string) => void) => void;

const ours: Row = (chunks, onData) => {
  const reader = new SseReader({ readData: onData, say: () => {}, fail: raise }, MAX);
  for (const chunk of chunks) reader.feed(chunk, 0);
  reader.end();
};

const eventsourceParser: Row = (chunks, onData) => {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parser = createParser({ onEvent: (event) => onData(event.data), maxBufferSize: MAX });
  for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
};

/** Only text, lines and slices: for one-line events with LF. */
const floor: Row = (chunks, onData) => {
  const decoder = new TextDecoder();
  let rest = "";
  for (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith("data: ")) onData(line.slice(6));
  }
};

const rows: Record<string, (chunks: readonly Uint8Array[]) => unknown[]> = {
  ours: collect(ours),
  "eventsource-parser": collect(eventsourceParser),
  "split by hand": collect(floor),
  "ours, parsed": (chunks) => {
    const said: unknown[] = [];
    const decoder = createDecoder({ onEvent: (event) => said.push(event), onError: raise });
    for (const chunk of chunks) decoder.feed(chunk);
    decoder.end();
    return said;
  },
  "eventsource-parser, parsed": (chunks) => {
    const said: unknown[] = [];
    eventsourceParser(chunks, (data) => said.push(JSON.parse(data)));
    return said;
  },
};

function collect(row: Row): (chunks: readonly Uint8Array[]) => unknown[] {
  return (chunks) => {
    const said: unknown[] = [];
    row(chunks, (data) => said.push(data));
    return said;
  };
}

function raise(error: Error): never {
  throw error;
}

/** @returns milliseconds */
function timed(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

console.log(`Node ${process.version}; ratio to ours, median of ${ROUNDS} rounds`);
for (const [kind, body] of Object.entries(events)) {
  for (const [packing, chunks] of Object.entries(packings(body))) {
    const names = Object.keys(rows).filter((name) => name !== "split by hand" || kind.startsWith("chat"));
    for (const name of names) {
      if (rows[name]!(chunks).length !== body.length) throw new Error(`${kind}, ${packing}: the rows disagree`);
    }
    const measured = names.map((name) => ({ run: async () => timed(() => rows[name]!(chunks)) }));
    const times = await alternate(measured, { runs: ROUNDS, warmUpMs: 20 });
    const timesOf = (name: string) => times[names.indexOf(name)]!;
    const cells = names.map((name) => {
      const base = timesOf(name.endsWith("parsed") ? "ours, parsed" : "ours");
      return `${name} ${ratios(timesOf(name), base).median.toFixed(2)}`;
    });
    console.log(`${kind}, ${packing} (${spread(timesOf("ours")).median.toFixed(2)} ms): ${cells.join(" | ")}`);
  }
}
