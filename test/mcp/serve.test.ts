import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldHttpTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Server as OldServer } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer as OldMcpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createMcpHandler, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { defineTool, ToolRegistry, type Tool, type ToolUse } from "../../src/index.ts";
import {
  mcpHandlers,
  mcpTools,
  resultContent,
  serveMcp,
  type McpClient,
  type ServedContent,
} from "../../src/mcp/index.ts";
import { misread } from "../misread.ts";
import { connections, connectOldServer, execute, failure, newServer, oldServer, processes } from "./support.ts";
import { soon } from "../soon.ts";

const city = z.object({ city: z.string() });
const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city.",
  inputSchema: city,
  outputSchema: z.object({ celsius: z.number() }),
  effect: "read",
  execute: ({ city: name }) => ({ celsius: name === "Oslo" ? -3 : Number.NaN }),
});
const greet = defineTool({
  name: "math.greet/all",
  inputSchema: z.object({ name: z.string().optional() }),
  effect: "idempotent",
  execute: ({ name = "you" }) => `Hello, ${name}`,
});
const fails = defineTool({
  name: "fails",
  inputSchema: z.object({}),
  execute: () => {
    throw new Error("no such order");
  },
});
const external = defineTool({ name: "ask_user", inputSchema: z.object({}) });
const all = [weather, greet, fails, external] as Tool[];

