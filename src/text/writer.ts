import type { ToolChunk } from "../stream/chunk.ts";

/** What a block may hold: calls, and (where a notation frames all that is said) text and reasoning. */
export interface BlockWriter {
  text(delta: string): void;
  reasoning(delta: string): void;
  /** A new call. It is told with its name. */
  call(): CallWriter;
}

/** Says one call in chunks. */
export interface CallWriter {
  hasName(): boolean;
  name(name: string, id?: string, metadata?: Readonly<Record<string, unknown>>): void;
  /** More of the arguments' JSON text. */
  args(delta: string): void;
  /** The model has ended the call. */
  done(): void;
  /** The text ended before the call did. */
  cut(reason?: string): void;
  /** The call is written in a way that can not be read: told to the model, never run. */
  unreadable(reason: string): void;
}

/** In a message that has calls of the wire's own these have none of their labels, and no fragment of theirs gets in here. */
export const TEXT_TURN = 1_000_000;

/**
 * Writes calls as the chunks that every parser makes.
 *
 * @param nameOf the name under which the turn knows a tool, of the one that the model wrote
 */
export function createWriter(
  sink: { text(delta: string): void; reasoning(delta: string): void; tool(chunk: ToolChunk): void },
  nameOf: (written: string) => string = (written) => written,
): BlockWriter {
  let calls = 0;
  return {
    text: (delta) => sink.text(delta),
    reasoning: (delta) => sink.reasoning(delta),
    call: () => createCall((chunk) => sink.tool(chunk), nameOf, calls++),
  };
}

function createCall(
  tell: (chunk: ToolChunk) => void,
  nameOf: (written: string) => string,
  position: number,
): CallWriter {
  // Labels that no wire uses: some adapters look a call up by its label alone.
  const label = { turnIndex: TEXT_TURN, callIndex: -1000 - position };
  let hasName = false;
  let isOver = false;
  /** Arguments that came before the name: a chunk without one would belong to the call before. */
  let waiting: string[] | undefined;

  /** A call without a name is told apart from the one before it by an id. */
  function fail(error: string | undefined, errorType: string): void {
    if (isOver) return;
    isOver = true;
    const argsTextDelta = waiting?.join("");
    tell({ ...label, ...(!hasName && { id: `text-${position}` }), argsTextDelta, error, errorType });
  }

  return {
    hasName: () => hasName,
    name(name, id, metadata) {
      if (hasName || isOver || name === "") return;
      hasName = true;
      tell({ ...label, id, name: nameOf(name), argsTextDelta: waiting?.join(""), metadata });
      waiting = undefined;
    },
    args(delta) {
      if (isOver || delta === "") return;
      if (hasName) tell({ ...label, argsTextDelta: delta });
      else (waiting ??= []).push(delta);
    },
    done() {
      if (!hasName) return fail("It does not say the name of a tool.", "unreadable");
      if (!isOver) tell({ ...label, done: true });
      isOver = true;
    },
    cut: (reason) => fail(reason, "truncated"),
    unreadable: (reason) => fail(reason, "unreadable"),
  };
}
