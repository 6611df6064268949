import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface Timed {
  run(): Promise<unknown>;
}

export interface Rounds {
  readonly runs: number;
  readonly warmUp: number;
  /** Each row runs once untimed right before it is timed: after rows that take long, a short one would begin cold. */
  readonly rehearse?: boolean;
}

/** The middle, the least and the most of several runs. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options: { type: "minor" }) => void;

/**
 * Times each row once a round, in turns that begin with another row every time, so that no row always follows the
 * same one and all of them share the machine's good and bad moments. Young garbage of the row before is collected first.
 *
 * @returns milliseconds, a list a row, an item a round
 */
export async function alternate(rows: readonly Timed[], { runs, warmUp, rehearse }: Rounds): Promise<number[][]> {
  const times: number[][] = rows.map(() => []);
  for (let round = 0; round < warmUp + runs; round++) {
    for (let turn = 0; turn < rows.length; turn++) {
      const row = (round + turn) % rows.length;
      if (rehearse === true) await rows[row]!.run();
      collect({ type: "minor" });
      const start = performance.now();
      await rows[row]!.run();
      const time = performance.now() - start;
      if (round >= warmUp) times[row]!.push(time);
    }
  }
  return times;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Each round's time to the base's time of the same round: what disturbs a whole round cancels out. */
export function ratios(times: readonly number[], base: readonly number[]): Spread {
  return spread(times.map((time, round) => time / base[round]!));
}
