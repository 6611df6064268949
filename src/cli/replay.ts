import { parseArgs } from "node:util";
import { isToolError } from "../errors.ts";
import { loadRecording, replay, type Recording } from "../replay/index.ts";
import { summarize } from "../testing/index.ts";
import type { Tool } from "../tool/tool.ts";
import { loadTools } from "./tools-file.ts";
import { createView } from "./view.ts";
import { adapterNamed, recognise } from "./wires.ts";

export const usage = `toolstream replay FILE... [--wire NAME] [--tools FILE] [--speed N] [--json]

Shows recordings as they happened.

  FILE          a recorded body (.sse, .ndjson, .json), or the folder of a fixture
  --wire NAME   the wire format; recognised from the content when not given
  --tools FILE  a JSON array of { name, description, parameters }, or a module that exports tools;
                without it every tool name is accepted and inputs are not validated
  --speed N     N times as fast as recorded; default: at once
  --json        one line of JSON a file`;

/** @returns the exit status */
export async function replayCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      wire: { type: "string" },
      tools: { type: "string" },
      speed: { type: "string" },
      json: { type: "boolean" },
    },
  });
  if (positionals.length === 0) throw new TypeError(`replay needs at least one file.\n\n${usage}`);
  const speed = values.speed === undefined ? Infinity : Number(values.speed);
  if (!(speed > 0)) throw new TypeError(`--speed is a positive number, got ${JSON.stringify(values.speed)}.`);
  const tools = values.tools === undefined ? undefined : await loadTools(values.tools);
  if (values.wire !== undefined) adapterNamed(values.wire);
  const show = values.json === true ? showJson : showLive;
  let status = 0;
  for (const file of positionals) {
    try {
      const recording = await loadRecording(file);
      await show(file, recording, { wire: values.wire, tools, speed });
    } catch (error) {
      if (!isToolError(error)) throw error;
      status = 1;
      if (values.json === true)
        printLine({ ...NOTHING, file, wire: values.wire ?? null, error: { code: error.code, message: error.message } });
      else process.stderr.write(`${error.message}\n`);
    }
  }
  return status;
}

interface ShowOptions {
  readonly wire: string | undefined;
  readonly tools: readonly Tool[] | undefined;
  readonly speed: number;
}

/** The fields of a line about a file that could not be read. */
const NOTHING = { text: "", finishReason: null, providerFinishReason: null, toolCalls: [], providerToolCalls: [] };

async function showJson(file: string, recording: Recording, { wire, tools, speed }: ShowOptions): Promise<void> {
  const adapter = wire === undefined ? recognise(recording.bytes) : adapterNamed(wire);
  const turn = await adapter.read(replay(recording, { speed }), { tools }).done();
  printLine({ file, ...summarize(turn) });
}

async function showLive(file: string, recording: Recording, { wire, tools, speed }: ShowOptions): Promise<void> {
  const adapter = wire === undefined ? recognise(recording.bytes) : adapterNamed(wire);
  process.stdout.write(`${file} (${adapter.name})\n`);
  const view = createView(process.stdout);
  for await (const event of adapter.read(replay(recording, { speed }), { tools })) view.event(event);
  view.end();
}

function printLine(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
