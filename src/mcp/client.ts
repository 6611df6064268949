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
  /** By the server's own names (version 2). */
  inputResponses?: Readonly<Record<string, unknown>>;
  requestState?: string;
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
  /** Whether to return what a server asks for, which `callTool()` would otherwise handle itself (version 2). */
  allowInputRequired?: boolean;
}

/** The result of a call. `resultType` is `"input_required"` if the server wants something first (MCP 2026-07-28). */
export interface McpResult {
  readonly content?: readonly McpContent[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly resultType?: string | undefined;
}

/** One block of a result, as MCP describes it. `data` and `blob` are Base64. */
export type ServedContent = (
  | { type: "text"; text: string }
  | { type: "image" | "audio"; data: string; mimeType: string }
  | {
      type: "resource_link";
      uri: string;
      name: string;
      title?: string | undefined;
      description?: string | undefined;
      mimeType?: string | undefined;
      /** In bytes. */
      size?: number | undefined;
    }
  | {
      type: "resource";
      resource: { uri: string; mimeType?: string | undefined } & (
        | { text: string; blob?: undefined }
        | { blob: string; text?: undefined }
      );
    }
) & {
  /** For whom it is, and how important, from 0 to 1. */
  annotations?:
    | {
        audience?: ("user" | "assistant")[] | undefined;
        priority?: number | undefined;
        lastModified?: string | undefined;
      }
    | undefined;
};

/** The same as it is read, whatever its type: what blocks of its type do not have is `undefined`. */
export type McpContent = Read<ServedContent>;

type Read<Block> = Block extends unknown
  ? Readonly<Block> & { readonly [name in Exclude<BlockField, keyof Block>]?: undefined }
  : never;

type BlockField = "text" | "data" | "mimeType" | "uri" | "name" | "resource";

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

/**
 * One page of the list of tools, as the server sent it. The clients' own `listTools()` fails if one tool is malformed, or
 * has an output schema that they cannot compile, or of no object, and then there is none: typescript-sdk#1175,
 * https://github.com/anthropics/claude-code/issues/88049, https://github.com/opentokenz/mcpx/issues/28. Only of MCP
 * 2026-07-28 client 2 hands out nothing else.
 */
export async function listPage(
  client: McpClient,
  cursor: string | undefined,
  options: RequestOptions,
): Promise<{ readonly [name in keyof McpToolList]?: unknown }> {
  const params = cursor === undefined ? undefined : { cursor };
  const { request, getProtocolEra } = client as { request?: AnyFunction; getProtocolEra?: () => unknown };
  const able = client.getServerCapabilities() as { tools?: unknown } | undefined;
  const isRead = isVersion2(client) && (getProtocolEra?.call(client) !== "legacy" || able?.tools === undefined);
  if (isRead || request === undefined) {
    const fresh = { ...options, cacheMode: "refresh" }; // client 2 would otherwise answer from its cache
    return client.listTools(params, fresh);
  }
  return (await request.call(client, { method: "tools/list", params }, ANYTHING, options)) as object;
}

/** In place of the schema that `request()` takes: of zod, whichever version client 1 has; a Standard Schema for client 2. */
const ANYTHING = {
  parse: (data: unknown) => data,
  safeParse: (data: unknown) => ({ success: true, data }),
  "~standard": { version: 1, vendor: "toolstream", validate: (value: unknown) => ({ value }) },
};

/**
 * Calls a tool with either generation of client. The newer one gets the definition that was checked: with its own list,
 * it would send the call again under a definition that has changed since (SEP-2243). It gets it without the output
 * schema, since it would refuse a tool whose schema it cannot compile: results are checked by us.
 */
export function callTool(
  client: McpClient,
  definition: McpToolDefinition,
  params: McpCall,
  options: RequestOptions,
): Promise<McpResult & McpInputRequired> {
  const call = (client.callTool as AnyFunction).bind(client);
  const result = isVersion2(client)
    ? call(params, { ...options, toolDefinition: { ...definition, outputSchema: undefined } })
    : call(params, undefined, options);
  return result as Promise<McpResult & McpInputRequired>;
}

export function isVersion2(client: McpClient): boolean {
  return typeof (client as { getProtocolEra?: unknown }).getProtocolEra === "function";
}
