/** The record of each action: what survives a process, and who may write. */
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/errors.ts";
import { digestOf } from "../../src/execute/digest.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { Ledger } from "../../src/execute/ledger.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import type { Tool, ToolDefinition } from "../../src/tool/tool.ts";
import { unorderedStore } from "../store/unordered.ts";
import { counted, errorOf, failing, RUN, setup, setupWithApprovals, sleep, until, useOf } from "./support.ts";
import { soon } from "../soon.ts";

const down = () => new ToolError("store_failed", "The store is down.");

/** A row as a process leaves it that died in the handler, when a person had approved the call if its tool asks for that. */
async function died(
  store: Store,
  definition: Partial<ToolDefinition<any, any>>,
  change: object = {},
  edit: { editedInput?: unknown } = {},
) {
  const { tool, ran } = counted({ ...definition, execute: () => new Promise(() => {}) });
  const { executor, approvals } = setupWithApprovals([tool], { store });
  void executor.execute(call(tool), { ...RUN, uniqueIds: true });
  if (definition.needsApproval) {
    await until(async () => (await approvals.list()).length > 0);
    await approvals.decide((await approvals.list())[0]!.id, { decision: "approve", ...edit });
  }
  await until(() => ran.length > 0);
  const { value } = (await store.get<any>("action/run/a"))!;
  await store.put("action/run/a", { ...value, lease: { owner: "dead", until: Date.now() - 1 }, ...change });
}

const call = (tool: any) => tool.use({ n: 1 }, { id: "call_1", invocationId: "a" });

