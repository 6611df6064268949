/**
 * Random worlds of runs: processes over one store, a model that ends its turns as it likes and repeats its ids, callers
 * who answer twice or late, people who decide, undo and forget, and bad luck. {@link live} lives one of them and gives
 * the story; what has to hold of it is in `worlds.property.test.ts`.
 */
import * as fc from "../fast-check.ts";
import { vi } from "vitest";
import { z } from "zod";
import { isToolError } from "../../src/errors.ts";
import { ApprovalService, type ApprovalRequest, type Decision } from "../../src/execute/approvals/index.ts";
import { allow, ask, ToolExecutor } from "../../src/execute/index.ts";
import { Orchestrator, type OrchestrationResult, type RunStream } from "../../src/run/index.ts";
import { memoryStore, storeKey, type Store } from "../../src/store/index.ts";
import { defineTool, type Tool, type ToolDefinition } from "../../src/tool/tool.ts";
import { kind } from "../execute/worlds.ts";
import { after, never, pass, Process, SharedStore } from "../own-time.ts";
import { problemOf } from "./scenario.ts";
import { scripted, type ScriptedTurn } from "./script.ts";

// What is drawn -----------------------------------------------------------------------------------------------------

/** The tools as they are at first; those without a body are the caller's. */
const TOOLS = {
  read: { effect: "read", takesMs: 3 },
  again: { effect: "idempotent", takesMs: 700 },
  write: { takesMs: 0 },
  slow: { takesMs: 1_500, timeoutMs: 4_000 },
  fail: { takesMs: 2, fails: true },
  approve: { takesMs: 20, needsApproval: true },
  // The policy asks about it, also while its turn goes on.
  peek: { effect: "read", takesMs: 1 },
  alone: { effect: "read", takesMs: 10, sequential: true },
  early: { takesMs: 5, eager: true },
  next: { takesMs: 1, requires: "write" },
  twice: { takesMs: 1, maxCallsPerRun: 2 },
  flaky: { effect: "idempotent", takesMs: 3, retries: 2, failsFirst: true },
  ask: {},
  late: { timeoutMs: 3_000 },
} as const satisfies Record<string, Facts>;

interface Facts extends Pick<
  ToolDefinition,
  "effect" | "timeoutMs" | "needsApproval" | "sequential" | "eager" | "requires" | "maxCallsPerRun" | "retries"
> {
  readonly takesMs?: number;
  readonly fails?: boolean;
  readonly failsFirst?: boolean;
}

const input = z.object({ n: z.number(), note: z.string().optional() });

/** What a later version of the program may have made of a tool. */
const CHANGES = {
  "as at first": {},
  gone: undefined,
  "one more default": { inputSchema: input.extend({ note: z.string().default("none") }) },
  "asks for more": { inputSchema: input.extend({ more: z.string() }) },
  reads: { effect: "read" },
  writes: { effect: "write", retries: 0 },
  "needs approval": { needsApproval: true },
  "needs none": { needsApproval: false },
  "changes sides": "sides",
} as const satisfies Record<string, Partial<ToolDefinition> | "sides" | undefined>;

const names = Object.keys(TOOLS) as (keyof typeof TOOLS)[];
const name = fc.constantFrom(...names);
const who = fc.nat({ max: 1 });
const which = fc.nat({ max: 5 });
const whenBusy = fc.constantFrom("refuse" as const, "wait" as const);
const abortAfterMs = fc.constantFrom(...Array<undefined>(8).fill(undefined), 0, 3, 300);

