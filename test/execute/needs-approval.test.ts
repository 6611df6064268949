/** Approval as the executor sees it, and what users of other toolkits complain about: each complaint names its source. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic, resultContent as anthropicContent } from "../../adapters/anthropic/index.ts";
import { cohere, resultContent as cohereContent } from "../../adapters/cohere/index.ts";
import { google, resultContent as googleContent } from "../../adapters/google/index.ts";
import { googleInteractions, resultContent as interactionsContent } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses, resultContent as responsesContent } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../../src/adapter.ts";
import { defineTool, ToolError, type Turn } from "../../src/index.ts";
import { allow, ask, deny } from "../../src/execute/index.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { counted, failing, RUN, setup, setupWithApprovals, sleep, until, useOf } from "./support.ts";

const PAUSE = { ...RUN, waitForApproval: false };
const APPROVE = { decision: "approve" } as const;
const DENY = { decision: "deny", reason: "too much" } as const;

const APPROVED_AND_RUN = [
  ["tool.invoked", 1],
  ["approval.requested", 2],
  ["approval.decided", 3],
  ["tool.started", 4],
  ["tool.completed", 5],
];

const refund = (change: object = {}) => counted({ name: "refund", needsApproval: true, ...change });

describe("a call that needs approval", () => {
  it("waits, runs once it is approved, and tells of it in order", async () => {
    const { tool, ran } = refund({ approvalMessage: ({ n }: any) => `Refund order ${n}?` });
    const { executor, approvals, events } = setupWithApprovals([tool]);
    const use = useOf(tool, { n: 7 }, { invocationId: "a" });
    const running = executor.execute(use, RUN);
    await until(async () => (await approvals.list({ status: "pending" })).length === 1);
    const [request] = await approvals.list();
    expect(request).toMatchObject({ message: "Refund order 7?", input: { n: 7 }, runId: "run", invocationId: "a" });
    expect(use.state).toBe("running");
    expect(ran).toHaveLength(0);
    await approvals.decide(request!.id, APPROVE);
    expect(await running).toMatchObject({ status: "completed", approval: { id: request!.id, status: "approved" } });
    expect(ran).toHaveLength(1);
    expect(events.map(({ type, seq }) => [type, seq])).toEqual(APPROVED_AND_RUN);
    expect(events[1]).toMatchObject({ approvalId: request!.id, message: "Refund order 7?", payloadSummary: '{"n":7}' });
    expect(events[2]).toMatchObject({ approvalId: request!.id, decision: "approved", decidedBy: null });
  });

  it("that waits here holds up nobody who asks for it again, and does not want to wait", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const waiting = executor.execute(again(), RUN);
    await until(async () => (await approvals.list({ status: "pending" })).length === 1);
    const paused = await executor.execute(again(), PAUSE);
    expect(paused).toMatchObject({ status: "awaiting_approval" });
    const leave = new AbortController();
    const left = executor.execute(again(), { ...RUN, signal: leave.signal });
    leave.abort();
    expect(await left).toMatchObject({ status: "awaiting_approval" });
    const third = executor.execute(again(), RUN);
    await approvals.decide(paused.approval!.id, APPROVE);
    expect(await waiting).toMatchObject({ status: "completed" });
    expect(await third).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(1);
  });

  it("is given up for all who wait for it, here and elsewhere", async () => {
    const { tool, ran } = refund();
    const here = setupWithApprovals([tool]);
    const there = setupWithApprovals([tool], { store: here.store });
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const waiting = [here, there].map(({ executor }) => executor.execute(again(), RUN));
    await until(() => there.events.length + here.events.length === 2);
    await sleep(10);
    const gone = { status: "failed", attempts: 0, error: { code: "aborted" } };
    expect(await here.executor.execute(again(), { ...RUN, abandon: true })).toMatchObject(gone);
    for (const outcome of await Promise.all(waiting)) expect(outcome).toMatchObject({ ...gone, replayed: true });
    const [request, ...others] = await here.approvals.list();
    expect([request!.status, others]).toEqual(["void", []]);
    await expect(here.approvals.decide(request!.id, APPROVE)).rejects.toMatchObject({ code: "approval_void" });
    expect(await there.executor.execute(again(), RUN)).toMatchObject(gone);
    expect(ran).toHaveLength(0);
  });

  it("is denied, if that was decided before it was given up, and not if it was after", async () => {
    const { tool, ran } = refund();
    const { executor, approvals, events } = setupWithApprovals([tool], { waitForApproval: false });
    const again = (invocationId: string) => tool.use({ n: 1 }, { invocationId });
    for (const id of ["a", "b", "c"]) await executor.execute(again(id), RUN);
    const [first, second] = await approvals.list();
    await approvals.decide(first!.id, { decision: "deny", reason: "too much" });
    const denied = {
      status: "denied",
      reason: "approval_denied",
      error: { message: "refund was denied by a person: too much" },
    };
    expect(await executor.execute(again("a"), { ...RUN, abandon: true })).toMatchObject({
      ...denied,
      approval: { id: first!.id, status: "denied" },
    });
    expect(await executor.execute(again("a"), RUN)).toMatchObject({ ...denied, replayed: true });
    expect(events.filter(({ invocationId }) => invocationId === "a").map(({ type }) => type)).toEqual([
      "tool.invoked",
      "approval.requested",
      "approval.decided",
      "tool.denied",
    ]);
    await approvals.decide(second!.id, APPROVE);
    for (const id of ["b", "c"]) {
      const given = await executor.execute(again(id), { ...RUN, abandon: true });
      expect(given).toMatchObject({ status: "failed", error: { code: "aborted" } });
    }
    expect((await approvals.list()).map(({ status }) => status)).toEqual(["denied", "approved", "void"]);
    expect(ran).toEqual([]);
  });

  it.each<[string, () => never]>([
    ["returns no promise", () => undefined as never],
    [
      "throws",
      () => {
        throw new Error("gone");
      },
    ],
  ])("is given up though a service of one's own %s where nobody has to decide any more", async (_, withdraw) => {
    const { tool } = refund();
    const store = memoryStore();
    const own = new ApprovalService({ store, tools: [tool] });
    const approvals = {
      request: own.request.bind(own),
      await: own.await.bind(own),
      succeeded: withdraw,
      withdraw,
    };
    const { executor } = setup([tool], { store, approvals: approvals as never });
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const waiting = executor.execute(again(), RUN);
    await until(async () => (await own.list({ status: "pending" })).length === 1);
    expect(await executor.execute(again(), { ...RUN, abandon: true })).toMatchObject({ error: { code: "aborted" } });
    expect(await waiting).toMatchObject({ status: "failed", replayed: true });
    const approved = executor.execute(tool.use({ n: 2 }, { invocationId: "b" }), RUN);
    await until(async () => (await own.list({ status: "pending" })).length === 2);
    await own.decide((await own.list({ status: "pending" })).at(-1)!.id, APPROVE);
    expect(await approved).toMatchObject({ status: "completed" });
  });

  it("is waited for, once it is approved and runs, by who executes it again", async () => {
    const end = Promise.withResolvers<string>();
    const { tool, ran } = refund({ execute: () => end.promise });
    const { executor, approvals } = setupWithApprovals([tool]);
    const again = () => executor.execute(tool.use({ n: 1 }, { invocationId: "a" }), RUN);
    const first = again();
    await until(async () => (await approvals.list()).length === 1);
    await approvals.decide((await approvals.list())[0]!.id, APPROVE);
    await until(() => ran.length === 1);
    const second = again();
    await sleep(5);
    end.resolve("done");
    expect(await Promise.all([first, second])).toMatchObject([{ replayed: false }, { replayed: true, output: "done" }]);
  });

  it("that another process runs, or gives up, is seen by who waits, and whether it was approved", async () => {
    const { tool, ran } = refund();
    const { executor, approvals, store } = setupWithApprovals([tool]);
    // Its news come late: the record of the call says it first.
    const deaf = new ApprovalService({ store });
    deaf.await = (_, { signal } = {}) =>
      new Promise((__, fail) => signal!.addEventListener("abort", () => fail(signal!.reason)));
    const waiting = setup([tool], { store, approvals: deaf });
    const again = (invocationId: string) => tool.use({ n: 1 }, { invocationId });
    const seen = ["a", "b"].map((id) => waiting.executor.execute(again(id), RUN));
    await until(async () => (await approvals.list()).length === 2);
    const { id } = (await approvals.list()).find(({ invocationId }) => invocationId === "a")!;
    await approvals.decide(id, APPROVE);
    await executor.execute(again("a"), RUN);
    await executor.execute(again("b"), { ...RUN, abandon: true });
    const [ran1, gone] = await Promise.all(seen);
    expect(ran1).toMatchObject({ status: "completed", replayed: true, approval: { id, status: "approved" } });
    expect(gone).toMatchObject({ status: "failed", replayed: true, error: { code: "aborted" } });
    expect(gone!.approval).toBeUndefined();
    expect(ran).toHaveLength(1);
  });

  it.each<[string, (leave: AbortController, approvals: ApprovalService) => unknown, object]>([
    ["the caller gives up", (leave) => leave.abort(), {}],
    ["the time to wait is over", () => {}, { approvalTimeoutMs: 20 }],
    ["it is decided", async (_, approvals) => approvals.decide((await approvals.list())[0]!.id, DENY), {}],
  ])("leaves nobody listening once %s", async (_, end, context) => {
    let listening = 0;
    const inner = memoryStore();
    const subscribe: Store["subscribe"] = async (...args) => {
      const stop = await inner.subscribe(...args);
      listening++;
      return () => (listening--, stop());
    };
    const { tool } = refund();
    const { executor, approvals } = setupWithApprovals([tool], { store: { ...inner, subscribe } });
    const leave = new AbortController();
    const running = executor.execute(useOf(tool), { ...RUN, signal: leave.signal, ...context });
    await until(() => listening === 2);
    await end(leave, approvals);
    await running;
    await until(() => listening === 0);
    expect(listening).toBe(0);
  });

  it("and was told by no event, since its process died, is told by the one that goes on", async () => {
    const { tool } = refund();
    const store = memoryStore();
    const untold = failing(store, (verb, key) =>
      verb === "put" && key.startsWith("event/") ? new Promise(() => {}) : undefined,
    );
    void setupWithApprovals([tool], { store: untold }).executor.execute(tool.use({}, { invocationId: "a" }), RUN);
    const { executor, approvals, types } = setupWithApprovals([tool], { store });
    await until(async () => (await approvals.list()).length === 1);
    await executor.execute(tool.use({}, { invocationId: "a" }), PAUSE);
    expect(types()).toEqual(["tool.invoked", "approval.requested"]);
  });

  it.each(["waits", "is executed again"])("ends when its request is withdrawn and it %s", async (how) => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const leave = new AbortController();
    const waiting = executor.execute(again(), { ...RUN, signal: leave.signal });
    await until(async () => (await approvals.list({ status: "pending" })).length === 1);
    if (how !== "waits") {
      leave.abort();
      await waiting;
    }
    await approvals.withdraw(RUN.runId);
    const outcome = await (how === "waits" ? waiting : executor.execute(again(), RUN));
    expect(outcome).toMatchObject({ status: "failed", attempts: 0, error: { code: "aborted" } });
    expect(outcome.approval).toBeUndefined();
    expect(await executor.execute(again(), RUN)).toMatchObject({ status: "failed", replayed: true });
    expect((await approvals.list()).map(({ status }) => status)).toEqual(["void"]);
    expect(ran).toHaveLength(0);
  });

  it("that was given up by a process that died then is asked about no more once it is executed again", async () => {
    const { tool } = refund();
    const store = memoryStore();
    let isDead = false;
    const dying: Store = {
      ...failing(store, () => (isDead ? new Promise(() => {}) : undefined)),
      async put(key, value, options) {
        if (isDead) return new Promise(() => {});
        const entry = await store.put(key, value, options);
        isDead = key.startsWith("action/") && (value as { status?: string }).status === "failed";
        return entry;
      },
    };
    const first = setupWithApprovals([tool], { store: dying });
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const { approval }: any = await first.executor.execute(again(), PAUSE);
    void first.executor.execute(again(), { ...RUN, abandon: true });
    await until(() => isDead);
    const { executor, approvals } = setupWithApprovals([tool], { store });
    expect(await approvals.get(approval.id)).toMatchObject({ status: "pending" });
    expect(await executor.execute(again(), RUN)).toMatchObject({ status: "failed", replayed: true });
    expect(await approvals.get(approval.id)).toMatchObject({ status: "void" });
    await expect(approvals.decide(approval.id, APPROVE)).rejects.toMatchObject({ code: "approval_void" });
  });

  it("is given up while the first one only begins to wait", async () => {
    const store = memoryStore();
    const { tool, ran } = refund();
    let isGivenUp = false;
    const subscribe: Store["subscribe"] = async (prefix, listener) => {
      if (prefix.startsWith("action/") && !isGivenUp) {
        isGivenUp = true;
        const outcome = await executor.execute(tool.use({}, { invocationId: "a" }), { ...RUN, abandon: true });
        expect(outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
      }
      return store.subscribe(prefix, listener);
    };
    const { executor } = setupWithApprovals([tool], { store: { ...store, subscribe } });
    const waiting = executor.execute(tool.use({}, { invocationId: "a" }), RUN);
    expect(await waiting).toMatchObject({ status: "failed", error: { code: "aborted" } });
    expect(ran).toHaveLength(0);
  });

  it("has its result though its 'always' cannot be stored", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const paused: any = await executor.execute(use, PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    approvals.succeeded = () => Promise.reject(new Error("down"));
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "completed", recorded: true });
    expect(ran).toHaveLength(1);
  });

  it("that is executed again with the same use while it waits has one outcome, for both", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const first = executor.execute(use, RUN);
    await until(async () => (await approvals.list()).length === 1);
    const second = executor.execute(use, RUN);
    await approvals.decide((await approvals.list())[0]!.id, APPROVE);
    const outcomes = await Promise.all([first, second]);
    expect(outcomes).toMatchObject([{ status: "completed" }, { status: "completed" }]);
    // Either may be the one that runs it.
    expect(outcomes.filter(({ replayed }) => replayed)).toHaveLength(1);
    expect(use.state).toBe("done");
    expect(ran).toHaveLength(1);
  });

  it("that is executed again with the same use while it waits, by somebody who does not want to, comes back", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const leave = new AbortController();
    const first = executor.execute(use, { ...RUN, signal: leave.signal });
    await until(async () => (await approvals.list()).length === 1);
    const paused = await executor.execute(use, PAUSE);
    expect(paused).toMatchObject({ status: "awaiting_approval" });
    expect(paused.use).toBe(use);
    for (const more of [{ signal: AbortSignal.timeout(5) }, { approvalTimeoutMs: 5 }]) {
      expect(await executor.execute(use, { ...RUN, ...more })).toMatchObject({ status: "awaiting_approval" });
    }
    expect(use.state).toBe("running");
    const second = executor.execute(use, RUN);
    await sleep(5);
    leave.abort();
    expect(await first).toMatchObject({ status: "awaiting_approval" });
    await approvals.decide(paused.approval!.id, APPROVE);
    expect(await second).toMatchObject({ status: "completed", use });
    expect(use.state).toBe("done");
    expect(ran).toHaveLength(1);
  });

  it("that is about to ask holds up nobody either: not the same call, and not those behind it", async () => {
    const { tool, ran } = refund({ sequential: true });
    const look = counted({ name: "look", effect: "read" });
    const { executor, approvals } = setupWithApprovals([tool, look.tool]);
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const waiting = executor.execute(again(), RUN);
    const paused = executor.execute(again(), PAUSE);
    const all = executor.executeAll([again(), useOf(look.tool)], RUN);
    const { approval } = await paused;
    expect(approval).toMatchObject({ status: "pending" });
    await until(() => look.ran.length === 1);
    await approvals.decide(approval!.id, APPROVE);
    for (const outcome of [await waiting, ...(await all)]) expect(outcome).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(1);
  });

  it("is told of, also where events are not stored", async () => {
    const { tool } = refund();
    const { executor, approvals, events } = setupWithApprovals([tool], { storeEvents: false });
    const use = useOf(tool);
    await executor.execute(use, PAUSE);
    const paused = await executor.execute(use, PAUSE);
    await approvals.decide(paused.approval!.id, APPROVE);
    await executor.execute(use, PAUSE);
    expect(events.map(({ type, seq }) => [type, seq])).toEqual(APPROVED_AND_RUN);
  });

  it("comes back at once where the run pauses, and goes on later", async () => {
    const { tool, ran } = refund();
    const { executor, approvals, store, events } = setupWithApprovals([tool]);
    const use = useOf(tool, { n: 1 }, { invocationId: "a" });
    const paused = await executor.execute(use, PAUSE);
    expect(paused).toMatchObject({ status: "awaiting_approval", approval: { status: "pending" } });
    expect(use.state).toBe("new");
    // Asked again meanwhile: nothing new.
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "awaiting_approval" });
    expect(await approvals.list()).toHaveLength(1);
    await approvals.decide(paused.approval!.id, APPROVE);
    // Another process, with the call rebuilt from the history.
    const later = setupWithApprovals([tool], { store });
    const rebuilt = tool.use({ n: 1 }, { invocationId: "a" });
    expect(await later.executor.execute(rebuilt, PAUSE)).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(1);
    expect([...events, ...later.events].map(({ type, seq }) => [type, seq])).toEqual(APPROVED_AND_RUN);
  });

  it("of a caller who has given up before asks nobody", async () => {
    const { tool } = refund();
    const { executor, approvals, types } = setupWithApprovals([tool]);
    const outcome = await executor.execute(useOf(tool), { ...RUN, signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
    expect(await approvals.list()).toEqual([]);
    expect(types()).toEqual(["tool.invoked", "tool.failed"]);
  });

  it("keeps its answer when the caller gives up while the policy judges what was written", async () => {
    const { tool, ran } = refund();
    let judged = 0;
    const authorize = () => (++judged === 2 ? new Promise<never>(() => {}) : allow());
    const { executor, approvals } = setupWithApprovals([tool], { authorize });
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const { approval }: any = await executor.execute(again(), PAUSE);
    await approvals.decide(approval.id, { decision: "approve", editedInput: { n: 2 } });
    const leave = new AbortController();
    const left = executor.execute(again(), { ...RUN, signal: leave.signal });
    await until(() => judged === 2);
    leave.abort();
    expect(await left).toMatchObject({ status: "awaiting_approval", approval: { status: "approved" } });
    expect(await executor.execute(again(), RUN)).toMatchObject({ status: "completed" });
    expect(ran).toMatchObject([{ input: { n: 2 } }]);
  });

  it("hides what is redacted in the question that it asks by default, too", async () => {
    const { tool } = counted({ inputSchema: z.any(), needsApproval: true });
    const redact = (path: readonly unknown[], value: unknown) => (path.at(-1) === "card" ? "[hidden]" : value);
    const { executor, events } = setupWithApprovals([tool], { redact });
    const { approval }: any = await executor.execute(useOf(tool, { card: "4111", n: 1 }), PAUSE);
    expect(approval.message).toBe('Run act with {"card":"[hidden]","n":1}?');
    expect(JSON.stringify([events, await executor.events("run")])).not.toContain("4111");
    // The person who decides may see it.
    expect(approval.input).toEqual({ card: "4111", n: 1 });
  });

  it.each<[object, object]>([
    [{}, { message: "Run act with {}?", isDefaultMessage: true }],
    [{ approvalMessage: () => "" }, { message: "Run act with {}?", isDefaultMessage: true }],
    [{ approvalMessage: () => Promise.reject(new Error("no")) }, { isDefaultMessage: true }],
    [{ approvalMessage: ({ order }: any) => order.id }, { message: "Run act with {}?", isDefaultMessage: true }],
    [{ approvalMessage: "Run act with {}?" }, { message: "Run act with {}?", isDefaultMessage: false }],
  ])("of a tool with %o says whether its question is the default one", async (change, expected) => {
    const { tool } = counted({ needsApproval: true, ...change });
    const { executor } = setupWithApprovals([tool]);
    const { approval } = await executor.execute(useOf(tool), PAUSE);
    expect(approval).toMatchObject(expected);
  });

  it.each<[string, (text: string) => unknown, object]>([
    ["a RegExp", (text) => new RegExp(text), { to: "/a=1/" }],
    ["URLSearchParams", (text) => new URLSearchParams(text), { to: "a=1" }],
    ["an ArrayBuffer", (text) => new TextEncoder().encode(text).buffer, { to: [97, 61, 49] }],
    ["bytes", (text) => new TextEncoder().encode(text), { to: [97, 61, 49] }],
    ["a URL", (text) => new URL(`https://a.example/?${text}`), { to: "https://a.example/?a=1" }],
  ])("with %s shows what is in it; neither the approval nor an 'always' is for another one", async (_, make, shown) => {
    const inputSchema = z.object({ to: z.string().transform(make) });
    const { tool, ran } = refund({ inputSchema, execute: () => "done" });
    const { executor, approvals } = setupWithApprovals([tool]);
    const pause = (to: string, invocationId: string) => executor.execute(useOf(tool, { to }, { invocationId }), PAUSE);
    const { approval } = await pause("a=1", "a");
    expect(approval).toMatchObject({ input: shown, message: `Run refund with ${JSON.stringify(shown)}?` });
    await approvals.decide(approval!.id, { ...APPROVE, always: {} });
    expect(await pause("a=2", "a")).toMatchObject({
      status: "awaiting_approval",
      approval: { replaces: approval!.id },
    });
    const again = await pause("a=1", "b");
    await approvals.decide(again.approval!.id, { ...APPROVE, always: {} });
    expect(await pause("a=1", "b")).toMatchObject({ status: "completed" });
    expect(await pause("a=2", "c")).toMatchObject({ status: "awaiting_approval" });
    expect(await pause("a=1", "d")).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(2);
  });

  class Path {
    readonly kind = "path";
    readonly #path: string;
    constructor(path: string) {
      this.#path = path;
    }
    toString() {
      return this.#path;
    }
  }

  it("with what nobody can see is not shown to anybody, and does not run", async () => {
    const { tool, ran } = refund({ inputSchema: z.object({ path: z.string().transform((path) => new Path(path)) }) });
    const { executor, approvals, types } = setupWithApprovals([tool]);
    const use = useOf(tool, { path: "/" });
    expect(await executor.execute(use, PAUSE)).toMatchObject({
      status: "failed",
      error: {
        code: "not_serializable",
        message: expect.stringContaining("its input holds an instance of Path without toJSON()"),
      },
    });
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "failed", replayed: true });
    expect(await approvals.list()).toEqual([]);
    expect(types()).toEqual(["tool.invoked", "tool.failed"]);
    expect(ran).toHaveLength(0);
  });

  it("that is denied does not run, and the model hears why", async () => {
    const { tool, ran } = refund();
    const { executor, approvals, events } = setupWithApprovals([tool], { service: { mayDecide: () => true } });
    const use = useOf(tool);
    const paused: any = await executor.execute(use, PAUSE);
    await approvals.decide(paused.approval.id, DENY, { id: "boss" });
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "denied", reason: "approval_denied" });
    expect(use.error).toMatchObject({ code: "denied", message: "refund was denied by a person: too much" });
    expect(events.slice(-2)).toMatchObject([
      { type: "approval.decided", decision: "denied", decidedBy: "boss", reason: "too much" },
      { type: "tool.denied", reason: "approval_denied", decidedBy: "boss" },
    ]);
    expect(ran).toHaveLength(0);
  });

  it("that is denied without a reason says no more than that", async () => {
    const { tool } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const paused: any = await executor.execute(use, PAUSE);
    await approvals.decide(paused.approval.id, { decision: "deny" });
    await executor.execute(use, PAUSE);
    expect(use.error!.message).toBe("refund was denied by a person.");
  });

  it("that nobody decides in time does not run", async () => {
    const { tool, ran } = refund();
    const { executor } = setupWithApprovals([tool]);
    const outcome = await executor.execute(useOf(tool), { ...RUN, approval: { ttlMs: 10 } });
    expect(outcome).toMatchObject({ status: "denied", reason: "approval_expired" });
    expect(ran).toHaveLength(0);
  });

  it.each<[string, (leave: AbortSignal) => object]>([
    ["a time", () => ({ approvalTimeoutMs: 5 })],
    ["a signal", (signal) => ({ signal })],
  ])("is waited for until %s, and stays open", async (_, context) => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const leave = new AbortController();
    const asked = until(async () => (await approvals.list()).length === 1).then(() => leave.abort());
    const outcome: any = await executor.execute(use, { ...RUN, ...context(leave.signal) });
    await asked;
    expect(outcome.status).toBe("awaiting_approval");
    await approvals.decide(outcome.approval.id, APPROVE);
    expect(await executor.execute(use, RUN)).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(1);
  });

  it.each<[string, object, object, number]>([
    ["irreversible: true asks", { irreversible: true }, {}, 1],
    ["irreversible: true with needsApproval: false does not", { irreversible: true, needsApproval: false }, {}, 0],
    ["a rule says so", { needsApproval: ({ n }: any) => n > 10 }, {}, 0],
    [
      "a rule that waits says so",
      { needsApproval: async ({ n }: any, { tenant }: any) => n < 10 && tenant === "t" },
      {},
      1,
    ],
    ["the policy asks", {}, { authorize: () => ask() }, 1],
  ])("%s", async (_, change, options, asked) => {
    const { tool, ran } = counted(change);
    const { executor, approvals } = setupWithApprovals([tool], options);
    await executor.execute(useOf(tool, { n: 5 }), { ...PAUSE, tenant: "t" });
    expect(await approvals.list()).toHaveLength(asked);
    expect(ran).toHaveLength(1 - asked);
  });

  it("runs with what the person wrote in place of the input, checked by the schema", async () => {
    const { tool, ran } = refund({ inputSchema: z.object({ n: z.number(), note: z.string().default("none") }) });
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool, { n: 100 });
    const paused: any = await executor.execute(use, PAUSE);
    await expect(approvals.decide(paused.approval.id, { ...APPROVE, editedInput: { n: "5" } })).rejects.toThrow(/n/);
    await approvals.decide(paused.approval.id, { ...APPROVE, editedInput: { n: 5 } });
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "completed" });
    expect(ran.map(({ input }) => input)).toEqual([{ n: 5, note: "none" }]);
    const told = 'A person approved this refund call with other arguments: {"n":5,"note":"none"}. Do not repeat it';
    expect(use).toMatchObject({ note: expect.stringContaining(told), result: { ok: true } });
  });

  it.each([anthropic, openaiResponses, google, googleInteractions, cohere, openaiChat])(
    "tells the model what the person wrote next to images, too: $name",
    async (adapter: Adapter) => {
      const outputs: Record<string, () => unknown> = {
        anthropic: () => anthropicContent([{ type: "text", text: "drawn" }]),
        "openai-responses": () => responsesContent([{ type: "input_text", text: "drawn" }]),
        google: () => googleContent("drawn", []),
        "google-interactions": () => interactionsContent([{ type: "text", text: "drawn" }]),
        cohere: () => cohereContent([{ type: "text", text: "drawn" }]),
        "openai-chat": () => "drawn",
      };
      const { tool } = refund({ execute: outputs[adapter.name] });
      const { executor, approvals } = setupWithApprovals([tool]);
      const use = useOf(tool, { n: 100 });
      const paused: any = await executor.execute(use, PAUSE);
      await approvals.decide(paused.approval.id, { ...APPROVE, editedInput: { n: 5 } });
      expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "completed", note: use.note });
      const { id, invocationId } = use;
      const turn = { calls: [{ id, invocationId, outcome: use }] } as unknown as Turn;
      const said = JSON.stringify(adapter.toolResults(turn));
      expect(said).toMatch(/A person approved .* Do not repeat it with the original ones\./);
      expect(said).toContain("drawn");
      expect(said).not.toContain("content\\\\");
    },
  );

  it("what the policy forbids cannot be approved by an edit either; the events say what was written", async () => {
    const { tool, ran } = refund();
    const judged: number[] = [];
    const authorize = ({ input }: any) => {
      judged.push(input.n);
      return input.n > 100 ? deny("That is too much.") : allow();
    };
    const service = { mayDecide: () => true };
    const { executor, approvals, events } = setupWithApprovals([tool], { authorize, service });
    const edit = async (n: number) => {
      const use = useOf(tool, { n: 50 });
      const paused: any = await executor.execute(use, PAUSE);
      const edited = n === 50 ? {} : { editedInput: { n } };
      await approvals.decide(paused.approval.id, { ...APPROVE, ...edited }, { id: "boss" });
      return executor.execute(use, PAUSE);
    };
    expect(await edit(500)).toMatchObject({
      status: "denied",
      reason: "policy",
      error: { message: "That is too much." },
      note: expect.stringContaining('{"n":500}'),
    });
    expect(ran).toHaveLength(0);
    // The policy's answer, and not that of the person who approved.
    expect(events.at(-1)).toMatchObject({ type: "tool.denied", reason: "policy" });
    expect(events.at(-1)).not.toHaveProperty("decidedBy");
    expect(await edit(60)).toMatchObject({ status: "completed" });
    expect(ran.map(({ input }) => input)).toEqual([{ n: 60 }]);
    const decided = events.filter(({ type }) => type === "approval.decided");
    expect(decided).toMatchObject([{ payloadSummary: '{"n":500}' }, { payloadSummary: '{"n":60}' }]);
    // What was shown is not judged again.
    expect(await edit(50)).toMatchObject({ status: "completed" });
    expect(judged).toEqual([50, 500, 50, 60, 50]);
  });

  it("holds nobody up: its siblings run, also one by one", async () => {
    const needy = refund({ sequential: true });
    const { tool, ran } = counted();
    const { executor, approvals } = setupWithApprovals([needy.tool, tool], { concurrency: 1 });
    const running = executor.executeAll([useOf(needy.tool), useOf(tool), useOf(tool)], RUN);
    await until(() => ran.length === 2);
    const [request] = await approvals.list();
    await approvals.decide(request!.id, APPROVE);
    expect((await running).map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(needy.ran).toHaveLength(1);
  });

  it.each([
    ["that is approved while a sequential tool runs waits for its end", {}, { sequential: true }],
    ["of a sequential tool waits, once approved, for the end of what runs behind it", { sequential: true }, {}],
  ])("%s", async (_, needs, others) => {
    const needy = refund(needs);
    let end!: () => void;
    const other = counted({
      name: "other",
      ...others,
      execute: async () => {
        await new Promise<void>((resolve) => (end = resolve));
        return needy.ran.length;
      },
    });
    const { executor, approvals, types } = setupWithApprovals([needy.tool, other.tool]);
    const running = executor.executeAll([useOf(needy.tool), useOf(other.tool)], RUN);
    await until(() => other.ran.length === 1);
    const [request] = await approvals.list();
    await approvals.decide(request!.id, APPROVE);
    await until(() => types().includes("approval.decided"));
    await sleep(10);
    end();
    expect(await running).toMatchObject([{ status: "completed" }, { status: "completed", output: 0 }]);
    expect(needy.ran).toHaveLength(1);
  });

  it("an 'always' counts once the call has succeeded, for this tool and input", async () => {
    const { tool, ran } = refund({
      execute: ({ text }: any) => (text === "fail" ? Promise.reject(new Error("no")) : 1),
    });
    const { executor, approvals, types } = setupWithApprovals([tool]);
    const run = async (input: object) => (await executor.execute(useOf(tool, input), PAUSE)).status;
    for (const [text, after] of [
      ["fail", "awaiting_approval"],
      ["fine", "completed"],
    ] as const) {
      const use = useOf(tool, { text });
      const paused: any = await executor.execute(use, PAUSE);
      await approvals.decide(paused.approval.id, { ...APPROVE, always: {} });
      await executor.execute(use, PAUSE);
      expect(await run({ text })).toBe(after);
    }
    // It asked nobody.
    expect(types().slice(-4)).toEqual(["tool.invoked", "approval.decided", "tool.started", "tool.completed"]);
    expect(await run({ text: "other" })).toBe("awaiting_approval");
    expect(ran).toHaveLength(3);
  });

  it.each([
    ["its outcome is waited for, and no decision", false, { status: "completed", replayed: true }],
    ["where its tools fail by then, it is not said that it was not executed", true, { status: "unknown" }],
  ])("that another process begins on an 'always', just when that is taken back: %s", async (_, fails, end) => {
    const store = memoryStore();
    const { tool, ran } = refund();
    let isDown = false;
    const tools = () => {
      if (isDown) throw new Error("The server of the tools is down.");
      return [tool];
    };
    const { executor, approvals } = setupWithApprovals({ tools }, { store });
    const learned = useOf(tool, {});
    const paused: any = await executor.execute(learned, PAUSE);
    await approvals.decide(paused.approval.id, { ...APPROVE, always: { where: { schema: {} } } });
    await executor.execute(learned, PAUSE);
    const again = () => tool.use({}, { invocationId: "a" });
    let waiting: Promise<unknown> | undefined;
    const put: Store["put"] = async (key, value, options) => {
      if (waiting === undefined && (value as { status?: string }).status === "started") {
        await approvals.revoke((await approvals.grants())[0]!);
        waiting = executor.execute(again(), RUN);
        await until(async () => (await approvals.list({ status: "pending" })).length === 1);
        isDown = fails;
      }
      return store.put(key, value, options);
    };
    const other = setupWithApprovals([tool], { store: { ...store, put } });
    expect(await other.executor.execute(again(), RUN)).toMatchObject({ status: "completed" });
    expect(await waiting).toMatchObject(end);
    expect(ran).toHaveLength(2);
  });

  it("on an 'always' that is taken back while it waits for its turn: somebody is asked", async () => {
    const first = Promise.withResolvers<void>();
    const { tool, ran } = refund({ sequential: true, execute: ({ text }: any) => text === "first" && first.promise });
    const { executor, approvals } = setupWithApprovals([tool]);
    const learned = useOf(tool, {});
    const paused: any = await executor.execute(learned, PAUSE);
    await approvals.decide(paused.approval.id, { ...APPROVE, always: { where: { schema: {} } } });
    await executor.execute(learned, PAUSE);
    const outcomes = executor.executeAll([useOf(tool, { text: "first" }), useOf(tool, { text: "second" })], PAUSE);
    await until(async () => ran.length === 2 && (await approvals.list({ status: "approved" })).length === 3);
    expect(await approvals.revoke((await approvals.grants())[0]!)).toBe(true);
    first.resolve();
    expect((await outcomes).map(({ status }) => status)).toEqual(["completed", "awaiting_approval"]);
    expect(ran).toHaveLength(2);
  });
});

describe("what changed since it was shown is asked again", () => {
  const pause = async (change: object = {}, options: object = {}) => {
    const { tool, ran } = refund(change);
    const parts = setupWithApprovals([tool], options);
    const use = useOf(tool, { n: 1 }, { invocationId: "a" });
    const paused: any = await parts.executor.execute(use, PAUSE);
    return { ...parts, tool, ran, use, paused };
  };

  it.each([["before it is approved"], ["after it was approved"]])(
    "the arguments object, %s (ai 3c09e00)",
    async (when) => {
      const { use, paused, approvals, executor, ran } = await pause();
      if (when.startsWith("after")) await approvals.decide(paused.approval.id, APPROVE);
      use.input.n = 1000;
      const again: any = await executor.execute(use, PAUSE);
      expect(again.status).toBe("awaiting_approval");
      expect(again.approval).toMatchObject({ status: "pending", input: { n: 1000 } });
      expect(again.approval.id).not.toBe(paused.approval.id);
      expect(await approvals.get(paused.approval.id)).toMatchObject({ status: "void" });
      await approvals.decide(again.approval.id, APPROVE);
      await executor.execute(use, PAUSE);
      expect(ran.map(({ input }) => input.n)).toEqual([1000]);
    },
  );

  it("the arguments object, over a store that cannot be read for a moment: it is told as invoked once", async () => {
    const store = memoryStore();
    let isDown = false;
    const list: Store["list"] = async (prefix, options) => {
      if (isDown && prefix.startsWith("event/")) throw new ToolError("store_failed", "The store is down.");
      return store.list(prefix, options);
    };
    const { tool } = refund();
    const { executor } = setupWithApprovals([tool], { store: { ...store, list } });
    const use = useOf(tool, { n: 1 });
    isDown = true;
    await executor.execute(use, PAUSE);
    isDown = false;
    use.input.n = 1000;
    await executor.execute(use, PAUSE);
    const types = (await executor.events("run")).map(({ type }) => type);
    expect(types.filter((type) => type === "tool.invoked")).toHaveLength(1);
  });

  it("the arguments object, while it waits in this process", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool, { n: 1 });
    const running = executor.execute(use, RUN);
    await until(async () => (await approvals.list()).length === 1);
    const [first] = await approvals.list();
    use.input.n = 1000;
    await approvals.decide(first!.id, APPROVE);
    await until(async () => (await approvals.list({ status: "pending" })).length === 1);
    expect(ran).toHaveLength(0);
    const [second] = await approvals.list({ status: "pending" });
    expect(second).toMatchObject({ input: { n: 1000 } });
    await approvals.decide(second!.id, DENY);
    expect(await running).toMatchObject({ status: "denied" });
    expect(ran).toHaveLength(0);
  });

  it("the arguments object, while it waits, into what needs nobody: it runs, on nobody's approval", async () => {
    const { tool, ran } = refund({ needsApproval: ({ n }: any) => n > 100 });
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool, { n: 1000 });
    const running = executor.execute(use, RUN);
    await until(async () => (await approvals.list()).length === 1);
    use.input.n = 1;
    await approvals.decide((await approvals.list())[0]!.id, APPROVE);
    const outcome = await running;
    expect(ran.map(({ input }) => input)).toEqual([{ n: 1 }]);
    expect(outcome.status).toBe("completed");
    expect(outcome.approval).toBeUndefined();
    expect(await executor.action(outcome.actionId)).toMatchObject({ approvalId: null });
  });

  it("the arguments object, before it is approved, into what needs nobody: it runs, and nobody is asked any more", async () => {
    const { use, executor, approvals, ran, events } = await pause({ needsApproval: ({ n }: any) => n === 1 });
    use.input.n = 2;
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "completed" });
    expect(ran.map(({ input }) => input)).toEqual([{ n: 2 }]);
    expect(await approvals.list()).toMatchObject([{ status: "void", input: { n: 1 } }]);
    expect(events.filter(({ type }) => type === "tool.invoked")).toHaveLength(1);
  });

  it("so that it needs nobody: it does not wait until the request is withdrawn, while its lease ends", async () => {
    const service = new ApprovalService({ store: memoryStore() });
    const [withdrawing, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    service.withdraw = () => (withdrawing.resolve(), answered.promise);
    const { use, executor, ran } = await pause({ needsApproval: ({ n }: any) => n === 1 }, { approvals: service });
    use.input.n = 2;
    const running = executor.execute(use, PAUSE);
    await withdrawing.promise;
    await sleep(20);
    expect(ran).toHaveLength(1);
    answered.resolve();
    expect(await running).toMatchObject({ status: "completed", replayed: false });
  });

  it.each<[string, (input: any) => void, string]>([
    ["what its tool does not take", (input) => (input.n = "all"), "invalid_input"],
    ["what cannot be shown", (input) => (input.self = input), "not_serializable"],
  ])("the arguments object, while it waits, into %s: the call has failed", async (_, change, code) => {
    const inputSchema = () => ({ type: "object", properties: { n: { type: "number" } } }) as const;
    const shown = refund({ inputSchema: inputSchema() });
    const known = refund({ inputSchema: inputSchema() });
    const { executor, approvals } = setupWithApprovals([known.tool]);
    const init = { invocationId: "a" };
    const use = shown.tool.use({ n: 1 }, init);
    const running = executor.execute(use, RUN);
    await until(async () => (await approvals.list()).length === 1);
    change(use.input);
    await approvals.decide((await approvals.list())[0]!.id, APPROVE);
    expect(await running).toMatchObject({ status: "failed", error: { code } });
    // That is on record: nothing runs what the model was told has failed.
    expect(await executor.execute(shown.tool.use({ n: 1 }, init), RUN)).toMatchObject({ status: "failed" });
    expect(known.ran).toHaveLength(0);
  });

  it("the tool, while it waits in this process: what its source has now is shown, and runs", async () => {
    const [before, after, twin] = [
      refund(),
      refund({ description: "Refunds more." }),
      refund({ description: "Refunds more." }),
    ];
    let tools = [before.tool];
    const { executor, approvals } = setupWithApprovals({ tools: () => tools });
    const running = executor.execute(useOf(before.tool, { n: 1 }), RUN);
    const pending = () => approvals.list({ status: "pending" });
    await until(async () => (await pending()).length === 1);
    const [first] = await pending();
    tools = [after.tool];
    await approvals.decide(first!.id, APPROVE);
    await until(async () => (await pending()).length === 1);
    const [second] = await pending();
    expect(second!.definitionDigest).not.toBe(first!.definitionDigest);
    // The same definition, made anew: there is nothing to ask again.
    tools = [twin.tool];
    await approvals.decide(second!.id, APPROVE);
    expect(await running).toMatchObject({ status: "completed" });
    expect([before.ran.length, after.ran.length, twin.ran.length]).toEqual([0, 0, 1]);
  });

  it("the tool, and is given up while it is asked again: the outcome names no approval of what it was before", async () => {
    const [before, after] = [refund(), refund({ description: "Refunds more." })];
    let tools = [before.tool];
    const { executor, approvals } = setupWithApprovals({ tools: () => tools });
    const use = () => before.tool.use({ n: 1 }, { invocationId: "a" });
    const running = executor.execute(use(), RUN);
    await until(async () => (await approvals.list()).length === 1);
    tools = [after.tool];
    await approvals.decide((await approvals.list())[0]!.id, APPROVE);
    await until(async () => (await approvals.list()).length === 2);
    await executor.execute(use(), { ...RUN, abandon: true });
    const outcome = await running;
    expect(outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
    expect(outcome.approval).toBeUndefined();
  });

  it("the tool, and is given up as soon as it is asked again: the outcome names no approval either", async () => {
    const [before, after] = [refund(), refund({ description: "Refunds more." })];
    let tools = [before.tool];
    const { executor, approvals } = setupWithApprovals({ tools: () => tools });
    const use = () => before.tool.use({ n: 1 }, { invocationId: "a" });
    const running = executor.execute(use(), RUN);
    await until(async () => (await approvals.list()).length === 1);
    const request = approvals.request.bind(approvals);
    approvals.request = async (about) => {
      const asked = await request(about);
      if (asked.status === "pending") await executor.execute(use(), { ...RUN, abandon: true });
      return asked;
    };
    tools = [after.tool];
    await approvals.decide((await approvals.list())[0]!.id, APPROVE);
    const outcome = await running;
    expect(outcome).toMatchObject({ status: "failed", error: { code: "aborted" } });
    expect(outcome.approval).toBeUndefined();
  });

  it("by one process at a time: who waited for what another one has voided comes back, and does not ask in its turn", async () => {
    const store = memoryStore();
    const [before, after] = [refund(), refund({ description: "Refunds more." })];
    const old = setupWithApprovals([before.tool], { store });
    const young = setupWithApprovals([after.tool], { store });
    const call = { invocationId: "a" };
    const pending = () => young.approvals.list({ status: "pending" });
    const first = old.executor.execute(useOf(before.tool, { n: 1 }, call), RUN);
    await until(async () => (await pending()).length === 1);
    const second = young.executor.execute(useOf(after.tool, { n: 1 }, call), RUN);
    const [waiting, requests] = [await first, await young.approvals.list()];
    expect(requests.map(({ status }) => status)).toEqual(["void", "pending"]);
    expect(waiting).toMatchObject({ status: "awaiting_approval", approval: { id: requests[1]!.id } });
    await young.approvals.decide(requests[1]!.id, APPROVE);
    expect(await second).toMatchObject({ status: "completed" });
    expect([before.ran.length, after.ran.length]).toEqual([0, 1]);
  });

  it("by another process, whose tool this one has by then, too: it waits for what that one has asked, and runs it", async () => {
    const [old, now] = [refund(), refund({ description: "Refunds in full." })];
    let tools = [old.tool];
    const { executor, approvals, store } = setupWithApprovals({ tools: () => tools });
    const waiting = executor.execute(now.tool.use({ n: 1 }, { invocationId: "a" }), RUN);
    await until(async () => (await approvals.list()).length === 1);
    tools = [now.tool];
    const other = setupWithApprovals([now.tool], { store });
    const asked: any = await other.executor.execute(now.tool.use({ n: 1 }, { invocationId: "a" }), PAUSE);
    await approvals.decide(asked.approval.id, APPROVE);
    expect(await waiting).toMatchObject({ status: "completed", approval: { id: asked.approval.id } });
    expect([old.ran.length, now.ran.length]).toEqual([0, 1]);
  });

  it.each(["somebody", "its turn"])(
    "the tool, which is taken away while it waits for %s: nothing runs",
    async (what) => {
      const { tool, ran } = refund();
      const first = Promise.withResolvers<void>();
      const long = counted({ name: "long", execute: () => first.promise });
      let tools = [long.tool, tool];
      const { executor, approvals, types } = setupWithApprovals({ tools: () => tools }, { concurrency: 1 });
      const running = executor.executeAll([useOf(long.tool), useOf(tool, { n: 1 })], RUN);
      await until(async () => (await approvals.list()).length === 1);
      if (what === "somebody") tools = [];
      await approvals.decide((await approvals.list())[0]!.id, APPROVE);
      await until(() => types().includes("approval.decided"));
      tools = [];
      first.resolve();
      const [, outcome] = await running;
      expect(outcome).toMatchObject({ status: "denied", reason: "unknown_tool" });
      expect(outcome!.approval).toBeUndefined();
      expect(ran).toHaveLength(0);
    },
  );

  it.each<[string, object]>([
    ["description (MCPoison, CVE-2025-54136)", { description: "Refunds everything." }],
    ["schema", { inputSchema: z.object({ n: z.number(), all: z.boolean().optional() }) }],
  ])("the tool's %s", async (_, change) => {
    const { paused, approvals, store } = await pause();
    await approvals.decide(paused.approval.id, APPROVE);
    const changed = refund(change);
    const later = setupWithApprovals([changed.tool], { store });
    const again: any = await later.executor.execute(changed.tool.use({ n: 1 }, { invocationId: "a" }), PAUSE);
    expect(again).toMatchObject({ status: "awaiting_approval", approval: { status: "pending" } });
    expect(changed.ran).toHaveLength(0);
  });

  it("the tool, into one that needs no approval, and does not take the input any more: the call has failed", async () => {
    const { store } = await pause();
    const changed = refund({ needsApproval: false, inputSchema: z.object({ n: z.string() }) });
    const later = setupWithApprovals([changed.tool], { store });
    const use = useOf(refund().tool, { n: 1 }, { invocationId: "a" });
    expect(await later.executor.execute(use, PAUSE)).toMatchObject({
      status: "failed",
      error: { code: "invalid_input" },
    });
    expect(changed.ran).toHaveLength(0);
  });

  it.each<[string, (digest: () => string) => { change: object; options: object }]>([
    ["the executor's hook", (digest) => ({ change: {}, options: { executableDigest: digest } })],
    ["the tool's metadata", (digest) => ({ change: { metadata: { executableDigest: digest } }, options: {} })],
  ])("the executable file (openclaw 124738), by %s", async (_, make) => {
    let file = "sha256:aa";
    const { change, options } = make(() => file);
    const { use, paused, approvals, executor, ran } = await pause(change, options);
    await approvals.decide(paused.approval.id, APPROVE);
    file = "sha256:bb";
    expect(await executor.execute(use, PAUSE)).toMatchObject({
      status: "awaiting_approval",
      approval: { status: "pending" },
    });
    expect(ran).toHaveLength(0);
  });

  it("what is shown and digested is what runs: the last of duplicate keys", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const function_ = { name: "refund", arguments: '{"n":1,"n":1000}' };
    const message = {
      role: "assistant" as const,
      content: null,
      refusal: null,
      tool_calls: [{ id: "c", type: "function" as const, function: function_ }],
    };
    const choices = [{ index: 0, finish_reason: "tool_calls" as const, logprobs: null, message }];
    const completion = { id: "r", object: "chat.completion" as const, created: 1, model: "m", choices };
    const events = openaiChat.parse(completion, { tools: [tool] });
    const use = events.flatMap((event) => (event.type === "tool-use" ? [event.use] : []))[0]!;
    const paused: any = await executor.execute(use, PAUSE);
    expect(paused.approval.input).toEqual({ n: 1000 });
    await approvals.decide(paused.approval.id, APPROVE);
    await executor.execute(use, PAUSE);
    expect(ran.map(({ input }) => input.n)).toEqual([1000]);
  });
});

describe("complaints of other toolkits' users (reliability §4)", () => {
  it("approve B while only A is suspended executes A (mastra PR 19377)", async () => {
    const a = refund({ name: "a" });
    const b = refund({ name: "b" });
    const { executor, approvals } = setupWithApprovals([a.tool, b.tool]);
    const use = useOf(a.tool);
    await executor.execute(use, PAUSE);
    await expect(approvals.decide("b", APPROVE)).rejects.toMatchObject({ code: "approval_not_found" });
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "awaiting_approval" });
    expect([...a.ran, ...b.ran]).toEqual([]);
  });

  it("two refunds collapse to one (mastra PR 18041), parallel interrupts share one id (langgraph 6533, 6626, 6627)", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const uses = [1, 1, 2].map((n, index) => useOf(tool, { n }, { invocationId: `inv-${index}` }));
    const paused = await executor.executeAll(uses, PAUSE);
    const ids = paused.map((outcome: any) => outcome.approval.id as string);
    expect(new Set(ids).size).toBe(3);
    for (const [index, id] of [...ids.entries()].toReversed()) {
      await approvals.decide(id, index === 1 ? DENY : APPROVE);
      const statuses = (await executor.executeAll(uses, PAUSE)).map(({ status }) => status);
      expect(statuses[index]).toBe(index === 1 ? "denied" : "completed");
    }
    expect(ran.map(({ context }) => context.invocationId)).toEqual(["inv-2", "inv-0"]);
  });

  it("only the first of several pending approvals is visible after a cold start (mastra 19435, 20529)", async () => {
    const { tool } = refund();
    const { executor, store } = setupWithApprovals([tool]);
    await executor.executeAll(
      [1, 2, 3].map((n) => useOf(tool, { n })),
      PAUSE,
    );
    const cold = setupWithApprovals([tool], { store });
    expect(
      (await cold.approvals.list({ status: "pending" })).map(({ input }) => (input as { n: number }).n).toSorted(),
    ).toEqual([1, 2, 3]);
  });

  it("decline executes the tool, since the policy function was lost (mastra PR 20487)", async () => {
    const { tool } = refund();
    const { executor, approvals, store } = setupWithApprovals([tool]);
    const paused: any = await executor.execute(useOf(tool, {}, { invocationId: "a" }), PAUSE);
    // The tool as another process knows it needs no approval; there is nobody to ask; there is no tool at all.
    const bare = counted({ name: "refund" });
    const asks = () => bare.tool.use({}, { invocationId: "a" });
    expect(await setupWithApprovals([bare.tool], { store }).executor.execute(asks(), PAUSE)).toMatchObject({
      status: "awaiting_approval",
    });
    await approvals.decide(paused.approval.id, DENY);
    expect(await setupWithApprovals([bare.tool], { store }).executor.execute(asks(), PAUSE)).toMatchObject({
      status: "denied",
    });
    expect(bare.ran).toHaveLength(0);
  });

  it.each<[string, (tool: any, store: any) => any]>([
    ["nobody to ask", (tool, store) => setup([tool], { store })],
    ["no such tool", (_, store) => setup([counted().tool], { store })],
  ])("an approved call with %s after the restart is denied", async (_, restart) => {
    const { tool, ran } = refund();
    const { executor, approvals, store } = setupWithApprovals([tool]);
    const paused: any = await executor.execute(useOf(tool, {}, { invocationId: "a" }), PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    const later = restart(tool, store);
    expect(await later.executor.execute(tool.use({}, { invocationId: "a" }), PAUSE)).toMatchObject({
      status: "denied",
    });
    expect(ran).toHaveLength(0);
  });

  it("resume re-runs siblings that had finished (langgraph PR 3126)", async () => {
    const needy = refund();
    const done = counted({ name: "done" });
    const { executor, approvals, store } = setupWithApprovals([needy.tool, done.tool]);
    const uses = () => [done.tool.use({}, { invocationId: "a" }), needy.tool.use({}, { invocationId: "b" })];
    const [, paused]: any = await executor.executeAll(uses(), PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    const later = setupWithApprovals([needy.tool, done.tool], { store });
    const outcomes = await later.executor.executeAll(uses(), PAUSE);
    expect(outcomes.map(({ status, replayed }) => [status, replayed])).toEqual([
      ["completed", true],
      ["completed", false],
    ]);
    expect([done.ran.length, needy.ran.length]).toEqual([1, 1]);
  });

  it("an approved tool re-executes on a later turn (agent-framework 6851, 4232); the answer is lost when the run fails after it (7458, G5)", async () => {
    const { tool, ran } = refund();
    const { executor, approvals, store } = setupWithApprovals([tool]);
    const paused: any = await executor.execute(tool.use({}, { invocationId: "a" }), PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    await executor.execute(tool.use({}, { invocationId: "a" }), PAUSE);
    // The provider answered 500 after that; the whole history comes again.
    const later = setupWithApprovals([tool], { store });
    for (let turn = 0; turn < 3; turn++) {
      const use = tool.use({}, { invocationId: "a" });
      expect(await later.executor.execute(use, PAUSE)).toMatchObject({ status: "completed", replayed: true });
      expect(use.result).toEqual({ ok: true, input: {} });
    }
    expect(ran).toHaveLength(1);
    expect(await approvals.list()).toHaveLength(1);
    expect((await executor.events("run")).filter(({ type }) => type === "tool.completed")).toHaveLength(1);
  });

  it("a run that is aborted right after the answer loses it (agent-framework 7458)", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const paused: any = await executor.execute(use, PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    const aborted = await executor.execute(use, { ...PAUSE, signal: AbortSignal.abort() });
    expect(aborted).toMatchObject({ status: "awaiting_approval", approval: { status: "approved" } });
    expect(ran).toHaveLength(0);
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "completed" });
    expect(await approvals.list()).toHaveLength(1);
  });

  it("a run that is aborted while the start after the answer is recorded loses it", async () => {
    const controller = new AbortController();
    const inMemory = memoryStore();
    const store: Store = {
      ...inMemory,
      put: async (key, value, options) => {
        if ((value as { status?: unknown }).status === "started") controller.abort();
        return inMemory.put(key, value, options);
      },
    };
    const { tool, ran } = refund({ maxCallsPerRun: 1 });
    const { executor, approvals } = setupWithApprovals([tool], { store });
    const again = () => tool.use({ n: 1 }, { invocationId: "a" });
    const { approval }: any = await executor.execute(again(), PAUSE);
    await approvals.decide(approval.id, APPROVE);
    expect(await executor.execute(again(), { ...PAUSE, signal: controller.signal })).toMatchObject({
      status: "awaiting_approval",
      approval: { id: approval.id, status: "approved" },
    });
    expect(ran).toHaveLength(0);
    expect(await executor.execute(again(), PAUSE)).toMatchObject({ status: "completed", attempts: 1 });
    expect(ran).toHaveLength(1);
  });

  it("the same approval answered twice runs twice (ai 1727442)", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool);
    const running = executor.execute(use, RUN);
    await until(async () => (await approvals.list()).length === 1);
    const { id } = (await approvals.list())[0]!;
    const answers = await Promise.allSettled(
      [APPROVE, APPROVE, DENY].map((decision) => approvals.decide(id, decision)),
    );
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(answers.filter((answer: any) => answer.reason?.code === "already_decided")).toHaveLength(2);
    await running;
    expect(ran.length).toBeLessThanOrEqual(1);
  });

  it("a big state and a fixed wait say 'not suspended' (mastra 22413): 5 MB of input, approved at once", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool]);
    const use = useOf(tool, { text: "x".repeat(5 * 1024 * 1024) });
    const paused: any = await executor.execute(use, PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: expect.stringMatching(/completed|failed/) });
    expect(ran).toHaveLength(1);
  });

  it("context passed at resume drops the approval (openai-agents-python 4244)", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool], { service: { mayDecide: () => true } });
    const principal = { id: "anna" };
    for (const [index, later] of [PAUSE, { ...PAUSE, principal, behavior: "x", extra: 1 }].entries()) {
      const use = useOf(tool, { n: index });
      const paused: any = await executor.execute(use, { ...PAUSE, principal });
      await approvals.decide(paused.approval.id, APPROVE, { id: "boss" });
      expect(await executor.execute(use, later)).toMatchObject({ status: "completed" });
    }
    expect(ran).toHaveLength(2);
  });

  it("two copies of one restored state share a cache (openai-agents-js 680, python 2501): 20 processes go on at once", async () => {
    const { tool, ran } = refund({ execute: () => sleep(2) });
    const { executor, approvals, store } = setupWithApprovals([tool]);
    const paused: any = await executor.execute(useOf(tool, {}, { invocationId: "a" }), PAUSE);
    await approvals.decide(paused.approval.id, APPROVE);
    const others = Array.from({ length: 20 }, () => setupWithApprovals([tool], { store }));
    const outcomes = await Promise.all(
      others.map((other) => other.executor.execute(tool.use({}, { invocationId: "a" }), RUN)),
    );
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["completed"]));
    expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(ran).toHaveLength(1);
    const log = await executor.events("run");
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(log.filter(({ type }) => type === "tool.completed")).toHaveLength(1);
    expect(log.filter(({ type }) => type === "approval.decided")).toHaveLength(1);
  });

  it("who asked may not approve", async () => {
    const { tool, ran } = refund();
    const { executor, approvals } = setupWithApprovals([tool], { service: { mayDecide: () => true } });
    const principal = { id: "anna" };
    const use = useOf(tool);
    const paused: any = await executor.execute(use, { ...PAUSE, principal });
    await expect(approvals.decide(paused.approval.id, APPROVE, principal)).rejects.toMatchObject({
      code: "approval_not_allowed",
    });
    expect(await executor.execute(use, PAUSE)).toMatchObject({ status: "awaiting_approval" });
    expect(ran).toHaveLength(0);
  });
});

it("a tool that is defined in this file compiles with typed rules", () => {
  const tool = defineTool({
    name: "refund",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 100,
    approvalMessage: ({ amount }) => `Refund ${amount.toFixed(2)}?`,
    execute: ({ amount }) => amount,
    undo: async ({ input, output, data }) => [input.amount, output, data],
  });
  expect(tool.use({ amount: 5 }).executeSync({ approved: true })).toBe(5);
});
