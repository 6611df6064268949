/** One call's place in a {@link createSchedule}. */
export interface Place {
  /** Resolves when it may run. */
  enter(): Promise<void>;
  /** It has ended, or waits for somebody, perhaps for days: the calls after it need not. `enter()` again afterwards. */
  leave(): void;
}

/** Gives each call of a turn its place, in call order. @param alone no other call may run at the same time */
export type Schedule = (alone: boolean) => Place;

interface Entry {
  readonly alone: boolean;
  state: "outside" | "waiting" | "running" | "left";
  enter: (() => void) | undefined;
}

/**
 * Decides which calls of a turn may run: at most `concurrency` at once, in call order (with `concurrency: 1` one after
 * the other). Calls that run alone wait until all calls before them have ended and nothing else runs.
 *
 * ```
 * a b S c     a and b concurrently; then S; then c
 * ```
 */
export function createSchedule(concurrency: number): Schedule {
  const entries: Entry[] = [];

  function next(): void {
    let taken = 0;
    for (const entry of entries) {
      if (entry.state !== "running") continue;
      if (entry.alone) return;
      taken++;
    }
    for (const entry of entries) {
      // A call that is not ready yet keeps its place ahead of later ones, whichever happens to be ready first.
      if (entry.state === "outside") taken++;
      if (entry.state === "waiting" && taken < concurrency && (!entry.alone || taken === 0)) {
        entry.state = "running";
        taken++;
        entry.enter!();
      }
      // No call overtakes one that runs alone.
      if (entry.alone && entry.state !== "left") return;
    }
  }

  return (alone) => {
    const entry: Entry = { alone, state: "outside", enter: undefined };
    entries.push(entry);
    const become = (state: Entry["state"]): void => {
      entry.state = state;
      next();
    };
    return {
      enter: () =>
        new Promise((resolve) => {
          entry.enter = resolve;
          become("waiting");
        }),
      leave: () => become("left"),
    };
  };
}
