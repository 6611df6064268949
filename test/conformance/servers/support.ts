/** What the servers of all wires have in common. */
import * as fc from "../../fast-check.ts";
import type { Adapter } from "../../../src/index.ts";

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
  /** Whether it may say that the turn is over before it is: then nothing tells that it was cut. */
  mayLie(knobs: T): boolean;
  /** Whether nothing wrong runs of what it cannot tell, unless it lies. */
  readonly isNeverGuessed?: boolean;
  /** The events of a whole turn. */
  send(knobs: T, calls: readonly Call[], dice: Dice): (Json | string)[];
  /** What it says beside the calls. */
  says(knobs: T): { readonly text: boolean; readonly reasoning: boolean };
  /** The events that end a turn whose tokens ran out. */
  readonly cutShort: readonly Json[];
  /** The event of a failure. */
  readonly failure: Json;
}

export function server<T>(one: Server<T>): Server {
  return one;
}

export const flag = fc.boolean();
export const SAID = "Let me see.";

export function isEmpty(input: object): boolean {
  return Object.keys(input).length === 0;
}

/** The arguments as a model writes them. */
export function written({ input }: Call, dice: Dice): string {
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

/** Where a server says something beside its calls. */
export const place = fc.constantFrom("nowhere", "nowhere", "before", "amid", "after");
type Place = typeof place extends fc.Arbitrary<infer T> ? T : never;

export function placed<E>(events: readonly E[], more: readonly E[], where: Place, dice: Dice): E[] {
  if (where === "nowhere") return [...events];
  if (where === "before") return [...more, ...events];
  return where === "after" ? [...events, ...more] : mixed(events, more, dice);
}

/** The order of both is kept. */
export function mixed<E>(events: readonly E[], more: readonly E[], dice: Dice): E[] {
  const all = [...events];
  let at = 0;
  for (const one of more) {
    at += dice(all.length - at + 1);
    all.splice(at++, 0, one);
  }
  return all;
}

/** What is none of the turn, wherever it comes. */
export function strewn<E>(events: readonly E[], noise: readonly E[], dice: Dice): E[] {
  return events.flatMap((event) => (dice(4) === 0 ? [noise[dice(noise.length)]!, event] : [event]));
}

/** Whether calls that follow each other could be one call, said again. */
export function differ(calls: readonly Call[]): boolean {
  return calls.every(({ name, input }, i) => !isEmpty(input) && name !== calls[i - 1]?.name);
}

/** Whether a call without arguments stands before one of the same tool. */
export function isEmptyBeforeItsName(calls: readonly Call[]): boolean {
  return calls.some(({ name, input }, i) => isEmpty(input) && name === calls[i + 1]?.name);
}
