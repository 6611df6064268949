/**
 * Random worlds of executions: some processes over one store, tools that behave as they were drawn, and what people and
 * bad luck do. {@link live} lives one of them and gives the story; what has to hold of it is in `worlds.property.test.ts`.
 */
import * as fc from "../fast-check.ts";
import { vi } from "vitest";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/index.ts";
import { ApprovalService, type ApprovalRequest } from "../../src/execute/approvals/index.ts";
import { ToolExecutor, type Outcome, type ToolEvent, type UndoOutcome } from "../../src/execute/index.ts";
import { memoryStore, storeKey } from "../../src/store/index.ts";
import { after, never, pass, Process, SharedStore } from "../own-time.ts";
import { RUN } from "./support.ts";

// What is drawn -----------------------------------------------------------------------------------------------------

/** How a handler behaves. `waits`: until it is aborted; `deaf`: for ever. */
const body = fc.record({
  does: fc.constantFrom(...Array<"succeeds">(12).fill("succeeds"), "throws", "throws", "waits", "deaf"),
  afterMs: fc.constantFrom(0, 0, 3, 100, 700, 3_000),
});
type Body = Drawn<typeof body>;

const tool = fc
  .record({
    effect: fc.constantFrom("read", "idempotent", "write", "write"),
    needsApproval: fc.constantFrom(true, false, false),
    retries: fc.constantFrom(0, 1, 2),
    timeoutMs: fc.constantFrom(undefined, undefined, undefined, undefined, 50, 1_500),
    maxCallsPerRun: fc.constantFrom(undefined, undefined, undefined, 1),
    /** By attempt, the last one again and again. */
    bodies: fc.array(body, { minLength: 1, maxLength: 3 }),
    undo: fc.option(body, { nil: undefined, freq: 3 }),
  })
  .map((drawn) => (drawn.effect === "write" ? { ...drawn, retries: 0 } : drawn));

const who = fc.nat({ max: 2 });
// Most of what happens happens to one call.
const call = fc.constantFrom(0, 0, 0, 0, 1, 2);
const abortAfterMs = fc.constantFrom(...Array<undefined>(10).fill(undefined), 0, 1, 20, 300);
/** How long nothing else happens then; `undefined`: the next act comes at once. */
const thenMs = fc.constantFrom(undefined, undefined, 0, 1, 20, 150, 500, 1_100, 6_000);

const act = fc.oneof(
  kind(8, "execute", { who, call, waitForApproval: fc.constantFrom(true, true, false), abortAfterMs }),
  kind(5, "decide", { who, call, decision: fc.constantFrom("approve", "approve", "approve", "deny", "edit") }),
  kind(5, "undo", { who, call, abortAfterMs }),
  // The process has another definition of all tools from now on; the caller changes the arguments that it has given.
  kind(2, "redefine", { who }),
  kind(1, "mutate", { call }),
  // The clock of the machine is set: back, or ahead.
  kind(2, "clock", { ms: fc.constantFrom(-5_000, -700, 700, 5_000) }),
  kind(2, "die", { who, atWrite: fc.integer({ min: 1, max: 12 }), isWritten: fc.boolean() }),
  kind(2, "fail", {
    who,
    at: fc.integer({ min: 1, max: 25 }),
    times: fc.constantFrom(1, 1, 2, 40),
    isWritten: fc.boolean(),
  }),
  kind(2, "stall", { who, ms: fc.constantFrom(5, 500, 1_500, 3_000) }),
);

export const drawnWorld = fc.record({
  processes: fc.constantFrom(1, 2, 2, 3),
  tools: fc.array(tool, { minLength: 1, maxLength: 2 }),
  /** The tool of each call. */
  calls: fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 3 }),
  /** How long the store takes: what makes processes meet. */
  delays: fc.array(fc.constantFrom(0, 0, 0, 1, 2, 7), { minLength: 1, maxLength: 12 }),
  acts: fc.array(fc.record({ act, thenMs }), { minLength: 3, maxLength: 16, size: "max" }),
});
export type DrawnWorld = Drawn<typeof drawnWorld>;

