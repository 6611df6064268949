import fc from "fast-check";
import { anthropic } from "../../../adapters/anthropic/index.ts";
import { cut, flag, isEmpty, SAID, server, sse, together, written, type Json } from "./support.ts";

export const messages = server({
  adapter: anthropic,
  knobs: {
    index: fc.constantFrom("counts", "counts", "sparse", "always 0", "none"),
    id: fc.constantFrom("own", "own", "same", "none"),
    input: fc.constantFrom("empty", "empty", "whole", "null", "none", "twice"),
    begins: fc.constantFrom("once", "twice"),
    ends: fc.constantFrom("once", "once", "twice", "untold"),
    isInterleaved: flag,
    stop: fc.constantFrom("tool_use", "end_turn"),
    isStoppedTwice: flag,
    hasServerTool: flag,
    hasText: flag,
    isNamed: flag,
  },
  canTell({ index, id, begins, ends, isInterleaved, hasServerTool, hasText }) {
    if (begins === "twice" && id !== "own") return false;
    if (index === "counts" || index === "sparse") return true;
    return !isInterleaved && ends === "once" && !hasServerTool && !hasText;
  },
  send(
    { index, id, input, begins, ends, isInterleaved, stop, isStoppedTwice, hasServerTool, hasText, isNamed },
    calls,
    dice,
  ) {
    const at = (i: number, type: string, fields: Json = {}): Json => ({
      type: `content_block_${type}`,
      index: { counts: i, sparse: 2 * i + 3, "always 0": 0, none: undefined }[index],
      ...fields,
    });
    const begin = (i: number, block: Json) => at(i, "start", { content_block: block });
    const pieces = (i: number, text: string) =>
      cut(text, dice).map((piece) => at(i, "delta", { delta: { type: "input_json_delta", partial_json: piece } }));
    const first = Number(hasText);
    const lists = calls.map((call, n) => {
      const i = n + first;
      const start = begin(i, {
        type: "tool_use",
        id: { own: `toolu_${n}`, same: "toolu_0", none: undefined }[id],
        name: call.name,
        input: { empty: {}, whole: call.input, null: null, none: undefined, twice: call.input }[input],
      });
      const isSaid = input !== "whole" && !(isEmpty(call.input) && dice(2) === 0);
      return [
        ...{ once: [start], twice: [start, start] }[begins],
        ...(isSaid ? pieces(i, written(call, dice)) : []),
        ...{ once: [at(i, "stop")], twice: [at(i, "stop"), at(i, "stop")], untold: [] }[ends],
      ];
    });
    if (hasServerTool) {
      const i = first + calls.length;
      lists.push([
        begin(i, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
        ...pieces(i, '{"query":"x"}'),
        at(i, "stop"),
        begin(i + 1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
        at(i + 1, "stop"),
      ]);
    }
    const said = [
      begin(0, { type: "text", text: "" }),
      ...cut(SAID, dice).map((text) => at(0, "delta", { delta: { type: "text_delta", text } })),
      at(0, "stop"),
    ];
    const stopped = { type: "message_delta", delta: { stop_reason: stop }, usage: { output_tokens: 3 } };
    return sse(
      [
        { type: "message_start", message: { id: "msg_1", model: "m", content: [] } },
        ...(hasText ? said : []),
        ...together(lists, isInterleaved, dice),
        stopped,
        ...(isStoppedTwice ? [stopped] : []),
        { type: "message_stop" },
      ],
      isNamed,
    );
  },
  cutShort: () =>
    sse([{ type: "message_delta", delta: { stop_reason: "max_tokens" } }, { type: "message_stop" }], false),
});
