import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

/** A directory of the test's own, gone when the test is over. */
export function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), "toolstream-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** One for all tests of a file, or of a suite, gone when they are over. */
export function sharedTemporary(): string {
  const directory = mkdtempSync(join(tmpdir(), "toolstream-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
