import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApprovalService, type ApprovalEvent } from "../../../src/execute/approvals/index.ts";
import { openBackend, type Backend, type OpenStore } from "../../store/backends.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "../../store/redis-server.ts";
import { ask } from "./socket-server.ts";
import { sharedTemporary } from "../../temporary.ts";

const folder = sharedTemporary();
let redis: RedisServer | undefined;
beforeAll(async () => {
  if (redisMissing === undefined) redis = await startRedis();
});
afterAll(() => redis?.stop());

/** Two connections to one backend, as two processes have them. Polling is off: only the store's own word wakes anybody. */
describe.each([
  ["sqlite", "sqlite"],
  [onRedis("redis"), "redis"],
  [onRedis("ioredis"), "ioredis"],
] as const)("two services on %s", (_title, driver) => {
  const isMissing = driver !== "sqlite" && redisMissing !== undefined;
  const open: OpenStore[] = [];

  beforeAll(async () => {
    if (isMissing) return;
    const backend: Backend =
      driver === "sqlite"
        ? { driver, path: join(folder, "approvals.db") }
        : { driver, port: redis!.port, prefix: `${driver}:` };
    open.push(await openBackend(backend), await openBackend(backend));
  });
  afterAll(async () => {
    for (const one of open) await one.close();
  });

  const services = () =>
    open.map(({ store }) => new ApprovalService({ store, mayDecide: () => true, pollMs: 1e9 })) as [
      ApprovalService,
      ApprovalService,
    ];

  it.skipIf(isMissing)("one asks and waits, the other lists and decides", async () => {
    const [here, there] = services();
    const { id } = await here.request(ask({ input: { text: "\ud800" } }));
    const waiting = here.await(id);
    const [listed] = await there.list({ status: "pending" });
    expect(listed).toMatchObject({ id, input: { text: "\ud800" } });
    await there.decide(id, { decision: "approve" }, { id: "ada" });
    expect((await waiting).decidedBy).toBe("ada");
    await expect(here.decide(id, { decision: "deny" }, { id: "zoe" })).rejects.toMatchObject({
      code: "already_decided",
      request: { decidedBy: "ada" },
    });
    expect(await here.list({ status: "pending" })).toEqual([]);
  });

  it.skipIf(isMissing)("both hear the same events, with the same numbers", async () => {
    const both = services();
    const scope = "heard";
    const hearing = both.map(async (service) => {
      const heard: ApprovalEvent[] = [];
      for await (const event of service.subscribe({ scope })) if (heard.push(event) === 20) break;
      return heard.map(({ seq, type, request }) => `${seq} ${type} ${request.id}`);
    });
    await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const { id } = await both[at % 2]!.request(ask({ scope }));
        await both[(at + 1) % 2]!.decide(id, { decision: "deny" }, { id: "ada" });
      }),
    );
    const [one, other] = await Promise.all(hearing);
    expect(one).toEqual(other);
    expect(one!.map((line) => Number.parseInt(line, 10))).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  });

  it.skipIf(isMissing)("of 100 who decide at once, in two connections, one does", async () => {
    const both = services();
    const { id } = await both[0].request(ask());
    const decided = await Promise.allSettled(
      Array.from({ length: 100 }, (_, at) =>
        both[at % 2]!.decide(id, { decision: at % 3 === 0 ? "deny" : "approve" }, { id: `${at}` }),
      ),
    );
    const wins = decided.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(wins).toHaveLength(1);
    expect(await both[1].get(id)).toEqual(wins[0]);
    const losses = decided.flatMap((one) => (one.status === "rejected" ? [one.reason as { code: string }] : []));
    expect(new Set(losses.map(({ code }) => code))).toEqual(new Set(["already_decided"]));
  });
});
