import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  approvalHandler,
  type ApprovalHandlerOptions,
  type ApprovalService,
  type ServerMessage,
} from "../../../src/execute/approvals/index.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { misread } from "../../misread.ts";
import { until } from "../../soon.ts";
import { timersOf } from "../timers.ts";
import { ask, authenticate, ORIGIN, tenantService } from "./socket-server.ts";

const ada = { id: "ada", tenant: "acme", role: "approver" };

let service: ApprovalService;
let handle: (request: Request) => Promise<Response>;

function use(more: Partial<ApprovalHandlerOptions> = {}): void {
  handle = approvalHandler({ service, authenticate, origins: [ORIGIN], ...more });
}

beforeEach(() => {
  service = tenantService();
  use();
});

const HEADERS = { authorization: "Bearer ada@acme", origin: ORIGIN };

function get(path: string, headers: Record<string, string> = HEADERS, init: RequestInit = {}): Promise<Response> {
  return handle(new Request(`http://localhost/approvals${path}`, { headers, ...init }));
}

function post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return handle(
    new Request("http://localhost/approvals/decide", {
      method: "POST",
      body: text,
      headers: { ...HEADERS, "content-type": "application/json", ...headers },
    }),
  );
}

const approve = (id: string) => ({ type: "approval.decide", request_id: id, decision: "approve" });

/** Reads events until one of this type; then lets go. */
async function readEvents(response: Response, isLast: (message: ServerMessage, id: string) => boolean) {
  const events: { id: string; message: ServerMessage }[] = [];
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>) {
    text += chunk;
    let end: number;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const fields = Object.fromEntries(
        text
          .slice(0, end)
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
      ) as Record<string, string>;
      text = text.slice(end + 2);
      if (fields["data"] === undefined) continue;
      const message = JSON.parse(fields["data"]) as ServerMessage;
      expect(fields["event"]).toBe(message.type);
      events.push({ id: fields["id"]!, message });
      if (isLast(message, fields["id"]!)) return events;
    }
  }
  return events;
}

