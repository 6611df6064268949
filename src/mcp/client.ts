/**
 * What is asked of a connected MCP client. By shape, so that a client of `@modelcontextprotocol/client` 2 and one of the
 * older `@modelcontextprotocol/sdk` both fit, and neither is needed to compile.
 * Types of the fields that are read, 2026-11: https://ts.sdk.modelcontextprotocol.io/v2/
 */
export interface McpClient {
  listTools(params?: { cursor?: string }, options?: RequestOptions): Promise<McpToolList>;
  /** `(params, options)` in version 2, `(params, resultSchema, options)` before. */
  callTool(params: McpCall, ...rest: never[]): Promise<unknown>;
  /** `undefined` before it is connected. */
  getServerCapabilities(): object | undefined;
  getServerVersion(): { readonly name: string; readonly version: string } | undefined;
}

interface McpToolList {
  readonly tools: readonly McpToolDefinition[];
  readonly nextCursor?: string | undefined;
}

/** A tool as its server describes it. Nothing of it can be relied on. */
export interface McpToolDefinition {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: { readonly [keyword: string]: unknown };
  readonly outputSchema?: { readonly [keyword: string]: unknown } | undefined;
  readonly annotations?: McpAnnotations | undefined;
  /** Of MCP 2025-11-25. */
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
}

/** What a server says of the effect of its tool: hints, which a hostile server sets as it likes. */
export interface McpAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

interface McpCall {
  name: string;
  arguments?: Record<string, unknown>;
}

/** How far a call is, as its server says: what `context.progress()` is told. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal;
  timeout?: number;
  maxTotalTimeout?: number;
  onprogress?: (progress: McpProgress) => void;
}

/** What a call comes to. `resultType` is `"input_required"` when the server wants something first (MCP 2026-07-28). */
export interface McpResult {
  readonly content?: readonly McpContent[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly resultType?: string | undefined;
}

/** One block of a result. */
export interface McpContent {
  readonly type: string;
  readonly text?: string | undefined;
  /** Base64, of an image or of audio. */
  readonly data?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly uri?: string | undefined;
  readonly name?: string | undefined;
  readonly resource?:
    | {
        readonly uri: string;
        readonly text?: string | undefined;
        readonly blob?: string | undefined;
        readonly mimeType?: string | undefined;
      }
    | undefined;
}

/** What a server asks for before it answers: https://modelcontextprotocol.io/specification/2026-07-28 (multi-round-trip requests). */
export interface McpInputRequired {
  /** By the server's own names: elicitation, sampling or roots requests. */
  readonly inputRequests?: Readonly<Record<string, unknown>> | undefined;
  /** Opaque; goes back byte for byte. */
  readonly requestState?: string | undefined;
}

type AnyFunction = (...args: unknown[]) => Promise<unknown>;

/** Calls a tool with either generation of client: only the newer one speaks of eras. */
export function callTool(client: McpClient, params: McpCall, options: RequestOptions): Promise<McpResult> {
  const call = (client.callTool as AnyFunction).bind(client);
  return (isVersion2(client) ? call(params, options) : call(params, undefined, options)) as Promise<McpResult>;
}

/**
 * Calls a tool and gets back what the server asks for, which `callTool()` would else take care of itself. It checks what
 * comes against the output schema of its list, but what is asked for is no output: so it is given the definition without.
 */
export function requestTool(
  client: McpClient,
  definition: McpToolDefinition,
  params: McpCall & { inputResponses?: Readonly<Record<string, unknown>>; requestState?: string },
  options: RequestOptions,
): Promise<McpResult & McpInputRequired> {
  const call = (client.callTool as AnyFunction).bind(client);
  const toolDefinition = { ...definition, outputSchema: undefined };
  const result = call(params, { ...options, allowInputRequired: true, toolDefinition });
  return result as Promise<McpResult & McpInputRequired>;
}

export function isVersion2(client: McpClient): boolean {
  return typeof (client as { getProtocolEra?: unknown }).getProtocolEra === "function";
}
