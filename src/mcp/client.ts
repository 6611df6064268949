/**
 * The part of a connected MCP client that is used. Structural, so that clients of `@modelcontextprotocol/client` 2 and
 * of the older `@modelcontextprotocol/sdk` both fit, and neither is needed to compile. Types of the fields that are
 * read, 2026-11: https://ts.sdk.modelcontextprotocol.io/v2/
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

/** A tool as its server describes it. Untrusted. */
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

/** What a server says about its tool's effect: hints, which a hostile server can set as it likes. */
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

/** A call's progress as reported by its server, passed to `context.progress()`. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal;
  timeout?: number;
  maxTotalTimeout?: number;
  resetTimeoutOnProgress?: boolean;
  onprogress?: (progress: McpProgress) => void;
  /** In place of the listed one, whose output schema the client would compile and check results against (version 2). */
  toolDefinition?: McpToolDefinition;
}

/** The result of a call. `resultType` is `"input_required"` if the server wants something first (MCP 2026-07-28). */
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

/**
 * What a server asks for before it answers: https://modelcontextprotocol.io/specification/2026-07-28 (multi-round-trip
 * requests).
 */
export interface McpInputRequired {
  /** By the server's own names: elicitation, sampling or roots requests. */
  readonly inputRequests?: Readonly<Record<string, unknown>> | undefined;
  /** Opaque; goes back byte for byte. */
  readonly requestState?: string | undefined;
}

type AnyFunction = (...args: unknown[]) => Promise<unknown>;

/** Calls a tool with either generation of client: only the newer one knows protocol eras. */
export function callTool(client: McpClient, params: McpCall, options: RequestOptions): Promise<McpResult> {
  const call = (client.callTool as AnyFunction).bind(client);
  return (isVersion2(client) ? call(params, options) : call(params, undefined, options)) as Promise<McpResult>;
}

/**
 * Calls a tool and returns what the server asks for, which `callTool()` would otherwise handle itself. The client
 * checks results against the listed output schema, but such a request is not an output: so it gets the definition
 * without one.
 */
export function requestTool(
  client: McpClient,
  definition: McpToolDefinition,
  params: McpCall & { inputResponses?: Readonly<Record<string, unknown>>; requestState?: string },
  options: RequestOptions,
): Promise<McpResult & McpInputRequired> {
  const call = (client.callTool as AnyFunction).bind(client);
  const toolDefinition = withoutOutput(definition);
  const result = call(params, { ...options, allowInputRequired: true, toolDefinition });
  return result as Promise<McpResult & McpInputRequired>;
}

/** A definition against which a client checks no result. */
export function withoutOutput(definition: McpToolDefinition): McpToolDefinition {
  return { ...definition, outputSchema: undefined };
}

export function isVersion2(client: McpClient): boolean {
  return typeof (client as { getProtocolEra?: unknown }).getProtocolEra === "function";
}
