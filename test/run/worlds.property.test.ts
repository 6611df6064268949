/**
 * Runs that processes share: whoever dies, stalls, answers twice, comes late, forgets or has other tools than before,
 * what is promised of a run holds.
 */
import * as fc from "../fast-check.ts";
import { expect, it } from "vitest";
import { isToolError } from "../../src/errors.ts";
import { approvalDigest } from "../../src/execute/approvals/index.ts";
import { definitionDigest } from "../../src/execute/index.ts";
import { inOwnTime } from "../own-time.ts";
import { problemOf } from "./scenario.ts";
import { drawnWorld, live, resultsOf, type Begun, type DrawnWorld, type Lived, type Message } from "./worlds.ts";

it("holds in every world", async () => {
  await fc.assert(
    fc.asyncProperty(drawnWorld, (drawn) => inOwnTime(() => check(drawn))),
    { numRuns: 250 },
  );
});

async function check(drawn: DrawnWorld): Promise<void> {
  const world = await live(drawn);
  expectFinished(world);
  expectBegunOnce(world);
  for (const begun of world.handlers) await expectApproved(begun);
  expectUndoneOnce(world);
  expectHeard(world);
  expectSaid(world);
  expectRecorded(world);
  expectForgotten(world);
}

/** Nothing hangs, and whatever state a run is left in, a healthy process completes it with an answer. */
function expectFinished({ isCircle, problems, unsettled, result }: Lived): void {
  expect(isCircle, "goes round in a circle").toBe(false);
  expect(problems).toEqual([]);
  expect(unsettled, "nobody hears of it").toEqual([]);
  expect(result?.status).toBe("completed");
  expect(problemOf(result!.messages as never)).toBeUndefined();
}

/** Promise 6: a write at most once. Nothing that the model has heard of runs afterwards. */
function expectBegunOnce({ handlers, heard }: Lived): void {
  for (const [n, begun] of Map.groupBy(handlers, (one) => one.n)) {
    const about = `call ${n}, ${begun[0]!.tool.name}`;
    expect(new Set(begun.map(({ key }) => key)).size, `${about}: idempotency keys`).toBe(1);
    const effects = begun.map(({ tool }) => tool.effect);
    if (begun.length > 1) expect(effects, about).not.toContain("write");
    const late = begun.filter(({ isLate }) => isLate);
    expect(late, `${about}: runs after the model heard ${heard.get(n)}`).toEqual([]);
    const message = heard.get(n) ?? "";
    if (/not executed|denied/.test(message)) expect.fail(`${about} ran, and the model heard ${message}`);
  }
}

/** What ran is exactly what somebody approved. */
async function expectApproved({ n, tool, input, approved }: Begun): Promise<void> {
  if (tool.needsApproval !== true) return;
  const digest = await approvalDigest({ toolName: tool.name, input, definitionDigest: await definitionDigest(tool) });
  const digests = approved.map((one) => one.digest);
  expect(digests, `call ${n}, ${tool.name}: approved as it ran`).toContain(digest);
}

function expectUndoneOnce({ handlers, undos, undone }: Lived): void {
  expect(new Set(undone).size, "told as undone").toBe(undone.length);
  for (const [n, begun] of Map.groupBy(undos, (one) => one.n)) {
    expect(begun.length, `call ${n}: undos that began`).toBe(1);
    const hasSucceeded = handlers.some((one) => one.n === n && one.hasSucceeded);
    expect(hasSucceeded, `call ${n}: undone after it succeeded`).toBe(true);
  }
}

/** A result is accepted once, and the model hears of each call what came of it, not what came of another. */
function expectHeard({ heard, accepted, result, drawn }: Lived): void {
  for (const [n, content] of heard) {
    const told = /^answer (\d+): |^\{"ok":(\d+)\}$/.exec(content);
    if (told !== null) expect(Number(told[1] ?? told[2]), `what the model hears of call ${n}`).toBe(n);
  }
  // Of a conversation that is being deleted, a result may be taken that nobody will read, and so may another.
  if (drawn.acts.some(({ act }) => act === "forget")) return;
  const last = resultsOf(result!.messages as never);
  for (const [n, values] of accepted) {
    expect(values.length, `results of call ${n} that were taken: ${values}`).toBe(1);
    if (heard.has(n)) expect(heard.get(n), `what the model hears of call ${n}`).toBe(values[0]);
    if (last.has(n)) expect(last.get(n), `what the history says of call ${n}`).toBe(values[0]);
  }
}

/** What was taken is said, once, and what was refused is not. */
function expectSaid({ said, result, drawn }: Lived): void {
  if (drawn.acts.some(({ act }) => act === "forget")) return;
  const messages = result!.messages as Message[];
  const heard = messages.flatMap(({ role, content }) => (role === "user" ? [content] : []));
  expect(heard).toEqual([...new Set(heard)]);
  for (const { input, inputId, isSure, error } of said) {
    if (isSure !== true) continue;
    const isTaken = error === undefined && !said.some(({ rewinds }) => rewinds);
    if (isTaken) expect(heard, `"${input}", which was taken`).toContain(input);
    const isRefused = isToolError(error) && /^run_(open|busy)$/.test(error.code) && inputId === undefined;
    if (isRefused) expect(heard, `"${input}", which was refused`).not.toContain(input);
  }
}

function expectRecorded({ records, hasFailed, heard, handlers, drawn }: Lived): void {
  const isCanceled = drawn.acts.some((act) => act.act === "run" && act.whenOpen === "cancel");
  for (const { actions, log, pending } of records!) {
    expect(pending, "approvals that nobody waits for").toEqual([]);
    for (const { invocationId, toolName, status } of actions) {
      // What the store did not take is known to the run alone; a read may be of a turn that was cut when its process
      // died; and what still ran when the conversation went on may have died later.
      const isRead = ["read", "peek", "alone"].includes(toolName);
      const isLeft = hasFailed || isRead || (isCanceled && status === "started");
      if (!isLeft) expect(status, toolName).toMatch(/^(done|failed|denied|unknown)$/);
      const n = handlers.find((one) => one.invocationId === invocationId)?.n ?? 0;
      const message = heard.get(n);
      if (status !== "done" || message === undefined || hasFailed) continue;
      if (!isCanceled || !message.includes("it was begun, and the conversation went on")) {
        expect(message, `call ${n}, which is done`).toContain(`{"ok":${n}}`);
      }
    }
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
    const ends = log.filter(({ type }) => /^tool\.(completed|failed|denied)$/.test(type));
    expect(new Set(ends.map(({ actionId }) => actionId)).size).toBe(ends.length);
  }
}

/** Nothing is left of a conversation that was forgotten but the numbers of the events of its approvals. */
function expectForgotten({ isForgotten, left, allPending, drawn }: Lived): void {
  expect(allPending, "approvals of what was forgotten").toEqual([]);
  expect(isForgotten).toBe(true);
  const has = (...names: string[]) => drawn.acts.some(({ act }) => names.includes(act));
  // A process that is taken for dead may write what nobody knows of.
  if (has("stall", "clock") || drawn.acts.some((act) => act.act === "fail" && act.times > 2)) return;
  // An index entry may lead nowhere: its request did not come to the store any more. An "always" stays.
  const harmless = has("die", "fail") ? /^approval\/(log|grant|id|open)\// : /^approval\/(log|grant)\//;
  expect(left.filter((key) => !harmless.test(key))).toEqual([]);
}
