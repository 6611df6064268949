import * as fc from "../../fast-check.ts";
import { openaiResponses } from "../../../adapters/openai-responses/index.ts";
import {
  cut,
  flag,
  isEmpty,
  mixed,
  SAID,
  server,
  strewn,
  together,
  written,
  type Call,
  type Dice,
  type Json,
} from "./support.ts";

const NOISE: readonly Json[] = [
  { type: "response.in_progress", response: { id: "resp_1", status: "in_progress", output: [] } },
  { type: "keepalive" },
  { type: "response.rate_limits.updated", rate_limits: [] },
  { type: "response.content_part.added", output_index: 9, item_id: "msg_9", part: { type: "output_text", text: "" } },
  { type: "response.output_text.annotation.added", output_index: 9, item_id: "msg_9", annotation: {} },
  { type: "response.metadata" },
];

const MESSAGE = { type: "message", id: "msg_1", content: [{ type: "output_text", text: SAID }], status: "completed" };
const REASONING = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: SAID }] };
const SEARCH = { type: "web_search_call", id: "ws_1", action: { type: "search", query: "x" } };

/** Where it puts an item: under the place in the output, all under one, or nowhere. */
type Index = "counts" | "always 0" | "none";
/** The call's own stands in the place of the item's on some. */
type ItemId = "same" | "rotates" | "call id" | "none";

