import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ToolError } from "../../../src/errors.ts";
import { ApprovalService, type ApprovalAsk, type ApprovalEvent } from "../../../src/execute/approvals/index.ts";
import { memoryStore, type Store } from "../../../src/store/index.ts";
import { soon } from "../../soon.ts";

let store: Store;
beforeEach(() => {
  store = memoryStore();
});
afterEach(() => {
  vi.useRealTimers();
});

const ask = (invocationId: string, more: Partial<ApprovalAsk> = {}): ApprovalAsk => ({
  runId: "run_1",
  invocationId,
  toolName: "refund_order",
  input: { order: invocationId },
  definitionDigest: "sha256:tool",
  message: "Refund?",
  ...more,
});

const service = (over = store) => new ApprovalService({ store: over });

/** The events behind a number, as a fresh process sees them. */
async function eventsAfter(after: number, count: number, scope = "default"): Promise<ApprovalEvent[]> {
  const stop = new AbortController();
  const events: ApprovalEvent[] = [];
  if (count === 0) return events;
  for await (const event of service().subscribe({ after, scope, signal: stop.signal })) {
    events.push(event);
    if (events.length === count) stop.abort();
  }
  return events;
}

const short = ({ seq, type, request }: ApprovalEvent) => `${seq} ${type} ${request.invocationId} ${request.status}`;

describe("events are gap-free", () => {
  it('"reconnect from seq gives exactly the rest", at every event index', async () => {
    const approvals = service();
    const rows = [];
    for (let at = 0; at < 6; at++) rows.push(await approvals.request(ask(`${at}`)));
    for (const { id } of rows.toReversed()) await approvals.decide(id, { decision: "approve" });
    const all = await eventsAfter(0, 12);
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
    for (let index = 0; index <= 12; index++) {
      expect((await eventsAfter(index, 12 - index)).map(short)).toEqual(all.slice(index).map(short));
    }
  });

  it("each event has one number, however many processes see it at once", async () => {
    const services = Array.from({ length: 8 }, () => service());
    await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const [a, b, c] = [0, 1, 2].map((offset) => services[(at + offset) % 8]!) as [
          ApprovalService,
          ApprovalService,
          ApprovalService,
        ];
        const { id } = await a.request(ask(`${at}`));
        const all = [b.decide(id, { decision: "approve" }), c.await(id), a.get(id)];
        for (const seen of await Promise.all([...all, c.list()])) {
          for (const request of [seen].flat()) {
            if (request!.status === "approved") expect(request!.decidedSeq).toBeGreaterThan(0);
          }
        }
      }),
    );
    const events = await eventsAfter(0, 80);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 80 }, (_, at) => at + 1));
    expect(new Set(events.map(({ type, request }) => `${type} ${request.id}`)).size).toBe(80);
    const entries = await store.list("approval/log/default/");
    expect(entries).toHaveLength(80);
  });

  it("numbers scopes apart", async () => {
    await service().request(ask("0", { scope: "acme" }));
    const other = await service().request(ask("1", { scope: "acme/x" }));
    expect(other.seq).toBe(1);
    expect((await eventsAfter(0, 1, "acme")).map(short)).toEqual(["1 approval.requested 0 pending"]);
  });

  it("tells what happens from now on, and ends with the signal", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of service().subscribe({ signal: stop.signal })) {
        seen.push(event.type);
        if (seen.length === 2) stop.abort();
      }
    })();
    const { id } = await service().request(ask("0"));
    await service().decide(id, { decision: "deny" });
    await reading;
    expect(seen).toEqual(["approval.requested", "approval.decided"]);
  });

  it("tells what became void, and then what is asked instead, though nobody else looks", async () => {
    await service().request(ask("0"));
    const stop = new AbortController();
    const events = service().subscribe({ after: 1, signal: stop.signal });
    const next = async () => short((await events.next()).value!);
    const first = next();
    await service().request(ask("0", { input: "another" }));
    expect([await first, await next()]).toEqual(["2 approval.decided 0 void", "3 approval.requested 0 pending"]);
    stop.abort();
  });

  it("each event has one number, though all look for the last one before any is written", async () => {
    const later = () => new Promise((resolve) => setTimeout(resolve, 5));
    const put: Store["put"] = async (...args) => (await later(), store.put(...args));
    const rows = await Promise.all(
      Array.from({ length: 5 }, (_, at) => service({ ...store, put }).request(ask(`${at}`))),
    );
    expect(rows.map(({ seq }) => seq).toSorted()).toEqual([1, 2, 3, 4, 5]);
    const decided = rows.map(({ id }) => service({ ...store, put }).decide(id, { decision: "deny" }));
    expect((await Promise.all(decided)).map(({ decidedSeq }) => decidedSeq).toSorted()).toEqual([10, 6, 7, 8, 9]);
  });

  it("tells of what a store did not report, at the next look", async () => {
    const silent: Store = { ...store, subscribe: async () => async () => {} };
    const events = new ApprovalService({ store: silent, pollMs: 5 }).subscribe();
    const next = events.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await service().request(ask("a"));
    expect((await next).value).toMatchObject({ seq: 1 });
    await events.return();
  });

  it("tells all at once, though some still read what was there before", async () => {
    let held: Promise<void> | undefined;
    let looks = 0;
    const slow: Store = {
      ...store,
      async list(prefix, options) {
        const found = await store.list(prefix, options);
        if (prefix.includes("/log/")) {
          looks++;
          await held;
        }
        return found as never;
      },
    };
    const approvals = new ApprovalService({ store: slow, pollMs: Infinity });
    const all: AsyncGenerator<ApprovalEvent>[] = [];
    const nexts: Promise<IteratorResult<ApprovalEvent>>[] = [];
    const subscribe = async () => {
      const before = looks;
      all.push(approvals.subscribe());
      nexts.push(all.at(-1)!.next());
      await soon(() => expect(looks).toBeGreaterThan(before));
    };
    await subscribe(); // has looked, and waits to be told
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    await subscribe(); // still looks
    await service().request(ask("a"));
    await subscribe(); // comes later
    resolve();
    expect((await Promise.all(nexts)).map(({ value }) => value.seq)).toEqual([1, 1, 1]);
    for (const events of all) await events.return(undefined);
  });

  it("tells nothing more once the signal has fired, though it was read before", async () => {
    await service().request(ask("a"));
    const { promise, resolve } = Promise.withResolvers<void>();
    let looks = 0;
    const slow: Store = {
      ...store,
      async get(key) {
        if (key.includes("/id/")) await (looks++, promise);
        return store.get(key) as never;
      },
    };
    const stop = new AbortController();
    const next = new ApprovalService({ store: slow }).subscribe({ signal: stop.signal }).next();
    await soon(() => expect(looks).toBeGreaterThan(0));
    stop.abort();
    resolve();
    expect(await next).toMatchObject({ done: true });
  });

  it("tells what expired", async () => {
    const approvals = service();
    const { id } = await approvals.request(ask("0", { ttlMs: 20 }));
    await approvals.await(id);
    expect((await eventsAfter(0, 2)).map(short)[1]).toBe("2 approval.decided 0 expired");
  });
});

