import type { ParserSink } from "../adapter.ts";
import { jsonIn } from "../json/index.ts";
import { isRecord } from "../schema/json.ts";
import { toolChunk, type ToolChunk } from "../stream/chunk.ts";
import { toolsByEachName, type ToolSource } from "../tool/tool-set.ts";
import { HeldCall, holdingSink, MAX_HELD, type HoldingSink } from "./held.ts";

/** A function that models know from their training, which wraps several calls into one. */
const WRAPPERS: ReadonlySet<string> = new Set(["multi_tool_use.parallel", "multi_tool_use", "parallel"]);

/** The wrapped calls have labels of their own. */
const EXPANDED_TURN = 2_000_000;

/**
 * A sink in front of another: a call of `multi_tool_use.parallel` with
 * `{"tool_uses": [{"recipient_name": "functions.f", "parameters": {…}}]}` becomes the calls that it wraps, if no tool of
 * that name was offered and all of the wrapped ones were.
 */
export function expandParallel(
  sink: ParserSink,
  toolName: (name: string) => string,
  tools: ToolSource | undefined,
): HoldingSink {
  const known = toolsByEachName(tools ?? [], toolName);
  const held: HeldCall[] = [];
  /** Wrappers that were expanded, with the labels of their calls. */
  const released: { readonly call: HeldCall; readonly labels: readonly ToolChunk[] }[] = [];
  let expanded = 0;

  function tool(chunk: ToolChunk): void {
    const { error, errorType } = chunk;
    const over = errorType === undefined ? undefined : released.find((one) => one.call.owns(chunk));
    if (over !== undefined) return over.labels.forEach((label) => sink.tool({ ...label, error, errorType }));
    let call = held.findLast((one) => one.owns(chunk));
    if (call !== undefined) call.add(chunk);
    else {
      const { name } = chunk;
      if (known.size === 0 || !name || known.has(name) || !WRAPPERS.has(name)) return sink.tool(chunk);
      held.push((call = new HeldCall(chunk)));
    }
    if (call.argsText.length > MAX_HELD || call.hasFailed) passOn(call);
    else if (chunk.done === true) release(call, true);
  }

  function release(call: HeldCall, isDone: boolean): void {
    const calls = wrappedIn(call, known);
    if (calls === undefined) return passOn(call);
    held.splice(held.indexOf(call), 1);
    // Completeness is decided as for any other call.
    const labels = calls.map(({ name, args }) => {
      const callIndex = expanded++;
      // As values: only so is a number noticed that has lost digits, and a depth over the limit.
      sink.tool(toolChunk(EXPANDED_TURN, callIndex, undefined, name, undefined, isDone || undefined, undefined, args));
      return { turnIndex: EXPANDED_TURN, callIndex };
    });
    released.push({ call, labels });
  }

  function passOn(call: HeldCall): void {
    held.splice(held.indexOf(call), 1);
    for (const chunk of call.chunks) sink.tool(chunk);
  }

  return holdingSink(sink, {
    tool,
    end: () => [...held].forEach((call) => release(call, false)),
    giveUp: () => [...held].forEach(passOn),
  });
}

interface WrappedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

function wrappedIn(call: HeldCall, known: ReadonlyMap<string, unknown>): WrappedCall[] | undefined {
  const value = call.argsValue ?? jsonIn(call.argsText);
  const uses = isRecord(value) ? value["tool_uses"] : undefined;
  if (!Array.isArray(uses) || uses.length === 0) return undefined;
  const calls: WrappedCall[] = [];
  for (const use of uses as unknown[]) {
    if (!isRecord(use) || typeof use["recipient_name"] !== "string" || !isRecord(use["parameters"])) return undefined;
    const name = use["recipient_name"].replace(/^functions\./, "");
    if (!known.has(name)) return undefined;
    calls.push({ name, args: use["parameters"] });
  }
  return calls;
}