it.each([true, false])("a start that was written and not confirmed is one (can be read: %s)", async (canBeRead) => {
  const { tool, ran } = counted();
  const inner = unorderedStore();
  let isDown = false;
  const store: Store = {
    ...inner,
    get: async (key) => {
      if (isDown && !canBeRead) throw down();
      return inner.get(key) as never;
    },
    put: async (key, value, options) => {
      const entry = await inner.put(key, value, options);
      if ((value as { status?: string }).status !== "started" || isDown) return entry;
      isDown = true;
      throw down();
    },
  };
  const { executor } = setup([tool], { store, storeEvents: false });
  const outcome = await executor.execute(call(tool), RUN);
  expect(ran).toHaveLength(canBeRead ? 1 : 0);
  if (canBeRead) expect(outcome).toMatchObject({ status: "completed", recorded: true });
  else expect(outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
});

it("a start that another execution of the process has written is not taken for one's own", async () => {
  const { tool, ran } = counted({ execute: () => sleep(30) });
  const inner = memoryStore();
  let isFirst = true;
  const fixed = Date.now();
  const store: Store = {
    ...inner,
    put: async (key, value, options) => {
      if ((value as { status?: string }).status !== "started" || !isFirst) return inner.put(key, value, options);
      isFirst = false;
      // Not written: another execution does, with the same times.
      const row = value as any;
      await inner.put(key, { ...row, lease: { ...row.lease, owner: "other" }, startedAt: fixed }, options);
      throw down();
    },
  };
  const { executor } = setup([tool], { store, storeEvents: false, leaseMs: 50 });
  // That one gives no sign any more.
  const outcome = await executor.execute(call(tool), RUN);
  expect(outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
  expect(ran).toHaveLength(0);
});

describe("a call whose process died in the handler", () => {
  it("is not run again by who gives it up, though it only reads", async () => {
    const store = memoryStore();
    await died(store, { effect: "read" });
    const { tool, ran } = counted({ effect: "read" });
    const { executor } = setup([tool], { store });
    expect(await executor.execute(call(tool), { ...RUN, abandon: true })).toMatchObject({ status: "unknown" });
    expect(await executor.action("run/a")).toMatchObject({ status: "unknown" });
    expect(ran).toEqual([]);
  });

  it("is not run again if it is a write: the model hears that its outcome is unknown", async () => {
    const { tool, ran } = counted();
    const store = memoryStore();
    await died(store, { effect: "write" });
    const { executor, events } = setup([tool], { store });
    const use = call(tool);
    const outcome = await executor.execute(use, RUN);
    expect(outcome).toMatchObject({ status: "unknown", attempts: 1, error: { code: "outcome_unknown" } });
    expect(use.error!.message).toMatch(/act was started, and it is not known what came of it/);
    expect(events.at(-1)).toMatchObject({ type: "tool.failed", errorCode: "outcome_unknown" });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "unknown", replayed: true });
    expect(await executor.undo(outcome.actionId)).toMatchObject({
      status: "refused",
      error: { code: "outcome_unknown" },
    });
    expect(ran).toHaveLength(0);
  });

  it.each(["read", "idempotent"] as const)(
    "is run again if it is %s, with the same idempotency key",
    async (effect) => {
      const { tool, ran } = counted({ effect });
      const store = memoryStore();
      await died(store, { effect });
      const { executor, types } = setup([tool], { store });
      expect(await executor.execute(call(tool), RUN)).toMatchObject({
        status: "completed",
        attempts: 2,
        replayed: false,
      });
      expect(ran[0]!.context).toMatchObject({ idempotencyKey: "run/a", attempt: 2 });
      expect(types()).toEqual(["tool.started", "tool.completed"]);
    },
  );

  it.each([
    ["write", "unknown", ["tool.invoked", "tool.started", "tool.failed"]],
    ["read", "completed", ["tool.invoked", "tool.started", "tool.started", "tool.completed"]],
  ] as const)("before it had told of anything is told of as a whole: a %s", async (effect, status, told) => {
    const store = memoryStore();
    const isEvent = (verb: string, key: string) => verb === "put" && key.startsWith("event/");
    await died(
      failing(store, (verb, key) => (isEvent(verb, key) ? new Promise(() => {}) : undefined)),
      { effect },
    );
    const { executor, types } = setup([counted({ effect }).tool], { store });
    const use = call(counted({ effect }).tool);
    expect(await executor.execute(use, RUN)).toMatchObject({ status, replayed: false });
    expect(types()).toEqual(told);
  });

  it("is asked for its outcome where its tool can say it, and never begun again", async () => {
    const store = memoryStore();
    await died(store, { effect: "write", needsApproval: true });
    const { tool, ran } = counted({ needsApproval: true, execute: () => "what came of it" });
    const { executor } = setupWithApprovals([{ ...tool, recalls: true }], { store });
    const outcome = await executor.execute(call(tool), RUN);
    expect(outcome).toMatchObject({ status: "completed", output: "what came of it", attempts: 2 });
    expect(ran.map(({ context }) => context.attempt)).toEqual([2]);
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", replayed: true });
    expect(ran).toHaveLength(1);
  });

  it.each<[string, Partial<ToolDefinition<any, any>>, Partial<ToolDefinition<any, any>>, number]>([
    ["reads by now", { effect: "write" }, { effect: "read" }, 1],
    ["wrote idempotently then", { effect: "idempotent" }, { effect: "write" }, 1],
    ["is called with another input", { effect: "write" }, { effect: "write" }, 2],
    ["had an approval for another definition", { needsApproval: true }, { needsApproval: true, description: "New" }, 1],
  ])("is of unknown outcome though its tool could say it, where that %s", async (_, then, now, n) => {
    const store = memoryStore();
    await died(store, then);
    const { tool, ran } = counted(now);
    const { executor } = setupWithApprovals([{ ...tool, recalls: true }], { store });
    const use = tool.use({ n }, { id: "call_1", invocationId: "a" });
    expect(await executor.execute(use, { ...RUN, uniqueIds: true })).toMatchObject({ status: "unknown" });
    expect(ran).toHaveLength(0);
  });

  it("is not told as one that was never executed, where the caller has given up", async () => {
    const { tool, ran } = counted({ effect: "idempotent" });
    const store = memoryStore();
    await died(store, { effect: "idempotent" });
    const { executor } = setup([tool], { store });
    expect(await executor.execute(call(tool), { ...RUN, signal: AbortSignal.abort() })).toMatchObject({
      status: "failed",
      error: { code: "aborted", message: expect.stringContaining("act was aborted while it ran") },
    });
    expect(ran).toHaveLength(0);
  });

  it.each([
    ["the tool is the same", "", { status: "completed", attempts: 2 }, 1],
    ["the tool is another one now", "and more", { status: "unknown", attempts: 1 }, 0],
  ])("that a person had approved: %s", async (_, description, expected, runs) => {
    const store = memoryStore();
    const options = { effect: "idempotent", needsApproval: true } as const;
    await died(store, options);

    const { tool, ran } = counted({ ...options, ...(description !== "" && { description }) });
    const { executor, approvals } = setupWithApprovals([tool], { store });
    expect(await executor.execute(call(tool), RUN)).toMatchObject(expected);
    expect(ran).toHaveLength(runs);
    expect(await approvals.list({ status: "pending" }), "nobody is asked about what does not run").toEqual([]);
  });

  it("that a person had approved with other arguments is run again with those", async () => {
    const store = memoryStore();
    const options = { effect: "idempotent", needsApproval: true } as const;
    await died(store, options, {}, { editedInput: { n: 7 } });
    const { tool, ran } = counted(options);
    const { executor } = setupWithApprovals([tool], { store });
    const outcome = await executor.execute(call(tool), RUN);
    expect(outcome).toMatchObject({ status: "completed", attempts: 2, note: expect.stringContaining('{"n":7}') });
    expect(ran.map(({ input }) => input)).toEqual([{ n: 7 }]);
  });

  it("that a person had approved does not run what its program has become while it waits for its turn", async () => {
    const store = memoryStore();
    const options = { effect: "idempotent", needsApproval: true } as const;
    await died(store, options);
    const first = Promise.withResolvers<void>();
    const before = counted({ name: "first", sequential: true, execute: () => first.promise });
    const { tool, ran } = counted(options);
    let program: string | undefined;
    const { executor } = setupWithApprovals([before.tool, tool], { store, executableDigest: () => program });
    const outcomes = executor.executeAll([useOf(before.tool), call(tool)], RUN);
    await until(() => before.ran.length > 0);
    await sleep(20);
    program = "sha256:swapped";
    first.resolve();
    expect((await outcomes).map(({ status }) => status)).toEqual(["completed", "unknown"]);
    expect(ran).toHaveLength(0);
  });

  it("that a person had approved runs what its tool is when its turn comes, and nothing if there is none", async () => {
    const options = { effect: "idempotent", needsApproval: true } as const;
    for (const [isThere, end] of [
      [true, "completed"],
      [false, "unknown"],
    ] as const) {
      const store = memoryStore();
      await died(store, options);
      const first = Promise.withResolvers<void>();
      const before = counted({ name: "first", sequential: true, execute: () => first.promise });
      const [old, now] = [counted(options), counted(options)];
      let tools = [before.tool, old.tool];
      const { executor } = setupWithApprovals({ tools: () => tools }, { store });
      const outcomes = executor.executeAll([useOf(before.tool), call(old.tool)], RUN);
      await until(() => before.ran.length > 0);
      await sleep(20);
      tools = isThere ? [before.tool, now.tool] : [before.tool];
      first.resolve();
      expect((await outcomes).map(({ status }) => status)).toEqual(["completed", end]);
      expect([old.ran.length, now.ran.length]).toEqual([0, isThere ? 1 : 0]);
    }
  });

  it("whose tool can say its outcome no more when its turn comes is not begun again", async () => {
    const store = memoryStore();
    await died(store, { effect: "write", needsApproval: true });
    const first = Promise.withResolvers<void>();
    const before = counted({ name: "first", sequential: true, execute: () => first.promise });
    const { tool, ran } = counted({ needsApproval: true });
    let tools: Tool[] = [before.tool, { ...tool, recalls: true }];
    const { executor } = setupWithApprovals({ tools: () => tools }, { store });
    const outcomes = executor.executeAll([useOf(before.tool), call(tool)], RUN);
    await until(() => before.ran.length > 0);
    await sleep(20);
    tools = [before.tool, tool];
    first.resolve();
    expect((await outcomes).map(({ status }) => status)).toEqual(["completed", "unknown"]);
    expect(ran).toHaveLength(0);
  });

  it.each([
    ["its input fits no more", { inputSchema: z.object({ text: z.string() }) }, {}, { n: 1 }],
    ["it has other arguments than were approved", {}, { needsApproval: true }, { n: 2 }],
  ])("is not run again where %s", async (_, change, options, input) => {
    const store = memoryStore();
    await died(store, { effect: "read", ...options });

    const { tool, ran } = counted({ effect: "read", ...options, ...change });
    const { executor } = setupWithApprovals([tool], { store });
    const again = counted(options).tool.use(input, { id: "call_1", invocationId: "a" });
    expect(await executor.execute(again, { ...RUN, uniqueIds: true })).toMatchObject({ status: "unknown" });
    expect(ran).toHaveLength(0);
  });

  it("is run again with what the model said this time, where nobody had to approve it", async () => {
    const { tool, ran } = counted({ effect: "read" });
    const store = memoryStore();
    await died(store, { effect: "read" });
    const { executor } = setup([tool], { store });
    const again = tool.use({ n: 2 }, { id: "call_1", invocationId: "a" });
    expect(await executor.execute(again, { ...RUN, uniqueIds: true })).toMatchObject({ status: "completed" });
    expect(ran.map(({ input }) => input)).toEqual([{ n: 2 }]);
    const { digest } = (await store.get<any>("action/run/a"))!.value;
    expect(digest).toBe(await digestOf({ tool: "act", input: { n: 2 } }));
  });

  it.each([
    ["its approval is gone: that it is unknown is on record", undefined, "unknown"],
    ["its approval cannot be read now: that is found out another time", down(), "started"],
  ])("that a person had approved is not run again where %s", async (_, failure, status) => {
    const store = memoryStore();
    const options = { effect: "idempotent", needsApproval: true } as const;
    await died(store, options);
    const { approvalId } = (await store.get<any>("action/run/a"))!.value;
    if (failure === undefined) await store.delete(`approval/id/${approvalId}`);

    const { tool, ran } = counted(options);
    const { executor } = setupWithApprovals([tool], {
      store: failing(store, (_verb, key) => (key.startsWith("approval/") ? failure : undefined)),
    });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "unknown" });
    expect((await store.get<any>("action/run/a"))!.value.status).toBe(status);
    expect(ran).toHaveLength(0);
  });

  it("is run again by one of two that take it over: the other one has that one's outcome", async () => {
    const inner = memoryStore();
    await died(inner, { effect: "idempotent" });
    const { tool, ran } = counted({ effect: "idempotent" });
    let isFirst = true;
    const store: Store = {
      ...inner,
      put: async (key, value, options) => {
        if ((value as { status?: string }).status === "started" && isFirst) {
          isFirst = false;
          const { lease: _, ...row } = value as any;
          await inner.put(key, { ...row, status: "done", output: "theirs", endedAt: Date.now() });
        }
        return inner.put(key, value, options);
      },
    };
    const { executor } = setup([tool], { store, storeEvents: false });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", output: "theirs" });
    expect(ran).toHaveLength(0);
  });

  it("is on record as unknown where its tool is gone, though it could be run again", async () => {
    const store = memoryStore();
    await died(store, { effect: "read" });
    const { tool } = counted({ effect: "read" });
    const { executor } = setup([], { store });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "unknown", recorded: true });
  });

  it("is not run again if it was a write when it was begun, whatever it says now", async () => {
    const { tool, ran } = counted({ effect: "read" });
    const store = memoryStore();
    await died(store, { effect: "write" });
    expect(await setup([tool], { store }).executor.execute(call(tool), RUN)).toMatchObject({ status: "unknown" });
    expect(ran).toHaveLength(0);
  });
});

