import { kindOf } from "../schema/json.ts";
import { approvalRule, type PolicyContext } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { DenyReason } from "./events.ts";
import { hush } from "./hush.ts";
import type { ActionInfo } from "./info.ts";
import { unlessItThrows } from "../quietly.ts";
import { snapshot } from "./snapshot.ts";

/** A policy's answer for one call. Made by {@link allow}, {@link deny} and {@link ask}. */
export type Verdict =
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "ask"; readonly message: string | undefined };

/** No objection. The tool's own rules still apply. */
export function allow(): Verdict {
  return { decision: "allow" };
}

/** It is not executed. @param reason for the model to read */
export function deny(reason: string): Verdict {
  return { decision: "deny", reason };
}

/** A person has to approve it. @param message what the person is asked; default: the tool's */
export function ask(message?: string): Verdict {
  return { decision: "ask", message };
}

/** What a policy is told about a call. */
export interface AuthorizedCall {
  readonly tool: Tool;
  /** As the handler would get it: the output type of the tool's schema. */
  readonly input: any;
  /** The action of this run that had the same provider's id, tool and input already: a replay, most likely. */
  readonly repeatOf: string | undefined;
  /** The actions of the run so far, in the order in which they started, for rules about its history. */
  actions(): Promise<ActionInfo[]>;
}

/** The application's policy. If it throws, or returns something unknown, the call is denied. */
export type Authorize = (call: AuthorizedCall, context: PolicyContext) => Verdict | Promise<Verdict>;

/** The gate's answer: a {@link Verdict} with all details. */
export type GateAnswer =
  | { readonly decision: "allow" }
  | {
      readonly decision: "deny";
      readonly reason: DenyReason;
      /** For the model. */
      readonly message: string;
      readonly allowed?: readonly string[];
      /** The person whose answer it is. */
      readonly decidedBy?: string;
      /** Why a rule gave no answer: for the application, and not stored. */
      readonly cause?: unknown;
    }
  /** Without a message the question is the default one. */
  | { readonly decision: "ask"; readonly message: string | undefined };

export type Denial = Extract<GateAnswer, { readonly decision: "deny" }>;

/** Whether the tool may be called in this mode. A tool that names no modes may be called in all. */
export function isOffered(tool: Tool, behavior: string | undefined): boolean {
  const { behaviors = [] } = tool;
  return behaviors.length === 0 || (behavior !== undefined && behaviors.includes(behavior));
}

/**
 * Checks the mode, then the policy, then the tool's own rule. The first denial counts; if any of them asks, it is
 * asked. Each gets a copy of the input, so that one cannot change what the next one judges.
 */
export async function judge(
  call: AuthorizedCall,
  context: PolicyContext,
  authorize: Authorize | undefined,
): Promise<GateAnswer> {
  const { tool, input } = call;
  if (!isOffered(tool, context.behavior)) {
    const allowed = tool.behaviors!;
    const now = context.behavior === undefined ? "" : `, not in ${JSON.stringify(context.behavior)}`;
    const message = `${tool.name} can only be called in ${allowed.join(", ")}${now}.`;
    return { decision: "deny", reason: "behavior_not_allowed", message, allowed };
  }
  let verdict: Verdict = allow();
  if (authorize !== undefined) {
    try {
      verdict = await authorize({ ...call, input: snapshot(input) }, context);
    } catch (error) {
      return failed("the policy failed", error);
    }
    if (!isVerdict(verdict)) {
      const mistake = `authorize returns allow(), deny(reason) or ask(message), got ${kindOf(verdict)}.`;
      return failed("the policy gave no answer", new TypeError(mistake));
    }
    if (verdict.decision === "deny") {
      const message = verdict.reason || `${tool.name} is not allowed here.`;
      return { decision: "deny", reason: "policy", message };
    }
  }
  let isNeeded: unknown;
  try {
    const rule = approvalRule(tool);
    isNeeded = typeof rule === "function" ? await rule(snapshot(input), context) : rule;
  } catch (error) {
    return failed("the rule whether it needs approval failed", error);
  }
  if (typeof isNeeded !== "boolean") {
    const mistake = `needsApproval of ${tool.name} returns true or false, got ${kindOf(isNeeded)}.`;
    return failed("the rule whether it needs approval gave no answer", new TypeError(mistake));
  }
  if (!isNeeded && verdict.decision !== "ask") return { decision: "allow" };
  const asked = verdict.decision === "ask" ? verdict.message : undefined;
  return { decision: "ask", message: asked ?? questionOf(tool, input) };
}

function failed(why: string, cause: unknown): Denial {
  return { decision: "deny", reason: "policy_failed", message: `${why}, so nothing was executed.`, cause };
}

function isVerdict(value: unknown): value is Verdict {
  const { decision } = (value ?? {}) as Partial<Verdict>;
  return decision === "allow" || decision === "deny" || decision === "ask";
}

/** What the person is asked. The input is shown next to it in any case. */
function questionOf({ approvalMessage }: Tool, input: unknown): string | undefined {
  const message: unknown =
    typeof approvalMessage === "function" ? unlessItThrows(() => approvalMessage(input)) : approvalMessage;
  if (typeof message === "string" && message !== "") return message;
  hush(message);
  return undefined; // the default question
}
