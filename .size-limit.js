/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "49.2 kB",
  "./openai-chat": "59.5 kB",
  "./openai-responses": "61.4 kB",
  "./anthropic": "58.9 kB",
  "./google": "59.3 kB",
  "./google-interactions": "57.2 kB",
  "./cohere": "56.1 kB",
  "./text-json": "70.5 kB",
  "./text-helpers": "58.9 kB",
  "./approvals": "30.8 kB",
  "./bullmq": "28.6 kB",
  "./executable": "30.2 kB",
  "./execute": "42.9 kB",
  "./execute/telemetry": "1.4 kB",
  "./run": "60.6 kB",
  "./mcp": "32.7 kB",
  "./replay": "8.6 kB",
  "./store": "6.1 kB",
  "./store/redis": "7.1 kB",
  "./store/sqlite": "6.9 kB",
  "./testing": "7 kB",
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
    limit: "55.9 kB",
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
