/** Calls through a queue on a real Redis, with callers and workers of this process. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/errors.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor, type ToolEvent, type ToolExecutorOptions } from "../../src/execute/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore, storeKey, type Store } from "../../src/store/index.ts";
import { defineTool, type Tool, type ToolContext } from "../../src/tool/tool.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import {
  bullmqExecutor,
  bullmqTools,
  bullmqWorker,
  type BullmqToolsOptions,
  type BullmqWorkerOptions,
} from "../../src/workers/bullmq.ts";
import { scripted } from "../run/script.ts";
import { misread } from "../misread.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "../store/redis-server.ts";
import { soon } from "../soon.ts";
import { sharedTemporary } from "../temporary.ts";
import { noted, notes } from "./support.ts";
import { letEnd, toolsAt } from "./tools.ts";

describe("caller's mistakes", () => {
  const write = defineTool({ name: "save", inputSchema: z.object({}), execute: () => 1 });
  const read = defineTool({ name: "look", inputSchema: z.object({}), effect: "read", execute: () => 1 });

  it("a worker that writes needs a store", () => {
    const connection = { host: "127.0.0.1", port: 1 };
    expect(() => bullmqWorker([read, write], { connection })).toThrow(/needs a store for tools that write \(save\)/);
    expect(() => bullmqWorker([read, write], { connection })).toThrow(TypeError);
  });

  it("a worker needs handlers, unless they may be registered later", async () => {
    const connection = { host: "127.0.0.1", port: 1 };
    const external = defineTool({ name: "ask", inputSchema: z.object({}) });
    for (const tools of [[external], []]) {
      expect(() => bullmqWorker(tools, { connection })).toThrow("bullmqWorker() needs a tool with execute.");
    }
    await bullmqWorker({ tools: () => [external] }, { connection }).close();
  });

  it("all need a connection", () => {
    expect(() => bullmqWorker([read], {} as never)).toThrow(/bullmqWorker\(\) needs a connection/);
    expect(() => bullmqTools([read], {} as never)).toThrow(/bullmqTools\(\) needs a connection/);
    expect(() => bullmqExecutor({ tools: [read], store: memoryStore() } as never)).toThrow(TypeError);
  });

  it("looking all the time is no way to wait", () => {
    const connection = { host: "127.0.0.1", port: 1 };
    expect(() => bullmqTools([read], { connection, pollMs: 0 })).toThrow(/pollMs is 0/);
  });

  it("an onError that fails, at once or later, ends no process", async () => {
    const ended = vi.fn();
    process.on("unhandledRejection", ended).on("uncaughtException", ended);
    const failing = vi.fn((): void => {
      throw new Error("log down");
    });
    const connection = { host: "127.0.0.1", port: 1 };
    const workers = [failing, async () => failing()].map((onError) => bullmqWorker([read], { connection, onError }));
    try {
      await soon(() => expect(failing.mock.calls.length).toBeGreaterThan(3));
      await wait(10);
      expect(ended).not.toHaveBeenCalled();
    } finally {
      await Promise.all(workers.map(({ close }) => close()));
      process.off("unhandledRejection", ended).off("uncaughtException", ended);
    }
  });
});

const folder = sharedTemporary();

describe.skipIf(redisMissing !== undefined)(onRedis("on Redis"), () => {
  let server: RedisServer;
  let file: string;
  let queue: string;
  let cleanUps: (() => unknown)[];
  let count = 0;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(() => {
    queue = `queue-${++count}`;
    file = join(folder, queue);
    cleanUps = [];
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });

  const place = () => ({ connection: { host: "127.0.0.1", port: server.port }, queue });
  /** Both sides for the same tools, and what happened. */
  function callers(
    tools: readonly Tool[],
    options: Partial<ToolExecutorOptions & BullmqToolsOptions & { store: Store }> = {},
  ) {
    const events: ToolEvent[] = [];
    const executor = bullmqExecutor({
      tools,
      store: memoryStore(),
      onEvent: (event) => void events.push(event),
      pollMs: 300,
      ...place(),
      ...options,
    });
    cleanUps.push(() => executor.close());
    let calls = 0;
    const call = (name: string, input: unknown, context: object = {}, id = `call-${++calls}`) => {
      const tool = tools.find((one) => one.name === name)!;
      return executor.execute(tool.use(input as never, { id: "wire", invocationId: id }), { runId: "run", ...context });
    };
    return { executor, events, call, types: () => events.map(({ type }) => type) };
  }
  function work(tools: readonly Tool[], options: Partial<BullmqWorkerOptions> = {}) {
    const worker = bullmqWorker(tools, { store: memoryStore(), ...place(), ...options });
    cleanUps.push(() => worker.close());
    return worker;
  }
  function admin() {
    const jobs = new Queue(queue, place());
    cleanUps.push(() => jobs.close());
    return jobs;
  }
  /** One tool, on both sides. */
  const both = (tool: Tool, options: Parameters<typeof callers>[1] & Partial<BullmqWorkerOptions> = {}) => {
    const { worker, maxOutputBytes, errorMessage, ...rest } = options;
    const limits = { ...(maxOutputBytes && { maxOutputBytes }), ...(errorMessage && { errorMessage }) };
    work([tool], { ...limits, ...(worker && { worker }) });
    return callers([tool], { ...limits, ...rest } as typeof options);
  };

  describe("a call", () => {
    it("is executed by a worker, and told as if it had been executed here", async () => {
      const contexts: ToolContext[] = [];
      const tool = defineTool({
        name: "greet",
        inputSchema: z.object({ name: z.string(), polite: z.boolean().default(true) }),
        execute: (input, context) => {
          contexts.push(context);
          return { said: input };
        },
      });
      const { call, types } = both(tool, { context: () => ({ tenant: "acme", runId: "no" }) });
      const outcome = await call(
        "greet",
        { name: "Anna" },
        { requestId: "req-1", principal: { id: "anna", token: "secret" }, behavior: "edit", database: { open: true } },
        "a:b/c",
      );
      expect(outcome).toMatchObject({ status: "completed", output: { said: { name: "Anna", polite: true } } });
      expect(types()).toEqual(["tool.invoked", "tool.started", "tool.completed"]);
      const { signal, progress: _p, undoData: _u, ...told } = contexts[0]!;
      expect(signal).toBeInstanceOf(AbortSignal);
      // The principal by its id; nothing else of the context but what was asked to be sent.
      expect(told).toEqual({
        tenant: "acme",
        runId: "run",
        invocationId: "a:b/c",
        toolCallId: "wire",
        toolName: "greet",
        idempotencyKey: outcome.actionId,
        requestId: "req-1",
        behavior: "edit",
        principal: { id: "anna" },
        attempt: 1,
      });
      // Our idempotency key is the id of the job.
      expect(await admin().getJob(outcome.actionId)).toMatchObject({ id: "run/a%3Ab%2Fc", name: "greet" });
    });

    it("has an id of its own, whatever ids providers send", async () => {
      work(toolsAt(file));
      const { call } = callers(toolsAt(file));
      const outcomes = await Promise.all([call("book", { ms: 1 }, {}, "x"), call("book", { ms: 1 }, {}, "y")]);
      expect(outcomes.map(({ status }) => status)).toEqual(["completed", "completed"]);
      expect(new Set(notes(file).map(({ key }) => key))).toEqual(new Set(["run/x", "run/y"]));
    });

    it("tells its progress, of a generator too; what is too large is not told", async () => {
      const tool = defineTool({
        name: "count",
        inputSchema: z.object({}),
        effect: "read",
        async *execute(_, { progress }) {
          await progress({ at: 0 });
          await progress("x".repeat(100_000));
          await progress(10n);
          yield { at: 1 };
          yield { at: 2 };
        },
      });
      const { call, events } = both(tool);
      expect(await call("count", {})).toMatchObject({ status: "completed", output: { at: 2 } });
      await soon(() => {
        const told = events.flatMap((event) => (event.type === "tool.progress" ? [event.progressSummary] : []));
        expect(told).toEqual(['{"at":0}', '{"at":1}', '{"at":2}']);
      });
    });

    it("tells its progress before its result, and whoever is told has no say in the call", async () => {
      const tool = defineTool({
        name: "count",
        inputSchema: z.object({}),
        execute: async (_, { progress }) => {
          await progress({ at: 0 });
          await progress({ at: 1 });
          return "done";
        },
      });
      const { tools, close } = bullmqTools([tool], place());
      cleanUps.push(close);
      work([tool]);
      const unhandled = vi.fn();
      process.on("unhandledRejection", unhandled);
      cleanUps.push(() => process.off("unhandledRejection", unhandled));
      const told: unknown[] = [];
      const progress = async (value: unknown) => {
        await wait(50);
        told.push(value);
        throw new Error("listener");
      };
      expect(await tools[0]!.use({}).execute({ progress })).toBe("done");
      expect(told).toEqual([{ at: 0 }, { at: 1 }]);
      await wait(10);
      expect(unhandled).not.toHaveBeenCalled();
    });

    it("has keys as they were, at the worker and here, whatever was read before", async () => {
      const values = { input: misread(), output: misread(), data: misread(), progress: misread() };
      const got: unknown[] = [];
      const tool = defineTool({
        name: "pass",
        inputSchema: z.looseObject({}),
        async execute(input, { progress, undoData }) {
          got.push(input);
          await progress(values.progress);
          undoData(values.data);
          return values.output;
        },
        undo: ({ input, output, data }) => got.push(input, output, data),
      });
      const { call, executor, events } = both(tool);
      const { actionId } = await call("pass", values.input);
      await executor.undo(actionId);
      expect(got).toEqual([values.input, values.input, values.output, values.data]);
      await soon(() => {
        const told = events.flatMap((event) => (event.type === "tool.progress" ? [event.progressSummary] : []));
        expect(told).toEqual([JSON.stringify(values.progress)]);
      });
    });

    it("is undone here, with what the handler gave there", async () => {
      const undone: unknown[] = [];
      const tool = defineTool({
        name: "add",
        inputSchema: z.object({ n: z.number() }),
        execute: ({ n }, { undoData }) => (undoData({ was: n - 1 }), n),
        undo: ({ input, output, data }) => undone.push({ input, output, data }),
      });
      const { call, executor } = both(tool);
      const { actionId } = await call("add", { n: 5 });
      expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
      expect(undone).toEqual([{ input: { n: 5 }, output: 5, data: { was: 4 } }]);
    });

    it("cannot be undone with what cannot be sent, and says so", async () => {
      const undo = () => {};
      const execute = (_: unknown, { undoData }: ToolContext) => undoData(() => "a function");
      const { call, executor } = both(defineTool({ name: "add", inputSchema: z.object({}), execute, undo }));
      const outcome = await call("add", {});
      expect(outcome).toMatchObject({ status: "completed", undoableUntil: null });
      expect(await executor.undo(outcome.actionId)).toMatchObject({ error: { code: "not_undoable" } });
    });

    it("needs its approval before it is queued, and denied calls are not", async () => {
      const store = memoryStore();
      const tool = defineTool({ name: "pay", inputSchema: z.object({}), needsApproval: true, execute: () => "paid" });
      const approvals = new ApprovalService({ store });
      const { call } = both(tool, { store, approvals, waitForApproval: false });
      const first = await call("pay", {}, {}, "a");
      expect(first.status).toBe("awaiting_approval");
      expect(await admin().getJobCounts()).toMatchObject({ completed: 0, waiting: 0, active: 0 });
      await approvals.decide(first.approval!.id, { decision: "approve" });
      expect(await call("pay", {}, {}, "a")).toMatchObject({ status: "completed", output: "paid" });
      const second = await call("pay", {}, {}, "b");
      await approvals.decide(second.approval!.id, { decision: "deny" });
      expect(await call("pay", {}, {}, "b")).toMatchObject({ status: "denied" });
      expect(await admin().getJobCounts()).toMatchObject({ completed: 1, waiting: 0, active: 0, failed: 0 });
    });

    it("of a run of the Orchestrator, beside a call that stays here", async () => {
      const here = process.pid;
      const remote = defineTool({
        name: "far",
        inputSchema: z.object({}),
        effect: "read",
        execute: (_, { tenant }) => ({ tenant }),
      });
      const local = defineTool({
        name: "near",
        inputSchema: z.object({}),
        execute: (_, { tenant }) => ({ pid: here, tenant: tenant ?? null }),
      });
      const registry = new ToolRegistry([remote, local]);
      registry.register(defineTool({ name: "ask", inputSchema: z.object({}) }));
      work([remote]);
      const store = memoryStore();
      const executor = bullmqExecutor({
        tools: registry,
        store,
        ...place(),
        filter: ({ name }) => name === "far",
        context: ({ tenant }) => ({ tenant }),
      });
      cleanUps.push(() => executor.close());
      const model = scripted({ calls: [{ name: "far" }, { name: "near" }, { name: "ask" }] }, { text: "Done." });
      const orchestrator = new Orchestrator({ model, tools: registry, store, executor });
      const paused = await orchestrator.run({ conversationId: "c", input: "Go.", context: { tenant: "acme" } });
      expect(paused.pendingToolCalls.map(({ name }) => name)).toEqual(["ask"]);
      const { id } = paused.pendingToolCalls[0]!;
      const result = await orchestrator.resume("c", { toolResults: [{ toolCallId: id, result: "yes" }] });
      expect(result).toMatchObject({ status: "completed", content: "Done." });
      const results = result.messages.flatMap((message: any) => (message.role === "tool" ? [message.content] : []));
      expect(results).toEqual(['{"tenant":"acme"}', `{"pid":${here},"tenant":"acme"}`, "yes"]);
      expect((await admin().getJobs()).map(({ name }) => name)).toEqual(["far"]);
    });

    it("of a tool that the registries of both sides have got later", async () => {
      const greet = defineTool({ name: "greet", inputSchema: z.object({}), execute: () => "hello" });
      const [here, there] = [new ToolRegistry(), new ToolRegistry()];
      const worker = bullmqWorker(there, { store: memoryStore(), ...place() });
      const executor = bullmqExecutor({ tools: here, store: memoryStore(), ...place() });
      cleanUps.push(worker.close, executor.close);
      here.register(greet);
      there.register(greet);
      expect(await executor.execute(greet.use({}), { runId: "run" })).toMatchObject({ output: "hello" });
      expect((await admin().getJobs()).map(({ name }) => name)).toEqual(["greet"]);
    });

    it("finds its workers, of whichever version, where no queue is named", async () => {
      const tool = defineTool({ name: "greet", inputSchema: z.object({}), execute: () => "Hello." });
      const { worker } = work([tool], { queue: undefined });
      expect(worker.toKey("wait")).toBe("bull:toolstream:wait");
      const { call } = callers([tool], { queue: undefined });
      expect(await call("greet", {})).toMatchObject({ status: "completed", output: "Hello." });
    });

    it("takes clients of ioredis and of redis", async () => {
      const io = new Redis(server.port, "127.0.0.1", { maxRetriesPerRequest: null });
      const node = createClient({ url: server.url });
      await node.connect();
      cleanUps.push(
        () => io.disconnect(),
        () => node.close(),
      );
      work(toolsAt(file), { connection: io });
      const { call } = callers(toolsAt(file), { connection: node });
      expect(await call("look", { ms: 1 })).toMatchObject({ status: "completed" });
    });

    it("listens once to a client of redis that all share, and does not connect it again once it is closed", async () => {
      const client = createClient({ url: server.url });
      await client.connect();
      const twice = ["a", "b"].map(() => {
        const { close } = work(toolsAt(file), { connection: client });
        return { ...callers(toolsAt(file), { connection: client }), close };
      });
      expect(await twice[0]!.call("look", { ms: 1 })).toMatchObject({ status: "completed" });
      await twice[0]!.close();
      expect(["ready", "error", "end"].map((event) => client.listenerCount(event))).toEqual([1, 1, 1]);
      await client.close();
      await Promise.all(twice.flatMap(({ executor, close }) => [executor.close(), close()]));
      expect(client.isOpen).toBe(false);
    });
  });

  describe("values are the same there as here", () => {
    const echo = defineTool({
      name: "echo",
      inputSchema: z.looseObject({
        when: z.iso
          .datetime()
          .transform((text) => new Date(text))
          .optional(),
      }),
      effect: "read",
      execute: (input) => ({
        got: JSON.stringify(input),
        keys: Object.keys(input),
        proto: (input as { polluted?: unknown }).polluted ?? null,
        isDate: input.when instanceof Date,
      }),
    });

    it.each([
      ["lone surrogates and NUL", String.raw`{"a":"\ud800","b":"\u0000x","c":"🙂"}`],
      ["__proto__ and constructor", '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
      ["a depth of 200", `{"a":${"[".repeat(200)}${"]".repeat(200)}}`],
    ])("%s", async (_, text) => {
      const { call } = both(echo);
      const input: unknown = JSON.parse(text);
      const here = (await echo.use(input as never).execute()) as { keys: string[] };
      const outcome = await call("echo", input);
      expect(outcome).toMatchObject({ status: "completed" });
      expect((outcome as { output: unknown }).output).toEqual(here);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it("a Date that the schema reads from its text is one there, too", async () => {
      const { call } = both(echo);
      expect(await call("echo", { when: "2026-11-22T00:00:00.000Z" })).toMatchObject({ output: { isDate: true } });
    });

    it("an input that the schema would make another value of is refused before it is queued", async () => {
      const tool = defineTool({
        name: "twice",
        inputSchema: z.object({ n: z.number().transform((n) => n * 2) }),
        effect: "read",
        execute: ({ n }) => n,
      });
      const { call } = both(tool);
      const outcome = await call("twice", { n: 4 });
      expect(outcome).toMatchObject({ status: "failed", error: { code: "not_serializable" } });
      expect(outcome.use.error!.message).toContain("the schema makes another value of it");
      expect(await admin().getJobs()).toEqual([]);
    });

    it("outputs keep their marks, and are checked with the schema once, there", async () => {
      const mark = Symbol.for("toolstream.test");
      const tool = defineTool({
        name: "marked",
        inputSchema: z.object({}),
        outputSchema: z.object({ n: z.number().transform((n) => n + 1) }),
        effect: "read",
        execute: () => Object.defineProperty({ n: 1 }, mark, { value: true, enumerable: true }),
      });
      const { call } = both(tool);
      const outcome = (await call("marked", {})) as unknown as { output: Record<symbol, unknown> };
      expect(outcome.output).toEqual({ n: 2 });
      expect(outcome.output[mark]).toBe(true);
    });
  });

  describe("failures", () => {
    const failing = (thrown: unknown) =>
      defineTool({
        name: "fail",
        inputSchema: z.object({}),
        execute: () => {
          throw thrown;
        },
      });

    it("messages are bounded and tell nothing of the machine, in Redis neither", async () => {
      const tool = defineTool({
        name: "fail",
        inputSchema: z.object({ message: z.string() }),
        execute: ({ message }) => {
          throw new Error(message);
        },
      });
      const { call } = both(tool);
      const long = await call("fail", { message: "long ".repeat(1_000) });
      expect(long).toMatchObject({ status: "failed", error: { code: "execution_failed" } });
      expect(long.use.error!.message.length).toBeLessThan(1_100);
      const short = await call("fail", { message: "cannot open /home/me/secret/file.ts" });
      expect(short.use.error!.message).toBe("Tool fail failed: cannot open [path]");
      for (const { actionId } of [long, short]) {
        const job = (await admin().getJob(actionId))!;
        expect(job.failedReason.length).toBeLessThan(1_100);
        expect(job.failedReason).not.toContain("secret");
        expect(job.stacktrace).toEqual([]);
      }
    });

    it("a program behind a tool that cannot be read any more is a failure, and leaks no path", async () => {
      let isThere = true;
      const executableDigest = () => {
        if (isThere) return "sha256:1";
        throw new Error("ENOENT: open '/home/me/secret/tool.sh'");
      };
      const tool = defineTool({
        name: "act",
        inputSchema: z.object({}),
        metadata: { executableDigest },
        execute: () => 1,
      });
      const { call } = callers([tool]);
      const outcome = call("act", {});
      await soon(async () => expect(await admin().getJobs()).toHaveLength(1));
      isThere = false;
      work([tool]);
      expect(await outcome).toMatchObject({ status: "failed", error: { code: "execution_failed" } });
      expect((await outcome).use.error!.message).toBe("Tool act failed: ENOENT: open '[path]'");
    });

    it.each([
      ["a word", "the server said no"],
      ["many lines", Array.from({ length: 300 }, (_, at) => `line ${at}: no`).join("\n")],
    ])("the code of a ToolError comes back, with %s", async (_, said) => {
      const known = both(failing(new ToolError("tool_failed", said)));
      expect(await known.call("fail", {})).toMatchObject({
        error: { code: "tool_failed", message: `Tool fail failed: ${said}` },
      });
    });

    it("a text that looks like a code is a text", async () => {
      const { call } = both(failing(new Error("[outcome_unknown] made up")));
      expect(await call("fail", {})).toMatchObject({
        status: "failed",
        error: { code: "execution_failed", message: "Tool fail failed: [outcome_unknown] made up" },
      });
    });

    it.each([
      ["too large", () => "x".repeat(2_000_000), "output_too_large"],
      ["a cycle", () => ((value) => (value["self"] = value))({} as Record<string, unknown>), "not_serializable"],
      ["not what its schema says", () => "no number", "invalid_output"],
    ])("an output that is %s", async (_, execute, code) => {
      const more = code === "invalid_output" ? { outputSchema: z.object({ n: z.number() }) } : {};
      const { call } = both(
        defineTool({ name: "out", inputSchema: z.object({}), ...more, execute: execute as () => unknown }),
      );
      const outcome = await call("out", {});
      expect(outcome).toMatchObject({ status: "failed", error: { code } });
      expect(outcome.use.error!.message).toContain("It was executed, but");
    });

    it("retries are the queue's, for what may be repeated", async () => {
      const attempts: number[] = [];
      const tool = defineTool({
        name: "flaky",
        inputSchema: z.object({}),
        effect: "idempotent",
        retries: 2,
        execute: (_, { attempt }) => {
          attempts.push(attempt);
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        },
      });
      const { call, types } = both(tool, { jobOptions: { backoff: 10 } });
      expect(await call("flaky", {})).toMatchObject({ status: "completed", output: 3, attempts: 1 });
      expect(attempts).toEqual([1, 2, 3]);
      expect(types()).toEqual(["tool.invoked", "tool.started", "tool.completed"]);
    });

    it("a write fails once", async () => {
      let ran = 0;
      const execute = () => {
        ran++;
        throw new Error("no");
      };
      const { call } = both(defineTool({ name: "fail", inputSchema: z.object({}), execute }));
      expect(await call("fail", {})).toMatchObject({ status: "failed" });
      expect(await call("fail", {}, {}, "call-1")).toMatchObject({ status: "failed", replayed: true });
      expect(ran).toBe(1);
    });

    it("workers with another definition do not run the call", async () => {
      const tool = (description: string) =>
        defineTool({ name: "act", description, inputSchema: z.object({}), execute: () => "done" });
      work([tool("Sends the letter.")]);
      const { call } = callers([tool("Shows the letter.")]);
      expect(await call("act", {})).toMatchObject({ status: "failed", error: { code: "definition_changed" } });
    });

    it.each(["constructor", "__proto__", "gone"])("workers without the tool (%s) say so", async (name) => {
      const tool = (named: string) => defineTool({ name: named, inputSchema: z.object({}), execute: () => "done" });
      work([tool("act")]);
      const { call } = callers([tool(name)]);
      expect(await call(name, {})).toMatchObject({ status: "failed", error: { code: "unknown_tool" } });
    });

    it("a write whose record cannot be read is not executed", async () => {
      let ran = 0;
      const tool = defineTool({ name: "act", inputSchema: z.object({}), execute: () => ++ran });
      const broken: Store = { ...memoryStore(), put: () => Promise.reject(new ToolError("store_failed", "no answer")) };
      work([tool], { store: broken });
      const { call } = callers([tool]);
      const outcome = await call("act", {});
      expect(outcome).toMatchObject({ status: "failed", error: { code: "store_failed" } });
      expect(outcome.use.error!.message).toContain("act was not executed");
      expect(ran).toBe(0);
    });
  });

  describe("what lies in the queue is input as any other", () => {
    const input = '{"n":1}';
    const context = { idempotencyKey: "k", runId: "r", invocationId: "i", toolCallId: null };
    let ran: number;
    let tool: Tool;
    beforeEach(() => {
      ran = 0;
      tool = defineTool({ name: "act", inputSchema: z.object({ n: z.number() }), execute: () => ++ran });
    });

    it.each<[string, (good: Record<string, unknown>) => unknown, string]>([
      ["nothing", () => null, "[invalid_call]"],
      ["another definition", (good) => ({ ...good, definition: "sha256:0" }), "[definition_changed]"],
    ])("%s is refused", async (_, change, reason) => {
      const { call } = callers([tool]);
      const jobs = admin();
      const waiting = call("act", { n: 1 });
      const good = await soon(async () => {
        const [job] = await jobs.getJobs(["waiting"]);
        return job!.data as Record<string, unknown>;
      });
      expect(good).toMatchObject({ version: 1, tool: "act", input, context: { runId: "run" } });
      const job = await jobs.add("act", change({ ...good, context }), { jobId: "made/up" });
      work([tool]);
      await waiting;
      await soon(async () => expect(await job.isFailed()).toBe(true));
      expect((await jobs.getJob("made/up"))!.failedReason).toContain(reason);
      expect(ran).toBe(1);
    });

    it("an answer that no worker of ours gave is none", async () => {
      const { call } = callers([tool]);
      const { Worker } = await import("bullmq");
      const other = new Worker(queue, async () => "hello", place());
      cleanUps.push(() => other.close());
      expect(await call("act", { n: 1 })).toMatchObject({ status: "failed", error: { code: "invalid_answer" } });
    });

    it("a record of a write that this version cannot have written counts as begun", async () => {
      const store = memoryStore();
      await store.put(storeKey("job", "run/call-1"), { status: "paused" });
      work([tool], { store });
      const { call } = callers([tool]);
      expect(await call("act", { n: 1 })).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
      expect(ran).toBe(0);
    });
  });

  describe("time, and who gives up", () => {
    it("a call that times out while it waits is taken out of the queue, and never begun", async () => {
      const { call, types } = callers(toolsAt(file));
      const outcome = await call("hurried", { ms: 1 });
      expect(outcome).toMatchObject({ status: "failed", error: { code: "timeout" } });
      await soon(async () => expect(await admin().getJobs()).toEqual([]));
      work(toolsAt(file));
      const { call: next } = callers(toolsAt(file));
      await next("look", { ms: 1 }, {}, "next");
      expect(notes(file).map(({ tool }) => tool)).toEqual(["look", "look"]);
      await soon(() => expect(types()).toContain("tool.late"));
    });

    it("a call that is aborted while Redis does not answer is not queued when it does again", async () => {
      const { call } = callers(toolsAt(file));
      const redis = new Redis({ host: "127.0.0.1", port: server.port });
      cleanUps.push(() => redis.disconnect());
      await redis.client("PAUSE", 1_000, "ALL");
      const outcome = await call("book", { ms: 1 }, { timeoutMs: 100 });
      expect(outcome).toMatchObject({ status: "failed", error: { code: "timeout" } });
      const told = async () => (await redis.xrange(`bull:${queue}:events`, "-", "+")).flat(2);
      await soon(async () => expect(await told()).toContain("toolstream.hello"));
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await told()).not.toContain("added");
    });

    it("use.execute() ends when it is aborted, though Redis does not answer", async () => {
      const own = await startRedis();
      const effects = ["read", "write"] as const;
      const remote = bullmqTools(
        effects.map((effect) => defineTool({ name: effect, effect, inputSchema: z.object({}), execute: () => 1 })),
        { connection: { host: "127.0.0.1", port: own.port } },
      );
      cleanUps.push(remote.close);
      await own.stop();
      const ended = remote.tools.map((tool) => tool.use({}).execute({ signal: AbortSignal.timeout(100) }));
      expect(await Promise.allSettled(ended)).toMatchObject([
        { reason: { cause: { code: "aborted" } } },
        { reason: { cause: { code: "outcome_unknown" } } },
      ]);
    });

    it("a call that is aborted while it comes into the queue is taken out of it, and never begun", async () => {
      const controller = new AbortController();
      const jobOptions = {
        get priority() {
          controller.abort();
          return 1;
        },
      };
      const { call } = callers(toolsAt(file), { jobOptions });
      const outcome = await call("book", { ms: 1 }, { signal: controller.signal });
      expect(outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
      const redis = new Redis({ host: "127.0.0.1", port: server.port });
      cleanUps.push(() => redis.disconnect());
      const told = async () => (await redis.xrange(`bull:${queue}:events`, "-", "+")).flat(2);
      await soon(async () => expect(await told()).toContain("removed"));
      work(toolsAt(file));
      await callers(toolsAt(file)).call("look", { ms: 1 }, {}, "next");
      expect(notes(file).map(({ tool }) => tool)).toEqual(["look", "look"]);
    });

    it.each(["look", "book"])("the worker of a call that is aborted (%s) hears of it", async (name) => {
      work(toolsAt(file));
      const { call } = callers(toolsAt(file));
      const controller = new AbortController();
      const outcome = call(name, { ms: 20_000 }, { signal: controller.signal });
      await noted(file, ({ what }) => what === "begin");
      controller.abort();
      expect(await outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
      await noted(file, ({ what }) => what === "aborted");
    });

    it("the worker of a call that is aborted hears of it though the caller closes at once", async () => {
      work(toolsAt(file));
      const { call, executor } = callers(toolsAt(file));
      const controller = new AbortController();
      const outcome = call("look", { ms: 20_000 }, { signal: controller.signal });
      await noted(file, ({ what }) => what === "begin");
      controller.abort();
      expect(await outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
      await executor.close();
      await noted(file, ({ what }) => what === "aborted");
    });

    it("a worker that has lost its lock hears of it: the job is another one's", async () => {
      work(toolsAt(file), { worker: { lockDuration: 400 } });
      const { call } = callers(toolsAt(file));
      void call("look", { ms: 20_000 });
      const { key } = await noted(file, ({ what }) => what === "begin");
      const redis = new Redis({ host: "127.0.0.1", port: server.port });
      cleanUps.push(() => redis.disconnect());
      expect(await redis.del(`bull:${queue}:${key}:lock`)).toBe(1);
      await noted(file, ({ what }) => what === "aborted");
    });

    it("the tool's timeout holds at the worker, too: for a caller that has died", async () => {
      const jobs = admin();
      const { call, executor } = callers(toolsAt(file), { timeoutMs: 10_000 });
      const outcome = call("hurried", { ms: 20_000 }, { timeoutMs: 10_000 });
      work(toolsAt(file));
      expect(await outcome).toMatchObject({ status: "failed", error: { code: "timeout" } });
      const [job] = await jobs.getJobs(["failed"]);
      expect(job!.failedReason).toMatch(/^\[timeout\] It did not end within 300 ms\. It may have had its effect/);
      expect(notes(file).map(({ what }) => what)).toEqual(["begin", "aborted"]);
      expect(await executor.actions("run")).toMatchObject([{ status: "failed" }]);
    });

    it("a job that somebody removes is told: a write as of unknown outcome", async () => {
      const { call } = callers(toolsAt(file));
      const outcomes = [call("look", { ms: 1 }, {}, "a"), call("book", { ms: 1 }, {}, "b")];
      const jobs = admin();
      await soon(async () => expect(await jobs.getJobs()).toHaveLength(2));
      await jobs.obliterate({ force: true });
      const [read, write] = await Promise.all(outcomes);
      expect(read).toMatchObject({ status: "failed", error: { code: "aborted" } });
      expect(write).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    });

    it("a job that is removed when it has ended is heard of, though it is gone before", async () => {
      work(toolsAt(file), { worker: { concurrency: 20 } });
      const { call } = callers(toolsAt(file), {
        jobOptions: { removeOnComplete: true },
        pollMs: 5,
        storeEvents: false,
      });
      const outcomes = await Promise.all(Array.from({ length: 200 }, () => call("book", { ms: 1 })));
      expect(outcomes.filter(({ status }) => status !== "completed")).toEqual([]);
    });

    it("a caller that closes waits no more: a write is of unknown outcome, as its job may go on", async () => {
      const { call, executor } = callers(toolsAt(file));
      const outcomes = [call("look", { ms: 1 }, {}, "a"), call("book", { ms: 1 }, {}, "b")];
      const jobs = admin();
      await soon(async () => expect(await jobs.getJobs()).toHaveLength(2));
      await executor.close();
      const [read, write] = await Promise.all(outcomes);
      expect(read).toMatchObject({ status: "failed", error: { code: "aborted" } });
      expect(write).toMatchObject({ status: "unknown" });
    });

    it.each(["look", "book"])(
      "a process that goes on for one that is taken for dead finds its job, and the other cannot cancel it (%s)",
      async (name) => {
        const tool = toolsAt(file).find((one) => one.name === name)!;
        const one = bullmqTools([tool], place());
        const two = bullmqTools([tool], { ...place(), pollMs: 200 });
        cleanUps.push(one.close, two.close);
        work([tool]);
        const gaveUp = new AbortController();
        const context = (attempt: number, signal?: AbortSignal) => ({
          runId: "run",
          invocationId: "i",
          idempotencyKey: "run/i",
          attempt,
          ...(signal && { signal }),
        });
        const use = ({ tools: [remote] }: typeof one) => remote!.use({ ms: -1 } as never, { invocationId: "i" });
        const first = use(one).execute(context(1, gaveUp.signal));
        await noted(file, ({ what }) => what === "begin");
        const jobs = admin();
        const before = (await jobs.getJob("run/i"))!.data.owner;
        const second = use(two).execute(context(2));
        await soon(async () => expect((await jobs.getJob("run/i"))!.data.owner).not.toBe(before));
        gaveUp.abort();
        letEnd(file);
        expect(await second).toEqual({ slept: -1, attempt: 1 });
        expect(await first).toEqual({ slept: -1, attempt: 1 });
        // And whoever comes when it is over gets what came of it.
        expect(await use(one).execute(context(3))).toEqual({ slept: -1, attempt: 1 });
        expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
      },
    );

    it.each([
      ["a read", "look", true],
      ["a write", "book", false],
    ])(
      "%s that was given up before a worker had it (%s) is begun for who goes on with it: %s",
      async (_, name, isBegun) => {
        const tool = toolsAt(file).find((one) => one.name === name)!;
        const remote = bullmqTools([tool], { ...place(), pollMs: 100 });
        cleanUps.push(remote.close);
        const jobs = admin();
        const context = (attempt: number) => ({ runId: "run", invocationId: "i", idempotencyKey: "run/i", attempt });
        const execute = (attempt: number) =>
          remote.tools[0]!.use({ ms: 1 } as never, { invocationId: "i" }).execute(context(attempt));
        const first = execute(1).catch(() => {});
        await soon(async () => expect(await jobs.getJob("run/i")).toBeDefined());
        const job = (await jobs.getJob("run/i"))!;
        // Its process died between saying so and taking it out.
        await job.updateData({ ...job.data, isGivenUp: true, owner: "dead" });
        const second = execute(2);
        await soon(async () => {
          const { data } = (await jobs.getJob("run/i"))!;
          expect(data).toMatchObject({ isGivenUp: !isBegun });
          expect(data.owner).not.toBe("dead");
        });
        work([tool]);
        if (isBegun) expect(await second).toMatchObject({ attempt: 1 });
        else await expect(second).rejects.toMatchObject({ cause: { code: "aborted" } });
        await first;
        expect(notes(file).map(({ what }) => what)).toEqual(isBegun ? ["begin", "end"] : []);
      },
    );

    it("a write that never came into the queue is looked for, and not put there", async () => {
      const tool = toolsAt(file).find(({ name }) => name === "book")!;
      const { tools, close } = bullmqTools([tool], { ...place(), pollMs: 600_000 });
      cleanUps.push(close);
      work([tool]);
      const context = { runId: "run", invocationId: "i", idempotencyKey: "run/i", attempt: 2 };
      const use = tools[0]!.use({ ms: 1 } as never, { invocationId: "i" });
      await expect(use.execute(context)).rejects.toMatchObject({ cause: { code: "outcome_unknown" } });
      expect(await admin().getJobs()).toEqual([]);
      expect(notes(file)).toEqual([]);
    });

    it("a write that has ended and was removed is heard of by who goes on with it, though the event comes later", async () => {
      const tool = toolsAt(file).find(({ name }) => name === "book")!;
      const { tools, close } = bullmqTools([tool], { ...place(), pollMs: 600_000 });
      cleanUps.push(close);
      const jobs = admin();
      await jobs.waitUntilReady();
      const context = { runId: "run", invocationId: "i", idempotencyKey: "run/i", attempt: 2 };
      const outcome = tools[0]!.use({ ms: 1 } as never, { invocationId: "i" }).execute(context);
      outcome.catch(() => {});
      const redis = new Redis({ host: "127.0.0.1", port: server.port });
      await soon(async () => expect(await redis.xlen(`bull:${queue}:events`)).toBeGreaterThan(0));
      // Time to look.
      await new Promise((resolve) => setTimeout(resolve, 300));
      const event = { event: "completed", jobId: "run/i", returnvalue: JSON.stringify({ output: '"booked"' }) };
      await redis.xadd(`bull:${queue}:events`, "*", ...Object.entries(event).flat());
      redis.disconnect();
      expect(await outcome).toBe("booked");
    });

    it("a Redis that was lost with all that it held: who waits is told", async () => {
      const own = await startRedis();
      const errors: Error[] = [];
      const connection = { host: "127.0.0.1", port: own.port };
      const { call, executor } = callers(toolsAt(file), { connection, onError: (error) => void errors.push(error) });
      const outcomes = [call("look", { ms: 1 }, {}, "a"), call("book", { ms: 1 }, {}, "b")];
      const jobs = new Queue(queue, { connection });
      jobs.on("error", () => {});
      await soon(async () => expect(await jobs.getJobs()).toHaveLength(2));
      await own.stop();
      await soon(() => expect(errors.length).toBeGreaterThan(0));
      const again = await startRedis(own.port);
      const [read, write] = await Promise.all(outcomes);
      expect(read).toMatchObject({ status: "failed", error: { code: "aborted" } });
      expect(write).toMatchObject({ status: "unknown" });
      await jobs.close();
      await executor.close();
      await again.stop();
    });

    it("a Redis that does not come back keeps nobody from closing", async () => {
      const own = await startRedis();
      const { call, executor } = callers(toolsAt(file), { connection: { host: "127.0.0.1", port: own.port } });
      await Promise.race([call("book", { ms: 1 }, {}, "a"), new Promise((done) => setTimeout(done, 200))]);
      const outcome = call("book", { ms: 1 }, {}, "b");
      await own.stop();
      await executor.close();
      expect(await outcome).toMatchObject({ status: "unknown" });
    });

    it("a worker that closes does what it has begun, and no more when Redis goes meanwhile", async () => {
      const own = await startRedis();
      const connection = { host: "127.0.0.1", port: own.port };
      const { close } = work(toolsAt(file), { connection });
      const { call } = callers(toolsAt(file), { connection });
      void call("look", { ms: 1_500 });
      await noted(file, ({ what }) => what === "begin");
      const closed = close();
      await new Promise((resolve) => setTimeout(resolve, 300));
      await own.stop();
      await closed;
      expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
    });

    /** With the newest BullMQ, and with the oldest. */
    const versions = [[], ["--import", join(import.meta.dirname, "oldest-bullmq-child.ts")]];
    /** With options, and with a client of ioredis that is the process's own. */
    const ways = versions.flatMap((execArgv) => [[], ["ioredis"]].map((client) => ({ execArgv, client })));

    /** Starts a process with caller and worker. It is ready; what it gives closes both, and says how the process ends. */
    async function startClosing(port: number, { ms = 0, client = [] as string[], execArgv = [] as string[] } = {}) {
      const args = [String(port), String(ms), ...client];
      const child = fork(join(import.meta.dirname, "close-child.ts"), args, { execArgv });
      cleanUps.push(() => child.kill("SIGKILL"));
      await once(child, "message");
      return () => {
        const exit = once(child, "exit");
        child.send("close");
        return exit;
      };
    }

    it("a process ends when it has closed caller and worker, though Redis is lost, or was never there, also with BullMQ 5", async () => {
      const [own, gone] = await Promise.all([startRedis(), startRedis()]);
      await gone.stop();
      const ended = ways.map(async (way) => (await startClosing(gone.port, way))());
      const close = await startClosing(own.port);
      await own.stop();
      ended.push(close());
      expect(await Promise.all(ended)).toEqual(ended.map(() => [0, null]));
    });

    it("a process ends when Redis is lost while it closes and a job runs, also with BullMQ 5 (taskforcesh/bullmq#2430)", async () => {
      const ended = ways.map(async (way) => {
        const own = await startRedis();
        const exit = (await startClosing(own.port, { ms: 2_000, ...way }))();
        await wait(500);
        await own.stop();
        return exit;
      });
      expect(await Promise.all(ended)).toEqual(ways.map(() => [0, null]));
    });

    it("a process that closes while it connects ends as it should, also with BullMQ 5", async () => {
      // It has connected, and waits for BullMQ's own question for the version to be answered.
      const far = createServer((near) => {
        const beyond = connect(server.port, "127.0.0.1");
        let asked = 0;
        near.on("data", (bytes: Buffer) => {
          asked += bytes.toString().match(/\binfo\b/gi)?.length ?? 0;
          beyond.write(bytes);
        });
        beyond.on("data", (bytes) => setTimeout(() => near.write(bytes), asked < 2 ? 0 : 1_000));
        near.on("error", () => {}).on("close", () => beyond.destroy());
        beyond.on("error", () => {}).on("close", () => near.destroy());
      }).listen(0, "127.0.0.1");
      cleanUps.push(() => far.close());
      await once(far, "listening");
      const close = await startClosing((far.address() as AddressInfo).port, { execArgv: versions[1] });
      expect(await close()).toEqual([0, null]);
    });

    it("a process that closes while it tries again to connect ends as it should, also with BullMQ 5", async () => {
      const gone = await startRedis();
      await gone.stop();
      const closes = await Promise.all(versions.map((execArgv) => startClosing(gone.port, { execArgv })));
      // Each was refused at first; from now on it is connected, and never answered.
      const mute = createServer((near) => void near.on("error", () => {})).listen(gone.port, "127.0.0.1");
      cleanUps.push(() => mute.close());
      expect(await Promise.all(closes.map((close) => close()))).toEqual(versions.map(() => [0, null]));
    });

    it("a worker that has closed leaves no copy of a client of redis that connects again", async () => {
      const own = await startRedis();
      const connection = createClient({ url: own.url }).on("error", () => {});
      await connection.connect();
      cleanUps.push(() => connection.destroy());
      const copied = vi.spyOn(connection, "duplicate");
      const { close } = work(toolsAt(file), { connection });
      const { call } = callers(toolsAt(file), { connection: { host: "127.0.0.1", port: own.port } });
      expect(await call("look", { ms: 1 })).toMatchObject({ status: "completed" });
      const copies = copied.mock.results.map(({ value }) => value as typeof connection);
      expect(copies.map(({ isReady }) => isReady)).toEqual([true, true]);
      await own.stop();
      await soon(() => expect(copies.map(({ isReady }) => isReady)).toEqual([false, false]));
      await close();
      expect(copies.map(({ isOpen }) => isOpen)).toEqual([false, false]);
    });

    it("caller and worker leave no connection open at a server that BullMQ refuses", async () => {
      const open = new Set<Socket>();
      const old = createServer((near) => {
        const beyond = connect(server.port, "127.0.0.1").on("error", () => {});
        near.on("error", () => {}).on("close", () => (open.delete(near), beyond.destroy()));
        near.on("data", (bytes) => beyond.write(bytes));
        beyond.on("close", () => near.destroy());
        beyond.on("data", (bytes) => {
          near.write(bytes.toString("latin1").replace(/redis_version:\d/, "redis_version:4"), "latin1");
        });
        open.add(near);
      }).listen(0, "127.0.0.1");
      await once(old, "listening");
      cleanUps.push(() => old.close());
      const errors: Error[] = [];
      const options = {
        connection: { host: "127.0.0.1", port: (old.address() as AddressInfo).port },
        onError: (error: Error) => void errors.push(error),
      };
      const [{ executor }, { close }] = [callers(toolsAt(file), options), work(toolsAt(file), options)];
      // Each of the six says so.
      await soon(() => expect(errors.length).toBeGreaterThan(5));
      expect(errors[0]!.message).toContain("Redis version needs to be greater");
      await Promise.all([executor.close(), close()]);
      await soon(() => expect(open.size).toBe(0));
    });

    it("a client of redis that fails after caller and worker have closed ends nobody's process", async () => {
      const client = createClient({ url: server.url }).on("error", () => {});
      await client.connect();
      cleanUps.push(() => client.close());
      const { close } = work(toolsAt(file), { connection: client });
      const { call, executor } = callers(toolsAt(file), { connection: client });
      expect(await call("look", { ms: 1 })).toMatchObject({ status: "completed" });
      await Promise.all([executor.close(), close()]);
      expect(() => client.emit("error", new Error("Socket closed unexpectedly"))).not.toThrow();
    });

    it("the worker's rate limit holds", async () => {
      work(toolsAt(file), { worker: { limiter: { max: 1, duration: 60_000 } } });
      const { call } = callers(toolsAt(file));
      // Which of the two comes first, nobody knows.
      const leave = new AbortController();
      const outcomes = ["a", "b"].map((id) => call("look", { ms: 1 }, { signal: leave.signal }, id));
      expect(await Promise.race(outcomes)).toMatchObject({ status: "completed" });
      await wait(1_000);
      leave.abort();
      expect((await Promise.all(outcomes)).map(({ status }) => status).toSorted()).toEqual(["completed", "failed"]);
      expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
    });
  });

  it("a write that is handed out again is not executed again: what came of it is told", async () => {
    const store = memoryStore();
    let ran = 0;
    const tool = defineTool({ name: "act", inputSchema: z.object({}), execute: () => ++ran });
    const { worker } = work([tool], { store });
    const first = callers([tool]);
    expect(await first.call("act", {}, {}, "same")).toMatchObject({ output: 1 });
    // As after a crash between the end of the handler and that of the job; and by a caller without a record.
    await admin().obliterate({ force: true });
    const second = callers([tool]);
    expect(await second.call("act", {}, {}, "same")).toMatchObject({ status: "completed", output: 1 });
    expect(ran).toBe(1);
    await worker.close();
  });

  it("a run that is forgotten leaves nothing behind in queue and store, and a call that still runs is not begun twice", async () => {
    const store = memoryStore();
    work(toolsAt(file), { store });
    const { executor, call } = callers(toolsAt(file), { store, storeEvents: false });
    expect(await call("book", { ms: 1 }, {}, "same")).toMatchObject({ status: "completed" });
    expect(await call("look", { ms: 1 }, {}, "a:b")).toMatchObject({ status: "completed" });
    expect(await call("book", { ms: 1 }, { runId: "other" }, "same")).toMatchObject({ status: "completed" });
    await executor.forget("run");
    const left = (await store.list("")).map(({ key }) => key);
    expect(left.filter((key) => !key.includes("other"))).toEqual([]);
    expect(left).toContain(storeKey("job", "other/same"));
    expect((await admin().getJobs()).map(({ id }) => id)).toEqual(["other/same"]);
    expect(await call("book", { ms: 1 }, {}, "same")).toMatchObject({ status: "completed", replayed: false });
    expect(notes(file).filter(({ what, key }) => what === "end" && key === "run/same")).toHaveLength(2);

    const running = call("book", { ms: 600 }, {}, "long");
    await noted(file, ({ what, key }) => what === "begin" && key === "run/long");
    await executor.forget("run");
    expect((await store.list("job/")).map(({ key }) => key)).toContain(storeKey("job", "run/long"));
    expect(await running).toMatchObject({ status: "unknown" });
    await expect(executor.forget(undefined as never)).rejects.toThrow(/^forget\(\) takes a runId/);
  });

  it("a run that cannot be forgotten, since the connections are closed, says so in a typed error", async () => {
    const store = memoryStore();
    work(toolsAt(file), { store });
    const { executor, call } = callers(toolsAt(file), { store });
    await call("book", { ms: 1 });
    await executor.close();
    await expect(executor.forget("run")).rejects.toMatchObject({ name: "ToolError", code: "store_failed" });
    expect(await executor.actions("run")).toHaveLength(1);
  });

  it("a run whose tools are executed here is forgotten without the queue", async () => {
    const store = memoryStore();
    const { executor, call } = callers(toolsAt(file), { store, storeEvents: false, filter: () => false });
    expect(await call("book", { ms: 1 })).toMatchObject({ status: "completed" });
    await executor.close();
    await executor.forget("run");
    expect(await store.list("")).toEqual([]);
  });

  it("a run is forgotten whole though its tools are executed here by now", async () => {
    const store = memoryStore();
    work(toolsAt(file), { store });
    const { call } = callers(toolsAt(file), { store, storeEvents: false });
    expect(await call("book", { ms: 1 })).toMatchObject({ status: "completed" });
    const now = callers(toolsAt(file), { store, storeEvents: false, filter: () => false });
    await now.executor.forget("run");
    expect(await store.list("")).toEqual([]);
    expect(await admin().getJobs()).toEqual([]);
  });

  it.each(["order:5", "42", "-7", "NaN", "%3A", "a:b:c"])(
    "a key that is no id of BullMQ's (%s) is one of a job nevertheless: bullmq 4052, 3382",
    async (idempotencyKey) => {
      const keys: unknown[] = [];
      const tool = defineTool({
        name: "act",
        inputSchema: z.object({}),
        execute: (_, context) => keys.push(context.idempotencyKey),
      });
      const { tools, close } = bullmqTools([tool], place());
      cleanUps.push(close);
      work([tool]);
      expect(await tools[0]!.use({}).execute({ idempotencyKey })).toBe(1);
      expect(await tools[0]!.use({}).execute({ idempotencyKey })).toBe(1); // it finds its job
      expect(keys).toEqual([idempotencyKey]);
    },
  );

  it("without an executor a remote tool is executed by use.execute()", async () => {
    const tool = defineTool({ name: "plus", inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n + 1 });
    const { tools, close } = bullmqTools([tool], place());
    cleanUps.push(close);
    work([tool]);
    expect(await tools[0]!.use({ n: 1 }).execute()).toBe(2);
    expect(new ToolExecutor({ tools, store: memoryStore() }).toolsFor()).toEqual(tools);
  });
});
