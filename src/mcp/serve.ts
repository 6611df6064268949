import { issuesText, isToolError, ToolCallError, ToolError } from "../errors.ts";
import { byteLength, jsonIn, wellFormed } from "../json/index.ts";
import { exactly, tooDeep, tooLong, type ArgumentsFailure } from "../stream/arguments-outcome.ts";
import { badArguments } from "../stream/call-failures.ts";
import { copyValue, TooDeep } from "../stream/copy.ts";
import { isMarked, modelOutput, outputText } from "../stream/history.ts";
import { resolveLimits, type GivenLimits, type Limits } from "../stream/limits.ts";
import { useOfValue } from "../stream/validate-input.ts";
import { isRecord } from "../schema/json.ts";
import { saidOfRoot } from "../schema/root.ts";
import { approvalRule } from "../tool/policy.ts";
import { safeToolName } from "../tool/names.ts";
import { aboveZero, aFunction, checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { safeMessage } from "../tool/safe-message.ts";
import { onceForTools, toolList, toolsByName, type ToolSource } from "../tool/tool-set.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ServedContent } from "./client.ts";

/** Options of {@link serveMcp}. */
export interface ServeMcpOptions {
  /**
   * Runs a call, for example with an executor. Default: `use.execute(context)`, without approvals, and with handlers'
   * errors reduced by {@link safeMessage}.
   */
  readonly execute?: ((use: ToolUse, context: Partial<ToolContext>) => unknown) | undefined;
  /**
   * What handlers are told about the caller, derived from the server's request context (`authInfo`, ...). Default:
   * nothing.
   */
  readonly context?: ((requestContext: unknown) => Partial<ToolContext>) | undefined;
  /** Bounds on the arguments of a call. Default: those of `read()`, 16 Mi characters and 128 levels. */
  readonly limits?: Pick<GivenLimits, "maxArgumentsLength" | "maxDepth"> | undefined;
  /**
   * How large a result may be as JSON, structure and text together, in bytes; instead of a larger one the client gets
   * an error. Default 8 MB: over stdio, clients end the whole connection at a message of 8 or 10 MiB.
   */
  readonly maxResultBytes?: number | undefined;
}

const OPTIONS: OptionNames<ServeMcpOptions> = {
  execute: aFunction,
  context: aFunction,
  limits: true,
  maxResultBytes: aboveZero,
};

/** Handlers for the two requests about tools, for the `setRequestHandler()` of a server of any version. */
export interface McpHandlers {
  listTools(): { tools: ServedTool[] };
  callTool(request: CallRequest, requestContext?: unknown): Promise<ServedResult>;
}

/** A tool as MCP describes it. */
export interface ServedTool {
  [key: string]: unknown;
  name: string;
  description?: string;
  inputSchema: { [keyword: string]: unknown; type: "object" };
  outputSchema?: { [keyword: string]: unknown; type: "object" };
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };
}

