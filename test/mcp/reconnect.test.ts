/**
 * A server that was restarted: the SDKs' clients go on with a session that it does not know.
 * https://github.com/anthropics/claude-code/issues/59442, https://github.com/spring-projects/spring-ai/issues/3337
 */
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as OldSseTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { mcpTools, type McpClient } from "../../src/mcp/index.ts";
import { execute, failure, oldServer } from "./support.ts";
import { soon } from "../soon.ts";

/** A server with sessions, which forgets them when it is restarted. */
async function startServer() {
  const calls: unknown[] = [];
  let description = "Pays.";
  let sessions = new Map<string, StreamableHTTPServerTransport>();
  let onCall = async () => {};
  /** The answer to a session that it does not know: the specification's, unless a test has another. */
  let refusal = {
    status: 404,
    body: '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}',
  };
  /** What a gateway answers that has passed a call on. */
  let late: { status: number; body: string } | undefined;

  async function newSession(): Promise<StreamableHTTPServerTransport> {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const server = oldServer({
      listTools: () => ({ tools: [{ name: "pay", description, inputSchema: { type: "object" } }] }),
      callTool: async (request: { params: { arguments: unknown } }) => {
        calls.push(request.params.arguments);
        await onCall();
        return { content: [{ type: "text", text: `paid ${calls.length}` }] };
      },
    });
    await server.connect(transport as never);
    return transport;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (late !== undefined && request.method === "POST") {
      const { params } = JSON.parse(String(Buffer.concat(await request.toArray()))) as {
        params: { arguments: unknown };
      };
      calls.push(params.arguments);
      return void response.writeHead(late.status).end(late.body);
    }
    const id = request.headers["mcp-session-id"] as string | undefined;
    const transport = id === undefined ? await newSession() : sessions.get(id);
    if (transport !== undefined) return transport.handleRequest(request, response);
    response.writeHead(refusal.status, { "content-type": "application/json" }).end(refusal.body);
  }

  const http = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    calls,
    restart(as = description) {
      description = as;
      sessions = new Map();
    },
    refusesWith: (status: number, body: string) => void (refusal = { status, body }),
    answersLate: (status: number, body: string) => void (late = { status, body }),
    down: () => {
      http.closeAllConnections();
      http.close();
    },
    whenCalled: (then: () => Promise<void>) => void (onCall = then),
  };
}

/** Somebody who has to sign in again: their token has expired, and cannot be refreshed. */
const signedOut = {
  redirectUrl: "http://127.0.0.1/callback",
  clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
  clientInformation: () => ({ client_id: "c" }),
  tokens: () => ({ access_token: "expired", token_type: "bearer" }),
  saveTokens() {},
  redirectToAuthorization() {},
  saveCodeVerifier() {},
  codeVerifier: () => "",
};

const clients: Record<string, (url: URL) => { client: McpClient; open(): Promise<void>; close(): Promise<void> }> = {
  "client 2": (url) => {
    const client = new Client({ name: "c", version: "1" });
    return {
      client,
      open: () => client.connect(new StreamableHTTPClientTransport(url, { authProvider: signedOut })),
      close: () => client.close(),
    };
  },
  "sdk 1": (url) => {
    const client = new OldClient({ name: "c", version: "1" });
    return {
      client,
      open: () => client.connect(new OldTransport(url, { authProvider: signedOut }) as never),
      close: () => client.close(),
    };
  },
};

