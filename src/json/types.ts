/** What is known about a text that is still arriving. */
export type JsonState =
  /** Nothing but white space so far. */
  | "empty"
  /** A prefix of some JSON text. */
  | "open"
  /** The root value was closed: by its own last character, or by `end()` for a bare number or literal. */
  | "closed"
  /** No JSON text begins like this. What was read before stays as the value. */
  | "invalid"
  /** Nested deeper than `maxDepth`. What was read before stays as the value. */
  | "too_deep";

/**
 * What happened at one place of the value.
 *
 * ```
 * { path: [], value: {}, done: false }                  the object opened
 * { path: ["text"], value: "He", done: false }          a new value; open containers and strings are not done
 * { path: ["text"], append: "llo", done: true }         the string there grew, and is finished
 * { path: [], done: true }                              the object closed
 * ```
 * A `value` replaces whatever was there, an `append` extends it. Each property of a root object is reported under its
 * own path; what lies deeper may come inside the `value` of the property that contains it. The open parts of a `value`
 * are copies; its closed parts are shared with the parser's value: read them, do not write.
 */
export type JsonChange =
  | { readonly path: readonly (string | number)[]; readonly value: unknown; readonly done: boolean }
  | { readonly path: readonly (string | number)[]; readonly append: string; readonly done: boolean }
  | { readonly path: readonly (string | number)[]; readonly done: true };

/** An incremental JSON parser with a live partial value. */
export interface JsonParser {
  /**
   * Reads more text, each character once. Text after `invalid` or `too_deep` is ignored.
   *
   * @throws TypeError after `end()`.
   */
  feed(text: string): void;
  /** No more text will come: a bare number or literal at the root is now closed. */
  end(): void;
  readonly state: JsonState;
  /**
   * The value so far; `undefined` before there is any. The same object grows from one read to the next.
   * A container appears when it opens, a string when it opens (never with half an escape or half a surrogate pair), a
   * number or literal when it is finished, a key together with its value.
   */
  readonly value: unknown;
  /** What changed since the last call, in order. All changes applied to `undefined` give `value`. */
  changes(): JsonChange[];
}

/** A parser that builds its value twice, since readers of the live one might write to it. */
export interface TwinParser extends JsonParser {
  /** The unseen value of a closed root, once; `undefined` if there is none: a large one is not kept. */
  takeTwin(): unknown;
}
