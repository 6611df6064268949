// Tools
export {
  defineTool,
  type Effect,
  type Execute,
  type RepairPolicy,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolMode,
} from "./tool/tool.ts";
export { tool, toolsOf, type ToolDecorator, type ToolOptions } from "./tool/decorator.ts";
export { checkedChoice, type ToolChoice } from "./tool/choice.ts";
export { ToolRegistry, type RegisterOptions } from "./tool/registry.ts";
export { namedTools, toolList, type ToolSource } from "./tool/tool-set.ts";
export {
  ToolUse,
  type GivenContext,
  type Repair,
  type ToolUseHandle,
  type ToolUseInit,
  type ToolUseParts,
  type UseOf,
} from "./tool/use.ts";
export type { HandlerResult } from "./tool/progress.ts";
export type { PolicyContext, ToolPolicy, UndoContext, UndoRecord } from "./tool/policy.ts";

// Schemas
export {
  jsonSchema,
  toSchema,
  type InferInput,
  type InferOutput,
  type JsonSchema,
  type Schema,
  type SchemaSource,
  type Validation,
} from "./schema/index.ts";
export type { Loss, OnLoss, Rewrite, RewriteContext } from "./schema/lower.ts";

// Streams
export { applyChanges, ToolBuffer, toolChunk } from "./stream/index.ts";
export type {
  FinishReason,
  Limits,
  PathPatch,
  PathStep,
  ProviderToolCall,
  StreamEvent,
  ToolBufferOptions,
  ToolCall,
  ToolChunk,
  Turn,
  Usage,
} from "./stream/index.ts";

// Adapters
export { defineAdapter } from "./adapter.ts";
export type {
  Adapter,
  AdapterCapabilities,
  Endpoint,
  EndpointRequest,
  Parser,
  ParserSink,
  StreamSource,
  ToolsOptions,
} from "./adapter.ts";
export type {
  Conversation,
  ConversationAdapter,
  Model,
  ModelOptions,
  ModelRequest,
  ModelTurn,
  ResponseInfo,
  ResponseModelOptions,
  ResultImage,
} from "./model.ts";
export {
  OUTCOME_UNKNOWN,
  pairMessages,
  type HistoryCall,
  type HistoryResult,
  type MessageParts,
  type PairingRules,
} from "./pairing.ts";
export { lowerTools, type Dialect, type LoweredTool } from "./tool/lower-tools.ts";
export { safeToolName, type NameRules } from "./tool/names.ts";
export {
  historyArguments,
  historyInput,
  outputText,
  outputValue,
  repliesOf,
  wireId,
  type Replies,
} from "./stream/history.ts";
export { openTurn, responseInfo, type Opened, type Requested } from "./open-turn.ts";
export { Templates, type Delta, type EventPath } from "./wire/index.ts";
export { parseResponse, readTurn, type Reading, type ReadOptions, type TurnStream } from "./read/index.ts";

// JSON
export { createJsonParser, type JsonChange, type JsonParser, type JsonState } from "./json/index.ts";

// Errors
export {
  isToolError,
  TOOL_ERROR_CODES,
  ToolCallError,
  ToolError,
  type FailedCall,
  type Issue,
  type ToolErrorCode,
} from "./errors.ts";
