import { styleText } from "node:util";
import { ToolCallError } from "../errors.ts";
import type { ToolCall } from "../stream/call.ts";
import type { StreamEvent } from "../stream/events.ts";
import type { ToolUse } from "../tool/use.ts";

/** Shows the events of one stream to a person. */
export interface View {
  event(event: StreamEvent): void;
  /** The outcome of a tool that was executed. */
  result(use: ToolUse, output: unknown): void;
  /** Nothing more will come. */
  end(): void;
}

export interface Screen {
  write(text: string): void;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

type Style = Parameters<typeof styleText>[0];

/** A live view on a terminal, plain lines under CI or into a pipe. */
export function createView(screen: Screen): View {
  return screen.isTTY === true && !process.env["CI"] ? liveView(screen) : plainView(screen);
}

/** One line for what happened; text is printed when the next thing happens. */
function plainView(screen: Screen): View {
  let text = "";
  const print = (line: string) => {
    if (text.trim() !== "") screen.write(`  text      ${text.trim().replaceAll("\n", "\n            ")}\n`);
    text = "";
    screen.write(`${line}\n`);
  };
  return {
    event(event) {
      if (event.type === "text-delta") text += event.delta;
      else for (const [word, rest] of linesOf(event)) print(`  ${word.padEnd(9)} ${rest}`);
    },
    result: (use, output) => print(`  result    ${use.name} -> ${short(output, 160)}`),
    end: () => {
      if (text !== "") print("");
    },
  };
}

function linesOf(event: StreamEvent): [string, string][] {
  switch (event.type) {
    case "tool-input-start":
      return [["call", `${event.call.name} ${labelOf(event.call)}`]];
    case "tool-use":
      return [["use", `${event.use.name} ${short(event.use.input, 160)}${repairsOf(event.use.repairs.length)}`]];
    case "tool-error":
      return [["error", `${event.error.call.name ?? "?"}: ${event.error.code}: ${event.error.message}`]];
    case "provider-tool":
      return [["provider", `${event.call.name} ${event.call.status}`]];
    case "finish":
      return [["finish", `${event.reason} (${event.providerReason ?? "no reason given"})`]];
    case "error":
      return [["failed", `${event.error.code}: ${event.error.message}`]];
    default:
      return [];
  }
}

/** Lines of one panel. */
const PANEL_HEIGHT = 9;
const FRAME_MS = 30;

/** Text above, and the calls as panels side by side, each with its partial input as it fills. */
function liveView(screen: Screen): View {
  const color = (style: Style, text: string) => styleText(style, text, { stream: process.stdout });
  const calls: ToolCall[] = [];
  const results = new Map<string, string>();
  const notes: string[] = [];
  let text = "";
  let height = 0;
  let drawnAt = 0;

  function draw(): void {
    drawnAt = performance.now();
    const width = Math.max(40, (screen.columns ?? 80) - 1);
    const lines = [...wrap(text, width).slice(-4), ...panels(width), ...notes];
    const up = height > 0 ? `\u001B[${height}A` : "";
    screen.write(`${up}\u001B[0J${lines.map((line) => `${line}\n`).join("")}`);
    height = lines.length;
  }

  function panels(width: number): string[] {
    const perRow = Math.max(1, Math.min(calls.length, Math.floor(width / 36)));
    const panelWidth = Math.floor(width / perRow) - 1;
    const rows: string[] = [];
    for (let at = 0; at < calls.length; at += perRow) {
      const row = calls.slice(at, at + perRow).map((call) => panel(call, panelWidth));
      for (let line = 0; line < PANEL_HEIGHT; line++) rows.push(row.map((lines) => lines[line]!).join(" "));
    }
    return rows;
  }

  function panel(call: ToolCall, width: number): string[] {
    const { outcome } = call;
    const [mark, style]: [string, Style] =
      outcome === undefined ? ["…", "yellow"] : outcome instanceof ToolCallError ? ["✗", "red"] : ["✓", "green"];
    const head = ` ${mark} ${call.name ?? "?"} ${labelOf(call)}`;
    const foot = outcome instanceof ToolCallError ? outcome.code : (results.get(call.invocationId) ?? "");
    const body = wrap(JSON.stringify(call.input, undefined, 2) ?? "", width - 2).slice(-(PANEL_HEIGHT - 3));
    return [
      color([style, "bold"], fit(head, width)),
      ...Array.from({ length: PANEL_HEIGHT - 3 }, (_, line) => fit(`  ${body[line] ?? ""}`, width)),
      color(outcome instanceof ToolCallError ? "red" : "cyan", fit(foot === "" ? "" : ` → ${foot}`, width)),
      fit("", width),
    ];
  }

  return {
    event(event) {
      if (event.type === "text-delta") text += event.delta;
      else if (event.type === "tool-input-start") calls.push(event.call);
      else if (event.type !== "tool-input-delta" && event.type !== "tool-use" && event.type !== "tool-error") {
        notes.push(...linesOf(event).map(([word, rest]) => color("dim", `${word} ${rest}`)));
      }
      if (performance.now() - drawnAt > FRAME_MS) draw();
    },
    result(use, output) {
      results.set(use.invocationId, short(output, 60));
      draw();
    },
    end: draw,
  };
}

/** A value on one line. */
export function short(value: unknown, length: number): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  const line = text.replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

function labelOf(call: ToolCall): string {
  return call.id === null || call.id === "" ? "" : `(${call.id})`;
}

function repairsOf(count: number): string {
  return count === 0 ? "" : ` [${count} ${count === 1 ? "repair" : "repairs"}]`;
}

function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => {
    if (line.length <= width) return [line];
    return Array.from({ length: Math.ceil(line.length / width) }, (_, at) => line.slice(at * width, (at + 1) * width));
  });
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}
