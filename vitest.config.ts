import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { standardDecorators } from "./test/standard-decorators.ts";

/** The longest files, which would otherwise be left over at the end, with nothing to run beside them. */
const LONGEST = ["conformance/cuts", "conformance/splits", "run/crash", "workers/bullmq", "workers/killed"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`${name}.test.ts`));
    // oxlint-disable-next-line unicorn/no-array-sort -- this one is of a sequencer
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  plugins: [standardDecorators],
  test: {
    reporters: ["default", "./test/totals-reporter.ts"],
    include: ["test/**/*.test.ts"],
    // A test whose assertions were not reached has failed.
    expect: { requireAssertions: true },
    sequence: { sequencer: LongestFirst },
    // The main process has little to do: all cores are for the tests. By default one is left out, which is half of two.
    maxWorkers: "100%",
    // Many start processes, servers and browsers: on a busy machine those take their time. Only what hangs takes as long.
    testTimeout: 120_000 * Math.max(1, Number(process.env["RUNS"] ?? 1)),
    hookTimeout: 120_000,
    // The programs that tests start: without it, each strips and compiles all of the sources again.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compile") },
  },
});
