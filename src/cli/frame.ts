import type { styleText } from "node:util";
import type { Repair } from "../tool/use.ts";
import { renderValue } from "./render.ts";
import { fit, printable, short, wrap } from "./text.ts";

/** One call, as far as it is known. */
export interface PanelState {
  readonly name: string;
  /** The provider's id, or nothing. */
  readonly id: string;
  readonly input: unknown;
  /** `held`: complete, but a write waits for the clean end of its turn. */
  readonly status: "open" | "held" | "released" | "failed";
  readonly repairs: readonly Repair[];
  /** What the tool returned, or why the call is not executed. */
  readonly outcome: string | undefined;
}

/** Everything shown for one turn. */
export interface FrameState {
  readonly reasoning: string;
  readonly text: string;
  readonly panels: readonly PanelState[];
  readonly notes: readonly string[];
  /** The times of the calls, as lines: see `timeline()`. */
  readonly timeline: readonly string[];
}

export interface FrameSize {
  readonly columns: number;
  /** At least 1; `Infinity` for the last frame, which may scroll. */
  readonly rows: number;
}

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

const PANEL_WIDTH = 26;
const BODY_LINES = 8;
const TEXT_LINES = 4;

const LOOKS = {
  open: { mark: "…", style: "yellow", note: "" },
  held: { mark: "✓", style: "yellow", note: "waits for the end of the turn" },
  released: { mark: "✓", style: "green", note: "" },
  failed: { mark: "✗", style: "red", note: "" },
} as const satisfies Record<PanelState["status"], { mark: string; style: Style; note: string }>;

/**
 * The lines of one frame, never more than `rows` and never wider than `columns`.
 *
 * ```
 * I will look at the weather and write the list.
 * ✓ get_weather call_1        … write_file call_2
 * │ city: Oslo                │ path: trip/packing.md
 * │ → {"celsius":8}           │ content:
 * │                           │   # Packing li▌
 * ```
 */
export function frame(state: FrameState, { columns, rows }: FrameSize, paint: Paint): string[] {
  const isLast = rows === Infinity;
  const tail = (text: string) =>
    text === ""
      ? []
      : wrap(printable(isLast ? text : endOf(text, columns)).trim(), columns).slice(isLast ? 0 : -TEXT_LINES);
  const lines = [
    ...tail(state.reasoning).map((line) => paint("dim", line)),
    ...tail(state.text),
    ...panels(state.panels, columns, paint),
    ...state.timeline.map((line) => paint("cyan", line)),
    ...state.notes.flatMap((note) => wrap(printable(note), columns)).map((line) => paint("dim", line)),
  ];
  // The cursor cannot go above the top of the screen: what does not fit is left out, oldest first.
  if (lines.length <= rows) return lines;
  return [paint("dim", "⋮"), ...lines.slice(lines.length - rows + 1)];
}

/**
 * The end of a text, and more than is shown: a frame of a text of megabytes costs no more than one of a page. Its start
 * stays in place for a while, so that the lines do not jump.
 */
function endOf(text: string, columns: number): string {
  const step = TEXT_LINES * columns * 8;
  return text.slice(Math.max(0, Math.floor(text.length / step) - 1) * step);
}

function panels(states: readonly PanelState[], columns: number, paint: Paint): string[] {
  const perRow = Math.max(1, Math.min(states.length, Math.floor(columns / PANEL_WIDTH)));
  const width = Math.floor((columns - (perRow - 1)) / perRow);
  const lines: string[] = [];
  for (let at = 0; at < states.length; at += perRow) {
    const row = states.slice(at, at + perRow).map((state) => panel(state, width, paint));
    const height = Math.max(...row.map((panelLines) => panelLines.length));
    for (let line = 0; line < height; line++) {
      lines.push(
        row
          .map((panelLines) => panelLines[line] ?? fit("", width))
          .join(" ")
          .trimEnd(),
      );
    }
  }
  return lines;
}

function panel(state: PanelState, width: number, paint: Paint): string[] {
  const { mark, style, note } = LOOKS[state.status];
  const bar = paint(style, "│");
  const inner = width - 2;
  const line = (text: string, lineStyle?: Style) => {
    const fitted = fit(text, inner);
    return `${bar} ${lineStyle === undefined ? fitted : paint(lineStyle, fitted)}`;
  };
  const outcome = state.outcome === undefined ? note : state.status === "failed" ? state.outcome : `→ ${state.outcome}`;
  const outcomeStyle: Style = state.status === "failed" ? "red" : state.status === "held" ? "yellow" : "cyan";
  return [
    paint([style, "bold"], fit(`${mark} ${printable(`${state.name} ${state.id}`)}`, width)),
    ...body(state, inner).map((text) => line(text)),
    ...state.repairs.slice(0, 2).map((repair) => line(repairLine(repair), "yellow")),
    ...(outcome === "" ? [] : wrap(printable(outcome), inner).slice(0, 3)).map((text) => line(text, outcomeStyle)),
  ];
}

/** The input: its newest lines while it grows, its first ones once it is complete. */
function body({ input, status }: PanelState, width: number): string[] {
  if (status === "open") {
    const lines = isNothing(input) ? [] : renderValue(input, "end").flatMap((line) => hang(line, width - 1));
    lines.push(`${lines.pop() ?? ""}▌`);
    return lines.length <= BODY_LINES ? lines : ["⋮", ...lines.slice(-(BODY_LINES - 1))];
  }
  const lines = renderValue(input, "start").flatMap((line) => hang(line, width));
  if (lines.length <= BODY_LINES) return lines;
  return [...lines.slice(0, BODY_LINES - 1), `⋮ ${lines.length - BODY_LINES + 1} more lines`];
}

/** Nothing has come of it yet, apart from `{`. */
function isNothing(input: unknown): boolean {
  return input === undefined || (typeof input === "object" && input !== null && Object.keys(input).length === 0);
}

/** Wrapped, keeping the indent of the first line. */
function hang(line: string, width: number): string[] {
  const indent = line.slice(0, Math.min(line.search(/[^ ]|$/), width - 10));
  return wrap(line.slice(indent.length), width - indent.length).map((part) => indent + part);
}

/** A repair, in one line. */
export function repairLine({ kind, path, before, after }: Repair): string {
  const where = path === undefined || path.length === 0 ? "" : ` ${path.join(".")}`;
  const what = before === undefined && after === undefined ? "" : `: ${json(before)} → ${json(after)}`;
  return `repaired${where}${what === "" ? ` (${kind})` : what}`;
}

function json(value: unknown): string {
  return short(JSON.stringify(value) ?? "nothing", 20);
}