export const responses = server({
  adapter: openaiResponses,
  knobs: {
    itemId: fc.constantFrom<ItemId>("same", "same", "rotates", "call id", "none"),
    index: fc.constantFrom<Index>("counts", "counts", "always 0", "none"),
    begins: fc.constantFrom("empty", "empty", "whole", "without arguments", "twice", "untold"),
    hasPieces: flag,
    isTold: flag,
    /** Whether the whole input has an index and an id, as the pieces have. */
    isToldOf: fc.constantFrom(true, true, true, false),
    ends: fc.constantFrom("once", "once", "twice", "early", "untold"),
    /** Whether each call is told again, as another item. */
    echoes: fc.constantFrom("none", "none", "none", "whole", "without arguments"),
    /** Whether the end of a call counts one item more than its beginning. */
    endsFurther: fc.constantFrom(false, false, false, true),
    output: fc.constantFrom("whole", "whole", "other ids", "empty", "none"),
    isInterleaved: flag,
    /** Nothing but the whole at the end; or not even an event for that. */
    isStreamed: fc.constantFrom("yes", "yes", "yes", "yes", "no", "not at all"),
    end: fc.constantFrom("response.completed", "response.done"),
    counts: fc.constantFrom("each", "none", "one"),
    /** Whether indexes are numbers. */
    hasNumbers: fc.constantFrom(true, true, false),
    message: fc.constantFrom("none", "before", "amid", "after"),
    /** Whether its text comes in pieces, or only at its end. */
    hasTextPieces: fc.constantFrom(true, true, true, false),
    hasSearch: flag,
    hasReasoning: flag,
    hasNoise: flag,
  },
  canTell(
    {
      itemId,
      index,
      begins,
      hasPieces,
      isTold,
      isToldOf,
      ends,
      endsFurther,
      echoes,
      output,
      isInterleaved,
      isStreamed,
      message,
      hasReasoning,
      hasSearch,
    },
    calls,
  ) {
    if (isStreamed !== "yes") return output === "whole" || output === "other ids";
    if (echoes !== "none" && (index !== "counts" || ends === "untold")) return false;
    if (endsFurther && (index !== "counts" || itemId !== "same" || begins === "untold")) return false;
    // By its index an input is of one call, by its id of another, and only the end of each says which.
    if (endsFurther && isInterleaved && ends === "untold" && output !== "whole" && output !== "other ids") return false;
    if (itemId === "call id" && begins === "untold") return false;
    const hasIds = itemId === "same" || itemId === "call id";
    if (index !== "counts" && !hasIds && isInterleaved) return false;
    // Of calls that have one index the id of the item decides.
    if (index === "always 0" && itemId === "call id" && isInterleaved) return false;
    if (index === "none" && itemId === "rotates")
      return ends === "once" && !hasPieces && message === "none" && !hasReasoning && begins !== "untold";
    // A piece could be of the text, and the end of a search of another one.
    if (index === "always 0" && itemId === "rotates" && message === "amid" && (hasPieces || hasSearch)) return false;
    if (index === "none" && itemId === "none" && message === "amid") return false;
    // What comes behind a call that has no arguments could be of one that nobody began.
    const hasEmpty = calls.some(({ input }) => isEmpty(input));
    if (index === "none" && itemId === "none" && ends === "early" && hasEmpty) return false;
    // A whole input that is nobody's is that of the first call without one, and its end says what is wrong with that.
    const isStray = isTold && !isToldOf;
    const isSaid = ends !== "untold" || output === "whole" || output === "other ids" || calls.length === 1;
    if (isStray && (begins === "untold" || ends === "early" || !isSaid || (isInterleaved && hasEmpty))) return false;
    // Who gives all of them one index, and tells no beginning.
    if (index === "always 0" && begins === "untold" && (isInterleaved || (itemId === "rotates" && hasEmpty)))
      return false;
    // Pieces of one call could be of the one before, that has none.
    const isBare = index !== "counts" && itemId === "none" && begins === "untold";
    if (isBare && hasPieces && !isTold && calls.some(({ input }) => isEmpty(input))) return false;
    // A call without arguments has no piece.
    const areSaid = (begins === "whole" || hasPieces) && !calls.some(({ input }) => isEmpty(input));
    const isHeaded = begins !== "untold";
    const saysAll = isHeaded && (isTold || areSaid);
    const hasPlaces = index === "counts" || hasIds || (isHeaded && itemId === "none");
    return output === "whole" || ends !== "untold" || (saysAll && hasPlaces);
  },
  mayLie: () => false,
  says: ({ message, hasReasoning }) => ({ text: message !== "none", reasoning: hasReasoning }),
  send(knobs, calls, dice) {
    const { index, hasReasoning, message, isStreamed, output, end } = knobs;
    const before = Number(hasReasoning) + Number(message === "before");
    const texts = calls.map((call) => (isEmpty(call.input) && dice(2) === 0 ? "" : written(call, dice)));
    const placeOf = (i: number) => ({ counts: i, "always 0": 0, none: undefined })[index];
    const idOf = idsOf(knobs.itemId);
    const other = (id: string) => (knobs.itemId === "rotates" ? idOf(0) : id);
    const lists = texts.map((text, i) => callEvents(knobs, calls[i]!, text, i, placeOf(i + before), idOf, dice));
    if (knobs.hasSearch) lists.push(searchEvents(placeOf(before + calls.length), other));
    const placeOfText = placeOf(message === "before" ? before - 1 : before + calls.length + 1);
    const said = messageEvents(placeOfText, other, knobs.hasTextPieces, dice);
    const thought = reasoningEvents(placeOf(0), other, dice);
    const calling = together(lists, knobs.isInterleaved, dice);
    const spoken = {
      none: calling,
      before: [...said, ...calling],
      amid: mixed(calling, said, dice),
      after: [...calling, ...said],
    }[message];
    const items = calls.map((call, i) =>
      callItem(call, texts[i]!, i, output === "other ids" ? `fc_x${i}` : idOf(i), "completed"),
    );
    const whole = [
      ...(hasReasoning ? [REASONING] : []),
      ...(message === "before" ? [MESSAGE] : []),
      ...items,
      ...(knobs.hasSearch ? [SEARCH] : []),
      ...(message === "amid" || message === "after" ? [MESSAGE] : []),
    ];
    const told = { whole, "other ids": whole, empty: [], none: undefined }[output];
    const response = { id: "resp_1", object: "response", status: "completed", output: told };
    if (isStreamed === "not at all") return [response];
    const starting = { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } };
    const streamed = [...(hasReasoning ? thought : []), ...spoken];
    const events = [starting, ...(isStreamed === "yes" ? streamed : []), { type: end, response }];
    const noisy = knobs.hasNoise ? strewn(events, NOISE, dice) : events;
    return noisy
      .map((event) => (knobs.hasNumbers ? event : withTexts(event)))
      .map((event, i) => ({ ...event, sequence_number: { each: i, none: undefined, one: 0 }[knobs.counts] }));
  },
  cutShort: [
    {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] },
    },
  ],
  failure: { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: "x" } } },
});

function idsOf(itemId: ItemId): (i: number) => string | undefined {
  let rotated = 0;
  return (i) => ({ same: `fc_${i}`, rotates: `fc_r${rotated++}`, "call id": `call_${i}`, none: undefined })[itemId];
}

function callItem({ name }: Call, text: string | undefined, i: number, id: string | undefined, status: string): Json {
  const call_id = `call_${i}`;
  return { type: "function_call", id: id === call_id ? undefined : id, call_id, name, arguments: text, status };
}