type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** One kind of act, and how often it is drawn. */
export function kind<Name extends string, Fields extends object>(
  weight: number,
  name: Name,
  fields: { [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> },
) {
  return {
    weight,
    arbitrary: fc.record({ act: fc.constant(name), ...fields }) as fc.Arbitrary<{ act: Name } & Fields>,
  };
}

// What is lived ------------------------------------------------------------------------------------------------------

/** A handler, or an undo, that was begun. */
export interface Begun {
  readonly call: number;
  readonly attempt: number;
  readonly tool: Tool;
  readonly input: unknown;
  readonly key: string | undefined;
  /** The approvals of the call that had been given then. */
  readonly approved: readonly ApprovalRequest[];
  hasSucceeded: boolean;
}

/** What a caller asked for, and was told. */
export interface Told<T> {
  readonly call: number;
  readonly process: Process;
  outcome?: T;
  rejection?: unknown;
  /** Its store had failed before. */
  hadFailures?: boolean;
}

/** A world that has come to its end. */
export type Lived = Awaited<ReturnType<typeof live>>;

const LEASE_MS = 1_000;
const APPROVAL_MS = 20_000;

/** Lives a world; then all who still wait give up, and a healthy process takes up what is left. */
export async function live(drawn: DrawnWorld) {
  const handlers: Begun[] = [];
  const undos: Begun[] = [];
  const outcomes: Told<Outcome>[] = [];
  const undoOutcomes: Told<UndoOutcome>[] = [];
  const decisions: { readonly call: number; readonly request: ApprovalRequest }[] = [];
  const heard: ToolEvent[][] = [];
  const aborts: (() => void)[] = [];
  const uses = new Map<number, { input: { n: number } }[]>();
  const asked = new Map<string, ApprovalRequest>();
  const approved = new Map<string, ApprovalRequest>();
  let isCalm = false;
  let outputs = 0;

  const shared = new SharedStore(memoryStore(), drawn.delays, (key, value) => {
    if (!key.startsWith("approval/call/")) return;
    for (const request of (value as { requests: ApprovalRequest[] }).requests) {
      asked.set(request.invocationId, request);
      if (request.status === "approved") approved.set(request.id, request);
    }
  });

  async function behave({ does, afterMs }: Body, begun: Begun, process: Process, signal: AbortSignal) {
    const how = isCalm ? "succeeds" : does;
    if (afterMs > 0 && !isCalm) await after(afterMs);
    if (how === "waits" && !signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (process.isDead || how === "deaf") return never;
    if (how === "waits") throw signal.reason;
    if (how === "throws") throw new Error("no");
    begun.hasSucceeded = true;
    return { output: ++outputs };
  }

  function toolsOf(process: Process, version: number): Tool[] {
    return drawn.tools.map(({ effect, bodies, undo, timeoutMs, maxCallsPerRun, ...rest }, index) => {
      const begin = (list: Begun[], invocationId: string, input: unknown, attempt = 1, key?: string): Begun => {
        const given = [...approved.values()].filter((one) => one.invocationId === invocationId);
        const begun = {
          call: callOf(invocationId),
          attempt,
          tool: made,
          input,
          key,
          approved: given,
          hasSucceeded: false,
        };
        list.push(begun);
        return begun;
      };
      const made: Tool = defineTool({
        ...rest,
        name: `tool_${index}`,
        description: `Version ${version}.`,
        inputSchema: z.object({ n: z.number() }),
        effect: effect as "read" | "idempotent" | "write",
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(maxCallsPerRun !== undefined && { maxCallsPerRun }),
        execute: (input, { invocationId, attempt, signal, idempotencyKey }) => {
          const begun = begin(handlers, invocationId, input, attempt, idempotencyKey);
          return behave(bodies[Math.min(begun.attempt, bodies.length) - 1]!, begun, process, signal!);
        },
        ...(undo !== undefined && {
          undo: ({ invocationId, input }, { signal }) =>
            behave(undo, begin(undos, invocationId, input), process, signal!),
        }),
      });
      return made;
    });
  }

  function bear(number: number) {
    const process = new Process(number);
    const versions = [toolsOf(process, 1), toolsOf(process, 2)];
    const tools = { version: 0, tools: () => versions[tools.version]! };
    const store = shared.for(process);
    const approvals = new ApprovalService({ store, tools, ttlMs: APPROVAL_MS });
    const events: ToolEvent[] = [];
    heard.push(events);
    const onEvent = (event: ToolEvent) => events.push(event);
    const executor = new ToolExecutor({ store, tools, approvals, leaseMs: LEASE_MS, onEvent });
    return { process, tools, approvals, executor };
  }

  /** Nobody waits for it: what came of it is noted when it does. */
  function note<T>(list: Told<T>[], at: number, process: Process, promise: Promise<T>): void {
    const told: Told<T> = { call: at, process };
    list.push(told);
    promise.then(
      (outcome) => Object.assign(told, { outcome, hadFailures: process.failures > 0 }),
      (rejection: unknown) => (told.rejection = rejection),
    );
  }

  function signalAfter(forMs: number | undefined): AbortSignal {
    const controller = new AbortController();
    const abort = () => controller.abort(new Error("Not any more."));
    if (forMs !== undefined) setTimeout(abort, forMs);
    aborts.push(abort);
    return controller.signal;
  }

  function execute({ process, tools, executor }: Living, at: number, waitForApproval: boolean, signal: AbortSignal) {
    const use = tools.tools()[toolOf(drawn, at)]!.use({ n: at }, { id: `call_${at}`, invocationId: invocationOf(at) });
    uses.set(at, [...(uses.get(at) ?? []), use]);
    note(outcomes, at, process, executor.execute(use, { ...RUN, signal, waitForApproval }));
  }

  function perform(next: DrawnWorld["acts"][number]["act"]): void {
    const at = "call" in next ? next.call % drawn.calls.length : 0;
    if (next.act === "mutate") {
      for (const { input } of uses.get(at) ?? []) input.n = 99;
      return;
    }
    if (next.act === "clock") return void vi.setSystemTime(Date.now() + next.ms);
    const one = living[next.who % living.length]!;
    const { process, approvals, executor } = one;
    if (process.isDead) return;
    switch (next.act) {
      case "execute":
        return execute(one, at, next.waitForApproval, signalAfter(next.abortAfterMs));
      case "decide": {
        const request = [...asked.values()].find(({ status }) => status === "pending") ?? asked.get(invocationOf(at));
        if (request === undefined) return;
        const decision =
          next.decision === "deny"
            ? ({ decision: "deny" } as const)
            : ({ decision: "approve", ...(next.decision === "edit" && { editedInput: { n: 50 + at } }) } as const);
        approvals.decide(request.id, decision).then(
          (decided) => decisions.push({ call: callOf(decided.invocationId), request: decided }),
          () => {},
        );
        return;
      }
      case "undo": {
        const signal = signalAfter(next.abortAfterMs);
        const actionId = storeKey(RUN.runId, invocationOf(at));
        return note(undoOutcomes, at, process, executor.undo(actionId, undefined, { signal }));
      }
      case "redefine":
        one.tools.version = 1 - one.tools.version;
        return;
      case "die":
        return process.dieAt(next.atWrite, next.isWritten);
      case "fail":
        return process.failAt(next.at, next.times, next.isWritten);
      case "stall":
        return process.stall(next.ms);
    }
  }

  type Living = ReturnType<typeof bear>;
  const living = Array.from({ length: drawn.processes }, (_, number) => bear(number));
  for (const { act: next, thenMs: forMs } of drawn.acts) {
    perform(next);
    if (forMs !== undefined) await pass(forMs);
  }
  await pass(12_000);
  for (const abort of aborts) abort();
  await pass(8_000);
  const unsettled = [...outcomes, ...undoOutcomes].filter((told) => !told.process.isDead && !isSettled(told));

  isCalm = true;
  const healthy = bear(living.length);
  for (const at of uses.keys()) execute(healthy, at, true, signalAfter(undefined));
  await pass(APPROVAL_MS + 10_000);
  const reading = Promise.all([healthy.executor.events(RUN.runId), healthy.executor.actions(RUN.runId)]);
  await pass(1_000);
  const [log, actions] = await reading;
  return {
    drawn,
    handlers,
    undos,
    outcomes,
    undoOutcomes,
    /** What the healthy process was told at last. */
    last: outcomes.filter(({ process }) => process === healthy.process),
    decisions,
    /** What each process told. */
    heard,
    /** The events, and the actions, as they are in the store. */
    log,
    actions,
    unsettled,
    isCircle: shared.isCircle,
    hadFailures: living.some(({ process }) => process.failures > 0),
  };
}

export function toolOf({ calls, tools }: DrawnWorld, at: number): number {
  return calls[at]! % tools.length;
}

/** Ids are the application's, and may hold anything. */
const ODD = "__proto__/%2F:ü \ud800-";

export function invocationOf(at: number): string {
  return `${ODD}${at}`;
}

function callOf(invocationId: string): number {
  return Number(invocationId.slice(ODD.length));
}

export function isSettled({ outcome, rejection }: Told<unknown>): boolean {
  return outcome !== undefined || rejection !== undefined;
}
