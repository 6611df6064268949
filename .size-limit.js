/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "48.9 kB",
  "./openai-chat": "59 kB",
  "./openai-responses": "60.8 kB",
  "./anthropic": "58.4 kB",
  "./google": "59 kB",
  "./google-interactions": "56.9 kB",
  "./cohere": "55.9 kB",
  "./text-json": "70 kB",
  "./text-helpers": "58.7 kB",
  "./approvals": "30.7 kB",
  "./bullmq": "28.5 kB",
  "./executable": "30 kB",
  "./execute": "42.8 kB",
  "./execute/telemetry": "1.4 kB",
  "./run": "60.5 kB",
  "./mcp": "32.5 kB",
  "./replay": "8.6 kB",
  "./store": "6.1 kB",
  "./store/redis": "7.1 kB",
  "./store/sqlite": "6.9 kB",
  "./testing": "6.8 kB",
  "./zod3": "1.8 kB",
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
    limit: "55.5 kB",
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
