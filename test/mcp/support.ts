import { Client, InMemoryTransport, type ClientCapabilities } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport as OldInMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server as OldServer } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { McpClient } from "../../src/mcp/index.ts";

export { execute, failure } from "../outcome.ts";

const info = { name: "test-client", version: "1.0.0" };
const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

/** A server of ours to write handlers for. */
export function newServer(name = "test-server"): Server {
  return new Server({ name, version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
}

export function oldServer(handlers: {
  listTools: () => unknown;
  callTool: (request: never, extra: never) => unknown;
}): OldServer {
  const server = new OldServer({ name: "old-server", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, handlers.listTools as never);
  server.setRequestHandler(CallToolRequestSchema, handlers.callTool as never);
  return server;
}

/** Every generation of client, connected to one server, in memory. */
export const connections = {
  async "client 2, MCP 2026-07-28"(server: Server, capabilities: ClientCapabilities = {}) {
    const client = new Client(info, { ...MODERN, capabilities });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const handle = serveStdio(() => server, { transport: theirs });
    await client.connect(ours);
    onTestFinished(async () => {
      await client.close();
      await handle.close();
    });
    return client;
  },
  async "client 2, MCP 2025"(server: Server) {
    const client = new Client(info);
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(theirs), client.connect(ours)]);
    onTestFinished(() => client.close());
    return client;
  },
  async "sdk 1"(server: Server) {
    const client = new OldClient(info);
    const [ours, theirs] = OldInMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(theirs as never), client.connect(ours)]);
    onTestFinished(() => client.close());
    return client;
  },
} satisfies Record<string, (server: Server) => Promise<McpClient>>;

export async function connectOldServer(server: OldServer): Promise<Client> {
  const client = new Client(info);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs as never), client.connect(ours)]);
  onTestFinished(() => client.close());
  return client;
}

/** The same over stdio, with the server in a process of its own. */
export const processes = {
  async "client 2, MCP 2026-07-28"() {
    const client = new Client(info, MODERN);
    await client.connect(new StdioClientTransport(command));
    onTestFinished(() => client.close());
    return client;
  },
  async "sdk 1"() {
    const client = new OldClient(info);
    await client.connect(new OldStdioClientTransport(command));
    onTestFinished(() => client.close());
    return client;
  },
} satisfies Record<string, () => Promise<McpClient>>;

const command = {
  command: process.execPath,
  args: [join(import.meta.dirname, "server.ts")],
  stderr: "inherit" as const,
};
