import type { FailedCall, ToolCallError } from "../errors.ts";
import { isRecord, kindOf } from "../schema/json.ts";
import { makeTool, type RepairPolicy, type Tool } from "../tool/tool.ts";
import { invalidInput, ToolUse, type Repair } from "../tool/use.ts";
import { noArguments, outcomeOfText, parse } from "./arguments-outcome.ts";
import { badArguments, failedCall, failure, truncated, unknownTool, type EndedCall } from "./call-failures.ts";
import { MOST_DEPTH } from "./limits.ts";
import type { NamedTools } from "./router.ts";
import { validateInput, type InputValidation } from "./validate-input.ts";

/**
 * The outcome of an ended call. Name, then arguments, then schema: the first that is wrong is reported.
 *
 * @param tools the known tools; without them, every name is accepted as a tool
 * @param repair overrides the tool's own policy
 */
export function decide(
  state: EndedCall,
  tools: NamedTools | undefined,
  repair: RepairPolicy | undefined,
): ToolUse | ToolCallError {
  const { args, name } = state;
  if (name === null) return failure(state, "unknown_tool", "A call came without the name of a tool.");
  const tool = (state.tool ??= tools === undefined ? anyTool(name) : undefined);
  const policy = repair ?? tool?.repair ?? "off";
  const read = args.finish(policy);
  // That a call was cut is reported first, whatever its name: the name may be cut too.
  if (!read.ok && read.code === "truncated") return truncated(state, read.message);
  if (tool === undefined) return failure(state, "unknown_tool", unknownTool(name, tools!));
  if (!read.ok) return failure(state, read.code, badArguments(tool.name, read.message));
  const { value } = read;
  if (!args.custom && !isRecord(value)) {
    return invalidInput(failedCall(state, value), [
      { path: [], message: `the arguments are a JSON object, got ${kindOf(value)}` },
    ]);
  }
  const checked: InputValidation = isDependent(state)
    ? { ok: true, value }
    : validateInput(tool, value, policy, args.repairs);
  if (!checked.ok) return invalidInput(failedCall(state, value), checked.issues);
  return new ToolUse({
    invocationId: state.invocationId,
    id: state.id,
    name: tool.name,
    tool,
    input: checked.value,
    argsText: args.isTextMade ? args.text : args,
    argsValue: args.custom || args.repairs.length > 0 ? (checked.args ?? value) : undefined,
    repairs: args.repairs,
    turnIndex: state.turnIndex,
    position: state.position,
    metadata: (state.metadata ??= {}),
  });
}

/**
 * {@link decide} for a call of this tool whose arguments are all there, such as one that is on record.
 *
 * @param repair overrides the tool's own policy
 */
export function decideWhole(call: FailedCall, tool: Tool, repair: RepairPolicy | undefined): ToolUse | ToolCallError {
  const { argsText: text } = call;
  const metadata = { ...call.metadata };
  const custom = metadata["custom"] === true;
  const repairs: Repair[] = [];
  const finish = (policy: RepairPolicy) => {
    if (custom) return { ok: true, value: text } as const;
    if (text.trim() === "") return noArguments(text, repairs);
    return outcomeOfText(text, parse(text, DEPTH), policy, DEPTH, repairs);
  };
  const args = { text, custom, repairs, isTextMade: true, partial: undefined, finish };
  return decide({ ...call, name: tool.name, metadata, tool, call: tool, args }, undefined, repair);
}

const DEPTH = { maxDepth: MOST_DEPTH };

/** It refers to the result of another call, and is validated once that is filled in: until then it does not run. */
function isDependent({ metadata }: EndedCall): boolean {
  return metadata?.["dependent"] === true;
}

/** A tool for a name that was not defined: external, takes any input. */
function anyTool(name: string): Tool {
  const accept = { jsonSchema: {}, validate: (value: unknown) => ({ ok: true, value }) as const };
  const tool = makeTool({ name: "any", inputSchema: accept }, name);
  return Object.freeze({ ...tool, name });
}
