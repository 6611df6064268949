import { parseArgs, styleText } from "node:util";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ToolError } from "../errors.ts";
import { loadRecording, serveReplay, type Recording } from "../replay/index.ts";
import { jsonSchema } from "../schema/index.ts";
import { defineTool, type Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import { clients, type Client } from "./clients.ts";
import { loadTools } from "./tools-file.ts";
import { createView } from "./view.ts";
import { adapterNamed, adapters } from "./wires.ts";

export const usage = `toolstream demo [--live PROVIDER --model MODEL] [--prompt TEXT]

Recorded streams of five providers become live partial inputs, validated tool calls and results, through the
official SDK clients and a local server. No key and no network.

  --live PROVIDER  ask the real provider instead: openai-chat (openai), openai-responses, anthropic, google, cohere
  --model MODEL    its model
  --prompt TEXT    what to ask it`;

const PROMPT = "What is the weather in Oslo, which orders of ada are open, and what is 17 * 23? Use the tools.";

export async function demoCommand(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { live: { type: "string" }, model: { type: "string" }, prompt: { type: "string" } },
  });
  const prompt = values.prompt ?? PROMPT;
  const dir = resolve(import.meta.dirname, "../../fixtures");
  if (values.live !== undefined) return live(values.live, values.model, prompt, demoTools());
  if (!existsSync(dir))
    throw new ToolError(
      "invalid_recording",
      `The recordings of the demo are not at ${dir}: it runs in a checkout of the repository.`,
    );

  const tools = await executable(join(dir, "tools.json"));
  const isLive = process.stdout.isTTY === true && !process.env["CI"];
  const fixtures = new Map<string, { stream: Recording }>();
  for (const { name } of adapters) {
    const recording = await loadRecording(join(dir, name, "demo"));
    fixtures.set(`${name}/demo`, { stream: isLive ? paced(recording) : recording });
  }
  const server = await serveReplay({ adapters, fixtures, speed: isLive ? 1 : Infinity });
  const rows: Row[] = [];
  try {
    for (const client of clients) {
      const baseUrl = `${server.url}/${client.adapter.name}/demo`;
      rows.push(await show(client, { baseUrl, apiKey: "none", model: "replayed", prompt, tools }));
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
    process.stderr.write(
      `To ask ${client.title} itself, set ${missing.filter(Boolean).join(" and ")}, for example:\n` +
        `  ${client.keys[0]}=... npm start -- --live ${provider} --model ${model ?? client.exampleModel}\n`,
    );
    return 2;
  }
  const row = await show(client, { apiKey, model, prompt, tools });
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

/** Reads one stream through the official client, and runs its calls as they are released. */
async function show(client: Client, ask: Parameters<Client["open"]>[0]): Promise<Row> {
  process.stdout.write(`\n${bold(client.title)}\n`);
  await client.load();
  const view = createView(process.stdout);
  const startedAt = performance.now();
  let firstCallMs: number | undefined;
  let events = 0;
  const running: Promise<void>[] = [];
  const run = async (use: ToolUse) => view.result(use, await use.execute().catch((error: unknown) => String(error)));

  const stream = client.adapter.read(await client.open(ask), { tools: ask.tools });
  for await (const event of stream) {
    events++;
    view.event(event);
    if (event.type !== "tool-use") continue;
    firstCallMs ??= performance.now() - startedAt;
    running.push(run(event.use));
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

/** An event every few milliseconds, since a recording without timing would be over before it is seen. */
function paced(recording: Recording): Recording {
  const text = new TextDecoder("latin1").decode(recording.bytes);
  const chunks = (text.match(/[^]*?(?:\r?\n){2}|[^]+$/g) ?? []).map((frame, at) => ({
    atMs: at * 15,
    length: frame.length,
  }));
  return { ...recording, chunks };
}

/** The tools of the fixtures, with handlers that answer as such tools would. */
async function executable(path: string): Promise<readonly Tool[]> {
  const answers = handlers();
  return (await loadTools(path)).map((tool) => {
    const { name, description, inputSchema, effect } = tool;
    const execute = answers[name] ?? ((input: unknown) => ({ ok: true, input }));
    return defineTool({ name, inputSchema, effect, execute, ...(description === undefined ? {} : { description }) });
  });
}

function demoTools(): readonly Tool[] {
  const answers = handlers();
  const text = { type: "string" };
  const tool = (name: string, description: string, property: string) =>
    defineTool({
      name,
      description,
      effect: "read",
      inputSchema: jsonSchema({
        type: "object",
        properties: { [property]: text },
        required: [property],
        additionalProperties: false,
      }),
      execute: answers[name]!,
    });
  return [
    tool("get_weather", "Current weather of a city.", "city"),
    tool("find_orders", "Find orders of a customer.", "customer"),
    tool("calculate", "Evaluate an arithmetic expression.", "expression"),
  ];
}

function handlers(): Readonly<Record<string, (input: any) => unknown>> {
  return {
    get_weather: ({ city }) => ({ city, celsius: 4 + (String(city).length % 20), sky: "clear" }),
    now: () => ({ utc: new Date().toISOString() }),
    find_orders: async ({ customer, limit = 10 }) => ({ customer, orders: ["A-1001", "A-1002"].slice(0, limit) }),
    calculate: ({ expression }) => ({ expression, note: "this demo does not calculate" }),
    refund_order: async ({ order_id, amount }) => ({ order_id, refunded: amount }),
    write_file: ({ path, content }) => ({
      path,
      characters: String(content).length,
      note: "not written: this is a demo",
    }),
  };
}

function bold(text: string): string {
  return styleText("bold", text, { stream: process.stdout });
}
