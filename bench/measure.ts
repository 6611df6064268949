import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface Timed {
  /** @returns milliseconds */
  run(): Promise<number>;
}

export interface Rounds {
  readonly runs: number;
  /** Before the first round each row runs untimed for at least this long, and at least once. */
  readonly warmUpMs: number;
}

/** After long rows a short one would start cold: a row below this runs once untimed right before it is timed. */
const SHORT_MS = 50;

/** A row that takes longer is timed in the first rounds only. */
const LONG_MS = 4000;
const LONG_RUNS = 3;

/** The median, the least and the most of several runs. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

setFlagsFromString("--expose-gc");
/** Collects garbage. */
export const collect = runInNewContext("gc") as (options?: { type: "minor" }) => void;

/**
 * Times each row once per round. Every round starts with another row, so that no row always follows the same one, and
 * all share the machine's good and bad moments. Young garbage of the row before is collected first.
 *
 * @returns milliseconds, one list per row with one item per round
 */
export async function alternate(rows: readonly Timed[], { runs, warmUpMs }: Rounds): Promise<number[][]> {
  const last: number[] = [];
  for (const row of rows) last.push(await warmUp(row, warmUpMs));
  const times: number[][] = rows.map(() => []);
  for (let round = 0; round < runs; round++) {
    for (let turn = 0; turn < rows.length; turn++) {
      const row = (round + turn) % rows.length;
      if (last[row]! > LONG_MS && round >= LONG_RUNS) continue;
      if (last[row]! < SHORT_MS) await rows[row]!.run();
      collect({ type: "minor" });
      last[row] = await rows[row]!.run();
      times[row]!.push(last[row]!);
    }
  }
  return times;
}

/** Uses the clock, since a run may report only a part of its time. @returns the time of the last run */
async function warmUp(row: Timed, atLeastMs: number): Promise<number> {
  const until = performance.now() + atLeastMs;
  let last = await row.run();
  while (performance.now() < until) last = await row.run();
  return last;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/**
 * Each round's time relative to the base in the same round: what disturbs a whole round cancels out. A base that takes
 * long has fewer rounds.
 */
export function ratios(times: readonly number[], base: readonly number[]): Spread {
  return spread(times.slice(0, base.length).map((time, round) => (time === 0 ? 0 : time / base[round]!)));
}
