// The registry has pi-telemetry up to 0.87.1. pi-ai 1.5.2 imports two names more; what reads a stream calls neither.
export * from "published-pi-telemetry";

export const NOOP_TELEMETRY_METRICS = {};

export function createTypedMetrics() {
  throw new Error("bench: the metrics of pi-telemetry 1.5.2 are not published");
}