describe("deciding", () => {
  it("answers with the outcome; the second gets 409 with the first", async () => {
    const { id } = await service.request(ask());
    const first = await post({ ...approve(id), reason: "fine" });
    expect(first.status).toBe(200);
    const outcome = (await first.json()) as object;
    expect(outcome).toMatchObject({ type: "approval.outcome", status: "approved", decided_by: "ada", reason: "fine" });
    const second = await post({ ...approve(id), decision: "deny" });
    expect(second.status).toBe(409);
    expect(await second.json()).toMatchObject({ code: "already_decided", outcome });
  });

  it.each<[string, unknown, Record<string, string>, number, string]>([
    ["no JSON", "{", {}, 400, "not_json"],
    ["an unknown type", {}, {}, 400, "unknown_type"],
    ["a resume", { type: "approval.resume", seq: 1 }, {}, 400, "unknown_type"],
    ["no decision", { type: "approval.decide", request_id: "x" }, {}, 400, "invalid_message"],
    ["an empty id", approve(""), {}, 400, "invalid_message"],
    ["a reason that is no text", { ...approve("apr_1"), reason: 5 }, {}, 400, "invalid_message"],
    ["an edit with an always", { ...approve("apr_1"), edited_input: {}, always: true }, {}, 400, "invalid_message"],
    ["an unknown id", approve("apr_1"), {}, 404, "approval_not_found"],
    ["an always, where there is none", { ...approve("apr_1"), always: true }, {}, 400, "invalid_message"],
    ["a body that is too large", "x".repeat(70_000), {}, 413, "message_too_large"],
    ["CSRF: a form", approve("x"), { "content-type": "text/plain" }, 415, "invalid_message"],
    ["CSRF: a foreign page", approve("x"), { origin: "https://evil.example" }, 403, "origin_refused"],
    ["a wrong token", approve("x"), { authorization: "Bearer nobody" }, 401, "unauthenticated"],
  ])("%s", async (_, body, headers, status, code) => {
    const response = await post(body, headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: "approval.error", code });
  });

  it.each([[false], [null], [1], ["true"], [[]]])("takes no always that is %j", async (always) => {
    use({ allowAlways: true });
    const { id } = await service.request(ask());
    const response = await post({ ...approve(id), always });
    expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_message" }]);
    expect(await service.get(id)).toMatchObject({ status: "pending" });
  });

  it.each([{}, { type: "approval.get", request_id: "x" }])("names the one type that it takes: %o", async (body) => {
    expect(await (await post(body)).json()).toHaveProperty("message", "type is approval.decide.");
  });

  it.each([
    [{ origin: "https://other.example" }, "A page of https://other.example may not ask"],
    [{}, "A request without an origin may not ask"],
  ])("says whom it refuses: %o", async (headers: Record<string, string>, message) => {
    expect(await (await get("", headers)).json()).toHaveProperty("message", expect.stringContaining(message));
  });

  it("says what there is, to who asks for something else", async () => {
    const response = await get("/nothing");
    expect(response.status).toBe(404);
    expect(((await response.json()) as { message: string }).message).toContain("GET /approvals/<request_id>");
  });

  it("shows the input and takes an edited one as they are, whatever was read before", async () => {
    const [input, edited] = [misread(), misread()];
    const { id } = await service.request(ask({ input }));
    expect((await service.get(id))?.input).toEqual(input);
    expect((await post({ ...approve(id), edited_input: edited })).status).toBe(200);
    expect((await service.get(id))?.editedInput).toEqual(edited);
  });

  it("says what is wrong with an edited input, what has expired and what is void", async () => {
    const strict = tenantService();
    service = strict;
    use();
    const soon = await service.request(ask({ ttlMs: 1 }));
    await service.await(soon.id);
    expect((await post(approve(soon.id))).status).toBe(410);
    const asked = ask();
    const old = await service.request(asked);
    await service.request({ ...asked, input: {} });
    expect(await (await post(approve(old.id))).json()).toMatchObject({
      code: "approval_void",
      outcome: { status: "void" },
    });
  });

  it('"another tenant", "role without right": 404, as for what never was', async () => {
    const { id } = await service.request(ask());
    for (const token of ["eve@evil", "ada@acme!"]) {
      const headers = { authorization: `Bearer ${token}` };
      const [real, never] = [await post(approve(id), headers), await post(approve("apr_1"), headers)];
      expect(real.status).toBe(404);
      expect(await real.text()).toBe((await never.text()).replace("apr_1", id));
    }
    expect((await service.get(id))?.status).toBe("pending");
  });

  it("refuses who has asked, and tells no outcome while there is none", async () => {
    const { id } = await service.request(ask());
    const response = await post(approve(id), { authorization: "Bearer bob@acme" });
    expect(response.status).toBe(403);
    const answer = (await response.json()) as object;
    expect(answer).toMatchObject({ code: "approval_not_allowed", request_id: id });
    expect(answer).not.toHaveProperty("outcome");
  });

  it('"token expired" while the body came: the decision does not count', async () => {
    const { id } = await service.request(ask());
    const expiresAt = Date.now() + 50;
    use({ authenticate: async (client) => ({ ...(await authenticate(client))!, expiresAt }) });
    const body = new ReadableStream({
      async start(controller) {
        while (Date.now() < expiresAt) await new Promise((resolve) => setTimeout(resolve, 5));
        controller.enqueue(new TextEncoder().encode(JSON.stringify(approve(id))));
        controller.close();
      },
    });
    const headers = { ...HEADERS, "content-type": "application/json" };
    const init = { method: "POST", body, headers, duplex: "half" } as RequestInit;
    expect((await handle(new Request("http://localhost/approvals/decide", init))).status).toBe(401);
    expect((await service.get(id))?.status).toBe("pending");
  });

  it("limits the rate by principal", async () => {
    use({ rateLimit: { perSecond: 0.001, burst: 3 } });
    const statuses = [];
    for (let at = 0; at < 4; at++) statuses.push((await post(approve("apr_1"))).status);
    expect(statuses).toEqual([404, 404, 404, 429]);
    expect((await post(approve("apr_1"), { authorization: "Bearer zoe@acme" })).status).toBe(404);
    use({ rateLimit: { perSecond: 1_000, burst: 1 } });
    for (let at = 0; at < 3; at++) {
      expect((await post(approve("apr_1"))).status).toBe(404);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });

  it('"error leakage": what fails inside is not told', async () => {
    const errors: unknown[] = [];
    service = tenantService({ ...memoryStore(), get: () => Promise.reject(new Error("SQL of a secret table")) });
    use({ onError: (error) => errors.push(error) });
    const response = await post(approve("apr_1"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("SQL");
    expect(errors).toHaveLength(1);
  });

  it('"error leakage": a store that fails is a 500 where requests are listed, and ends the events', async () => {
    const errors: unknown[] = [];
    const store = memoryStore();
    let isDown = true;
    const list: typeof store.list = (...args) =>
      isDown ? Promise.reject(new Error("SQL of a secret table")) : store.list(...args);
    service = tenantService({ ...store, list });
    use({ onError: (error) => errors.push(error) });
    const response = await get("");
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      type: "approval.error",
      code: "internal_error",
      message: "The server failed.",
    });
    isDown = false;
    const events = (await get("/events")).body!.getReader();
    await events.read();
    isDown = true;
    await store.put("approval/log/default/000000000001", { type: "approval.requested", requestId: "x" });
    expect(await events.read()).toEqual({ done: true, value: undefined });
    expect(errors).toHaveLength(2);
  });
});

