import type { ParserSink } from "../adapter.ts";
import type { ToolChunk } from "../stream/chunk.ts";
import { HeldCall, holdingSink, type HoldingSink } from "./held.ts";
import { TEXT_TURN } from "./writer.ts";

/**
 * A sink before another one: a server that did not find the arguments of a call in its model's text may send the call
 * with `{}` all the same. Where the text has a call of that tool, that one is dropped.
 */
export function dropEchoes(sink: ParserSink): HoldingSink {
  /** How many calls of a name the text has, for which no echo came. */
  const written = new Map<string, number>();
  let held: HeldCall[] = [];

  function tool(chunk: ToolChunk): void {
    const { name, turnIndex } = chunk;
    if (turnIndex === TEXT_TURN) {
      if (name) written.set(name, (written.get(name) ?? 0) + 1);
      return sink.tool(chunk);
    }
    let call = held.find((one) => one.owns(chunk));
    if (call !== undefined) call.add(chunk);
    else {
      const left = name ? (written.get(name) ?? 0) : 0;
      if (left === 0) return sink.tool(chunk);
      written.set(name!, left - 1);
      held.push((call = new HeldCall(chunk)));
    }
    if (!isEmpty(call)) passOn(call);
  }

  function passOn(call: HeldCall): void {
    held = held.filter((one) => one !== call);
    for (const chunk of call.chunks) sink.tool(chunk);
  }

  // What is held at the end has no arguments: it is an echo.
  return holdingSink(sink, { tool, end: () => (held = []), giveUp: () => held.forEach(passOn) });
}

function isEmpty(call: HeldCall): boolean {
  if (call.argsValue !== undefined) return Object.keys(call.argsValue).length === 0;
  return call.length < 16 && ["", "{", "{}", "null"].includes(call.argsText.replace(/\s/g, ""));
}
