/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "49.9 kB",
  "./openai-chat": "60.9 kB",
  "./openai-responses": "62.5 kB",
  "./anthropic": "60.1 kB",
  "./google": "60 kB",
  "./google-interactions": "58 kB",
  "./cohere": "57 kB",
  "./text-json": "72.5 kB",
  "./text-helpers": "60.1 kB",
  "./approvals": "31.6 kB",
  "./bullmq": "29.3 kB",
  "./executable": "31.1 kB",
  "./execute": "43.9 kB",
  "./execute/telemetry": "1.4 kB",
  "./run": "61.7 kB",
  "./mcp": "33.5 kB",
  "./replay": "8.7 kB",
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
    limit: "57.2 kB",
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
