import { parseArgs } from "node:util";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "../errors.ts";
import { serveReplay } from "../replay/index.ts";
import { adapters } from "./wires.ts";

export const usage = `toolstream serve [DIR] [--port N] [--speed N]

Answers as the providers do, from recordings in DIR/<wire>/<case>/. Point an SDK at it by its base URL.

  DIR        default: fixtures
  --port N   default: a free one
  --speed N  N times as fast as recorded; default: at once`;

/** Serves until it is interrupted. */
export async function serveCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { port: { type: "string" }, speed: { type: "string" } },
  });
  const [dir = "fixtures"] = positionals;
  const wires = await wiresIn(dir);
  const stop = untilInterrupted();
  const server = await serveReplay({
    adapters,
    fixtures: dir,
    port: portOf(values.port),
    speed: values.speed === undefined ? Infinity : Number(values.speed),
    signal: stop,
  });
  process.stdout.write(`Replaying ${dir} at ${server.url}. Base URLs:\n`);
  for (const [wire, cases] of wires) process.stdout.write(`  ${server.url}/${wire}/<case>  (${cases.join(", ")})\n`);
  process.stdout.write("Press Ctrl+C to stop.\n");
  await fired(stop);
  await server.close();
  return 0;
}

/** @throws ToolError `invalid_recording` for a folder that holds no recordings */
async function wiresIn(dir: string): Promise<[string, string[]][]> {
  const found: [string, string[]][] = [];
  for (const { name } of adapters) {
    const cases = await readdir(join(dir, name)).catch(() => []);
    if (cases.length > 0) found.push([name, cases.toSorted()]);
  }
  if (found.length > 0) return found;
  throw new ToolError(
    "invalid_recording",
    `${dir} holds no recordings: they are looked for in ${dir}/<wire>/<case>/stream.sse, with a wire of ${adapters.map((adapter) => adapter.name).join(", ")}.`,
  );
}

/** @throws TypeError for what is no port */
export function portOf(text: string | undefined): number {
  const port = text === undefined ? 0 : Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new TypeError(`--port is a number from 0 to 65535, got ${JSON.stringify(text)}.`);
}

/** Fires on Ctrl+C and when the process is asked to end. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
