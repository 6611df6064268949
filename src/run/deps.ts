import type { Approvals } from "../execute/approvals/types.ts";
import type { ToolExecutor } from "../execute/executor.ts";
import type { KnownTools } from "../execute/known-tools.ts";
import type { Model } from "../model.ts";
import type { Store } from "../store/store.ts";
import type { Limits } from "./budgets.ts";
import type { PrepareStep, RunEvent } from "./types.ts";
import type { ValidateResults } from "./validate-results.ts";

/** What the parts of an orchestrator share. */
export interface RunDeps {
  readonly model: Model;
  readonly tools: KnownTools;
  readonly store: Store;
  readonly executor: ToolExecutor;
  readonly approvals: Approvals | undefined;
  readonly limits: Limits;
  readonly maxCutTurns: number;
  readonly retryDelayMs: number;
  readonly validateResults: ValidateResults;
  readonly trim: ((messages: readonly any[]) => readonly any[] | Promise<readonly any[]>) | undefined;
  readonly prepareStep: PrepareStep | undefined;
  readonly leaseMs: number;
}

/** Receives the events of a run. If it returns a promise, the run waits for it before it emits more. */
export type Emit = (event: RunEvent) => void | Promise<void>;
