import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** A directory of the test's own, gone when the test is over. */
export function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), "toolstream-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** One for all tests of a file, or of a suite, there before they begin, gone when they are over. */
export function sharedTemporary(): string {
  // Not made while tests are collected: where all are left out, no hook would remove it.
  const directory = join(tmpdir(), `toolstream-${randomUUID()}`);
  beforeAll(() => void mkdirSync(directory, { mode: 0o700 }));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
