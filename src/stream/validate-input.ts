import { messageOf, type FailedCall } from "../errors.ts";
import { coerce, dropNulls, mayForceNulls, type Coercion, type Validation } from "../schema/index.ts";
import { rejected } from "../schema/types.ts";
import type { RepairPolicy, Tool } from "../tool/tool.ts";
import { invalidInput, ToolUse, type Repair } from "../tool/use.ts";

/** @property args what the schema has accepted, if that is not the value as it came */
export type InputValidation = Validation & { readonly args?: unknown };

/**
 * A call whose arguments a model wrote, but that came as a value, repaired as far as the tool's policy allows.
 *
 * @param earlier repairs made before
 * @throws ToolCallError `invalid_input`
 */
export function useOfValue(call: FailedCall, tool: Tool, earlier: readonly Repair[] = []): ToolUse {
  const { input } = call;
  const repairs = [...earlier];
  const checked = validateInput(tool, input, tool.repair, repairs);
  if (!checked.ok) throw invalidInput(call, checked.issues);
  const argsValue = repairs.length > 0 ? (checked.args ?? input) : undefined;
  return new ToolUse({ ...call, name: tool.name, tool, input: checked.value, argsValue, repairs });
}

/**
 * Whether the arguments that a model wrote fit a tool's schema; each repair is added to `repairs`. A custom check may
 * throw; that ends this call, not the stream.
 */
export function validateInput(tool: Tool, value: unknown, policy: RepairPolicy, repairs: Repair[]): InputValidation {
  try {
    return validate(tool, value, policy, repairs);
  } catch (error) {
    return rejected(`the check itself failed: ${messageOf(error)}`);
  }
}

/**
 * The schema first judges the value as it is. Only if it rejects it, or the value holds a null (which the schema may
 * convert to 0, or accept through a looser alternative), nulls that strict modes force are removed. Only if it still
 * rejects, and the policy allows it, values are coerced to the types that the schema asks for.
 */
function validate(tool: Tool, value: unknown, policy: RepairPolicy, repairs: Repair[]): InputValidation {
  const { inputSchema } = tool;
  const first = inputSchema.validate(value);
  if (first.ok && (!mayForceNulls(inputSchema.jsonSchema) || !holdsNull(value))) return first;
  const dropped = dropNulls(value, inputSchema.jsonSchema);
  const second = dropped.repairs.length > 0 ? inputSchema.validate(dropped.value) : first;
  if (first.ok && !second.ok) return first;
  const mayCoerce = !second.ok && policy === "coerce";
  const coerced = mayCoerce ? coerce(dropped.value, inputSchema.jsonSchema) : { value: dropped.value, repairs: [] };
  const third = coerced.value === dropped.value ? second : inputSchema.validate(coerced.value);
  // Nothing about the removed nulls: told that they are wrong, a model would invent values for what it left out.
  if (!third.ok) return second;
  note(repairs, "null_dropped", dropped.repairs);
  note(repairs, "coerce", coerced.repairs);
  return { ...third, args: coerced.value };
}

function holdsNull(value: unknown): boolean {
  if (typeof value !== "object") return false;
  if (value === null) return true;
  if (Array.isArray(value)) return value.some(holdsNull);
  for (const key in value) if (holdsNull((value as Record<string, unknown>)[key])) return true;
  return false;
}

function note(repairs: Repair[], kind: Repair["kind"], changes: readonly Coercion[]): void {
  for (const { path, before, after } of changes) repairs.push({ kind, path, before, after });
}