describe.each(Object.keys(clients))("a server that was restarted, with %s", (kind) => {
  async function setup() {
    const server = await startServer();
    const { client, open, close } = clients[kind]!(server.url);
    await open();
    onTestFinished(close);
    const reconnect = vi.fn(async () => {
      await close();
      await open();
    });
    return { ...server, client, close, reconnect };
  }

  it("is connected to again, once for all calls, each of which it gets once", async () => {
    const { client, reconnect, restart, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    expect(await execute(pay, { n: 0 })).toBe("paid 1");
    restart();
    const paid = await Promise.all([1, 2, 3].map((n) => execute(pay, { n })));
    expect(paid.toSorted()).toEqual(["paid 2", "paid 3", "paid 4"]);
    expect(calls.toSorted((a: any, b: any) => a.n - b.n)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }]);
    expect(reconnect).toHaveBeenCalledOnce();
  });

  // python-sdk#1004, affine-mcp-server#301 and mastra#7675; mcphub#196; neotoma#1923
  it.each([
    [400, '{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid Request: Session not found"}}'],
    [400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}'],
    [503, "Unknown or expired mcp-session-id"],
  ])("is connected to again when it says with %i that it does not know the session", async (status, body) => {
    const { client, reconnect, restart, refusesWith, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    restart();
    refusesWith(status, body);
    expect(await execute(pay, { n: 1 })).toBe("paid 1");
    expect(calls).toEqual([{ n: 1 }]);
    expect(reconnect).toHaveBeenCalledOnce();
  });

  it.each([
    ["is about something else", '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request"},"id":null}'],
    ["is a tool's own", '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Your session has ended."},"id":2}'],
  ])("is not connected to again for a 400 that %s", async (_, body) => {
    const { client, reconnect, restart, refusesWith } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    restart();
    refusesWith(400, body);
    expect(await failure(execute(pay))).toMatchObject({ code: "server_failed" });
    expect(reconnect).not.toHaveBeenCalled();
  });

  it("has executed nothing that it refused because the caller has to sign in again", async () => {
    const { client, reconnect, restart, refusesWith, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    restart();
    refusesWith(401, '{"error":"invalid_token"}');
    expect(await failure(execute(pay))).toMatchObject({
      code: "server_failed",
      message: expect.stringContaining("Unauthorized"),
    });
    expect(calls).toEqual([]);
    expect(reconnect).not.toHaveBeenCalled();
  });

  it("gets no call again that a gateway had passed on, whatever that says of the session", async () => {
    const { client, reconnect, calls, answersLate } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    answersLate(503, "The session's backend took too long to answer.");
    expect(await failure(execute(pay, { n: 1 }))).toMatchObject({ code: "outcome_unknown" });
    expect(calls).toEqual([{ n: 1 }]);
    expect(reconnect).not.toHaveBeenCalled();
  });

  it.each([
    [500, "Internal error"],
    [200, "<p>Thank you for your patience.</p>"], // no answer of a server, but one in front of it
  ])("does not know what came of a write that is answered with %i and other words", async (status, body) => {
    const { client, answersLate } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity })).tools();
    answersLate(status, body);
    expect(await failure(execute(pay))).toMatchObject({ code: "outcome_unknown" });
  });

  it("is connected to again when it is to list its tools, too", async () => {
    const { client, reconnect, restart } = await setup();
    const set = await mcpTools(client, { maxAgeMs: 0, reconnect });
    restart();
    expect(await execute(set.tools()[0])).toBe("paid 1");
    restart("Pays twice.");
    expect(await set.refresh()).toEqual({ added: [], changed: ["pay"], removed: [] });
    expect(reconnect).toHaveBeenCalledTimes(2);
  });

  it("is not called where it came back with another definition", async () => {
    const { client, reconnect, restart, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    restart("Pays twice.");
    expect(await failure(execute(pay))).toMatchObject({ code: "definition_changed" });
    expect(calls).toEqual([]);
  });

  it("gets no call again that it may have executed", async () => {
    const { client, close, reconnect, whenCalled, calls } = await setup();
    const [pay] = (await mcpTools(client, { reconnect })).tools();
    whenCalled(() => close());
    expect(await failure(execute(pay))).toMatchObject({ code: "outcome_unknown" });
    expect(calls).toHaveLength(1);
    whenCalled(async () => {});
    expect(await execute(pay)).toBe("paid 2");
    expect(reconnect).toHaveBeenCalledOnce();
  });

  it("that cannot be connected to again is a failure, and tried again with the next call", async () => {
    const { client, reconnect, restart } = await setup();
    reconnect.mockRejectedValueOnce(new Error("no route"));
    const [pay] = (await mcpTools(client, { reconnect })).tools();
    restart();
    expect(await failure(execute(pay))).toMatchObject({
      code: "server_failed",
      message: "The MCP server cannot be connected again: no route",
    });
    expect(await execute(pay)).toBe("paid 1");
  });

  it("may answer what it was asked before, while it still can", async () => {
    const { client, reconnect, restart, whenCalled, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    const sent = vi.spyOn(client, "callTool");
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    whenCalled(() => mayAnswer);
    const first = execute(pay, { n: 1 });
    await soon(() => expect(calls).toHaveLength(1));
    whenCalled(async () => {});
    restart();
    const second = execute(pay, { n: 2 });
    await soon(() => expect(sent.mock.settledResults[1]).toMatchObject({ type: "rejected" }));
    answer();
    expect(await Promise.all([first, second])).toEqual(["paid 1", "paid 2"]);
    expect(reconnect).toHaveBeenCalledOnce();
  });

  it("is connected to again though it does not answer what it was asked before", async () => {
    const { client, reconnect, restart, whenCalled, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    whenCalled(() => new Promise(() => {}));
    const first = failure(execute(pay, { n: 1 }));
    await soon(() => expect(calls).toHaveLength(1));
    whenCalled(async () => {});
    restart();
    expect(await execute(pay, { n: 2 })).toBe("paid 2");
    expect(await first).toMatchObject({ code: "outcome_unknown" });
  });

  it("is sent nothing while it is connected to again, and then all that waited and was not given up", async () => {
    const { client, reconnect, restart, calls } = await setup();
    const [pay] = (await mcpTools(client, { maxAgeMs: Infinity, reconnect })).tools();
    const connect = reconnect.getMockImplementation()!;
    const { promise: mayConnect, resolve: goOn } = Promise.withResolvers<void>();
    reconnect.mockImplementationOnce(() => mayConnect.then(connect));
    const sent = vi.spyOn(client, "callTool");
    restart();
    const waiting = [execute(pay, { n: 1 })];
    await soon(() => expect(reconnect).toHaveBeenCalled());
    waiting.push(execute(pay, { n: 2 }));
    expect(await failure(execute(pay, { n: 3 }, { signal: AbortSignal.timeout(10) }))).toMatchObject({
      code: "aborted",
    });
    expect(sent).toHaveBeenCalledOnce();
    goOn();
    await Promise.all(waiting);
    expect(calls.toSorted((a: any, b: any) => a.n - b.n)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(reconnect).toHaveBeenCalledOnce();
  });

  it("is not waited for without end", async () => {
    const { client, reconnect, restart } = await setup();
    reconnect.mockImplementationOnce(() => new Promise(() => {}));
    const [pay] = (await mcpTools(client, { reconnect, timeoutMs: 2_000 })).tools();
    restart();
    const words = "The MCP server cannot be connected again: it took longer than 2000 ms";
    const failures = await Promise.all([failure(execute(pay)), failure(execute(pay))]);
    expect(failures.map(({ code, message }) => [code, message])).toEqual([
      ["server_failed", words],
      ["server_failed", words],
    ]);
    expect(await execute(pay)).toBe("paid 1");
    expect(reconnect).toHaveBeenCalledTimes(2);
  });

  it("has got nothing of a write while nobody listened", async () => {
    const { client, down } = await setup();
    const [pay] = (await mcpTools(client)).tools();
    down();
    await failure(execute(pay)); // its connection may have been lost on the way
    expect(await failure(execute(pay))).toMatchObject({ code: "server_failed" });
  });
});

/** The older transport, whose refusals both SDKs report in words only (opencode#37626). */
describe.each(["client 2", "sdk 1"])("a server with SSE that does not know the session any more, with %s", (kind) => {
  async function setup(status: number, body: string) {
    const calls: unknown[] = [];
    let transport: SSEServerTransport | undefined;
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (request.method === "POST" && transport === undefined) response.writeHead(status).end(body);
      else if (request.method === "POST") await transport!.handlePostMessage(request, response);
      else {
        transport = new SSEServerTransport("/messages", response);
        const server = oldServer({
          listTools: () => ({ tools: [{ name: "pay", inputSchema: { type: "object" } }] }),
          callTool: (request_: { params: { arguments: unknown } }) => {
            calls.push(request_.params.arguments);
            return { content: [{ type: "text", text: `paid ${calls.length}` }] };
          },
        });
        await server.connect(transport as never);
      }
    };
    const http = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
    await once(http, "listening");
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`);
    const client =
      kind === "sdk 1" ? new OldClient({ name: "c", version: "1" }) : new Client({ name: "c", version: "1" });
    const open = () =>
      client.connect((kind === "sdk 1" ? new OldSseTransport(url) : new SSEClientTransport(url)) as never);
    await open();
    onTestFinished(() => client.close());
    const reconnect = vi.fn(async () => {
      await client.close();
      await open();
    });
    return { client, reconnect, calls, forget: () => void (transport = undefined) };
  }

  it.each([
    [404, '{"error":{"message":"Invalid session id."}}'],
    [400, "No transport found for sessionId"],
  ])("is connected to again (%i)", async (status, body) => {
    const { client, reconnect, calls, forget } = await setup(status, body);
    const [pay] = (await mcpTools(client as McpClient, { maxAgeMs: Infinity, reconnect })).tools();
    forget();
    expect(await execute(pay, { n: 1 })).toBe("paid 1");
    expect(calls).toEqual([{ n: 1 }]);
    expect(reconnect).toHaveBeenCalledOnce();
  });

  it("has not executed the write that it refuses", async () => {
    const { client, forget } = await setup(403, "Forbidden");
    const [pay] = (await mcpTools(client as McpClient, { maxAgeMs: Infinity })).tools();
    forget();
    expect(await failure(execute(pay))).toMatchObject({ code: "server_failed" });
  });
});

it("a server's process that has ended is started again", async () => {
  const client = new Client({ name: "c", version: "1" });
  const start = () => {
    const args = [join(import.meta.dirname, "server.ts")];
    return new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" });
  };
  let transport = start();
  await client.connect(transport);
  onTestFinished(() => client.close());
  const set = await mcpTools(client, {
    prefix: "",
    reconnect: async () => {
      await client.close();
      await client.connect((transport = start()));
    },
  });
  const gone = Promise.withResolvers<void>();
  Object.assign(client, { onclose: gone.resolve });
  process.kill(transport.pid!, "SIGKILL");
  await gone.promise;
  expect(await execute(set.tools()[0], { a: 1, b: 2 })).toEqual({ sum: 3 });
});