/** The result of a call in MCP's format. */
export interface ServedResult {
  [key: string]: unknown;
  content: ServedContent[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

interface CallRequest {
  readonly params: {
    readonly name: string;
    readonly arguments?: Readonly<Record<string, unknown>> | undefined;
    readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined;
  };
}

/** The part of a `Server` or `McpServer` of `@modelcontextprotocol/server` 2 that is used. */
export interface McpServerLike {
  setRequestHandler(method: never, handler: never): void;
  assertCanSetRequestHandler(method: never): void;
  registerCapabilities(capabilities: { tools: object }): void;
  sendToolListChanged(): Promise<void>;
}

/** The specification's rule for names. */
const mcpName = safeToolName({ allowed: /[A-Za-z0-9_.-]/, maxLength: 128 });
const INVALID_PARAMS = -32602;

/**
 * Offers tools as an MCP server; call it before the server is connected. Tools that are registered later are offered
 * too; tell clients with the server's `sendToolListChanged()`. External tools are left out, since nobody here runs
 * them.
 *
 * @param server of `@modelcontextprotocol/server` 2, created by you; for older ones see {@link mcpHandlers}
 * @throws TypeError for anything else
 * @throws Error if the server offers tools already, by `registerTool()` say: put all of them into one registry
 * @throws ToolError as {@link mcpHandlers} does
 * @example
 * const server = new Server({ name: "orders", version: "1.0.0" }, { capabilities: { tools: {} } });
 * serveMcp(server, registry);
 * await server.connect(new StdioServerTransport());
 */
export function serveMcp(
  server: McpServerLike | { readonly server: McpServerLike },
  tools: ToolSource,
  options: ServeMcpOptions = {},
): void {
  const target = (server as { server?: McpServerLike } | undefined)?.server ?? (server as McpServerLike | undefined);
  if (typeof target?.sendToolListChanged !== "function") {
    throw new TypeError(SERVER_NEEDED);
  }
  checkOptionNames("serveMcp()", options, OPTIONS);
  const { listTools, callTool } = mcpHandlers(tools, options);
  target.assertCanSetRequestHandler("tools/list" as never);
  target.registerCapabilities({ tools: { listChanged: true } });
  try {
    target.setRequestHandler("tools/list" as never, listTools as never);
    target.setRequestHandler("tools/call" as never, callTool as never);
  } catch (cause) {
    throw new TypeError(SERVER_NEEDED, { cause }); // version 1 wants a schema instead of the method's name
  }
}

const SERVER_NEEDED =
  "serveMcp() takes a Server or McpServer of @modelcontextprotocol/server 2. For a server of @modelcontextprotocol/sdk 1, give what mcpHandlers(tools) returns to its setRequestHandler().";

/**
 * The handlers behind {@link serveMcp}.
 *
 * @throws ToolError `duplicate_tool` if two names map to one; `invalid_tool` for a tool that takes a string and,
 *   without `execute`, for one that needs approval
 * @example
 * const { listTools, callTool } = mcpHandlers(registry); // a server of @modelcontextprotocol/sdk 1
 * server.setRequestHandler(ListToolsRequestSchema, listTools);
 * server.setRequestHandler(CallToolRequestSchema, callTool);
 */
export function mcpHandlers(tools: ToolSource, options: ServeMcpOptions = {}): McpHandlers {
  checkOptionNames("mcpHandlers()", options, OPTIONS);
  const { execute = executeHere, maxResultBytes = 8_000_000 } = options;
  const limits = resolveLimits(options.limits);
  for (const tool of offered(tools).values()) checkServable(tool); // reports mistakes in the set immediately
  return { listTools: () => ({ tools: [...offered(tools)].map(([name, tool]) => served(name, tool)) }), callTool };

  async function callTool({ params }: CallRequest, requestContext?: unknown): Promise<ServedResult> {
    const tool = offered(tools).get(params.name);
    // Not a result, since the client asks for something that was never offered.
    if (tool === undefined) throw Object.assign(new Error(`Tool ${params.name} not found`), { code: INVALID_PARAMS });
    const { signal, notify } = readContext(requestContext);
    try {
      checkServable(tool);
      const output = await execute(useOf(tool, params.arguments ?? {}, limits), {
        ...options.context?.(requestContext),
        signal,
        progress: progressTo(notify, params._meta?.progressToken),
      });
      const result = resultOf(tool, output);
      checkSize(tool, result);
      return result;
    } catch (error) {
      // For the calling model: the messages of our errors are written for models.
      const message = isToolError(error) ? error.message : `Tool ${tool.name} failed: ${safeMessage(error)}`;
      return { content: [{ type: "text", text: message }], isError: true };
    }
  }

  /**
   * At a message that is too long for its buffer, a client of the SDKs closes the connection over stdio, and loses all
   * other calls with it: modelcontextprotocol/typescript-sdk#2239 (10 MiB), openai/codex#31805 (8 MiB).
   */
  function checkSize(tool: Tool, result: ServedResult): void {
    const bytes = byteLength(jsonOf(tool, result), maxResultBytes);
    if (bytes <= maxResultBytes) return;
    const message = `Tool ${tool.name} has run, but its result has ${bytes} bytes, and ${maxResultBytes} can be sent: ask it for less.`;
    throw new ToolError("output_too_large", message);
  }

  function checkServable(tool: Tool): void {
    const { qualifiedName, inputSchema } = tool;
    if (saidOfRoot(inputSchema.jsonSchema, "type") === "string") {
      throw new ToolError("invalid_tool", `Tool ${qualifiedName} takes a text; what MCP gives a tool is an object.`);
    }
    // Without an executor nobody would be asked.
    if (options.execute !== undefined || approvalRule(tool) === false) return;
    throw new ToolError(
      "invalid_tool",
      `Tool ${qualifiedName} needs approval, and nobody here can give it: serve it with an executor, in the option execute.`,
    );
  }
}

/**
 * Some model wrote the arguments, and its client has parsed them: they are checked like those of a stream.
 *
 * @throws ToolCallError `invalid_input`, `too_large`
 */
function useOf(tool: Tool, input: Readonly<Record<string, unknown>>, limits: Limits): ToolUse {
  const call = {
    invocationId: crypto.randomUUID(),
    id: null,
    name: tool.name,
    argsText: "",
    input,
    turnIndex: 0,
    position: 0,
    metadata: {},
  };
  const read = outsideLimits(input, limits) ?? exactly(input);
  if (!read.ok) throw new ToolCallError(read.code, badArguments(tool.name, read.message), call);
  return useOfValue({ ...call, argsText: JSON.stringify(input) }, tool);
}

function outsideLimits(input: unknown, limits: Limits): ArgumentsFailure | undefined {
  try {
    copyValue(input, limits.maxDepth, limits.maxArgumentsLength);
    return undefined;
  } catch (error) {
    return error instanceof TooDeep ? tooDeep(limits) : tooLong(limits);
  }
}

/** The caller is remote, and perhaps a stranger. */
async function executeHere(use: ToolUse, context: Partial<ToolContext>): Promise<unknown> {
  try {
    return await use.execute(context);
  } catch (cause) {
    throw new ToolError("execution_failed", safeMessage(cause), { cause });
  }
}

/** The tools as they are offered, by name. */
const offered = onceForTools((tools) =>
  toolsByName(
    toolList(tools).filter(({ mode }) => mode !== "external"),
    mcpName,
  ),
);

function served(name: string, { description, inputSchema, outputSchema, effect }: Tool): ServedTool {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { ...inputSchema.jsonSchema, type: "object" },
    ...(outputSchema?.jsonSchema["type"] === "object"
      ? { outputSchema: outputSchema.jsonSchema as ServedTool["inputSchema"] }
      : {}),
    annotations: {
      readOnlyHint: effect === "read",
      // `false` promises that it only adds: what may be repeated may still overwrite or delete.
      // https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
      destructiveHint: effect !== "read",
      idempotentHint: effect !== "write",
    },
  };
}

/**
 * A string as it is, anything else as JSON; if the tool has an output schema, all of it, structured. What
 * {@link resultContent} marks is the content either way.
 */
function resultOf(tool: Tool, output: unknown): ServedResult {
  const isStructured = tool.outputSchema?.jsonSchema["type"] === "object";
  const { text, content = [{ type: "text", text }] } = said(tool, output, isStructured);
  if (!isStructured) return { content };
  const json = jsonIn(text);
  const structuredContent = json === undefined ? text : json;
  const fits = tool.outputSchema!.validate(structuredContent);
  if (fits.ok) return { content, structuredContent: structuredContent as Record<string, unknown> };
  const why = `gave an output that does not fit its output schema: ${issuesText(fits.issues, "output")}`;
  throw new ToolError("invalid_output", `Tool ${tool.name} ${why}`, { issues: fits.issues });
}

function said(
  tool: Tool,
  output: unknown,
  isStructured: boolean,
): { readonly text: string; readonly content?: ServedContent[] | undefined } {
  try {
    const told = toldOf(tool, output, isStructured);
    const text = outputText(isStructured || isMarked(told) ? output : told);
    return { text, content: contentOf(told) };
  } catch (cause) {
    throw unsendable(tool, cause);
  }
}

/** Fails where it would be longer than a string can be. */
function jsonOf(tool: Tool, result: ServedResult): string {
  try {
    return JSON.stringify(result);
  } catch (cause) {
    throw unsendable(tool, cause);
  }
}

/** Whoever does not read of a write that it was executed calls it again. */
function unsendable({ name }: Tool, cause: unknown): ToolError {
  const message = `Tool ${name} has run, but its output cannot be sent: ${safeMessage(cause)}`;
  return new ToolError("not_serializable", message, { cause });
}

/** Structure says everything, also where `toModelOutput` fails. */
function toldOf(tool: Tool, output: unknown, isStructured: boolean): unknown {
  try {
    return modelOutput(tool, output);
  } catch (error) {
    if (!isStructured) throw error;
    return modelOutput({ ...tool, toModelOutput: undefined }, output);
  }
}

const RESULT_CONTENT: unique symbol = Symbol.for("toolstream.mcp.resultContent");

/**
 * Marks what a served tool returns, or its `toModelOutput`, as MCP content, for results that are more than text.
 * Without the mark it is data, and is sent as JSON, whatever it looks like.
 *
 * @example
 * execute: async () => resultContent([{ type: "image", data: png.toString("base64"), mimeType: "image/png" }]),
 * @example
 * mcpTools(client, { result: ({ content = [] }) => resultContent(content) }) // to serve them again, images and all
 */
export function resultContent(content: readonly ServedContent[]): { readonly content: readonly ServedContent[] } {
  return Object.freeze({ [RESULT_CONTENT]: true, content });
}

function contentOf(output: unknown): ServedContent[] | undefined {
  return isRecord(output) && RESULT_CONTENT in output ? wellFormed(output["content"] as ServedContent[]) : undefined;
}

type Notify = (notification: { method: string; params: Record<string, unknown> }) => Promise<void>;

/** Version 2 passes handlers a context with `mcpReq`; the older one has the same fields at the top. */
function readContext(context: unknown): { signal: AbortSignal | undefined; notify: Notify | undefined } {
  const { mcpReq, signal, sendNotification } = (context ?? {}) as {
    mcpReq?: { signal?: AbortSignal; notify?: Notify };
    signal?: AbortSignal;
    sendNotification?: Notify;
  };
  return { signal: mcpReq?.signal ?? signal, notify: mcpReq?.notify ?? sendNotification };
}

/** MCP's progress is a growing number, and a text: a tool's reports are counted, unless they say how far it is. */
function progressTo(notify: Notify | undefined, progressToken: string | number | undefined): ToolContext["progress"] {
  let count = 0;
  return async (value) => {
    if (notify === undefined || progressToken === undefined) return;
    const given = isRecord(value) ? value : { progress: value, message: value };
    const { progress, total, message }: Record<string, unknown> = given;
    count = isFiniteNumber(progress) && progress > count ? progress : count + 1;
    try {
      await notify({
        method: "notifications/progress",
        params: {
          progressToken,
          progress: count,
          ...(isFiniteNumber(total) ? { total } : {}),
          ...(typeof message === "string" ? { message } : {}),
        },
      });
    } catch {
      // the client has left: the signal says so, and handlers need not wait for their reports
    }
  };
}

/** What JSON can say: a client refuses the `null` that it makes of others. */
function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
