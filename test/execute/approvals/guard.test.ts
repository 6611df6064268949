import { describe, expect, it, vi } from "vitest";
import { approvalHandler, ApprovalService, approvalSockets } from "../../../src/execute/approvals/index.ts";
import { createRateLimit, feedQuery } from "../../../src/execute/approvals/guard.ts";
import { memoryStore } from "../../../src/store/index.ts";

describe.each([
  ["approvalSockets", approvalSockets],
  ["approvalHandler", approvalHandler],
] as const)("%s says at once what would refuse, hide or let in everything", (_, make: (options: any) => unknown) => {
  const store = memoryStore();
  const good = {
    service: new ApprovalService({ store, mayDecide: () => true }),
    authenticate: () => undefined,
    origins: [],
  };

  it.each([
    ["a service without mayDecide", { service: new ApprovalService({ store }) }, /mayDecide/],
    ["no service", { service: undefined }, /needs a service/],
    ["no authenticate", { authenticate: undefined }, /authenticate/],
    ["no origins", { origins: undefined }, /origins/],
    ["an origin with a path", { origins: ["https://a.example", "https://app.example/"] }, /no slash behind it/],
    ["an origin that no browser says", { origins: ["https://App.example:443"] }, /no slash behind it/],
    ["an origin without a scheme", { origins: ["app.example"] }, /no slash behind it/],
    ["origins that are one text", { origins: "https://app.example" }, /origins/],
    ["a limit that is no number", { maxMessageBytes: "64 KiB" }, /maxMessageBytes is a number above 0, got 64 KiB/],
    ["a rate without a burst", { rateLimit: { perSecond: 10 } }, /rateLimit\.burst is a number above 0, got undefined/],
    ["a rate that is a number", { rateLimit: 10 }, /rateLimit is an object, got a number/],
    ["a rate per minute", { rateLimit: { perMinute: 9, burst: 9 } }, /rateLimit\.perSecond is a number from 0/],
    ["a redaction that is none", { redact: ["card"] }, /redact is a function/],
  ])("%s", (__, change, message) => {
    expect(() => make({ ...good, ...change })).toThrow(TypeError);
    expect(() => make({ ...good, ...change })).toThrow(message);
  });

  it("a time that no timer can wait", () => {
    const name = make === approvalHandler ? "keepAliveMs" : "pingMs";
    expect(() => make({ ...good, [name]: Infinity })).toThrow(TypeError);
    expect(() => make({ ...good, [name]: Infinity })).toThrow(`${name} is Infinity`);
  });

  it("and takes the rest", () => {
    expect(() => make(good)).not.toThrow();
    expect(() => make({ ...good, origins: () => true })).not.toThrow();
    const origins = ["https://a.example", "http://localhost:5173", "chrome-extension://abcdef", "null"];
    expect(() => make({ ...good, origins })).not.toThrow();
  });
});

it("what may wait for a client that does not read has a limit", () => {
  const service = new ApprovalService({ store: memoryStore(), mayDecide: () => true });
  const options: any = { service, authenticate: () => undefined, origins: [], maxBufferedBytes: "1 MiB" };
  expect(() => approvalSockets(options)).toThrow("maxBufferedBytes is a number above 0, got 1 MiB.");
});

it("a rate fills up with time, up to its burst, and is full as at the start", () => {
  vi.useFakeTimers();
  try {
    const { take, isFull } = createRateLimit({ perSecond: 10, burst: 2 });
    const taken = () => [take(), take(), take()].filter(Boolean).length;
    expect([isFull(), taken(), isFull()]).toEqual([true, 2, false]);
    vi.advanceTimersByTime(150);
    expect([isFull(), taken()]).toEqual([false, 1]);
    vi.advanceTimersByTime(150);
    expect([isFull(), taken()]).toEqual([true, 2]);
    vi.advanceTimersByTime(60_000);
    expect([isFull(), taken()]).toEqual([true, 2]);
  } finally {
    vi.useRealTimers();
  }
});

it("nobody is known by an empty name", async () => {
  const service = new ApprovalService({ store: memoryStore(), mayDecide: () => true });
  const statusOf = async (principal: unknown) => {
    const authenticate = () => ({ principal }) as never;
    const handle = approvalHandler({ service, authenticate, origins: [], allowNoOrigin: true });
    return (await handle(new Request("https://api.example/approvals"))).status;
  };
  expect(await statusOf({ id: "ada" })).toBe(200);
  for (const principal of [{ id: "" }, { id: 7 }, {}, null]) expect(await statusOf(principal)).toBe(401);
});

it("nobody is known until a time that is none", async () => {
  const service = new ApprovalService({ store: memoryStore(), mayDecide: () => true });
  const at = async (expiresAt: unknown) => {
    const authenticate = () => ({ principal: { id: "ada" }, expiresAt }) as never;
    const handle = approvalHandler({ service, authenticate, origins: [], allowNoOrigin: true });
    return (await handle(new Request("https://api.example/approvals"))).status;
  };
  expect(await at(Date.now() + 1_000)).toBe(200);
  expect(await at("2999-01-01")).toBe(401);
  expect(await at(NaN)).toBe(401);
});

it.each([
  ["", undefined],
  ["?after=12", 12],
  ["?after=0", 0],
  ["?after=", undefined],
  ["?after=-1", undefined],
  ["?after=1e3", undefined],
  ["?after=1234567890123456", undefined],
])("the query %j resumes after %j", (query, after) => {
  expect(feedQuery(new URL(`https://api.example/approvals${query}`))).toEqual({ after, runId: undefined });
});
