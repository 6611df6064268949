export { Orchestrator } from "./orchestrator.ts";
export type { OrchestratorOptions } from "./options.ts";
export type { Budgets, BudgetUse } from "./budgets.ts";
export type { RunStream } from "./run-stream.ts";
export type { TranscriptCall, TranscriptEntry } from "./transcript.ts";
export type { ExecutionTree, TreeNode } from "./tree.ts";
export type { ValidateResults } from "./validate-results.ts";
export type {
  ApprovalInput,
  ListRuns,
  OrchestrationResult,
  PendingToolCall,
  PrepareStep,
  ResumeOptions,
  RunContext,
  RunEvent,
  RunMetadata,
  RunOptions,
  RunStatus,
  RunSummary,
  Standing,
  Step,
  StepChange,
  ToolResultInput,
} from "./types.ts";
