import * as fc from "../../fast-check.ts";
import { anthropic } from "../../../adapters/anthropic/index.ts";
import { cut, flag, isEmpty, mixed, place, SAID, server, strewn, together, written, type Json } from "./support.ts";

const NOISE: readonly Json[] = [
  { type: "ping" },
  { type: "vertex_event" },
  { type: "content_block_delta", index: 77, delta: { type: "input_json_delta", partial_json: "" } },
  { type: "content_block_stop", index: 78 },
  { type: "message_delta", delta: {}, usage: { output_tokens: 1 } },
  { type: "message_delta", delta: { stop_reason: null } },
];

export const messages = server({
  adapter: anthropic,
  knobs: {
    index: fc.constantFrom("counts", "counts", "sparse", "as text", "anew", "always 0", "none"),
    id: fc.constantFrom("own", "own", "same", "none"),
    input: fc.constantFrom("empty", "empty", "whole", "text", "null", "none", "twice"),
    starts: fc.constantFrom("once", "once", "twice", "untold", "bare"),
    begins: fc.constantFrom("once", "twice"),
    ends: fc.constantFrom("once", "once", "twice", "untold", "before its input"),
    hasEmptyPieces: flag,
    isInterleaved: flag,
    stop: fc.constantFrom("tool_use", "tool_calls", "end_turn", "none"),
    stops: fc.constantFrom("once", "twice", "early"),
    isStopped: flag,
    /** Whose the result of a server's tool is like. */
    serverTool: fc.constantFrom("none", "none", "Anthropic", "Z.ai", "Kimi"),
    text: place,
    hasThinking: flag,
    isSpeechEnded: flag,
    hasNoise: flag,
  },
  canTell({ index, id, begins, ends, isInterleaved, serverTool, text, stop, isStopped }, calls) {
    if (begins === "twice" && id !== "own") return false;
    // The same call under the same id is the one before, once more.
    const meant = new Set(calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`));
    if (id === "same" && meant.size < calls.length) return false;
    // Nothing would say that it is over.
    if (stop === "none" && !isStopped) return false;
    // A call without arguments may have been cut before them.
    if (ends === "untold" && !isStopped && calls.some(({ input }) => isEmpty(input))) return false;
    // Behind another call nothing would say that it has not ended.
    if (ends === "before its input" && isInterleaved) return false;
    if (index === "counts" || index === "sparse" || index === "as text") return true;
    return !isInterleaved && ends === "once" && serverTool === "none" && (index !== "none" || text === "nowhere");
  },
  mayLie: ({ ends, stops }) => ends === "before its input" && stops === "early",
  says: ({ text, hasThinking }) => ({ text: text !== "nowhere", reasoning: hasThinking }),
  send({ index, id, input, starts, begins, ends, isInterleaved, stop, stops, ...more }, calls, dice) {
    const at = (i: number, type: string, fields: Json = {}): Json => ({
      type: `content_block_${type}`,
      index: { counts: i, sparse: 2 * i + 3, "as text": String(i), anew: i, "always 0": 0, none: undefined }[index],
      ...fields,
    });
    const begin = (i: number, block: Json) => at(i, "start", { content_block: block });
    const delta = (i: number, type: string, fields: Json) =>
      at(i, "delta", { delta: { type: `${type}_delta`, ...fields } });
    const pieces = (i: number, text: string) => {
      const cuts = more.hasEmptyPieces ? ["", ...cut(text, dice).flatMap((piece) => [piece, ""])] : cut(text, dice);
      return cuts.map((piece) => delta(i, "input_json", { partial_json: piece }));
    };
    const hasText = more.text !== "nowhere";
    const first = index === "anew" ? 0 : Number(more.hasThinking) + Number(hasText && more.text !== "after");
    const lists = calls.map((call, n) => {
      const i = n + first;
      const start = begin(i, {
        type: "tool_use",
        id: { own: `toolu_${n}`, same: "toolu_0", none: undefined }[id],
        name: call.name,
        input: {
          empty: {},
          whole: call.input,
          text: written(call, dice),
          null: null,
          none: undefined,
          twice: call.input,
        }[input],
      });
      const isSaid = input !== "whole" && input !== "text" && !(isEmpty(call.input) && dice(2) === 0);
      const over = at(i, "stop");
      return [
        ...{ once: [start], twice: [start, start] }[begins],
        ...(ends === "before its input" ? [over] : []),
        ...(isSaid ? pieces(i, written(call, dice)) : []),
        ...{ once: [over], twice: [over, over], untold: [], "before its input": [] }[ends],
      ];
    });
    if (more.serverTool !== "none") {
      const i = 2 + calls.length;
      lists.push([
        begin(i, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
        ...pieces(i, '{"query":"x"}'),
        at(i, "stop"),
        begin(i + 1, {
          type: more.serverTool === "Z.ai" ? "tool_result" : "web_search_tool_result",
          tool_use_id: more.serverTool === "Kimi" ? "srvtoolu_2" : "srvtoolu_1",
          content: [],
        }),
        at(i + 1, "stop"),
      ]);
    }
    const calling = together(lists, isInterleaved, dice);
    const textAt = more.text === "after" ? 4 + calls.length : Number(more.hasThinking);
    const said = [
      begin(textAt, { type: "text", text: "" }),
      ...cut(SAID, dice).map((text) => delta(textAt, "text", { text })),
      ...(more.isSpeechEnded ? [at(textAt, "stop")] : []),
    ];
    const thought = [
      begin(0, { type: "thinking", thinking: "", signature: "" }),
      ...cut(SAID, dice).map((thinking) => delta(0, "thinking", { thinking })),
      delta(0, "signature", { signature: "c2ln" }),
      ...(more.isSpeechEnded ? [at(0, "stop")] : []),
    ];
    const isApart = ["anew", "always 0", "none"].includes(index);
    const isAmid = more.text === "amid" && !isApart;
    const spoken = isAmid
      ? mixed(calling, said, dice)
      : more.text === "after"
        ? [...calling, ...said]
        : [...said, ...calling];
    let events = [...(more.hasThinking ? thought : []), ...(hasText ? spoken : calling)];
    const stopped = { type: "message_delta", delta: { stop_reason: stop }, usage: { output_tokens: 3 } };
    if (stop !== "none") {
      if (stops === "early") events = mixed(events, [stopped], dice);
      else events.push(stopped, ...(stops === "twice" ? [stopped] : []));
    }
    if (more.hasNoise) events = strewn(events, NOISE, dice);
    const start = { type: "message_start", message: { id: "msg_1", model: "m", content: [], stop_reason: null } };
    const starting = { once: [start], twice: [start, start], untold: [], bare: [{ type: "message_start" }] }[starts];
    return [...starting, ...events, ...(more.isStopped ? [{ type: "message_stop" }] : [])];
  },
  cutShort: [{ type: "message_delta", delta: { stop_reason: "max_tokens" } }, { type: "message_stop" }],
  failure: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
});
