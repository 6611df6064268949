import type { Reporter, TestModule } from "vitest/node";

/** Ends a run with one plain line of totals, for people and for scripts. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const totals = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      if (module.state() === "failed" && [...module.children.allTests("failed")].length === 0) totals.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== "pending") totals[state]++;
      }
    }
    process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
  }
}
