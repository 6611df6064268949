import { ToolError } from "../errors.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import { makeTool, type Effect, type Tool, type ToolContext } from "../tool/tool.ts";
import {
  callTool,
  isVersion2,
  requestTool,
  type McpAnnotations,
  type McpClient,
  type McpInputRequired,
  type McpProgress,
  type McpResult,
  type McpToolDefinition,
  type RequestOptions,
} from "./client.ts";
import { resultOf, textOf } from "./content.ts";
import type { CheckedDefinition } from "./definition.ts";
import { serverError } from "./failure.ts";
import { listTools, type Listing, type SkippedMcpTool } from "./listing.ts";

/** What {@link mcpTools} takes. */
export interface McpToolsOptions {
  /**
   * Before each name, with `__` between: `github__search`. Default: the name that the server gives itself, in the
   * characters A-Z, a-z, 0-9, _ and -; give one yourself where you do not trust it. `""` for none.
   */
  prefix?: string;
  /** What a tool does to the world, as you know it. Default: `"write"` for all, whatever the annotations say. */
  effect?: (definition: McpToolDefinition, annotations: McpAnnotations) => Effect | undefined;
  /** The rules under which an executor runs a tool. */
  policy?: (definition: McpToolDefinition, annotations: McpAnnotations) => ToolPolicy | undefined;
  /** Which tools to take. Default: all. */
  filter?: (definition: McpToolDefinition) => boolean;
  /** Of a request. Default 60,000. */
  timeoutMs?: number;
  /**
   * A listing older than this is asked for again before a call, to notice definitions that changed. Default 60,000;
   * 0: before every call; `Infinity`: only after `stale()`.
   */
  maxAgeMs?: number;
  /** Default 1,000. */
  maxTools?: number;
  /** A result as the tool returns it. Default: its structured content, or the text of its blocks; see {@link resultOf}. */
  result?: (result: McpResult, definition: McpToolDefinition) => unknown;
  /**
   * Answers what a server asks for before it answers (MCP 2026-07-28; clients of version 2 only): gives the responses by
   * the server's own names. Without it the client's own request handlers are asked; if it has none, the call fails with
   * `input_required`.
   */
  onInputRequired?: (request: McpInputRequired, context: ToolContext) => Promise<Readonly<Record<string, unknown>>>;
  /** Gives up listing. A call has the signal of its context. */
  signal?: AbortSignal;
}

/** What `tool.metadata.mcp` says of a tool of an MCP server. */
export interface McpToolInfo {
  /** As it calls itself. */
  readonly server: { readonly name: string; readonly version: string } | undefined;
  /** The server's own name of the tool. */
  readonly name: string;
  readonly title: string | undefined;
  /** Hints. */
  readonly annotations: McpAnnotations;
  /** Of the definition, `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** What changed from one listing to the next, by the server's own names. */
export interface McpChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** The tools of one server. Whatever takes tools takes it. */
export interface McpToolSet {
  tools(): readonly Tool[];
  /** What the server offers that can not be used, and why. */
  readonly skipped: readonly SkippedMcpTool[];
  /** Asks the server again and takes over what it offers now. */
  refresh(): Promise<McpChanges>;
  /** Has the next call ask the server again: for the client's `listChanged` handler. */
  stale(): void;
}

/** Rounds in which a server may ask for more. */
const MAX_ROUNDS = 10;

/**
 * The tools of a connected MCP client.
 *
 * A server is somebody else's program: its definitions are looked through and bounded, its annotations decide nothing,
 * and a tool whose definition is not the one that was listed (the model, a person and a policy have seen that one)
 * is not called: `definition_changed`.
 *
 * @throws TypeError for options that can not be
 * @throws ToolError `server_failed`, `timeout`, `aborted`, `too_large` when the tools can not be listed
 * @example
 * const github = await mcpTools(client, { prefix: "github" });
 * const stream = openaiChat.read(response, { tools: github });
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<McpToolSet> {
  const { timeoutMs = 60_000, maxAgeMs = 60_000, maxTools = 1_000, onInputRequired, signal } = options;
  for (const name of ["listTools", "callTool", "getServerVersion", "getServerCapabilities"] as const) {
    if (typeof client?.[name] !== "function")
      throw new TypeError(`mcpTools() takes a connected MCP client; it has no ${name}()`);
  }
  if (!(timeoutMs > 0 && timeoutMs < 2 ** 31)) throw new TypeError(`timeoutMs is a number above 0, got ${timeoutMs}`);
  if (!(maxAgeMs >= 0)) throw new TypeError(`maxAgeMs is a number from 0, got ${maxAgeMs}`);
  if (onInputRequired !== undefined && !isVersion2(client)) {
    throw new TypeError("onInputRequired needs a client of @modelcontextprotocol/client 2");
  }
  if (client.getServerCapabilities() === undefined)
    throw new TypeError("the MCP client has no server: connect it first");
  const server = client.getServerVersion();
  const prefix = options.prefix ?? ownPrefix(server?.name);
  const request: RequestOptions = { timeout: timeoutMs, maxTotalTimeout: timeoutMs };

  let listing: Listing;
  let listedAt: number;
  let running: Promise<void> | undefined;
  await list(signal);
  let skipped: readonly SkippedMcpTool[] = [];
  let tools = makeTools();

  return {
    tools: () => tools,
    get skipped() {
      return skipped;
    },
    refresh,
    stale: () => void (listedAt = -Infinity),
  };

  /** Calls that come at once wait for one listing. */
  function list(by?: AbortSignal): Promise<void> {
    running ??= listTools(client, maxTools, { ...request, ...(by === undefined ? {} : { signal: by }) })
      .then((fresh) => {
        listing = fresh;
        listedAt = performance.now();
      })
      .finally(() => (running = undefined));
    return running;
  }

