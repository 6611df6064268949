/** How events are written on the line: what standards allow, and what servers write all the same. */
import * as fc from "../../fast-check.ts";
import { flag, type Dice, type Json } from "./support.ts";

/** The end that servers of several wires write in the place of an event. */
export const DONE = "[DONE]";

export const transport = fc.record({
  format: fc.constantFrom("events", "events", "events", "lines", "array"),
  lineEnd: fc.constantFrom("\n", "\n", "\r\n", "\r"),
  name: fc.constantFrom("none", "own", "wrong"),
  hasMark: flag,
  /** Also such as a gateway has made data. */
  comments: fc.constantFrom("none", "own", "as data"),
  hasIds: flag,
  /** The field, as a server writes it whose framework does, too. */
  field: fc.constantFrom("data:", "data:", "data:", "data: data:"),
  isSpaced: flag,
  /** The JSON of an event over several lines; or, of all events, no blank line between them. */
  lines: fc.constantFrom("one", "one", "several", "tight"),
  isOpenEnded: flag,
  done: fc.constantFrom("none", "none", "once", "twice"),
});

export type Transport = typeof transport extends fc.Arbitrary<infer T> ? T : never;

/** What is sent for each event, and behind the last one. */
export function framesOf(events: readonly (Json | string)[], how: Transport, dice: Dice): string[] {
  const ends = { none: [], once: [DONE], twice: [DONE, DONE] }[how.done];
  const all = how.format === "events" ? [...events, ...ends] : events;
  const frames = all.map((event, i) => frameOf(event, how, dice, i === 0, i === all.length - 1));
  if (how.hasMark) frames[0] = `\ufeff${frames[0]}`;
  return frames;
}

function frameOf(event: Json | string, how: Transport, dice: Dice, isFirst: boolean, isLast: boolean): string {
  const { format, lineEnd, lines, isOpenEnded } = how;
  if (format === "lines") return JSON.stringify(event) + (isLast && isOpenEnded ? "" : lineEnd);
  if (format === "array") {
    const text = JSON.stringify(event, null, 2).replaceAll("\n", lineEnd);
    return `${isFirst ? "[" : `,${lineEnd}`}${text}${isLast ? "]" : ""}`;
  }
  const isDone = typeof event === "string";
  const space = how.isSpaced ? " " : "";
  const data = isDone ? event : JSON.stringify(event, null, lines === "several" ? 1 : 0);
  const name = { none: undefined, own: isDone ? undefined : event["type"], wrong: "message" }[how.name];
  const written = [
    ...(how.comments !== "none" && dice(2) === 0
      ? [how.comments === "own" ? ": keep-alive" : "data: : keep-alive", ...(lines === "tight" ? [] : [""])]
      : []),
    ...(name === undefined ? [] : [`event:${space}${String(name)}`]),
    ...(how.hasIds ? [`id:${space}${dice(9)}`, "retry: 3000"] : []),
    ...data.split("\n").map((line) => `${lines === "several" ? "data:" : how.field}${space}${line}`),
    ...(lines === "tight" ? [] : [""]),
  ];
  return written.join(lineEnd) + (isLast && isOpenEnded ? "" : lineEnd);
}
