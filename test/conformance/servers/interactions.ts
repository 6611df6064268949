import * as fc from "../../fast-check.ts";
import { googleInteractions } from "../../../adapters/google-interactions/index.ts";
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
  together,
  written,
  type Call,
  type Dice,
  type Json,
} from "./support.ts";

const NOISE: readonly Json[] = [
  { event_type: "interaction.status_update", interaction_id: "v1_1", status: "in_progress" },
  { event_type: "interaction.checkpoint", continuation_token: "t" },
  { event_type: "ping" },
  { event_type: "step.delta", index: 77, delta: { type: "arguments_delta", arguments: "" } },
  { event_type: "step.delta", index: 77, delta: { type: "mood_delta", mood: "good" } },
  { event_type: "step.delta", index: 77 },
  { event_type: "step.start", index: 78, step: { type: "user_input", content: [{ type: "text", text: "Hi" }] } },
  { event_type: "step.start", index: 79, step: { type: "mood", mood: "good" } },
  { event_type: "step.stop", index: 80 },
];

const THOUGHT = { type: "thought", signature: "c2ln", summary: [{ type: "text", text: SAID }] };
const OUTPUT = { type: "model_output", content: [{ type: "text", text: SAID }] };
const SEARCH = { type: "google_search_call", id: "gs_1", arguments: { queries: ["x"] } };
const FOUND = { type: "google_search_result", call_id: "gs_1", result: [{ search_suggestions: "y" }] };

