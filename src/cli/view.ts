import { styleText } from "node:util";
import { ToolCallError } from "../errors.ts";
import type { ToolCall } from "../stream/call.ts";
import type { StreamEvent } from "../stream/events.ts";
import type { ToolUse } from "../tool/use.ts";
import { frame, repairLine, type FrameState, type Paint, type PanelState } from "./frame.ts";
import { inlineValue } from "./render.ts";
import { printable, short } from "./text.ts";
import { timeline, type Span } from "./timeline.ts";

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
  readonly rows?: number | undefined;
}

/** Whether a person is watching: on a terminal, and not under CI. */
export function isWatched(screen: Screen): boolean {
  return screen.isTTY === true && !process.env["CI"] && process.env["TERM"] !== "dumb";
}

/** A live view on a terminal; plain lines under CI or into a pipe. */
export function createView(screen: Screen): View {
  return isWatched(screen) ? liveView(screen) : plainView(screen);
}

/** One line per event; text is printed when the next event happens. */
export function plainView(screen: Screen): View {
  let text = "";
  let textWord = "";
  const print = (word: string, rest: string) =>
    screen.write(`  ${word.padEnd(9)} ${printable(rest).replaceAll("\n", `\n${" ".repeat(12)}`)}\n`);
  const flush = () => {
    if (text.trim() !== "") print(textWord, text.trim());
    text = "";
  };
  return {
    event(event) {
      const word = TEXTS[event.type];
      if (word !== undefined && "delta" in event) {
        if (word !== textWord) flush();
        textWord = word;
        text += event.delta;
        return;
      }
      const line = lineOf(event);
      if (line === undefined) return;
      flush();
      print(...line);
    },
    result(use, output) {
      flush();
      const said = output instanceof Error ? `failed: ${output.message}` : (JSON.stringify(output) ?? "nothing");
      print("result", `${use.name} -> ${short(said, 160)}`);
    },
    end: flush,
  };
}

/** The word for each kind of text. */
const TEXTS: Partial<Record<StreamEvent["type"], string>> = {
  "text-delta": "text",
  "reasoning-delta": "thinking",
  "refusal-delta": "refusal",
};

function lineOf(event: StreamEvent): [string, string] | undefined {
  switch (event.type) {
    case "tool-input-start":
      return ["call", `${event.call.name} ${event.call.id ?? ""}`.trimEnd()];
    case "tool-use": {
      const repairs = event.use.repairs.map((repair) => ` [${repairLine(repair)}]`).join("");
      return ["use", `${event.use.name} ${short(JSON.stringify(event.use.input) ?? "", 160)}${repairs}`];
    }
    case "tool-error":
      return ["error", `${event.error.call.name ?? "?"}: ${event.error.code}: ${event.error.message}`];
    case "provider-tool":
      return ["provider", `${event.call.name} ${event.call.status}`];
    case "finish":
      return ["finish", `${event.reason} (${event.providerReason ?? "no reason given"})`];
    case "error":
      return ["failed", `${event.error.code}: ${event.error.message}`];
    default:
      return undefined;
  }
}

const FRAME_MS = 30;
const TIMELINE_FROM_MS = 100;

