import { isToolError, ToolError, type ToolErrorCode } from "../errors.ts";
import { listPage, type McpClient, type McpToolDefinition, type RequestOptions } from "./client.ts";
import { checkDefinition, type CheckedDefinition } from "./definition.ts";
import { serverError } from "./failure.ts";

/** A tool of the server that cannot be offered. */
export interface SkippedMcpTool {
  readonly name: string;
  /** For a person. */
  readonly reason: string;
  readonly code: ToolErrorCode;
}

/** Everything that a server offers, checked. */
export interface Listing {
  /** By the server's own name. */
  readonly tools: ReadonlyMap<string, CheckedDefinition>;
  readonly skipped: readonly SkippedMcpTool[];
}

const MAX_PAGES = 100;

/**
 * Lists a server's tools, across all pages.
 *
 * @param known those of the last list
 * @throws ToolError `server_failed`, `timeout`, `aborted`; `too_large` for an endless list
 */
export async function listTools(
  client: McpClient,
  maxTools: number,
  options: RequestOptions,
  known: Listing["tools"],
): Promise<Listing> {
  const tools = new Map<string, CheckedDefinition>();
  const skipped: SkippedMcpTool[] = [];
  const seen = new Set<string>(); // names that differ only in case are the same to a reader
  for (const definition of await definitionsOf(client, maxTools, options)) {
    const name = String((definition as McpToolDefinition | null)?.name);
    const skip = (code: ToolErrorCode, reason: string) => skipped.push({ name, reason, code });
    if (seen.has(name.toLowerCase())) {
      skip("duplicate_tool", "another tool of the server has this name, or differs from it in case only");
      continue;
    }
    seen.add(name.toLowerCase());
    try {
      tools.set(name, await checkDefinition(definition, known.get(name)));
    } catch (error) {
      if (!isToolError(error)) throw error;
      skip(error.code, error.message);
    }
  }
  return { tools, skipped };
}

async function definitionsOf(
  client: McpClient,
  maxTools: number,
  options: RequestOptions,
): Promise<readonly unknown[]> {
  const definitions: unknown[] = [];
  const cursors = new Set<unknown>();
  let last: unknown;
  for (let cursor: string | undefined; ;) {
    const { tools, nextCursor } = await listPage(client, cursor, options).catch((error: unknown) => {
      throw serverError(error, options.signal, "did not list its tools");
    });
    if (!Array.isArray(tools)) throw new ToolError("server_failed", "The MCP server's answer is no list of tools.");
    // The last page of some leads to itself: https://github.com/DeusData/codebase-memory-mcp/issues/1247
    const isLastAgain = nextCursor === cursor && JSON.stringify(tools) === JSON.stringify(last);
    if (isLastAgain) return definitions;
    if (definitions.length + tools.length > maxTools) {
      throw new ToolError(
        "too_large",
        `The MCP server offers more than ${maxTools} tools. Raise maxTools if it is meant.`,
      );
    }
    definitions.push(...(tools as unknown[]));
    // Of others it is null: https://github.com/Hmbown/Codewhale/issues/5335
    if (typeof nextCursor !== "string" || nextCursor === "") return definitions;
    if (cursors.has(nextCursor) || cursors.size >= MAX_PAGES) {
      throw new ToolError("too_large", "The MCP server's list of tools has no end.");
    }
    cursors.add(nextCursor);
    cursor = nextCursor;
    last = tools;
  }
}
