import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Adapter } from "../src/index.ts";
import { summarize } from "../src/testing/index.ts";
import { adapters } from "./adapters.ts";
import { readPieces } from "./fixtures.ts";

/** Real recorded responses with the calls in them; they live beside the repository and are no part of it. */
const recordingsDir = resolve(import.meta.dirname, "../../shared/recordings");

interface ExpectedCall {
  id: string | null;
  name: string;
  arguments: unknown;
  argumentsText: string;
  complete: boolean;
  custom?: boolean;
  argumentsTextOnWire?: boolean;
}

interface Expected {
  format: string;
  toolCalls: ExpectedCall[];
  providerToolCalls?: { id: string | null; name: string }[];
  finishReason: string | null;
  error?: unknown;
  text: string;
  textLength: number;
  reasoning?: { text: string; textLength: number };
  refusal?: string;
}

describe("recorded responses of real providers", () => {
  if (!existsSync(recordingsDir)) {
    it.skip(`no recordings at ${recordingsDir}`, () => {});
    return;
  }
  for (const { adapter, recordings } of adapters) {
    for (const folder of recordings) {
      const dir = join(recordingsDir, folder);
      const names = readdirSync(dir)
        .filter((file) => file.endsWith(".expect.json"))
        .map((file) => file.slice(0, -".expect.json".length));
      it.each(names)(`${folder}/%s is read by ${adapter.name} as it was recorded`, async (name) => {
        const expected = JSON.parse(readFileSync(join(dir, `${name}.expect.json`), "utf8")) as Expected;
        const bytes = new Uint8Array(readFileSync(join(dir, `${name}.${expected.format}`)));
        expect(await found(adapter, bytes, expected)).toEqual(wanted(expected));
      });
    }
  }

  it("are mostly read from their bytes: of the events of all streams few are parsed", async () => {
    let events = 0;
    const parse = vi.spyOn(JSON, "parse");
    for (const { adapter, recordings } of adapters) {
      for (const file of recordings.flatMap(streamsIn)) {
        const bytes = new Uint8Array(readFileSync(file));
        events += new TextDecoder().decode(bytes).match(/^data: ?[[{]/gm)?.length ?? 0;
        await readPieces(adapter, [bytes], undefined);
      }
    }
    const parsed = parse.mock.calls.length;
    parse.mockRestore();
    expect(events).toBeGreaterThan(1000);
    expect(parsed).toBeLessThan(events / 4);
  });
});

/** The recordings of a folder that are Server-Sent Events. */
function streamsIn(folder: string): string[] {
  const dir = join(recordingsDir, folder);
  return readdirSync(dir)
    .filter((file) => file.endsWith(".sse"))
    .map((file) => join(dir, file));
}

/** The expectation in our words: empty and `null` arguments of a finished call are `{}`, free text is its own input. */
function wanted(expected: Expected) {
  const { finishReason, text, textLength, reasoning, refusal = "" } = expected;
  return {
    toolCalls: expected.toolCalls.map(
      ({ id, name, arguments: args, argumentsText, complete, custom, argumentsTextOnWire }) => ({
        id,
        name,
        complete,
        input: !complete ? undefined : custom === true ? argumentsText : (args ?? {}),
        argsText: argumentsTextOnWire === false ? JSON.stringify(args) : argumentsText,
      }),
    ),
    providerToolCalls: (expected.providerToolCalls ?? []).map(({ id, name }) => ({ id, name })),
    finishReason,
    failed: expected.error !== undefined || finishReason === null,
    text,
    textLength,
    reasoning: reasoning === undefined ? undefined : { text: reasoning.text, textLength: reasoning.textLength },
    refusal: refusal.slice(0, 200),
  };
}

async function found(adapter: Adapter, bytes: Uint8Array, expected: Expected) {
  const { turn } = await readPieces(adapter, [bytes], undefined);
  const summary = summarize(turn);
  return {
    // A call that the provider refused is told, but is none that the client has to run.
    toolCalls: summary.toolCalls
      .filter((call) => call.status !== "rejected")
      .map(({ id, name, status, input, argsText }) => ({
        id,
        name,
        complete: status === "complete",
        input: status === "complete" ? input : undefined,
        argsText,
      })),
    // What was found is told beside the calls.
    providerToolCalls: summary.providerToolCalls.filter(({ name }) => name !== "grounding"),
    finishReason: summary.providerFinishReason,
    failed: isFailed(summary.error, summary.providerFinishReason),
    text: summary.text.slice(0, 200),
    textLength: summary.text.length,
    reasoning:
      expected.reasoning === undefined
        ? undefined
        : { text: summary.reasoning.slice(0, 200), textLength: summary.reasoning.length },
    refusal: summary.refusal.slice(0, 200),
  };
}

function isFailed(error: { code: string } | null, finishReason: string | null): boolean {
  return error !== null || finishReason === null;
}
