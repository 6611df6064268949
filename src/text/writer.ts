import type { ToolChunk } from "../stream/chunk.ts";

/** What a block may contain: calls, and (if the notation frames everything that is said) text and reasoning. */
export interface BlockWriter {
  text(delta: string): void;
  reasoning(delta: string): void;
  /** A new call. It is reported once it has a name. */
  call(): CallWriter;
}

/** Writes one call in chunks. */
export interface CallWriter {
  hasName(): boolean;
  name(name: string, id?: string, metadata?: Readonly<Record<string, unknown>>): void;
  /** More of the arguments' JSON text. */
  args(delta: string): void;
  /** The model has ended the call. */
  done(): void;
  /** The text ended before the call did. */
  cut(reason?: string): void;
  /** The call cannot be read: it is reported to the model. If it has ended, that is too late for a read. */
  unreadable(reason: string): void;
}

export interface TextWriter extends BlockWriter {
  /** How far the answer is: behind a result that the model made up, no call is run. */
  stage: "text" | "call" | "result";
}

/** Keeps calls found in text apart from the native calls of the same message: no fragment of one joins the other. */
export const TEXT_TURN = 1_000_000;

/** Why a call is refused as soon as it has a name: its arguments are not told. */
export const MADE_UP = "it follows a result that you wrote yourself; wait for the one of the tool";

/** A bracket after such a quote has closed the JSON too early: `{"content": "if (c == "}") …"}`. */
export const UNESCAPED = "its JSON is broken: it has two values, or a quote that is not escaped";

/**
 * Writes calls as the chunks that every parser produces.
 *
 * @param nameOf maps the name that the model wrote to the one under which the turn knows the tool
 */
export function createWriter(
  sink: { text(delta: string): void; reasoning(delta: string): void; tool(chunk: ToolChunk): void },
  nameOf: (written: string) => string = (written) => written,
): TextWriter {
  let calls = 0;
  return {
    stage: "text",
    text: (delta) => sink.text(delta),
    reasoning: (delta) => sink.reasoning(delta),
    call() {
      if (this.stage === "text") this.stage = "call";
      return createCall((chunk) => sink.tool(chunk), nameOf, calls++, this.stage === "result");
    },
  };
}

function createCall(
  tell: (chunk: ToolChunk) => void,
  nameOf: (written: string) => string,
  position: number,
  isMadeUp: boolean,
): CallWriter {
  // Labels that no wire uses: some adapters look up a call by its label alone.
  const label = { turnIndex: TEXT_TURN, callIndex: -1000 - position };
  let hasName = false;
  let isOver = false;
  let hasFailed = false;
  /** Arguments that came before the name: a chunk without one would belong to the call before. */
  let waiting: string[] | undefined;

  /** An id distinguishes a call without a name from the one before it. */
  function fail(error: string | undefined, errorType: "truncated" | "unreadable"): void {
    if (hasFailed || (isOver && errorType === "truncated")) return;
    isOver = hasFailed = true;
    const argsTextDelta = waiting?.join("");
    tell({ ...label, ...(!hasName && { id: `text-${position}` }), argsTextDelta, error, errorType });
  }

  return {
    hasName: () => hasName,
    name(name, id, metadata) {
      if (hasName || isOver || name === "") return;
      hasName = true;
      tell({ ...label, id, name: nameOf(name), argsTextDelta: waiting?.join(""), verbatim: true, metadata });
      waiting = undefined;
      if (isMadeUp) fail(MADE_UP, "unreadable");
    },
    args(delta) {
      if (isOver || delta === "") return;
      if (hasName) tell({ ...label, argsTextDelta: delta });
      else (waiting ??= []).push(delta);
    },
    done() {
      if (!hasName) return fail("it does not name a tool", "unreadable");
      if (!isOver) tell({ ...label, done: true });
      isOver = true;
    },
    cut: (reason) => fail(reason, "truncated"),
    unreadable: (reason) => fail(reason, "unreadable"),
  };
}
