import { describe, expect, it } from "vitest";
import { ToolError } from "../../src/index.ts";
import { allow } from "../../src/execute/index.ts";
import { CallCount } from "../../src/execute/call-count.ts";
import { Ledger } from "../../src/execute/ledger.ts";
import { memoryStore, storeKey, type Store } from "../../src/store/index.ts";
import { counted, failing, RUN, setup, setupWithApprovals, until, useOf } from "./support.ts";

/** A store that notes which prefixes are listed. */
function listed(store: Store = memoryStore()) {
  const prefixes: string[] = [];
  const list: Store["list"] = (prefix, options) => {
    prefixes.push(prefix);
    return store.list(prefix, options);
  };
  return { store: { ...store, list }, prefixes };
}

describe("requires", () => {
  const read = counted({ name: "read_file", effect: "idempotent", undo: () => {} });
  const write = counted({ name: "write_file", requires: "read_file" });
  const tools = [read.tool, write.tool];

  it("does not look at all actions of the run for every call", async () => {
    const { store, prefixes } = listed();
    const { executor } = setup(tools, { store });
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ status: "denied" });
    await executor.execute(useOf(read.tool), RUN);
    for (let n = 0; n < 3; n++) {
      expect(await executor.execute(useOf(write.tool, { n }), RUN)).toMatchObject({ status: "completed" });
    }
    expect(prefixes.filter((prefix) => prefix.startsWith("action/"))).toEqual([]);
  });

  it("an undone call does not count; another one that succeeded does, whoever made it", async () => {
    const { executor, store } = setup(tools);
    const other = setup(tools, { store }).executor;
    const first = await executor.execute(useOf(read.tool), RUN);
    const second = await other.execute(useOf(read.tool), RUN);
    const third = await executor.execute(useOf(read.tool), RUN);
    await executor.undo(first.actionId);
    expect(await other.execute(useOf(write.tool), RUN)).toMatchObject({ status: "completed" });
    await other.undo(third.actionId);
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ status: "completed" });
    await other.undo(second.actionId);
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ reason: "requirement_missing" });
    await executor.execute(useOf(read.tool), RUN);
    expect(await other.execute(useOf(write.tool), RUN)).toMatchObject({ status: "completed" });
  });

  it("a call whose process died before it was on record as done does not count", async () => {
    const { executor, store } = setup(tools);
    await store.put(storeKey("action-success", "run", "read_file"), "died");
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ reason: "requirement_missing" });
    const row = { version: 1, runId: "run", invocationId: "died", toolName: "read_file", effect: "idempotent" };
    const started = { status: "started", attempts: 1, lease: { owner: "dead", until: Date.now() + 60_000 } };
    await store.put("action/run/died", { ...row, ...started, digest: "sha256:1", createdAt: 1 });
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ reason: "requirement_missing" });
    await executor.execute(useOf(read.tool), RUN);
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ status: "completed" });
  });

  it("a call counts that is on record later, since the store failed when it ended", async () => {
    let isDown = false;
    const open = counted({ name: "open_file", execute: () => (isDown = true) });
    const close = counted({ name: "close_file", requires: "open_file" });
    const store = failing(memoryStore(), () => (isDown ? new ToolError("store_failed", "Down.") : undefined));
    const { executor } = setup([open.tool, close.tool], { store });
    const call = () => useOf(open.tool, {}, { invocationId: "a" });
    expect(await executor.execute(call(), RUN)).toMatchObject({ status: "completed", recorded: false });
    isDown = false;
    expect(await executor.execute(call(), RUN)).toMatchObject({ status: "completed", recorded: true });
    expect(await executor.execute(useOf(close.tool), RUN)).toMatchObject({ status: "completed" });
    expect(open.ran).toHaveLength(1);
  });

  it("a record that is damaged harms no other call", async () => {
    const { executor, store } = setup(tools);
    const { invocationId } = await executor.execute(useOf(read.tool), RUN);
    await executor.execute(useOf(read.tool), RUN);
    await store.put(storeKey("action", "run", invocationId), { version: 1, status: "odd" });
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ status: "completed" });
  });

  it("a run that was forgotten and begins anew needs it again", async () => {
    const { executor } = setup(tools);
    await executor.execute(useOf(read.tool), RUN);
    await executor.forget("run");
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ reason: "requirement_missing" });
    await executor.execute(useOf(read.tool), RUN);
    expect(await executor.execute(useOf(write.tool), RUN)).toMatchObject({ status: "completed" });
  });
});

