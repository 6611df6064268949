import { beforeEach, describe, expect, it } from "vitest";
import { ToolError } from "../../../src/errors.ts";
import { ApprovalService, type ApprovalAsk, type GrantOptions } from "../../../src/execute/approvals/index.ts";
import { memoryStore, type Store } from "../../../src/store/index.ts";
import { busyMs } from "../../busy-ms.ts";

let store: Store;
let now: number;
let approvals: ApprovalService;
let calls = 0;

const ada = { id: "ada" };
const bob = { id: "bob" };

beforeEach(() => {
  store = memoryStore();
  now = Date.now();
  approvals = new ApprovalService({
    store,
    now: () => now,
    mayDecide: () => true,
    validateInput: (_, value) => ({ ok: true, value }),
  });
});

function ask(input: unknown, more: Partial<ApprovalAsk> = {}): ApprovalAsk {
  return {
    runId: "run_1",
    invocationId: `${calls++}`,
    toolName: "refund_order",
    input,
    definitionDigest: "sha256:tool",
    message: "Refund?",
    requestedBy: bob,
    ...more,
  };
}

const small = { customer: { id: "c1" }, cents: 500 };

function nested(levels: number): Record<string, unknown> {
  let value = {};
  for (let level = 0; level < levels; level++) value = { not: value };
  return value;
}

/** Ada says "always" to a call of bob's, which then runs. */
async function always(input: unknown, options: GrantOptions = {}) {
  const { id } = await approvals.request(ask(input));
  const row = await approvals.decide(id, { decision: "approve", always: options }, ada);
  await approvals.succeeded(id);
  return row;
}

const statusOf = async (input: unknown, more?: Partial<ApprovalAsk>) =>
  (await approvals.request(ask(input, more))).status;

