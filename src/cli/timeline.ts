import { fit, printable } from "./text.ts";

/** When a call began, when the last of its input came, and when it was handed out or given up, in milliseconds. */
export interface Span {
  readonly name: string;
  readonly startMs: number;
  readonly inputMs: number;
  /** `undefined` while it is neither. */
  readonly outcomeMs: number | undefined;
  readonly isFailed: boolean;
}

const NAME_COLUMNS = 16;

/** The meaning of the marks. */
export const LEGEND = "━ input comes   · waits for the end of the turn   ● handed out   ✗ not executed";

/**
 * The calls of a turn on one time axis, which ends with the turn.
 *
 * ```
 * get_weather       ━━━━━━●
 * write_file          ━━━━━━━━━━━━━━━━━━━━━━━━━━━━·●
 * ```
 *
 * See {@link LEGEND}.
 */
export function timeline(spans: readonly Span[], totalMs: number, columns: number): string[] {
  const width = columns - NAME_COLUMNS - 2;
  if (width < 10 || !(totalMs > 0)) return [];
  const at = (ms: number) => Math.min(width - 1, Math.floor((ms / totalMs) * width));
  return spans.map(({ name, startMs, inputMs, outcomeMs, isFailed }) => {
    const [start, input, outcome] = [at(startMs), at(inputMs), at(outcomeMs ?? totalMs)];
    const bar = `${" ".repeat(start)}${"━".repeat(Math.max(0, input - start))}${"·".repeat(Math.max(0, outcome - Math.max(input, start)))}`;
    const mark = outcomeMs === undefined ? "" : isFailed ? "✗" : "●";
    return `${fit(printable(name), NAME_COLUMNS)}  ${bar}${mark}`;
  });
}