/** A client's own call, which checks no input. */
function caller(client: McpClient) {
  return (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
}

describe.each(Object.entries(connections))("serveMcp(), read by %s", (_name, connect) => {
  async function served(tools: Tool[] = all, options = {}) {
    const server = newServer();
    serveMcp(server, new ToolRegistry(tools), options);
    return mcpTools(await connect(server), { prefix: "" });
  }

  it("offers the tools of a registry, with their schemas, and leaves out what nobody here runs", async () => {
    const set = await served();
    expect(set.skipped).toEqual([]);
    expect(set.tools().map(({ name }) => name)).toEqual(["get_weather", "math.greet__all", "fails"]);
    const [first] = set.tools();
    expect(first).toMatchObject({ description: "Current weather of a city.", mode: "internal" });
    expect(first!.inputSchema.jsonSchema).toMatchObject({
      properties: { city: { type: "string" } },
      required: ["city"],
    });
    expect(first!.outputSchema?.jsonSchema).toMatchObject({ properties: { celsius: { type: "number" } } });
  });

  it("gives results: structured, as text, and errors", async () => {
    const [get, hello, bad] = (await served()).tools();
    expect(await execute(get, { city: "Oslo" })).toEqual({ celsius: -3 });
    expect(await execute(hello, {})).toBe("Hello, you");
    expect(await failure(execute(bad))).toMatchObject({
      code: "tool_failed",
      message: "Tool fails failed: no such order",
    });
  });

  it("says of an input that does not fit what is wrong, to the model", async () => {
    const set = await served();
    const loose = set.tools()[0]!;
    // past our own validation, as another client would
    const error = await failure(Promise.resolve(loose.execute!({ town: "Oslo" }, context(loose))));
    expect(error).toMatchObject({ code: "tool_failed", message: expect.stringContaining("does not fit its schema") });
  });

  it("repairs what another model wrote as far as the tool lets it, as in a stream", async () => {
    const given = z.object({ n: z.number(), tags: z.array(z.string()), unit: z.string().optional() });
    const tell = { inputSchema: given, execute: (input: unknown) => JSON.stringify(input) };
    const server = newServer();
    const uses: ToolUse[] = [];
    serveMcp(server, [defineTool({ ...tell, name: "look", effect: "read" }), defineTool({ ...tell, name: "put" })], {
      execute: (use, context) => (uses.push(use), use.execute(context)),
    });
    const call = caller(await connect(server));
    expect(await call("look", { n: "5", tags: '["a"]', unit: null })).toMatchObject({
      content: [{ type: "text", text: '{"n":5,"tags":["a"]}' }],
    });
    expect(uses[0]!.repairs.map(({ kind, path }) => [kind, path])).toEqual([
      ["null_dropped", ["unit"]],
      ["coerce", ["n"]],
      ["coerce", ["tags"]],
    ]);
    // of a write: only what strict modes force
    expect(await call("put", { n: 5, tags: [], unit: null })).toMatchObject({
      content: [{ text: '{"n":5,"tags":[]}' }],
    });
    expect(await call("put", { n: "5", tags: [], unit: null })).toMatchObject({
      content: [
        {
          type: "text",
          text: "The input of put does not fit its schema: n: Invalid input: expected number, received string. Correct the arguments and call it again.",
        },
      ],
      isError: true,
    });
  });

  it("does not run a call with a number that has lost digits on its way", async () => {
    const ran = vi.fn(() => "paid");
    const server = newServer();
    serveMcp(server, [defineTool({ name: "pay", inputSchema: { type: "object" }, execute: ran })]);
    const call = caller(await connect(server));
    expect(await call("pay", { order: Number("12345678901234567890") })).toMatchObject({
      content: [{ text: expect.stringContaining("cannot be kept exactly") }],
      isError: true,
    });
    expect(ran).not.toHaveBeenCalled();
    expect(await call("pay", { atoms: 6.02e23 })).toMatchObject({ content: [{ text: "paid" }] });
  });

  it("bounds the arguments of a call as those of a stream", async () => {
    const ran = vi.fn(({ value }: { value?: unknown }) => typeof value);
    const inputSchema = z.object({ value: z.unknown() });
    const anything = defineTool({ name: "anything", inputSchema, execute: ran }) as Tool;
    const call = async (value: unknown, limits = {}) => {
      const server = newServer();
      serveMcp(server, [anything], { limits });
      return caller(await connect(server))("anything", { value });
    };
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
    const refused = (what: string) => ({ isError: true, content: [{ text: expect.stringContaining(what) }] });
    expect(await call(nested(127))).toMatchObject({ content: [{ text: "object" }] });
    expect(await call(nested(200), { maxDepth: 300 })).toMatchObject({ content: [{ text: "object" }] });
    expect(ran).toHaveBeenCalledTimes(2);
    expect(await call(nested(128))).toMatchObject(refused("nest deeper than 128 levels (limits.maxDepth)"));
    expect(await call(nested(5_000))).toMatchObject(refused("nest deeper than 128 levels"));
    const limits = { maxArgumentsLength: 1_000 };
    expect(await call("x".repeat(1_000), limits)).toMatchObject(refused("are longer than 1000 characters"));
    expect(ran).toHaveBeenCalledTimes(2);
  });

  it("says of an output that does not fit that it is none", async () => {
    const [get] = (await served()).tools();
    expect(await failure(execute(get, { city: "Bergen" }))).toMatchObject({
      message:
        "Tool get_weather gave an output that does not fit its output schema: celsius: Invalid input: expected number, received null",
    });
  });

  it.each(["Ask again later.", null])("says so of %j, too, where the tool promises structure", async (output) => {
    const [get] = (await served([weather as Tool], { execute: () => output })).tools();
    expect(await failure(execute(get, { city: "Oslo" }))).toMatchObject({
      message: `Tool get_weather gave an output that does not fit its output schema: output: Invalid input: expected object, received ${output === null ? "null" : "string"}`,
    });
  });

  it("does not say of a tool whose output JSON cannot say that it failed, since it ran", async () => {
    const handler = vi.fn(() => ({ cents: 10n }));
    const [pay] = (
      await served([defineTool({ name: "pay", inputSchema: z.object({}), execute: handler }) as Tool])
    ).tools();
    expect(await failure(execute(pay))).toMatchObject({
      message: expect.stringMatching(/^Tool pay has run, but its output cannot be sent: .*BigInt/),
    });
    expect(handler).toHaveBeenCalledOnce();
  });

  it("tells what the tool wants a model to be told, and not an object that JSON would empty", async () => {
    const inputSchema = z.object({});
    const rows = { rows: [1, 2, 3], secret: "s" };
    const query = defineTool({
      name: "query",
      inputSchema,
      execute: () => rows,
      toModelOutput: (o) => `${o.rows.length}`,
    });
    const image = { [Symbol("image")]: [] };
    const shot = defineTool({ name: "shot", inputSchema, execute: () => rows, toModelOutput: () => image });
    const map = defineTool({ name: "map", inputSchema, execute: () => new Map([[1, 2]]) });
    const tools = (await served([query as Tool, shot as Tool, map as Tool])).tools();
    expect(await execute(tools[0]!)).toBe("3");
    expect(await execute(tools[1]!)).toBe(JSON.stringify(rows)); // a form for one provider is none for a client
    expect(await failure(execute(tools[2]!))).toMatchObject({
      message: expect.stringMatching(/^Tool map has run, but its output cannot be sent: .*Map/),
    });
  });

  it("gives the structure of a tool that ran, also where what it wants to tell a model fails", async () => {
    const given = {
      inputSchema: z.object({}),
      execute: () => ({ page: 1 }),
      toModelOutput: (): never => {
        throw new Error("no font in /usr/share/fonts/a.ttf");
      },
    };
    const both = defineTool({ ...given, name: "both", outputSchema: z.object({ page: z.number() }) });
    const text = defineTool({ ...given, name: "text" });
    const tools = (await served([both as Tool, text as Tool])).tools();
    expect(await execute(tools[0])).toEqual({ page: 1 });
    expect(await failure(execute(tools[1]))).toMatchObject({
      message: "Tool text has run, but its output cannot be sent: no font in [path]",
    });
  });

  it("says what went wrong in the functions of whoever serves it", async () => {
    const refuse = () => {
      throw new Error("no permission for orders, see /etc/app/rights.json");
    };
    for (const options of [{ execute: refuse }, { context: refuse }]) {
      const [hello] = (await served([greet as Tool], options)).tools();
      expect(await failure(execute(hello))).toMatchObject({
        message: "Tool math.greet/all failed: no permission for orders, see [path]",
      });
    }
  });

  it("gives images and whatever else a tool marks as content, next to the structure that it promises", async () => {
    const inputSchema = z.object({ page: z.number() });
    const content: ServedContent[] = [
      { type: "text", text: "page 1", annotations: { audience: ["user"], priority: 1 } },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
      { type: "resource_link", uri: "file:///b.txt", name: "b.txt", title: "B", size: 3 },
      { type: "resource", resource: { uri: "file:///a.txt", text: "half \ud83d" } },
    ];
    const shot = defineTool({ name: "shot", inputSchema, execute: () => resultContent(content) });
    const both = defineTool({
      name: "both",
      inputSchema,
      outputSchema: z.object({ page: z.number() }),
      execute: ({ page }) => ({ page }),
      toModelOutput: () => resultContent(content),
    });
    const server = newServer();
    serveMcp(server, [shot, both]);
    const results: unknown[] = [];
    const set = await mcpTools(await connect(server), { prefix: "", result: (result) => void results.push(result) });
    for (const tool of set.tools()) await execute(tool, { page: 1 });
    const sent = [
      ...content.slice(0, 3),
      { type: "resource", resource: { uri: "file:///a.txt", text: "half \ufffd" } },
    ];
    expect(results).toMatchObject([{ content: sent }, { content: sent, structuredContent: { page: 1 } }]);
  });

  it("serves again what another server gives, images and all", async () => {
    const content: ServedContent[] = [
      { type: "text", text: "page 1", annotations: { audience: ["assistant"], priority: 0.5 } },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
      { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///b.txt", name: "b.txt", size: 3 },
      { type: "resource", resource: { uri: "file:///a.bin", blob: "AAEC" } },
    ];
    const server = new McpServer({ name: "browser", version: "1.0.0" });
    server.registerTool("shot", { inputSchema: city }, ({ city: name }) =>
      name === "Oslo" ? { content: content as never } : { content: [], isError: true },
    );
    const behind = await mcpTools(await connections["client 2, MCP 2025"](server.server), {
      result: ({ content: blocks = [] }) => resultContent(blocks),
    });
    const gateway = newServer();
    serveMcp(gateway, behind);
    const call = caller(await connect(gateway));
    expect(await call("browser__shot", { city: "Oslo" })).toMatchObject({ content });
    expect(await call("browser__shot", { city: "Bergen" })).toMatchObject({ isError: true });
  });

  it("passes on progress and the end of the caller's patience", async () => {
    let isEnded = false;
    const slow = defineTool({
      name: "slow",
      inputSchema: z.object({}),
      async *execute(_input, { signal }) {
        try {
          yield { progress: 3, total: 10, message: "so far" };
          yield { progress: 5 / 0, total: Number("unknown"), message: "of how much?" }; // JSON has no such numbers
          yield "more";
          yield { progress: 1, message: "again" }; // MCP's only grows
          await setTimeout(600_000, undefined, { signal: signal! });
        } finally {
          isEnded = true;
        }
      },
    });
    const [tool] = (await served([slow])).tools();
    const gaveUp = new AbortController();
    const seen: unknown[] = [];
    const progress = async (value: unknown) => {
      seen.push(value);
      if (seen.length === 4) gaveUp.abort(new Error("enough"));
    };
    const error = await failure(execute(tool, {}, { signal: gaveUp.signal, progress }));
    expect(error).toMatchObject({ code: "aborted", cause: new Error("enough") });
    expect(seen).toEqual([
      { progress: 3, total: 10, message: "so far" },
      { progress: 4, message: "of how much?" },
      { progress: 5, message: "more" },
      { progress: 6, message: "again" },
    ]);
    await soon(() => expect(isEnded).toBe(true));
  });

  it("a client that leaves is no error of a tool that goes on telling", async () => {
    const { promise: hasLeft, resolve: leave } = Promise.withResolvers<void>();
    const told = vi.fn();
    const eager = defineTool({
      name: "eager",
      inputSchema: z.object({}),
      async execute(_input, { progress }) {
        void progress(1); // nobody has to wait for it
        await hasLeft;
        await progress(2).then(told);
      },
    });
    const server = newServer();
    serveMcp(server, [eager as Tool]);
    const client = await connect(server);
    const [tool] = (await mcpTools(client)).tools();
    await failure(execute(tool, {}, { progress: () => client.close() }));
    await server.close();
    leave();
    await soon(() => expect(told).toHaveBeenCalled());
  });

  it("lets somebody else run the calls, who is told of the caller what the host says", async () => {
    const runs = vi.fn((use: { name: string }, given: { user?: unknown }) => `${use.name} for ${String(given.user)}`);
    const set = await served([greet as Tool], { execute: runs, context: () => ({ user: "ada" }) });
    expect(await execute(set.tools()[0])).toBe("math.greet/all for ada");
  });
});

describe.each(Object.entries(processes))("serveMcp() over stdio, read by %s", (_, connect) => {
  it("answers from a process of its own", async () => {
    const client = await connect();
    const set = await mcpTools(client);
    expect(set.tools().map(({ name }) => name)).toEqual(["calculator__add", "calculator__repeat", "calculator__wait"]);
    expect(await execute(set.tools()[0], { a: 1, b: 2 })).toEqual({ sum: 3 });
    expect(await caller(client)("add", { a: "1", b: 2 })).toMatchObject({ structuredContent: { sum: 3 } });
  });

  it("a result that is too large is an error, and not the end of the connection: wonderwhy-er/DesktopCommanderMCP#658", async () => {
    const [, repeat] = (await mcpTools(await connect())).tools();
    const { code, message } = await failure(execute(repeat, { text: "x", times: 8 * 1024 ** 2 }));
    expect([code, message]).toEqual([
      "tool_failed",
      expect.stringMatching(/^Tool repeat has run, but its result has 8388/),
    ]);
    expect(await execute(repeat, { text: "x", times: 2 })).toBe("xx");
  });

  it("notices that the process is gone: what came of a write is unknown", async () => {
    const client = await connect();
    const set = await mcpTools(client);
    const progress = async () => void (await client.close());
    expect(await failure(execute(set.tools()[2], {}, { progress }))).toMatchObject({ code: "outcome_unknown" });
  });
});

describe.each(["client 2, MCP 2026-07-28", "client 2, MCP 2025", "sdk 1"])(
  "serveMcp() over HTTP, read by %s",
  (kind) => {
    it("answers, reports progress, and knows its caller", async () => {
      const count = defineTool({
        name: "count",
        inputSchema: z.object({}),
        async *execute(_input, { user }) {
          yield { progress: 1, total: 2 };
          return `for ${String(user)}`;
        },
      });
      const handler = createMcpHandler(() => {
        const server = newServer();
        serveMcp(server, [count, fails] as Tool[], {
          context: (ctx) => ({ user: (ctx as ServerContext).http?.authInfo?.clientId }),
        });
        return server;
      });
      const authInfo = { token: "t", clientId: "ada", scopes: [] };
      const options = {
        fetch: (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init), { authInfo }),
      };
      const url = new URL("http://localhost/mcp");
      const info = { name: "test", version: "1.0.0" };
      const isNew = kind.endsWith("2026-07-28");
      const client =
        kind === "sdk 1"
          ? new OldClient(info)
          : new Client(info, isNew ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {});
      await (client instanceof OldClient
        ? client.connect(new OldHttpTransport(url, options) as never)
        : client.connect(new StreamableHTTPClientTransport(url, options)));
      onTestFinished(() => client.close());
      const seen: unknown[] = [];
      const [one, two] = (await mcpTools(client)).tools();
      expect(await execute(one, {}, { progress: async (value) => void seen.push(value) })).toBe("for ada");
      expect(seen).toEqual([{ progress: 1, total: 2 }]);
      expect(await failure(execute(two))).toMatchObject({ message: "Tool fails failed: no such order" });
    });
  },
);

it("sends no result that is larger than it may be, as it is sent", async () => {
  const say = defineTool({
    name: "say",
    inputSchema: { type: "object" },
    execute: ({ text }: { text: string }) => text,
  });
  const { callTool } = mcpHandlers([say] as Tool[], { maxResultBytes: 49 });
  const said = async (text: string) => (await callTool({ params: { name: "say", arguments: { text } } })).content[0];
  const fits = (text: string) => expect(said(text)).resolves.toEqual({ type: "text", text });
  const words = "Tool say has run, but its result has 50 bytes, and 49 can be sent: ask it for less.";
  const tooLarge = (text: string) => expect(said(text)).resolves.toEqual({ type: "text", text: words });
  await fits("x".repeat(10));
  await tooLarge("x".repeat(11));
  await fits("é".repeat(5));
  await tooLarge("é".repeat(5) + "x");
  await fits('"'.repeat(5));
  expect(() => mcpHandlers([say] as Tool[], { maxResultBytes: 0 })).toThrow(/maxResultBytes is a number above 0/);
});

it("does not say of a tool whose result is longer than a string can be that it failed", async () => {
  const dump = () => {
    const tooLong = new RangeError("Invalid string length"); // as V8 says of 512 MiB, which no test has to make
    vi.spyOn(JSON, "stringify").mockImplementationOnce(() => {
      throw tooLong;
    });
    return "x";
  };
  onTestFinished(() => void vi.restoreAllMocks());
  const { callTool } = mcpHandlers([
    defineTool({ name: "dump", inputSchema: { type: "object" }, execute: dump }),
  ] as Tool[]);
  expect(await callTool({ params: { name: "dump" } })).toMatchObject({
    content: [{ text: "Tool dump has run, but its output cannot be sent: Invalid string length" }],
    isError: true,
  });
});

it("mcpHandlers() serve a server of sdk 1", async () => {
  const client = await connectOldServer(oldServer(mcpHandlers(all)));
  const set = await mcpTools(client, { prefix: "old" });
  expect(await execute(set.tools()[0], { city: "Oslo" })).toEqual({ celsius: -3 });
  await expect(client.callTool({ name: "ask_user" })).rejects.toMatchObject({ code: -32602 });
});

it("an McpServer is as good, and tools that join later are offered", async () => {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  const registry = new ToolRegistry([greet]);
  serveMcp(server, registry);
  const client = await connections["client 2, MCP 2025"](server.server);
  registry.register(fails);
  registry.register(defineTool({ name: "look", inputSchema: city, effect: "read", execute: () => "sun" }));
  expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true });
  expect((await client.listTools()).tools.map(({ name, annotations }) => [name, annotations])).toEqual([
    // It may be repeated, which does not mean that it only adds (canvas-mcp#204).
    ["math.greet__all", { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
    ["fails", { readOnlyHint: false, destructiveHint: true, idempotentHint: false }],
    ["look", { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
  ]);
});

it("a server that offers tools already is refused, since they would be gone", () => {
  const server = new McpServer({ name: "s", version: "1.0.0" });
  server.registerTool("own", { inputSchema: city }, () => ({ content: [] }));
  expect(() => serveMcp(server, all)).toThrow("A request handler for tools/list already exists");
});

it("a client that did not ask for progress is told of none", async () => {
  const counting = defineTool({
    name: "count",
    inputSchema: z.object({}),
    async *execute() {
      yield 1;
      return "done";
    },
  });
  const { callTool } = mcpHandlers([counting]);
  const sendNotification = vi.fn(async () => {});
  const call = (_meta?: object) => callTool({ params: { name: "count", ..._meta } }, { sendNotification });
  await call();
  expect(sendNotification).not.toHaveBeenCalled();
  await call({ _meta: { progressToken: 0 } });
  expect(sendNotification).toHaveBeenCalledOnce();
});

describe("a tool that needs approval", () => {
  const ran = vi.fn(() => "done");
  const refund = { name: "refund", inputSchema: z.object({}), execute: ran };

  it.each([{ needsApproval: true }, { needsApproval: () => false }, { irreversible: true }])(
    "(%o) is not served where nobody is asked",
    async (policy) => {
      const tool = defineTool({ ...refund, ...policy }) as Tool;
      expect(() => mcpHandlers([tool])).toThrow("needs approval, and nobody here can give it");
      const registry = new ToolRegistry();
      const { callTool } = mcpHandlers(registry);
      registry.register(tool);
      expect(await callTool({ params: { name: "refund" } })).toMatchObject({ isError: true });
      expect(ran).not.toHaveBeenCalled();
    },
  );

  it("is served with who asks", async () => {
    const tool = defineTool({ ...refund, needsApproval: true }) as Tool;
    const { callTool } = mcpHandlers([tool], { execute: () => "asked" });
    expect(await callTool({ params: { name: "refund" } })).toEqual({ content: [{ type: "text", text: "asked" }] });
  });
});

it("structured content has the keys of the output, whatever was read before", async () => {
  const output = misread();
  const outputSchema = z.looseObject({});
  const { callTool } = mcpHandlers([
    defineTool({ name: "pass", inputSchema: z.object({}), outputSchema, execute: () => output }),
  ]);
  expect(await callTool({ params: { name: "pass" } })).toEqual({
    content: [{ type: "text", text: JSON.stringify(output) }],
    structuredContent: output,
  });
});

it("what a handler's error tells of the machine is for nobody who calls from elsewhere", async () => {
  const failing = () => {
    throw new Error("connect ECONNREFUSED postgres://app:hunter2@db:5432/app, at /srv/app/orders.js");
  };
  const { callTool } = mcpHandlers([defineTool({ name: "orders", inputSchema: z.object({}), execute: failing })]);
  expect(await callTool({ params: { name: "orders" } })).toEqual({
    content: [
      {
        type: "text",
        text: "Tool orders failed: connect ECONNREFUSED postgres://[hidden]@db:5432/app, at [path]",
      },
    ],
    isError: true,
  });
});

it.each([z.string(), z.string().meta({ id: "Shout" })])("a tool that takes a text is none for MCP", (inputSchema) => {
  const shout = defineTool({ name: "shout", inputSchema, execute: String });
  expect(() => mcpHandlers([shout])).toThrow("takes a text");
});

it("the names of many tools are looked at when these change, and not at every call", async () => {
  let looks = 0;
  const named = (name: string) => Object.create(greet, { name: { get: () => (looks++, name) } }) as Tool;
  const tools = Array.from({ length: 100 }, (_, n) => named(`greet_${n}`));
  const { listTools, callTool } = mcpHandlers({ tools: () => [...tools] });
  looks = 0;
  for (let n = 0; n < 10; n++) await callTool({ params: { name: "greet_7" } });
  expect(looks).toBeLessThan(100);
  tools.splice(7, 1, named("greet_100"));
  await expect(callTool({ params: { name: "greet_7" } })).rejects.toThrow("not found");
  expect(listTools().tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
});

it("two names that MCP would know as one are a mistake", () => {
  const twice = [weather, defineTool({ name: "math.greet__all", inputSchema: city }), greet].map((tool) => ({
    ...tool,
    mode: "internal",
  }));
  expect(() => mcpHandlers(twice as Tool[])).toThrow(
    /called math\.greet__all on the wire: one comes from math\.greet__all, one from math\.greet\/all\./,
  );
});

it("a server of sdk 1 is refused with what to do instead", () => {
  const info = { name: "old", version: "1.0.0" };
  for (const server of [new OldServer(info, { capabilities: { tools: {} } }), new OldMcpServer(info)]) {
    expect(() => serveMcp(server, all)).toThrow(
      new TypeError(
        "serveMcp() takes a Server or McpServer of @modelcontextprotocol/server 2. For a server of @modelcontextprotocol/sdk 1, give what mcpHandlers(tools) returns to its setRequestHandler().",
      ),
    );
  }
});

it.each([undefined, {}, new Client({ name: "client", version: "1" })])("is no server: %o", (value) => {
  expect(() => serveMcp(value as never, [])).toThrow(TypeError);
});

const context = (tool: Tool) => ({
  invocationId: "i",
  toolCallId: null,
  toolName: tool.name,
  signal: undefined,
  idempotencyKey: "i",
  attempt: 1,
  progress: async () => {},
  undoData: () => {},
});
