/** Steps from the root of an event to a place in it. */
export type EventPath = readonly (string | number)[];

/**
 * An event that is only a piece of something longer, and how to read similar ones without building the event:
 *
 * ```
 * { type: "delta", n: 7, index: 0, text: "lo" }     text: ["text"], index: ["index"], ignored: [["n"]]
 * ```
 *
 * It holds for all events equal to this one except for the values at these places, in any stream of the wire:
 * for them, `push(parser, text, index)` must do exactly what `parser.push(event)` does, at any time.
 */
export interface Delta<Parser> {
  /** Where the piece is: a string. */
  readonly text: EventPath;
  /** Where the number is that says what the piece belongs to; without it, no number may change. */
  readonly index?: EventPath;
  /** Places that the parser does not read, and that may change with every event: counters, padding, ids. */
  readonly ignored?: readonly EventPath[];
  /**
   * @param index 0 where the event has none
   * @returns false if only the event itself says what to do, and nothing was done
   */
  push(parser: Parser, text: string, index: number): boolean;
}
