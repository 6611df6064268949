import * as fc from "../../fast-check.ts";
import { cohere } from "../../../adapters/cohere/index.ts";
import {
  cut,
  differ,
  flag,
  isEmptyBeforeItsName,
  isEmpty,
  place,
  placed,
  SAID,
  server,
  strewn,
  together,
  written,
  type Json,
} from "./support.ts";

const NOISE: readonly Json[] = [
  { type: "debug", prompt: "..." },
  { type: "content-end", index: 0 },
  { type: "citation-start", index: 0, delta: { message: { citations: { start: 0, end: 3, text: "Let" } } } },
  { type: "citation-end", index: 0 },
  { type: "tool-plan-delta", delta: { message: { tool_plan: "" } } },
  { type: "content-delta", index: 0, delta: { message: { content: { text: "" } } } },
];

export const v2 = server({
  adapter: cohere,
  knobs: {
    index: fc.constantFrom("counts", "counts", "sparse", "always 0", "none", "null"),
    id: fc.constantFrom("own", "own", "always", "same", "none"),
    name: fc.constantFrom("once", "always", "late"),
    args: fc.constantFrom("pieces", "pieces", "whole", "object", "twice"),
    first: fc.constantFrom("", null, undefined),
    ends: fc.constantFrom("once", "twice", "untold"),
    isInterleaved: flag,
    areLists: flag,
    plan: place,
    text: place,
    hasStart: flag,
    finish: fc.constantFrom("TOOL_CALL", "COMPLETE", undefined),
    hasNoise: flag,
  },
  canTell({ index, id, name, args, ends, isInterleaved }, calls) {
    // Arguments that are whole have a name.
    if (name === "late" && (args === "whole" || args === "object")) return false;
    // The head of a call without arguments and end could be that of the next one, said twice.
    if (index === "always 0" && ends === "untold" && isEmptyBeforeItsName(calls)) return false;
    if (index === "counts" || index === "sparse") return id !== "same";
    return !isInterleaved && (id === "own" || id === "always" || differ(calls));
  },
  mayLie: () => false,
  says: ({ plan, text }) => ({ text: text !== "nowhere", reasoning: plan !== "nowhere" }),
  send({ index, id, name, args, first, ends, isInterleaved, areLists, ...more }, calls, dice) {
    const lists = calls.map((call, i) => {
      const text = isEmpty(call.input) && dice(2) === 0 ? "" : written(call, dice);
      const at = (type: string, toolCall?: Json): Json => ({
        type: `tool-call-${type}`,
        index: { counts: i, sparse: 2 * i + 1, "always 0": 0, none: undefined, null: null }[index],
        ...(toolCall && { delta: { message: { tool_calls: areLists ? [toolCall] : toolCall } } }),
      });
      const own = `${call.name}_${i}`;
      const again = { ...(id === "always" && { id: own }) };
      const piece = (part: string) =>
        at("delta", { ...again, function: { ...(name === "always" && { name: call.name }), arguments: part } });
      return [
        at("start", {
          id: { own, always: own, same: "id", none: undefined }[id],
          type: "function",
          function: {
            ...(name !== "late" && { name: call.name }),
            arguments: { pieces: first, twice: first, whole: text, object: call.input }[args],
          },
        }),
        ...(name === "late" ? [at("delta", { function: { name: call.name } })] : []),
        ...(args === "pieces" || args === "twice" ? cut(text, dice).map(piece) : []),
        ...(args === "twice" ? [piece(text)] : []),
        ...{ once: [at("end")], twice: [at("end"), at("end")], untold: [] }[ends],
      ];
    });
    const plan = cut(SAID, dice).map((piece) => ({
      type: "tool-plan-delta",
      delta: { message: { tool_plan: piece } },
    }));
    const said = [
      { type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } },
      ...cut(SAID, dice).map((text) => ({
        type: "content-delta",
        index: 0,
        delta: { message: { content: { text } } },
      })),
      { type: "content-end", index: 0 },
    ];
    const calling: Json[] = together(lists, isInterleaved, dice);
    const events = placed(placed(calling, plan, more.plan, dice), said, more.text, dice);
    return [
      ...(more.hasStart ? [{ type: "message-start", id: "msg_1", delta: { message: { role: "assistant" } } }] : []),
      ...(more.hasNoise ? strewn(events, NOISE, dice) : events),
      { type: "message-end", delta: { finish_reason: more.finish, usage: { tokens: { input_tokens: 1 } } } },
    ];
  },
  cutShort: [{ type: "message-end", delta: { finish_reason: "MAX_TOKENS" } }],
  failure: { type: "message-end", delta: { finish_reason: "ERROR", error: "overloaded" } },
});
