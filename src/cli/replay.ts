import type { Adapter } from "../adapter.ts";
import { isToolError } from "../errors.ts";
import type { TurnStream } from "../read/index.ts";
import type { Turn } from "../stream/events.ts";
import { summarize, type TurnSummary } from "../testing/index.ts";
import { plainText } from "../text/plain.ts";
import type { Tool } from "../tool/tool.ts";
import { openInput, recordingsAt } from "./inputs.ts";
import { loadTools } from "./tools-file.ts";
import { parseOptions, speedOf, UsageError } from "./usage-error.ts";
import { printable, wrap } from "./text.ts";
import { checkIsNoNotation, checkNotation, textFixtureAdapter, textNotations, withTextCalls } from "./text-calls.ts";
import { LEGEND } from "./timeline.ts";
import { createView, isWatched } from "./view.ts";
import { checkWire, recordedAdapterNamed, wireNames } from "./wires.ts";

export const usage = `toolstream replay FILE... [--wire NAME] [--text NOTATION] [--tools FILE] [--speed N] [--json]

Shows recordings as they happened.

  FILE          a recorded body (.sse, .ndjson, .json), a fixture folder, a folder of those,
                or - for standard input, shown as it arrives
  --wire NAME   the wire format; default: recognised from the content. It is one of:
                ${wireNames}, ${plainText.name}
  --text NOTATION
                also find calls in the text; default: what the meta.json of a fixture of text says;
                helpers are Python, in <helpers> blocks:
${wrap(textNotations.join(", "), 86)
  .map((line) => " ".repeat(16) + line)
  .join("\n")}
  --tools FILE  a JSON array of { name, description, parameters }, or a module that exports tools;
                without it, every tool name is accepted and inputs are not validated
  --speed N     N times as fast as recorded; default: at once. On a terminal a recording without timing
                is given one of two seconds.
  --json        one line of JSON per file

On a terminal the calls fill live, and end with their times:
  ${LEGEND}

Exit status 1 when a file could not be read or recognised; the others are still shown.`;

interface ReplayOptions {
  readonly wire: string | undefined;
  readonly notation: string | undefined;
  readonly tools: readonly Tool[] | undefined;
  readonly speed: number | undefined;
  readonly isJson: boolean;
}

/** @returns the exit status */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      wire: { type: "string" },
      text: { type: "string" },
      tools: { type: "string" },
      speed: { type: "string" },
      json: { type: "boolean" },
    },
  });
  if (positionals.length === 0) throw new UsageError(`replay needs at least one file.\n\n${usage}`);
  const speed = speedOf(values.speed);
  checkIsNoNotation(values.wire);
  const wire = values.wire === undefined ? undefined : recordedAdapterNamed(values.wire).name;
  const tools = values.tools === undefined ? undefined : await loadTools(values.tools);
  const { text: notation } = values;
  if (notation !== undefined) checkNotation(notation);
  const options: ReplayOptions = { wire, notation, tools, speed, isJson: values.json === true };

  let status = 0;
  for (const path of positionals) {
    for (const file of await recordingsAt(path)) {
      if (!(await replayOne(file, options))) status = 1;
    }
  }
  // A turn may be over while the pipe stays open: that must not delay the exit.
  if (positionals.includes("-")) process.stdin.destroy();
  return status;
}

/** @returns whether the file could be read and recognised, however its turn ended */
async function replayOne(file: string, { wire, notation, tools, speed, isJson }: ReplayOptions): Promise<boolean> {
  try {
    const isPaced = !isJson && isWatched(process.stdout);
    const { adapter, body, soFar } = await openInput(file, { wire, speed, isPaced });
    const text = { isBroken: false };
    const reader = await readerOf(adapter, file, { wire, notation });
    const stream = reader.read(watchText(body, text), { tools });
    const turn = isJson ? await stream.done() : await show(`${file} (${reader.name})`, stream);
    const lost = saysNothing(turn) ? turn.error?.code : undefined;
    if (lost === "connection_lost") checkWire(soFar(), adapter);
    if (isJson) printLine({ file, ...summarize(turn) });
    return !text.isBroken && lost !== "invalid_event";
  } catch (error) {
    if (!isToolError(error)) throw error;
    const { code, message } = error;
    if (isJson) printLine({ ...NOTHING, file, wire: wire ?? null, error: { code, message } });
    else process.stderr.write(`toolstream: ${printable(message.startsWith(file) ? message : `${file}: ${message}`)}\n`);
    return false;
  }
}

/** The adapter that also finds the calls in the text, where it is known how they are written. */
async function readerOf(
  adapter: Adapter,
  file: string,
  { wire, notation }: Pick<ReplayOptions, "wire" | "notation">,
): Promise<Adapter> {
  if (notation !== undefined) return withTextCalls(adapter, notation);
  const isPlainText = wire === undefined && adapter === plainText && file !== "-";
  return (isPlainText ? await textFixtureAdapter(file) : undefined) ?? adapter;
}

async function show(title: string, stream: TurnStream): Promise<Turn> {
  process.stdout.write(`${printable(title)}\n`);
  const view = createView(process.stdout);
  for await (const event of stream) view.event(event);
  view.end();
  return stream.turn;
}

/** Passes the bytes on and notes whether all of them were UTF-8; a character cut by the end is not an error. */
async function* watchText(body: AsyncIterable<Uint8Array>, text: { isBroken: boolean }): AsyncGenerator<Uint8Array> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  for await (const bytes of body) {
    try {
      if (!text.isBroken) utf8.decode(bytes, { stream: true });
    } catch {
      text.isBroken = true;
    }
    yield bytes;
  }
}

/** Whether nothing in a body was understood: it was cut or failed before its first word, or belongs to another wire. */
function saysNothing(turn: Turn): boolean {
  const { text, reasoning, refusal, calls, providerToolCalls, providerFinishReason } = turn;
  return (
    text + reasoning + refusal === "" && calls.length + providerToolCalls.length === 0 && providerFinishReason === null
  );
}

/** The fields of a line about a file that could not be read, in the same order as in every line. */
const NOTHING: TurnSummary & { file: string } = {
  file: "",
  wire: "",
  text: "",
  reasoning: "",
  refusal: "",
  finishReason: null,
  providerFinishReason: null,
  toolCalls: [],
  providerToolCalls: [],
  error: null,
};

function printLine(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
