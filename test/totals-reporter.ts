import type { Reporter, TestModule, TestSuite, Vitest } from "vitest/node";

/** Ends a run with what was left out and why, and one plain line of totals, for people and for scripts. */
export default class TotalsReporter implements Reporter {
  #vitest!: Vitest;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const totals = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      // A hook or a file that throws fails no test of its own.
      totals.failed += [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0).length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== "pending") totals[state]++;
      }
    }
    // Who asks for some tests by their name knows that the others are left out.
    if (this.#vitest.getGlobalTestNamePattern() === undefined) {
      const reasons = Map.groupBy(modules.flatMap(leftOut), (reason) => reason);
      for (const [reason, all] of reasons) process.stdout.write(`left out${times(all.length)}: ${reason}\n`);
    }
    process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
  }
}

/** The names of the tests that were skipped, which say why; of a suite of which all were, its own. */
function leftOut(parent: TestModule | TestSuite): string[] {
  return [...parent.children].flatMap((child) => {
    if (child.type === "test") return child.result().state === "skipped" ? [child.name] : [];
    if (child.state() !== "skipped") return leftOut(child);
    const tests = [...child.children.allTests()];
    return [tests.length === 1 ? `${child.name}: ${tests[0]!.name}` : child.name];
  });
}

function times(count: number): string {
  return count === 1 ? "" : ` (${count} times)`;
}