  async function refresh(): Promise<McpChanges> {
    const before = new Map(tools.map(({ metadata }) => infoOf(metadata)).map(({ name, digest }) => [name, digest]));
    await list();
    tools = makeTools();
    const after = new Map(tools.map(({ metadata }) => infoOf(metadata)).map(({ name, digest }) => [name, digest]));
    return {
      added: [...after.keys()].filter((name) => !before.has(name)),
      changed: [...after]
        .filter(([name, digest]) => before.has(name) && before.get(name) !== digest)
        .map(([name]) => name),
      removed: [...before.keys()].filter((name) => !after.has(name)),
    };
  }

  function makeTools(): readonly Tool[] {
    const made: Tool[] = [];
    const left: SkippedMcpTool[] = [...listing.skipped];
    for (const checked of listing.tools.values()) {
      if (options.filter?.(checked.definition) === false) continue;
      const name = prefix === "" ? checked.definition.name : `${prefix}__${checked.definition.name}`;
      if (name.length <= 128) made.push(makeOne(name, checked));
      else
        left.push({
          name: checked.definition.name,
          reason: "its name and the prefix have more than 128 characters",
          code: "invalid_tool",
        });
    }
    skipped = left;
    return Object.freeze(made);
  }

  function makeOne(name: string, { definition, inputSchema, outputSchema, digest }: CheckedDefinition): Tool {
    const annotations = Object.freeze({ ...definition.annotations });
    const mcp: McpToolInfo = Object.freeze({
      server,
      name: definition.name,
      title: definition.title,
      annotations,
      digest,
    });
    const usesOwnResult = options.result !== undefined;
    return makeTool(
      {
        name,
        inputSchema,
        effect: options.effect?.(definition, annotations) ?? "write",
        ...options.policy?.(definition, annotations),
        metadata: { mcp },
        ...(definition.description === undefined ? {} : { description: definition.description }),
        ...(outputSchema === undefined || usesOwnResult ? {} : { outputSchema }),
        execute: (input: unknown, context: ToolContext) => execute(definition, digest, input, context),
      },
      `${prefix === "" ? (server?.name ?? "mcp") : prefix}/${definition.name}`,
    );
  }

  async function execute(
    definition: McpToolDefinition,
    digest: string,
    input: unknown,
    context: ToolContext,
  ): Promise<unknown> {
    if (context.signal?.aborted === true) throw serverError(undefined, context.signal, "was not asked");
    if (performance.now() - listedAt >= maxAgeMs) await list();
    const now = listing.tools.get(definition.name);
    if (now?.digest !== digest) {
      const what =
        now === undefined
          ? "is not offered any more"
          : "was changed by its server after it was listed, and is not called";
      throw new ToolError("definition_changed", `The tool ${what}. It has to be listed and approved again.`);
    }
    const result = await call(definition.name, input, context);
    if (result.isError === true) {
      throw new ToolError(
        "tool_failed",
        textOf(result.content ?? [])
          .slice(0, 16_384)
          .toWellFormed() || "The tool failed and says no more.",
      );
    }
    return (options.result ?? resultOf)(result, definition);
  }

  async function call(name: string, input: unknown, context: ToolContext): Promise<McpResult> {
    const params = { name, arguments: input as Record<string, unknown> };
    const how: RequestOptions = {
      ...request,
      ...(context.signal === undefined ? {} : { signal: context.signal }),
      onprogress: (progress: McpProgress) => void context.progress(progress).catch(() => {}),
    };
    try {
      if (onInputRequired === undefined) return checkResult(await callTool(client, params, how));
      let result = await requestTool(client, params, how);
      for (let round = 0; result.resultType === "input_required"; round++) {
        if (round === MAX_ROUNDS) throw new Error(`input_required in more than ${MAX_ROUNDS} rounds`);
        const inputResponses = await onInputRequired(result, context);
        const { requestState } = result;
        result = await requestTool(
          client,
          { ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) },
          how,
        );
      }
      return checkResult(result);
    } catch (error) {
      if (error instanceof ToolError) throw error;
      throw serverError(error, context.signal, "did not run the tool");
    }
  }
}

function checkResult(result: McpResult): McpResult {
  if (result.resultType === "input_required") {
    throw new ToolError(
      "input_required",
      "The MCP server asks for something before it answers, and nobody here can give it.",
    );
  }
  if (Array.isArray(result.content) || result.structuredContent !== undefined) return result;
  throw new ToolError("invalid_answer", "The MCP server's answer has no content.");
}

function infoOf(metadata: Tool["metadata"]): McpToolInfo {
  return metadata["mcp"] as McpToolInfo;
}

/** @throws TypeError when the server has no name, or none that can be used */
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
