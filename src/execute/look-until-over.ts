import { createWakeUp } from "../time.ts";

/**
 * Looks at something that changes, and again whenever it may have changed, until it is over.
 *
 * @param listen calls back at each change, and resolves to what stops that. It comes before the first look, so that no
 *   change in between is missed
 * @param look says how long to wait for a change, in milliseconds, before it looks again; `undefined` if it is over
 * @param signal ends a wait: `look` decides what follows
 */
export async function lookUntilOver(
  listen: (wake: () => void) => Promise<() => Promise<void>>,
  look: () => Promise<number | undefined>,
  signal?: AbortSignal,
): Promise<void> {
  const wakeUp = createWakeUp(signal);
  const stop = await listen(wakeUp.wake);
  try {
    for (let ms = await look(); ms !== undefined; ms = await look()) await wakeUp.wait(ms);
  } finally {
    await stop();
  }
}
