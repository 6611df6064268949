/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "44.1 kB",
  "./openai-chat": "54.2 kB",
  "./openai-responses": "55 kB",
  "./anthropic": "54.2 kB",
  "./google": "55.2 kB",
  "./cohere": "51.9 kB",
  "./text-json": "55.8 kB",
  "./text-helpers": "54.5 kB",
  "./approvals": "26.9 kB",
  "./bullmq": "23.9 kB",
  "./executable": "27.6 kB",
  "./execute": "35.7 kB",
  "./execute/telemetry": "1.1 kB",
  "./run": "57.6 kB",
  "./mcp": "25.1 kB",
  "./replay": "5.9 kB",
  "./store": "5.6 kB",
  "./store/redis": "6.6 kB",
  "./store/sqlite": "6.2 kB",
  "./testing": "3.4 kB",
  "./zod3": "1.7 kB",
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
    limit: "50.5 kB",
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