describe('"always allow" too wide', () => {
  it("covers exactly the input that was shown, by default", async () => {
    const { id } = await always(small);
    expect(await approvals.request(ask({ cents: 500, customer: { id: "c1" } }))).toMatchObject({
      status: "approved",
      decidedBy: "ada",
      grantId: id,
    });
    expect(await statusOf({ ...small, cents: 501 })).toBe("pending");
    expect(await statusOf({ ...small, note: "x" })).toBe("pending");
  });

  it('"keyed by tool + definition digest + arg predicate + principal + expiry"', async () => {
    await always(small, { ttlMs: 1_000 });
    expect(await statusOf(small)).toBe("approved");
    expect(await statusOf(small, { toolName: "refund_order_2" })).toBe("pending");
    expect(await statusOf(small, { definitionDigest: "sha256:changed" })).toBe("pending");
    expect(await statusOf(small, { requestedBy: { id: "eve" } })).toBe("pending");
    expect(await statusOf(small, { requestedBy: undefined })).toBe("pending");
    expect(await statusOf(small, { scope: "other" })).toBe("pending");
    now += 1_000;
    expect(await statusOf(small)).toBe("pending");
  });

  it("by places in the input", async () => {
    await always(small, { where: { equals: [{ path: ["customer", "id"], value: "c1" }] } });
    expect(await statusOf({ customer: { id: "c1" }, cents: 1 })).toBe("approved");
    expect(await statusOf({ customer: { id: "c2" }, cents: 1 })).toBe("pending");
    expect(await statusOf({ customer: {}, cents: 1 })).toBe("pending");
    expect(await statusOf("c1")).toBe("pending");
  });

  it("by places of its own only: not what every object, or every text, has", async () => {
    const equals = [{ path: ["note"], value: {} }];
    const everywhere = [
      { path: ["constructor", "name"], value: "Object" },
      { path: ["__proto__", "__proto__"], value: null },
      { path: ["customer", "id", "length"], value: 2 },
    ];
    for (const place of everywhere) {
      await expect(always(small, { where: { equals: [place] } })).rejects.toMatchObject({ code: "invalid_input" });
    }
    const { id } = await always({ ...small, note: {} }, { where: { equals } });
    const [{ key, value }] = (await store.list<any>("approval/grant/")) as [any];
    expect(value.approvalId).toBe(id);
    for (const place of everywhere) {
      await store.put(key, { ...value, where: { equals: [place] } });
      expect(await statusOf(small)).toBe("pending");
    }
  });

  it("by a JSON Schema", async () => {
    const schema = { type: "object", properties: { cents: { maximum: 1000 } }, required: ["cents"] };
    await always(small, { where: { schema } });
    expect(await statusOf({ cents: 1000 })).toBe("approved");
    expect(await statusOf({ cents: 1001 })).toBe("pending");
    expect(await statusOf({})).toBe("pending");
  });

  it('"regexes" that a client gave: no input makes them hang, one that is too long for them is asked about', async () => {
    const schema = { properties: { text: { pattern: "^.*.*.*.*x$" } } };
    await always({ text: "x" }, { where: { schema } });
    expect(await statusOf({ text: "yx" })).toBe("approved");
    const start = busyMs();
    expect(await statusOf({ text: "y".repeat(5_000) })).toBe("pending");
    expect(busyMs() - start).toBeLessThan(2_000);
  });

  it("by both, where there are both", async () => {
    const schema = { type: "object", properties: { cents: { maximum: 1000 } } };
    await always(small, { where: { equals: [{ path: ["customer", "id"], value: "c1" }], schema } });
    expect(await statusOf({ ...small, cents: 1000 })).toBe("approved");
    expect(await statusOf({ ...small, cents: 1001 })).toBe("pending");
    expect(await statusOf({ ...small, customer: { id: "c2" } })).toBe("pending");
  });

  it("what somebody made of a stored one, or a newer version, covers nothing", async () => {
    await always(small);
    const [entry] = await store.list<{ where: object }>("approval/grant/");
    await store.put(entry!.key, { ...entry!.value, where: { ...entry!.value.where, below: 5 } });
    expect(await statusOf(small)).toBe("pending");
  });

  it('"shown scope = stored scope": changing what was handed in changes nothing', async () => {
    const where = { equals: [{ path: ["cents"], value: 500 as unknown }] };
    const row = await always(small, { where });
    where.equals[0]!.value = 1;
    where.equals.length = 0;
    const [grant] = await approvals.grants();
    expect(grant).toMatchObject(row.always!);
    expect(grant!.where).toEqual({ equals: [{ path: ["cents"], value: 500 }] });
  });

  it('"failed calls teach nothing": it counts once the call has succeeded', async () => {
    const { id } = await approvals.request(ask(small));
    await approvals.decide(id, { decision: "approve", always: {} }, ada);
    expect(await statusOf(small)).toBe("pending");
    await approvals.succeeded(id);
    await approvals.succeeded(id);
    expect(await statusOf(small)).toBe("approved");
    expect(await approvals.grants()).toHaveLength(1);
  });

  it('"edited calls teach nothing"', async () => {
    const { id } = await approvals.request(ask(small));
    const both = { decision: "approve", editedInput: small, always: {} } as const;
    await expect(approvals.decide(id, both, ada)).rejects.toThrow("teaches nothing");
    await approvals.decide(id, { decision: "approve", editedInput: small }, ada);
    await approvals.succeeded(id);
    expect(await approvals.grants()).toEqual([]);
  });

  it("nothing is learned from a request that was denied, or is void", async () => {
    const denied = await approvals.request(ask(small));
    await approvals.decide(denied.id, { decision: "deny" }, ada);
    await approvals.succeeded(denied.id);
    const asked = ask(small);
    const { id } = await approvals.request(asked);
    await approvals.decide(id, { decision: "approve", always: {} }, ada);
    await approvals.request({ ...asked, input: { cents: 5 } });
    await approvals.succeeded(id);
    await approvals.succeeded("apr_nothing");
    expect(await approvals.grants()).toEqual([]);
  });

  it.each<[string, GrantOptions]>([
    ["one that does not cover its own call", { where: { equals: [{ path: ["cents"], value: 1 }] } }],
    ["nothing", { where: {} }],
    ["what it does not know", { where: { equals: [{ path: ["cents"], value: 500 }], below: 5 } as never }],
    ["another word for its time", { ttl: 60_000 } as never],
    ["another word for it", { where: { equal: [] } as never }],
    ["a schema that cannot be read", { where: { schema: { $ref: "https://example.com/schema.json" } } }],
    ["a schema that is none", { where: { schema: "object" as never } }],
    ["a place that is none", { where: { equals: [{ path: ["constructor"], value: null }] } }],
    ["no place", { where: { equals: [] } }],
    ["no list", { where: { equals: 5 as never } }],
    ["a schema that nests too deep", { where: { schema: nested(10_000) } }],
    ["a value that nests too deep", { where: { equals: [{ path: [], value: nested(10_000) }] } }],
    ["a word that nests too deep", { where: { equals: [{ path: [], value: small, more: nested(10_000) } as never] } }],
    ["no time", { ttlMs: 0 }],
    ["endless time", { ttlMs: Infinity }],
  ])("refuses %s, and the request stays open", async (_, options) => {
    const { id } = await approvals.request(ask(small));
    const deciding = approvals.decide(id, { decision: "approve", always: options }, ada);
    await expect(deciding).rejects.toMatchObject({ code: "invalid_input" });
    await expect(deciding).rejects.not.toThrow(/Cannot read|is not a function/);
    expect((await approvals.get(id))?.status).toBe("pending");
  });

  it("is listed with those of its scope", async () => {
    await always(small);
    expect(await approvals.grants("default")).toMatchObject([
      { scope: "default", requestedBy: "bob", grantedBy: "ada" },
    ]);
    expect(await approvals.grants("other")).toEqual([]);
  });

  // https://github.com/microsoft/vscode/issues/289019, https://github.com/obot-platform/obot/issues/5696
  it("covers what was asked about before, once its call has succeeded, and nothing else", async () => {
    const first = await approvals.request(ask(small));
    const asked = [
      await approvals.request(ask({ ...small, cents: 700 })),
      await approvals.request(ask({ ...small, cents: 7_000 })),
      await approvals.request(ask(small, { requestedBy: { id: "carl" } })),
      await approvals.request(ask(small, { toolName: "refund_all" })),
      await approvals.request(ask(small, { scope: "other" })),
    ];
    const statuses = () => Promise.all(asked.map(async ({ id }) => (await approvals.get(id))!.status));
    const where = { schema: { properties: { cents: { maximum: 1_000 } } } };
    const { always: given } = await approvals.decide(first.id, { decision: "approve", always: { where } }, ada);
    expect(given).toMatchObject({ where });
    expect(new Set(await statuses())).toEqual(new Set(["pending"]));
    const waiting = approvals.await(asked[0]!.id);
    await approvals.succeeded(first.id);
    expect(await statuses()).toEqual(["approved", ...Array<string>(4).fill("pending")]);
    expect(await waiting).toMatchObject({ status: "approved", decidedBy: "ada", grantId: first.id, decidedSeq: 7 });
    const late = approvals.decide(asked[0]!.id, { decision: "deny" }, ada);
    await expect(late).rejects.toMatchObject({ code: "already_decided" });
    expect(await approvals.list({ status: "pending", scope: "default" })).toHaveLength(3);
  });

  it("is learned from no request that was approved once, and takes no room for ever", async () => {
    const { id } = await approvals.request(ask(small));
    await approvals.decide(id, { decision: "approve" }, ada);
    await approvals.succeeded(id);
    expect(await approvals.grants()).toEqual([]);
    await always({ cents: 1 }, { ttlMs: 60_000 });
    const [stored] = await store.list("approval/grant/");
    expect(stored!.expiresAt).toBeGreaterThan(now);
    expect(stored!.expiresAt).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it("is learned neither where it is over when its call has succeeded, nor where the store fails, which is said", async () => {
    const { id } = await approvals.request(ask(small));
    await approvals.decide(id, { decision: "approve", always: { ttlMs: 1_000 } }, ada);
    const down = new ToolError("store_failed", "Down.");
    const broken = new ApprovalService({ store: { ...store, put: () => Promise.reject(down) } });
    await expect(broken.succeeded(id)).rejects.toBe(down);
    now += 1_000;
    await approvals.succeeded(id);
    expect(await store.list("approval/grant/")).toEqual([]);
  });

  it("that cannot be taken back now is not said to be", async () => {
    await always(small);
    const [grant] = await approvals.grants();
    const down = new ToolError("store_failed", "Down.");
    const broken = new ApprovalService({ store: { ...store, put: () => Promise.reject(down) } });
    await expect(broken.revoke(grant!)).rejects.toBe(down);
    expect(await approvals.grants()).toHaveLength(1);
  });

  it.each([
    ["is taken back", async () => expect(await approvals.revoke((await approvals.grants())[0]!)).toBe(true)],
    ["is over", async () => void (now += 3_600_000)],
  ])("that %s covers no call that it has approved and that has not begun", async (_, end) => {
    await always(small);
    const call = ask(small);
    const { id } = await approvals.request(call);
    expect(await approvals.request(call)).toMatchObject({ id, status: "approved" });
    await end();
    expect(await approvals.request(call)).toMatchObject({ status: "pending", replaces: id });
    expect(await approvals.get(id)).toMatchObject({ status: "void" });
  });

  it("can be taken back, and does not come again", async () => {
    const { id } = await always(small);
    const [grant] = await approvals.grants();
    expect(await approvals.revoke(grant!)).toBe(true);
    expect(await approvals.revoke(grant!)).toBe(false);
    await approvals.succeeded(id);
    expect(await statusOf(small)).toBe("pending");
  });
});
