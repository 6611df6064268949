/** Workers in processes of their own, one of which dies in the middle of a job. */
import { join } from "node:path";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ExecutionContext, ToolEvent } from "../../src/execute/index.ts";
import { redisStore } from "../../src/store/redis.ts";
import { bullmqExecutor, type BullmqExecutor } from "../../src/workers/bullmq.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "../store/redis-server.ts";
import { soon } from "../soon.ts";
import { sharedTemporary } from "../temporary.ts";
import { noted, notes, startCaller, startWorker, type Process } from "./support.ts";
import { toolsAt } from "./tools.ts";

const folder = sharedTemporary();

describe.skipIf(redisMissing !== undefined)(onRedis("two workers"), () => {
  let server: RedisServer;
  let client: Redis;
  let file: string;
  let workers: Process[];
  let executor: BullmqExecutor;
  let events: ToolEvent[];
  let queue: string;
  let count = 0;

  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.port, "127.0.0.1");
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  beforeEach(async () => {
    queue = `killed-${++count}`;
    file = join(folder, queue);
    workers = await Promise.all([startWorker(server.port, queue, file), startWorker(server.port, queue, file)]);
    events = [];
    executor = bullmqExecutor({
      tools: toolsAt(file),
      store: redisStore(client, { prefix: queue }),
      connection: { host: "127.0.0.1", port: server.port },
      queue,
      pollMs: 500,
      leaseMs: 600,
      onEvent: (event) => void events.push(event),
    });
  });
  afterEach(async () => {
    await executor.close();
    await Promise.all(workers.map((worker) => worker.kill()));
  });

  const execute = (name: string, input: object, context: Partial<ExecutionContext> = {}) => {
    const tool = toolsAt(file).find((one) => one.name === name)!;
    const use = tool.use(input, { id: "call_1", invocationId: `${name}-1` });
    return executor.execute(use, { ...context, runId: "run:1" });
  };
  const other = ({ pid }: { pid: number }) => workers.find((worker) => worker.pid !== pid)!;
  const killIn = async (name: string) => {
    const begun = await noted(file, ({ what, tool }) => what === "begin" && tool === name);
    await workers.find(({ pid }) => pid === begun.pid)!.kill();
    return begun;
  };

  it.each(["look", "set"])("%s: what may be repeated is executed again by the other one", async (name) => {
    const outcome = execute(name, { ms: 2_000 });
    const begun = await killIn(name);
    expect(await outcome).toMatchObject({ status: "completed", output: { slept: 2_000, attempt: 2 }, attempts: 1 });
    expect(notes(file).map(({ what, pid, key, attempt }) => [what, pid, key, attempt])).toEqual([
      ["begin", begun.pid, `run%3A1/${name}-1`, 1],
      ["begin", other(begun).pid, `run%3A1/${name}-1`, 2],
      ["end", other(begun).pid, `run%3A1/${name}-1`, 2],
    ]);
    expect(events.map(({ type }) => type)).toEqual(["tool.invoked", "tool.started", "tool.completed"]);
  });

  it("a write is told as of unknown outcome, and never run twice", async () => {
    const outcome = execute("book", { ms: 20_000 });
    await killIn("book");
    expect(await outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    expect((await outcome).use.error?.message).toContain("look before you call it again");
    // Asked for again, it is on record; and so it is for whoever hands the job out again.
    expect(await execute("book", { ms: 20_000 })).toMatchObject({ status: "unknown", replayed: true });
    expect(notes(file).map(({ what }) => what)).toEqual(["begin"]);
    expect(events.map(({ type }) => type)).toEqual(["tool.invoked", "tool.started", "tool.failed"]);
    expect(await executor.actions("run:1")).toMatchObject([{ status: "unknown" }]);
  });

  it("bullmq 3183, 439: a job processed twice when the event loop blocks past the lock: a write is begun once", async () => {
    const outcome = execute("block", { ms: 4_000 });
    expect(await outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    // It was alive, and came to its end: too late to be heard.
    await noted(file, ({ what }) => what === "end");
    expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
  });

  it("what waits goes to the worker that is left", async () => {
    await workers[0]!.kill();
    expect(await execute("book", { ms: 1 })).toMatchObject({ status: "completed", output: { slept: 1, attempt: 1 } });
    expect(notes(file).map(({ pid }) => pid)).toEqual([workers[1]!.pid, workers[1]!.pid]);
  });

  it("what the caller has given up is not handed to another one", async () => {
    const jobs = new Queue(queue, { connection: { host: "127.0.0.1", port: server.port } });
    const gaveUp = new AbortController();
    const outcome = execute("set", { ms: 20_000 }, { signal: gaveUp.signal });
    await killIn("set");
    gaveUp.abort();
    expect(await outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
    // The lock of the dead one ends, and the queue hands the job out again.
    await soon(async () => expect(await jobs.getFailed()).toHaveLength(1));
    expect(notes(file).map(({ what }) => what)).toEqual(["begin"]);
    await jobs.close();
  });

  it("a worker that is asked to end does what it has begun", async () => {
    const outcome = execute("book", { ms: 500 });
    const begun = await noted(file, ({ what }) => what === "begin");
    await workers.find(({ pid }) => pid === begun.pid)!.stop();
    expect(await outcome).toMatchObject({ status: "completed" });
  });

  it("the caller dies: who goes on with a read gets what the worker is at, and it is executed once", async () => {
    const caller = await startCaller(server.port, queue, file, "look");
    await noted(file, ({ what }) => what === "begin");
    await caller.kill();
    const outcome = await execute("look", { ms: 2_000 });
    expect(outcome).toMatchObject({ status: "completed", output: { slept: 2_000, attempt: 1 }, attempts: 2 });
    expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
  });

  it("the caller dies: who goes on with a write gets what came of it, and it is done once", async () => {
    const caller = await startCaller(server.port, queue, file, "book");
    await noted(file, ({ what }) => what === "begin");
    await caller.kill();
    const outcome = await execute("book", { ms: 2_000 });
    expect(outcome).toMatchObject({ status: "completed", output: { slept: 2_000, attempt: 1 }, attempts: 2 });
    expect(await execute("book", { ms: 2_000 })).toMatchObject({ status: "completed", replayed: true });
    expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
    expect(await executor.undo(outcome.actionId)).toMatchObject({ status: "undone" });
  });

  it("the caller dies and then the worker: nobody knows what came of the write", async () => {
    const caller = await startCaller(server.port, queue, file, "book");
    await noted(file, ({ what }) => what === "begin");
    await caller.kill();
    await killIn("book");
    expect(await execute("book", { ms: 2_000 })).toMatchObject({ status: "unknown" });
    expect(notes(file).map(({ what }) => what)).toEqual(["begin"]);
  });

  it.each([true, false])("the caller dies, and comes back when the write is done (kept: %s)", async (isKept) => {
    const caller = await startCaller(server.port, queue, file, "book");
    await noted(file, ({ what }) => what === "begin");
    await caller.kill();
    const jobs = new Queue(queue, { connection: { host: "127.0.0.1", port: server.port } });
    await soon(async () => expect(await jobs.getCompleted()).toHaveLength(1));
    if (!isKept) await jobs.obliterate({ force: true });
    const outcome = await execute("book", { ms: 2_000 });
    if (isKept) expect(outcome).toMatchObject({ status: "completed", output: { slept: 2_000, attempt: 1 } });
    else expect(outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    // Looked for, and not put there again.
    expect(await jobs.getJobs()).toHaveLength(isKept ? 1 : 0);
    expect(notes(file).map(({ what }) => what)).toEqual(["begin", "end"]);
    await jobs.close();
  });
});