export const interactions = server({
  adapter: googleInteractions,
  knobs: {
    /** Pieces of arguments may have that of the thought. */
    index: fc.constantFrom("counts", "counts", "as text", "always 0", "none", "thought's"),
    id: fc.constantFrom("own", "own", "same", "none"),
    args: fc.constantFrom("pieces", "pieces", "partial_arguments", "object", "whole", "text", "whole and pieces"),
    begins: fc.constantFrom("once", "once", "twice"),
    ends: fc.constantFrom("once", "once", "twice", "untold", "early"),
    isInterleaved: flag,
    thought: place,
    summary: fc.constantFrom("none", "pieces", "whole"),
    signature: fc.constantFrom("none", "start", "delta", "of the call"),
    text: place,
    isSpeechEnded: flag,
    hasSearch: flag,
    created: fc.constantFrom("once", "once", "twice", "untold"),
    /** Another interaction goes on where this one stopped: behind a call, or within one, which then begins anew. */
    continues: fc.constantFrom("no", "no", "no", "behind a call", "within a call"),
    end: fc.constantFrom("completed", "requires_action"),
    /** Nothing but the whole at the end; or not even an event for that. */
    isStreamed: fc.constantFrom("yes", "yes", "yes", "yes", "no", "not at all"),
    hasEventIds: flag,
    hasNoise: flag,
  },
  canTell({ index, id, args, begins, ends, isInterleaved, continues, hasSearch, isStreamed }, calls) {
    // The same call under the same id is the one before, once more.
    const isRepeated = new Set(calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`)).size < calls.length;
    if (id === "same" && isRepeated) return false;
    if (isStreamed !== "yes") return true;
    const hasPieces = args !== "whole" && args !== "text";
    const isOneByOne = !isInterleaved && ends !== "untold";
    // Behind another call nothing would say that it has not ended.
    if (ends === "early" && isInterleaved && hasPieces) return false;
    // What an interaction that goes on left open may be cut.
    if (ends === "untold" && continues !== "no") return false;
    // And a call without arguments at its end may have been cut before them.
    if (continues !== "no" && calls.some(({ input }) => isEmpty(input))) return false;
    if (index === "counts" || index === "as text") return true;
    if (index === "thought's" && hasPieces) return ends !== "early" && (calls.length === 1 || isOneByOne);
    if (index === "thought's") return true;
    // A second head, or the beginning of another call.
    if (begins === "twice" && id !== "own") return false;
    return isOneByOne && !hasSearch;
  },
  // A stop that is none, or what begins one call and is told of another, too.
  mayLie({ index, id, begins, ends, isInterleaved }) {
    if (ends === "early" && isInterleaved) return true;
    const hasOwnIndex = index !== "always 0" && index !== "none";
    return !hasOwnIndex && (isInterleaved ? begins === "twice" || id !== "own" : begins === "twice" && id !== "own");
  },
  isNeverGuessed: true,
  says: ({ thought, summary, text }) => ({
    text: text !== "nowhere",
    reasoning: thought !== "nowhere" && summary !== "none",
  }),
  send(knobs, calls, dice) {
    const goesOn = knobs.continues !== "no";
    const isStreamed = knobs.isStreamed === "yes";
    // Of what is not streamed, the last step of an interaction that goes on may be cut.
    const behind = goesOn && isStreamed ? dice(calls.length) : 0;
    const before = { ...knobs, thought: first(knobs.thought), text: first(knobs.text), hasSearch: false };
    const after = { ...knobs, thought: rest(knobs.thought), text: rest(knobs.text) };
    const parts = goesOn
      ? [
          part(before, calls.slice(0, behind), 0, calls[behind], dice),
          part(after, calls.slice(behind), behind, undefined, dice),
        ]
      : [part(knobs, calls, 0, undefined, dice)];
    const events = parts.flatMap(({ steps, streamed }, i): Json[] => {
      const status = i < parts.length - 1 ? "requires_continuation" : knobs.end;
      const own = { id: `v1_${i}`, object: "interaction", model: "m" };
      const whole = { ...own, status, usage: { total_input_tokens: 1 }, ...(!isStreamed && { steps }) };
      if (knobs.isStreamed === "not at all") return [whole];
      const created = { event_type: "interaction.created", interaction: { ...own, status: "in_progress" } };
      return [
        // Nothing else would say that indexes begin anew.
        ...{ once: [created], twice: [created, created], untold: i === 0 ? [] : [created] }[knobs.created],
        ...(isStreamed ? streamed : []),
        { event_type: "interaction.completed", interaction: whole },
      ];
    });
    const noisy = knobs.hasNoise && isStreamed ? strewn(events, NOISE, dice) : events;
    return knobs.hasEventIds ? noisy.map((event, i) => ({ ...event, event_id: `e${i}` })) : noisy;
  },
  cutShort: [{ event_type: "interaction.completed", interaction: { status: "incomplete" } }],
  failure: { event_type: "error", error: { code: "internal", message: "It broke." } },
});

type Place = "nowhere" | "before" | "amid" | "after";

function first(where: Place): Place {
  return where === "before" ? where : "nowhere";
}

function rest(where: Place): Place {
  return where === "before" ? "nowhere" : where;
}

interface Telling {
  readonly index: "counts" | "as text" | "always 0" | "none" | "thought's";
  readonly id: "own" | "same" | "none";
  readonly args: string;
  readonly begins: string;
  readonly ends: string;
  readonly isInterleaved: boolean;
  readonly thought: Place;
  readonly summary: string;
  readonly signature: string;
  readonly text: Place;
  readonly isSpeechEnded: boolean;
  readonly hasSearch: boolean;
  readonly continues: string;
}

/** What comes between the beginning and the end of one interaction; `half` is a call that it does not end. */
function part(knobs: Telling, calls: readonly Call[], n: number, half: Call | undefined, dice: Dice) {
  const { index, id, thought, text, signature, isSpeechEnded } = knobs;
  const at = (i: number, type: string, fields: Json = {}): Json => ({
    event_type: `step.${type}`,
    index: { counts: i, "as text": String(i), "always 0": 0, none: undefined, "thought's": i }[index],
    ...fields,
  });
  const start = (i: number, step: Json) => at(i, "start", { step });
  const delta = (i: number, type: string, fields: Json) => at(i, "delta", { delta: { type, ...fields } });
  const stop = (i: number) => (isSpeechEnded ? [at(i, "stop")] : []);

  const callStep = (call: Call, k: number, input: unknown): Json => ({
    type: "function_call",
    id: { own: `call_${n + k}`, same: "call", none: undefined }[id],
    name: call.name,
    arguments: input,
    ...(signature === "of the call" && { signature: "c2ln" }),
  });
  const firstCall = 2;
  const pieceAt = (i: number) => (index === "thought's" ? 0 : i);
  const steps = calls.map((call, k) => callStep(call, k, call.input));
  const listOf = (call: Call, k: number): { start: Json; pieces: Json[]; stop: Json } => {
    const i = firstCall + k;
    const said = isEmpty(call.input) && dice(2) === 0 ? "" : written(call, dice);
    const none = isEmpty(call.input) || dice(2) === 0 ? {} : undefined;
    const whole = { whole: call.input, text: written(call, dice), "whole and pieces": call.input }[knobs.args] ?? none;
    const of = (fields: Json) => delta(pieceAt(i), "arguments_delta", fields);
    const pieces = {
      pieces: () => cut(said, dice).map((piece) => of({ arguments: piece })),
      "whole and pieces": () => cut(said, dice).map((piece) => of({ arguments: piece })),
      partial_arguments: () =>
        cut(said, dice).map((piece) => delta(pieceAt(i), "arguments", { partial_arguments: piece })),
      whole: () => (dice(2) === 0 ? [of({ arguments: "" }), of({ arguments: "" })] : []),
      object: () => (said === "" ? [] : [of({ arguments: call.input })]),
    }[knobs.args];
    return { start: start(i, callStep(call, k, whole)), pieces: pieces?.() ?? [], stop: at(i, "stop") };
  };
  const lists = calls.map((call, k) => {
    const one = listOf(call, k);
    const twice = knobs.begins === "twice" ? mixed(one.pieces, [one.start], dice) : one.pieces;
    return {
      once: [one.start, ...twice, one.stop],
      twice: [one.start, ...twice, one.stop, one.stop],
      untold: [one.start, ...twice],
      early: [one.start, one.stop, ...one.pieces],
    }[knobs.ends]!;
  });
  if (knobs.hasSearch) {
    const i = firstCall + calls.length;
    const { arguments: query, ...head } = SEARCH;
    const { result, ...found } = FOUND;
    lists.push([
      ...(dice(2) === 0 ? [start(i, SEARCH)] : [start(i, head), delta(i, SEARCH.type, { arguments: query })]),
      at(i, "stop"),
      ...(dice(2) === 0 ? [start(i + 1, FOUND)] : [start(i + 1, found), delta(i + 1, FOUND.type, { result })]),
      at(i + 1, "stop"),
    ]);
    steps.push(SEARCH, FOUND);
  }
  // Where all have one index, what is amid calls could be of any.
  const isApart = index === "always 0" || index === "none";
  const seen = (where: Place) => (isApart && where === "amid" ? "before" : where);
  const thoughtAt = thought === "before" ? 0 : firstCall + calls.length + 2;
  const textAt = text === "before" ? 1 : firstCall + calls.length + 3;
  const summary = knobs.summary === "none" ? undefined : THOUGHT.summary;
  const thinking = [
    start(thoughtAt, {
      type: "thought",
      ...(knobs.summary === "whole" && { summary }),
      ...(signature === "start" && { signature: "c2ln" }),
    }),
    ...(knobs.summary === "pieces"
      ? cut(SAID, dice).map((piece) => delta(thoughtAt, "thought_summary", { content: { type: "text", text: piece } }))
      : []),
    ...(signature === "delta" ? [delta(thoughtAt, "thought_signature", { signature: "c2ln" })] : []),
    ...stop(thoughtAt),
  ];
  const speaking = [
    start(textAt, { type: "model_output" }),
    ...cut(SAID, dice).map((piece) => delta(textAt, "text", { text: piece })),
    ...stop(textAt),
  ];
  const calling = together(lists, knobs.isInterleaved, dice);
  const streamed = placed(placed(calling, speaking, seen(text), dice), thinking, seen(thought), dice);
  if (half !== undefined && knobs.continues === "within a call") {
    const { start: begun, pieces } = listOf(half, calls.length);
    streamed.push(begun, ...pieces.slice(0, dice(pieces.length)));
  }
  return {
    steps: [
      ...(thought === "before" ? [{ ...THOUGHT, summary }] : []),
      ...(text === "before" ? [OUTPUT] : []),
      ...steps,
      ...(thought === "amid" || thought === "after" ? [{ ...THOUGHT, summary }] : []),
      ...(text === "amid" || text === "after" ? [OUTPUT] : []),
    ],
    streamed,
  };
}
