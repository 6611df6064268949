import fc from "fast-check";
import { openaiChat } from "../../../adapters/openai-chat/index.ts";
import { cut, differ, flag, isEmpty, SAID, server, sse, together, written, type Json } from "./support.ts";

export const chat = server({
  adapter: openaiChat,
  knobs: {
    index: fc.constantFrom("counts", "counts from one", "sparse", "once", "always 0", "none"),
    id: fc.constantFrom("once", "always", "then empty", "always 0", "none"),
    name: fc.constantFrom("once", "always", "late"),
    args: fc.constantFrom("pieces", "pieces", "whole", "object", "snapshots", "twice", "encoded", "placeholder"),
    isFolded: flag,
    isInterleaved: flag,
    finish: fc.constantFrom("tool_calls", "stop", "twice", "beside"),
    areLists: flag,
    hasText: flag,
    hasUsage: flag,
  },
  canTell(knobs, calls) {
    const hasIds = ["once", "always", "then empty"].includes(knobs.id);
    const hasIndexes = knobs.index.startsWith("counts") || knobs.index === "sparse";
    if (knobs.isInterleaved && !hasIndexes && knobs.id !== "always") return false;
    if (hasIds || (hasIndexes && knobs.id !== "always 0")) return true;
    // Whole calls without id and index: the same one twice is two.
    const areBare = knobs.id === "none" && knobs.index === "none" && knobs.isFolded;
    return differ(calls) && !(areBare && ["twice", "placeholder"].includes(knobs.args));
  },
  send({ index, id, name, args, isFolded, isInterleaved, finish, areLists, hasText, hasUsage }, calls, dice) {
    const entries = calls.map((call, i) => {
      const none = args === "encoded" || args === "placeholder" ? "{}" : ["", "{}", "null"][dice(3)]!;
      const text = isEmpty(call.input) && dice(2) === 0 ? none : written(call, dice);
      // Two snapshots could be two pieces.
      const cuts = cut(text, dice, args === "snapshots" ? Math.ceil(text.length / 4) : undefined);
      const pieces: unknown[] = {
        pieces: cuts,
        whole: [text],
        object: [call.input],
        snapshots: cuts.map((_, n) => cuts.slice(0, n + 1).join("")),
        twice: [...cuts, text],
        encoded: [...cuts, JSON.stringify(text)],
        placeholder: ["{}", ...cuts],
      }[args as "pieces"];
      const place = { counts: i, "counts from one": i + 1, sparse: 3 * i + 2, once: i, "always 0": 0, none: undefined }[
        index
      ];
      const entry = (isHead: boolean, isNamed: boolean, piece?: unknown): Json => ({
        ...(place !== undefined && (isHead || index !== "once") && { index: place }),
        ...(id === "always 0" && { id: "0" }),
        ...(id !== "none" && id !== "always 0" && (isHead || id === "always") && { id: `call_${i}` }),
        ...(id === "then empty" && !isHead && { id: "" }),
        ...(isHead && { type: "function" }),
        function: { ...(isNamed && { name: call.name }), ...(piece !== undefined && { arguments: piece }) },
      });
      const isWhole = isFolded || args === "whole" || args === "object";
      const head = isWhole
        ? [entry(true, true, pieces.shift() ?? "")]
        : [
            entry(true, name !== "late", ["", null, undefined][dice(3)]),
            ...(name === "late" ? [entry(false, true)] : []),
          ];
      return [...head, ...pieces.map((piece) => entry(false, name === "always", piece))];
    });
    const events: Json[] = [];
    const choice = (delta: Json, reason: string | null = null) =>
      events.push({ id: "chatcmpl-1", model: "m", choices: [{ index: 0, delta, finish_reason: reason }] });
    if (hasText) for (const piece of cut(SAID, dice)) choice({ content: piece });
    const all = together(entries, isInterleaved, dice);
    all.forEach((entry, i) => {
      const isLast = finish === "beside" && i === all.length - 1;
      choice({ tool_calls: areLists ? [entry] : entry }, isLast ? "tool_calls" : null);
    });
    if (finish !== "beside") choice({}, finish === "stop" ? "stop" : "tool_calls");
    if (finish === "twice") choice({ role: "assistant", content: "" }, "tool_calls");
    if (hasUsage) events.push({ id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } });
    return [...sse(events, false), "data: [DONE]\n\n"];
  },
  cutShort: () => sse([{ choices: [{ index: 0, delta: {}, finish_reason: "length" }] }], false),
});
