/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "50 kB",
  "./openai-chat": "61.1 kB",
  "./openai-responses": "62.8 kB",
  "./anthropic": "60.2 kB",
  "./google": "60.1 kB",
  "./google-interactions": "58.2 kB",
  "./cohere": "57.1 kB",
  "./text-json": "72.8 kB",
  "./text-helpers": "60.4 kB",
  "./approvals": "31.6 kB",
  "./bullmq": "29.3 kB",
  "./executable": "31.1 kB",
  "./execute": "43.9 kB",
  "./execute/telemetry": "1.4 kB",
  "./run": "61.8 kB",
  "./mcp": "33.5 kB",
  "./replay": "8.6 kB",
  "./store": "6.1 kB",
  "./store/redis": "7.1 kB",
  "./store/sqlite": "7.2 kB",
  "./testing": "7.3 kB",
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
    limit: "57.4 kB",
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