it("a request that cannot be read now is no event that is left out", async () => {
  const { id } = await service().request(ask("0"));
  const down = new ToolError("store_failed", "Down.");
  let isDown = false;
  const shaky: Store = { ...store, get: (key) => (isDown ? Promise.reject(down) : store.get(key)) };
  const list: Store["list"] = (...args) => {
    // From the first look at the log on.
    isDown ||= args[0].includes("/log/");
    return store.list(...args);
  };
  await expect(
    service({ ...shaky, list })
      .subscribe()
      .next(),
  ).rejects.toBe(down);
  expect((await eventsAfter(0, 1)).map(({ request }) => request.id)).toEqual([id]);
});

describe("a process that dies between two writes", () => {
  /** A store whose writes fail from the n-th on: all that a killed process can leave behind. */
  function dyingAfter(writes: number): Store {
    let left = writes;
    const alive = () => {
      if (left-- <= 0) throw new Error("killed");
    };
    return {
      ...store,
      put: async (...args) => (alive(), store.put(...args)),
      delete: async (...args) => (alive(), store.delete(...args)),
    };
  }

  async function dieAfter(writes: number): Promise<void> {
    const dying = service(dyingAfter(writes));
    try {
      const { id } = await dying.request(ask("0"));
      await dying.decide(id, { decision: "approve" });
    } catch {}
  }

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "after %i writes: no request, decision or event lost or told twice",
    async (writes) => {
      await dieAfter(writes);
      const fresh = service();
      const row = await fresh.request(ask("0"));
      if (row.status === "pending") await fresh.decide(row.id, { decision: "approve" });
      expect((await eventsAfter(0, 2)).map(short)).toEqual([
        "1 approval.requested 0 approved",
        "2 approval.decided 0 approved",
      ]);
      expect(await store.list("approval/log/default/")).toHaveLength(2);
      expect(await fresh.list()).toHaveLength(1);
      // What was left open is closed, but for a mark whose request never came.
      expect(await fresh.list({ status: "pending" })).toEqual([]);
      const marks = await store.list("approval/open/");
      expect(marks.map(({ key }) => key).filter((key) => key.endsWith(row.id))).toEqual([]);
    },
  );

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "after %i writes, and another input is asked about since: no event told twice",
    async (writes) => {
      await dieAfter(writes);
      await service().request(ask("0", { input: "other" }));
      const told = (await store.list<{ type: string; requestId: string }>("approval/log/default/")).map(
        ({ value }) => `${value.type} ${value.requestId}`,
      );
      expect(told).toEqual([...new Set(told)]);
    },
  );

  it("after the first event was written, and who knows the request decides it: that is an event of its own", async () => {
    await service(dyingAfter(4)).request(ask("0"));
    const [known] = await store.list("approval/id/");
    const id = known!.key.slice("approval/id/".length);
    expect(await service().decide(id, { decision: "approve" })).toMatchObject({ seq: 1, decidedSeq: 2 });
    expect(await store.list("approval/log/default/")).toHaveLength(2);
  });

  it.each([0, 1, 2])("leaves nothing behind for ever of a request that never came (%i writes)", async (writes) => {
    await dieAfter(writes);
    await service().list({ status: "pending" });
    expect(await store.list("approval/")).toHaveLength(writes);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_700_000 });
    await service().list({ status: "pending" });
    expect(await store.list("approval/")).toEqual([]);
  });

  it("is told of by whoever subscribes next, though nobody asks again", async () => {
    await service(dyingAfter(3))
      .request(ask("0"))
      .catch(() => {});
    expect((await store.list("approval/log/default/")).length).toBe(0);
    expect((await eventsAfter(0, 1)).map(short)).toEqual(["1 approval.requested 0 pending"]);
  });
});

