import type { ToolPolicy } from "../tool/policy.ts";
import type { Effect, Tool, ToolContext } from "../tool/tool.ts";
import type { McpAnnotations, McpInputRequired, McpResult, McpToolDefinition } from "./client.ts";
import type { SkippedMcpTool } from "./listing.ts";

/** Options of `mcpTools()`. */
export interface McpToolsOptions {
  /**
   * Put before each name, separated by `__`: `github__search`. Default: the server's own name, in the characters A-Z,
   * a-z, 0-9, _ and -; set one yourself if you do not trust it. `""` for none.
   */
  readonly prefix?: string | undefined;
  /** What a tool does to the world, as far as you know. Default: `"write"` for all, whatever the annotations say. */
  readonly effect?: ((definition: McpToolDefinition, annotations: McpAnnotations) => Effect | undefined) | undefined;
  /** The rules under which an executor runs a tool. */
  readonly policy?:
    | ((definition: McpToolDefinition, annotations: McpAnnotations) => ToolPolicy | undefined)
    | undefined;
  /** Which tools to take. Default: all. */
  readonly filter?: ((definition: McpToolDefinition) => boolean) | undefined;
  /**
   * For each request, and for `reconnect`; each progress report of a call grants it as much again. Default 60,000.
   */
  readonly timeoutMs?: number | undefined;
  /** For each request of a call, however much progress its server reports. Default: ten times `timeoutMs`. */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * Connects the client again. Called when a request cannot have reached a tool, since the connection is closed or its
   * session unknown (HTTP 404; also 400 and 503, if the server says that this is the reason); then the request is sent
   * once more. An attempt that takes longer than `timeoutMs` has failed. Default: it fails, as do all later ones.
   */
  readonly reconnect?: (() => Promise<unknown>) | undefined;
  /**
   * An older listing is refreshed before a call, to notice changed definitions. Default 60,000; 0 means before every
   * call, `Infinity` only after `stale()`.
   */
  readonly maxAgeMs?: number | undefined;
  /** Default 1,000. */
  readonly maxTools?: number | undefined;
  /**
   * Turns the server's result into what the tool returns, or a promise of that. Default, also for `undefined`: the
   * structured content, or the text of all blocks.
   */
  readonly result?: ((result: McpResult, definition: McpToolDefinition) => unknown) | undefined;
  /**
   * Answers what a server asks for before it answers (MCP 2026-07-28; clients of version 2 only): returns responses by
   * the server's own names. Default: the client's own request handlers; if it has none, the call fails with
   * `input_required`.
   */
  readonly onInputRequired?:
    | ((request: McpInputRequired, context: ToolContext) => Promise<Readonly<Record<string, unknown>>>)
    | undefined;
  /** Aborts listing. Calls use the signal of their context. */
  readonly signal?: AbortSignal | undefined;
}

/** `tool.metadata.mcp` of a tool of an MCP server. */
export interface McpToolInfo {
  /** What the server calls itself. */
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

/** The tools of one server. Accepted wherever tools are. */
export interface McpToolSet {
  tools(): readonly Tool[];
  /** What the server offers that cannot be used, and why. */
  readonly skipped: readonly SkippedMcpTool[];
  /** Lists the server's tools again and adopts what it offers now. */
  refresh(): Promise<McpChanges>;
  /** Makes the next call list the tools again. For the client's `listChanged` handler. */
  stale(): void;
}
