import { vi } from "vitest";

/** Others may be using the machine: what takes longer than this never comes. */
const LIMIT_MS = 20_000;

/** What it gives once it no longer fails. */
export function soon<T>(isSo: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(isSo, { timeout: LIMIT_MS, interval: 20 });
}

/** Waits until it is so. */
export async function until(isSo: () => unknown): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`This was not so within ${LIMIT_MS} ms: ${String(isSo)}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
