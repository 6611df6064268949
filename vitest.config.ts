import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { standardDecorators } from "./test/standard-decorators.ts";

export default defineConfig({
  plugins: [standardDecorators],
  test: {
    reporters: ["default", "./test/totals-reporter.ts"],
    include: ["test/**/*.test.ts"],
    // Many start processes, servers and browsers: on a busy machine those take their time.
    testTimeout: 30_000,
    // The programs that tests start: without it, each strips and compiles all of the sources again.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compile") },
  },
});
