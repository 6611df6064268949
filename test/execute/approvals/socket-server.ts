import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer, type ClientOptions, type ServerOptions } from "ws";
import {
  ApprovalService,
  approvalSockets,
  type ApprovalAsk,
  type ApprovalSocketsOptions,
  type Authenticate,
  type ServerMessage,
} from "../../../src/execute/approvals/index.ts";
import { memoryStore } from "../../../src/store/index.ts";

export const ORIGIN = "https://app.example";

/** Tokens of the tests: `<id>@<tenant>`, `!` behind it for one who may decide nothing. */
export const authenticate: Authenticate = ({ headers, url }) => {
  const token = headers.get("authorization")?.replace("Bearer ", "") ?? url.searchParams.get("token");
  const [, id, tenant, mark] = /^(\w+)@(\w+)(!?)$/.exec(token ?? "") ?? [];
  return id === undefined ? undefined : { principal: { id, tenant, role: mark === "!" ? "viewer" : "approver" } };
};

/** Tenants apart, and a role. */
export function tenantService(store = memoryStore()): ApprovalService {
  return new ApprovalService({
    store,
    mayDecide: ({ tenant, role }, { metadata }) => role === "approver" && tenant === metadata["tenant"],
    validateInput: (_, value) => ({ ok: true, value }),
  });
}

let calls = 0;

export function ask(more: Partial<ApprovalAsk> = {}): ApprovalAsk {
  return {
    runId: "run_1",
    invocationId: `${calls++}`,
    toolName: "refund_order",
    input: { order: "A1" },
    definitionDigest: "sha256:tool",
    message: "Refund order A1?",
    requestedBy: { id: "bob" },
    metadata: { tenant: "acme" },
    ...more,
  };
}

export interface SocketServer {
  readonly port: number;
  readonly server: Server;
  readonly sockets: WebSocketServer;
  connect(token?: string | null, options?: ClientOptions & { query?: string }): Promise<Client>;
  close(): Promise<void>;
}

/** A client of the `ws` package, and all that it has received. */
export interface Client {
  readonly socket: WebSocket;
  readonly messages: readonly ServerMessage[];
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  send(message: unknown): void;
  /** The next message of a type that was not waited for yet. */
  next<T extends ServerMessage["type"]>(type: T): Promise<Extract<ServerMessage, { type: T }>>;
}

/** A real `ws` server on a loopback port. */
export async function startSockets(
  service: ApprovalService,
  more: Partial<ApprovalSocketsOptions> = {},
  serverOptions: ServerOptions = {},
): Promise<SocketServer> {
  const server = createServer();
  const { options, accept } = approvalSockets({ service, authenticate, origins: [ORIGIN], ...more });
  const sockets = new WebSocketServer({ server, ...options, ...serverOptions });
  sockets.on("connection", accept);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    server,
    sockets,
    async connect(token = "ada@acme", { query = "", ...clientOptions } = {}) {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` };
      const url = `ws://127.0.0.1:${port}/approvals${query}`;
      const client = clientOf(new WebSocket(url, { origin: ORIGIN, headers, ...clientOptions }));
      await once(client.socket, "open");
      return client;
    },
    async close() {
      for (const client of sockets.clients) client.terminate();
      sockets.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function clientOf(socket: WebSocket): Client {
  const messages: ServerMessage[] = [];
  const taken = new Set<ServerMessage>();
  const waiting = new Set<() => void>();
  const wake = () => waiting.forEach((resume) => resume());
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)) as ServerMessage);
    wake();
  });
  socket.on("error", () => {});
  void closed.then(() => wake());
  return {
    socket,
    messages,
    closed,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    async next(type) {
      for (;;) {
        const message = messages.find((one) => one.type === type && !taken.has(one));
        if (message !== undefined) {
          taken.add(message);
          return message as never;
        }
        if (socket.readyState === WebSocket.CLOSED)
          throw new Error(`closed before ${type}: ${JSON.stringify(messages)}`);
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
  };
}