const turn = fc.record({
  calls: fc.array(
    fc.record({
      name: fc.oneof({ weight: 12, arbitrary: name }, { weight: 1, arbitrary: fc.constant("nobody") }),
      id: fc.constantFrom("own", "own", "same", ""),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  /** Cut the first time that it is asked for, if at all. */
  end: fc.constantFrom(...Array<"clean">(6).fill("clean"), "length", "lost"),
  takesMs: fc.constantFrom(0, 0, 2, 30),
});

const act = fc.oneof(
  kind(3, "run", {
    who,
    whenOpen: fc.constantFrom("refuse", "cancel"),
    whenBusy,
    /** What is delivered again says the same. */
    inputId: fc.constantFrom(undefined, undefined, "1", "2"),
    /** Takes back what the user said last. */
    rewinds: fc.constantFrom(false, false, false, true),
    abortAfterMs,
    /** After how many events nobody listens any more; `undefined`: nobody did. */
    leavesAt: fc.constantFrom(undefined, undefined, 4, 12, Infinity),
  }),
  kind(6, "resume", {
    who,
    answers: fc.array(which, { maxLength: 2 }),
    decides: fc.constantFrom("approve", "deny", undefined),
    whenBusy,
    abortAfterMs,
  }),
  kind(2, "wait", { who }),
  // Both at once hand in a result of the same call.
  kind(3, "provide", { answer: which, isTwice: fc.boolean(), who }),
  kind(3, "decide", { who, decision: fc.constantFrom("approve", "approve", "deny", "edit", "always") }),
  kind(1, "revoke", { who }),
  kind(2, "undo", { who, which }),
  kind(1, "forget", { who }),
  kind(1, "look", { who }),
  kind(2, "redefine", { who, name, how: fc.constantFrom(...(Object.keys(CHANGES) as (keyof typeof CHANGES)[])) }),
  kind(1, "clock", { ms: fc.constantFrom(-5_000, -700, 700, 5_000) }),
  kind(1, "die", { who, at: fc.integer({ min: 1, max: 30 }), isWritten: fc.boolean() }),
  kind(1, "fail", {
    who,
    at: fc.integer({ min: 1, max: 40 }),
    times: fc.constantFrom(1, 1, 2, 40),
    isWritten: fc.boolean(),
  }),
  kind(1, "stall", { who, ms: fc.constantFrom(5, 400, 1_100, 3_000) }),
  kind(7, "pass", { ms: fc.constantFrom(0, 1, 5, 20, 150, 500, 1_100, 6_000) }),
);

export const drawnWorld = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
  /** How long the store takes: what makes processes meet. */
  delays: fc.array(fc.constantFrom(0, 0, 0, 1, 2, 7), { minLength: 1, maxLength: 12 }),
  approvalMs: fc.constantFrom(900, 60_000, 60_000),
  /** Of three changes, a listener is told of one. */
  isDeaf: fc.boolean(),
  maxSteps: fc.constantFrom(undefined, undefined, 1, 2),
  maxCalls: fc.constantFrom(undefined, undefined, 2, 4),
  /** How long the run goes on before the acts; `undefined`: it is not begun yet. */
  beginsMs: fc.constantFrom(undefined, 1, 20, 20, 400),
  acts: fc.array(act, { minLength: 4, maxLength: 18, size: "max" }),
});
export type DrawnWorld = typeof drawnWorld extends fc.Arbitrary<infer Value> ? Value : never;

// What is lived ------------------------------------------------------------------------------------------------------

/** A handler, or an undo, that was begun. */
export interface Begun {
  /** Of the call, which the model numbers. */
  readonly n: number;
  readonly invocationId: string;
  readonly tool: Tool;
  readonly input: unknown;
  readonly key: string | undefined;
  /** The approvals of the call that had been given then. */
  readonly approved: readonly ApprovalRequest[];
  /** The model had heard of the call before. */
  readonly isLate: boolean;
  hasSucceeded: boolean;
}

/** What somebody has said, and what came of it. */
export interface Said {
  readonly input: string;
  readonly inputId: string | undefined;
  readonly rewinds: boolean;
  /** Its process has not died, and its store had not failed. */
  isSure?: boolean;
  error?: unknown;
}

/** A world that has come to its end. */
export type Lived = Awaited<ReturnType<typeof live>>;

export const conversationId = "c/1";
const LEASE_MS = 1_000;

/** Lives a world; then all who still wait give up, and a healthy process finishes what is left. */
export async function live(drawn: DrawnWorld) {
  const problems: string[] = [];
  const handlers: Begun[] = [];
  const undos: Begun[] = [];
  /** What the model has heard of each call. */
  const heard = new Map<number, string>();
  /** What the caller knows of: calls by their id, approvals. */
  const calls = new Map<string, number>();
  const approvalIds = new Set<string>();
  const approved = new Map<string, ApprovalRequest>();
  /** The results that were taken, by call. */
  const accepted = new Map<number, string[]>();
  const undone: string[] = [];
  const said: Said[] = [];
  let lastMessages: readonly Message[] = [];
  const aborts: (() => void)[] = [];
  const cut = new Set<string>();
  let isCalm = false;
  let [runs, called, answered] = [0, 0, 0];

  const inner = memoryStore();
  const shared = new SharedStore(inner, drawn.delays, (key, value) => {
    if (!key.startsWith("approval/call/")) return;
    for (const request of (value as { requests: ApprovalRequest[] }).requests) {
      if (request.status === "pending") approvalIds.add(request.id);
      if (request.status === "approved") approved.set(request.id, request);
    }
  });

  function toolOf(own: Process, tool: keyof typeof TOOLS, how: keyof typeof CHANGES): Tool | undefined {
    const { takesMs, fails = false, failsFirst = false, ...facts }: Facts = TOOLS[tool];
    const change = CHANGES[how];
    if (change === undefined) return undefined;
    const isInternal = (takesMs !== undefined) !== (change === "sides");
    const begin = (list: Begun[], invocationId: string, given: unknown, attempt = 1, key?: string) => {
      const { n } = given as { n: number };
      const begun = {
        n,
        invocationId,
        tool: made,
        input: given,
        key,
        approved: [...approved.values()].filter((one) => one.invocationId === invocationId),
        // What is tried again was begun before.
        isLate: heard.has(n) && !(failsFirst && attempt > 1),
        hasSucceeded: false,
      };
      list.push(begun);
      return begun;
    };
    const behave = async (begun: Begun, attempt = 1) => {
      if (takesMs !== undefined && takesMs > 0 && !isCalm) await after(takesMs);
      if (own.isDead) return never;
      if (fails || (failsFirst && attempt === 1)) throw new Error("no");
      begun.hasSucceeded = true;
      return { ok: begun.n };
    };
    const made: Tool = defineTool({
      name: tool,
      inputSchema: input,
      ...facts,
      ...(change !== "sides" && change),
      ...(isInternal && {
        execute: (given: unknown, { invocationId, idempotencyKey, attempt }: any) =>
          own.isDead ? never : behave(begin(handlers, invocationId, given, attempt, idempotencyKey), attempt),
        undo: ({ invocationId, input: given }: any) => behave(begin(undos, invocationId, given), 2),
      }),
    } as ToolDefinition);
    return made;
  }

  function bear(number: number, hows: Partial<Record<string, keyof typeof CHANGES>> = {}) {
    const own = new Process(number);
    const whole = shared.for(own);
    let changes = 0;
    const subscribe: Store["subscribe"] = (prefix, listener) =>
      whole.subscribe(prefix, (change) => (changes++ % 3 === 0 ? listener(change) : undefined));
    const store = drawn.isDeaf ? { ...whole, subscribe } : whole;
    let current: Tool[] = [];
    const redefine = (tool: string, how: keyof typeof CHANGES) => {
      hows[tool] = how;
      current = names.flatMap((one) => toolOf(own, one, hows[one] ?? "as at first") ?? []);
    };
    redefine("read", hows["read"] ?? "as at first");
    const tools = { tools: () => current };
    const approvals = new ApprovalService({ store, tools, ttlMs: drawn.approvalMs });
    const executor = new ToolExecutor({
      tools,
      store,
      approvals,
      leaseMs: LEASE_MS,
      waitForApproval: false,
      retryDelayMs: 10,
      authorize: ({ tool: { name: asked } }) => (asked === "peek" ? ask() : allow()),
    });
    const model = scripted(({ messages }) => (own.isDead ? { text: "" } : answerTo(messages as Message[])));
    const onEvent = (event: any) => {
      if (event.type === "external_tool_detected") calls.set(event.call.id, event.call.arguments.n);
    };
    const { maxSteps, maxCalls } = drawn;
    const limits = { maxSteps, budgets: { maxCalls }, leaseMs: LEASE_MS, retryDelayMs: 10 };
    const options = { model, tools, store, executor, approvals, onEvent, ...limits };
    return { own, redefine, hows, approvals, executor, orchestrator: new Orchestrator(options) };
  }

  function answerTo(messages: readonly Message[]): ScriptedTurn {
    const problem = problemOf(messages as never);
    if (problem !== undefined) problems.push(`the model is sent ${problem}`);
    for (const [n, content] of resultsOf(messages)) {
      if (heard.has(n) && heard.get(n) !== content) problems.push(`call ${n}: ${heard.get(n)}, then ${content}`);
      heard.set(n, content);
    }
    const turns = messages.filter(({ role }) => role === "assistant").length;
    const next = drawn.turns[turns % (drawn.turns.length + 1)];
    if (next === undefined) return { text: "Done." };
    const id = `${messages[0]!.content} ${turns}`;
    const end = isCalm || cut.has(id) ? "clean" : next.end;
    cut.add(id);
    return {
      calls: next.calls.map((call) => {
        const n = ++called;
        return { name: call.name, args: { n }, id: call.id === "own" ? `call_${n}` : call.id };
      }),
      ...(next.takesMs > 0 && !isCalm && { pauseMs: next.takesMs }),
      ...(end === "length" && { finish: "length" }),
      ...(end === "lost" && { fail: new Error("The connection was lost.") }),
    };
  }

  const promises: { isDone: boolean; readonly own: Process; readonly what: string }[] = [];
  function note<T>(own: Process, what: string, promise: Promise<T>, then: (value: T) => void = () => {}) {
    const entry = { isDone: false, own, what };
    promises.push(entry);
    promise.then(
      (value) => {
        entry.isDone = true;
        then(value);
      },
      (error: unknown) => {
        entry.isDone = true;
        // Somebody else may have taken the same back before.
        const isGone = String(error).includes("rewindTo is the index of something that the user said");
        if (!isToolError(error) && !isGone) problems.push(`${what}: ${String((error as Error)?.stack ?? error)}`);
      },
    );
  }

  function seen(result: OrchestrationResult | undefined): void {
    if (result === undefined) return;
    lastMessages = result.messages as Message[];
    for (const call of result.pendingToolCalls) calls.set(call.id, (call.arguments as { n: number }).n);
    if (result.status === "completed" && result.content !== "Done.") problems.push(`completed: "${result.content}"`);
  }

  function answerOf(index: number) {
    const known = [...calls];
    if (known.length === 0) return undefined;
    const [toolCallId, n] = known[index % known.length]!;
    return { toolCallId, result: `answer ${n}: ${++answered}` };
  }

  /** A result that failed to be taken may have been taken. */
  function took(own: Process, answers: readonly { toolCallId: string; result: string }[]) {
    if (own.failures > 0) return;
    for (const { toolCallId, result } of answers) {
      const n = calls.get(toolCallId)!;
      accepted.set(n, [...(accepted.get(n) ?? []), result]);
    }
  }

  function signalAfter(forMs?: number): AbortSignal {
    const controller = new AbortController();
    const abort = () => controller.abort(new Error("Not any more."));
    if (forMs !== undefined) setTimeout(abort, forMs);
    aborts.push(abort);
    return controller.signal;
  }

  async function followed(stream: RunStream, leavesAt: number): Promise<OrchestrationResult> {
    let events = 0;
    for await (const _ of stream) if (++events >= leavesAt) break;
    return stream.result;
  }

  function perform(next: Exclude<DrawnWorld["acts"][number], { act: "pass" }>): void {
    if (next.act === "clock") return void vi.setSystemTime(Date.now() + next.ms);
    const { own, orchestrator, executor, approvals, redefine } = living[next.who]!;
    if (own.isDead) return;
    switch (next.act) {
      case "run": {
        const { whenOpen, leavesAt, inputId, rewinds } = next;
        const one: Said = { input: inputId === undefined ? `Go ${++runs}` : `Go on ${inputId}`, inputId, rewinds };
        said.push(one);
        const rewindTo = lastMessages.findLastIndex(({ role }) => role === "user");
        const options = {
          conversationId,
          input: one.input,
          whenOpen,
          whenBusy: next.whenBusy,
          ...(inputId !== undefined && { inputId }),
          ...(rewinds && rewindTo >= 0 && { rewindTo }),
          signal: signalAfter(next.abortAfterMs),
        };
        const result =
          leavesAt === undefined ? orchestrator.run(options) : followed(orchestrator.stream(options), leavesAt);
        const tell = (error?: unknown) => Object.assign(one, { error, isSure: own.failures === 0 });
        result.then(() => tell(), tell);
        return note(own, "run", result, seen);
      }
      case "wait":
        return note(own, "wait", orchestrator.waitAndResume(conversationId, { signal: signalAfter() }), seen);
      case "resume": {
        const toolResults = next.answers.map(answerOf).filter((one) => one !== undefined);
        const [id] = [...approvalIds].slice(-1);
        const decisions = next.decides === undefined || id === undefined ? [] : [{ id, decision: next.decides }];
        const signal = signalAfter(next.abortAfterMs);
        const options = { signal, whenBusy: next.whenBusy, toolResults, approvals: decisions };
        return note(own, "resume", orchestrator.resume(conversationId, options), (result) => {
          seen(result);
          took(own, toolResults);
        });
      }
      case "provide":
        for (const by of next.isTwice ? living : [living[next.who]!]) {
          const answer = answerOf(next.answer);
          if (answer === undefined || by.own.isDead) continue;
          const promise = by.orchestrator.provideToolResult(conversationId, answer);
          note(by.own, "provide", promise, () => took(by.own, [answer]));
        }
        return;
      case "decide": {
        const [id] = [...approvalIds].slice(-1);
        if (id === undefined) return;
        const of = async () => {
          const request = await approvals.get(id);
          const edited = { ...(request?.input as object), note: "edited" };
          const decisions: Record<typeof next.decision, Decision> = {
            approve: { decision: "approve" },
            deny: { decision: "deny" },
            edit: { decision: "approve", editedInput: edited },
            always: { decision: "approve", always: { where: { schema: {} } } },
          };
          return approvals.decide(id, decisions[next.decision]);
        };
        return note(own, "decide", of());
      }
      case "revoke": {
        const of = async () => {
          for (const grant of await approvals.grants()) await approvals.revoke(grant);
        };
        return note(own, "revoke", of());
      }
      case "undo": {
        if (handlers.length === 0) return;
        const { invocationId } = handlers[next.which % handlers.length]!;
        const undoing = executor.undo(actionIdOf(invocationId));
        return note(own, "undo", undoing, ({ status }) => {
          if (status === "undone") undone.push(invocationId);
        });
      }
      case "forget":
        return note(own, "forget", orchestrator.forget(conversationId));
      case "look":
        return note(own, "look", orchestrator.get(conversationId), seen);
      case "redefine":
        return redefine(next.name, next.how);
      case "die":
        return own.dieAt(next.at, next.isWritten);
      case "fail":
        return own.failAt(next.at, next.times, next.isWritten);
      case "stall":
        return own.stall(next.ms);
    }
  }

  const living = [bear(0), bear(1)];
  if (drawn.beginsMs !== undefined) {
    const begun = living[0]!.orchestrator.run({ conversationId, input: `Go ${++runs}` });
    note(living[0]!.own, "run", begun, seen);
    await pass(drawn.beginsMs);
  }
  for (const next of drawn.acts) {
    if (next.act === "pass") await pass(next.ms);
    else perform(next);
  }
  await pass(8_000);
  for (const abort of aborts) abort();
  await pass(8_000);
  const unsettled = promises.filter(({ isDone, own }) => !isDone && !own.isDead).map(({ what }) => what);

  isCalm = true;
  // With the tools as the first process knows them now.
  const healthy = bear(2, living[0]!.hows);
  const finish = async (): Promise<OrchestrationResult> => {
    for (let round = 0; round < 60; round++) {
      const now = await healthy.orchestrator.get(conversationId);
      seen(now);
      if (now?.status === "completed") return now;
      if (now === undefined) await healthy.orchestrator.run({ conversationId, input: `Go ${++runs}` });
      else {
        const toolResults = now.pendingToolCalls.map(({ id }) => ({
          toolCallId: id,
          result: `answer ${calls.get(id)}: ${++answered}`,
        }));
        const decisions = now.pendingApprovals.map(({ id }) => ({ id, decision: "approve" as const }));
        await healthy.orchestrator.resume(conversationId, { toolResults, approvals: decisions });
        took(healthy.own, toolResults);
      }
    }
    throw new Error("It is not completed after sixty rounds.");
  };
  const result = await within(60_000, finish());
  const runIds = result?.tree.runs.map(({ id }) => id) ?? [];
  const records = await within(
    5_000,
    Promise.all(
      runIds.map(async (runId) => ({
        actions: await healthy.executor.actions(runId),
        log: await healthy.executor.events(runId),
        pending: await healthy.approvals.list({ runId, status: "pending" }),
      })),
    ),
  );
  const allPending = await within(5_000, healthy.approvals.list({ status: "pending" }));
  const isForgotten = await within(5_000, healthy.orchestrator.forget(conversationId));
  const left = (await inner.list("")).map(({ key }) => key);
  return {
    drawn,
    problems,
    handlers,
    undos,
    undone,
    said,
    heard,
    accepted,
    unsettled,
    isCircle: shared.isCircle,
    hasFailed: living.some(({ own }) => own.failures > 0),
    result,
    records,
    allPending,
    isForgotten,
    left,
  };

  async function within<T>(forMs: number, promise: Promise<T>): Promise<T | undefined> {
    let value: T | undefined;
    promise.then(
      (got) => (value = got),
      (error: unknown) => problems.push(String((error as Error)?.stack ?? error)),
    );
    await pass(forMs);
    return value;
  }
}

export interface Message {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
}

/** What the history says of each call. Ids tell nothing: results follow their calls in order. */
export function resultsOf(messages: readonly Message[]): Map<number, string> {
  const results = new Map<number, string>();
  let open: number[] = [];
  for (const { role, content, tool_calls: calls } of messages) {
    if (role === "assistant") open = (calls ?? []).map((call) => JSON.parse(call.function.arguments).n);
    if (role === "tool") results.set(open.shift()!, content);
  }
  return results;
}

export function actionIdOf(invocationId: string): string {
  return storeKey(/^run_[^-]+/.exec(invocationId)![0], invocationId);
}
