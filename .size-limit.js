/**
 * What a bundler makes of each subpath, minified and compressed with brotli: `npm run size`, after a build.
 *
 * The limits are a little above what was measured. Whoever passes one looks for what came in before raising it.
 */
import manifest from "./package.json" with { type: "json" };

/** Subpath to limit. Dependencies are in it, optional peers are not. */
const limits = {
  ".": "43.5 kB",
  "./openai-chat": "53.5 kB",
  "./openai-responses": "54 kB",
  "./anthropic": "54 kB",
  "./google": "55 kB",
  "./cohere": "51.5 kB",
  "./text-json": "55.5 kB",
  "./text-helpers": "54 kB",
  "./approvals": "27 kB",
  "./bullmq": "24 kB",
  "./executable": "27.5 kB",
  "./execute": "35.5 kB",
  "./execute/telemetry": "1.5 kB",
  "./run": "57 kB",
  "./mcp": "24.5 kB",
  "./replay": "6 kB",
  "./store": "5.5 kB",
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
    limit: "50 kB",
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
