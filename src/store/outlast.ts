import { pause } from "../time.ts";
import { isStoreFailure } from "./errors.ts";

/** How long to wait before each further attempt, in milliseconds, for a store that fails briefly. */
export const BRIEFLY: readonly number[] = [50, 200];

/** Tries again after each of the pauses, as long as the store fails. */
export async function outlast<T>(pausesMs: readonly number[], attempt: () => Promise<T>): Promise<T> {
  for (const waitMs of pausesMs) {
    try {
      return await attempt();
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
    }
    await pause(waitMs);
  }
  return attempt();
}
