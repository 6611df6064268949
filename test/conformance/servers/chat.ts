import * as fc from "../../fast-check.ts";
import { openaiChat } from "../../../adapters/openai-chat/index.ts";
import {
  cut,
  differ,
  flag,
  isEmptyBeforeItsName,
  isEmpty,
  mixed,
  place,
  placed,
  SAID,
  server,
  strewn,
  together,
  written,
  type Dice,
  type Json,
} from "./support.ts";
import { DONE } from "./transport.ts";

/** Azure's, and what others send that says nothing. */
const NOISE: readonly Json[] = [
  { id: "chatcmpl-1", choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
  { id: "", model: "", choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] },
  { choices: [{ index: 0, delta: null, finish_reason: null }] },
  { choices: [{ index: 0, delta: { role: "assistant", content: "", tool_calls: null }, finish_reason: null }] },
  { choices: [{ index: 0, delta: { content: null, function_call: null, tool_calls: [] }, finish_reason: "" }] },
  { choices: null, usage: { prompt_tokens: 1, completion_tokens: 1 } },
  { choices: [{ index: 1, delta: { content: "Another choice.", tool_calls: [{ index: 0, id: "x" }] } }] },
  { object: "ping" },
];

export const chat = server({
  adapter: openaiChat,
  knobs: {
    index: fc.constantFrom("counts", "counts from one", "sparse", "as text", "once", "always 0", "null", "none"),
    id: fc.constantFrom(
      "once",
      "always",
      "as number",
      "then empty",
      "then another",
      "then one for all",
      "changes",
      "late",
      "always 0",
      "none",
    ),
    name: fc.constantFrom("once", "always", "late", "then empty"),
    /** What models write before a name. */
    namespace: fc.constantFrom("", "", "", "functions.", "default_api:"),
    /** What servers leave behind it. */
    leftover: fc.constantFrom("", "", "", "</arg_value>", "<|channel|>commentary"),
    args: fc.constantFrom(
      "pieces",
      "pieces",
      "whole",
      "object",
      "snapshots",
      "twice",
      "thrice",
      "encoded",
      "placeholder",
    ),
    isFolded: flag,
    isInterleaved: flag,
    /** The index of the choice. */
    choice: fc.constantFrom(0, 0, "0", null, undefined),
    /** Several entries in one chunk. */
    isPacked: flag,
    finish: fc.constantFrom("tool_calls", "stop", "twice", "beside", "beside an id", "early", "none"),
    areLists: flag,
    text: place,
    reasoning: fc.constantFrom("none", "reasoning", "reasoning_content", "both"),
    label: fc.constantFrom("chat.completion.chunk", "chat.completion", "", undefined),
    hasNoise: flag,
    hasUsage: flag,
    /** All of it once more as a message, at the end. */
    isToldAgain: flag,
  },
  canTell(knobs, calls) {
    const hasIds = ["once", "always", "as number", "then empty"].includes(knobs.id);
    const hasIndexes = knobs.index.startsWith("counts") || knobs.index === "sparse" || knobs.index === "as text";
    const hasNoIndex = knobs.index === "null" || knobs.index === "none";
    if (knobs.isInterleaved && !hasIndexes && !(hasNoIndex && knobs.id === "always")) return false;
    // Where all have one index, the head of a call without arguments could be that of the next one, said twice.
    if (knobs.index === "always 0" && isEmptyBeforeItsName(calls)) return false;
    // A copy with an id that nobody has is another call.
    const hasCopies = ["snapshots", "twice", "thrice", "encoded", "placeholder"].includes(knobs.args);
    const isOther = ["then another", "then one for all", "changes"].includes(knobs.id);
    if ((isOther || knobs.id === "late") && hasCopies) return false;
    // So is the name with such an id, unless it goes on where the first left off.
    if (isOther && knobs.name === "always") return hasIndexes && !calls.some(({ input }) => isEmpty(input));
    // A name that comes with the id of all other calls could be that of the same call, told again.
    if (isOther) return knobs.name !== "late" || differ(calls);
    if (hasIds || (hasIndexes && knobs.id !== "always 0")) return true;
    // Whole calls without id and index: the same one twice is two.
    const areBare = knobs.id === "none" && hasNoIndex && knobs.isFolded;
    return differ(calls) && !(areBare && ["twice", "thrice", "placeholder"].includes(knobs.args));
  },
  mayLie: ({ finish }) => finish === "early",
  says: ({ text, reasoning }) => ({ text: text !== "nowhere", reasoning: reasoning !== "none" }),
  send(
    { index, id, name, namespace, leftover, args, isFolded, isInterleaved, isPacked, finish, areLists, ...more },
    calls,
    dice,
  ) {
    const entries = calls.map((call, i) => {
      // What is none could go on, where all have one index, until a name comes that is late.
      const mayGoOn = index === "always 0" && name === "late";
      const none = args === "encoded" || args === "placeholder" ? "{}" : ["", "{}", "null"][dice(mayGoOn ? 2 : 3)]!;
      const text = isEmpty(call.input) && dice(2) === 0 ? none : written(call, dice);
      const cuts = args === "snapshots" ? snapshotCuts(text, dice) : cut(text, dice);
      const pieces: unknown[] = {
        pieces: cuts,
        whole: [text],
        object: [call.input],
        snapshots: cuts.map((_, n) => cuts.slice(0, n + 1).join("")),
        twice: [...cuts, text],
        thrice: [...cuts, text, text],
        encoded: [...cuts, JSON.stringify(text)],
        placeholder: ["{}", ...cuts],
      }[args as "pieces"];
      const label = {
        counts: i,
        "counts from one": i + 1,
        sparse: 3 * i + 2,
        "as text": String(i),
        once: i,
        "always 0": 0,
        null: null,
        none: undefined,
      }[index];
      let sent = 0;
      const idOf = (isHead: boolean) =>
        ({
          once: isHead ? `call_${i}` : undefined,
          always: `call_${i}`,
          "as number": isHead ? 1000 + i : null,
          "then empty": isHead ? `call_${i}` : "",
          "then another": isHead ? `call_${i}` : `other_${i}`,
          "then one for all": isHead ? `call_${i}` : "other",
          changes: `call_${i}_${sent++}`,
          late: sent++ === 1 ? `call_${i}` : undefined,
          "always 0": "0",
          none: undefined,
        })[id];
      const nameOf = (isNamed: boolean) =>
        isNamed ? namespace + call.name + leftover : name === "then empty" ? "" : undefined;
      const entry = (isHead: boolean, isNamed: boolean, piece?: unknown): Json => ({
        ...(label !== undefined && (isHead || index !== "once") && { index: label }),
        id: idOf(isHead),
        ...(isHead && { type: "function" }),
        function: { name: nameOf(isNamed), ...(piece !== undefined && { arguments: piece }) },
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
    const choice = (delta: Json, reason: string | null = null): Json => ({
      id: "chatcmpl-1",
      object: more.label,
      model: "m",
      choices: [{ index: more.choice, delta, finish_reason: reason }],
    });
    const said = cut(SAID, dice).map((content) => choice({ role: "assistant", content }));
    const thought = cut(SAID, dice).map((piece) =>
      choice({
        ...(more.reasoning !== "reasoning" && { reasoning_content: piece }),
        ...(more.reasoning !== "reasoning_content" && { reasoning: piece }),
      }),
    );
    const all = together(entries, isInterleaved, dice);
    const calling: Json[] = [];
    while (all.length > 0) {
      const some = all.splice(0, isPacked && areLists ? 1 + dice(3) : 1);
      const isLast = finish === "beside" && all.length === 0;
      calling.push(choice({ tool_calls: areLists ? some : some[0] }, isLast ? "tool_calls" : null));
    }
    let events = placed(calling, said, more.text, dice);
    if (more.reasoning !== "none") events = [...thought, ...events];
    const stub = { index: 0, id: "stub", type: "function", function: { name: "", arguments: "" } };
    const beside = finish === "beside an id" ? { tool_calls: [stub] } : {};
    const end = choice(beside, finish === "stop" ? "stop" : "tool_calls");
    if (finish === "early") events = mixed(events, [end], dice);
    else if (finish !== "beside" && finish !== "none") events.push(end);
    if (finish === "twice") events.push(choice({ role: "assistant", content: "" }, "tool_calls"));
    if (more.hasUsage)
      events.push({ id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } });
    if (more.isToldAgain) events.push(toldAgain(calls, more.text !== "nowhere"));
    if (more.hasNoise) events = strewn(events, NOISE, dice);
    return finish === "none" && !more.isToldAgain ? [...events, DONE] : events;
  },
  cutShort: [{ choices: [{ index: 0, delta: {}, finish_reason: "length" }] }],
  failure: { error: { message: "overloaded", code: 529 } },
});

/** Of snapshots one ends where nothing can follow but the end: all others could be pieces, each a value in the one before. */
function snapshotCuts(text: string, dice: Dice): string[] {
  return [...cut(text.slice(0, -1), dice, Math.ceil(text.length / 4)), text.slice(-1)];
}

function toldAgain(calls: readonly { name: string; input: unknown }[], hasText: boolean): Json {
  const tool_calls = calls.map(({ name, input }, i) => ({
    id: `call_${i}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = { role: "assistant", content: hasText ? SAID : null, tool_calls };
  return { id: "chatcmpl-1", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
}
