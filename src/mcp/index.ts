export { mcpTools } from "./tools.ts";
export type { McpChanges, McpToolInfo, McpToolSet, McpToolsOptions } from "./types.ts";
export {
  mcpHandlers,
  resultContent,
  serveMcp,
  type McpHandlers,
  type McpServerLike,
  type ServedResult,
  type ServedTool,
  type ServeMcpOptions,
} from "./serve.ts";
export type { SkippedMcpTool } from "./listing.ts";
export type {
  McpAnnotations,
  McpClient,
  McpContent,
  McpInputRequired,
  McpProgress,
  McpResult,
  McpToolDefinition,
  ServedContent,
} from "./client.ts";
