import { ToolError } from "../errors.ts";
import { isTimerMs } from "../time.ts";
import type { Effect } from "./tool.ts";

/** What a rule is told about a call: who, where, which. It also has whatever the application put into the context. */
export interface PolicyContext {
  readonly runId: string;
  /** Of a run's calls. */
  readonly conversationId?: string | undefined;
  readonly invocationId: string;
  /** The provider's id of the call, `null` if it gave none. Not an identity: providers repeat ids. */
  readonly toolCallId: string | null;
  readonly toolName: string;
  /** The mode in which the model currently works (`"doc_edit"`), if there are modes. */
  readonly behavior: string | undefined;
  /** On whose behalf the call is made. */
  readonly principal: { readonly id: string; readonly [attribute: string]: unknown } | undefined;
  readonly [key: string]: unknown;
}

/** What an undo function is told about the action that it undoes. */
export interface UndoRecord<Input = any, Output = any, Data = any> {
  readonly actionId: string;
  readonly runId: string;
  readonly invocationId: string;
  readonly toolName: string;
  /** As the handler got it, in its JSON form. */
  readonly input: Input;
  /** As the handler returned it, in its JSON form. */
  readonly output: Output;
  /** What the handler gave `context.undoData()`; `undefined` when it gave nothing. */
  readonly data: Data;
  /** When the action ended, in milliseconds since 1970. */
  readonly completedAt: number;
}

/** What an undo function gets to work with. */
export interface UndoContext {
  /** Stable over retries of the same undo; not the same as that of the action. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal | undefined;
  readonly principal: PolicyContext["principal"];
  /** Throw its result when the target has changed since: the undo then fails with code `undo_conflict`. */
  conflict(message: string): ToolError;
}

/**
 * The rules under which an executor runs a tool. All optional; without an executor they have no effect, except that
 * `use.execute()` refuses a tool that needs approval. They hold for the tool wherever it is used, so they live next to
 * its handler and not in the loop.
 */
export interface ToolPolicy<Input = any> {
  /** The modes in which the tool may be called. Default, and for an empty list: all. */
  readonly behaviors?: readonly string[] | undefined;
  /** Whether a person has to approve the call. A function that throws denies the call. */
  readonly needsApproval?: boolean | ((input: Input, context: PolicyContext) => boolean | Promise<boolean>) | undefined;
  /** What the person is asked. Default: the tool's name and input. It is stored and put into an event: no secrets. */
  readonly approvalMessage?: string | ((input: Input) => string) | undefined;
  /** How long a call may take, including all its attempts, in milliseconds. Default: the executor's. */
  readonly timeoutMs?: number | undefined;
  /** Runs alone: no other call of the same `executeAll()` (a turn) runs at the same time. */
  readonly sequential?: boolean | undefined;
  /** How often a failed call is tried again. Only for `effect: "read"` and `"idempotent"`. Default 0. */
  readonly retries?: number | undefined;
  /** Undoes what the handler did. Makes the tool undoable. */
  readonly undo?: ((record: UndoRecord<Input>, context: UndoContext) => unknown) | undefined;
  /** How long a call can be undone, in milliseconds. Default: 1 hour. */
  readonly undoTtlMs?: number | undefined;
  /** The tool's effect cannot be undone: every call needs approval, unless `needsApproval` says otherwise. */
  readonly irreversible?: boolean | undefined;
  /** Tools that must have succeeded earlier in this run. */
  readonly requires?: string | readonly string[] | undefined;
  /** How many calls of the tool may run in one run. */
  readonly maxCallsPerRun?: number | undefined;
}

/** A tool's approval rule, with the default that `irreversible` implies. */
export function approvalRule({
  irreversible = false,
  needsApproval = irreversible,
}: ToolPolicy): NonNullable<ToolPolicy["needsApproval"]> {
  return needsApproval;
}

/**
 * Only the policy rules of a definition whose fields have been checked.
 *
 * @throws ToolError `invalid_tool` for rules that contradict each other
 */
export function policyOf(definition: ToolPolicy & { readonly name: string }, effect: Effect): ToolPolicy {
  const policy: Record<string, unknown> = {};
  for (const field of Object.keys(RULES)) {
    const value = definition[field as keyof ToolPolicy];
    if (value !== undefined) policy[field] = Array.isArray(value) ? Object.freeze([...(value as unknown[])]) : value;
  }
  const { retries = 0, undo, irreversible } = policy as ToolPolicy;
  if (retries > 0 && effect === "write") {
    throw invalidTool(
      definition.name,
      `retries are for effect "read" and "idempotent": a "write" may have happened though it failed.`,
    );
  }
  if (irreversible === true && undo !== undefined) {
    throw invalidTool(definition.name, `it is irreversible and has an undo function: one of them is wrong.`);
  }
  return policy;
}

export type Check = readonly [fits: (value: unknown) => boolean, expected: string];

/** @throws ToolError `invalid_tool` for a field that is present but invalid */
export function checkFields(checks: Readonly<Record<string, Check>>, definition: object, name: string): void {
  for (const [field, [fits, expected]] of Object.entries(checks)) {
    const value = (definition as Record<string, unknown>)[field];
    if (value !== undefined && !fits(value)) throw invalidTool(name, `${field} is ${expected}, got ${shown(value)}.`);
  }
}

export const BOOLEAN: Check = [(value) => typeof value === "boolean", "a boolean"];
export const FUNCTION: Check = [isFunction, "a function"];
const COUNT: Check = [(value) => Number.isSafeInteger(value) && (value as number) >= 0, "a whole number from 0"];
const TEXT: Check = [isText, "a text"];
const NAMES: Check = [(value) => Array.isArray(value) && value.every(isText), "a list of names"];
/** It results in a date, and dates have a maximum. */
const isTtl = (value: unknown): boolean => typeof value === "number" && value > 0 && value <= 31_536_000_000_000;

export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function either([fits, expected]: Check, [fitsToo, instead]: Check): Check {
  return [(value) => fits(value) || fitsToo(value), `${expected} or ${instead}`];
}

export const RULES: Readonly<Record<keyof ToolPolicy, Check>> = {
  behaviors: NAMES,
  needsApproval: either(BOOLEAN, FUNCTION),
  approvalMessage: either(TEXT, FUNCTION),
  timeoutMs: [isTimerMs, "a positive number of milliseconds, at most 2147483647"],
  sequential: BOOLEAN,
  retries: COUNT,
  undo: FUNCTION,
  undoTtlMs: [isTtl, "a positive number of milliseconds, at most 31536000000000 (a thousand years)"],
  irreversible: BOOLEAN,
  requires: either([isText, "the name of a tool"], NAMES),
  maxCallsPerRun: COUNT,
};

/** The error for a definition that cannot be used. */
export function invalidTool(name: string, what: string): ToolError {
  return new ToolError("invalid_tool", `Tool ${name}: ${what}`);
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  // Infinity and NaN would become `null`, and a bigint has no JSON.
  return typeof value === "number" || typeof value === "bigint"
    ? String(value)
    : (JSON.stringify(value) ?? typeof value);
}
