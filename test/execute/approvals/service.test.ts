import { getEventListeners } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ToolError } from "../../../src/errors.ts";
import {
  ApprovalError,
  approvalDigest,
  approvalSession,
  approvedInput,
  ApprovalService,
} from "../../../src/execute/approvals/index.ts";
import type { ApprovalAsk, ApprovalServiceOptions, ServerMessage } from "../../../src/execute/approvals/index.ts";
import { memoryStore, storeKey, type Store } from "../../../src/store/index.ts";
import { defineTool } from "../../../src/tool/tool.ts";
import { soon, until } from "../../soon.ts";

const refund = defineTool({
  name: "refund_order",
  inputSchema: z.object({ order: z.string(), cents: z.number().int().positive() }),
  execute: () => "done",
});

const ada = { id: "ada", tenant: "acme" };
const bob = { id: "bob", tenant: "acme" };
const eve = { id: "eve", tenant: "evil" };

let store: Store = memoryStore();
afterEach(() => {
  store = memoryStore();
});

function ask(more: Partial<ApprovalAsk> = {}): ApprovalAsk {
  return {
    runId: "run_1",
    invocationId: "0.0",
    toolName: "refund_order",
    input: { order: "A1", cents: 500 },
    definitionDigest: "sha256:tool",
    message: "Refund 5.00 for order A1?",
    ...more,
  };
}

function service(more: Partial<ApprovalServiceOptions> = {}): ApprovalService {
  return new ApprovalService({ store, tools: [refund], ...more });
}

/** One with principals: tenants apart, bob has asked. */
function withPrincipals(more: Partial<ApprovalServiceOptions> = {}): ApprovalService {
  return service({ mayDecide: (principal, { metadata }) => principal["tenant"] === metadata["tenant"], ...more });
}

const asked = ask({ requestedBy: bob, metadata: { tenant: "acme" } });

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ApprovalError) return error.code;
    return String(error);
  }
  return "no error";
}

