/** With the real SDK of OpenTelemetry and its exporters in memory. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Telemetry } from "../../src/execute/index.ts";
import { openTelemetry, type OpenTelemetryOptions } from "../../src/execute/telemetry.ts";
import { memoryStore, type PutOptions, type Store } from "../../src/store/index.ts";
import { counted, RUN, setup, setupWithApprovals, until, useOf } from "./support.ts";

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

function sdk(options: OpenTelemetryOptions = {}) {
  const spans = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 3_600_000,
    exportTimeoutMillis: 1_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const telemetry = openTelemetry({ tracerProvider, meterProvider, ...options });
  const histogram = async () => {
    await reader.forceFlush();
    return exporter.getMetrics().at(-1)?.scopeMetrics[0]?.metrics[0];
  };
  return { telemetry, tracer: tracerProvider.getTracer("test"), spans: () => spans.getFinishedSpans(), histogram };
}

describe("openTelemetry()", () => {
  it("makes a span of each call, with the attributes of the conventions, and the duration in seconds", async () => {
    const { telemetry, spans, histogram } = sdk();
    const { tool } = counted({
      description: "Acts.",
      execute: () => new Promise((resolve) => setTimeout(resolve, 20)),
    });
    const { executor } = setup([tool], { telemetry });
    await executor.execute(useOf(tool, { text: "s3cret" }, { id: "call_1" }), RUN);
    expect(spans()).toHaveLength(1);
    const [span] = spans();
    expect(span).toMatchObject({ name: "execute_tool act", kind: 0, status: { code: 0 } });
    expect(span!.attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "act",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "call_1",
      "gen_ai.tool.description": "Acts.",
    });
    const metric: any = await histogram();
    expect(metric.descriptor).toMatchObject({ name: "gen_ai.execute_tool.duration", unit: "s", type: "HISTOGRAM" });
    expect(metric.dataPoints).toHaveLength(1);
    expect(metric.dataPoints[0].attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "act",
    });
    expect(metric.dataPoints[0].value.count).toBe(1);
    expect(metric.dataPoints[0].value.sum).toBeGreaterThan(0.01);
    expect(metric.dataPoints[0].value.sum).toBeLessThan(10);
  });

  it.each<[string, object, object, string, number]>([
    ["a handler that throws", { execute: () => Promise.reject(new Error("at '/srv/x/y'")) }, {}, "execution_failed", 1],
    ["a timeout", { timeoutMs: 5, execute: () => new Promise(() => {}) }, {}, "timeout", 1],
    ["a denied call", { behaviors: ["other"] }, {}, "denied", 0],
    ["a bigint", { execute: () => 1n }, {}, "not_serializable", 1],
  ])("says error.type for %s", async (_, change, more, code, measured) => {
    const { telemetry, spans, histogram } = sdk();
    const { tool } = counted(change);
    const { executor } = setup([tool], { telemetry, ...more });
    await executor.execute(useOf(tool), RUN);
    expect(spans()[0]!.attributes).toMatchObject({ "error.type": code });
    expect(spans()[0]!.status).toMatchObject({ code: 2 });
    expect(JSON.stringify(spans()[0]!.status)).not.toContain("/srv");
    const points = (await histogram())?.dataPoints ?? [];
    expect(points).toHaveLength(measured);
    for (const { attributes } of points) expect(attributes["error.type"]).toBe(code);
  });

  it.each<[string, (path: readonly unknown[], value: any) => unknown]>([
    ["redacted", (path, value) => (path.at(-1) === "text" ? "[hidden]" : value)],
    ["redacted in place", (_, value) => (value.text && (value.text = "[hidden]"), value)],
  ])("holds arguments and results only when told to, %s", async (_, redact) => {
    const { telemetry, spans } = sdk({ captureArguments: true, captureResults: true, redact });
    const { tool, ran } = counted();
    const { executor } = setup([tool], { telemetry });
    await executor.execute(useOf(tool, { n: 1, text: "s3cret" }), RUN);
    expect(spans()[0]!.attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"n":1,"text":"[hidden]"}',
      "gen_ai.tool.call.result": '{"ok":true,"input":{"n":1,"text":"[hidden]"}}',
    });
    expect(ran[0]!.input).toEqual({ n: 1, text: "s3cret" });
  });

  it("holds the arguments that run: those that a person wrote, after an edit", async () => {
    const { telemetry, spans } = sdk({ captureArguments: true });
    const { tool } = counted({ needsApproval: true });
    const { executor, approvals } = setupWithApprovals([tool], { telemetry, waitForApproval: false });
    const use = useOf(tool, { n: 1 });
    const paused: any = await executor.execute(use, RUN);
    await approvals.decide(paused.approval.id, { decision: "approve", editedInput: { n: 2 } });
    await executor.execute(use, RUN);
    const shown = spans().map(({ attributes }) => attributes["gen_ai.tool.call.arguments"]);
    expect(shown).toEqual(['{"n":1}', '{"n":2}']);
  });

  it("is a child of the caller's span, and the parent of the handler's", async () => {
    const { telemetry, tracer, spans } = sdk();
    const { tool } = counted({
      execute: async () => {
        await Promise.resolve();
        tracer.startSpan("query").end();
      },
    });
    const { executor } = setup([tool], { telemetry });
    await tracer.startActiveSpan("turn", async (turn) => {
      await executor.execute(useOf(tool), RUN);
      turn.end();
    });
    const [query, call, turn] = spans();
    expect([query!.name, call!.name, turn!.name]).toEqual(["query", "execute_tool act", "turn"]);
    expect(query!.parentSpanContext!.spanId).toBe(call!.spanContext().spanId);
    expect(call!.parentSpanContext!.spanId).toBe(turn!.spanContext().spanId);
  });

  it.each([["in this process"], ["in another process"]])(
    "holds no span open while it waits for approval: the next one links to it, %s",
    async (where) => {
      const { telemetry, spans } = sdk();
      const { tool } = counted({ needsApproval: true });
      const { executor, approvals, store } = setupWithApprovals([tool], { telemetry });
      const waitForApproval = where === "in this process";
      const running = executor.execute(tool.use({}, { invocationId: "a" }), { ...RUN, waitForApproval });
      await until(async () => (await approvals.list()).length === 1);
      await until(() => spans().length === 1);
      const [asked] = spans();
      expect(asked!.status.code).toBe(0);
      expect(asked!.links).toEqual([]);
      await approvals.decide((await approvals.list())[0]!.id, { decision: "approve" });
      if (waitForApproval) await running;
      else {
        const other = sdk();
        const later = setupWithApprovals([tool], { store, telemetry: other.telemetry });
        await later.executor.execute(tool.use({}, { invocationId: "a" }), RUN);
        expect(other.spans()[0]!.links[0]!.context).toMatchObject({ spanId: asked!.spanContext().spanId });
        return;
      }
      expect(spans()).toHaveLength(2);
      const { traceId, spanId } = asked!.spanContext();
      expect(spans()[1]!.links[0]!.context).toMatchObject({ traceId, spanId });
    },
  );

  it("ends what it has begun, also when another process is faster, and when the caller gives up", async () => {
    const { telemetry, spans } = sdk();
    const { tool } = counted();
    const shared = memoryStore();
    const other = setup([tool], { store: shared });
    const store: Store = {
      ...shared,
      async put<Value>(key: string, value: Value, options?: PutOptions) {
        if (key === "action/run/a") await other.executor.execute(tool.use({}, { invocationId: "a" }), RUN);
        return shared.put(key, value, options);
      },
    };
    const late = setup([tool], { store, telemetry });
    const outcome = await late.executor.execute(tool.use({}, { invocationId: "a" }), RUN);
    expect(outcome).toMatchObject({ status: "completed", replayed: true });
    expect(spans()).toHaveLength(1);

    const asked = counted({ needsApproval: true });
    const { executor, approvals } = setupWithApprovals([asked.tool], { telemetry });
    const use = useOf(asked.tool);
    const paused = await executor.execute(use, { ...RUN, waitForApproval: false });
    await approvals.decide(paused.approval!.id, { decision: "approve" });
    expect(spans()).toHaveLength(2);
    await executor.execute(use, { ...RUN, signal: AbortSignal.abort() });
    expect(spans()).toHaveLength(3);
  });

  it("makes one span of a call that an 'always' lets through", async () => {
    const { telemetry } = sdk();
    let open = 0;
    const begin: Telemetry["begin"] = (call, after) => {
      const span = telemetry.begin(call, after);
      open++;
      return { ...span, end: (...args) => (open--, span.end(...args)) };
    };
    const { tool } = counted({ needsApproval: true });
    const { executor, approvals } = setupWithApprovals([tool], { telemetry: { begin }, waitForApproval: false });
    const use = useOf(tool);
    const paused = await executor.execute(use, RUN);
    await approvals.decide(paused.approval!.id, { decision: "approve", always: {} });
    await executor.execute(use, RUN);
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(open).toBe(0);
  });

  it("makes a span of a call that is taken over from a dead process", async () => {
    const { telemetry, spans } = sdk();
    const store = memoryStore();
    const { tool } = counted({ effect: "read" });
    await setup([tool], { store }).executor.execute(tool.use({}, { invocationId: "a" }), RUN);
    const { output: _, endedAt: __, ...row } = (await store.get<any>("action/run/a"))!.value;
    await store.put("action/run/a", { ...row, status: "started", lease: { owner: "dead", until: 1 } });
    const { executor } = setup([tool], { store, telemetry });
    await executor.execute(tool.use({}, { invocationId: "a" }), RUN);
    expect(spans().map(({ name, status }) => [name, status.code])).toEqual([["execute_tool act", 0]]);
  });

  it("without an SDK does nothing, and harms nothing", async () => {
    const { tool } = counted();
    const { executor } = setup([tool], { telemetry: openTelemetry() });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it.each<[string, Telemetry]>([
    [
      "begins",
      {
        begin: () => {
          throw new Error("no");
        },
      },
    ],
    [
      "is entered",
      {
        begin: () => ({
          link: undefined,
          run: (handler) => {
            handler();
            throw new Error("no");
          },
          end: () => {},
        }),
      },
    ],
    [
      "ends",
      {
        begin: () => ({
          link: undefined,
          run: (handler) => handler(),
          end: () => {
            throw new Error("no");
          },
        }),
      },
    ],
  ])("telemetry that throws when a span %s changes nothing", async (_, telemetry) => {
    const { tool, ran } = counted();
    const { executor } = setup([tool], { telemetry });
    expect(await executor.execute(useOf(tool), RUN)).toMatchObject({ status: "completed" });
    expect(ran).toHaveLength(1);
  });
});
