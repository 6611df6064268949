import { ToolError } from "../errors.ts";
import { aboveZero } from "../tool/option-names.ts";

/** Limits of one `run()`; each `resume()` after one was reached grants as much again. All optional. */
export interface Budgets {
  /** Calls executed, here or by the caller. */
  readonly maxCalls?: number | undefined;
  /** Tokens in and out, as the provider counts them. */
  readonly maxTokens?: number | undefined;
  /** Working time, in milliseconds. Waiting for results and approvals does not count. */
  readonly maxActiveMs?: number | undefined;
}

/** What was used. */
export interface BudgetUse {
  /** Turns of the model. */
  readonly steps: number;
  readonly calls: number;
  readonly tokens: number;
  readonly activeMs: number;
}

export const NOTHING_USED: BudgetUse = { steps: 0, calls: 0, tokens: 0, activeMs: 0 };

export function addUse(a: BudgetUse, b: Partial<BudgetUse>): BudgetUse {
  const { steps = 0, calls = 0, tokens = 0, activeMs = 0 } = b;
  return { steps: a.steps + steps, calls: a.calls + calls, tokens: a.tokens + tokens, activeMs: a.activeMs + activeMs };
}

/** All limits of a run. */
export interface Limits extends Budgets {
  readonly maxSteps: number;
}

/** What a run has used, and what it had used when a limit was last lifted: limits count from there. */
interface Account {
  readonly used: BudgetUse;
  readonly lifted: BudgetUse;
}

/** How many calls may still be executed. */
export function callsLeft({ used, lifted }: Account, { maxCalls = Infinity }: Limits): number {
  return lifted.calls + maxCalls - used.calls;
}

/**
 * What counts as already used, after a turn had more calls than were left: the limit is granted again, plus what was
 * left. Otherwise a turn with more calls than the limit could never continue.
 */
export function liftCalls(account: Account, limits: Limits): BudgetUse {
  const left = callsLeft(account, limits);
  return Number.isFinite(left) && left > 0 ? addUse(account.used, { calls: left }) : account.used;
}

/** The error if a turn has more calls than are left. */
export function tooManyCalls(account: Account, limits: Limits, calls: number): ToolError | undefined {
  const left = callsLeft(account, limits);
  if (calls === 0 || calls <= left) return undefined;
  const { used } = account;
  return exceeded(`would have ${used.calls + calls} calls of at most ${used.calls + left} (maxCalls)`);
}

/** The error if something is used up before a turn. */
export function overBudget(
  { used, lifted }: Account,
  { maxSteps, maxTokens = Infinity, maxActiveMs = Infinity }: Limits,
): ToolError | undefined {
  const most = addUse(lifted, { steps: maxSteps, tokens: maxTokens, activeMs: maxActiveMs });
  if (used.steps >= most.steps) {
    return new ToolError(
      "max_steps",
      `The run has had ${used.steps} turns of at most ${most.steps} (maxSteps), and is not over. resume() gives it as many again.`,
    );
  }
  if (used.tokens >= most.tokens)
    return exceeded(`has had ${used.tokens} tokens of at most ${most.tokens} (maxTokens)`);
  if (used.activeMs >= most.activeMs)
    return exceeded(`has worked ${used.activeMs} ms of at most ${most.activeMs} (maxActiveMs)`);
  return undefined;
}

function exceeded(what: string): ToolError {
  return new ToolError("budget_exceeded", `The run ${what}. resume() gives it as much again.`);
}

const NAMES: ReadonlySet<string> = new Set<keyof Limits>(["maxSteps", "maxCalls", "maxTokens", "maxActiveMs"]);

/** @throws TypeError also for unknown names: a limit with a typo in its name would limit nothing. */
export function checkLimits(limits: Limits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!NAMES.has(name))
      throw new TypeError(`budgets have no ${name}: there are maxCalls, maxTokens and maxActiveMs.`);
    if (value !== undefined) aboveZero(name, value);
  }
}
