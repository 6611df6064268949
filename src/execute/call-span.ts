import type { Outcome } from "./outcome.ts";
import { unlessItThrows } from "../quietly.ts";
import type { Telemetry, TelemetryCall, TelemetrySpan, TraceLink } from "./telemetry-types.ts";

/** The spans of one call, one after the other. Errors of the telemetry are ignored. */
export class CallSpan {
  readonly #telemetry: Telemetry | undefined;
  #span: TelemetrySpan | undefined;

  constructor(telemetry: Telemetry | undefined) {
    this.#telemetry = telemetry;
  }

  /** A link to the open span. */
  get link(): TraceLink | undefined {
    return this.#span?.link;
  }

  /** @param after the span before the wait */
  begin(call: TelemetryCall, after: TraceLink | undefined): void {
    this.#span ??= unlessItThrows(() => this.#telemetry?.begin(call, after));
  }

  /** Runs the handler inside the span: exactly once, even if the telemetry fails before or after. */
  run<T>(handler: () => T): T {
    let answer: { readonly value: T } | undefined;
    const once = () => (answer ??= { value: handler() });
    unlessItThrows(() => this.#span?.run(once));
    return once().value;
  }

  end(outcome: Outcome, durationMs?: number): void {
    unlessItThrows(() => this.#span?.end(outcome, durationMs));
    this.#span = undefined;
  }
}
