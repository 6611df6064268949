import {
  context,
  metrics,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type MeterProvider,
  type TracerProvider,
} from "@opentelemetry/api";
import type { Outcome } from "./outcome.ts";
import { snapshot } from "./snapshot.ts";
import { redacted, type Redact } from "./summary.ts";
import type { Telemetry, TelemetryCall, TelemetrySpan, TraceLink } from "./telemetry-types.ts";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the global one. */
  readonly meterProvider?: MeterProvider | undefined;
  /** Put the arguments on the spans. They may be sensitive. Default false. */
  readonly captureArguments?: boolean | undefined;
  /** Put the results on the spans. They may be sensitive. Default false. */
  readonly captureResults?: boolean | undefined;
  /** Hides parts of what is captured. */
  readonly redact?: Redact | undefined;
}

/**
 * Spans and durations for `new ToolExecutor({ telemetry: openTelemetry() })`, following the GenAI conventions as of
 * 2026-11-20 (https://github.com/open-telemetry/semantic-conventions-genai, in development: the names are spelled out
 * here, since the constants of the JS package are deprecated).
 *
 * - A span `execute_tool {name}` for every call, with the handler's own spans inside. `error.type` is the outcome's
 *   code.
 * - No span stays open during a wait for approval: it ends, and the one after the decision links to it, in whichever
 *   process that is.
 * - A histogram `gen_ai.execute_tool.duration` of the handlers, in seconds.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracerProvider = trace, meterProvider = metrics, captureArguments = false, captureResults = false } = options;
  const tracer = tracerProvider.getTracer("toolstream");
  const durations = meterProvider.getMeter("toolstream").createHistogram("gen_ai.execute_tool.duration", {
    unit: "s",
    description: "How long the execution of a tool took.",
    advice: {
      explicitBucketBoundaries: [
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
      ],
    },
  });

  return { begin };

  function begin(call: TelemetryCall, after: TraceLink | undefined): TelemetrySpan {
    const parent = context.active();
    const span = tracer.startSpan(
      `execute_tool ${call.toolName}`,
      {
        kind: SpanKind.INTERNAL,
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": call.toolName,
          "gen_ai.tool.type": "function",
          ...(call.toolCallId !== null && { "gen_ai.tool.call.id": call.toolCallId }),
          ...(call.description !== undefined && { "gen_ai.tool.description": call.description }),
          ...(captureArguments && { "gen_ai.tool.call.arguments": textOf("input", call.input) }),
        },
        ...(after !== undefined && { links: [{ context: { ...after, isRemote: true } }] }),
      },
      parent,
    );
    const inside = trace.setSpan(parent, span);
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      link: span.isRecording() ? { traceId, spanId, traceFlags } : undefined,
      run: (handler) => context.with(inside, handler),
      end(outcome, durationMs) {
        const error = errorOf(outcome);
        if (error !== undefined) {
          span.setAttribute("error.type", error.code);
          span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
        } else if (captureResults && outcome.status === "completed") {
          span.setAttribute("gen_ai.tool.call.result", textOf("output", outcome.output));
        }
        if (durationMs !== undefined) {
          const attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.toolName,
            ...(error !== undefined && { "error.type": error.code }),
          };
          // In the span's context, so that an exemplar can point to it.
          context.with(inside, () => durations.record(durationMs / 1000, attributes));
        }
        span.end();
      },
    };
  }

  function textOf(kind: "input" | "output", value: unknown): string {
    const { redact } = options;
    try {
      // From a copy: a redaction may write into its argument, which is what runs.
      const shown = redact === undefined ? value : redacted([kind], snapshot(value), redact);
      return (JSON.stringify(shown) ?? "null").slice(0, MAX_LENGTH);
    } catch {
      return '"[not shown]"';
    }
  }
}

/** Maximum length of an attribute, in characters. */
const MAX_LENGTH = 16_384;

function errorOf(outcome: Outcome): { readonly code: string; readonly message: string } | undefined {
  return "error" in outcome ? outcome.error : undefined;
}
