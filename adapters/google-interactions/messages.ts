// See index.ts.
/** @ts-ignore */
import type { Interactions } from "@google/genai";
import type { FailedCall } from "../../src/errors.ts";
import { wellFormed, wellFormedTurn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import type { ToolCall } from "../../src/stream/call.ts";
import type { Turn } from "../../src/stream/events.ts";
import { answers, historyInput, outputText, recordOf, wireId } from "../../src/stream/history.ts";
import { textOf } from "../../src/wire/field.ts";
import { toolName } from "./schema.ts";
import { isHosted, isResult } from "./steps.ts";
import type { InteractionsNative, WireContent, WireStep } from "./wire.ts";

type Step = Interactions.Step;

/**
 * The turn as the steps that go back: as they came, every signature on its step. For a turn that failed: its text as
 * far as it came, what else was complete, and every call, since every call gets a result. Not needed where the server
 * keeps the history (`previous_interaction_id`).
 */
export const assistantMessage = (turn: Turn): Step[] => {
  const native = recordOf<InteractionsNative>(turn, "steps", { steps: [] });
  // Calls with another turn index do not come from the wire: they were found in its text, or in another call.
  const calls = new Map(turn.calls.map((call) => [call.turnIndex === 0 ? call.callIndex : call, call]));
  const ended = native.steps.filter(({ done, executed }) => done || executed).map(({ step }) => step);
  const [asked, answered] = [idsOf(ended, "id"), idsOf(ended, "call_id")];
  const recorded = native.steps.flatMap(({ step, callIndex, done, executed }): WireStep[] => {
    if (callIndex === undefined) return goesBack(step, done, asked, answered) ? [step] : [];
    const call = calls.get(callIndex);
    calls.delete(callIndex);
    if (executed) return [{ ...step, arguments: ranWith(turn, step) }];
    // One call too many for the limits: it has no result, and the API rejects a call without one.
    return call === undefined ? [] : [callStep(call, step)];
  });
  const steps = calls.size === 0 ? recorded : onlySaid(recorded, turn.text);
  // A hand-made turn has no record.
  if (native.steps.length === 0 && turn.text !== "") steps.push(textStep(turn.text));
  for (const call of calls.values()) steps.push(callStep(call, {}));
  return wellFormedTurn(steps as unknown as Step[]);
};

function idsOf(steps: readonly WireStep[], field: "id" | "call_id"): ReadonlySet<unknown> {
  return new Set(steps.map((step) => step[field]).filter(Boolean));
}

/** Whether the API takes a step back that is no call of the client's: no beginning, and no call or result alone. */
function goesBack(step: WireStep, done: boolean, asked: ReadonlySet<unknown>, answered: ReadonlySet<unknown>): boolean {
  if (step.type === "model_output") return (step.content ?? []).length > 0;
  // With summaries on, some are not signed, and refused: https://github.com/googleapis/js-genai/issues/1735
  if (step.type === "thought") return done && textOf(step.signature) !== undefined;
  if (isHosted(step)) return done && answered.has(step.id);
  return done && (!isResult(step) || asked.has(step.call_id));
}

/** The arguments of a call that the server has run: it is no call of the turn. */
function ranWith(turn: Turn, { id }: WireStep): unknown {
  const ran = turn.providerToolCalls.find((call) => call.id === id);
  return isRecord(ran?.input) ? ran.input : {};
}

function callStep(call: ToolCall, step: WireStep): WireStep {
  const signature = textOf(step.signature) ?? textOf(call.metadata["signature"]);
  return {
    ...step,
    type: "function_call",
    id: wireId(call),
    name: toolName(call.name ?? "unnamed"),
    arguments: historyInput(call),
    ...(signature !== undefined && { signature }),
  };
}

export function textStep(text: string): Step & WireStep {
  return { type: "model_output", content: [{ type: "text", text }] };
}

/** The text in which calls were found, without them: what is left stands where it began. */
function onlySaid(steps: readonly WireStep[], said: string): WireStep[] {
  let left = said.trim() === "" ? undefined : said;
  return steps.flatMap((step) => {
    if (step.type !== "model_output") return [step];
    const content = (step.content ?? []).flatMap((one): WireContent[] => {
      if (one.type !== "text") return [one];
      const text = left;
      left = undefined;
      return text === undefined ? [] : [{ type: "text", text }];
    });
    return content.length === 0 ? [] : [{ ...step, content }];
  });
}

/** A failure has the wire's own flag. */
export const { toolResult, toolError, toolResults } = answers<Interactions.FunctionResultStep>({
  result: (use, output) => reply(use, resultOf(output, use.note)),
  error: (call, message) => ({ ...reply(call, outputText(message)), is_error: true }),
});

/** The content of a tool result: text, images, audio, documents, videos. */
export type ResultParts = Interactions.Content[];

const RESULT_CONTENT: unique symbol = Symbol.for("toolstream.google-interactions.resultContent");

/**
 * Marks a handler's output as content, for results that are more than text. Without the mark an array is data and is
 * sent as JSON, whatever it looks like.
 *
 * @example
 * execute: async () => resultContent([{ type: "image", mime_type: "image/png", data }]),
 */
export function resultContent(parts: ResultParts): { readonly content: ResultParts } {
  return Object.freeze({ [RESULT_CONTENT]: true, content: parts });
}

function resultOf(output: unknown, note: string | undefined): string | ResultParts {
  if (!isRecord(output) || !(RESULT_CONTENT in output)) return outputText(output);
  const parts = output["content"] as ResultParts;
  return wellFormed(note === undefined ? parts : [...parts, { type: "text", text: note }]);
}

function reply(call: FailedCall, result: string | ResultParts): Interactions.FunctionResultStep {
  return { type: "function_result", call_id: wireId(call), name: toolName(call.name ?? "unnamed"), result };
}
