import type { ToolCallError } from "../errors.ts";
import { coerce, dropNulls, withUnionIssues, type Coercion, type Validation } from "../schema/index.ts";
import { makeTool, type RepairPolicy, type Tool } from "../tool/tool.ts";
import { invalidInput, ToolUse, type Repair } from "../tool/use.ts";
import { badArguments, failedCall, failure, truncated, unknownTool } from "./call-failures.ts";
import type { CallState } from "./call.ts";
import type { NamedTools } from "./router.ts";

/**
 * What a call that has ended comes to. Name, then arguments, then schema: the first that is wrong is said.
 *
 * @param tools those that there are; without them every name is taken for a tool
 * @param repair in place of the tool's own policy
 */
export function decide(
  state: CallState,
  tools: NamedTools | undefined,
  repair: RepairPolicy | undefined,
): ToolUse | ToolCallError {
  const { args, name } = state;
  if (name === null) return failure(state, "unknown_tool", "A call came without the name of a tool.");
  const tool = (state.tool ??= tools === undefined ? anyTool(name) : undefined);
  const policy = repair ?? tool?.repair ?? "off";
  const read = args.finish(policy);
  // A call that was cut is that first, whatever its name: the name may be cut too.
  if (!read.ok && read.code === "truncated") return truncated(state);
  if (tool === undefined) return failure(state, "unknown_tool", unknownTool(name, tools!));
  if (!read.ok) return failure(state, read.code, badArguments(tool.name, read.message));
  const { value } = read;
  if (!args.custom && (typeof value !== "object" || value === null || Array.isArray(value))) {
    return invalidInput(failedCall(state, value), [
      { path: [], message: `the arguments are a JSON object, got ${kindOf(value)}` },
    ]);
  }
  const checked = isDependent(state)
    ? ({ ok: true, value } as const)
    : safely(() => validate(tool, value, policy, args.repairs));
  if (!checked.ok) {
    return invalidInput(failedCall(state, value), withUnionIssues(checked.issues, value, tool.inputSchema));
  }
  return new ToolUse({
    invocationId: state.invocationId,
    id: state.id,
    name: tool.name,
    tool,
    input: checked.value,
    argsText: args.isTextMade ? args.text : args,
    repairs: args.repairs,
    turnIndex: state.turnIndex,
    position: state.position,
    metadata: (state.metadata ??= {}),
  });
}

/**
 * The schema decides on the value as it is. Only if it refuses, or converts what holds a null (to a number that is 0):
 * nulls that strict modes force are taken out. Only if it refuses, and the policy allows it: values are given the types
 * that the schema asks for.
 */
function validate(tool: Tool, value: unknown, policy: RepairPolicy, repairs: Repair[]): Validation {
  const { inputSchema } = tool;
  const first = inputSchema.validate(value);
  if (first.ok && (first.value === value || !holdsNull(value))) return first;
  const dropped = dropNulls(value, inputSchema.jsonSchema);
  if (dropped.repairs.length > 0) {
    const second = inputSchema.validate(dropped.value);
    if (second.ok) return note(second, repairs, "null_dropped", dropped.repairs);
  }
  if (first.ok || policy !== "coerce") return first;
  const coerced = coerce(dropped.value, inputSchema.jsonSchema);
  if (coerced.repairs.length === 0) return first;
  const third = inputSchema.validate(coerced.value);
  if (!third.ok) return first;
  note(third, repairs, "null_dropped", dropped.repairs);
  return note(third, repairs, "coerce", coerced.repairs);
}

function holdsNull(value: unknown): boolean {
  const open = [value];
  while (open.length > 0) {
    const item = open.pop();
    if (item === null) return true;
    if (typeof item === "object") for (const inner of Object.values(item as object)) open.push(inner);
  }
  return false;
}

/** A check of the caller's own may throw; that is the end of this call, not of the stream. */
function safely(check: () => Validation): Validation {
  try {
    return check();
  } catch (error) {
    const message = `the check itself failed: ${error instanceof Error ? error.message : String(error)}`;
    return { ok: false, issues: [{ message, path: [] }] };
  }
}

function note(checked: Validation, repairs: Repair[], kind: Repair["kind"], changes: readonly Coercion[]): Validation {
  for (const { path, before, after } of changes) repairs.push({ kind, path, before, after });
  return checked;
}

/** It refers to the result of another call, and is validated when that has been filled in: until then it does not run. */
function isDependent({ metadata }: CallState): boolean {
  return metadata?.["dependent"] === true;
}

/** A tool for a name that nobody defined: external, takes any input. */
function anyTool(name: string): Tool {
  const accept = { jsonSchema: {}, validate: (value: unknown) => ({ ok: true, value }) as const };
  const tool = makeTool({ name: "any", inputSchema: accept }, name);
  return Object.freeze({ ...tool, name });
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
