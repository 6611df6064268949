import type { ParserSink } from "../adapter.ts";
import type { ToolChunk } from "../stream/chunk.ts";
import { HeldCall, holdingSink, MAX_HELD, type HoldingSink } from "./held.ts";
import { find } from "./look.ts";
import type { Leaks } from "./notation.ts";
import { TEXT_TURN } from "./writer.ts";

/**
 * A sink in front of another: a server that parses its model's calls may leave marks of the notation in the arguments.
 * From the first mark on, arguments are held until the call is over, and repaired if it is certain what was meant.
 *
 * ```
 * {"city": "Oslo</｜DSML｜parameter>…<｜DSML｜parameter name=\"unit\" …>celsius"}  ->  {"city": "Oslo","unit":"celsius"}
 * ```
 */
export function mendLeaks(sink: ParserSink, leaks: readonly Leaks[]): HoldingSink {
  const marks = [...new Set(leaks.flatMap((one) => one.marks))];
  const calls: Leaking[] = [];
  let isWhole = false;

  function tool(chunk: ToolChunk): void {
    const { turnIndex, argsTextDelta } = chunk;
    if (turnIndex === TEXT_TURN || marks.length === 0) return sink.tool(chunk);
    let call = calls.findLast((one) => one.owns(chunk));
    if (call === undefined) {
      // A new call ends those before it: in some wires nothing else does.
      for (const one of calls) release(one);
      calls.push((call = new Leaking({ ...chunk, argsTextDelta: undefined })));
    }
    const text = call.take(argsTextDelta ?? "", marks);
    if (chunk.done !== true && chunk.error === undefined && chunk.errorType === undefined) {
      return pass(chunk, text);
    }
    pass(chunk, text + (chunk.done === true ? mended(call) : call.rest()));
  }

  function pass(chunk: ToolChunk, text: string): void {
    sink.tool(text === (chunk.argsTextDelta ?? "") ? chunk : { ...chunk, argsTextDelta: text });
  }

  function mended(call: Leaking): string {
    const { before, isHeld } = call;
    const rest = call.rest();
    if (!isHeld) return rest;
    for (const { mend } of leaks) {
      const found = mend(before, rest);
      if (found !== undefined) return found;
    }
    return rest;
  }

  function release(call: Leaking, text = mended(call)): void {
    if (text !== "") sink.tool({ ...call.label, argsTextDelta: text });
  }

  return {
    ...holdingSink(sink, {
      tool,
      // What was to follow in a turn that was cut off is unknown.
      end: () => calls.forEach((call) => release(call, isWhole ? mended(call) : call.rest())),
      giveUp: () => calls.forEach((call) => release(call, call.rest())),
    }),
    finish(reason, providerReason, message) {
      isWhole = reason !== "length";
      sink.finish(reason, providerReason, message);
    },
  };
}

class Leaking extends HeldCall {
  readonly label: ToolChunk;
  /** The arguments passed on so far. */
  before = "";
  /** A mark has come. */
  isHeld = false;
  #isPlain = false;
  #held = "";

  constructor(first: ToolChunk) {
    super(first);
    const { turnIndex, callIndex, id, name } = first;
    // Where there is no index, a label of the index alone would identify nothing.
    this.label = callIndex === undefined ? { turnIndex, id, ...(!id && { name }) } : { turnIndex, callIndex };
  }

  /** @returns what can be passed on */
  take(delta: string, marks: readonly string[]): string {
    if (this.#isPlain || delta === "") return delta;
    const text = this.#held + delta;
    this.#held = text;
    if (this.before.length + text.length > MAX_HELD) {
      this.#isPlain = true;
      return this.rest();
    }
    if (this.isHeld) return "";
    const { at, word } = find(text, 0, marks);
    this.isHeld = word !== undefined;
    this.#held = text.slice(at);
    const passed = text.slice(0, at);
    this.before += passed;
    return passed;
  }

  /** Returns what is held; from then on, nothing more is held. */
  rest(): string {
    const rest = this.#held;
    this.#held = this.before = "";
    this.#isPlain = true;
    this.isHeld = false;
    return rest;
  }
}
