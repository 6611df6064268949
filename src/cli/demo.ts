import { styleText } from "node:util";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf } from "../errors.ts";
import { loadRecording, serveReplay, type Recording } from "../replay/index.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import { clients, type Ask, type Client } from "./clients.ts";
import { demoTools, executable } from "./demo-tools.ts";
import { paced } from "./paced.ts";
import { LEGEND } from "./timeline.ts";
import { asSentence, parseOptions, CommandError, UsageError } from "./usage-error.ts";
import { createView, isWatched } from "./view.ts";
import { adapterNamed, adapters, wireNames } from "./wires.ts";

export const usage = `toolstream demo [--live PROVIDER --model MODEL] [--prompt TEXT]

Shows recorded streams of six provider APIs as live partial inputs, validated tool calls and results.
The official SDK clients read them from a local server: no key and no network. It runs in a checkout of the
repository; with --live it runs anywhere.

  --live PROVIDER  ask the real provider instead: ${wireNames}
  --model MODEL    its model
  --prompt TEXT    what to ask it`;

/** Where the recordings are in a checkout; a published package has none. */
const FIXTURES = resolve(import.meta.dirname, "../../fixtures");
const PROMPT = "What is the weather in Oslo and in Bergen, and which orders of ada are open? Use the tools.";

export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseOptions({
    args: [...args],
    options: { live: { type: "string" }, model: { type: "string" }, prompt: { type: "string" } },
  });
  const prompt = values.prompt ?? PROMPT;
  if (values.live !== undefined) return live(values.live, values.model, prompt, demoTools());
  if (values.model !== undefined || values.prompt !== undefined) {
    throw new UsageError("--model and --prompt need --live: without it, recordings are shown.");
  }
  if (!existsSync(FIXTURES))
    throw new CommandError(
      `The recordings of the demo are not at ${FIXTURES}: it runs in a checkout of the repository (npm start). ` +
        "With --live it asks a provider, from anywhere.",
    );

  const tools = await executable(join(FIXTURES, "tools.json"));
  const isLive = isWatched(process.stdout);
  const fixtures = new Map<string, { stream: Recording }>();
  for (const { name } of adapters) {
    const recording = await loadRecording(join(FIXTURES, name, "demo"));
    fixtures.set(`${name}/demo`, { stream: isLive ? paced(recording) : recording });
  }
  const server = await serveReplay({ adapters, fixtures, speed: isLive ? 1 : Infinity });
  const rows: Row[] = [];
  if (isLive) process.stdout.write(`\n${styleText("dim", LEGEND, { stream: process.stdout })}\n`);
  try {
    for (const client of clients) {
      const baseUrl = `${server.url}/${client.adapter.name}/demo`;
      rows.push(await show(client, { baseUrl, apiKey: "none", model: "replayed" }, prompt, tools));
    }
  } finally {
    await server.close();
  }
  process.stdout.write(`${table(rows)}\n`);
  return rows.some((row) => row.isFailed) ? 1 : 0;
}

async function live(
  provider: string,
  model: string | undefined,
  prompt: string,
  tools: readonly Tool[],
): Promise<number> {
  const adapter = adapterNamed(provider);
  const client = clients.find((candidate) => candidate.adapter === adapter)!;
  const apiKey = client.keys.map((key) => process.env[key]).find((value) => value !== undefined && value !== "");
  if (apiKey === undefined || model === undefined) {
    const missing = [
      apiKey === undefined ? `the key in ${client.keys.join(" or ")}` : "",
      model === undefined ? "--model" : "",
    ];
    const command = existsSync(FIXTURES) ? "npm start --" : "npx toolstream demo";
    process.stderr.write(
      `To ask ${client.title} itself, set ${missing.filter(Boolean).join(" and ")}, for example:\n` +
        `  ${client.keys[0]}=... ${command} --live ${provider} --model ${model ?? client.exampleModel}\n`,
    );
    return 2;
  }
  const row = await show(client, { apiKey, model }, prompt, tools);
  process.stdout.write(`${table([row])}\n`);
  return row.isFailed ? 1 : 0;
}

interface Row {
  readonly provider: string;
  readonly events: number;
  readonly calls: number;
  readonly executed: number;
  readonly repairs: number;
  readonly firstCallMs: number | undefined;
  readonly isFailed: boolean;
}

/**
 * Reads one stream through the official client, and executes its calls as they are released.
 *
 * @throws CommandError with what the provider or the connection reported, if there is no stream
 */
async function show(client: Client, ask: Ask, prompt: string, tools: readonly Tool[]): Promise<Row> {
  process.stdout.write(`\n${bold(client.title)}\n`);
  const model = await client.model(ask); // before the clock starts: loading the SDK does not count
  const view = createView(process.stdout);
  const startedAt = performance.now();
  let firstCallMs: number | undefined;
  let events = 0;
  const running: Promise<void>[] = [];
  const execute = async (use: ToolUse) => view.result(use, await use.execute().catch((error: unknown) => error));

  const stream = model.open({ messages: [model.userMessage(prompt)], tools });
  for await (const event of stream) {
    if (event.type === "error" && events === 0) throw withoutStream(client, event.error.cause ?? event.error);
    events++;
    view.event(event);
    if (event.type !== "tool-use") continue;
    firstCallMs ??= performance.now() - startedAt;
    running.push(execute(event.use));
  }
  await Promise.all(running);
  view.end();
  const { turn } = stream;
  return {
    provider: client.adapter.name,
    events,
    calls: turn.calls.length,
    executed: running.length,
    repairs: turn.calls.reduce((sum, call) => sum + call.repairs.length, 0),
    firstCallMs,
    isFailed: turn.error !== undefined,
  };
}

function withoutStream({ title, keys }: Client, cause: unknown): CommandError {
  const { status } = cause as { status?: unknown };
  const hint = status === 401 || status === 403 ? ` Is the key in ${keys.join(" or ")} right?` : "";
  return new CommandError(`${title} gave no stream: ${asSentence(reasonsOf(cause))}${hint}`, { cause });
}

/** What an error says, and in brackets what its causes say beyond that. */
function reasonsOf(error: unknown): string {
  const said = messageOf(error);
  const causes = new Set<string>();
  let { cause } = error as { cause?: unknown };
  for (; cause instanceof Error; cause = cause.cause)
    if (!said.includes(messageOf(cause))) causes.add(messageOf(cause));
  return causes.size === 0 ? said : `${said} (${[...causes].join(": ")})`;
}

function table(rows: readonly Row[]): string {
  const head = ["provider", "events", "calls", "executed", "repairs", "first call"];
  const body = rows.map((row) => [
    row.provider,
    `${row.events}`,
    `${row.calls}`,
    `${row.executed}`,
    `${row.repairs}`,
    row.firstCallMs === undefined ? "-" : `${row.firstCallMs.toFixed(0)} ms`,
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...body.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  ");
  return `\n${bold(line(head))}\n${body.map(line).join("\n")}`;
}

function bold(text: string): string {
  return styleText("bold", text, { stream: process.stdout });
}
