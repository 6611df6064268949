import { defineConfig } from "vitest/config";
import { standardDecorators } from "./test/standard-decorators.ts";

export default defineConfig({
  plugins: [standardDecorators],
  test: { include: ["test/**/*.test.ts"] },
});
