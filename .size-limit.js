/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "46.2 kB",
  "./openai-chat": "58.1 kB",
  "./openai-responses": "60 kB",
  "./anthropic": "57.9 kB",
  "./google": "58.5 kB",
  "./cohere": "55.2 kB",
  "./text-json": "59.9 kB",
  "./text-helpers": "56.9 kB",
  "./approvals": "29.2 kB",
  "./bullmq": "26.2 kB",
  "./executable": "28.4 kB",
  "./execute": "40.3 kB",
  "./execute/telemetry": "1.4 kB",
  "./run": "62.2 kB",
  "./mcp": "26.2 kB",
  "./replay": "6.4 kB",
  "./store": "5.7 kB",
  "./store/redis": "6.7 kB",
  "./store/sqlite": "6.3 kB",
  "./testing": "3.6 kB",
  "./zod3": "1.9 kB",
};

/** The library and one adapter, as an app has them, without those who validate: a Standard Schema library does that. */
const validators = ["@cfworker/json-schema"];

const subpaths = Object.entries(manifest.exports).filter(([, target]) => typeof target !== "string");

for (const [path] of subpaths) {
  if (limits[path] === undefined) throw new Error(`${path} has no limit in .size-limit.js: add one.`);
}

export default [
  {
    name: "toolstream and toolstream/openai-chat, without validators",
    path: manifest.exports["."].default,
    import: {
      [manifest.exports["."].default]: "*",
      [manifest.exports["./openai-chat"].default]: "{ openaiChat }",
    },
    ignore: validators,
    limit: "54.3 kB",
  },
  ...subpaths.map(([path, target]) => ({
    name: path.replace(/^\./, "toolstream"),
    path: target.default,
    limit: limits[path],
  })),
].map((check) => ({
  ...check,
  // Node's own modules are in no bundle.
  modifyEsbuildConfig: (config) => ({ ...config, platform: "node" }),
}));
