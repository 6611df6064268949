/** Steps from the root of an event to a place in it. */
export type EventPath = readonly (string | number)[];

/**
 * An event that is nothing but a piece of something longer, and how to read those like it without making the event:
 *
 * ```
 * { type: "delta", n: 7, index: 0, text: "lo" }     text: ["text"], index: ["index"], ignored: [["n"]]
 * ```
 *
 * It holds for the events that are equal to this one but for the values at these places, in any stream of the wire:
 * `push(parser, text, index)` has to do for them just what `parser.push(event)` does, at any time.
 */
export interface Delta<Parser> {
  /** Where the piece is, a string. */
  readonly text: EventPath;
  /** Where the number is that says what it is a piece of; without it no number may change. */
  readonly index?: EventPath;
  /** Places that the parser does not look at, and that may change with every event: counters, padding. */
  readonly ignored?: readonly EventPath[];
  /** Others that it does not look at, and that are mostly the same in all of a stream: ids. */
  readonly steady?: readonly EventPath[];
  /**
   * @param index 0 where the event has none
   * @returns false where it takes the event itself to know what to do, and nothing was done
   */
  push(parser: Parser, text: string, index: number): boolean;
}