describe("two processes and one call", () => {
  it("the body runs once; the other one gets the outcome", async () => {
    const { tool, ran } = counted({ execute: () => sleep(5).then(() => "done") });
    const store = memoryStore();
    const executors = Array.from({ length: 10 }, () => setup([tool], { store }).executor);
    for (let round = 0; round < 20; round++) {
      const use = () => useOf(tool, { n: round }, { id: "c", invocationId: `inv-${round}` });
      const outcomes = await Promise.all(executors.map((one) => one.execute(use(), RUN)));
      expect(outcomes.every((outcome) => outcome.status === "completed" && outcome.output === "done")).toBe(true);
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
    }
    expect(ran).toHaveLength(20);
    const log = await executors[0]!.events("run");
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
    for (const type of ["tool.invoked", "tool.started", "tool.completed"]) {
      expect(log.filter((event) => event.type === type)).toHaveLength(20);
    }
  });

  it.each([
    ["denies", "deny", false],
    ["asks about", "ask", false],
    ["is told to give up", "allow", true],
  ] as const)("one that %s what the other one has just executed has that outcome", async (_, verdict, leaves) => {
    const { tool, ran } = counted();
    const store = memoryStore();
    const other = setup([tool], { store });
    const leave = new AbortController();
    const authorize = async () => {
      await other.executor.execute(call(tool), RUN);
      if (leaves) leave.abort();
      return { decision: verdict, reason: "no", message: "?" } as const;
    };
    const { executor, events } = setupWithApprovals([tool], { store, authorize });
    expect(await executor.execute(call(tool), { ...RUN, signal: leave.signal })).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(1);
    expect(events.filter(({ type }) => type === "tool.denied" || type === "approval.requested")).toEqual([]);
  });

  it("a handler that takes longer than the lease keeps it", async () => {
    const { tool, ran } = counted({ execute: () => sleep(150).then(() => "done") });
    const store = memoryStore();
    const slow = setup([tool], { store, leaseMs: 40 });
    const other = setup([tool], { store, leaseMs: 40 });
    const running = slow.executor.execute(call(tool), RUN);
    await until(() => ran.length === 1);
    expect(await other.executor.execute(call(tool), RUN)).toMatchObject({
      status: "completed",
      output: "done",
      replayed: true,
    });
    expect(await running).toMatchObject({ status: "completed", replayed: false });
    expect(ran).toHaveLength(1);
  });

  it("nothing is written any more when a call has ended, and when it is undone", async () => {
    const { tool } = counted({ undo: () => {} });
    const { executor, store } = setup([tool], { leaseMs: 30 });
    const { actionId } = await executor.execute(useOf(tool), RUN);
    for (const isUndone of [false, true]) {
      if (isUndone) await executor.undo(actionId);
      const before = await store.list("");
      await sleep(60);
      expect(await store.list("")).toEqual(before);
    }
  });

  it("one that slept past its lease cannot write: what the other one said counts", async () => {
    let go!: () => void;
    const { tool, ran } = counted({ execute: () => new Promise<string>((resolve) => (go = () => resolve("late"))) });
    const store = memoryStore();
    let isAsleep = false;
    const sleeper = setup([tool], { store: failing(store, () => (isAsleep ? down() : undefined)), leaseMs: 30 });
    const use = call(tool);
    const running = sleeper.executor.execute(use, RUN);
    await until(() => ran.length === 1);
    isAsleep = true;
    const other = setup([tool], { store });
    expect(await other.executor.execute(call(tool), RUN)).toMatchObject({ status: "unknown" });
    const version = (await store.get("action/run/a"))!.version;
    isAsleep = false;
    go();
    expect(await running).toMatchObject({ status: "unknown", replayed: true });
    expect(use.error).toMatchObject({ code: "outcome_unknown" });
    expect((await store.get("action/run/a"))!.version).toBe(version);
    expect(sleeper.events.at(-1)).toMatchObject({ type: "tool.late", result: "completed" });
  });

  it("one whose lease is lost while the handler runs is told so by its signal", async () => {
    let signal: AbortSignal | undefined;
    const { tool } = counted({ execute: (_: unknown, context: any) => new Promise(() => (signal = context.signal)) });
    const store = memoryStore();
    const { executor } = setup([tool], { store, leaseMs: 30 });
    const running = executor.execute(call(tool), RUN);
    await until(() => signal);
    const { lease: _, ...row } = (await store.get<any>("action/run/a"))!.value;
    await store.put("action/run/a", { ...row, status: "unknown", error: { code: "outcome_unknown", message: "?" } });
    expect(await running).toMatchObject({ status: "unknown" });
    expect(signal!.aborted).toBe(true);
  });

  it("the signal of a handler that has ended does not fire, though its lease turns out to be lost", async () => {
    let signal: AbortSignal | undefined;
    let beats = 0;
    const inner = memoryStore();
    const store: Store = {
      ...inner,
      put: async (key, value, options) => {
        if (key === "action/run/a" && signal !== undefined && beats++ === 0) {
          await sleep(10);
          const { lease: _, ...row } = value as any;
          await inner.put(key, { ...row, status: "unknown", error: { code: "outcome_unknown", message: "?" } });
        }
        return inner.put(key, value, options);
      },
    };
    const { tool } = counted({
      execute: async (_: unknown, context: any) => {
        ({ signal } = context);
        await until(() => beats > 0);
      },
    });
    expect(await setup([tool], { store, leaseMs: 30 }).executor.execute(call(tool), RUN)).toMatchObject({
      status: "unknown",
      replayed: true,
    });
    expect(signal!.aborted).toBe(false);
  });

  it("an end between the look at the record and the watch over it is not missed", async () => {
    const store = memoryStore();
    const { tool } = counted({ execute: () => new Promise(() => {}) });
    const { executor } = setup([tool], { store });
    void executor.execute(call(tool), RUN);
    await until(async () => (await store.get("action/run/a")) !== undefined);
    const subscribe: Store["subscribe"] = async (prefix, listener) => {
      const { lease: _, ...row } = (await store.get<any>("action/run/a"))!.value;
      await store.put("action/run/a", { ...row, status: "done", output: 7, endedAt: Date.now() });
      // Those who are told are told a little later: before anybody listens.
      await sleep(1);
      return store.subscribe(prefix, listener);
    };
    const other = setup([tool], { store: { ...store, subscribe } });
    expect(await other.executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", output: 7 });
  });

  it("what waits for another one holds up none of its turn", async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const [slow, quick] = [counted({ execute: () => held }), counted({ name: "quick" })];
    const tools = [slow.tool, quick.tool];
    const { executor: other, store } = setup(tools);
    const first = other.execute(call(slow.tool), RUN);
    await until(() => slow.ran.length === 1);
    const { executor } = setup(tools, { store, concurrency: 1 });
    const turn = executor.executeAll([call(slow.tool), useOf(quick.tool)], RUN);
    await until(() => quick.ran.length === 1);
    release();
    await first;
    expect((await turn).map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(slow.ran).toHaveLength(1);
  });

  it.each<[string, () => object]>([
    ["ends with the caller's signal", () => ({ signal: AbortSignal.timeout(10) })],
    ["is not for who gives the call up", () => ({ abandon: true })],
  ])("waiting for another one %s", async (_, context) => {
    const { tool } = counted({ execute: () => new Promise(() => {}) });
    const store = memoryStore();
    void setup([tool], { store }).executor.execute(call(tool), RUN);
    await until(async () => (await store.get("action/run/a")) !== undefined);
    const { executor } = setup([tool], { store });
    expect(await executor.execute(call(tool), { ...RUN, ...context() })).toMatchObject({
      status: "unknown",
      error: { message: expect.stringContaining("Another process executes it") },
    });
    expect(await executor.action("run/a")).toMatchObject({ status: "started" });
  });

  it.each([
    ["fails", () => Promise.reject(down())],
    ["does not answer", () => new Promise<undefined>(() => {})],
  ])("and so it does while the store %s", async (_, answer) => {
    const { tool } = counted({ execute: () => new Promise(() => {}) });
    const store = memoryStore();
    void setup([tool], { store }).executor.execute(call(tool), RUN);
    await until(async () => (await store.get("action/run/a")) !== undefined);
    const stop = new AbortController();
    const { executor } = setup([tool], {
      store: failing(store, () => (stop.signal.aborted ? answer() : undefined)),
    });
    const waiting = executor.execute(call(tool), { ...RUN, signal: stop.signal });
    await sleep(20);
    stop.abort();
    expect(await waiting).toMatchObject({ status: "unknown", error: { cause: stop.signal.reason } });
  });
});

describe("a store that fails", () => {
  it("when it is read: nothing runs, and nobody says that it is safe to try again (everruns PR 2097)", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool], {
      store: failing(memoryStore(), (verb) => (verb === "get" ? down() : undefined)),
    });
    const use = call(tool);
    expect(await executor.execute(use, RUN)).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    expect(use.error!.message).toMatch(/not known whether it was executed before. Do not call it again/);
    expect(ran).toHaveLength(0);
  });

  it.each([
    ["read", "get", "unknown"],
    ["written", "put", "failed"],
  ] as const)(
    "for a moment when it is %s: the call, executed again, has the outcome it was told",
    async (_, verb, status) => {
      const { tool, ran } = counted();
      let isDown = true;
      const store = failing(memoryStore(), (one, key) =>
        isDown && one === verb && key.startsWith("action/") ? down() : undefined,
      );
      const { executor } = setup([tool], { store });
      const use = call(tool);
      const { error } = (await executor.execute(use, RUN)) as { error?: unknown };
      isDown = false;
      expect(await executor.execute(use, RUN)).toMatchObject({ status, replayed: true, error });
      await expect(executor.execute(use, { runId: "another" })).rejects.toThrow("has no record of it");
      expect(ran).toHaveLength(0);
    },
  );

  it("while another process executes it: nobody says that it was not executed", async () => {
    const { tool, ran } = counted({ execute: () => new Promise(() => {}) });
    const store = memoryStore();
    void setup([tool], { store }).executor.execute(call(tool), RUN);
    await until(() => ran.length === 1);
    const deaf: Store = { ...store, subscribe: () => Promise.reject(down()) };
    expect(await setup([tool], { store: deaf }).executor.execute(call(tool), RUN)).toMatchObject({
      status: "unknown",
      error: { code: "outcome_unknown" },
    });
  });

  it("when another process was faster, and is at it: nobody says that it was not executed", async () => {
    const { tool, ran } = counted();
    const inner = memoryStore();
    let isDown = false;
    const store: Store = {
      ...failing(inner, (verb, key) => (isDown && verb === "get" && key.startsWith("action/") ? down() : undefined)),
      put: async (key, value, options) => {
        if ((value as { status?: string }).status === "started" && !isDown) {
          await inner.put(key, { ...(value as object), lease: { owner: "other", until: Date.now() + 60_000 } });
          isDown = true;
        }
        return inner.put(key, value, options);
      },
    };
    const { executor } = setup([tool], { store, storeEvents: false });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({
      status: "unknown",
      error: { code: "outcome_unknown" },
    });
    expect(ran).toHaveLength(0);
  });

  it.each([
    ["when it was about to begin it", "action/"],
    ["when it was looked up whether the call is one again", "action-call/"],
    ["when somebody was to be asked", "approval/"],
  ])("%s, and another process has begun it since: nobody says that it was not executed", async (_, prefix) => {
    const { tool, ran } = counted({ needsApproval: prefix === "approval/", execute: () => new Promise(() => {}) });
    const inner = memoryStore();
    const other = setupWithApprovals([tool], { store: inner });
    const begin = () => {
      void other.executor.execute(call(tool), RUN);
      return until(async () => {
        for (const { id } of await other.approvals.list({ status: "pending" })) {
          await other.approvals.decide(id, { decision: "approve" });
        }
        return ran.length === 1;
      });
    };
    const store = failing(inner, async (verb, key) => {
      if (verb === "get" || !key.startsWith(prefix)) return undefined;
      if (ran.length === 0) await begin();
      return down();
    });
    const { executor } = setupWithApprovals([tool], { store, storeEvents: false });
    const outcome = await executor.execute(call(tool), { ...RUN, signal: AbortSignal.timeout(100) });
    expect(outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    expect(ran).toHaveLength(1);
  });

  it("when it was not begun here, and cannot be looked at again: another process may have begun it", async () => {
    const { tool, ran } = counted();
    const inner = memoryStore();
    let isDown = false;
    const store = failing(inner, async (verb, key) => {
      if (verb === "put" && key.startsWith("action/") && !isDown) {
        isDown = true;
        await setup([tool], { store: inner }).executor.execute(call(tool), RUN);
      }
      return isDown ? down() : undefined;
    });
    const outcome = await setup([tool], { store, storeEvents: false }).executor.execute(call(tool), RUN);
    expect(outcome).toMatchObject({ status: "unknown", attempts: 0, recorded: false });
    expect(errorOf(outcome).message).toMatch(/not known whether it was executed before. Do not call it again/);
    expect(ran).toHaveLength(1);
  });

  it("when somebody is to be asked: a call that was told not to be executed is not, when it is approved", async () => {
    const { tool, ran } = counted({ needsApproval: true });
    let isDown = false;
    const store = failing(memoryStore(), (_, key) => (isDown && key.startsWith("approval/") ? down() : undefined));
    const { executor, approvals } = setupWithApprovals([tool], { store, waitForApproval: false });
    await executor.execute(call(tool), RUN);
    isDown = true;
    const use = call(tool);
    const told = { status: "failed", error: { code: "store_failed" } };
    expect(await executor.execute(use, RUN)).toMatchObject({ ...told, replayed: false });
    isDown = false;
    await approvals.decide((await approvals.list())[0]!.id, { decision: "approve" });
    expect(await executor.execute(use, RUN)).toMatchObject({ ...told, replayed: true });
    expect(ran).toHaveLength(0);
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed" });
  });

  it("when actions are looked up: nobody says that there are none", async () => {
    const { tool } = counted();
    const store = memoryStore();
    await setup([tool], { store }).executor.execute(call(tool), RUN);
    const { executor } = setup([tool], { store: failing(store, (verb) => (verb === "get" ? down() : undefined)) });
    await expect(executor.actions("run", { invocationIds: ["a"] })).rejects.toMatchObject({ code: "store_failed" });
  });

  it("before the start is recorded: nothing runs", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool], {
      store: failing(memoryStore(), (verb, key) => (verb === "put" && key.startsWith("action/") ? down() : undefined)),
    });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({
      status: "failed",
      error: { code: "store_failed", message: expect.stringContaining("act was not executed") },
    });
    expect(ran).toHaveLength(0);
  });

  it("for a moment after the handler: the result is recorded at the next try", async () => {
    const { tool, ran } = counted();
    let failures = 2;
    const store = memoryStore();
    const { executor } = setup([tool], {
      store: failing(store, (verb, key) =>
        ran.length > 0 && verb === "put" && key.startsWith("action/") && failures-- > 0 ? down() : undefined,
      ),
    });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", recorded: true });
    expect((await store.get<any>("action/run/a"))!.value.status).toBe("done");
  });

  it("while the handler runs, having written: no other process has taken over, and the result is recorded", async () => {
    const inner = unorderedStore();
    let isSilent = false;
    const answer = <T>(done: T): T => {
      if (isSilent) throw down();
      return done;
    };
    const store: Store = {
      ...inner,
      put: async (...args) => answer(await inner.put(...args)),
      get: async (...args) => answer(await inner.get(...args)) as never,
    };
    const { tool, ran } = counted({
      execute: async () => {
        isSilent = true;
        await sleep(800);
        isSilent = false;
        return 7;
      },
    });
    const { executor } = setup([tool], { store, storeEvents: false, leaseMs: 600 });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", output: 7, recorded: true });
    expect((await inner.get<any>("action/run/a"))!.value).toMatchObject({ status: "done", output: 7 });
    expect(ran[0]!.context.signal.aborted).toBe(false);
  });

  it("slowly, while the handler runs: its end waits for one beat, not for all that were due meanwhile", async () => {
    const inner = memoryStore();
    let puts = 0;
    const store: Store = {
      ...inner,
      put: async (...args) => {
        if (ran.length === 0) return inner.put(...args);
        puts++;
        await sleep(50);
        throw down();
      },
    };
    let beats = 0;
    const { tool, ran } = counted({ execute: () => sleep(300).then(() => void (beats = puts)) });
    const { executor } = setup([tool], { store, storeEvents: false, leaseMs: 30 });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", recorded: false });
    // The beat that was on its way, and three tries to record the end.
    expect(puts - beats).toBeLessThanOrEqual(4);
    const before = puts;
    await sleep(100);
    expect(puts).toBe(before);
  });

  it("for an end that it has done: who asks meanwhile, and does not wait, has a use with the result", async () => {
    const inner = memoryStore();
    const [written, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isFirst = true;
    const store: Store = {
      ...inner,
      put: async (...args) => {
        const entry = await inner.put(...args);
        if ((args[1] as { status?: string }).status !== "done" || !isFirst) return entry;
        isFirst = false;
        written.resolve();
        await answered.promise;
        throw down();
      },
    };
    const { tool, ran } = counted();
    const { executor } = setup([tool], { store, storeEvents: false });
    const use = call(tool);
    const first = executor.execute(use, RUN);
    await written.promise;
    const second = await executor.execute(use, { ...RUN, signal: AbortSignal.abort() });
    expect([second.status, second.use.state, use.state]).toEqual(["completed", "done", "running"]);
    expect(second.use.result).toEqual({ ok: true, input: { n: 1 } });
    answered.resolve();
    expect(await first).toMatchObject({ status: "completed", use });
    expect(ran).toHaveLength(1);
  });

  it("is not what two writes at once do to each other: they are one after the other", async () => {
    const { tool } = counted();
    const { executor, store } = setup([tool], { storeEvents: false });
    await executor.execute(call(tool), RUN);
    const held = new Ledger(store).hold((await store.get<any>("action/run/a"))!);
    const more = () => held.write((row) => ({ ...row, attempts: row.attempts + 1 }));
    await Promise.all([more(), more(), more()]);
    expect((await store.get<any>("action/run/a"))!.value.attempts).toBe(4);
  });

  it("for a write that it has done: the next one goes on top of that, and is not taken for it", async () => {
    const { tool } = counted();
    const inner = unorderedStore();
    await setup([tool], { store: inner, storeEvents: false }).executor.execute(call(tool), RUN);
    let isSilent = true;
    const store: Store = {
      ...inner,
      put: async (...args) => {
        const entry = await inner.put(...args);
        if (isSilent) throw down();
        return entry;
      },
      get: async (key) => {
        if (isSilent) throw down();
        return inner.get(key);
      },
    };
    const ledger = new Ledger(store);
    const held = ledger.hold((await inner.get<any>("action/run/a"))!);
    await expect(held.write((row) => ({ ...row, attempts: 2, marks: [] }))).rejects.toMatchObject({
      code: "store_failed",
    });
    isSilent = false;
    await held.write((row) => ({ ...row, attempts: 3 }));
    expect((await ledger.get("run/a"))!.value.attempts).toBe(3);
  });

  it("for good after the handler: the result is told, and that it is not recorded", async () => {
    const { tool, ran } = counted();
    const { executor } = setup([tool], {
      store: failing(memoryStore(), (verb) => (ran.length > 0 && verb === "put" ? down() : undefined)),
    });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({
      status: "completed",
      output: { ok: true, input: { n: 1 } },
      recorded: false,
    });
  });

  it.each([
    ["reads", "get", false],
    ["writes", "put", false],
    ["writes, and has done it", "put", true],
  ])("for a moment, when it %s what is told: each event is told, once", async (_, verb, isDone) => {
    const { tool, ran } = counted({ undo: () => {} });
    const inner = unorderedStore();
    /** What has failed once. */
    const failed = new Set<string>();
    const fail = (key: string, isNow: boolean) => {
      if (!isNow || !key.startsWith("event/") || failed.has(key)) return;
      failed.add(key);
      throw down();
    };
    const store: Store = {
      ...inner,
      get: async (key) => {
        fail(key, verb === "get");
        return inner.get(key);
      },
      put: async (key, value, options) => {
        fail(key, verb === "put" && !isDone);
        const entry = await inner.put(key, value, options);
        fail(key, verb === "put");
        return entry;
      },
    };
    const { executor, types, events } = setup([tool], { store });
    const { actionId } = await executor.execute(call(tool), RUN);
    await executor.undo(actionId);
    expect(types()).toEqual(["tool.invoked", "tool.started", "tool.completed", "tool.undone"]);
    expect(await executor.events("run")).toEqual(events);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(failed.size).toBeGreaterThan(0);
    expect(ran).toHaveLength(1);
  });

  it("for events only: the outcome does not depend on them", async () => {
    const { tool } = counted();
    const { executor, events } = setup([tool], {
      store: failing(memoryStore(), (verb, key) => (verb === "put" && key.startsWith("event/") ? down() : undefined)),
    });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed" });
    expect(events).toEqual([]);
  });
});

