/**
 * Whatever happens to processes, stores, handlers and people, and whenever it does: what is promised of an execution
 * holds.
 */
import * as fc from "../fast-check.ts";
import { expect, it } from "vitest";
import { approvalDigest } from "../../src/execute/approvals/index.ts";
import { definitionDigest, type ActionInfo } from "../../src/execute/index.ts";
import { inOwnTime } from "../own-time.ts";
import { drawnWorld, invocationOf, isSettled, live, toolOf, type Lived } from "./worlds.ts";

it("holds in every world", async () => {
  await fc.assert(
    fc.asyncProperty(drawnWorld, async (drawn) => {
      const world = await inOwnTime(() => live(drawn));
      expectAllSettled(world);
      for (const call of drawn.calls.keys()) {
        expectBegunOnce(world, call);
        await expectApproved(world, call);
        expectUndoneOnce(world, call);
      }
      expectCounted(world);
      for (const row of world.actions) {
        expectEnded(world, row);
        expectStory(world, row);
      }
      expectToldAsRecorded(world);
      expectNumbered(world);
    }),
    { numRuns: 500 },
  );
});

function expectAllSettled({ unsettled, isCircle, outcomes, undoOutcomes, last, drawn }: Lived): void {
  expect(isCircle, "goes round in a circle").toBe(false);
  expect(
    unsettled.map(({ call }) => call),
    "calls that nobody hears of",
  ).toEqual([]);
  expect(last.every(isSettled), "calls that a healthy process brings to no end").toBe(true);
  for (const { rejection } of [...outcomes, ...undoOutcomes]) {
    // A caller's mistake.
    if (has(drawn, "mutate") && String(rejection).includes("is another call")) continue;
    expect(rejection).toBeUndefined();
  }
}

/** G2, G3, promise 6. */
function expectBegunOnce({ handlers, drawn }: Lived, call: number): void {
  const begun = handlers.filter((one) => one.call === call);
  const attempts = begun.map(({ attempt }) => attempt);
  expect(new Set(attempts).size, `call ${call}: attempts ${attempts.join()}`).toBe(attempts.length);
  expect(new Set(begun.map(({ key }) => key)).size, `call ${call}: idempotency keys`).toBeLessThanOrEqual(1);
  const { effect } = drawn.tools[toolOf(drawn, call)]!;
  if (effect === "write") expect(attempts.length, `call ${call}: begun`).toBeLessThanOrEqual(1);
}

/** G4: what ran is exactly what somebody approved, and nobody denied. */
async function expectApproved({ handlers, decisions, drawn }: Lived, call: number): Promise<void> {
  const ids = decisions.filter((one) => one.call === call).map(({ request }) => request.id);
  expect(new Set(ids).size, `call ${call}: decided`).toBe(ids.length);
  if (!drawn.tools[toolOf(drawn, call)]!.needsApproval) return;
  for (const { tool, input, approved } of handlers.filter((one) => one.call === call)) {
    const digest = await approvalDigest({ toolName: tool.name, input, definitionDigest: await definitionDigest(tool) });
    const approval = approved.find((one) => one.digest === digest);
    expect(approval, `call ${call}: approved as it ran`).toBeDefined();
    expect("editedInput" in approval! ? approval.editedInput : approval!.input).toEqual(input);
    const decided = decisions.find(({ request }) => request.id === approval!.id);
    expect(decided?.request.status ?? "approved").toBe("approved");
  }
}

function expectUndoneOnce({ handlers, undos, undoOutcomes, actions }: Lived, call: number): void {
  const begun = undos.filter((one) => one.call === call);
  const said = undoOutcomes.filter((one) => one.call === call && one.outcome?.status === "undone");
  expect(begun.length, `call ${call}: undos that began`).toBeLessThanOrEqual(1);
  expect(said.length, `call ${call}: told as undone`).toBeLessThanOrEqual(1);
  if (begun.length > 0) {
    const hasSucceeded = handlers.some((one) => one.call === call && one.hasSucceeded);
    expect(hasSucceeded, `call ${call}: undone after it succeeded`).toBe(true);
  }
  if (said.length > 0) {
    expect(begun[0]?.hasSucceeded, `call ${call}: undone as was told`).toBe(true);
    expect(rowOf(actions, call)?.undo?.state, `call ${call}: undone on record`).toBe("undone");
  }
}

/** `maxCallsPerRun` counts over all processes. */
function expectCounted({ handlers, drawn }: Lived): void {
  for (const [index, { maxCallsPerRun = Infinity }] of drawn.tools.entries()) {
    const begun = handlers.filter(({ call }) => toolOf(drawn, call) === index).map(({ call }) => call);
    expect(new Set(begun).size, `tool_${index}: calls`).toBeLessThanOrEqual(maxCallsPerRun);
  }
}

