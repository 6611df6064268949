import { transform } from "esbuild";

/**
 * A plugin for vitest, whose own transform leaves decorators as they are: esbuild lowers them, as standard (TC39)
 * decorators or, for a module imported with the query `?legacy`, as TypeScript's `experimentalDecorators`.
 */
export const standardDecorators = {
  name: "standard-decorators",
  enforce: "pre" as const,
  async transform(code: string, id: string) {
    const [file = "", query] = id.split("?");
    if (!file.endsWith(".ts") || file.includes("/node_modules/") || !/(?:^|[\s{;(])@[\w$]+\(/m.test(code))
      return undefined;
    const { code: js, map } = await transform(code, {
      loader: "ts",
      target: "es2022",
      sourcefile: file,
      sourcemap: true,
      tsconfigRaw: { compilerOptions: { experimentalDecorators: query === "legacy" } },
    });
    return { code: js, map };
  },
};
