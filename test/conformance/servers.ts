/** Servers of every wire as they are met: each knob is something that real ones do, and any of them may come together. */
import fc from "fast-check";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../../src/index.ts";

export interface Call {
  readonly name: string;
  readonly input: Record<string, unknown>;
}

/** What a server decides while it sends: where it cuts, and whose turn it is. */
export type Dice = (sides: number) => number;

/** What the dice will show, again and again. */
export const throws = fc.array(fc.nat(), { minLength: 1, maxLength: 64 });

export function diceOf(numbers: readonly number[]): Dice {
  let thrown = 0;
  return (sides) => numbers[thrown++ % numbers.length]! % sides;
}

type Knobs<T> = { [K in keyof T]: fc.Arbitrary<T[K]> };
export type Json = { [field: string]: unknown };

export interface Server<T = any> {
  readonly adapter: Adapter<any, any>;
  readonly knobs: Knobs<T>;
  /** Whether anything in what it sends could tell these calls from others. */
  canTell(knobs: T, calls: readonly Call[]): boolean;
  /** The frames of a whole turn. */
  send(knobs: T, calls: readonly Call[], dice: Dice): string[];
  /** The frames that end a turn whose tokens ran out, behind those that were sent. */
  cutShort(knobs: T, sent: readonly string[]): string[];
}

function server<T>(one: Server<T>): Server {
  return one;
}

const flag = fc.boolean();
const SAID = "Let me see.";

// -- what all of them do

function isEmpty(input: object): boolean {
  return Object.keys(input).length === 0;
}

/** The arguments as a model writes them. */
function written({ input }: Call, dice: Dice): string {
  const text = JSON.stringify(input, null, [0, 0, 2, " "][dice(4)]);
  return dice(4) === 0 ? text.replace(/[\u0080-\uffff]/g, escaped) : text;
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function cut(text: string, dice: Dice, most = Infinity): string[] {
  const longest = Math.min([1, 3, 12, 200][dice(4)]!, most);
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieces.at(-1)!.length) pieces.push(text.slice(at, at + 1 + dice(longest)));
  return pieces;
}

/** Each call's own events stay in their order, and the calls begin in theirs. */
export function together<E>(lists: readonly E[][], areInterleaved: boolean, dice: Dice): E[] {
  if (!areInterleaved) return lists.flat();
  const begun: E[][] = [];
  const waiting = lists.filter((list) => list.length > 0).map((list) => [...list]);
  const sent: E[] = [];
  for (;;) {
    const open = begun.filter((list) => list.length > 0);
    const list = open[dice(open.length + 1)] ?? waiting.shift() ?? open[0];
    if (list === undefined) return sent;
    if (!begun.includes(list)) begun.push(list);
    sent.push(list.shift()!);
  }
}

export function sse(events: readonly Json[], isNamed: boolean): string[] {
  return events.map(
    (event) => `${isNamed ? `event: ${String(event["type"])}\n` : ""}data: ${JSON.stringify(event)}\n\n`,
  );
}

/** Whether calls that follow each other could be one call, said again. */
function differ(calls: readonly Call[]): boolean {
  return calls.every(({ name, input }, i) => !isEmpty(input) && name !== calls[i - 1]?.name);
}

// -- Chat Completions

const chat = server({
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

// -- Responses

const responses = server({
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

// -- Messages

const messages = server({
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

// -- generateContent

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

const gemini = server({
  adapter: google,
  knobs: {
    isWhole: flag,
    id: fc.constantFrom("none", "own", "same"),
    ends: fc.constantFrom("apart", "with the last piece", "untold"),
    isNamedAgain: flag,
    isStringEnded: flag,
    finish: fc.constantFrom("apart", "with the last part", "with empty text"),
    isArray: flag,
    hasText: flag,
  },
  canTell({ isWhole, id, ends, isNamedAgain }, calls) {
    if (isWhole) return true;
    // There is no piece for an empty object or list.
    if (calls.some(({ input }) => !isEmpty(input) && hasHoles(input))) return false;
    return (ends !== "untold" || id !== "same") && (!isNamedAgain || id === "own");
  },
  send({ isWhole, id, ends, isNamedAgain, isStringEnded, finish, isArray, hasText }, calls, dice) {
    const parts: Json[] = hasText ? cut(SAID, dice).map((text) => ({ text })) : [];
    calls.forEach(({ name, input }, i) => {
      const head = { name, id: { none: undefined, own: `id_${i}`, same: "id" }[id] };
      if (isWhole || isEmpty(input)) {
        parts.push({ functionCall: { ...head, ...(!(isEmpty(input) && dice(2) === 0) && { args: input }) } });
        return;
      }
      parts.push({ functionCall: { ...head, willContinue: true }, thoughtSignature: "c2ln" });
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
        parts.push({ functionCall: { ...again, partialArgs, ...(!isEnd && { willContinue: true }) } });
      }
      if (ends === "apart") parts.push({ functionCall: {} });
    });
    const events: Json[] = [];
    while (parts.length > 0) {
      const some = parts.splice(0, 1 + dice(3));
      const isLast = parts.length === 0 && finish === "with the last part";
      const content = { role: "model", parts: some };
      events.push({ candidates: [{ index: 0, content, ...(isLast && { finishReason: "STOP" }) }] });
    }
    const content = { role: "model", parts: [{ text: "" }] };
    if (finish === "apart") events.push({ candidates: [{ index: 0, finishReason: "STOP" }] });
    if (finish === "with empty text") events.push({ candidates: [{ index: 0, content, finishReason: "STOP" }] });
    if (!isArray) return sse(events, false);
    const end = (i: number) => (i === events.length - 1 ? "]" : "");
    return events.map((event, i) => (i === 0 ? "[" : ",\r\n") + JSON.stringify(event, null, 2) + end(i));
  },
  cutShort({ isArray }, sent) {
    const end = { candidates: [{ index: 0, finishReason: "MAX_TOKENS" }] };
    return isArray ? [`${sent.length === 0 ? "[" : ","}${JSON.stringify(end)}]`] : sse([end], false);
  },
});

// -- v2 chat

const v2 = server({
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

export const servers: readonly Server[] = [chat, responses, messages, gemini, v2];