describe("a record that was edited by hand", () => {
  it.each<[string, (row: any) => unknown]>([
    ["a newer version", (row) => ({ ...row, version: 2 })],
    ["no version", ({ version: _, ...row }) => row],
    ["a status that is none", (row) => ({ ...row, status: "approved" })],
    ["no digest", ({ digest: _, ...row }) => row],
    ["a text for a number", (row) => ({ ...row, attempts: "many" })],
    ["another run's ids", (row) => ({ ...row, runId: "other" })],
    ["a start without a lease", ({ lease: _, ...row }) => ({ ...row, status: "started" })],
    ["an end without a reason", ({ output: _, ...row }) => ({ ...row, status: "failed" })],
    ["a list", () => Array.from({ length: 100_000 }, () => 0)],
    ["nothing", () => null],
    ["__proto__", (row) => JSON.parse(`{"__proto__":${JSON.stringify(row)}}`)],
  ])("with %s runs nothing", async (_, edit) => {
    const { tool, ran } = counted();
    const { executor, store } = setup([tool]);
    await executor.execute(call(tool), RUN);
    await store.put("action/run/a", edit((await store.get<any>("action/run/a"))!.value));
    const outcome = await executor.execute(call(tool), RUN);
    expect(outcome).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    expect(await executor.undo("run/a")).toMatchObject({ status: "refused" });
    expect(ran).toHaveLength(1);
  });

  it.each([
    ["a newer version", 2, "was written by a newer version of this library (2)"],
    ["no version", undefined, "is damaged"],
    ["a version of no form", "2", "is damaged"],
  ])("with %s says so", async (_, version, what) => {
    const { tool } = counted();
    const { executor, store } = setup([tool]);
    await executor.execute(call(tool), RUN);
    await store.put("action/run/a", { ...(await store.get<any>("action/run/a"))!.value, version });
    const message = expect.stringContaining(`The record of this action ${what}`);
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ error: { message } });
  });

  it("holds no secret of the context", async () => {
    const { tool } = counted();
    const { executor, store } = setup([tool]);
    const principal = { id: "anna", token: "s3cret" };
    await executor.execute(call(tool), { ...RUN, principal, apiKey: "s3cret" });
    const all = await store.list("");
    expect(all.length).toBeGreaterThan(3);
    expect(JSON.stringify(all)).not.toContain("s3cret");
  });
});

