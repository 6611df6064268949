import { cut, ToolCallError, type FailedCall, type ToolErrorCode } from "../errors.ts";
import type { Arguments } from "./arguments.ts";
import { TRUNCATED } from "./arguments-outcome.ts";
import type { CallState } from "./call.ts";
import type { ToolChunk } from "./chunk.ts";
import type { Limits } from "./limits.ts";
import type { Tool } from "../tool/tool.ts";
import type { NamedTools } from "./router.ts";

/** What the outcome of a call is made of. */
export type EndedCall = Pick<CallState, "invocationId" | "id" | "name" | "turnIndex" | "position"> & {
  tool: Tool | undefined;
  metadata: Record<string, unknown> | undefined;
  readonly call: { readonly name: string | null };
  readonly args: Pick<Arguments, "text" | "custom" | "repairs" | "isTextMade" | "partial" | "finish">;
};

export function failedCall(state: EndedCall, input: unknown): FailedCall {
  return {
    invocationId: state.invocationId,
    id: state.id,
    name: state.call.name,
    argsText: state.args.text,
    input,
    turnIndex: state.turnIndex,
    position: state.position,
    metadata: (state.metadata ??= {}),
  };
}

export function failure(state: EndedCall, code: ToolErrorCode, message: string): ToolCallError {
  return new ToolCallError(code, message, failedCall(state, state.args.partial));
}

export function truncated(state: EndedCall, reason = TRUNCATED.message): ToolCallError {
  return failure(
    state,
    "truncated",
    `The call of ${state.call.name ?? "a tool"} was not executed: its arguments ${reason}. Send it again, whole, or in smaller parts.`,
  );
}

export function tooManyCalls({ maxCalls }: Limits): string {
  return `There are more than ${maxCalls} calls in one turn (limits.maxCalls).`;
}

export function badArguments(name: string, message: string): string {
  const said = `The arguments of ${name} ${sentence(message)}`;
  return / again\b/.test(message) ? said : `${said} Send the call again.`;
}

/** A call that the provider has given up, with its reason. */
export function givenUp(state: CallState, { error, errorType }: ToolChunk): ToolCallError {
  const name = state.call.name ?? "a tool";
  if (errorType === "truncated") return truncated(state, error ? `were cut: ${error}` : undefined);
  if (errorType === "unreadable") {
    const why = sentence(error ?? "its notation is not known");
    return failure(state, "invalid_call", `The call of ${name} cannot be read: ${why} Correct it and send it again.`);
  }
  const reason = error ?? errorType ?? "it gave no reason";
  const did = errorType === "withdrawn" ? "took back" : "refused";
  return failure(state, "rejected", `The provider ${did} the call of ${name}: ${reason}`);
}

/** Adds a full stop where there is none. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

export function unknownTool(given: string, tools: NamedTools): string {
  const name = cut(given, 128);
  const listed = new Set<Tool>();
  // Only the first name of each tool: the model knows no other.
  const names = [...tools].filter(([, tool]) => !listed.has(tool) && listed.add(tool)).map(([first]) => first);
  if (names.length === 0) return `There is no tool ${JSON.stringify(name)}: no tools were offered.`;
  const list = names.length > 20 ? `${names.slice(0, 20).join(", ")} and ${names.length - 20} more` : names.join(", ");
  return `There is no tool ${JSON.stringify(name)}. The tools are: ${list}.`;
}
