import type { Outcome } from "./outcome.ts";

/** The identity of a span, as plain JSON, for a later span to link to, in this process or another. */
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
  /** To be stored with the call. `undefined` if nothing is recorded. */
  readonly link: TraceLink | undefined;
  /** Runs the handler so that its own spans are children of this one. */
  run<T>(handler: () => T): T;
  /** Called once. `durationMs` covers all attempts of the handler; `undefined` if it was not started. */
  end(outcome: Outcome, durationMs: number | undefined): void;
}

/** What an executor reports to telemetry. See `toolstream/execute/telemetry`. */
export interface Telemetry {
  /** @param after the span before the wait, to link to */
  begin(call: TelemetryCall, after: TraceLink | undefined): TelemetrySpan;
}
