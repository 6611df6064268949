/** Undo, and how it can be abused. */
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ToolExecutor, type Outcome } from "../../src/execute/index.ts";
import { defineTool, ToolError, type Tool } from "../../src/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { misread } from "../misread.ts";
import { counted, failing, RUN, setup, setupWithApprovals, sleep, until, useOf } from "./support.ts";

/** A shelf of numbered things: adding can be undone. */
function shelf(change: object = {}) {
  const things = new Map<number, string>();
  const undone: any[] = [];
  const add = defineTool({
    name: "add",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }, { undoData }) => {
      things.set(n, "v1");
      undoData({ version: "v1", secret: "s3cret" });
      return { added: n };
    },
    undo: async (record, context) => {
      undone.push({ record, context });
      if (things.get(record.input.n) !== record.data.version) throw context.conflict("it was changed since");
      things.delete(record.input.n);
    },
    ...change,
  });
  return { things, undone, add };
}

const ok = (outcome: Outcome) => {
  if (outcome.status !== "completed") throw new Error(outcome.status);
  return outcome;
};

describe("undo()", () => {
  it("is given the input and the data of the call, whatever was read before", async () => {
    const [input, data] = [misread(), misread()];
    const { undone, add } = shelf({
      inputSchema: z.looseObject({}),
      execute: (_: unknown, { undoData }: any) => undoData(data),
      undo: (record: unknown) => void undone.push(record),
    });
    const { executor } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, input), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(undone).toEqual([expect.objectContaining({ input, data })]);
  });

  it("undoes what was done, once, with what the handler kept for it", async () => {
    const { things, undone, add } = shelf();
    const { executor, events, store } = setup([add]);
    const outcome = ok(await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN));
    expect(outcome.undoableUntil).toBeGreaterThan(Date.now() + 3_500_000);
    expect(outcome.undoableUntil).toBeLessThanOrEqual(Date.now() + 3_600_000);
    const principal = { id: "anna" };
    expect(await executor.undo(outcome.actionId, principal)).toEqual({
      status: "undone",
      actionId: "run/a",
      toolName: "add",
      message: "This add call was undone afterwards: what it did does not hold any more.",
    });
    expect(things.size).toBe(0);
    expect(undone).toEqual([
      {
        record: {
          actionId: "run/a",
          runId: "run",
          invocationId: "a",
          toolName: "add",
          input: { n: 1 },
          output: { added: 1 },
          data: { version: "v1", secret: "s3cret" },
          completedAt: expect.any(Number),
        },
        context: {
          idempotencyKey: "run/a/undo",
          signal: expect.any(AbortSignal),
          principal,
          conflict: expect.any(Function),
        },
      },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "tool.undone", actionId: "run/a", seq: 4, undoneBy: "anna" });
    // Twice.
    expect(await executor.undo(outcome.actionId)).toMatchObject({
      status: "refused",
      error: { code: "already_undone" },
    });
    expect(undone).toHaveLength(1);
    // The data has served its purpose.
    expect(JSON.stringify((await store.get("action/run/a"))!.value)).not.toContain("s3cret");
    expect((await store.get<any>("action/run/a"))!.value.undo).toMatchObject({ state: "undone", by: "anna" });
  });

  it("of the model's view: the result of an undone call says so", async () => {
    const { add } = shelf();
    const { executor } = setup([add]);
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    await executor.undo("run/a");
    const use = useOf(add, { n: 1 }, { invocationId: "a" });
    expect(await executor.execute(use, RUN)).toMatchObject({ status: "completed", undone: true, undoableUntil: null });
    expect(use.result).toEqual({
      undone: true,
      message: "This add call was undone afterwards: what it did does not hold any more.",
      output: { added: 1 },
    });
  });

  it("exactly one of two that race wins, in two executors", async () => {
    const { undone, add } = shelf();
    const { executor, store } = setup([add]);
    const other = setup([add], { store });
    for (let n = 0; n < 30; n++) {
      const { actionId } = await executor.execute(useOf(add, { n }), RUN);
      const outcomes = await Promise.all([executor, other.executor, executor].map((one) => one.undo(actionId)));
      expect(outcomes.filter(({ status }) => status === "undone")).toHaveLength(1);
      expect(outcomes.filter((outcome: any) => outcome.error?.code === "already_undone")).toHaveLength(2);
    }
    expect(undone).toHaveLength(30);
  });

  it("after its time is over does nothing", async () => {
    const { undone, add } = shelf({ undoTtlMs: 5 });
    const { executor, store, events } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    await sleep(10);
    for (let time = 0; time < 2; time++) {
      expect(await executor.undo(actionId)).toMatchObject({ status: "expired", error: { code: "undo_expired" } });
    }
    expect(undone).toHaveLength(0);
    expect(JSON.stringify((await store.get("action/run/a"))!.value)).not.toContain("s3cret");
    expect(events.at(-1)!.type).toBe("tool.completed");
  });

  it.each<[string, (executor: ToolExecutor, again: () => Promise<Outcome>) => Promise<unknown>, unknown]>([
    ["is executed again", (_, again) => again(), { status: "completed", undoableUntil: null }],
    ["is looked at", (executor) => executor.action("run/a"), { undo: { state: "expired" } }],
    ["is listed", (executor) => executor.actions("run"), [{ undo: { state: "expired" } }]],
  ])(
    "after its time: what was kept for it is deleted when the action %s, and that says so",
    async (_, look, expected) => {
      const { add } = shelf({ undoTtlMs: 5 });
      const { executor, store } = setup([add]);
      const run = () => executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
      await run();
      await sleep(10);
      expect(await look(executor, run)).toMatchObject(expected as object);
      const { value } = (await store.get<any>("action/run/a"))!;
      expect(value.undo).toEqual({ state: "expired", expiresAt: expect.any(Number) });
      expect(await executor.undo("run/a")).toMatchObject({ status: "expired" });
    },
  );

  it("after its time is nobody's, also where the store cannot delete them", async () => {
    const { add } = shelf({ undoTtlMs: 5 });
    const inner = memoryStore();
    let isDown = false;
    const store = failing(inner, (verb) =>
      isDown && verb === "put" ? new ToolError("store_failed", "down") : undefined,
    );
    const { executor } = setup([add], { store, storeEvents: false });
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    await sleep(10);
    isDown = true;
    expect(await executor.action("run/a")).toMatchObject({ undo: { state: "expired" } });
  });

  it("that has failed keeps its reason after its time, and cannot be tried again", async () => {
    const { add } = shelf({ undoTtlMs: 50, undo: () => Promise.reject(new Error("no")) });
    const { executor, store } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    await executor.undo(actionId);
    await sleep(60);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undo_failed" });
    expect(await executor.undo(actionId, undefined, { retry: true })).toMatchObject({ status: "expired" });
    expect(JSON.stringify((await store.get("action/run/a"))!.value)).not.toContain("s3cret");
  });

  it("by another principal is refused", async () => {
    const { undone, add } = shelf();
    const { executor } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), { ...RUN, principal: { id: "anna" } });
    for (const principal of [{ id: "bob" }, undefined]) {
      expect(await executor.undo(actionId, principal)).toMatchObject({
        status: "refused",
        error: { code: "undo_not_allowed" },
      });
    }
    expect(undone).toHaveLength(0);
    expect(await executor.undo(actionId, { id: "anna" })).toMatchObject({ status: "undone" });
  });

  it.each<[string, () => unknown, boolean]>([
    ["says yes", () => true, true],
    ["says no", () => false, false],
    ["says nothing", () => undefined, false],
    ["throws", () => Promise.reject(new Error("db down")), false],
  ])("asks mayUndo, which %s", async (_, answer, isAllowed) => {
    const { add } = shelf();
    const seen: any[] = [];
    const { executor } = setup([add], {
      mayUndo: (principal, action) => (seen.push(principal, action), answer()) as boolean,
    });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), { ...RUN, principal: { id: "anna" } });
    const outcome = await executor.undo(actionId, { id: "bob" });
    expect(outcome.status).toBe(isAllowed ? "undone" : "refused");
    expect(seen[1]).toMatchObject({ toolName: "add", principal: "anna", undo: { state: "available" } });
    expect(JSON.stringify(seen)).not.toContain("s3cret");
  });

  it("gives mayUndo a look at the action, and no hand in it", async () => {
    const { undone, add } = shelf();
    const mayUndo = (_: unknown, { output }: { output?: any }) => Boolean((output.added = "[hidden]"));
    const { executor } = setup([add], { mayUndo });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(undone[0].record.output).toEqual({ added: 1 });
    expect(await executor.action(actionId)).toMatchObject({ output: { added: 1 } });
  });

  it("that itself needs approval waits for it in mayUndo", async () => {
    const { undone, add } = shelf();
    const parts = setupWithApprovals([add], {
      mayUndo: async (_, { actionId, runId, invocationId }) => {
        const request = await parts.approvals.request({
          runId,
          invocationId: `${invocationId}/undo`,
          toolName: "undo",
          input: { actionId },
          definitionDigest: "undo",
          message: `Undo ${actionId}?`,
        });
        return (await parts.approvals.await(request.id)).status === "approved";
      },
    });
    const { actionId } = await parts.executor.execute(useOf(add, { n: 1 }), RUN);
    const undoing = parts.executor.undo(actionId);
    await until(async () => (await parts.approvals.list()).length === 1);
    expect(undone).toHaveLength(0);
    await parts.approvals.decide((await parts.approvals.list())[0]!.id, { decision: "approve" });
    expect(await undoing).toMatchObject({ status: "undone" });
  });

  it("whose time ended while mayUndo was asked does nothing", async () => {
    const { undone, add } = shelf({ undoTtlMs: 30 });
    const { executor } = setup([add], { mayUndo: () => sleep(60).then(() => true) });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "expired", error: { code: "undo_expired" } });
    expect(undone).toHaveLength(0);
    expect(await executor.action(actionId)).toMatchObject({ undo: { state: "expired" } });
  });

  it("while the action runs is refused", async () => {
    let go!: () => void;
    const { add } = shelf({ execute: () => new Promise<void>((resolve) => (go = resolve)) });
    const { executor } = setup([add]);
    const running = executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    await until(() => go);
    expect(await executor.undo("run/a")).toMatchObject({
      status: "refused",
      error: { code: "not_undoable", message: "add has not ended yet." },
    });
    go();
    await running;
  });

  it.each<[string, object, object]>([
    ["a failed call", { execute: () => Promise.reject(new Error("no")) }, {}],
    ["a denied call", { behaviors: ["other"] }, {}],
    ["a call of a tool without undo", { undo: undefined }, {}],
    ["a call that waits for approval", { needsApproval: true }, { waitForApproval: false }],
  ])("of %s is refused", async (_, change, context) => {
    const { undone, add } = shelf(change);
    const { executor } = setupWithApprovals([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), { ...RUN, ...context });
    expect(await executor.undo(actionId)).toMatchObject({ status: "refused", error: { code: "not_undoable" } });
    expect(undone).toHaveLength(0);
  });

  it.each<[string, (add: Tool) => Tool[]]>([
    ["not have its tool", () => []],
    ["have its tool without an undo", (add) => [counted({ name: add.name }).tool]],
  ])("is refused by processes that do %s, and left to those that can", async (_, toolsOf) => {
    const { undone, add } = shelf();
    const { executor, store } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(await setup(toolsOf(add), { store }).executor.undo(actionId)).toMatchObject({
      status: "refused",
      error: { code: "not_undoable", message: `Here is no tool ${add.name} with an undo function.` },
    });
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(undone).toHaveLength(1);
  });

  it.each(["nowhere", "run/b", "../action", "__proto__", "run%2Fa", "é", "a b", "x\n"])(
    "of %s is refused: there is no such action",
    async (id) => {
      const { add } = shelf();
      const { executor } = setup([add]);
      await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
      expect(await executor.undo(id)).toMatchObject({ status: "refused", error: { code: "not_undoable" } });
    },
  );

  it("of what was changed since is a conflict", async () => {
    const { things, add } = shelf();
    const { executor, events } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    things.set(1, "v2");
    const conflict = {
      status: "undo_failed",
      error: { code: "undo_conflict", message: "Undoing add failed: it was changed since" },
    };
    expect(await executor.undo(actionId)).toMatchObject(conflict);
    expect(events.at(-1)).toMatchObject({ type: "tool.undo_failed", errorCode: "undo_conflict" });
    expect(things.get(1)).toBe("v2");
    // It is not tried again unless told so.
    things.set(1, "v1");
    expect(await executor.undo(actionId)).toMatchObject(conflict);
    expect(things.size).toBe(1);
    expect(await executor.undo(actionId, undefined, { retry: true })).toMatchObject({ status: "undone" });
  });

  it("that throws, or takes too long, has failed; its message holds no path", async () => {
    const { add } = shelf({ undo: () => Promise.reject(new Error("cannot write '/srv/shelf'")) });
    const { executor } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(await executor.undo(actionId)).toMatchObject({
      status: "undo_failed",
      error: { code: "undo_failed", message: "Undoing add failed: cannot write '[path]'" },
    });
    const slow = shelf({ timeoutMs: 5, undo: () => new Promise(() => {}) });
    const other = setup([slow.add]);
    const second = await other.executor.execute(useOf(slow.add, { n: 1 }), RUN);
    expect(await other.executor.undo(second.actionId)).toMatchObject({
      status: "undo_failed",
      error: { code: "undo_failed", message: "Undoing add failed: It took longer than 5 ms." },
    });
  });

  it("whose process died in the middle has failed: how far it came is not known", async () => {
    const { undone, add } = shelf();
    const { executor, events, store } = setup([add]);
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    const entry = (await store.get<any>("action/run/a"))!;
    const dead = { ...entry.value.undo, state: "undoing", by: "anna", lease: { owner: "dead", until: Date.now() - 1 } };
    await store.put("action/run/a", { ...entry.value, undo: dead });
    expect(await executor.undo("run/a")).toMatchObject({
      status: "undo_failed",
      error: { message: expect.stringContaining("how far it came is not known") },
    });
    expect(events.at(-1)).toMatchObject({ type: "tool.undo_failed", errorCode: "undo_failed", undoneBy: "anna" });
    expect(undone).toHaveLength(0);
    expect(await executor.undo("run/a", undefined, { retry: true })).toMatchObject({ status: "undone" });
  });

  it("whose process died in the middle keeps its data no longer than others do", async () => {
    const { undone, add } = shelf();
    const { executor, store } = setup([add]);
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    const entry = (await store.get<any>("action/run/a"))!;
    const lease = { owner: "other", until: Date.now() + 60_000 };
    const undoing = { ...entry.value.undo, state: "undoing", by: "anna", expiresAt: Date.now() - 1, lease };
    await store.put("action/run/a", { ...entry.value, undo: undoing });
    await executor.actions("run");
    expect((await store.get<any>("action/run/a"))!.value.undo).toEqual(undoing);
    const dead = { ...undoing, lease: { ...lease, until: Date.now() - 1 } };
    await store.put("action/run/a", { ...entry.value, undo: dead });
    await executor.actions("run");
    const { input: _, data: __, ...rest } = dead;
    expect((await store.get<any>("action/run/a"))!.value.undo).toEqual(rest);
    expect(await executor.undo("run/a", undefined, { retry: true })).toMatchObject({ status: "expired" });
    expect(undone).toHaveLength(0);
  });

  it("keeps its lease while it runs", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { add } = shelf({ undo: () => promise });
    const { executor, store } = setup([add], { leaseMs: 40 });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    const undoing = executor.undo(actionId);
    const leasedUntil = async (): Promise<number> =>
      (await store.get<any>("action/run/a"))!.value.undo.lease?.until ?? 0;
    await until(async () => (await leasedUntil()) > 0);
    const first = await leasedUntil();
    await until(async () => (await leasedUntil()) > first);
    expect(await executor.undo(actionId)).toMatchObject({ status: "refused", error: { code: "already_undone" } });
    resolve();
    expect(await undoing).toMatchObject({ status: "undone" });
    const over = await store.get("action/run/a");
    await sleep(60);
    expect(await store.get("action/run/a")).toEqual(over);
  });

  it("that another process has taken for dead is told as such, and its record stays", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { add } = shelf({ undo: () => promise });
    const { executor, store } = setup([add]);
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    const undoing = executor.undo("run/a");
    const row = async () => (await store.get<any>("action/run/a"))!.value;
    await until(async () => (await row()).undo.state === "undoing");
    const { lease: _, ...undo } = (await row()).undo;
    const taken = { ...(await row()), undo: { ...undo, state: "undo_failed" } };
    await store.put("action/run/a", taken);
    resolve();
    expect(await undoing).toMatchObject({
      status: "undo_failed",
      error: { code: "undo_failed", message: expect.stringContaining("another process took over") },
    });
    expect(await row()).toEqual(taken);
  });

  it("ends after the executor's time where its tool has none of its own", async () => {
    const { add } = shelf({ undo: () => new Promise(() => {}) });
    const { executor } = setup([add], { timeoutMs: 20 });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undo_failed" });
  });

  it("gets the data as it was when the handler gave it", async () => {
    const note = { text: "old" };
    const { tool } = counted({
      execute: ({ text }: any, { undoData }: any) => {
        undoData({ before: note });
        note.text = text;
      },
      undo: ({ data }: any) => void Object.assign(note, data.before),
    });
    const { executor } = setup([tool]);
    const { actionId } = await executor.execute(useOf(tool, { text: "new" }), RUN);
    expect(note).toEqual({ text: "new" });
    await executor.undo(actionId);
    expect(note).toEqual({ text: "old" });
  });

  it("gets bytes too, those of the input and those that the handler gave: a Buffer as the JSON that it is made of", async () => {
    const bytes = [104, 105];
    const inputSchema = z.object({ text: z.string().transform((text) => Buffer.from(text)) });
    let got: any;
    const { tool } = counted({
      inputSchema,
      execute: (_: unknown, { undoData }: any) => undoData({ file: Buffer.from(bytes), page: new Uint8Array(bytes) }),
      undo: ({ input, data }: any) => void (got = [input.text, data.file, data.page]),
    });
    const { executor } = setup([tool]);
    const { actionId } = await executor.execute(useOf(tool, { text: "hi" }), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(got).toEqual([{ type: "Buffer", data: bytes }, { type: "Buffer", data: bytes }, bytes]);
    expect(got.map((value: any) => String(Buffer.from(value)))).toEqual(["hi", "hi", "hi"]);
  });

  it("gets all of it again in a second try, whatever the first one did to it, and so does the record", async () => {
    const restored: string[] = [];
    let isFull = true;
    const { tool } = counted({
      execute: (_: unknown, { undoData }: any) => (undoData({ files: ["a", "b", "c"] }), { removed: 3 }),
      undo: ({ data, output }: any) => {
        output.removed = 0;
        for (let file = data.files.shift(); file !== undefined; file = data.files.shift()) {
          if (file === "b" && isFull) throw new Error("No space left on device.");
          restored.push(file);
        }
      },
    });
    const { executor } = setup([tool]);
    const { actionId } = await executor.execute(useOf(tool, {}), RUN);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undo_failed" });
    isFull = false;
    expect(await executor.undo(actionId, undefined, { retry: true })).toMatchObject({ status: "undone" });
    expect(restored).toEqual(["a", "a", "b", "c"]);
    expect((await executor.action(actionId))!.output).toEqual({ removed: 3 });
  });

  it.each([
    ["a bigint", 1n],
    ["a promise that was not awaited", Promise.resolve("before")],
  ])("data that cannot be kept (%s) makes the action not undoable, and harms nothing else", async (_, before) => {
    const { undone, add } = shelf({ execute: (_input: unknown, { undoData }: any) => (undoData({ before }), "done") });
    const { executor } = setup([add]);
    const outcome = ok(await executor.execute(useOf(add, { n: 1 }), RUN));
    expect(outcome).toMatchObject({ output: "done", undoableUntil: null });
    for (const retry of [false, true]) {
      expect(await executor.undo(outcome.actionId, undefined, { retry })).toMatchObject({
        status: "undo_failed",
        error: { code: "not_undoable" },
      });
    }
    expect(undone).toEqual([]);
  });

  it("of a call whose output cannot be shown works: it had its effect", async () => {
    const { undone, add } = shelf({
      execute: (_: unknown, { undoData }: any) => (undoData({ version: undefined }), 1n),
    });
    const { executor } = setup([add]);
    const outcome = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(outcome.status).toBe("failed");
    expect(await executor.undo(outcome.actionId)).toMatchObject({ status: "undone" });
    expect(undone).toHaveLength(1);
  });

  it("when the store does not answer is refused, and says so", async () => {
    const { undone, add } = shelf();
    let isDown = false;
    const store = failing(memoryStore(), () => (isDown ? new ToolError("store_failed", "down") : undefined));
    const { executor } = setup([add], { store });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    isDown = true;
    expect(await executor.undo(actionId)).toMatchObject({
      status: "refused",
      actionId,
      error: { code: "store_failed" },
    });
    expect(undone).toHaveLength(0);
  });

  it("outlives a store that fails for a moment", async () => {
    const { undone, add } = shelf();
    let failures = 0;
    const store = failing(memoryStore(), (verb, key) =>
      undone.length > 0 && verb === "put" && key === "action/run/a" && failures++ < 1
        ? new ToolError("store_failed", "down")
        : undefined,
    );
    const { executor } = setup([add], { store });
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    expect(await executor.undo("run/a")).toMatchObject({ status: "undone" });
    expect(await executor.undo("run/a")).toMatchObject({ error: { code: "already_undone" } });
  });

  it("whose start was written and not confirmed has begun", async () => {
    const { undone, add } = shelf();
    const inner = memoryStore();
    let isDown = false;
    const store: Store = {
      ...inner,
      put: async (key, value, options) => {
        const entry = await inner.put(key, value, options);
        if (!isDown) return entry;
        isDown = false;
        throw new ToolError("store_failed", "down");
      },
    };
    const { executor } = setup([add], { store, leaseMs: 20 });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    isDown = true;
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(undone).toHaveLength(1);
  });

  it("that is done, and that the store does not take, is not told as refused", async () => {
    const { undone, add } = shelf();
    const store = failing(memoryStore(), (verb, key) =>
      undone.length > 0 && verb === "put" && key === "action/run/a" ? new ToolError("store_failed", "down") : undefined,
    );
    const { executor } = setup([add], { store });
    await executor.execute(useOf(add, { n: 1 }, { invocationId: "a" }), RUN);
    expect(await executor.undo("run/a")).toMatchObject({
      status: "undo_failed",
      error: { code: "store_failed", message: "add was undone, and the store did not take it: down" },
    });
    expect(undone).toHaveLength(1);
  });

  it("does not begin when the caller has given up before, and can be asked for again", async () => {
    const { undone, add } = shelf();
    const { executor } = setup([add]);
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    expect(await executor.undo(actionId, undefined, { signal: AbortSignal.abort() })).toMatchObject({
      status: "refused",
      error: { code: "aborted" },
    });
    expect(undone).toHaveLength(0);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
  });

  it("ends when the caller gives up while mayUndo does not answer", async () => {
    const { undone, add } = shelf();
    const controller = new AbortController();
    const { executor } = setup([add], { mayUndo: () => new Promise(() => {}) });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    const undoing = executor.undo(actionId, undefined, { signal: controller.signal });
    await sleep(5);
    controller.abort();
    expect(await undoing).toMatchObject({ status: "refused", error: { code: "aborted" } });
    expect(undone).toHaveLength(0);
  });

  it("can be done later where the caller gave up while it was recorded that it begins", async () => {
    const controller = new AbortController();
    let isUndoing = false;
    const store = failing(memoryStore(), (verb) => {
      if (isUndoing && verb === "put") controller.abort();
      return undefined;
    });
    const { things, add } = shelf();
    const { executor } = setup([add], { store });
    const { actionId } = await executor.execute(useOf(add, { n: 1 }), RUN);
    isUndoing = true;
    expect(await executor.undo(actionId, undefined, { signal: controller.signal })).toMatchObject({
      status: "refused",
      error: { code: "aborted" },
    });
    expect(things.size).toBe(1);
    expect(await executor.undo(actionId)).toMatchObject({ status: "undone" });
    expect(things.size).toBe(0);
  });

  it("brings nothing back of a run that was forgotten meanwhile", async () => {
    let end: (() => void) | undefined;
    const { tool } = counted({ undo: () => new Promise<void>((resolve) => (end = resolve)) });
    const { executor, store } = setup([tool], { leaseMs: 30 });
    const { actionId } = await executor.execute(useOf(tool), RUN);
    const undoing = executor.undo(actionId);
    await until(() => end !== undefined);
    await executor.forget("run");
    expect(await undoing).toMatchObject({ status: "undo_failed" });
    expect(await store.list("")).toEqual([]);
  });

  it("brings nothing back of a run that is forgotten while its event is written", async () => {
    const { tool } = counted({ undo: () => undefined });
    const [writing, forgotten] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const inner = memoryStore();
    const put: Store["put"] = async (...args) => {
      if ((args[1] as { type?: string }).type === "tool.undone") {
        writing.resolve();
        await forgotten.promise;
      }
      return inner.put(...args);
    };
    const { executor, types } = setup([tool], { store: { ...inner, put } });
    const { actionId } = await executor.execute(useOf(tool), RUN);
    const undoing = executor.undo(actionId);
    await writing.promise;
    await executor.forget("run");
    forgotten.resolve();
    expect(await undoing).toMatchObject({ status: "undone" });
    expect(await inner.list("")).toEqual([]);
    expect(types()).not.toContain("tool.undone");
    await executor.execute(useOf(tool), RUN);
    expect((await executor.events("run")).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("data is in no event, no outcome and no list", async () => {
    const { add } = shelf();
    const { executor, events } = setup([add]);
    const outcome = await executor.execute(useOf(add, { n: 1 }), RUN);
    const again = await executor.execute(useOf(add, { n: 1 }, { invocationId: outcome.invocationId }), RUN);
    const undone = await executor.undo(outcome.actionId);
    const { use: _, ...shown } = outcome;
    const { use: _again, ...shownAgain } = again;
    const all = JSON.stringify([
      events,
      shown,
      shownAgain,
      undone,
      await executor.actions("run"),
      await executor.events("run"),
    ]);
    expect(all).not.toContain("s3cret");
  });
});

describe("undoRun()", () => {
  it("undoes in reverse order and reports what it could not", async () => {
    const { undone, things, add } = shelf();
    const read = counted({ name: "read", effect: "read" });
    const mail = counted({ name: "mail" });
    const denied = counted({ name: "denied", behaviors: ["other"] });
    const { executor } = setup([add, read.tool, mail.tool, denied.tool]);
    for (const use of [
      useOf(add, { n: 1 }),
      useOf(read.tool),
      useOf(mail.tool),
      useOf(denied.tool),
      useOf(add, { n: 2 }),
      useOf(add, { n: 3 }),
    ]) {
      await executor.execute(use, RUN);
    }
    await executor.execute(useOf(add, { n: 4 }), { runId: "another" });
    things.set(2, "changed");
    const report = await executor.undoRun("run");
    expect(undone.map(({ record }) => record.input.n)).toEqual([3, 2, 1]);
    expect(report.undone).toHaveLength(2);
    expect(report.notUndone).toMatchObject([
      { status: "undo_failed", toolName: "add", error: { code: "undo_conflict" } },
      { status: "refused", toolName: "mail", error: { code: "not_undoable" } },
    ]);
    expect([...things.keys()]).toEqual([2, 4]);
  });

  it("undoes last what was done first, whichever record was written last", async () => {
    const { undone, things, add } = shelf();
    let isDown = false;
    // The handler has begun, and its end is not taken.
    const fails = (verb: string, key: string) =>
      isDown && things.has(1) && verb === "put" && key.startsWith("action/")
        ? new ToolError("store_failed", "down")
        : undefined;
    const { executor } = setup([add], { store: failing(memoryStore(), fails) });
    const first = useOf(add, { n: 1 }, { invocationId: "inv-1" });
    isDown = true;
    expect(await executor.execute(first, RUN)).toMatchObject({ status: "completed", recorded: false });
    isDown = false;
    for (const n of [2, 3]) await executor.execute(useOf(add, { n }), RUN);
    expect(await executor.execute(first, RUN)).toMatchObject({ status: "completed", recorded: true });
    await executor.undoRun("run");
    expect(undone.map(({ record }) => record.input.n)).toEqual([3, 2, 1]);
  });

  it("undoes last what was done first, though the clock was set back meanwhile, or differs between processes", async () => {
    const { undone, add } = shelf();
    const { executor, store } = setup([add]);
    const other = new ToolExecutor({ tools: [add], store });
    const now = Date.now();
    const clock = vi.spyOn(Date, "now");
    for (const [n, at] of [now, now - 20_000, now - 10_000].entries()) {
      clock.mockReturnValue(at);
      await (n === 1 ? other : executor).execute(useOf(add, { n }), RUN);
    }
    clock.mockRestore();
    await executor.undoRun("run");
    expect(undone.map(({ record }) => record.input.n)).toEqual([2, 1, 0]);
  });

  it("undoes what an older version has recorded by when it ended", async () => {
    const { undone, add } = shelf();
    const { executor, store } = setup([add]);
    for (const n of [2, 3, 1]) {
      await executor.execute(useOf(add, { n }, { invocationId: `inv-${n}` }), RUN);
      const { startedVersion: _, ...value } = (await store.get<any>(`action/run/inv-${n}`))!.value;
      await store.put(`action/run/inv-${n}`, { ...value, endedAt: n * 1_000 });
    }
    await executor.undoRun("run");
    expect(undone.map(({ record }) => record.input.n)).toEqual([3, 2, 1]);
  });

  it("reports what was given up while it ran, and may have had its effect", async () => {
    const { undone, add } = shelf();
    const slow = (name: string, change: object) => counted({ name, execute: () => sleep(20), ...change }).tool;
    const late = slow("late", { timeoutMs: 5, undo: () => {} });
    const leave = new AbortController();
    const cut = slow("cut", { effect: "idempotent", execute: () => (leave.abort(), sleep(20)) });
    const look = slow("look", { timeoutMs: 5, effect: "read" });
    const broken = slow("broken", { execute: () => Promise.reject(new Error("no")) });
    const { executor } = setup([add, late, cut, look, broken]);
    await executor.execute(useOf(add, { n: 1 }), RUN);
    for (const tool of [late, look, broken]) await executor.execute(useOf(tool), RUN);
    await executor.execute(useOf(cut), { ...RUN, signal: leave.signal });
    const unstarted = await executor.execute(useOf(cut), { ...RUN, signal: AbortSignal.abort() });
    expect(unstarted).toMatchObject({ status: "failed" });
    expect((await executor.undoRun("run")).notUndone).toMatchObject([
      { status: "refused", toolName: "cut", error: { code: "outcome_unknown" } },
      { status: "refused", toolName: "late", error: { code: "outcome_unknown" } },
    ]);
    expect(undone).toHaveLength(1);
  });

  it("reports what somebody works on, or did when a process died, and nothing that was undone before", async () => {
    const { add } = shelf();
    const { tool } = counted();
    const { executor, store } = setup([add, tool]);
    await executor.execute(useOf(add, { n: 1 }), RUN);
    await executor.undoRun("run");
    for (const status of ["started", "unknown"]) {
      await executor.execute(useOf(tool, {}, { invocationId: status }), RUN);
      const { value } = (await store.get<any>(`action/run/${status}`))!;
      const lease = { owner: "other", until: Date.now() + 60_000 };
      await store.put(`action/run/${status}`, { ...value, status, lease, error: { code: "x", message: "y" } });
    }
    const { undone, notUndone } = await executor.undoRun("run");
    expect(undone).toEqual([]);
    expect(notUndone).toMatchObject([
      { actionId: "run/unknown", error: { code: "outcome_unknown" } },
      { actionId: "run/started", error: { code: "not_undoable" } },
    ]);
  });

  it("can stop at the first that it could not", async () => {
    const { undone, things, add } = shelf();
    const { executor } = setup([add]);
    for (const n of [1, 2, 3]) await executor.execute(useOf(add, { n }), RUN);
    things.set(2, "changed");
    const report = await executor.undoRun("run", undefined, { onFailure: "stop" });
    expect(undone.map(({ record }) => record.input.n)).toEqual([3, 2]);
    expect(report.notUndone).toHaveLength(1);
    expect(things.has(1)).toBe(true);
  });

  it("of an empty run is an empty report", async () => {
    const { executor } = setup([shelf().add]);
    expect(await executor.undoRun("nothing")).toEqual({ runId: "nothing", undone: [], notUndone: [] });
  });
});
