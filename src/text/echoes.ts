import type { ParserSink } from "../adapter.ts";
import { exceedsDepth, jsonIn, orderedText } from "../json/index.ts";
import type { ToolChunk } from "../stream/chunk.ts";
import { HeldCall, holdingSink, MAX_HELD, type HoldingSink } from "./held.ts";
import { MADE_UP, TEXT_TURN } from "./writer.ts";

const MAX_DEPTH = 1000;

/**
 * A sink in front of another: a server that lets the text of a call through may still send the call, with `{}` if it
 * did not find the arguments, or whole if it parses the text at the end (https://github.com/mudler/LocalAI/pull/10346).
 * For each call in the text, one such echo is dropped; none in a turn that is too long to compare.
 */
export function dropEchoes(sink: ParserSink): HoldingSink {
  let written: HeldCall[] = [];
  /** The same by their labels: a long text may have very many. */
  const labelled = new Map<number | undefined, HeldCall>();
  /** The calls of the wire, from the first possible echo on, to preserve their order. */
  let held: HeldCall[] = [];
  let kept = 0;

  function tool(chunk: ToolChunk): void {
    const isText = chunk.turnIndex === TEXT_TURN;
    if (!isText && held.length === 0 && !(chunk.name && written.some(({ name }) => name === chunk.name))) {
      return sink.tool(chunk);
    }
    if (isText) sink.tool(chunk);
    keep(chunk, isText);
  }

  function keep(chunk: ToolChunk, isText: boolean): void {
    const call = isText ? labelled.get(chunk.callIndex) : held.findLast((one) => one.owns(chunk));
    if (call !== undefined) call.add(chunk);
    else {
      const made = new HeldCall(chunk);
      if (isText) labelled.set(chunk.callIndex, made);
      (isText ? written : held).push(made);
    }
    kept += chunk.argsTextDelta?.length ?? 0;
    if (kept <= MAX_HELD) return;
    written = [];
    labelled.clear();
    passOn(held);
  }

  function passOn(calls: readonly HeldCall[]): void {
    held = [];
    for (const { chunks } of calls) for (const chunk of chunks) sink.tool(chunk);
  }

  function end(): void {
    if (held.length === 0) return;
    // Where all of them were taken back, as thoughts, the server's call is the answer.
    const left = written.every(isWithdrawn) ? [] : written.map(saidBy);
    const isEcho = (call: HeldCall): boolean => {
      const args = argsOf(call);
      const ofTool = left.filter(({ name }) => name === call.name);
      const found = ofTool.find((one) => one.args === args) ?? ofTool.find((one) => args === "{}" || one.isMadeUp);
      if (args === undefined || found === undefined) return false;
      left.splice(left.indexOf(found), 1);
      return true;
    };
    passOn(held.filter((call) => !isEcho(call)));
  }

  return holdingSink(sink, { tool, end, giveUp: end });
}

function saidBy(call: HeldCall) {
  return { name: call.name, args: argsOf(call), isMadeUp: call.chunks.some(({ error }) => error === MADE_UP) };
}

function isWithdrawn({ chunks }: HeldCall): boolean {
  return chunks.at(-1)!.errorType === "withdrawn";
}

/** The arguments of a call, as JSON with its keys in a fixed order; `undefined` if they are unknown. */
function argsOf({ argsText, argsValue, chunks }: HeldCall): string | undefined {
  const isUnknown =
    chunks.some(({ argsPathPatch }) => argsPathPatch !== undefined) || exceedsDepth(argsText, MAX_DEPTH);
  const value = isUnknown ? undefined : (argsValue ?? jsonIn(argsText.trim() || "{}"));
  return value === undefined ? undefined : orderedText(value ?? {});
}
