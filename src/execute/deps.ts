import type { Tool } from "../tool/tool.ts";
import type { Approvals } from "./approvals/types.ts";
import type { Emitter } from "./emitter.ts";
import type { EndedHere } from "./ended-here.ts";
import type { Authorize } from "./gate.ts";
import type { RunHistory } from "./history.ts";
import type { KnownTools } from "./known-tools.ts";
import type { Ledger } from "./ledger.ts";
import type { Redact } from "./summary.ts";
import type { Telemetry } from "./telemetry-types.ts";

/** What an executor passes to its parts. */
export interface Deps {
  readonly tools: KnownTools;
  readonly ledger: Ledger;
  readonly history: RunHistory;
  readonly emitter: Emitter;
  readonly ended: EndedHere;
  readonly approvals: Approvals | undefined;
  readonly authorize: Authorize | undefined;
  readonly redact: Redact | undefined;
  readonly telemetry: Telemetry | undefined;
  /** What the model and events are told of an error. */
  readonly errorMessage: (error: unknown, tool: Tool | undefined) => string;
  readonly executableDigest: (tool: Tool) => string | undefined | Promise<string | undefined>;
  readonly waitForApproval: boolean;
  readonly timeoutMs: number | undefined;
  readonly leaseMs: number;
  readonly retryDelayMs: number;
  readonly maxOutputBytes: number;
}