describe("maxCallsPerRun", () => {
  const KEY = storeKey("action-count", "run", "act");

  it("keeps a number, however many calls there were", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 40 });
    const { executor, store } = setup([tool]);
    for (let n = 0; n < 45; n++) await executor.execute(useOf(tool, { n }), RUN);
    expect(ran).toHaveLength(40);
    expect((await store.get<any>(KEY))!.value).toEqual({ started: 39, claimed: [expect.any(String)] });
  });

  it("the place of a call whose process died before it began is that call's, and nobody else's", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 3 });
    const { executor, store } = setup([tool]);
    await store.put(KEY, { started: 0, claimed: ["died"] });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ reason: "too_many_calls" });
    const again = await executor.execute(useOf(tool, {}, { invocationId: "died" }), RUN);
    expect(again).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(3);
  });

  it("once none are allowed, a call whose process died before it began has no place either", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 0 });
    const { executor, store } = setup([tool]);
    await store.put(KEY, { started: 0, claimed: ["died"] });
    const again = await executor.execute(useOf(tool, {}, { invocationId: "died" }), RUN);
    expect(again).toMatchObject({ status: "denied", reason: "too_many_calls" });
    expect(ran).toHaveLength(0);
  });

  it.each([0, 1])("nobody is asked about a call that would be too many: %i are allowed", async (max) => {
    const { tool, ran } = counted({ maxCallsPerRun: max, needsApproval: true });
    const { executor, approvals, store } = setupWithApprovals([tool]);
    if (max > 0) await store.put(KEY, { started: max, claimed: [] });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "denied", reason: "too_many_calls" });
    expect(await approvals.list()).toEqual([]);
    expect(ran).toHaveLength(0);
  });

  it("of two that have both looked, the second finds the last place taken", async () => {
    const store = setup([]).store;
    const count = new CallCount(store, new Ledger(store));
    expect(await Promise.all(["a", "b"].map((id) => count.isFull("act", 1, "run", id)))).toEqual([false, false]);
    expect(await count.claim("act", 1, "run", "a")).toBe(true);
    expect(await count.claim("act", 1, "run", "b")).toBe(false);
    expect(await count.claim("act", 1, "run", "a")).toBe(true);
  });

  it("of two that were allowed while there was one place, one runs", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 1 });
    let allowed = 0;
    const authorize = async () => {
      allowed++;
      await until(() => allowed === 2);
      return allow();
    };
    const { executor } = setup([tool], { authorize });
    const outcomes = await executor.executeAll([useOf(tool), useOf(tool)], RUN);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["completed", "denied"]);
    expect(ran).toHaveLength(1);
  });

  it("the place of a call that was given back as it began is that call's, whatever came in between", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 2 });
    const store = memoryStore();
    const lost = new AbortController();
    const losing = failing(store, (verb, key) => {
      if (verb === "put" && key === "action/run/a") lost.abort(new ToolError("lease_lost", "Another process goes on."));
    });
    const again = () => useOf(tool, {}, { invocationId: "a", id: "call_a" });
    const first = setup([tool], { store: losing }).executor.execute(again(), { ...RUN, signal: lost.signal });
    expect(await first).toMatchObject({ status: "failed", recorded: false, error: { code: "aborted" } });
    const { executor } = setup([tool], { store });
    expect(await executor.action("run/a")).toMatchObject({ status: "planned", startedAt: null });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ reason: "too_many_calls" });
    const outcome = await executor.execute(again(), RUN);
    expect(outcome.status).toBe("completed");
    expect(outcome.repeatOf, "it is no repetition of itself").toBeUndefined();
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ reason: "too_many_calls" });
    expect(ran).toHaveLength(2);
  });

  it("a call that was given up as it began takes no place: it did not run", async () => {
    const { tool, ran } = counted({ maxCallsPerRun: 1 });
    const leave = new AbortController();
    const inner = memoryStore();
    const store = failing(inner, (verb, key) => {
      if (verb === "put" && key === "action/run/a") leave.abort();
    });
    const { executor } = setup([tool], { store });
    const given = useOf(tool, {}, { invocationId: "a" });
    expect(await executor.execute(given, { ...RUN, signal: leave.signal })).toMatchObject({
      status: "failed",
      recorded: true,
      error: { code: "aborted" },
    });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ reason: "too_many_calls" });
    expect(ran).toHaveLength(1);
  });

  it("a call that another process has begun is not counted twice", async () => {
    const { tool } = counted({ maxCallsPerRun: 9 });
    const { executor, store } = setup([tool]);
    const { invocationId } = await executor.execute(useOf(tool), RUN);
    await executor.execute(useOf(tool), RUN);
    const count = new CallCount(store, new Ledger(store));
    const before = await store.get(KEY);
    // As from a process that has looked before the other one began.
    expect(await count.claim("act", 9, "run", invocationId)).toBe(true);
    expect(await store.get(KEY)).toEqual(before);
  });
});