/** Text above, and below it the calls as panels side by side, each with its partial input as it fills up. */
export function liveView(screen: Screen, paint: Paint = inColor): View {
  let calls: readonly ToolCall[] = [];
  const results = new Map<string, string>();
  const spans = new Map<string, Span>();
  const startedAt = performance.now();
  const notes: string[] = [];
  let reasoning = "";
  let text = "";
  let height = 0;
  let drawnAt = -Infinity;
  let endedMs = 0;
  let timer: NodeJS.Timeout | undefined;

  function draw(isLast: boolean): void {
    clearTimeout(timer);
    timer = undefined;
    // Some terminals do not say how large they are, and Node then has 0 for both (`docker exec -t`, `script`).
    const columns = Math.max(12, (screen.columns || 80) - 1);
    const state: FrameState = {
      reasoning,
      text,
      notes,
      panels: calls.map((call) => panelOf(call, results)),
      timeline: isLast && isWorthATimeline() ? timeline(calls.map(spanOf), endedMs, columns) : [],
    };
    const lines = frame(state, { columns, rows: isLast ? Infinity : Math.max(2, (screen.rows || 24) - 1) }, paint);
    screen.write(redraw(lines, height));
    height = lines.length;
    drawnAt = performance.now(); // after drawing: a slow frame must not take all of the time
  }
  /** Only if there was time between the calls. */
  function isWorthATimeline(): boolean {
    return calls.length > 1 && endedMs >= TIMELINE_FROM_MS;
  }
  function spanOf({ invocationId }: ToolCall): Span {
    return spans.get(invocationId)!;
  }
  function noteTime(event: StreamEvent): void {
    endedMs = performance.now() - startedAt;
    if (event.type === "tool-input-start") {
      const { invocationId, name } = event.call;
      const now = { startMs: endedMs, inputMs: endedMs, outcomeMs: undefined };
      spans.set(invocationId, { name: name ?? "?", isFailed: false, ...now });
    } else if (event.type === "tool-input-delta") changeSpan(event.call.invocationId, { inputMs: endedMs });
    else if (event.type === "tool-use") changeSpan(event.use.invocationId, { outcomeMs: endedMs });
    else if (event.type === "tool-error") {
      changeSpan(event.error.invocationId, { outcomeMs: endedMs, isFailed: true });
    }
  }
  function changeSpan(invocationId: string, change: Partial<Span>): void {
    const span = spans.get(invocationId);
    if (span !== undefined) spans.set(invocationId, { ...span, ...change });
  }
  /** At most one frame every 30 ms, and always one for the latest event. */
  function drawSoon(): void {
    if (performance.now() - drawnAt >= FRAME_MS) draw(false);
    else timer ??= setTimeout(draw, FRAME_MS, false);
  }

  return {
    event(event) {
      noteTime(event);
      if (event.type === "reasoning-delta") reasoning += event.delta;
      else if (event.type === "text-delta" || event.type === "refusal-delta") text += event.delta;
      else if (event.type === "tool-input-start") calls = [...calls, event.call];
      else if (event.type === "tool-error" && !spans.has(event.error.invocationId)) {
        notes.push(lineOf(event)!.join(" ")); // it never had a name, so it has no panel
      } else if (event.type === "finish" || event.type === "error" || event.type === "provider-tool") {
        notes.push(lineOf(event)!.join(" "));
      }
      // It turned out to be the provider's own: nothing more will come of it here.
      if (event.type === "provider-tool") calls = calls.filter(({ id }) => id === null || id !== event.call.id);
      drawSoon();
    },
    result(use, output) {
      results.set(use.invocationId, output instanceof Error ? `failed: ${output.message}` : inlineValue(output, 200));
      drawSoon();
    },
    end: () => draw(true),
  };
}

const inColor: Paint = (style, text) => styleText(style, text, { stream: process.stdout });

function panelOf(call: ToolCall, results: ReadonlyMap<string, string>): PanelState {
  const { outcome } = call;
  const common = { name: call.name ?? "?", id: call.id ?? "", repairs: call.repairs };
  if (outcome === undefined) return { ...common, repairs: [], input: call.input, status: "open", outcome: undefined };
  if (outcome instanceof ToolCallError) {
    const { code, message } = outcome;
    return { ...common, input: outcome.call.input, status: "failed", outcome: `${code}: ${message}` };
  }
  const status = call.released ? "released" : "held";
  return { ...common, input: outcome.input, status, outcome: results.get(call.invocationId) };
}

/**
 * Draws over the existing lines, in one write: a terminal that supports it shows them all at once (mode 2026), no line
 * is empty in between, and a line that turns out too wide is cut (mode 7), so that the height stays the same.
 */
function redraw(lines: readonly string[], heightBefore: number): string {
  const up = heightBefore > 0 ? `\u001B[${heightBefore}A` : "";
  const body = lines.map((line) => `${line}\u001B[K\n`).join("");
  return `\u001B[?2026h\u001B[?7l${up}\r${body}\u001B[0J\u001B[?7h\u001B[?2026l`;
}
