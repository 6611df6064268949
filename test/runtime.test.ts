import { resolve } from "node:path";
import { runInContext, createContext } from "node:vm";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { adapters } from "./adapters.ts";
import { loadFixture } from "./fixtures.ts";

const root = resolve(import.meta.dirname, "..");

/** What a browser and an edge runtime have; nothing of Node. Code made from strings is refused, as edge runtimes do. */
const webGlobals = () => {
  const { TextDecoder, TextEncoder, ReadableStream, Response, AbortController, crypto, performance, structuredClone } =
    globalThis;
  const { setTimeout, clearTimeout, queueMicrotask, console, URL, URLSearchParams } = globalThis;
  const own = {
    TextDecoder,
    TextEncoder,
    ReadableStream,
    Response,
    AbortController,
    crypto,
    performance,
    structuredClone,
  };
  return { ...own, setTimeout, clearTimeout, queueMicrotask, console, URL, URLSearchParams };
};

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    write: false,
    format: "iife",
    globalName: "bundle",
    platform: "browser",
    target: "es2023",
    logLevel: "silent",
  });
  return outputFiles[0]!.text;
}

describe("outside of Node", () => {
  it.each(adapters.map(({ adapter }) => adapter.name))(
    "%s reads a stream and checks its input, without Node and without eval",
    async (name) => {
      const code = await bundle(`
        import { defineTool } from "./src/index.ts";
        import * as wire from "./adapters/${name}/index.ts";
        export async function run(bytes, definitions) {
          const adapter = Object.values(wire).find((value) => value?.name === "${name}" && "parser" in value);
          const tools = definitions.map(({ name, description, effect, parameters }) =>
            defineTool({ name, description, effect, inputSchema: parameters, execute: (input) => input }));
          adapter.tools(tools, { onLoss: "ignore" });
          const stream = new ReadableStream({ start(controller) { controller.enqueue(bytes); controller.close(); } });
          const results = [];
          for await (const event of adapter.read(stream, { tools })) {
            if (event.type === "tool-use") results.push([event.use.name, await event.use.execute()]);
          }
          return JSON.stringify(results);
        }
      `);
      const fixture = loadFixture(name, "parallel");
      const context = createContext(webGlobals(), { codeGeneration: { strings: false, wasm: false } });
      runInContext(code, context);
      context["definitions"] = fixture.tools!.map(({ name: toolName, description, effect, inputSchema }) => ({
        name: toolName,
        description,
        effect,
        parameters: inputSchema.jsonSchema,
      }));
      context["bytes"] = fixture.bytes;
      const results = JSON.parse(await (runInContext("bundle.run(bytes, definitions)", context) as Promise<string>));
      const expected = fixture.expected.toolCalls
        .filter((call) => call.released)
        .map((call) => [call.name, call.input]);
      expect(expected.length).toBeGreaterThan(0);
      expect(results).toEqual(expect.arrayContaining(expected));
    },
  );

  it("a store in memory keeps, tells and lets one writer win", async () => {
    const code = await bundle(`
      import { memoryStore, storeKey, updateEntry } from "./src/store/index.ts";
      export async function run() {
        const store = memoryStore();
        const told = [];
        const end = await store.subscribe("count/", ({ type }) => told.push(type));
        const key = storeKey("count", "\ud800");
        await Promise.all(Array.from({ length: 5 }, () => updateEntry(store, key, (count = 0) => count + 1)));
        await store.put(key, { list: [1, { a: null }] }, { ttlMs: 60000 });
        await store.delete(key);
        await end();
        return JSON.stringify(told);
      }
    `);
    const context = createContext(webGlobals(), { codeGeneration: { strings: false, wasm: false } });
    runInContext(code, context);
    const told = JSON.parse(await (runInContext("bundle.run()", context) as Promise<string>));
    expect(told).toEqual(["put", "put", "put", "put", "put", "put", "delete"]);
  });
});
