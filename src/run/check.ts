import { checkContext } from "../execute/context.ts";
import type { KnownTools } from "../execute/known-tools.ts";
import { getOwn, isRecord, kindOf } from "../schema/json.ts";
import { checkedChoice } from "../tool/choice.ts";
import { aRecord, aText, checkOptionNames, oneOf, type OptionNames } from "../tool/option-names.ts";
import { toolList } from "../tool/tool-set.ts";
import type { Model } from "../model.ts";
import type { ResumeOptions, RunContext, RunOptions, Step, StepChange } from "./types.ts";

/** Finds callers' mistakes before anything is asked or stored. All of these throw a TypeError. */

/** Checks what the model would be asked with, and what would be stored for good. */
export function checkRunOptions(options: RunOptions): void {
  checkOptionNames("run()", options, RUN_OPTIONS);
  const { input, messages, toolChoice, inputId, conversationId } = options;
  // Providers refuse an empty text, and every later request with it in the history. Next to messages it is left out.
  if (input?.trim() === "" && !(Array.isArray(messages) && messages.length > 0))
    throw new TypeError("input is empty: there is nothing to say.");
  if (inputId !== undefined && conversationId === undefined)
    throw new TypeError("inputId needs a conversationId: it is looked for in that conversation.");
  // Of a header that is missing, say: every input but the first one would be dropped.
  if (inputId === "") throw new TypeError("inputId is empty. Leave it out, or give each input an id of its own.");
  if (toolChoice !== undefined) checkedChoice(toolChoice);
  checkRunContext(options);
}

/**
 * Messages in another provider's format would make every further request of the conversation fail.
 *
 * @param name what they are, for the error
 */
export function checkMessages(messages: unknown, model: Model, name = "messages"): void {
  checkObjects(messages, model, name);
  // Some checks only apply once the conversation has continued.
  const next: unknown = messages.length > 0 ? model.userMessage("Go on.") : undefined;
  for (const [index, message] of messages.entries()) {
    try {
      model.pair([message, next]);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new TypeError(`${name}[${index}] is not in the form of ${model.adapter.name}: ${why}`, { cause });
    }
  }
}

export function checkObjects(messages: unknown, model: Model, name: string): asserts messages is readonly object[] {
  if (!Array.isArray(messages))
    throw new TypeError(`${name} is a list in the form of ${model.adapter.name}, got ${kindOf(messages)}.`);
  for (const [index, message] of messages.entries()) {
    if (typeof message === "object" && message !== null) continue;
    throw new TypeError(`${name}[${index}] is an object, got ${kindOf(message)}.`);
  }
}

/** Paired, for a request. Each by itself is looked at only to say which one cannot be: wires may have to parse it. */
export function paired(messages: readonly unknown[], model: Model, name: string): unknown[] {
  checkObjects(messages, model, name);
  try {
    return model.pair(messages);
  } catch (error) {
    checkMessages(messages, model, name);
    throw error;
  }
}

/** Checks what `prepareStep` returned for a step, in a run of this wire. */
export function checkChange(change: StepChange, step: Step, wire: string, known: KnownTools): void {
  if (!isRecord(change as unknown)) {
    throw new TypeError(`prepareStep returns an object, { tools, stop, … }, or nothing; got ${kindOf(change)}.`);
  }
  checkOptionNames("The result of prepareStep()", withoutGiven(change, step), CHANGE);
  const { model, tools, instructions, toolChoice } = change;
  if (model !== undefined && model?.adapter?.name !== wire) {
    const name = model?.adapter?.name;
    const got = name === undefined ? `${kindOf(model)} for a model` : `a model of ${name}`;
    throw new TypeError(`prepareStep returned ${got}; the run is in ${wire}.`);
  }
  if (instructions !== undefined && typeof instructions !== "string") {
    throw new TypeError(`The instructions of prepareStep are a text, got ${kindOf(instructions)}.`);
  }
  if (toolChoice !== undefined) checkedChoice(toolChoice);
  for (const { name } of tools === undefined ? [] : toolList(tools)) {
    // A server may have dropped it meanwhile: then a call of it fails, like those of tools that go during a turn.
    if (known.get(name) !== undefined || step.tools.some((tool) => tool.name === name)) continue;
    throw new TypeError(`prepareStep returned a tool ${name}, which new Orchestrator() was not given.`);
  }
}

/** What is different from the step: `{ ...step, toolChoice: "none" }` changes one thing. */
function withoutGiven(change: object, step: Step): object {
  return Object.fromEntries(Object.entries(change).filter(([name, value]) => value !== getOwn(step, name)));
}

export function checkResumeOptions(options: ResumeOptions): void {
  checkOptionNames("resume()", options, RESUME_OPTIONS);
  const { approvals } = options;
  if (approvals !== undefined && !Array.isArray(approvals)) {
    throw new TypeError(`approvals is a list of { id, decision }, got ${kindOf(approvals)}.`);
  }
  for (const [index, approval] of (approvals ?? []).entries()) {
    if (!isRecord(approval as unknown)) {
      throw new TypeError(`approvals[${index}] is an object, { id, decision }, got ${kindOf(approval)}.`);
    }
    if (typeof approval.id !== "string") {
      throw new TypeError(`approvals[${index}].id is that of a pending approval, got ${kindOf(approval.id)}.`);
    }
  }
  checkRunContext(options);
}

/** Finds what the executor would object to once the model has called something. */
function checkRunContext({ context, principal, signal }: RunContext): void {
  checkContext({ ...context, runId: "run", principal, signal });
}

const CHANGE: OptionNames<StepChange> = {
  model: true,
  messages: true,
  tools: true,
  instructions: true,
  toolChoice: true,
  stop: true,
};

const CONTEXT: OptionNames<RunContext> = { signal: true, principal: true, requestId: true, context: aRecord };

const RUN_OPTIONS: OptionNames<RunOptions> = {
  conversationId: true,
  inputId: aText,
  input: aText,
  messages: true,
  instructions: aText,
  behavior: aText,
  rewindTo: true,
  toolChoice: true,
  whenOpen: oneOf("refuse", "cancel"),
  whenBusy: oneOf("refuse", "wait"),
  ...CONTEXT,
};

const RESUME_OPTIONS: OptionNames<ResumeOptions> = {
  toolResults: true,
  approvals: true,
  whenBusy: oneOf("refuse", "wait"),
  ...CONTEXT,
};