it("finds the end of a long log without reading all of it", async () => {
  const approvals = service();
  for (let at = 0; at < 130; at++) await approvals.request(ask(`${at}`));
  let read = 0;
  const counting: Store = {
    ...store,
    list: async (...args) => {
      const entries = await store.list(...args);
      if (args[0].includes("/log/")) read += entries.length;
      return entries as never;
    },
  };
  expect(await service(counting).position()).toBe(130);
  expect(read).toBe(30);
});

it("looks for what is pending among what is open, not among all that ever was", async () => {
  const approvals = service();
  for (let at = 0; at < 20; at++) {
    const { id } = await approvals.request(ask(`${at}`));
    if (at !== 7) await approvals.decide(id, { decision: "deny" });
  }
  let reads = 0;
  const get: Store["get"] = (key) => (reads++, store.get(key));
  const list: Store["list"] = (prefix, options) => {
    if (prefix.startsWith("approval/call/")) throw new Error("looks at all of them");
    return store.list(prefix, options);
  };
  const pending = await service({ ...store, get, list }).list({ status: "pending" });
  expect(pending.map(({ invocationId }) => invocationId)).toEqual(["7"]);
  expect(reads).toBe(1);
});

describe("of 50 requests that are open", () => {
  /** A store that counts what it is asked. */
  function counting() {
    let count = 0;
    const counted =
      <Arguments extends unknown[], Answer>(verb: (...args: Arguments) => Answer) =>
      (...args: Arguments) => (count++, verb(...args));
    const counter = { ...store, get: counted(store.get), list: counted(store.list), put: counted(store.put) } as Store;
    return { counter, count: () => count };
  }

  it("those who subscribe at about the same time look at them once", async () => {
    for (let at = 0; at < 50; at++) await service().request(ask(`${at}`));
    const { counter, count } = counting();
    const approvals = service(counter);
    const subscribed = Array.from({ length: 20 }, () => approvals.subscribe({ after: 49 }));
    const events = await Promise.all(subscribed.map((one) => one.next()));
    expect(events.map(({ value }) => value!.seq)).toEqual(Array.from({ length: 20 }, () => 50));
    // One looks at all of them; each then reads the log, and the request of its event.
    expect(count()).toBeLessThanOrEqual(51 + 20 * 3);
    await Promise.all(subscribed.map((one) => one.return()));
  });

  it("all are read at once, and not one round trip after the other", async () => {
    for (let at = 0; at < 50; at++) await service().request(ask(`${at}`));
    let reading = 0;
    let most = 0;
    const get: Store["get"] = async (key) => {
      most = Math.max(most, ++reading);
      await new Promise((resolve) => setImmediate(resolve));
      reading--;
      return store.get(key);
    };
    expect(await service({ ...store, get }).list({ status: "pending" })).toHaveLength(50);
    expect(most).toBe(50);
  });

  it("who subscribes after a store has failed looks again", async () => {
    const put: Store["put"] = (key, ...rest) =>
      key.includes("/log/") ? Promise.reject(new Error("killed")) : store.put(key, ...rest);
    expect(await service({ ...store, put }).request(ask("0"))).toMatchObject({ seq: 0 });
    let isDown = true;
    const list: Store["list"] = (...args) => (isDown ? Promise.reject(new Error("Down.")) : store.list(...args));
    const approvals = service({ ...store, list });
    await expect(approvals.subscribe().next()).rejects.toThrow("Down.");
    isDown = false;
    const events = approvals.subscribe();
    expect((await events.next()).value).toMatchObject({ seq: 1, type: "approval.requested" });
    await events.return();
  });

  it("who subscribes while another's look fails does not count on it", async () => {
    const put: Store["put"] = (key, ...rest) =>
      key.includes("/log/") ? Promise.reject(new Error("killed")) : store.put(key, ...rest);
    expect(await service({ ...store, put }).request(ask("0"))).toMatchObject({ seq: 0 });
    const failing = Promise.withResolvers<never>();
    const list = vi.fn<Store["list"]>(store.list).mockReturnValueOnce(failing.promise);
    const approvals = service({ ...store, list } as Store);
    const listing = approvals.list({ scope: "default", status: "pending" });
    const first = approvals.subscribe().next();
    failing.reject(new Error("Down."));
    await expect(listing).rejects.toThrow("Down.");
    await expect(first).rejects.toThrow("Down.");
    const events = approvals.subscribe();
    expect((await events.next()).value).toMatchObject({ seq: 1, type: "approval.requested" });
    await events.return();
  });

  it("who subscribes after a look that could not number an event looks again", async () => {
    let isDown = true;
    const put: Store["put"] = (key, ...rest) =>
      isDown && key.includes("/log/") ? Promise.reject(new Error("Down.")) : store.put(key, ...rest);
    const approvals = service({ ...store, put });
    expect(await approvals.request(ask("0"))).toMatchObject({ seq: 0 });
    const waiting = approvals.subscribe().next();
    await approvals.list({ scope: "default", status: "pending" });
    isDown = false;
    const events = approvals.subscribe();
    expect((await events.next()).value).toMatchObject({ seq: 1, type: "approval.requested" });
    expect((await waiting).value).toMatchObject({ seq: 1 });
    await events.return();
  });

  it("one is decided: what happened is read once for many who listen, and each gets a copy", async () => {
    const { counter, count } = counting();
    const approvals = service(counter);
    const { id } = await approvals.request(ask("0"));
    const decidedBy = async (listeners: number, requestId: string) => {
      const after = await approvals.position();
      const stop = new AbortController();
      const { signal } = stop;
      const subscribed = Array.from({ length: listeners }, () => approvals.subscribe({ after, signal }));
      const events = subscribed.map((one) => one.next());
      await new Promise((resolve) => setTimeout(resolve, 20));
      const before = count();
      await approvals.decide(requestId, { decision: "approve" });
      for (const { value } of await Promise.all(events)) {
        expect(value!.request.input).toEqual({ order: value!.request.invocationId });
        (value!.request.input as { order: string }).order = "another";
        expect(value).toMatchObject({ type: "approval.decided", seq: after + 1, request: { decidedSeq: after + 1 } });
      }
      const next = subscribed.map((one) => one.next());
      await new Promise((resolve) => setTimeout(resolve, 20));
      stop.abort();
      for (const { done } of await Promise.all(next)) expect(done).toBe(true);
      return count() - before;
    };
    const other = await approvals.request(ask("1"));
    const [one, many] = [await decidedBy(1, id), await decidedBy(101, other.id)];
    expect(many - one).toBeLessThan(5);
  });
});

it("deletes the events of a run that is forgotten, but for the last ones, and gives no number twice", async () => {
  const approvals = service();
  for (let run = 0; run < 130; run++) {
    const runId = `run_${run}`;
    const { id } = await approvals.request(ask("0", { runId }));
    await approvals.decide(id, { decision: "approve" });
    await approvals.forget(runId);
  }
  const log = await store.list("approval/log/default/");
  expect(log.length).toBeLessThan(110);
  expect(await service().position()).toBe(260);
  expect(await service().request(ask("1"))).toMatchObject({ seq: 261 });
});
