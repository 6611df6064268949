import { resolve } from "node:path";
import { runInContext, createContext } from "node:vm";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { adapters, textAdapters } from "./adapters.ts";
import { loadFixture } from "./fixtures.ts";

const root = resolve(import.meta.dirname, "..");

/** What a browser and an edge runtime have; nothing of Node. Code made from strings is refused, as edge runtimes do. */
const webGlobals = () => {
  const { TextDecoder, TextEncoder, ReadableStream, Response, AbortController, crypto, performance, structuredClone } =
    globalThis;
  const { setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, console, URL, URLSearchParams } =
    globalThis;
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
  return {
    ...own,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    queueMicrotask,
    console,
    URL,
    URLSearchParams,
  };
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

/** Where an adapter is found in its module: as a value, or made by a function with a notation's name. */
function found(name: string): string {
  if (name === "text-helpers") return "wire.textHelpers()";
  if (name.startsWith("text-json/")) return `wire.textJson("${name.slice("text-json/".length)}")`;
  return `Object.values(wire).find((value) => value?.name === "${name}" && "parser" in value)`;
}

describe("outside of Node", () => {
  it.each([...adapters, ...textAdapters].map(({ adapter }) => adapter.name))(
    "%s reads a stream and checks its input, without Node and without eval",
    async (name) => {
      const code = await bundle(`
        import { defineTool } from "./src/index.ts";
        import * as wire from "./adapters/${name.split("/")[0]}/index.ts";
        export async function run(bytes, definitions) {
          const adapter = ${found(name)};
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

  it("a run goes on with a model that writes Python", async () => {
    const code = await bundle(`
      import { defineTool } from "./src/index.ts";
      import { textHelpers } from "./adapters/text-helpers/index.ts";
      import { Orchestrator } from "./src/run/index.ts";
      import { memoryStore } from "./src/store/index.ts";
      export async function run() {
        const inputSchema = { type: "object", properties: { n: { type: "number" } } };
        const add = defineTool({ name: "add", inputSchema, execute: ({ n }) => ({ n: n + 1 }) });
        const ask = defineTool({ name: "ask", inputSchema });
        const texts = ["<helpers>\\nx = add(1)\\ny = ask(x.n)\\nadd(y)\\n</helpers>", "<helpers>add(x.n)</helpers>", "Done."];
        const model = textHelpers().model(async function* () { yield texts.shift(); });
        const runs = new Orchestrator({ model, tools: [add, ask], store: memoryStore() });
        const { conversationId, pendingToolCalls: [call] } = await runs.run({ input: "Go" });
        const done = await runs.resume(conversationId, { toolResults: [{ toolCallId: call.id, result: 7 }] });
        return JSON.stringify([call.arguments, done.content, done.messages[2].content, done.messages[4].content]);
      }
    `);
    const sandbox = createContext(webGlobals(), { codeGeneration: { strings: false, wasm: false } });
    runInContext(code, sandbox);
    expect(JSON.parse(await (runInContext("bundle.run()", sandbox) as Promise<string>))).toEqual([
      { n: 2 },
      "Done.",
      '<helpers_result>\nx = {"n":2}\ny = 7\nadd(y) -> {"n":8}\n</helpers_result>',
      '<helpers_result>\nadd(x.n) -> {"n":3}\n</helpers_result>',
    ]);
  });

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

  it("an executor asks, runs, retries, tells and undoes", async () => {
    const code = await bundle(`
      import { defineTool } from "./src/index.ts";
      import { ApprovalService, ToolExecutor } from "./src/execute/index.ts";
      import { memoryStore } from "./src/store/index.ts";
      export async function run() {
        const inputSchema = { type: "object", properties: { n: { type: "number" } } };
        const undone = [];
        const add = defineTool({ name: "add", inputSchema, needsApproval: true, execute: ({ n }) => ({ n }),
          undo: ({ input }) => void undone.push(input.n) });
        const read = defineTool({ name: "read", inputSchema, effect: "read", retries: 1, timeoutMs: 1000,
          execute: (_, { attempt }) => { if (attempt === 1) throw new Error("busy"); return "read"; } });
        const [store, tools, events] = [memoryStore(), [add, read], []];
        const approvals = new ApprovalService({ store, tools });
        const executor = new ToolExecutor({ tools, store, approvals, retryDelayMs: 1, onEvent: ({ type }) => events.push(type) });
        const context = { runId: "run", waitForApproval: false };
        const uses = [add.use({ n: 1 }), read.use({})];
        const [asked] = await executor.executeAll(uses, context);
        await approvals.decide(asked.approval.id, { decision: "approve" });
        const outcomes = await executor.executeAll(uses, context);
        await executor.undo(outcomes[0].actionId);
        return JSON.stringify({ statuses: outcomes.map(({ status }) => status), undone, events });
      }
    `);
    const sandbox = createContext(webGlobals(), { codeGeneration: { strings: false, wasm: false } });
    runInContext(code, sandbox);
    const result = JSON.parse(await (runInContext("bundle.run()", sandbox) as Promise<string>));
    expect(result).toMatchObject({ statuses: ["completed", "completed"], undone: [1] });
    expect(result.events.toSorted()).toEqual(
      ["approval.decided", "approval.requested", "tool.completed", "tool.completed", "tool.invoked", "tool.invoked"]
        .concat(["tool.started", "tool.started", "tool.started", "tool.undone"])
        .toSorted(),
    );
  });

  it("runs are streamed and stopped where signals cannot be combined, as in Vercel's edge runtime", async () => {
    const code = await bundle(`
      import { defineTool } from "./src/index.ts";
      import { textJson } from "./adapters/text-json/index.ts";
      import { ApprovalService } from "./src/execute/index.ts";
      import { Orchestrator } from "./src/run/index.ts";
      import { memoryStore } from "./src/store/index.ts";
      export async function run() {
        const store = memoryStore();
        const tools = [defineTool({ name: "ask", inputSchema: { type: "object" }, needsApproval: true, execute: () => 1 })];
        const approvals = new ApprovalService({ store, tools });
        const texts = ["Hello", '<tool_call>{"name":"ask","arguments":{}}</tool_call>', "Never"];
        const stop = new AbortController();
        const model = textJson("hermes").model(async function* ({ signal }) {
          const text = texts.shift();
          if (text === "Never") await new Promise((_, fail) => {
            signal.addEventListener("abort", () => fail(signal.reason));
            stop.abort();
          });
          yield text;
        });
        const runs = new Orchestrator({ model, tools, store, approvals });
        const types = [];
        for await (const event of runs.stream({ input: "Go", signal: new AbortController().signal })) types.push(event.type);
        const asked = await runs.run({ conversationId: "c", input: "Go", signal: stop.signal });
        const decisions = [{ id: asked.pendingApprovals[0].id, decision: "approve" }];
        const stopped = await runs.resume("c", { approvals: decisions, signal: stop.signal });
        const late = await runs.resume("c", { signal: stop.signal });
        return JSON.stringify([types.at(-1), asked.status, stopped.error.code, late.error.code]);
      }
    `);
    const globals = {
      ...webGlobals(),
      DOMException,
      AbortSignal: { timeout: (ms: number) => AbortSignal.timeout(ms) },
    };
    const sandbox = createContext(globals, { codeGeneration: { strings: false, wasm: false } });
    runInContext(code, sandbox);
    expect(JSON.parse(await (runInContext("bundle.run()", sandbox) as Promise<string>))).toEqual([
      "run.ended",
      "awaiting_approval",
      "aborted",
      "aborted",
    ]);
  });

  it("modules load, and what they make is made, where a worker may not wait, ask or draw random values", async () => {
    const code = await bundle(`
      import { defineTool, ToolRegistry } from "./src/index.ts";
      ${adapters.map(({ adapter: { name } }) => `import * as ${name.replace("-", "_")} from "./adapters/${name}/index.ts";`).join("\n")}
      import { textHelpers } from "./adapters/text-helpers/index.ts";
      import { textJson } from "./adapters/text-json/index.ts";
      import * as approvalRoutes from "./src/execute/approvals/index.ts";
      import { ApprovalService, ToolExecutor } from "./src/execute/index.ts";
      import * as mcp from "./src/mcp/index.ts";
      import { Orchestrator } from "./src/run/index.ts";
      import { memoryStore } from "./src/store/index.ts";
      import * as testing from "./src/testing/index.ts";
      const inputSchema = { type: "object", properties: { n: { type: "number" } } };
      const undone = [];
      const add = defineTool({ name: "add", inputSchema, execute: ({ n }) => n, undo: ({ input }) => void undone.push(input.n) });
      const tools = new ToolRegistry([add]);
      const store = memoryStore();
      const approvals = new ApprovalService({ store, tools });
      const executor = new ToolExecutor({ tools, store, approvals });
      const model = textJson("hermes").model(async function* () { yield "Done."; });
      const runs = new Orchestrator({ model, tools, store, approvals });
      textHelpers().tools(tools);
      export const all = { approvalRoutes, mcp, testing, ${adapters.map(({ adapter }) => adapter.name.replace("-", "_")).join(", ")} };
      export async function run() {
        const { actionId } = await executor.execute(add.use({ n: 1 }), { runId: "run" });
        await executor.undo(actionId);
        return JSON.stringify([undone, (await runs.run({ input: "Go" })).content]);
      }
    `);
    // As workerd has it: timers, requests and random values are for handlers, not for the global scope.
    let isGlobalScope = true;
    const inHandlers = <Args extends unknown[], Result>(fn: (...args: Args) => Result) => {
      return (...args: Args): Result => {
        if (isGlobalScope) throw new Error("Disallowed operation called within global scope.");
        return fn(...args);
      };
    };
    const { subtle } = crypto;
    const sandbox = createContext(
      {
        ...webGlobals(),
        crypto: {
          subtle,
          randomUUID: inHandlers(() => crypto.randomUUID()),
          getRandomValues: inHandlers((array: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(array)),
        },
        fetch: inHandlers(fetch),
        setTimeout: inHandlers(setTimeout),
        setInterval: inHandlers(setInterval),
      },
      { codeGeneration: { strings: false, wasm: false } },
    );
    runInContext(code, sandbox);
    isGlobalScope = false;
    expect(JSON.parse(await (runInContext("bundle.run()", sandbox) as Promise<string>))).toEqual([[1], "Done."]);
  });
});