describe("a record of version 1", () => {
  // As version 0.1 wrote them. They are never changed: what follows has to read them.
  const base = {
    version: 1,
    runId: "run",
    invocationId: "a",
    requestId: null,
    toolName: "act",
    toolCallId: "call_1",
    principal: "anna",
    effect: "write",
    digest: "sha256:c1a37a8f5c7e5ec0e8a2dbfe41fb2ee5b1ac1d0ed7cb8bca4a9b0c0b4b1c6b5e",
    attempts: 1,
    createdAt: 1795317791742,
    startedAt: 1795317791742,
  };
  const ended = { ...base, endedAt: 1795317791759 };

  it.each<[string, object, object]>([
    [
      "done",
      { ...ended, status: "done", output: { ok: true } },
      { status: "completed", output: { ok: true }, undone: false },
    ],
    [
      "done and undone",
      {
        ...ended,
        status: "done",
        output: 1,
        undo: { state: "undone", expiresAt: 1795321391759, at: 1795317792000, by: "anna" },
      },
      { status: "completed", undone: true },
    ],
    [
      "failed",
      { ...ended, status: "failed", error: { code: "timeout", message: "m" } },
      { status: "failed", error: { code: "timeout", message: "m" } },
    ],
    [
      "denied",
      {
        ...ended,
        status: "denied",
        error: { code: "denied", message: "m" },
        reason: "approval_denied",
        decidedBy: "boss",
      },
      { status: "denied", reason: "approval_denied" },
    ],
    ["started", { ...base, status: "started", lease: { owner: "x", until: 1795317821742 } }, { status: "unknown" }],
  ])("%s is read", async (_, row, expected) => {
    const { tool, ran } = counted();
    const { executor, store } = setup([tool]);
    // The digest is that of this library now: the record is bound to the input.
    await executor.execute(call(tool), { runId: "probe" });
    const { digest } = (await store.get<any>("action/probe/a"))!.value;
    const lease = "lease" in row ? { lease: { owner: "x", until: Date.now() - 1 } } : {};
    await store.put("action/run/a", { ...row, digest, ...lease });
    expect(await executor.execute(call(tool), RUN)).toMatchObject(expected);
    expect(ran).toHaveLength(1);
  });
});

