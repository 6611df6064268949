import { cut, ToolError } from "../errors.ts";
import { checkMs, settlesWithin } from "../time.ts";
import { aboveZero, aFunction, checkOptionNames, fromZero, type OptionNames } from "../tool/option-names.ts";
import { makeTool, type Effect, type Tool, type ToolContext } from "../tool/tool.ts";
import { callServer } from "./call.ts";
import { isVersion2, type McpClient, type RequestOptions } from "./client.ts";
import { resultOf } from "./content.ts";
import type { CheckedDefinition } from "./definition.ts";
import { isDisconnected, MAX_SAID, serverError } from "./failure.ts";
import { listTools, type Listing, type SkippedMcpTool } from "./listing.ts";
import type { McpChanges, McpToolInfo, McpToolSet, McpToolsOptions } from "./types.ts";

/**
 * The tools of a connected MCP client.
 *
 * A server is somebody else's program: its definitions are checked and bounded, its annotations decide nothing, and a
 * tool whose definition differs from the one that was listed, and that the model, a person and a policy have seen, is
 * not called: `definition_changed`.
 *
 * @throws TypeError for invalid options
 * @throws ToolError `server_failed`, `timeout`, `aborted`, `too_large` if the tools cannot be listed
 * @example
 * const github = await mcpTools(client, { prefix: "github" });
 * const stream = openaiChat.read(response, { tools: github });
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<McpToolSet> {
  checkOptionNames("mcpTools()", options, OPTIONS);
  const { timeoutMs = 60_000, maxTimeoutMs = timeoutMs * 10, maxAgeMs = 60_000, maxTools = 1_000 } = options;
  const { onInputRequired, reconnect, signal } = options;
  for (const name of ["listTools", "callTool", "getServerVersion", "getServerCapabilities"] as const) {
    if (typeof client?.[name] !== "function")
      throw new TypeError(`mcpTools() takes a connected MCP client; it has no ${name}()`);
  }
  if (onInputRequired !== undefined && !isVersion2(client)) {
    throw new TypeError("onInputRequired needs a client of @modelcontextprotocol/client 2");
  }
  if (client.getServerCapabilities() === undefined)
    throw new TypeError("the MCP client has no server: connect it first");
  const server = client.getServerVersion();
  const prefix = options.prefix ?? ownPrefix(server?.name);
  const request: RequestOptions = { timeout: timeoutMs, maxTotalTimeout: timeoutMs };

  let listing: Listing = { tools: new Map(), skipped: [] };
  let listedAt = -Infinity;
  /** How many changes the server has announced, and how many it had when `listing` was requested. */
  let changes = 0;
  let listedChanges = -1;
  /** How often the client was connected again, and the attempt in progress. */
  let connections = 0;
  let connecting: Promise<void> | undefined;
  const asking = new Set<Promise<unknown>>();
  let running: { readonly changes: number; readonly done: Promise<void> } | undefined;
  await listNow(signal);
  let skipped: readonly SkippedMcpTool[] = [];
  let tools = makeTools();

  return {
    tools: () => tools,
    get skipped() {
      return skipped;
    },
    refresh,
    stale: () => void changes++,
  };

  /** Concurrent calls share one listing, unless it was requested before the last change. */
  function list(): Promise<void> {
    if (running?.changes !== changes) {
      const mine = { changes, done: listNow().finally(() => running === mine && (running = undefined)) };
      running = mine;
    }
    return running!.done;
  }

  async function listNow(by?: AbortSignal): Promise<void> {
    const changesThen = changes;
    const askedAt = performance.now();
    const fresh = await listTools(client, maxTools, { ...request, ...(by && { signal: by }) }, listing.tools);
    if (changesThen < listedChanges) return; // a later listing was faster
    listing = fresh;
    listedAt = askedAt;
    listedChanges = changesThen;
  }

  async function listIfStale(): Promise<void> {
    if (listedChanges !== changes || performance.now() - listedAt >= maxAgeMs) await list();
    if (listedChanges !== changes) await list(); // changed while being listed: once more, not forever
  }

  async function refresh(): Promise<McpChanges> {
    const before = digestsOf(tools);
    changes++;
    await connected(undefined, list);
    tools = makeTools();
    const after = digestsOf(tools);
    const names = [...after.keys()];
    return {
      added: names.filter((name) => !before.has(name)),
      changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
      removed: [...before.keys()].filter((name) => !after.has(name)),
    };
  }

  function makeTools(): readonly Tool[] {
    const made: Tool[] = [];
    const left: SkippedMcpTool[] = [...listing.skipped];
    for (const checked of listing.tools.values()) {
      if (options.filter?.(checked.definition) === false) continue;
      const own = checked.definition.name;
      const name = prefix === "" ? own : `${prefix}__${own}`;
      const reason = "its name and the prefix have more than 128 characters";
      if (name.length <= 128) made.push(makeOne(name, checked));
      else left.push({ name: own, reason, code: "invalid_tool" });
    }
    skipped = left;
    return Object.freeze(made);
  }

  function makeOne(name: string, checked: CheckedDefinition): Tool {
    const { definition, inputSchema, outputSchema, digest } = checked;
    const annotations = Object.freeze({ ...definition.annotations });
    const mcp: McpToolInfo = Object.freeze({
      server,
      name: definition.name,
      title: definition.title,
      annotations,
      digest,
    });
    const tool: Tool = makeTool(
      {
        name,
        inputSchema,
        effect: options.effect?.(definition, annotations) ?? "write",
        ...options.policy?.(definition, annotations),
        metadata: { mcp },
        description: definition.description,
        outputSchema: options.result === undefined ? outputSchema : undefined,
        execute: (input: unknown, context: ToolContext) => execute(checked, input, context, tool.effect),
      },
      `${prefix === "" ? (server?.name ?? "mcp") : prefix}/${definition.name}`,
    );
    return tool;
  }

  async function execute(
    checked: CheckedDefinition,
    input: unknown,
    context: ToolContext,
    effect: Effect,
  ): Promise<unknown> {
    const { definition, digest } = checked;
    const { signal: by } = context;
    if (by?.aborted === true) throw serverError(undefined, by, "was not asked");
    const begin = <T>(send: () => Promise<T>): Promise<T> =>
      connected(by, async () => {
        await unlessAborted(listIfStale(), by);
        checkListed(definition.name, digest);
        return send();
      });
    const how = { timeoutMs, maxTimeoutMs, isWrite: effect === "write", onInputRequired, begin };
    const result = await callServer(client, checked, input, context, how);
    if (result.isError === true) {
      const said = resultOf(result, {});
      const text = typeof said === "string" ? said : JSON.stringify(said);
      throw new ToolError("tool_failed", cut(text, MAX_SAID) || "The tool failed and says no more.");
    }
    const own = await options.result?.(result, definition);
    return own === undefined ? resultOf(result, definition, checked.outputSchema) : own;
  }

  function checkListed(name: string, digest: string): void {
    const now = listing.tools.get(name);
    if (now?.digest === digest) return;
    const what =
      now === undefined
        ? "is not offered any more"
        : "was changed by its server after it was listed, and is not called";
    throw new ToolError("definition_changed", `The tool ${what}. It has to be listed and approved again.`);
  }

  /** If the request cannot have reached the server, connects again, once for all that wait, and sends it once more. */
  async function connected<T>(by: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> {
    if (reconnect === undefined) return ask();
    if (connecting !== undefined) await unlessAborted(connecting, by);
    const before = connections;
    try {
      return await noted(ask());
    } catch (error) {
      if (!isDisconnected(error)) throw error;
      if (before === connections)
        await unlessAborted((connecting ??= connect(reconnect).finally(() => (connecting = undefined))), by);
      return noted(ask());
    }
  }

  async function noted<T>(answer: Promise<T>): Promise<T> {
    asking.add(answer);
    try {
      return await answer;
    } finally {
      asking.delete(answer);
    }
  }

  async function connect(again: () => Promise<unknown>): Promise<void> {
    try {
      // Connecting ends the requests in flight, and nobody would know whether they were executed.
      await settlesWithin(OTHERS_MS, Promise.allSettled(asking));
      const attempt = Promise.resolve(again()).then(() => {
        connections++;
        changes++; // it may be another version of the server
      });
      if (!(await settlesWithin(timeoutMs, attempt))) throw new Error(`it took longer than ${timeoutMs} ms`);
      await attempt;
    } catch (error) {
      throw serverError(error, undefined, "cannot be connected again");
    }
  }
}

const OPTIONS: OptionNames<McpToolsOptions> = {
  prefix: true,
  effect: aFunction,
  policy: aFunction,
  filter: aFunction,
  timeoutMs: checkMs,
  maxTimeoutMs: aboveZero,
  reconnect: aFunction,
  maxAgeMs: fromZero,
  maxTools: fromZero,
  result: aFunction,
  onInputRequired: aFunction,
  signal: true,
};

/** How long connecting again waits for requests in flight, which will most likely be refused as well. */
const OTHERS_MS = 1_000;

/** Several calls may wait for one listing; a call that was aborted stops waiting. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(serverError(undefined, signal, "was not asked"));
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** By the server's own names. */
function digestsOf(tools: readonly Tool[]): ReadonlyMap<string, string> {
  const infos = tools.map(({ metadata }) => metadata["mcp"] as McpToolInfo);
  return new Map(infos.map(({ name, digest }) => [name, digest]));
}

/** @throws TypeError if the server has no usable name */
function ownPrefix(name: string | undefined): string {
  const prefix = (name ?? "")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 40);
  if (prefix !== "") return prefix;
  throw new TypeError(
    `the MCP server gives itself no name that can be a prefix (${JSON.stringify(name)}): give one, prefix: "..."`,
  );
}
