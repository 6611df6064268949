import { cut } from "../../src/errors.ts";
import type { PathPatch, PathStep } from "../../src/stream/chunk.ts";
import { isNothing, textOf } from "../../src/wire/field.ts";
import { parseJsonPath } from "./json-path.ts";
import type { NativeCall, WireFunctionCall, WirePartialArg } from "./wire.ts";

/** A call whose arguments come in pieces. At most one: nothing on the wire tells which call a piece belongs to. */
export interface OpenCall extends Pick<NativeCall, "callIndex" | "position"> {
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** No piece has come yet. */
  empty: boolean;
  /** The path of an unfinished string, as it was written, and parsed. */
  openPath: string | undefined;
  openSteps: readonly PathStep[];
}

/** How it ends: by its own end, by the next call, or by an answer that is finished or cut. */
export type CallEnd = "end" | "next" | "finish" | "cut";

/** Whether this part belongs to the open call: it has no name, or repeats the id with the name. */
export function continues(wire: WireFunctionCall, open: OpenCall): boolean {
  return !wire.name || (Boolean(wire.id) && wire.id === open.id && wire.name === open.name);
}

/** Whether a part that belongs to the open call by its place has the id of another one. */
export function isAstray({ id }: WireFunctionCall, open: OpenCall): boolean {
  return !!id && open.id !== undefined && id !== open.id;
}

/** Adds one piece of arguments to `patches`. Returns what is wrong with it, if anything. */
export function patch(call: OpenCall, piece: WirePartialArg, patches: PathPatch[]): string | undefined {
  const { stringValue, numberValue, boolValue } = piece;
  const jsonPath = textOf(piece.jsonPath) ?? "";
  const continued = jsonPath === call.openPath;
  const path = continued ? call.openSteps : parseJsonPath(jsonPath);
  if (path === undefined)
    return `an argument came at ${JSON.stringify(cut(jsonPath, 200))}, which is not a path to a value.`;
  // The model writes one place after another: one that it leaves is finished.
  if (!continued && call.openPath !== undefined) patches.push({ path: call.openSteps, append: "", done: true });
  call.openPath = undefined;
  if (typeof stringValue === "string") {
    const done = !piece.willContinue;
    if (!done) {
      call.openPath = jsonPath;
      call.openSteps = path;
    }
    patches.push(continued || !done ? { path, append: stringValue, done } : { path, value: stringValue, done });
  } else if (Number.isFinite(numberValue)) patches.push({ path, value: numberValue, done: true });
  else if (typeof boolValue === "boolean") patches.push({ path, value: boolValue, done: true });
  // In the middle of a string, `null` may only be how a gateway writes a field without a value.
  else if (continued && isNothing(piece.nullValue)) {
    if (piece.willContinue) call.openPath = jsonPath;
    else patches.push({ path, append: "", done: true });
  } else if (piece.nullValue !== undefined) patches.push({ path, value: null, done: true });
  else return `the argument at ${JSON.stringify(cut(jsonPath, 200))} has no readable value.`;
  return undefined;
}

/** Why the model cannot have finished the call, if it cannot. */
export function cutOf({ openPath, empty }: OpenCall, how: CallEnd): string | undefined {
  // The wire closes every string, if only by an empty piece.
  if (openPath !== undefined) return `the call ended inside ${cut(openPath, 200)}`;
  if (how === "cut") return "the answer ended before the call did";
  // Arguments were announced; `functionCall: {}`, or the next call, would have said that there are none.
  return empty && how === "finish" ? "the answer ended before they began" : undefined;
}
