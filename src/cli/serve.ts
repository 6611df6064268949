import { stat } from "node:fs/promises";
import { fixturesIn } from "../replay/fixtures.ts";
import { serveReplay } from "../replay/index.ts";
import { clients } from "./clients.ts";
import { printable, wrap } from "./text.ts";
import { CommandError, parseOptions, portOf, speedOf, UsageError } from "./usage-error.ts";
import { adapters, wireNames } from "./wires.ts";

export const usage = `toolstream serve [DIR] [--port N] [--speed N] [--origin ORIGIN]...

Answers like the providers, from recordings in DIR/<wire>/<case>/. Point an SDK's base URL at it.

  DIR              default: fixtures
  --port N         default: a free port
  --speed N        N times as fast as recorded; default: at once
  --origin ORIGIN  whose pages may send requests: http://localhost:5173; default: none`;

/** Serves until it is interrupted. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: { port: { type: "string" }, speed: { type: "string" }, origin: { type: "string", multiple: true } },
  });
  const [dir = "fixtures", ...others] = positionals;
  if (others.length > 0) throw new UsageError(`serve takes one folder, got ${positionals.join(" and ")}.`);
  const port = portOf(values.port);
  const speed = speedOf(values.speed);
  const wires = await wiresIn(dir);
  const stop = untilInterrupted();
  const server = await listening(
    port,
    serveReplay({ adapters, fixtures: dir, port, speed, origins: values.origin, signal: stop }),
  );
  process.stdout.write(`Replaying ${dir} at ${server.url}. Press Ctrl+C to stop.\n`);
  for (const [wire, cases] of wires) {
    const client = clients.find(({ adapter }) => adapter.name === wire)!;
    process.stdout.write(`\n${client.title}, base URL ${server.url}/${wire}/<case>${client.basePath}\n`);
    for (const line of wrap(printable(cases.join(", ")), 108)) process.stdout.write(`  ${line}\n`);
  }
  await fired(stop);
  await server.close();
  return 0;
}

/** @throws CommandError for a folder without recordings */
async function wiresIn(dir: string): Promise<[string, string[]][]> {
  const found: [string, string[]][] = [];
  for (const { name } of adapters) {
    const cases = await fixturesIn(dir).names(name);
    if (cases.length > 0) found.push([name, cases]);
  }
  if (found.length > 0) return found;
  const is = await stat(dir).then(
    (stats) => (stats.isDirectory() ? "holds no recordings" : "is not a folder"),
    () => "is not there",
  );
  throw new CommandError(
    `${dir} ${is}. Give a folder with <wire>/<case>/stream.sse in it; the wires are ${wireNames}.`,
  );
}

/**
 * The server, once it listens.
 *
 * @throws CommandError that says why it cannot, and what to do
 * @throws UsageError for an option that it refuses
 */
export async function listening<Server>(port: number, server: Promise<Server>): Promise<Server> {
  try {
    return await server;
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(`${error.message}.`);
    const { code } = error as NodeJS.ErrnoException;
    const next = "Name another with --port, or leave it out for a free one.";
    if (code === "EADDRINUSE") throw new CommandError(`Port ${port} is in use. ${next}`);
    if (code === "EACCES") throw new CommandError(`Port ${port} may not be used by this user. ${next}`);
    throw error;
  }
}

/**
 * Fires on Ctrl+C and when the process is asked to exit. Further signals do nothing: npm and pnpm pass on the one that
 * the terminal has sent already, and that must not end the process while it saves (npm/cli#1591, pnpm/pnpm#7374).
 */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => controller.abort());
  return controller.signal;
}

export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
