export { ToolBuffer, type ToolBufferOptions } from "./buffer.ts";
export type { ToolCall } from "./call.ts";
export { toolChunk, type PathPatch, type PathStep, type ToolChunk } from "./chunk.ts";
export type { FinishReason, ProviderToolCall, StreamEvent, Turn, Usage } from "./events.ts";
export type { Limits } from "./limits.ts";
export { applyChanges } from "./path.ts";
