import { vi } from "vitest";

/** What it gives once it no longer fails. Others may be using the machine: it takes its time. */
export function soon<T>(isSo: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(isSo, { timeout: 20_000, interval: 20 });
}
