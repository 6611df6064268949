import fc from "fast-check";
import { openaiResponses } from "../../../adapters/openai-responses/index.ts";
import { cut, flag, isEmpty, SAID, server, sse, together, written, type Json } from "./support.ts";

export const responses = server({
  adapter: openaiResponses,
  knobs: {
    itemId: fc.constantFrom("same", "same", "rotates", "none"),
    index: fc.constantFrom("counts", "counts", "always 0", "none"),
    begins: fc.constantFrom("empty", "empty", "whole", "without arguments", "untold"),
    hasPieces: flag,
    isTold: flag,
    ends: fc.constantFrom("once", "once", "twice", "untold"),
    output: fc.constantFrom("whole", "whole", "empty", "none"),
    isInterleaved: flag,
    isNamed: flag,
    message: fc.constantFrom("none", "before", "after"),
    hasReasoning: flag,
  },
  canTell({ itemId, index, begins, hasPieces, isTold, ends, output, isInterleaved }, calls) {
    if (index !== "counts" && itemId !== "same" && isInterleaved) return false;
    if (index === "none" && itemId === "rotates") return false;
    // Who gives all of them one index, and tells no beginning.
    if (index === "always 0" && begins === "untold" && isInterleaved) return false;
    // A call without arguments has no piece.
    const areSaid = (begins === "whole" || hasPieces) && !calls.some(({ input }) => isEmpty(input));
    const isHeaded = begins !== "untold";
    const saysAll = isHeaded && (isTold || areSaid);
    const hasPlaces = index === "counts" || itemId === "same" || (isHeaded && itemId === "none");
    return output === "whole" || ends !== "untold" || (saysAll && hasPlaces);
  },
  send({ itemId, index, begins, hasPieces, isTold, ends, output, isInterleaved, isNamed, ...more }, calls, dice) {
    const before = Number(more.hasReasoning) + Number(more.message === "before");
    let rotated = 0;
    const idOf = (i: number) => ({ same: `fc_${i}`, rotates: `fc_r${rotated++}`, none: undefined })[itemId];
    const placeOf = (i: number) => ({ counts: i + before, "always 0": 0, none: undefined })[index];
    const itemOf = (i: number, text: string | undefined, status: string): Json => ({
      type: "function_call",
      id: idOf(i),
      call_id: `call_${i}`,
      name: calls[i]!.name,
      arguments: text,
      status,
    });
    const texts = calls.map((call) => (isEmpty(call.input) && dice(2) === 0 ? "" : written(call, dice)));
    const lists = texts.map((text, i) => {
      const at = (type: string, fields: Json): Json => ({
        type: `response.${type}`,
        output_index: placeOf(i),
        ...fields,
      });
      const first = { empty: "", whole: text, "without arguments": undefined, untold: undefined }[begins];
      const piece = (delta: string) => at("function_call_arguments.delta", { item_id: idOf(i), delta });
      const end = at("output_item.done", { item: itemOf(i, text, "completed") });
      return [
        ...(begins === "untold" ? [] : [at("output_item.added", { item: itemOf(i, first, "in_progress") })]),
        ...(hasPieces ? cut(text, dice).map(piece) : []),
        ...(isTold ? [at("function_call_arguments.done", { item_id: idOf(i), arguments: text })] : []),
        ...{ once: [end], twice: [end, end], untold: [] }[ends],
      ];
    });
    const items = texts.map((text, i) => itemOf(i, text, "completed"));
    const message = {
      type: "message",
      id: "msg_1",
      content: [{ type: "output_text", text: SAID }],
      status: "completed",
    };
    const saying = (place: number): Json[] => [
      { type: "response.output_item.added", output_index: place, item: { ...message, content: [] } },
      ...cut(SAID, dice).map((delta) => ({
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: place,
        content_index: 0,
        delta,
      })),
      { type: "response.output_item.done", output_index: place, item: message },
    ];
    const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
    const whole = [
      ...(more.hasReasoning ? [reasoning] : []),
      ...(more.message === "before" ? [message] : []),
      ...items,
      ...(more.message === "after" ? [message] : []),
    ];
    return sse(
      [
        { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
        ...(more.hasReasoning ? [{ type: "response.output_item.done", output_index: 0, item: reasoning }] : []),
        ...(more.message === "before" ? saying(before - 1) : []),
        ...together(lists, isInterleaved, dice),
        ...(more.message === "after" ? saying(before + calls.length) : []),
        {
          type: "response.completed",
          response: { id: "resp_1", status: "completed", output: { whole, empty: [], none: undefined }[output] },
        },
      ],
      isNamed,
    );
  },
  cutShort() {
    const response = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] };
    return sse([{ type: "response.incomplete", response }], false);
  },
});