function expectEnded({ handlers, drawn, last }: Lived, { invocationId, status, attempts }: ActionInfo): void {
  const begun = handlers.filter(({ call }) => invocationOf(call) === invocationId);
  if (isTakenUp(last, invocationId)) expect(status, invocationId).toMatch(/^(done|failed|denied|unknown)$/);
  // One may be on record that never began: its process died right then.
  expect(attempts, invocationId).toBeGreaterThanOrEqual(begun.length);
  if (status === "done") expect(begun.some(({ hasSucceeded }) => hasSucceeded)).toBe(true);
  if (status === "denied") expect(begun).toEqual([]);
  // Nobody is taken for dead who is not.
  if (status === "unknown")
    expect(has(drawn, "die") || has(drawn, "stall") || has(drawn, "clock") || has(drawn, "fail")).toBe(true);
}

/** What callers hear is what is on record, as far as their store let them know. */
function expectToldAsRecorded({ outcomes, last, actions }: Lived): void {
  for (const { call, outcome } of last) {
    if (outcome !== undefined) expect(rowOf(actions, call), `call ${call}: on record`).toBeDefined();
  }
  for (const { call, outcome, process, hadFailures } of outcomes) {
    if (outcome === undefined || outcome.status === "awaiting_approval") continue;
    const row = rowOf(actions, call);
    const about = `call ${call}: told by process ${process.number}`;
    if (outcome.status === "completed" && outcome.recorded) {
      expect(row, about).toMatchObject({ status: "done", output: outcome.output });
    } else if (hadFailures === true) {
      continue;
    } else if (outcome.status === "completed") {
      expect.fail(`${about}: not recorded, though the store has not failed`);
    } else if (outcome.status !== "unknown" || outcome.attempts > 0) {
      expect(row, about).toMatchObject({ status: outcome.status, error: { code: outcome.error.code } });
    } // else it gave up while another process was at it
  }
}

/** G9: numbered without a gap in the store, rising for each listener. */
function expectNumbered({ log, heard }: Lived): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
  for (const events of heard) {
    const numbers = events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  }
}

/** G1: the events of an action are told once each, in a sane order, and end as the action did. */
function expectStory({ log, last, drawn, hadFailures }: Lived, row: ActionInfo): void {
  const own = log.filter(({ actionId }) => actionId === row.actionId);
  const types = own.map(({ type }) => type);
  const story = types.join(" ");
  const once = own.flatMap((event) => {
    if ("approvalId" in event) return [`${event.type} ${event.approvalId}`];
    if (event.type === "tool.started") return [`${event.type} ${event.attempt}`];
    if (isEnd(event.type)) return ["end"];
    return event.type === "tool.invoked" || event.type === "tool.undone" ? [event.type] : [];
  });
  expect(once, story).toEqual([...new Set(once)]);

  // Whoever executes a call again tells what its process could not.
  const isToldToTheEnd = isTakenUp(last, row.invocationId);
  if (isToldToTheEnd) expect(types.filter(isEnd), story).toHaveLength(1);
  // What a store has not taken is told late, or never.
  if (!isToldToTheEnd || hadFailures) return;

  // What other processes do is told when they do it.
  const isChanged = has(drawn, "mutate") || has(drawn, "redefine");
  const isAside = (type: string) =>
    /^tool\.(late|undone|undo_failed)$|^approval\.decided$/.test(type) || (isChanged && type === "approval.requested");
  const main = types.filter((type) => !isAside(type)).join(" ");
  expect(main, story).toMatch(
    /^tool\.invoked( approval\.requested)?( tool\.started)* tool\.(completed|failed|denied)$/,
  );
  const started = own.flatMap((event) => (event.type === "tool.started" ? [event.attempt] : []));
  expect(started, story).toEqual(Array.from({ length: row.attempts }, (_, at) => at + 1));
  const end = row.status === "done" ? "completed" : row.status === "denied" ? "denied" : "failed";
  expect(types.find(isEnd), story).toBe(`tool.${end}`);
}

/** Not where somebody else has begun it with other arguments: to the healthy process it is another call. */
function isTakenUp(last: Lived["last"], invocationId: string): boolean {
  return last.some(({ call, outcome }) => invocationOf(call) === invocationId && outcome !== undefined);
}

function isEnd(type: string): boolean {
  return /^tool\.(completed|failed|denied)$/.test(type);
}

function rowOf(actions: readonly ActionInfo[], call: number): ActionInfo | undefined {
  return actions.find(({ invocationId }) => invocationId === invocationOf(call));
}

function has({ acts }: Lived["drawn"], name: string): boolean {
  return acts.some(({ act }) => act.act === name);
}