describe("a record whose undo nobody can have written", () => {
  it.each<[string, unknown]>([
    ["null", null],
    ["a state that is none", { state: "maybe", expiresAt: 1 }],
    ["no time", { state: "available" }],
    ["a time that is no date", { state: "expired", expiresAt: 1e300 }],
    ["nobody at it", { state: "undoing", expiresAt: 1 }],
  ])("%s: nothing is undone, and the others of its run are listed", async (_, undo) => {
    const undone: unknown[] = [];
    const { tool } = counted({ undo: (record) => void undone.push(record) });
    const { executor, store } = setup([tool]);
    const { actionId } = await executor.execute(call(tool), RUN);
    await executor.execute(useOf(tool), RUN);
    const { value } = (await store.get<object>(`action/${actionId}`))!;
    await store.put(`action/${actionId}`, { ...value, undo });
    expect(await executor.undo(actionId)).toMatchObject({ status: "refused", error: { code: "outcome_unknown" } });
    expect(undone).toEqual([]);
    expect(await executor.actions("run")).toHaveLength(1);
    expect((await executor.undoRun("run")).undone).toHaveLength(1);
  });
});

describe("forget()", () => {
  it("deletes its approvals, too: a call that ran with one asks again", async () => {
    const { tool, ran } = counted({ needsApproval: true });
    const { executor, approvals } = setupWithApprovals([tool], { waitForApproval: false });
    const { approval } = await executor.execute(call(tool), RUN);
    await approvals.decide(approval!.id, { decision: "approve" });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed" });
    await executor.forget("run");
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "awaiting_approval" });
    expect(ran).toHaveLength(1);
  });

  it("deletes what is on record of one run", async () => {
    const { tool } = counted({ maxCallsPerRun: 5 });
    const { executor, store } = setup([tool]);
    await executor.execute(call(tool), RUN);
    await executor.execute(call(tool), { runId: "run_2" });
    await executor.forget("run");
    const keys = (await store.list("")).map(({ key }) => key);
    expect(keys.length).toBeGreaterThan(3);
    expect(keys.every((key) => key.includes("/run_2/"))).toBe(true);
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "completed", replayed: false });
    expect((await executor.events("run")).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("leaves no event behind that was being written as the actions were deleted", async () => {
    const { tool } = counted();
    const inner = memoryStore();
    const [writing, deleting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const put: Store["put"] = async (...args) => {
      if ((args[1] as { type?: string }).type === "tool.completed") {
        writing.resolve();
        await deleting.promise;
      }
      return inner.put(...args);
    };
    const list: Store["list"] = (...args) => {
      if (args[0].startsWith("action-call/")) deleting.resolve();
      return inner.list(...args);
    };
    const { executor } = setup([tool], { store: { ...inner, put, list } });
    const running = executor.execute(call(tool), RUN);
    await writing.promise;
    await executor.forget("run");
    await running;
    expect(await inner.list("")).toEqual([]);
  });

  it("by another process leaves nothing behind here: the numbers begin anew, and so does what has succeeded", async () => {
    const read = counted({ name: "read", effect: "read" }).tool;
    const edit = counted({ name: "edit", requires: "read" }).tool;
    const store = memoryStore();
    const [here, there] = [setup([read, edit], { store }), setup([read, edit], { store })];
    await here.executor.execute(call(read), RUN);
    await there.executor.forget("run");
    here.events.length = 0;
    await here.executor.execute(call(read), RUN);
    expect(await there.executor.execute(useOf(edit), RUN)).toMatchObject({ status: "completed" });
    expect(here.events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, "tool.invoked"],
      [2, "tool.started"],
      [3, "tool.completed"],
    ]);
    expect((await here.executor.events("run")).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("by another process is seen here, also where the run has come as far again", async () => {
    const { tool } = counted();
    const store = memoryStore();
    const [here, there] = [setup([tool], { store }), setup([tool], { store })];
    for (let time = 0; time < 2; time++) await here.executor.execute(call(tool), RUN);
    await there.executor.forget("run");
    await there.executor.execute(useOf(tool, {}, { invocationId: "b" }), RUN);
    await here.executor.execute(call(tool), RUN);
    const told = (await here.executor.events("run")).map(({ seq, type, invocationId }) => [seq, type, invocationId]);
    expect(told.slice(3)).toEqual([
      [4, "tool.invoked", "a"],
      [5, "tool.started", "a"],
      [6, "tool.completed", "a"],
    ]);
  });

  it.each([
    ["that runs here", true],
    ["that another process runs", false],
  ])("of a call %s does not run it again", async (_, isHere) => {
    let end!: () => void;
    const { tool, ran } = counted({ execute: () => new Promise<void>((resolve) => (end = resolve)) });
    const store = memoryStore();
    const [first, second] = [setup([tool], { store }).executor, setup([tool], { store }).executor];
    const running = first.execute(call(tool), RUN);
    await until(() => ran.length === 1);
    const other = second.execute(call(tool), RUN);
    await sleep(10);
    await second.forget("run");
    const waiting = isHere ? running : other;
    if (isHere) end();
    expect(await waiting).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    end();
    await Promise.all([running, other]);
    expect(ran).toHaveLength(1);
  });
});

describe("forget() while an approved call waits for its turn", () => {
  it("leaves no request that nobody waits for", async () => {
    let end!: () => void;
    const slow = counted({ name: "slow", sequential: true, execute: () => new Promise<void>((done) => (end = done)) });
    const { tool, ran } = counted({ needsApproval: true });
    const { executor, approvals } = setupWithApprovals([slow.tool, tool]);
    const { approval } = await executor.execute(call(tool), { ...RUN, waitForApproval: false });
    await approvals.decide(approval!.id, { decision: "approve" });
    const outcomes = executor.executeAll([useOf(slow.tool), call(tool)], RUN);
    await until(() => slow.ran.length === 1);
    await sleep(10);
    await executor.forget("run");
    end();
    expect((await outcomes)[1]).toMatchObject({ status: "unknown", error: { code: "outcome_unknown" } });
    expect(await approvals.list()).toEqual([]);
    expect(ran).toHaveLength(0);
  });
});

describe("forget() by another process, while a call waits for approval", () => {
  it("asks nobody again, and nobody says that it was not executed", async () => {
    const { tool, ran } = counted({ needsApproval: true });
    // Notifications get lost, so that all is deleted when the others look.
    let listening = 0;
    const store: Store = { ...memoryStore(), subscribe: async () => (listening++, async () => {}) };
    const [asks, finds, there] = [0, 1, 2].map(() => setupWithApprovals([tool], { store, service: { pollMs: 20 } }));
    const asking = asks!.executor.execute(call(tool), RUN);
    await until(() => asks!.events.length === 2);
    const finding = finds!.executor.execute(call(tool), RUN);
    // To the call and its approval, each of them.
    await until(() => listening === 4);
    await there!.executor.forget("run");
    for (const waiting of [asking, finding]) {
      expect(await Promise.race([waiting, sleep(5_000)])).toMatchObject({
        status: "unknown",
        error: { code: "outcome_unknown" },
      });
    }
    expect(await there!.approvals.list()).toEqual([]);
    expect(await there!.executor.actions("run")).toEqual([]);
    expect(ran).toHaveLength(0);
  });
});

describe("a use whose end the store did not take", () => {
  it.each(["read", "write"] as const)("has it when it is executed again, and is not run again: %s", async (effect) => {
    let isDown = false;
    const { tool, ran } = counted({ effect, execute: () => (isDown = true) });
    const store = failing(memoryStore(), (_, key) => (isDown && key.startsWith("action/") ? down() : undefined));
    const { executor } = setup([tool], { store, leaseMs: 20 });
    const use = call(tool);
    const own = { status: "completed", output: true, recorded: false };
    expect(await executor.execute(use, RUN)).toMatchObject({ ...own, replayed: false });
    expect(await executor.execute(use, RUN)).toMatchObject({ ...own, replayed: true });
    isDown = false;
    await sleep(30);
    expect(await executor.execute(use, RUN)).toMatchObject({ ...own, replayed: true, recorded: true });
    expect(ran).toHaveLength(1);
  });

  it.each<[string, () => unknown, object, object]>([
    ["returned", () => 7, { status: "completed", output: 7 }, { status: "done", output: 7 }],
    ["threw", () => Promise.reject(new Error("no")), { status: "failed" }, { status: "failed" }],
  ])(
    "is known to the executor when its handler %s: the call, made anew, puts it on record",
    async (_, end, told, row) => {
      let isDown = false;
      const execute = () => {
        isDown = true;
        return end();
      };
      const { tool, ran } = counted({ execute, undo: () => {} });
      const inner = memoryStore();
      const store = failing(inner, () => (isDown ? down() : undefined));
      const { executor } = setup([tool], { store, leaseMs: 20 });
      expect(await executor.execute(call(tool), RUN)).toMatchObject({ ...told, recorded: false, attempts: 1 });
      isDown = false;
      await sleep(30);
      expect(await executor.execute(call(tool), RUN)).toMatchObject({ ...told, recorded: true, replayed: true });
      expect(await setup([tool], { store }).executor.execute(call(tool), RUN)).toMatchObject({
        ...told,
        recorded: true,
      });
      expect((await inner.get<any>("action/run/a"))!.value).toMatchObject(row);
      expect((await executor.events("run")).map(({ type }) => type)).toEqual([
        "tool.invoked",
        "tool.started",
        expect.stringMatching(/^tool\.(completed|failed)$/),
      ]);
      expect(ran).toHaveLength(1);
    },
  );

  it("is not what came of a call that was begun anew since", async () => {
    let isDown = false;
    const { tool } = counted({ execute: () => (isDown = !isDown) });
    const inner = memoryStore();
    const { executor } = setup([tool], { store: failing(inner, () => (isDown ? down() : undefined)), leaseMs: 20 });
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ output: true, recorded: false });
    isDown = false;
    const other = setup([tool], { store: inner }).executor;
    await other.forget("run");
    await died(inner, {});
    expect(await executor.execute(call(tool), RUN)).toMatchObject({ status: "unknown", recorded: true });
  });
});

