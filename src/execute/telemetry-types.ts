import type { Outcome } from "./outcome.ts";

/** Where a span was, as plain JSON: what a later span links to, in this process or another. */
export interface TraceLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** The call that a span is about. */
export interface TelemetryCall {
  readonly toolName: string;
  readonly toolCallId: string | null;
  readonly description: string | undefined;
  readonly runId: string;
  readonly invocationId: string;
  readonly input: unknown;
}

/** One span: from the moment the executor takes the call to its outcome, or to the wait for approval. */
export interface TelemetrySpan {
  /** To be stored with the call. `undefined` when nothing is recorded. */
  readonly link: TraceLink | undefined;
  /** Runs the handler such that spans of its own are children of this one. */
  run<T>(handler: () => T): T;
  /** Once. `durationMs` is of the handler, all its attempts; `undefined` when it was not started. */
  end(outcome: Outcome, durationMs: number | undefined): void;
}

/** What an executor tells about time. See `toolstream/execute/telemetry`. */
export interface Telemetry {
  /** @param after the span before the wait, to link to */
  begin(call: TelemetryCall, after: TraceLink | undefined): TelemetrySpan;
}
