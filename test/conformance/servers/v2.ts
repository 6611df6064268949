import fc from "fast-check";
import { cohere } from "../../../adapters/cohere/index.ts";
import { cut, differ, flag, isEmpty, SAID, server, sse, together, written, type Json } from "./support.ts";

export const v2 = server({
  adapter: cohere,
  knobs: {
    index: fc.constantFrom("counts", "counts", "sparse", "always 0", "none"),
    id: fc.constantFrom("own", "own", "same", "none"),
    args: fc.constantFrom("pieces", "pieces", "whole", "object"),
    isEnded: flag,
    isInterleaved: flag,
    hasPlan: flag,
    isNamed: flag,
    finish: fc.constantFrom("TOOL_CALL", "COMPLETE"),
    hasDone: flag,
  },
  canTell({ index, id, isInterleaved }, calls) {
    if (index === "counts" || index === "sparse") return id !== "same";
    return !isInterleaved && (id === "own" || differ(calls));
  },
  send({ index, id, args, isEnded, isInterleaved, hasPlan, isNamed, finish, hasDone }, calls, dice) {
    const lists = calls.map((call, i) => {
      const text = isEmpty(call.input) && dice(2) === 0 ? "" : written(call, dice);
      const at = (type: string, toolCalls?: Json): Json => ({
        type: `tool-call-${type}`,
        index: { counts: i, sparse: 2 * i + 1, "always 0": 0, none: undefined }[index],
        ...(toolCalls && { delta: { message: { tool_calls: toolCalls } } }),
      });
      const first = { pieces: "", whole: text, object: call.input }[args];
      return [
        at("start", {
          id: { own: `${call.name}_${i}`, same: "id", none: undefined }[id],
          type: "function",
          function: { name: call.name, arguments: first },
        }),
        ...(args === "pieces" ? cut(text, dice).map((piece) => at("delta", { function: { arguments: piece } })) : []),
        ...(isEnded ? [at("end")] : []),
      ];
    });
    const plan = cut(SAID, dice).map((piece) => ({
      type: "tool-plan-delta",
      delta: { message: { tool_plan: piece } },
    }));
    const events = [
      { type: "message-start", id: "msg_1", delta: { message: { role: "assistant" } } },
      ...(hasPlan ? plan : []),
      ...together(lists, isInterleaved, dice),
      { type: "message-end", delta: { finish_reason: finish, usage: { tokens: { input_tokens: 1 } } } },
    ];
    return [...sse(events, isNamed), ...(hasDone ? ["data: [DONE]\n\n"] : [])];
  },
  cutShort: () => sse([{ type: "message-end", delta: { finish_reason: "MAX_TOKENS" } }], false),
});
