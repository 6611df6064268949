import { ToolCallError } from "../../src/errors.ts";
import { parseJson } from "../../src/json/index.ts";
import { setOwn } from "../../src/schema/json.ts";
import type { Turn } from "../../src/stream/events.ts";
import { resolveLimits } from "../../src/stream/limits.ts";
import { useOfValue } from "../../src/stream/validate-input.ts";
import { approvalRule } from "../../src/tool/policy.ts";
import { ToolUse, type GivenContext } from "../../src/tool/use.ts";
import type { HelperMetadata } from "./calls.ts";
import { valueAt, type Reference, type Step } from "./values.ts";

/** The results of earlier calls, by their steps. A call that failed, or was not run, has no entry. */
export type StepResults = ReadonlyMap<number, unknown>;

/** Whether a call refers to the results of others. It cannot be executed before {@link resolveUse}. */
export function isDependent(use: { readonly metadata: Readonly<Record<string, unknown>> }): boolean {
  return use.metadata["dependent"] === true;
}

/** The steps whose results a call needs. */
export function dependsOn(use: { readonly metadata: Readonly<Record<string, unknown>> }): readonly number[] {
  return (use.metadata as Partial<HelperMetadata>).dependsOn ?? [];
}

/**
 * Fills the results of other calls into a call that refers to them, and validates it. Returns a new use under the same
 * ids; report its outcome to the turn's own use. A call without references is returned unchanged.
 *
 * @throws ToolCallError `unresolved` if a result is missing or has no such part; `invalid_input`
 */
export function resolveUse(use: ToolUse, results: StepResults): ToolUse {
  if (!isDependent(use)) return use;
  const { dependent: _, dependsOn: __, references = [], ...metadata } = use.metadata as unknown as HelperMetadata;
  let input: unknown = structuredClone(use.input);
  const known = new Map<number, unknown>();
  let left = resolveLimits(undefined).maxArgumentsLength;
  for (const reference of references) {
    // A result is as long as its tool made it; only a call that takes from it again can make more of it.
    const isFirst = !known.has(reference.step);
    const json = JSON.stringify(resultOf(reference, use, results, known));
    if (!isFirst) left -= json.length;
    if (left < 0) throw unresolved(use, "the results that it refers to are too long together");
    input = withValue(input, reference.path, parseJson(json));
  }
  const { invocationId, id, name, turnIndex, position, tool } = use;
  const call = { invocationId, id, name, argsText: JSON.stringify(input), input, turnIndex, position, metadata };
  return useOfValue(call, tool, use.repairs);
}

/**
 * Runs the calls of a turn by hand, one after another, and fills the results of earlier calls into later ones. Failed
 * calls, and those that need them, are reported to the model by `toolResults(turn)`. External calls are skipped, as are
 * those that need approval, and those that need either: answer with `use.provideResult()`, or ask and
 * `use.execute({ approved: true })`, then call this again.
 *
 * @param context what handlers get as their second argument; `approved: true` says that all calls are approved
 */
export async function runBlock(turn: Turn, context?: GivenContext): Promise<void> {
  const results = new Map<number, unknown>();
  const pending = new Set<number>();
  for (const { outcome: use, released } of turn.calls) {
    if (!(use instanceof ToolUse)) continue;
    const step = stepOf(use);
    if (use.state === "new" && released) {
      const { tool } = use;
      // Executed here, it would have failed before somebody could be asked.
      const needsApproval = context?.approved !== true && approvalRule(tool) !== false;
      const waits = needsApproval || tool.mode === "external" || dependsOn(use).some((one) => pending.has(one));
      if (!waits) await run(use, results, context);
    }
    if (step === undefined) continue;
    if (use.state === "done") results.set(step, use.result);
    else if (use.state !== "failed") pending.add(step);
  }
}

async function run(use: ToolUse, results: StepResults, context: GivenContext | undefined): Promise<void> {
  try {
    const ready = resolveUse(use, results);
    const output: unknown = await ready.execute(context);
    if (ready !== use) use.provideResult(output);
  } catch (error) {
    if (use.state === "new") use.provideError(error);
  }
}

/** The variables that the finished calls of a turn have assigned: pass them to the next `read()` as `variables`. */
export function variablesOf(turn: Turn): Record<string, unknown> {
  const variables = {};
  for (const { outcome: use } of turn.calls) {
    if (!(use instanceof ToolUse) || use.state !== "done") continue;
    const { variable } = use.metadata as Partial<HelperMetadata>;
    if (typeof variable === "string") setOwn(variables, variable, plain(use.result));
  }
  return variables;
}

function stepOf({ metadata }: ToolUse): number | undefined {
  return (metadata as Partial<HelperMetadata>).step;
}

/** @param known the results as JSON gives them, made once: there may be many references to each */
function resultOf(
  { step, steps, source }: Reference,
  use: ToolUse,
  results: StepResults,
  known: Map<number, unknown>,
): unknown {
  if (!results.has(step)) {
    throw unresolved(use, `it needs ${source}, and the call that gives it has no result`);
  }
  if (!known.has(step)) known.set(step, plain(results.get(step)));
  const found = valueAt(known.get(step), steps);
  if (found === undefined) throw unresolved(use, `there is no ${source} in the result that it refers to`);
  return found.value;
}

function unresolved(use: ToolUse, why: string): ToolCallError {
  return new ToolCallError("unresolved", `The call of ${use.name} was not executed: ${why}.`, use);
}

/** As it comes back from JSON. */
function plain(result: unknown): unknown {
  const text = JSON.stringify(result) as string | undefined;
  return text === undefined ? null : parseJson(text);
}

function withValue(root: unknown, path: readonly Step[], value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const owner = root as Record<Step, unknown>;
  const inner = withValue(Object.hasOwn(owner, step) ? owner[step] : undefined, rest, value);
  if (Array.isArray(root)) root[step as number] = inner;
  else setOwn(owner, String(step), inner);
  return root;
}
