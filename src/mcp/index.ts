export { mcpTools, type McpChanges, type McpToolInfo, type McpToolSet, type McpToolsOptions } from "./tools.ts";
export { mcpHandlers, serveMcp, type McpHandlers, type McpServerLike, type ServeMcpOptions } from "./serve.ts";
export type { SkippedMcpTool } from "./listing.ts";
export type {
  McpAnnotations,
  McpClient,
  McpContent,
  McpInputRequired,
  McpProgress,
  McpResult,
  McpToolDefinition,
} from "./client.ts";
