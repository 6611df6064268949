import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import {
  ApprovalService,
  type ApprovalSocketsOptions,
  type ServerMessage,
} from "../../../src/execute/approvals/index.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { timersOf } from "../timers.ts";
import {
  ask,
  authenticate,
  ORIGIN,
  startSockets,
  tenantService,
  type Client,
  type SocketServer,
} from "./socket-server.ts";
import { soon } from "../../soon.ts";

let service: ApprovalService;
let server: SocketServer;

beforeEach(async () => {
  service = tenantService();
  server = await startSockets(service);
});
afterEach(() => server.close());

async function restart(more: Partial<ApprovalSocketsOptions>, serverOptions = {}): Promise<void> {
  await server.close();
  server = await startSockets(service, more, serverOptions);
}

/** Whether the connection is refused: the status of the answer. */
async function refusal(options: { origin?: string; headers?: Record<string, string> }, query = ""): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/approvals${query}`, options);
  socket.on("error", () => {});
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
  socket.terminate();
  return response.statusCode;
}

describe("the protocol", () => {
  it("asks those who may decide, takes the decision, tells the outcome", async () => {
    const client = await server.connect();
    await client.next("approval.ready");
    const row = await service.request(ask());
    expect(await client.next("approval.requested")).toEqual({
      type: "approval.requested",
      request_id: row.id,
      run_id: "run_1",
      tool_name: "refund_order",
      message: "Refund order A1?",
      options: ["approve", "deny"],
      summary: '{"order":"A1"}',
      status: "pending",
      requested_by: "bob",
      created_at: row.createdAt,
      expires_at: row.expiresAt,
      seq: 1,
    });
    const waiting = service.await(row.id);
    client.send({ type: "approval.decide", request_id: row.id, decision: "approve", reason: "fine" });
    const outcome = { request_id: row.id, status: "approved", decided_by: "ada", reason: "fine", edited: false };
    expect(await client.next("approval.outcome")).toMatchObject(outcome);
    expect(await client.next("approval.decided")).toMatchObject({ ...outcome, seq: 2 });
    expect((await waiting).status).toBe("approved");
  });

  it("gives a late client what is pending, and nothing that was", async () => {
    const done = await service.request(ask());
    await service.decide(done.id, { decision: "deny" }, { id: "ada", tenant: "acme", role: "approver" });
    const open = await service.request(ask());
    const client = await server.connect();
    expect(await client.next("approval.ready")).toEqual({ type: "approval.ready", seq: 3 });
    expect(client.messages).toMatchObject([{ type: "approval.requested", request_id: open.id }, {}]);
  });

  it("two deciders: one outcome, and the other learns of it", async () => {
    const { id } = await service.request(ask());
    const [ada, zoe] = [await server.connect("ada@acme"), await server.connect("zoe@acme")];
    ada.send({ type: "approval.decide", request_id: id, decision: "approve" });
    zoe.send({ type: "approval.decide", request_id: id, decision: "deny" });
    const answers = await Promise.race([
      Promise.all([ada.next("approval.outcome"), zoe.next("approval.error")]),
      Promise.all([zoe.next("approval.outcome"), ada.next("approval.error")]),
    ]);
    expect(answers[1]).toMatchObject({ code: "already_decided", request_id: id, outcome: answers[0] });
  });

  it("an edited input is what is approved", async () => {
    const { id } = await service.request(ask());
    const client = await server.connect();
    client.send({ type: "approval.decide", request_id: id, decision: "approve", edited_input: { order: "B2" } });
    expect(await client.next("approval.outcome")).toMatchObject({ edited: true });
    expect((await service.get(id))?.editedInput).toEqual({ order: "B2" });
  });

  it("an always counts only where the server allows it", async () => {
    const { id } = await service.request(ask());
    const decide = { type: "approval.decide", request_id: id, decision: "approve", always: true };
    const client = await server.connect();
    client.send(decide);
    expect(await client.next("approval.error")).toMatchObject({ code: "invalid_message" });
    await restart({ allowAlways: true });
    const other = await server.connect();
    other.send({ ...decide, always: { ttlMs: 1000 } });
    expect((await other.next("approval.error")).message).toBe("approval.decide has no ttlMs.");
    other.send({ ...decide, always: { ttl_ms: 1000 } });
    expect((await other.next("approval.outcome")).always?.where).toEqual({
      equals: [{ path: [], value: { order: "A1" } }],
    });
  });

  it("hides what is redacted, and sends a lone surrogate as it is", async () => {
    await restart({ redact: (path, value) => (path.at(-1) === "card" ? "[hidden]" : value) });
    await service.request(ask({ input: { card: "4111", text: "\ud800" } }));
    const client = await server.connect();
    const { summary } = await client.next("approval.requested");
    expect(JSON.parse(summary)).toEqual({ card: "[hidden]", text: "\ud800" });
  });

  it("hides what is redacted in the question that is asked by default, too, and not in the tool's own", async () => {
    await restart({ redact: (path, value) => (path.at(-1) === "card" ? "[hidden]" : value) });
    const input = { card: "4111", n: 1 };
    // Of what the schema had made of it: a Map, say.
    const message = 'Run refund_order with [["card","4111"],["n",1]]?';
    const { id } = await service.request(ask({ toolName: "refund_order", input, message, isDefaultMessage: true }));
    const client = await server.connect();
    const hidden = 'Run refund_order with {"card":"[hidden]","n":1}?';
    expect((await client.next("approval.requested")).message).toBe(hidden);
    client.send({ type: "approval.get", request_id: id });
    expect((await client.next("approval.details")).message).toBe(hidden);
    await service.request(ask({ invocationId: "0.1", input, message: "Refund 4111?" }));
    expect((await client.next("approval.requested")).message).toBe("Refund 4111?");
  });

  it('"an approval UI may show" a part: a summary is short, all of the input can be asked for', async () => {
    await restart({ redact: (path, value) => (path.at(-1) === "card" ? "[hidden]" : value) });
    const input = { card: "4111", path: "x".repeat(5_000), list: [{ card: 5 }] };
    const { id } = await service.request(ask({ input }));
    const client = await server.connect();
    expect((await client.next("approval.requested")).summary.length).toBeLessThan(600);
    client.send({ type: "approval.get", request_id: id });
    const hidden = { ...input, card: "[hidden]", list: [{ card: "[hidden]" }] };
    expect(await client.next("approval.details")).toMatchObject({ request_id: id, input: hidden, status: "pending" });
    const stranger = await server.connect("eve@evil");
    stranger.send({ type: "approval.get", request_id: id });
    expect((await stranger.next("approval.error")).code).toBe("approval_not_found");
  });

  it('"drop the WebSocket at every event index": the rest comes, nothing twice', async () => {
    const rows = [];
    for (let at = 0; at < 4; at++) rows.push(await service.request(ask()));
    for (const { id } of rows) {
      await service.decide(id, { decision: "deny" }, { id: "ada", tenant: "acme", role: "approver" });
    }
    const seqs = (messages: readonly ServerMessage[]) =>
      messages.flatMap((message) =>
        message.type === "approval.requested" || message.type === "approval.decided" ? [message.seq] : [],
      );
    const all = [1, 2, 3, 4, 5, 6, 7, 8];
    for (let index = 0; index < 8; index++) {
      const client = await server.connect("ada@acme", { query: `?after=${index}` });
      while (seqs(client.messages).at(-1) !== 8) await once(client.socket, "message");
      expect(seqs(client.messages)).toEqual(all.slice(index));
      client.socket.terminate();
    }
    // The same by a message, on an open connection.
    const client = await server.connect("ada@acme", { query: "?after=8" });
    await client.next("approval.ready");
    client.send({ type: "approval.resume", seq: 5 });
    while (seqs(client.messages).at(-1) !== 8) await once(client.socket, "message");
    expect(seqs(client.messages)).toEqual([6, 7, 8]);
    await service.request(ask());
    while (seqs(client.messages).at(-1) !== 9) await once(client.socket, "message");
    client.send({ type: "approval.decide", request_id: "apr_1", decision: "deny" });
    await client.next("approval.error");
    expect(seqs(client.messages)).toEqual([6, 7, 8, 9]);
  });

  it("takes a number of another store for none", async () => {
    const { id } = await service.request(ask());
    const client = await server.connect("ada@acme", { query: "?after=999" });
    expect((await client.next("approval.requested")).request_id).toBe(id);
  });
});

describe("who may decide", () => {
  it.each([
    ['"no Origin"', {}, 403],
    ['"foreign Origin (CSWSH)"', { origin: "https://evil.example" }, 403],
    ["an origin that begins alike", { origin: `${ORIGIN}.evil.example` }, 403],
    ["null", { origin: "null" }, 403],
    ['"no token"', { origin: ORIGIN }, 401],
    ["a wrong token", { origin: ORIGIN, headers: { authorization: "Bearer nobody" } }, 401],
  ])("%s is refused before there is a connection", async (_, options, status) => {
    const headers = "headers" in options ? options.headers : status === 401 ? {} : { authorization: "Bearer ada@acme" };
    expect(await refusal({ ...options, headers })).toBe(status);
  });

  it("an authentication that throws lets nobody in, and the server lives on", async () => {
    await restart({
      authenticate: () => {
        throw new Error("down");
      },
    });
    expect(await refusal({ origin: ORIGIN })).toBe(401);
    await restart({
      origins: () => {
        throw new Error("down");
      },
    });
    expect(await refusal({ origin: ORIGIN })).toBe(403);
  });

  it("a server that was made without our options asks all the same", async () => {
    await restart({}, { verifyClient: () => true, maxPayload: 1e6 });
    expect(await (await server.connect(null)).closed).toBe(1008);
    expect(await (await server.connect("ada@acme", { origin: "https://evil.example" })).closed).toBe(1008);
    const client = await server.connect();
    await client.next("approval.ready");
    client.send(`"${"x".repeat(100_000)}"`);
    expect(await client.closed).toBe(1009);
  });

  it("programs that say no origin may be let in", async () => {
    await restart({ allowNoOrigin: true });
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/?token=ada@acme`);
    const [message] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(message.toString())).toMatchObject({ type: "approval.ready" });
    socket.terminate();
  });

  it('"token expired mid-connection": the connection ends, and a decision on the way does not count', async () => {
    const { id } = await service.request(ask());
    let expiresAt = 0;
    const token: typeof authenticate = async (client) => {
      expiresAt ||= Date.now() + 1_000;
      return { ...(await authenticate(client))!, expiresAt };
    };
    await restart({ authenticate: token });
    const client = await server.connect();
    await client.next("approval.requested");
    expect(await client.closed).toBe(1008);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect((await service.get(id))?.status).toBe("pending");
    expect(await refusal({ origin: ORIGIN, headers: { authorization: "Bearer ada@acme" } })).toBe(401);
  });

  it("a connection that is over leaves no timer, however long its authentication lasts", async () => {
    const running = timersOf(3_600_000);
    const expiresAt = Date.now() + 3_600_000;
    await restart({ authenticate: async (client) => ({ ...(await authenticate(client))!, expiresAt }) });
    const client = await server.connect();
    await client.next("approval.ready");
    expect(running()).toBe(1);
    client.socket.close();
    await client.closed;
    await soon(() => expect(running()).toBe(0));
  });

  it("what comes after its authentication has ended does not count, though no timer has fired yet", async () => {
    const { id } = await service.request(ask());
    const expiresAt = Date.now() + 3_600_000;
    await restart({ authenticate: async (client) => ({ ...(await authenticate(client))!, expiresAt }) });
    const client = await server.connect();
    await client.next("approval.ready");
    vi.useFakeTimers({ toFake: ["Date"], now: expiresAt });
    try {
      client.send({ type: "approval.decide", request_id: id, decision: "approve" });
      expect(await client.closed).toBe(1008);
      expect((await service.get(id))?.status).toBe("pending");
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    ['"role without right"', "ada@acme!", ""],
    ["another tenant", "eve@evil", ""],
    ['"subscribe to another run"', "eve@evil", "?run_id=run_1"],
    ["who asked", "bob@acme", "?run_id=run_1"],
  ])('%s: "nothing leaks (not even names)"', async (_, token, query) => {
    const { id } = await service.request(ask());
    const client = await server.connect(token, { query });
    await client.next("approval.ready");
    await service.request(ask());
    await service.decide(id, { decision: "deny" }, { id: "ada", tenant: "acme", role: "approver" });
    // An answer to something that comes after all that could have been told.
    client.send({ type: "approval.decide", request_id: "apr_unknown", decision: "approve" });
    const unknown = await client.next("approval.error");
    expect(unknown.code).toBe("approval_not_found");
    expect(client.messages.filter(({ type }) => type !== "approval.ready" && type !== "approval.error")).toEqual([]);
    if (token !== "bob@acme") {
      client.send({ type: "approval.decide", request_id: id, decision: "approve" });
      expect(await client.next("approval.error")).toEqual({ ...unknown, request_id: id });
    }
  });

  it("only one run, where only one was asked for", async () => {
    await service.request(ask({ runId: "run_2" }));
    const { id } = await service.request(ask({ runId: "run_3" }));
    const client = await server.connect("ada@acme", { query: "?run_id=run_3" });
    await client.next("approval.ready");
    expect(client.messages).toMatchObject([{ request_id: id }, { type: "approval.ready" }]);
    await service.request(ask({ runId: "run_2" }));
    const next = await service.request(ask({ runId: "run_3" }));
    while (client.messages.length < 3) await once(client.socket, "message");
    expect(client.messages[2]).toMatchObject({ request_id: next.id });
  });

  it("tells once of what comes while it is looked what is pending", async () => {
    class Busy extends ApprovalService {
      override async position(scope?: string): Promise<number> {
        const position = await super.position(scope);
        await this.request(ask());
        return position;
      }
    }
    await restart({ service: new Busy({ store: memoryStore(), mayDecide: () => true }) });
    const client = await server.connect();
    await client.next("approval.requested");
    client.send({ type: "approval.decide", request_id: "apr_1", decision: "deny" });
    await client.next("approval.error");
    expect(client.messages.filter(({ type }) => type === "approval.requested")).toHaveLength(1);
  });

  it("each scope by itself", async () => {
    await restart({ authenticate: async (client) => ({ ...(await authenticate(client))!, scope: "acme" }) });
    await service.request(ask());
    const { id } = await service.request(ask({ scope: "acme" }));
    const client = await server.connect();
    await client.next("approval.ready");
    expect(client.messages).toMatchObject([
      { request_id: id, seq: 1 },
      { type: "approval.ready", seq: 1 },
    ]);
  });
});

