/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "45.5 kB",
  "./openai-chat": "56.5 kB",
  "./openai-responses": "56.6 kB",
  "./anthropic": "56 kB",
  "./google": "57.5 kB",
  "./cohere": "54 kB",
  "./text-json": "57.6 kB",
  "./text-helpers": "56.5 kB",
  "./approvals": "29 kB",
  "./bullmq": "24.5 kB",
  "./executable": "28 kB",
  "./execute": "37.5 kB",
  "./execute/telemetry": "1.5 kB",
  "./run": "60.5 kB",
  "./mcp": "24.5 kB",
  "./replay": "6 kB",
  "./store": "7 kB",
  "./store/redis": "7 kB",
  "./store/sqlite": "6.5 kB",
  "./testing": "3.5 kB",
  "./zod3": "2 kB",
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
    limit: "52.5 kB",
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
