// An MCP server over stdio, for end-to-end.test.ts: the tools of a registry of ours.
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { setTimeout } from "node:timers/promises";
import { defineTool, ToolRegistry } from "../../src/index.ts";
import { serveMcp } from "../../src/mcp/index.ts";

const registry = new ToolRegistry([
  defineTool({
    name: "add",
    description: "Adds two numbers.",
    inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
    effect: "read",
    execute: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
  }),
  defineTool({
    name: "repeat",
    inputSchema: { type: "object", properties: { text: { type: "string" }, times: { type: "number" } } },
    execute: ({ text, times }: { text: string; times: number }) => text.repeat(times),
  }),
  defineTool({
    name: "wait",
    inputSchema: { type: "object" },
    async *execute(_: unknown, { signal }) {
      yield { progress: 1, total: 2, message: "begun" };
      await setTimeout(600_000, undefined, { signal });
    },
  }),
]);

serveStdio(() => {
  const server = new Server({ name: "calculator", version: "1.0.0" }, { capabilities: { tools: {} } });
  serveMcp(server, registry);
  return server;
});