describe("who may ask", () => {
  it("a page of ours, a page of the same origin (which says none), no other", async () => {
    const { authorization } = HEADERS;
    expect((await get("", HEADERS)).headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect((await get("", { authorization, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await get("", { ...HEADERS, "sec-fetch-site": "cross-site" })).status).toBe(200);
    expect((await get("", { authorization, "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await get("", { authorization })).status, "no Origin").toBe(403);
    const init = { method: "POST", body: "{}" };
    const sameOrigin = { authorization, "content-type": "application/json", "sec-fetch-site": "same-origin" };
    expect((await get("/decide", sameOrigin, init)).status, "pages say their origin with it").toBe(403);
    const foreign = await get("", { authorization, origin: "https://evil.example", "sec-fetch-site": "same-origin" });
    expect(foreign.status).toBe(403);
    expect(foreign.headers.has("access-control-allow-origin")).toBe(false);
    expect(foreign.headers.get("vary")).toBe("origin");
    use({ allowNoOrigin: true });
    expect((await get("", { authorization })).status).toBe(200);
    expect((await get("", { authorization, "sec-fetch-site": "cross-site" })).status, "an image").toBe(403);
  });

  it("a preflight is answered for our pages only", async () => {
    const ours = await get("/decide", { origin: ORIGIN }, { method: "OPTIONS" });
    expect(ours.status).toBe(204);
    expect(Object.fromEntries(ours.headers)).toEqual({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "authorization, content-type, last-event-id",
      vary: "origin",
    });
    expect((await get("/decide", { origin: "https://evil.example" }, { method: "OPTIONS" })).status).toBe(403);
  });

  it("knows its addresses", async () => {
    expect((await get("/other")).status).toBe(404);
    expect((await get("/decide")).status).toBe(404);
    use({ path: "/api/approvals" });
    expect((await handle(new Request("http://localhost/api/approvals", { headers: HEADERS }))).status).toBe(200);
  });
});

it.each([
  ["the whole input", true, [{ path: [], value: { card: "[hidden]", order: { id: 1 } } }]],
  ["places in it", { where: { equals: [{ path: ["card"], value: "4111" }] } }, [{ path: ["card"], value: "[hidden]" }]],
])("hides what is redacted in an always, from who gave it and from who came late: %s", async (_, always, shown) => {
  const redact = (path: readonly unknown[], value: unknown) => (path.at(-1) === "card" ? "[hidden]" : value);
  use({ allowAlways: true, redact });
  const { id } = await service.request(ask({ input: { card: "4111", order: { id: 1 } } }));
  const outcome = { always: { where: { equals: shown }, expiresAt: expect.any(Number) } };
  expect(await (await post({ ...approve(id), always })).json()).toMatchObject(outcome);
  expect(await (await post(approve(id))).json()).toMatchObject({ code: "already_decided", outcome });
  expect(JSON.stringify((await service.get(id))?.always?.where)).toContain("4111");
});

it("shows nothing of an always where redact fails", async () => {
  const redact = () => {
    throw new Error("broken");
  };
  use({ allowAlways: true, redact });
  const { id } = await service.request(ask());
  const answer = (await (await post({ ...approve(id), always: true })).json()) as object;
  expect(answer).toMatchObject({ type: "approval.outcome", status: "approved" });
  expect(answer).not.toHaveProperty("always");
});

it("gives all of one request to those who may decide it", async () => {
  const { id } = await service.request(ask());
  expect(await (await get(`/${id}`)).json()).toMatchObject({ type: "approval.details", input: { order: "A1" } });
  const stranger = { ...HEADERS, authorization: "Bearer eve@evil" };
  expect((await get(`/${id}`, stranger)).status).toBe(404);
  expect((await get("/apr_1")).status).toBe(404);
});

it("shows what was written in place of the input, and which request a later one replaces, as far as it may be seen", async () => {
  const redact = (path: readonly unknown[], value: unknown) => (path.at(-1) === "card" ? "[hidden]" : value);
  use({ redact, allowAlways: true });
  const asked = ask({ input: { card: "4111", cents: 5 } });
  const { id } = await service.request(asked);
  await post({ ...approve(id), edited_input: { card: "4222", cents: 4 } });
  const shown = { input: { card: "[hidden]", cents: 5 }, edited_input: { card: "[hidden]", cents: 4 } };
  expect(await (await get(`/${id}`)).json()).toMatchObject({ ...shown, status: "approved" });
  const again = await service.request({ ...asked, input: { cents: 6 } });
  expect(await (await get("")).json()).toMatchObject({ requests: [{ request_id: again.id, replaces: id }] });
  // A schema names no value of the input.
  const where = { schema: { required: ["cents"] } };
  expect(await (await post({ ...approve(again.id), always: { where } })).json()).toMatchObject({ always: { where } });
});

it("asks what was stored, which hides what was hidden there", async () => {
  const message = 'Run refund_order with {"card":"[hidden]"}?';
  await service.request(ask({ input: { card: "4111" }, message, isDefaultMessage: true }));
  expect(await (await get("")).json()).toMatchObject({ requests: [{ message }] });
});

it.each(["approvals", "/approvals/", "/", ""])("takes no path that it would never find: %j", (path) => {
  expect(() => use({ path })).toThrow(/path begins with a slash/);
});

describe("the event stream", () => {
  it("gives what is pending, then what happens; resumes by Last-Event-ID", async () => {
    const { id } = await service.request(ask());
    const response = await get("/events");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reading = readEvents(response, (message) => message.type === "approval.decided");
    await service.decide(id, { decision: "deny" }, ada);
    const events = await reading;
    expect(events.map(({ id: seq, message }) => `${seq} ${message.type}`)).toEqual([
      "1 approval.requested",
      "1 approval.ready",
      "2 approval.decided",
    ]);
    const resumed = await get("/events?after=0", { ...HEADERS, "last-event-id": "1" });
    const rest = await readEvents(resumed, (message) => message.type === "approval.decided");
    expect(rest.map(({ id: seq, message }) => `${seq} ${message.type}`)).toEqual([
      "1 approval.ready",
      "2 approval.decided",
    ]);
  });

  it('"reconnect from seq gives exactly the rest", cut at every event', async () => {
    for (let at = 0; at < 5; at++) await service.request(ask());
    for (let cut = 0; cut <= 5; cut++) {
      const response = await get("/events", { ...HEADERS, "last-event-id": `${cut}` });
      const events = await readEvents(response, (_, id) => id === "5");
      const seqs = events.flatMap(({ message }) => (message.type === "approval.requested" ? [message.seq] : []));
      expect(seqs).toEqual([1, 2, 3, 4, 5].slice(cut));
    }
  });

  it('"subscribe to another run": nothing leaks', async () => {
    await service.request(ask());
    const own = await service.request(ask({ runId: "run_2", metadata: { tenant: "evil" } }));
    const headers = { ...HEADERS, authorization: "Bearer eve@evil" };
    expect(await (await get("?run_id=run_1", headers)).json()).toEqual({ requests: [] });
    const events = await readEvents(await get("/events", headers), ({ type }) => type === "approval.ready");
    expect(events.map(({ message }) => (message as { request_id?: string }).request_id)).toEqual([own.id, undefined]);
  });

  it('"token expired mid-connection" ends it', async () => {
    let expiresAt = 0;
    const token: typeof authenticate = async (client) => {
      expiresAt ||= Date.now() + 200;
      return { ...(await authenticate(client))!, expiresAt };
    };
    use({ authenticate: token });
    await readEvents(await get("/events"), () => false);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect((await get("/events")).status).toBe(401);
  });

  it("tells nothing after the token has expired, though no timer has fired yet", async () => {
    const expiresAt = Date.now() + 3_600_000;
    use({ authenticate: async (client) => ({ ...(await authenticate(client))!, expiresAt }) });
    const reader = (await get("/events")).body!.getReader();
    await reader.read();
    vi.useFakeTimers({ toFake: ["Date"], now: expiresAt });
    try {
      await service.request(ask());
      expect(await reader.read()).toEqual({ done: true, value: undefined });
    } finally {
      vi.useRealTimers();
    }
  });

  it("says something from time to time, so that nothing on the way takes it for dead", async () => {
    use({ keepAliveMs: 10 });
    const reader = (await get("/events")).body!.getReader();
    const texts = [await reader.read(), await reader.read()].map(({ value }) => new TextDecoder().decode(value));
    expect(texts).toEqual([expect.stringContaining("event: approval.ready"), ": \n\n"]);
    await reader.cancel();
  });

  it("keeps nothing for a client that does not read", async () => {
    let reads = 0;
    const store = memoryStore();
    service = tenantService({ ...store, get: (key) => (reads++, store.get(key)) });
    use();
    for (let at = 0; at < 200; at++) await service.request(ask());
    const response = await get("/events", { ...HEADERS, "last-event-id": "0" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    reads = 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reads).toBe(0);
    await response.body!.cancel();
  });
});

describe("a client that is gone", () => {
  /** How many listen to the store. */
  function counting() {
    const store = memoryStore();
    const count = { subscriptions: 0 };
    service = tenantService({
      ...store,
      async subscribe(...args) {
        count.subscriptions++;
        const end = await store.subscribe(...args);
        return async () => {
          count.subscriptions--;
          await end();
        };
      },
    });
    use({ authenticate: async (client) => ({ ...(await authenticate(client))!, expiresAt: Date.now() + 3_600_000 }) });
    return count;
  }
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it("is followed no more, though nobody reads the events to their end, or cancels them", async () => {
    const count = counting();
    const [authentications, keepAlives] = [timersOf(3_600_000), timersOf(15_000)];
    for (let at = 0; at < 3; at++) await service.request(ask());
    const leave = new AbortController();
    const response = await get("/events", { ...HEADERS, "last-event-id": "0" }, { signal: leave.signal });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.read();
    await sleep(20);
    expect([count.subscriptions, authentications(), keepAlives()]).toEqual([1, 1, 1]);
    leave.abort();
    await sleep(20);
    expect([count.subscriptions, authentications(), keepAlives()]).toEqual([0, 0, 0]);
  });

  it("is no error", async () => {
    const errors: unknown[] = [];
    use({ onError: (error) => errors.push(error) });
    const reader = (await get("/events")).body!.getReader();
    await reader.read();
    await sleep(20);
    await reader.cancel();
    await sleep(20);
    expect(errors).toEqual([]);
  });

  it("when the events begin gets none", async () => {
    const count = counting();
    const [authentications, keepAlives] = [timersOf(3_600_000), timersOf(15_000)];
    await service.request(ask());
    await get("/events", HEADERS, { signal: AbortSignal.abort() });
    await sleep(20);
    expect([count.subscriptions, authentications(), keepAlives()]).toEqual([0, 0, 0]);
  });
});

describe("behind a real server", () => {
  let server: Server;
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it("serves fetch: events out, a decision in, and lets go when the client leaves", async () => {
    const store = memoryStore();
    let subscriptions = 0;
    service = tenantService({
      ...store,
      async subscribe(...args) {
        subscriptions++;
        const end = await store.subscribe(...args);
        return async () => {
          subscriptions--;
          await end();
        };
      },
    });
    use();
    server = createServer(
      (request, response) =>
        void answer(request).then(async (answered) => {
          response.writeHead(answered.status, Object.fromEntries(answered.headers));
          response.flushHeaders();
          if (answered.body === null) return response.end();
          const body = Readable.fromWeb(answered.body as never);
          response.on("close", () => body.destroy());
          body.on("error", () => {});
          return body.pipe(response);
        }),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/approvals`;
    const leave = new AbortController();
    const events = await fetch(`${url}/events`, { headers: HEADERS, signal: leave.signal });
    const { id } = await service.request(ask());
    const reading = readEvents(events, ({ type }) => type === "approval.decided");
    const decided = await fetch(`${url}/decide`, {
      method: "POST",
      headers: { ...HEADERS, "content-type": "application/json" },
      body: JSON.stringify(approve(id)),
    });
    expect(decided.status).toBe(200);
    expect((await reading).map(({ message }) => message.type)).toEqual([
      "approval.ready",
      "approval.requested",
      "approval.decided",
    ]);
    leave.abort();
    await until(() => subscriptions === 0);
  });

  function answer(request: IncomingMessage): Promise<Response> {
    const { method = "GET", headers, url = "/" } = request;
    const init = { method, headers: headers as Record<string, string>, duplex: "half" };
    const body = method === "GET" ? {} : { body: Readable.toWeb(request) as never };
    return handle(new Request(`http://localhost${url}`, { ...init, ...body } as RequestInit));
  }
});
