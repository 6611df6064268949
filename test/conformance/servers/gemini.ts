import * as fc from "../../fast-check.ts";
import { google } from "../../../adapters/google/index.ts";
import {
  cut,
  flag,
  isEmpty,
  mixed,
  place,
  placed,
  SAID,
  server,
  strewn,
  written,
  type Dice,
  type Json,
} from "./support.ts";
import { DONE } from "./transport.ts";

type Path = readonly (string | number)[];

function leaves(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  if (typeof value !== "object" || value === null) return [{ path, value }];
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [...keys].flatMap((key) => leaves((value as Json)[key as string], [...path, key]));
}

function hasHoles(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isEmpty(value) || Object.values(value).some(hasHoles);
}

function jsonPath(path: Path, dice: Dice): string {
  const step = (key: string | number) => {
    if (typeof key === "number") return `[${key}]`;
    return /^[A-Za-z_]\w*$/.test(key) && dice(2) === 0 ? `.${key}` : `[${JSON.stringify(key)}]`;
  };
  return `$${path.map(step).join("")}`;
}

const NOISE: readonly Json[] = [
  { candidates: [{ index: 0, content: { role: "model", parts: [] } }] },
  { candidates: [{ index: 0, content: { role: "model" } }], usageMetadata: { promptTokenCount: 1 } },
  { candidates: [{ index: 0, content: { parts: [{}, { text: "" }] }, finishReason: "FINISH_REASON_UNSPECIFIED" }] },
  { candidates: [{ index: 1, content: { parts: [{ text: "Another." }, { functionCall: { name: "write" } }] } }] },
  { candidates: [], promptFeedback: {} },
  { candidates: [{ content: null, safetyRatings: [] }] },
  { candidates: [{ index: 0, content: { parts: [{ text: "", functionCall: null }] } }] },
];

export const gemini = server({
  adapter: google,
  knobs: {
    args: fc.constantFrom("whole", "whole", "text", "pieces", "pieces"),
    id: fc.constantFrom("none", "own", "same", "empty"),
    ends: fc.constantFrom("apart", "with the last piece", "untold"),
    isNamedAgain: flag,
    isStringEnded: flag,
    signature: fc.constantFrom("nowhere", "first", "each", "late"),
    finish: fc.constantFrom("apart", "with the last part", "with empty text", "always", "early", "none"),
    text: place,
    thoughts: place,
    hasEmptyStart: flag,
    candidate: fc.constantFrom(0, 0, "0", null, undefined),
    hasNoise: flag,
  },
  canTell({ args, id, ends, isNamedAgain, finish }, calls) {
    // One id for equal calls is one call, told twice.
    if (id === "same" && new Set(calls.map((call) => JSON.stringify(call))).size < calls.length) return false;
    if (args !== "pieces") return true;
    // Nothing would say that the last call is over.
    if (ends === "untold" && (finish === "early" || finish === "none")) return false;
    // There is no piece for an empty object or list.
    if (calls.some(({ input }) => !isEmpty(input) && hasHoles(input))) return false;
    return (ends !== "untold" || id !== "same") && (!isNamedAgain || id === "own");
  },
  mayLie: ({ args, finish }) => args === "pieces" && (finish === "early" || finish === "always"),
  says: ({ text, thoughts }) => ({ text: text !== "nowhere", reasoning: thoughts !== "nowhere" }),
  send({ args, id, ends, isNamedAgain, isStringEnded, signature, finish, ...more }, calls, dice) {
    const calling: Json[] = [];
    calls.forEach((call, i) => {
      const { name, input } = call;
      const head = { name, id: { none: undefined, own: `id_${i}`, same: "id", empty: "" }[id] };
      const isSigned = signature === "each" || (signature === "first" && i === 0);
      const signed = isSigned ? { thoughtSignature: "c2ln" } : {};
      if (args !== "pieces" || isEmpty(input)) {
        const whole = args === "text" ? written(call, dice) : input;
        const none = [{}, { args: null }, { args: {} }][dice(3)];
        calling.push({ functionCall: { ...head, ...(isEmpty(input) ? none : { args: whole }) }, ...signed });
        return;
      }
      calling.push({ functionCall: { ...head, willContinue: true }, ...signed });
      const pieces = leaves(input).flatMap(({ path, value }): Json[] => {
        const at = { jsonPath: jsonPath(path, dice) };
        if (value === null) return [{ ...at, nullValue: "NULL_VALUE" }];
        if (typeof value === "number") return [{ ...at, numberValue: value }];
        if (typeof value === "boolean") return [{ ...at, boolValue: value }];
        const cuts = cut(value as string, dice);
        const goesOn = (n: number) => isStringEnded || n < cuts.length - 1;
        const said = cuts.map((piece, n) => ({ ...at, stringValue: piece, ...(goesOn(n) && { willContinue: true }) }));
        return isStringEnded || cuts.length === 0 ? [...said, { ...at, stringValue: "" }] : said;
      });
      while (pieces.length > 0) {
        const partialArgs = pieces.splice(0, 1 + dice(4));
        const isEnd = pieces.length === 0 && ends === "with the last piece";
        const again = isNamedAgain ? head : {};
        const late = signature === "late" ? { thoughtSignature: "c2ln" } : {};
        calling.push({ functionCall: { ...again, partialArgs, ...(!isEnd && { willContinue: true }) }, ...late });
      }
      if (ends === "apart") calling.push({ functionCall: {} });
    });
    const said = cut(SAID, dice).map((text): Json => ({ text }));
    const thought = cut(SAID, dice).map((text): Json => ({ text, thought: true }));
    const parts = placed(placed(calling, thought, more.thoughts, dice), said, more.text, dice);
    let events: Json[] = [];
    while (parts.length > 0) {
      const some = parts.splice(0, 1 + dice(3));
      const isLast = parts.length === 0 && finish === "with the last part";
      const isOver = isLast || finish === "always";
      const content = { role: "model", parts: some };
      events.push({ candidates: [{ index: more.candidate, content, ...(isOver && { finishReason: "STOP" }) }] });
    }
    const content = { role: "model", parts: [{ text: "" }] };
    const end = { candidates: [{ index: 0, finishReason: "STOP" }] };
    if (finish === "apart") events.push(end);
    // Before anything is said it is no end.
    if (finish === "early") events = [events[0]!, ...mixed(events.slice(1), [end], dice)];
    if (finish === "with empty text") events.push({ candidates: [{ index: 0, content, finishReason: "STOP" }] });
    if (more.hasEmptyStart) events.unshift(end, end);
    if (more.hasNoise) events = strewn(events, NOISE, dice);
    return finish === "none" ? [...events, DONE] : events;
  },
  cutShort: [{ candidates: [{ index: 0, finishReason: "MAX_TOKENS" }] }],
  failure: { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } },
});