describe("WebSocket abuse", () => {
  it.each([
    ["non-JSON", "{", "not_json"],
    ["an array", "[]", "not_json"],
    ["null", "null", "not_json"],
    ["unknown type", { type: "approval.everything" }, "unknown_type"],
    ["no type", {}, "unknown_type"],
    ["a type from the prototype", { type: "constructor" }, "unknown_type"],
    ["no request_id", { type: "approval.decide", decision: "approve" }, "invalid_message"],
    ["no decision", { type: "approval.decide", request_id: "x" }, "invalid_message"],
    [
      "an edited denial",
      { type: "approval.decide", request_id: "x", decision: "deny", edited_input: 1 },
      "invalid_message",
    ],
    [
      "an edit by another name",
      { type: "approval.decide", request_id: "x", decision: "approve", editedInput: { order: "B2" } },
      "invalid_message",
    ],
    ["a get of nothing", { type: "approval.get" }, "invalid_message"],
    ["a resume from nowhere", { type: "approval.resume", seq: -1 }, "invalid_message"],
  ])("%s: a typed error, and the connection lives on", async (_, message, code) => {
    const client = await server.connect();
    client.send(message);
    expect((await client.next("approval.error")).code).toBe(code);
    const { id } = await service.request(ask());
    expect((await client.next("approval.requested")).request_id).toBe(id);
  });

  it("a binary message: a typed error", async () => {
    const client = await server.connect();
    client.socket.send(Buffer.from("{}"));
    expect((await client.next("approval.error")).code).toBe("not_json");
  });

  it('"100 MB frame": closed at its header, nothing is buffered', async () => {
    const client = await server.connect();
    client.socket.send(Buffer.alloc(100_000_000), () => {});
    expect([1009, 1006]).toContain(await client.closed);
    await isServing();
  });

  it('"1e5 frames/s": the surplus closes the connection', async () => {
    const client = await server.connect();
    for (let at = 0; at < 100_000 && client.socket.readyState === WebSocket.OPEN; at++) client.socket.send("{}");
    expect([1008, 1006]).toContain(await client.closed);
    expect(client.messages.filter(({ type }) => type === "approval.error").length).toBeLessThan(100);
    await isServing();
  });

  it('"compressed bomb": no compression; and where the server has it, the limit is of what comes out', async () => {
    const bomb = Buffer.alloc(50_000_000);
    const plain = await server.connect();
    expect(plain.socket.extensions).toBe("");
    await restart({}, { perMessageDeflate: { threshold: 0 } });
    const client = await server.connect("ada@acme", { perMessageDeflate: { threshold: 0 } });
    expect(client.socket.extensions).toContain("permessage-deflate");
    client.socket.send(bomb, { compress: true }, () => {});
    expect([1009, 1006]).toContain(await client.closed);
    await isServing();
  });

  it("tells a client that reads all that it has missed, however much", async () => {
    await restart({ maxBufferedBytes: 65_536 });
    for (let at = 0; at < 1_000; at++) await service.request(ask({ message: "x".repeat(1_500) }));
    const client = await server.connect();
    await client.next("approval.ready");
    expect(client.messages).toHaveLength(1_001);
    const again = await server.connect("ada@acme", { query: "?after=0" });
    while (again.messages.length < 1_001) await again.next("approval.requested");
  });

  it('"slow reader (bounded buffer, then close 1013)"', async () => {
    await restart({ maxBufferedBytes: 65_536, closeMs: 600_000 });
    const slow = await rawClient();
    slow.pause();
    const [peer] = server.sockets.clients;
    const message = "x".repeat(2_000);
    const closing = once(peer!, "close");
    let most = 0;
    for (let at = 0; peer!.readyState === WebSocket.OPEN; at++) {
      await service.request(ask({ message }));
      most = Math.max(most, peer!.bufferedAmount);
      if (at > 20_000) throw new Error("never closed");
    }
    expect(most).toBeLessThan(65_536 + 10_000);
    // It reads again: the last thing it gets is why.
    const farewell = Buffer.concat([Buffer.from([0x88, 2 + 13, 0x03, 0xf5]), Buffer.from("does not read")]);
    let tail = Buffer.alloc(0);
    for await (const chunk of slow as AsyncIterable<Buffer>) {
      tail = Buffer.concat([tail, chunk]).subarray(-100);
      if (tail.includes(farewell)) break;
    }
    expect(tail.includes(farewell)).toBe(true);
    slow.destroy();
    await closing;
  });

  it('"slow reader" that never reads again: cut', async () => {
    await restart({ maxBufferedBytes: 1_000, closeMs: 50 });
    const slow = await rawClient();
    slow.pause();
    const [peer] = server.sockets.clients;
    const closing = once(peer!, "close");
    while (peer!.readyState === WebSocket.OPEN) await service.request(ask({ message: "x".repeat(2_000) }));
    expect((await closing)[0]).toBe(1006);
    slow.destroy();
  });

  it('"half-open": who answers no ping is cut, who does stays', async () => {
    await restart({ pingMs: 300 });
    const good = await server.connect();
    const silent = await rawClient();
    silent.resume(); // reads, and says nothing
    expect(server.sockets.clients.size).toBe(2);
    await once(silent, "close");
    expect(good.socket.readyState).toBe(WebSocket.OPEN);
    await isServing(good);
  });

  it("a store that fails ends the connection, and tells the client nothing", async () => {
    const errors: unknown[] = [];
    const list = () => Promise.reject(new Error("SQL of a secret table"));
    const failing = tenantService({ ...memoryStore(), list });
    await restart({ service: failing, onError: (error) => errors.push(error) });
    const client = await server.connect();
    expect(await client.closed).toBe(1011);
    expect(JSON.stringify(client.messages)).not.toContain("SQL");
    expect(errors).toHaveLength(1);
  });

  it("a store that fails ends the connection of a client that has resumed, too", async () => {
    const store = memoryStore();
    let isDown = false;
    const list: typeof store.list = (...args) => (isDown ? Promise.reject(new Error("down")) : store.list(...args));
    await restart({ service: tenantService({ ...store, list }) });
    const client = await server.connect();
    await client.next("approval.ready");
    client.send({ type: "approval.resume", seq: 0 });
    await client.next("approval.ready");
    isDown = true;
    await store.put("approval/log/default/000000000001", { type: "approval.requested", requestId: "x" });
    expect(await client.closed).toBe(1011);
  });

  /** Others are served as before. */
  async function isServing(known?: Client): Promise<void> {
    const client = known ?? (await server.connect());
    const { id } = await service.request(ask());
    while ((await client.next("approval.requested")).request_id !== id);
  }

  /** A client that has shaken hands, and does nothing else: no pong, no close. */
  async function rawClient(): Promise<Socket> {
    const socket = connectTcp(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      `GET /approvals?token=zoe@acme HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\nSec-WebSocket-Version: 13\r\nOrigin: ${ORIGIN}\r\n\r\n`,
    );
    await once(server.sockets, "connection");
    return socket;
  }
});

it("needs to be told how to authenticate", async () => {
  const { approvalSockets } = await import("../../../src/execute/approvals/index.ts");
  expect(() => approvalSockets({ service, origins: [] } as never)).toThrow("authenticate");
});