describe("forget() by another process, while a handler runs", () => {
  it.each([
    ["ends", () => 1],
    ["fails", () => Promise.reject(new Error("no"))],
    [
      "tells how far it is",
      async function* () {
        yield { percent: 90 };
        return 1;
      },
    ],
  ])("brings nothing of the run back when it %s", async (_, after) => {
    let end!: () => void;
    const { tool, ran } = counted({
      execute: async function* () {
        await new Promise<void>((resolve) => (end = resolve));
        const rest = await after();
        return typeof rest === "object" ? yield* rest : rest;
      },
    });
    const store = memoryStore();
    const [here, there] = [setup([tool], { store }), setup([tool], { store })];
    const running = here.executor.execute(call(tool), RUN);
    await until(() => ran.length === 1 && end !== undefined && here.events.length === 2);
    await there.executor.forget("run");
    end();
    expect(await running).toMatchObject({ status: "unknown" });
    expect(await store.list("")).toEqual([]);
    expect(here.types()).toEqual(["tool.invoked", "tool.started"]);
  });

  it("tells nothing late of it, also where the call was begun anew", async () => {
    const ends: (() => void)[] = [];
    const { tool } = counted({ execute: () => new Promise<void>((resolve) => void ends.push(resolve)) });
    const store = memoryStore();
    const [here, there] = [setup([tool], { store }), setup([tool], { store })];
    const aborted = new AbortController();
    const running = here.executor.execute(call(tool), { ...RUN, signal: aborted.signal });
    await until(() => ends.length === 1 && here.events.length === 2);
    await there.executor.forget("run");
    await sleep(2);
    const anew = there.executor.execute(call(tool), RUN);
    await until(() => ends.length === 2 && there.events.length === 2);
    ends[0]!();
    aborted.abort();
    await running;
    ends[1]!();
    await anew;
    expect((await there.executor.events("run")).map(({ seq, type }) => [seq, type])).toEqual([
      [1, "tool.invoked"],
      [2, "tool.started"],
      [3, "tool.completed"],
    ]);
  });
});