describe("asking", () => {
  it("gives the same row for the same run, invocation and digest, also from a fresh process", async () => {
    const first = await service().request(ask());
    const again = await service().request(ask());
    expect(again).toEqual(first);
    expect(first).toMatchObject({ status: "pending", seq: 1, input: { order: "A1", cents: 500 } });
    expect(await service().list()).toHaveLength(1);
  });

  it("gives ids that nobody can guess", async () => {
    const ids = await Promise.all(
      Array.from({ length: 100 }, async (_, at) => (await service().request(ask({ invocationId: `${at}` }))).id),
    );
    expect(new Set(ids).size).toBe(100);
    expect(ids.every((id) => /^apr_[0-9a-f]{48}$/.test(id))).toBe(true);
  });

  it("makes one row of many who ask at once", async () => {
    // Like a store on another machine: all have looked before any has written.
    const later = () => new Promise((resolve) => setTimeout(resolve, 5));
    const far: Store = {
      ...store,
      get: async (key) => (await later(), store.get(key)),
      put: async (...args) => (await later(), store.put(...args)),
    };
    const rows = await Promise.all(Array.from({ length: 20 }, () => service({ store: far }).request(ask())));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(1);
    expect(await service().list()).toHaveLength(1);
  });

  it("does not mistake one run for another whose id begins alike, or holds a slash", async () => {
    const one = await service().request(ask({ runId: "r", invocationId: "1/2" }));
    const other = await service().request(ask({ runId: "r/1", invocationId: "2" }));
    expect(one.id).not.toBe(other.id);
    expect((await service().list({ runId: "r" })).map(({ id }) => id)).toEqual([one.id]);
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty", ""])(
    '"names/ids as object keys": %j as run, invocation, tool and scope',
    async (name) => {
      const row = await service().request(
        ask({ runId: name, invocationId: name, toolName: name, scope: name, message: name }),
      );
      expect((await service().decide(row.id, { decision: "deny" })).status).toBe("denied");
      expect(await codeOf(service().decide(name, { decision: "approve" }))).toBe("approval_not_found");
      expect(await service().list({ runId: name })).toHaveLength(1);
    },
  );

  it('"round-trip of a lone surrogate through the store", "__proto__": shown as they are', async () => {
    const input: unknown = JSON.parse('{"text":"\\ud800","__proto__":{"polluted":1}}');
    const row = await service().request(ask({ input }));
    expect(JSON.stringify(row.input)).toBe('{"text":"\\ud800","__proto__":{"polluted":1}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('"big state": 5 MB of input, approved at once', async () => {
    const row = await service().request(ask({ input: { text: "x".repeat(5_000_000) } }));
    await service().decide(row.id, { decision: "approve" });
    expect((await service().await(row.id)).status).toBe("approved");
  });

  it.each([
    [{ runId: 5 as never }, /runId/],
    [{ requestedBy: { id: "" } }, /principal/],
    [{ ttlMs: -1 }, /ttlMs/],
    [{ scope: 42 as never }, /scope/],
  ])("refuses %j", async (more, message) => {
    await expect(service().request(ask(more))).rejects.toThrow(message);
  });
});

describe('"approval TOCTOU": digest differs -> new approval, old void', () => {
  it.each<[string, Partial<ApprovalAsk>]>([
    ["another input", { input: { order: "A1", cents: 999_999 } }],
    ["another definition, or another executable behind it", { definitionDigest: "sha256:swapped" }],
    ["another tool", { toolName: "delete_order" }],
  ])("%s", async (_, change) => {
    const before = await service().request(ask());
    await service().decide(before.id, { decision: "approve" });
    const after = await service().request(ask(change));
    expect(after).toMatchObject({ status: "pending", replaces: before.id });
    expect(after.id).not.toBe(before.id);
    expect(await service().get(before.id)).toMatchObject({ status: "void", decidedAt: expect.any(Number) });
    expect(await codeOf(service().decide(before.id, { decision: "approve" }))).toBe("approval_void");
  });

  it("gives the decision as it was made, though the call changes before it is announced", async () => {
    const row = await service().request(ask());
    let isChanged = false;
    const changing: Store = {
      ...store,
      put: async (key, value, options) => {
        const version = await store.put(key, value, options);
        if (!isChanged) {
          isChanged = true;
          await service().request(ask({ definitionDigest: "sha256:swapped" }));
        }
        return version;
      },
    };
    const decided = await service({ store: changing }).decide(row.id, { decision: "approve" });
    expect(decided).toMatchObject({ status: "approved", decidedSeq: expect.any(Number) });
    const now = await service().get(row.id);
    expect(now).toMatchObject({ status: "void", seq: decided.seq, decidedSeq: decided.decidedSeq });
  });

  it('"mutate args object" after the request changes nothing that is stored', async () => {
    const input = { order: "A1", cents: 500 };
    const row = await service().request(ask({ input }));
    input.cents = 999_999;
    expect((await service().decide(row.id, { decision: "approve" })).input).toEqual({ order: "A1", cents: 500 });
    expect((await service().request(ask({ input }))).status).toBe("pending");
  });

  it("what was denied stays so", async () => {
    const before = await service().request(ask());
    await service().decide(before.id, { decision: "deny" });
    expect(await service().request(ask({ input: {} }))).toMatchObject({ status: "pending", replaces: before.id });
    expect(await service().get(before.id)).toMatchObject({ status: "denied" });
  });

  it("tells whoever waits for the old one", async () => {
    const row = await service().request(ask());
    const waiting = service().await(row.id);
    await service().request(ask({ input: {} }));
    expect((await waiting).status).toBe("void");
  });

  it("keeps a bounded number of void requests of one call", async () => {
    for (let cents = 1; cents <= 30; cents++) await service().request(ask({ input: { cents } }));
    const all = await service().list({ runId: "run_1" });
    expect(all.map(({ status }) => status).filter((status) => status === "pending")).toHaveLength(1);
    expect(all.length).toBeLessThan(25);
    expect(await store.list("approval/id/")).toHaveLength(all.length);
    await service().forget("run_1");
    expect(await store.list("approval/id/")).toEqual([]);
  });
});

it("fails, and does not go on trying, where the store takes no request", async () => {
  const down = new ToolError("store_failed", "Down.");
  const put: Store["put"] = (key, ...rest) => (key.includes("/call/") ? Promise.reject(down) : store.put(key, ...rest));
  await expect(service({ store: { ...store, put } }).request(ask())).rejects.toBe(down);
});

describe("a request whose time is over", () => {
  const early = Date.now();
  const late = () => early + 86_400_001;

  it("is expired at the first look", async () => {
    const { id } = await service({ now: () => early }).request(ask());
    expect(await service({ now: late }).get(id)).toMatchObject({ status: "expired", decidedBy: null });
  });

  it("is what was decided while that is written", async () => {
    const { id } = await service({ now: () => early }).request(ask());
    let reads = 0;
    const get: Store["get"] = async (key) => {
      // Read as pending, and then again, to be written.
      const isSecond = key.includes("/call/") && ++reads === 2;
      if (isSecond) await service({ now: () => early }).decide(id, { decision: "approve" });
      return store.get(key);
    };
    expect(await service({ now: late, store: { ...store, get } }).get(id)).toMatchObject({ status: "approved" });
    expect(await service({ now: late }).get(id)).toMatchObject({ status: "approved" });
  });
});

describe("deciding", () => {
  it('"first wins": "same approval answered twice (approve+approve, approve+deny)" gets the first outcome', async () => {
    const approvals = withPrincipals();
    const { id } = await approvals.request(asked);
    await approvals.decide(id, { decision: "approve", reason: "fine" }, ada);
    for (const decision of ["approve", "deny"] as const) {
      const error = await approvals.decide(id, { decision }, ada).catch((reason: unknown) => reason as ApprovalError);
      expect(error).toMatchObject({
        code: "already_decided",
        request: { status: "approved", decidedBy: "ada", reason: "fine" },
      });
    }
  });

  it('"forged id" and "other run\'s id": nothing is found', async () => {
    const approvals = withPrincipals();
    await approvals.request(asked);
    for (const id of ["apr_1", "", "0.0", "run_1", `apr_${"0".repeat(48)}`, "../id", "__proto__"]) {
      expect(await codeOf(approvals.decide(id, { decision: "approve" }, ada))).toBe("approval_not_found");
    }
  });

  it('"other tenant": the same answer as for an id that never was', async () => {
    const approvals = withPrincipals();
    const { id } = await approvals.request(asked);
    const answerTo = (requestId: string) =>
      approvals.decide(requestId, { decision: "approve" }, eve).catch((error: unknown) => error as ApprovalError);
    const [real, forged] = [await answerTo(id), await answerTo("apr_nothing")] as ApprovalError[];
    expect(real!.code).toBe("approval_not_found");
    expect([real!.message, real!.request]).toEqual([forged!.message, forged!.request]);
    expect((await approvals.get(id))?.status).toBe("pending");
    // Also when it is decided: `already_decided` would tell.
    await approvals.decide(id, { decision: "deny" }, ada);
    expect(await codeOf(approvals.decide(id, { decision: "approve" }, eve))).toBe("approval_not_found");
  });

  it('"self-approval by the requesting principal" is refused unless told so', async () => {
    const { id } = await withPrincipals().request(asked);
    expect(await codeOf(withPrincipals().decide(id, { decision: "approve" }, bob))).toBe("approval_not_allowed");
    const told = withPrincipals({ allowSelfApproval: true });
    expect((await told.decide(id, { decision: "approve" }, bob)).decidedBy).toBe("bob");
  });

  it('"expired"', async () => {
    let now = 1_000;
    const approvals = withPrincipals({ now: () => now, ttlMs: 100 });
    const { id } = await approvals.request(asked);
    now += 100;
    expect(await codeOf(approvals.decide(id, { decision: "approve" }, ada))).toBe("approval_expired");
    expect(await approvals.get(id)).toMatchObject({ status: "expired", decidedBy: null });
    expect((await approvals.request(asked)).status).toBe("expired");
  });

  it('"edited args outside schema": refused, and still to be decided', async () => {
    const approvals = service();
    const { id } = await approvals.request(ask());
    for (const editedInput of [{ order: "A1", cents: -5 }, { order: "A1" }, "A1", null, 5]) {
      expect(await codeOf(approvals.decide(id, { decision: "approve", editedInput }))).toBe("invalid_input");
    }
    const edit = { decision: "approve", editedInput: { order: "A1", cents: -5 } } as const;
    await expect(approvals.decide(id, edit)).rejects.toMatchObject({
      message: expect.stringMatching(/^The edited input does not fit refund_order: .*cents/),
      issues: [{ path: ["cents"] }],
    });
    expect((await approvals.get(id))?.status).toBe("pending");
  });

  it('"decision before request is committed": an id that leads to no request yet is not found', async () => {
    const { id } = await service().request(ask());
    // As a process leaves it that dies between its two writes.
    await store.delete(storeKey("approval", "call", "run_1", "0.0"));
    expect(await codeOf(service().decide(id, { decision: "approve" }))).toBe("approval_not_found");
    expect((await service().request(ask())).id).not.toBe(id);
  });

  it('"args mutated between approval and execution": an edit is a full replacement, and what is stored is what runs', async () => {
    const approvals = service();
    const { id, digest } = await approvals.request(ask());
    const editedInput = { order: "A1", cents: 100, note: "dropped by the schema" };
    const row = await approvals.decide(id, { decision: "approve", editedInput });
    editedInput.cents = 1;
    expect(approvedInput(row)).toEqual({ order: "A1", cents: 100 });
    const { toolName, definitionDigest } = row;
    expect(row.digest).toBe(await approvalDigest({ toolName, definitionDigest, input: { order: "A1", cents: 100 } }));
    expect(row.digest).not.toBe(digest);
    // The executor asks again with the model's input, right before it runs: the same, approved row.
    expect(await approvals.request(ask())).toEqual(row);
  });

  it("refuses an edit that the schema makes into what JSON cannot hold", async () => {
    const tool = defineTool({
      name: "refund_order",
      inputSchema: z.object({ at: z.string().transform((at) => new Date(at)) }),
    });
    const approvals = service({ tools: [tool] });
    const { id } = await approvals.request(ask());
    const editedInput = { at: "2026-11-22" };
    expect(await codeOf(approvals.decide(id, { decision: "approve", editedInput }))).toBe("invalid_input");
  });

  it.each<[string, z.ZodType, unknown, unknown]>([
    ["which the schema would transform once more", z.number().transform((euros) => euros * 100), 600, undefined],
    ["which the schema leaves as it is", z.number().transform((euros) => euros * 100), 0, 0],
    ["of which the schema makes its normal form", z.string().trim().toLowerCase(), " Oslo", "oslo"],
    ["in which the schema fills in a default", z.number().default(5), undefined, 5],
  ])("takes an edit as what was shown, which has been transformed already: one %s", async (_, part, edit, ran) => {
    const tool = defineTool({ name: "refund_order", inputSchema: z.object({ part }) });
    const approvals = service({ tools: [tool] });
    const { id } = await approvals.request(ask());
    const deciding = approvals.decide(id, { decision: "approve", editedInput: { part: edit } });
    if (ran === undefined) expect(await codeOf(deciding)).toBe("invalid_input");
    else expect((await deciding).editedInput).toEqual({ part: ran });
  });

  it.each([300, 100_000])("refuses an edit that nests %i levels deep, as no call may", async (levels) => {
    const tool = defineTool({ name: "refund_order", inputSchema: z.object({ lines: z.any() }) });
    const approvals = service({ tools: [tool] });
    const { id } = await approvals.request(ask());
    let lines: unknown[] = [];
    for (let level = 0; level < levels; level++) lines = [lines];
    expect(await codeOf(approvals.decide(id, { decision: "approve", editedInput: { lines } }))).toBe("invalid_input");
  });

  it("mayDecide is required as soon as there are principals", async () => {
    const approvals = service();
    const { id } = await approvals.request(ask());
    await expect(approvals.decide(id, { decision: "approve" }, ada)).rejects.toThrow(TypeError);
    const other = await approvals.request(ask({ invocationId: "0.1", requestedBy: bob }));
    expect(await codeOf(approvals.decide(other.id, { decision: "approve" }))).toBe("approval_not_allowed");
  });

  it("where there is a mayDecide, nobody decides without saying who, whoever has asked", async () => {
    const approvals = service({ mayDecide: () => true });
    const { id } = await approvals.request(ask());
    await expect(approvals.decide(id, { decision: "approve" })).rejects.toMatchObject({
      code: "approval_not_allowed",
      message: expect.stringMatching(
        /decide\(id, decision, principal\), or .*approvals: \[\{ id, decision, principal \}\]/,
      ),
    });
    await expect(approvals.decide(id, { decision: "approve" }, { id: "" })).rejects.toThrow(TypeError);
    await expect(approvals.decide(id, { decision: "approve" }, {} as never)).rejects.toThrow(TypeError);
    expect((await approvals.get(id))?.status).toBe("pending");
  });

  it("a mayDecide that throws, or answers with anything but true, denies", async () => {
    const errors: unknown[] = [];
    const broken = () => {
      throw new Error("database down");
    };
    for (const mayDecide of [broken, async () => broken(), () => "yes" as never, () => undefined as never]) {
      const approvals = service({ mayDecide, onError: (error) => errors.push(error) });
      const { id } = await approvals.request(asked);
      expect(await codeOf(approvals.decide(id, { decision: "approve" }, ada))).toBe("approval_not_found");
      expect(await approvals.list({ principal: ada })).toEqual([]);
    }
    expect(errors.length).toBeGreaterThan(1);
  });

  it("an onError that fails, at once or later, changes nothing and ends no process", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const mayDecide = () => {
      throw new Error("database down");
    };
    const failing = () => {
      throw new Error("log down");
    };
    try {
      for (const onError of [failing, async () => failing()]) {
        const { id } = await service().request(asked);
        const approvals = service({ mayDecide, onError });
        expect(await codeOf(approvals.decide(id, { decision: "approve" }, ada))).toBe("approval_not_found");
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
  });

  it.each([
    [{ decision: "maybe" }],
    [undefined],
    [{ decision: "deny", editedInput: {} }],
    [{ decision: "deny", always: {} }],
    [{ decision: "approve", editedInput: {}, always: {} }],
    [{ decision: "approve", reason: 5 }],
    [{ decision: "approve", edited_input: { order: "A1", cents: 1 } }],
    [{ decision: "approve", id: undefined, expiresAt: 5 }],
    ...[false, true, null, 0, "yes", []].map((always): [object] => [{ decision: "approve", always }]),
  ])("throws a TypeError for the decision %j", async (decision) => {
    const { id } = await service().request(ask());
    const deciding = service().decide(id, decision as never);
    await expect(deciding).rejects.toThrow(TypeError);
    await expect(deciding).rejects.not.toThrow(/Cannot read/);
    expect(await service().get(id)).toMatchObject({ status: "pending" });
  });
});

describe("waiting", () => {
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it.each([NaN, -1, "5"])("throws a TypeError for %j milliseconds", async (ms) => {
    const { id } = await service().request(ask());
    await expect(service().await(id, { timeoutMs: ms as never })).rejects.toThrow(TypeError);
    expect(() => service({ pollMs: ms as never })).toThrow(TypeError);
  });

  it("throws a TypeError for what it does not know", async () => {
    const { id } = await service().request(ask());
    await expect(service().await(id, { timeout: 5 } as never)).rejects.toThrow(/Did you mean timeoutMs/);
    for (const after of ["7", -1, NaN, null]) {
      await expect(
        service()
          .subscribe({ after: after as never })
          .next(),
      ).rejects.toThrow(/after is the number/);
    }
  });

  it("leaves nothing with the caller's signal, whether it ends well or not", async () => {
    const { signal } = new AbortController();
    const { id } = await service().request(ask());
    expect((await service().await(id, { signal, timeoutMs: 1 })).status).toBe("pending");
    const down = new ToolError("store_failed", "Down.");
    const deaf = service({ store: { ...store, subscribe: () => Promise.reject(down) } });
    await expect(deaf.await(id, { signal })).rejects.toBe(down);
    await expect(deaf.subscribe({ signal }).next()).rejects.toBe(down);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("leaves no timer that keeps the process from ending", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const clear = vi.spyOn(globalThis, "clearTimeout");
    const approvals = service({ pollMs: Infinity, ttlMs: Infinity });
    const { id } = await approvals.request(ask());
    const waiting = approvals.await(id);
    await soon(() => expect(set).toHaveBeenCalled());
    await approvals.decide(id, { decision: "approve" });
    await waiting;
    const cleared = clear.mock.calls.map(([timer]) => timer);
    expect(set.mock.results.filter(({ value }) => !cleared.includes(value))).toEqual([]);
    vi.restoreAllMocks();
  });

  it("ends with the decision, whenever it comes, in another service on the same store", async () => {
    for (let at = 0; at < 50; at++) {
      const { id } = await service().request(ask({ invocationId: `${at}` }));
      const [row] = await Promise.all([
        service().await(id),
        service().decide(id, { decision: at % 2 === 0 ? "approve" : "deny" }),
      ]);
      expect(row.status).toBe(at % 2 === 0 ? "approved" : "denied");
    }
  });

  it("is not put to sleep by a store that tells nothing", async () => {
    const silent: Store = { ...store, subscribe: async () => async () => {} };
    const { id } = await service().request(ask());
    const waiting = service({ store: silent, pollMs: 5 }).await(id);
    await service().decide(id, { decision: "approve" });
    expect((await waiting).status).toBe("approved");
  });

  it("outlives a store that fails for a moment, and not one that does for ever", async () => {
    let failures = 0;
    const shaky: Store = {
      ...store,
      get: async (key) => {
        if (failures === 0) return store.get(key);
        failures--;
        throw new ToolError("store_failed", "down");
      },
    };
    const errors: unknown[] = [];
    const approvals = service({ store: shaky, pollMs: 5, onError: (error) => errors.push(error) });
    const { id } = await approvals.request(ask());
    const waiting = approvals.await(id);
    await sleep(20);
    failures = 4;
    await soon(() => expect(errors.length).toBeGreaterThan(2));
    await soon(() => expect(failures).toBe(0));
    await service().decide(id, { decision: "approve" });
    expect((await waiting).status).toBe("approved");

    const other = await approvals.request(ask({ invocationId: "other" }));
    const inVain = approvals.await(other.id);
    await sleep(20);
    failures = Infinity;
    await expect(inVain).rejects.toMatchObject({ code: "store_failed" });
  });

  it("gives the request back still pending after its time, and expired after the request's", async () => {
    const approvals = service({ pollMs: Infinity });
    const { id } = await approvals.request(ask({ ttlMs: 60_000 }));
    expect((await approvals.await(id, { timeoutMs: 1 })).status).toBe("pending");
    const other = await approvals.request(ask({ invocationId: "other", ttlMs: 20 }));
    expect((await approvals.await(other.id)).status).toBe("expired");
  });

  it("waits no longer than it was told, though the clock is set back meanwhile", async () => {
    let ahead = 0;
    const approvals = service({ pollMs: 5, now: () => Date.now() + ahead });
    const { id } = await approvals.request(ask());
    const waiting = approvals.await(id, { timeoutMs: 300 });
    await sleep(20);
    ahead = -3_600_000;
    const late = sleep(5_000).then(() => "still waiting");
    expect(await Promise.race([waiting, late])).toMatchObject({ status: "pending" });
  });

  it("ends with the signal, before and while it waits", async () => {
    const { id } = await service().request(ask());
    await expect(service().await(id, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" });
    const stop = new AbortController();
    const waiting = service().await(id, { signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
    expect((await service().get(id))?.status).toBe("pending");
  });

  it("of an id that never was, finds nothing", async () => {
    expect(await codeOf(service().await("apr_1"))).toBe("approval_not_found");
  });
});

describe("listing", () => {
  it("tells a filter that nothing can match from one that nothing matches", async () => {
    expect(await service().list({ status: "denied" })).toEqual([]);
    await expect(service().list({ status: "open" as never })).rejects.toThrow(
      'status is "pending", "approved", "denied", "expired" or "void", got "open".',
    );
    await expect(service().list({ principal: "ada" as never })).rejects.toThrow(/principal/);
  });

  it('"only the first of several pending approvals is visible": list shows all after a cold start, in order', async () => {
    for (let at = 0; at < 15; at++) await service().request(ask({ invocationId: `${15 - at}` }));
    const listed = await service().list({ runId: "run_1", status: "pending" });
    expect(listed.map(({ invocationId }) => invocationId)).toEqual(Array.from({ length: 15 }, (_, at) => `${15 - at}`));
  });

  it('"pending calls keyed by tool name": two refunds with equal arguments are two requests, approved in any order', async () => {
    const one = await service().request(ask({ invocationId: "0.0" }));
    const two = await service().request(ask({ invocationId: "0.1" }));
    await service().decide(two.id, { decision: "approve" });
    expect((await service().get(one.id))?.status).toBe("pending");
    expect((await service().decide(one.id, { decision: "deny" })).invocationId).toBe("0.0");
    expect((await service().get(two.id))?.status).toBe("approved");
  });

  it('"parallel interrupts share one id": three at once have three ids, answered in reverse', async () => {
    const rows = await Promise.all(["0.0", "0.1", "0.2"].map((id) => service().request(ask({ invocationId: id }))));
    const waiting = rows.map(({ id }) => service().await(id));
    for (const [at, { id }] of [...rows.entries()].toReversed()) {
      await service().decide(id, { decision: at === 1 ? "deny" : "approve", reason: `${at}` });
    }
    const outcomes = await Promise.all(waiting);
    expect(outcomes.map(({ status, reason }) => [status, reason])).toEqual([
      ["approved", "0"],
      ["denied", "1"],
      ["approved", "2"],
    ]);
  });

  it.each<[string, string[], number]>([
    ["over all scopes", ["c", "b", "b", "a"], 1],
    ["in one scope, though the clock was set back", ["a", "a", "a"], -1],
  ])("in the order in which they were asked, %s", async (_, scopes, tick) => {
    let time = 1_000;
    const approvals = service({ now: () => (time += tick) });
    const ids = scopes.map((__, at) => `${9 - at}`);
    for (const [at, scope] of scopes.entries()) await approvals.request(ask({ invocationId: ids[at]!, scope }));
    expect((await approvals.list()).map(({ invocationId }) => invocationId)).toEqual(ids);
  });

  it("by status, by scope and for a principal", async () => {
    const approvals = withPrincipals();
    const { id } = await approvals.request(asked);
    await approvals.request(ask({ invocationId: "0.1", metadata: { tenant: "evil" }, scope: "evil" }));
    expect(await approvals.list({ scope: "evil" })).toHaveLength(1);
    expect(await approvals.list({ principal: ada })).toMatchObject([{ id }]);
    expect(await approvals.list({ principal: bob }), "who asked may not decide").toEqual([]);
    await approvals.decide(id, { decision: "deny" }, ada);
    expect(await approvals.list({ status: "denied" })).toMatchObject([{ id }]);
  });
});

it.each([undefined, null, {}, "ada"])(
  "a session of %j, who is nobody, is refused: it would be sent everything",
  (who) => {
    const open = () => approvalSession({ service: withPrincipals(), principal: who as never, send: () => {} });
    expect(open).toThrow(TypeError);
    expect(open).toThrow(/principal/);
  },
);

it.each<[string, object, RegExp]>([
  ["whose service lets nobody decide", { service: service() }, /needs a service with mayDecide/],
  ["without a service", { service: undefined }, /needs a service: new ApprovalService/],
  ["that sends nowhere", { send: undefined }, /send is a function, got undefined/],
  ["with a redaction that is none", { redact: ["card"] }, /redact is a function, got an array/],
])("a session %s is refused, where it would be silent", (_, wrong, message) => {
  const options = { service: withPrincipals(), principal: ada, send: () => {} };
  expect(() => approvalSession({ ...options, ...wrong })).toThrow(TypeError);
  expect(() => approvalSession({ ...options, ...wrong })).toThrow(message);
});

describe("keeping", () => {
  it("forgets a request some time after it was decided, not before", async () => {
    const approvals = service({ retentionMs: 400 });
    const { id } = await approvals.request(ask());
    const open = await approvals.request(ask({ invocationId: "0.1" }));
    await approvals.decide(id, { decision: "approve" });
    expect((await approvals.request(ask())).id).toBe(id);
    await until(async () => (await approvals.get(id)) === undefined);
    expect(await approvals.list()).toMatchObject([{ id: open.id, status: "pending" }]);
    expect(await codeOf(approvals.decide(id, { decision: "deny" }))).toBe("approval_not_found");
    // Soon nothing leads there any more either.
    await soon(async () => {
      const left = await store.list("approval/id/");
      expect(left.map(({ key }) => key)).toEqual([`approval/id/${open.id}`]);
    });
    expect((await approvals.request(ask())).id).not.toBe(id);
  });

  it("forgets the events of what it has forgotten, and gives no number twice", async () => {
    const approvals = service({ retentionMs: 20 });
    const open = await approvals.request(ask({ invocationId: "open" }));
    const decide = async (from: number, count: number) => {
      for (let n = from; n < from + count; n++) {
        const { id } = await approvals.request(ask({ invocationId: `0.${n}` }));
        await approvals.decide(id, { decision: "deny" });
      }
    };
    await decide(0, 100);
    await new Promise((resolve) => setTimeout(resolve, 60));
    // A process that has seen nothing before.
    const later = service({ retentionMs: 20 });
    expect(await later.position()).toBe(201);
    await decide(100, 120);
    expect(await service().position()).toBe(441);
    const log = await store.list(`${storeKey("approval", "log", "default")}/`);
    expect(log.length).toBeLessThan(300);
    for await (const { seq, request } of service().subscribe()) {
      expect([seq, request.id]).toEqual([1, open.id]);
      break;
    }
  });

  it.each([true, false])("keeps what was asked again in its place (decided before: %s)", async (isDecided) => {
    const approvals = service({ retentionMs: 20 });
    const before = await approvals.request(ask());
    if (isDecided) await approvals.decide(before.id, { decision: "approve" });
    const { id } = await approvals.request(ask({ input: {} }));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect((await approvals.get(id))?.status).toBe("pending");
  });
});

describe("withdraw()", () => {
  it("makes what is pending of a run, or of one call, void: once, told to all, and nothing of other runs", async () => {
    const approvals = service();
    const call = await approvals.request(ask());
    const other = await approvals.request(ask({ invocationId: "0.1" }));
    const decided = await approvals.request(ask({ invocationId: "0.2" }));
    const elsewhere = await approvals.request(ask({ runId: "run_10" }));
    await approvals.decide(decided.id, { decision: "approve" });
    const statuses = () =>
      Promise.all([call, other, decided, elsewhere].map(async ({ id }) => (await approvals.get(id))?.status));
    await approvals.withdraw("run_1", "0.0");
    expect(await statuses()).toEqual(["void", "pending", "approved", "pending"]);
    await approvals.withdraw("run_1");
    await approvals.withdraw("run_1");
    expect(await statuses()).toEqual(["void", "void", "approved", "pending"]);
    // Four were asked, three are decided: no event comes twice.
    expect(await approvals.position()).toBe(7);
    expect(await codeOf(approvals.decide(call.id, { decision: "approve" }))).toBe("approval_void");
  });

  it("refuses what is no runId, since nothing of any run is meant", async () => {
    const { id } = await service().request(ask());
    for (const none of [undefined, ""]) await expect(service().withdraw(none as string)).rejects.toThrow(TypeError);
    expect((await service().get(id))?.status).toBe("pending");
  });
});

describe("forget()", () => {
  it("deletes the requests of one run, open or decided, and what leads to them", async () => {
    const approvals = service();
    const { id } = await approvals.request(ask());
    await approvals.decide(id, { decision: "approve" });
    await approvals.request(ask({ input: "other" }));
    await approvals.request(ask({ invocationId: "0.1", scope: "team" }));
    await approvals.request(ask({ runId: "run_10" }));
    await approvals.forget("run_1");
    const left = (await store.list("approval/")).filter(({ key }) => !key.startsWith("approval/log"));
    expect(left.map(({ key }) => key.split("/")[1])).toEqual(["call", "id", "open"]);
    expect(await approvals.list()).toMatchObject([{ runId: "run_10" }]);
    expect(await approvals.request(ask())).toMatchObject({ status: "pending" });
    await expect(approvals.forget("")).rejects.toThrow(TypeError);
  });

  it("tells whoever waits that there is nothing to wait for any more", async () => {
    const { id } = await service().request(ask());
    const waiting = codeOf(service().await(id));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await service().forget("run_1");
    expect(await waiting).toBe("approval_not_found");
  });
});

describe('"state as input": hand-edited state is refused', () => {
  const key = storeKey("approval", "call", "run_1", "0.0");
  const edit = async (change: Record<string, unknown>) => {
    const entry = await store.get<{ requests: object[] }>(key);
    await store.put(key, { format: 1, requests: [{ ...entry!.value.requests[0], ...change }] });
  };

  it.each<[string, Record<string, unknown>]>([
    ["status skipped to approved", { status: "approved" }],
    ["an unknown status", { status: "constructor" }],
    ["decided and pending again", { decidedAt: 1 }],
    ["an edited input without its digest", { status: "approved", decidedAt: 1, editedInput: { cents: 1 } }],
    ["another digest", { status: "approved", decidedAt: 1, digest: "sha256:other" }],
    ["another call's request", { invocationId: "0.9" }],
    ["a field that is no text", { toolName: { toString: "refund_order" } }],
  ])("%s", async (_, change) => {
    await service().request(ask());
    await edit(change);
    expect(await codeOf(service().request(ask()))).toBe("invalid_approval");
  });

  it("says nothing of it to a client", async () => {
    const { id } = await service().request(ask());
    await edit({ status: "constructor" });
    const sent: ServerMessage[] = [];
    const session = approvalSession({ service: withPrincipals(), principal: eve, send: (one) => void sent.push(one) });
    await session.receive(JSON.stringify({ type: "approval.decide", request_id: id, decision: "approve" }));
    await session.end();
    expect(sent.filter(({ type }) => type === "approval.error")).toMatchObject([{ code: "internal_error" }]);
    expect(JSON.stringify(sent)).not.toContain("run_1");
  });

  it.each([
    [{ format: 2, requests: [] }],
    [[]],
    ["approved"],
    [null],
    [{ requests: [] }],
    [{ format: 1, requests: 5 }],
    [{ format: 1, requests: [null] }],
    [{ format: 1, requests: ["approved"] }],
  ])("the record %j", async (record) => {
    await store.put(key, record);
    expect(await codeOf(service().request(ask()))).toBe("invalid_approval");
  });

  it("is left out where others are listed or told of, and where it is forgotten", async () => {
    const damaged = await service().request(ask());
    const { id } = await service().request(ask({ runId: "run_2" }));
    await edit({ status: "constructor" });
    const errors: unknown[] = [];
    const approvals = service({ onError: (error) => void errors.push(error) });
    for (const filter of [{}, { status: "pending" as const }]) {
      expect((await approvals.list(filter)).map((request) => request.id)).toEqual([id]);
    }
    for await (const event of approvals.subscribe()) {
      expect(event.request.id).toBe(id);
      break;
    }
    expect(errors.length).toBeGreaterThan(2);
    for (const error of errors) expect(error).toMatchObject({ code: "invalid_approval" });
    expect(await codeOf(approvals.get(damaged.id))).toBe("invalid_approval");
    expect(await codeOf(approvals.decide(damaged.id, { decision: "approve" }))).toBe("invalid_approval");
    await approvals.forget("run_1");
    expect(await approvals.get(damaged.id)).toBeUndefined();
  });

  it("of a newer version is not lost to that one, however long it waits", async () => {
    const { id } = await service().request(ask());
    const { value } = (await store.get<object>(key))!;
    await store.put(key, { ...value, format: 2 });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_700_000 });
    expect(await service().list({ status: "pending" })).toEqual([]);
    vi.useRealTimers();
    await store.put(key, value);
    expect(await service().list({ status: "pending" })).toMatchObject([{ id }]);
  });
});

describe("what is shown and decided", () => {
  it("is a text for a number that JSON has none for", async () => {
    const { id, input } = await service().request(ask({ input: { order: 5n } }));
    expect(input).toEqual({ order: "5" });
    expect((await service().get(id))!.input).toEqual({ order: "5" });
  });

  it("cannot be edited where nobody knows the tool that would check it", async () => {
    const { id } = await service().request(ask({ toolName: "other" }));
    const decided = service().decide(id, { decision: "approve", editedInput: {} });
    expect(await codeOf(decided)).toBe("invalid_input");
    expect((await service().get(id))!.status).toBe("pending");
  });

  it("cannot be edited where nothing is there to check it", async () => {
    const approvals = service({ tools: undefined });
    const { id } = await approvals.request(ask());
    const decided = approvals.decide(id, { decision: "approve", editedInput: { order: "A1", cents: 1 } });
    await expect(decided).rejects.toThrow(/needs tools \(or validateInput\)/);
    expect((await approvals.get(id))!.status).toBe("pending");
  });

  it("is not decided over a session that has ended", async () => {
    const { id } = await service().request(ask());
    const sent: ServerMessage[] = [];
    const approvals = service({ mayDecide: () => true });
    const session = approvalSession({ service: approvals, principal: ada, send: (one) => void sent.push(one) });
    await soon(() => expect(sent.at(-1)?.type).toBe("approval.ready"));
    const before = [...sent];
    const late = session.receive(JSON.stringify({ type: "approval.get", request_id: id }));
    await session.end();
    await late;
    await session.receive(JSON.stringify({ type: "approval.decide", request_id: id, decision: "approve" }));
    expect(sent).toEqual(before);
    expect((await approvals.get(id))!.status).toBe("pending");
  });

  it("is decided over a session whose client cannot be told, which is said to the server", async () => {
    const approvals = withPrincipals();
    const { id } = await approvals.request(asked);
    const [gone, errors]: [Error, unknown[]] = [new Error("The client is gone."), []];
    const session = approvalSession({
      service: approvals,
      principal: ada,
      send: () => Promise.reject(gone),
      onError: (error) => errors.push(error),
    });
    await session.receive(JSON.stringify({ type: "approval.decide", request_id: id, decision: "approve" }));
    expect(await approvals.get(id)).toMatchObject({ status: "approved", decidedBy: "ada" });
    await soon(() => expect(errors.length).toBeGreaterThan(1));
    expect(new Set(errors)).toEqual(new Set([gone]));
    await session.end();
  });

  it("is not decided where the request is gone at that moment", async () => {
    const approvals = service({
      mayDecide: async () => {
        for (const { key } of await store.list("approval/call/")) await store.delete(key);
        return true;
      },
    });
    const { id } = await approvals.request(ask());
    expect(await codeOf(approvals.decide(id, { decision: "approve" }, ada))).toBe("approval_not_found");
  });
});
