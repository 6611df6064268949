/**
 * The incremental JSON parser against the minimum for the same text: one `JSON.parse` of the whole.
 *
 *     node bench/json.bench.ts [characters, default 4194304]
 *
 * Guards: linear time (the ratios stay the same for four times the text), also with the live value or the changes read
 * after every delta of 16 characters; and little memory besides text, deltas and value (MB in use after a collection).
 */
import { createJsonParser, repairJson, type JsonParser } from "../src/json/index.ts";
import { collect } from "./measure.ts";
import { codeLike } from "./wires.ts";

const size = Number(process.argv[2] ?? 4_194_304);

/** Not in Latin-1, so that V8 keeps it in two bytes a character. */
const words = (length: number) => codeLike(length).replaceAll("é ", "😀");

const texts: Record<string, (length: number) => string> = {
  "one long string": (length) => JSON.stringify({ path: "src/a.ts", content: words(length) }),
  "many small values": (length) =>
    JSON.stringify(
      Array.from({ length: length / 64 }, (_, id) => ({ id, name: `item ${id}`, ok: true, tags: ["a", null] })),
    ),
};

const uses: Record<string, { delta: number; look?: (parser: JsonParser) => unknown }> = {
  whole: { delta: Infinity },
  "16 characters a time": { delta: 16 },
  "16, value read each time": { delta: 16, look: (parser) => parser.value },
  "16, changes() each time": { delta: 16, look: (parser) => parser.changes() },
};

for (const [name, make] of Object.entries(texts)) {
  for (const length of [size / 4, size]) {
    const text = make(length);
    const floor = best(() => void JSON.parse(text));
    console.log(`${name}, ${text.length} characters: JSON.parse ${floor.toFixed(1)} ms`);
    for (const [use, { delta, look }] of Object.entries(uses)) {
      const deltas = cut(text, delta);
      let parser = createJsonParser();
      const time = best(() => {
        parser = createJsonParser();
        for (const piece of deltas) {
          parser.feed(piece);
          look?.(parser);
        }
      });
      console.log(`  ${use.padEnd(26)} ${(time / floor).toFixed(1).padStart(6)} x ${heap()}`);
      if (parser.state !== "closed") throw new Error("not read to its end");
    }
  }
}

const broken = `{content: '${words(1_000_000).replaceAll("\\", "")}', "quotes": "${'say "hi" or '.repeat(1000)}it",}`;
let outcome = repairJson(broken);
const time = best(() => void (outcome = repairJson(broken)));
console.log(
  `repairJson, ${broken.length} characters: ${time.toFixed(0)} ms, ${outcome.ok ? "mended" : outcome.message}`,
);

function cut(text: string, length: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += length) pieces.push(text.slice(at, at + length));
  return pieces;
}

function best(run: () => void): number {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return Math.min(...times);
}

function heap(): string {
  collect();
  return `${(process.memoryUsage().heapUsed / 1e6).toFixed(0).padStart(5)} MB`;
}