describe("actions()", () => {
  it("and action() say what is on record of one", async () => {
    const { tool } = counted();
    const { executor } = setup([tool]);
    const { actionId } = await executor.execute(call(tool), RUN);
    expect(await executor.action(actionId)).toEqual((await executor.actions("run"))[0]);
    expect(await executor.action("nowhere")).toBeUndefined();
  });

  it("of one turn are in its order", async () => {
    const { tool } = counted();
    // Of those that run at once, any may be ready first.
    const { executor } = setup([tool], { concurrency: 1 });
    const ids = [0, 1, 2, 10, 11].map((position) => `run-9-${position}`);
    await executor.executeAll(
      ids.map((invocationId) => useOf(tool, {}, { invocationId })),
      RUN,
    );
    expect((await executor.actions("run")).map(({ invocationId }) => invocationId)).toEqual(ids);
  });

  it("are in the order in which they started, though the clock was set back, or differs between processes", async () => {
    const over = Promise.withResolvers<void>();
    const tools = [
      counted({ name: "slow", execute: () => over.promise }).tool,
      counted().tool,
      counted({ name: "guarded", behaviors: ["other"] }).tool,
    ];
    const { executor, store } = setup(tools, { leaseMs: 30 });
    const other = new ToolExecutor({ tools, store });
    const now = Date.now();
    const clock = vi.spyOn(Date, "now");
    const names = () => executor.actions("run").then((actions) => actions.map(({ toolName }) => toolName));
    clock.mockReturnValue(now + 60_000);
    const slow = executor.execute(useOf(tools[0]!), RUN);
    await soon(async () => expect(await names()).toEqual(["slow"]));
    clock.mockReturnValue(now);
    await other.execute(useOf(tools[1]!), RUN);
    await executor.execute(useOf(tools[2]!), RUN);
    clock.mockRestore();
    // Its lease is extended meanwhile.
    await sleep(50);
    expect(await names()).toEqual(["slow", "act", "guarded"]);
    over.resolve();
    await slow;
    expect(await names()).toEqual(["slow", "act", "guarded"]);
  });

  it("keep their places while one is tried again", async () => {
    const over = Promise.withResolvers<void>();
    const again = Promise.withResolvers<void>();
    const flaky = counted({
      name: "flaky",
      effect: "read",
      retries: 1,
      execute: (_, { attempt }) => (attempt === 1 ? over.promise : again.promise),
    });
    const tools = [flaky.tool, counted().tool];
    const { executor } = setup(tools, { retryDelayMs: 0 });
    const names = async () => (await executor.actions("run")).map(({ toolName }) => toolName);
    const running = executor.execute(useOf(tools[0]!), RUN);
    await until(() => flaky.ran.length === 1);
    await executor.execute(useOf(tools[1]!), RUN);
    over.reject(new Error("not yet"));
    await until(() => flaky.ran.length === 2);
    expect(await names()).toEqual(["flaky", "act"]);
    again.resolve();
    await running;
    expect(await names()).toEqual(["flaky", "act"]);
  });

  it("can be asked for some of them alone", async () => {
    const { tool } = counted();
    const lists: string[] = [];
    const store = memoryStore();
    const list: Store["list"] = (prefix, options) => (lists.push(prefix), store.list(prefix, options));
    const { executor } = setup([tool], { store: { ...store, list } });
    for (const invocationId of ["a", "b", "c", "d"]) await executor.execute(tool.use({}, { invocationId }), RUN);
    await store.put("action/run/d", "damaged");
    const actions = await executor.actions("run", { invocationIds: ["c", "none", "a", "d"] });
    expect(actions.map(({ invocationId }) => invocationId).toSorted()).toEqual(["a", "c"]);
    expect(lists).toEqual([]);
  });

  it("lists what is on record, in the order in which it began", async () => {
    const { tool } = counted({ execute: ({ n }: any) => (n === 2 ? Promise.reject(new Error("no")) : n) });
    const { executor } = setup([tool]);
    for (const n of [1, 2]) {
      await executor.execute(useOf(tool, { n }, { id: null, invocationId: `inv-${9 - n}` }), {
        ...RUN,
        principal: { id: "anna" },
      });
      await sleep(2);
    }
    expect(await executor.actions("run")).toMatchObject([
      { actionId: "run/inv-8", status: "done", output: 1, principal: "anna", attempts: 1, undo: null },
      { actionId: "run/inv-7", status: "failed", error: { code: "execution_failed", message: "Tool act failed: no" } },
    ]);
  });
});
