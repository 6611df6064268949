import type { ToolPolicy } from "../tool/policy.ts";
import type { Effect, Tool, ToolContext } from "../tool/tool.ts";
import type { McpAnnotations, McpInputRequired, McpResult, McpToolDefinition } from "./client.ts";
import type { SkippedMcpTool } from "./listing.ts";

/** What `mcpTools()` takes. */
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
  /** A result as the tool returns it. Default: its structured content, or the text of its blocks. */
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