interface Telling {
  readonly begins: string;
  readonly hasPieces: boolean;
  readonly isTold: boolean;
  readonly isToldOf: boolean;
  readonly ends: string;
  readonly endsFurther: boolean;
  readonly echoes: string;
}

function callEvents(
  { begins, hasPieces, isTold, isToldOf, ends, endsFurther, echoes }: Telling,
  call: Call,
  text: string,
  i: number,
  index: number | undefined,
  idOf: (i: number) => string | undefined,
  dice: Dice,
): Json[] {
  const at = (type: string, fields: Json): Json => ({ type: `response.${type}`, output_index: index, ...fields });
  const first = begins === "whole" ? text : begins === "without arguments" ? undefined : "";
  const added = () => at("output_item.added", { item: callItem(call, first, i, idOf(i), "in_progress") });
  const piece = (delta: string) => at("function_call_arguments.delta", { item_id: idOf(i), delta });
  const endsAt = endsFurther ? { output_index: index! + 1 } : {};
  const whole = at("function_call_arguments.done", { item_id: idOf(i), arguments: text, ...endsAt });
  const pieces = [
    ...(hasPieces ? cut(text, dice).map(piece) : []),
    ...(isTold ? [isToldOf ? whole : { ...whole, output_index: undefined, item_id: undefined }] : []),
  ];
  const done = () => at("output_item.done", { item: callItem(call, text, i, idOf(i), "completed"), ...endsAt });
  return [
    ...(begins === "untold" ? [] : begins === "twice" ? [added(), added()] : [added()]),
    ...(ends === "early" ? [done(), ...pieces] : pieces),
    ...(ends === "once" ? [done()] : ends === "twice" ? [done(), done()] : []),
    ...(echoes === "none" ? [] : echo(call, echoes === "whole" ? text : "", i)),
  ];
}

function echo(call: Call, text: string, i: number): Json[] {
  const at = (type: string, args: string, status: string) => ({
    type: `response.output_item.${type}`,
    output_index: 50 + i,
    item: callItem(call, args, i, `fc_e${i}`, status),
  });
  return [at("added", "", "in_progress"), at("done", text, "completed")];
}

type Other = (id: string) => string | undefined;

function searchEvents(index: number | undefined, other: Other): Json[] {
  const item = (status: string) => ({ ...SEARCH, id: other(SEARCH.id), status });
  return [
    { type: "response.output_item.added", output_index: index, item: item("in_progress") },
    { type: "response.web_search_call.searching", output_index: index, item_id: other(SEARCH.id) },
    { type: "response.output_item.done", output_index: index, item: item("completed") },
  ];
}

function messageEvents(index: number | undefined, other: Other, hasPieces: boolean, dice: Dice): Json[] {
  const at = (type: string, fields: Json): Json => ({ type: `response.${type}`, output_index: index, ...fields });
  const of = (type: string, fields: Json) => at(type, { item_id: other(MESSAGE.id), content_index: 0, ...fields });
  return [
    at("output_item.added", { item: { ...MESSAGE, id: other(MESSAGE.id), content: [] } }),
    of("content_part.added", { part: { type: "output_text", text: "" } }),
    ...(hasPieces ? cut(SAID, dice).map((delta) => of("output_text.delta", { delta })) : []),
    of("output_text.done", { text: SAID }),
    of("content_part.done", { part: MESSAGE.content[0] }),
    at("output_item.done", {
      item: { ...MESSAGE, id: other(MESSAGE.id), content: hasPieces ? MESSAGE.content : [] },
    }),
  ];
}

function reasoningEvents(index: number | undefined, other: Other, dice: Dice): Json[] {
  const at = (type: string, fields: Json): Json => ({ type: `response.${type}`, output_index: index, ...fields });
  const of = (type: string, fields: Json) =>
    at(`reasoning_summary_${type}`, { item_id: other(REASONING.id), summary_index: 0, ...fields });
  return [
    at("output_item.added", { item: { ...REASONING, id: other(REASONING.id), summary: [] } }),
    of("part.added", { part: { type: "summary_text", text: "" } }),
    ...cut(SAID, dice).map((delta) => of("text.delta", { delta })),
    of("text.done", { text: SAID }),
    at("output_item.done", { item: { ...REASONING, id: other(REASONING.id) } }),
  ];
}

/** With indexes that are text. */
function withTexts(event: Json): Json {
  const entries = Object.entries(event);
  return Object.fromEntries(entries.map(([key, value]) => [key, key.endsWith("_index") ? String(value) : value]));
}
