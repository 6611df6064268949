import type { Adapter, StreamSource, Parser, ParserSink } from "../adapter.ts";
import { parseResponse, readTurn, type ReadOptions } from "../read/index.ts";
import type { Notation, TextOptions } from "./notation.ts";
import { dropEchoes } from "./echoes.ts";
import { mendLeaks } from "./leaks.ts";
import { expandParallel } from "./parallel.ts";
import { textSink } from "./sink.ts";

export interface RescueOptions extends Pick<TextOptions, "reasoning" | "thinking"> {
  /** The notations to look for. */
  readonly notations: readonly Notation[];
}

/**
 * An adapter that also finds the calls that its model, or a broken server, wrote into the text. They become calls of the
 * turn like any other, and go back in the wire's own form.
 *
 * It wraps an adapter rather than being an option of every `read()`, so that adapters know nothing of notations, they
 * are loaded only if needed, and whatever takes an adapter takes this one.
 */
export function rescue<A extends Adapter>(adapter: A, { notations, reasoning, thinking }: RescueOptions): A {
  const { toolName } = adapter;
  // Adapters with parser options take them as a second argument.
  const inner = adapter.parser as (sink: ParserSink, options?: object) => Parser<unknown>;

  function parser(sink: ParserSink, options: ReadOptions = {}): Parser<unknown> {
    const calls = expandParallel(sink, toolName, options.tools);
    const once = dropEchoes(calls);
    const mended = mendLeaks(
      once,
      notations.flatMap(({ leaks }) => (leaks === undefined ? [] : [leaks])),
    );
    const text = textSink(mended, notations, adapter, { ...options, reasoning, thinking });
    const parsed = inner.call(adapter, text, options);
    return new RescueParser(parsed, [text, mended, once, calls]);
  }

  const reading = (options: ReadOptions) => ({ ...adapter, parser: (sink: ParserSink) => parser(sink, options) });
  return {
    ...adapter,
    parser,
    read: (source: StreamSource<unknown>, options: ReadOptions = {}) => readTurn(reading(options), source, options),
    parse: (response: unknown, options: ReadOptions = {}) => parseResponse(reading(options), response, options),
  };
}

/**
 * The adapter's own parser, and the sinks in front of the turn's, in the order in which they end. A class, since V8 keeps
 * a literal with a getter as a dictionary.
 */
class RescueParser implements Parser<unknown> {
  readonly #parser: Parser<unknown>;
  readonly #sinks: readonly { end(): void }[];

  constructor(parser: Parser<unknown>, sinks: readonly { end(): void }[]) {
    this.#parser = parser;
    this.#sinks = sinks;
  }

  push(event: unknown): void {
    this.#parser.push(event);
  }

  end(): void {
    this.#parser.end();
    this.#release();
  }

  cut(): void {
    this.#parser.cut?.();
    this.#release();
  }

  #release(): void {
    for (const sink of this.#sinks) sink.end();
  }

  thrown(error: unknown): unknown {
    return this.#parser.thrown?.(error);
  }

  get native(): unknown {
    return this.#parser.native;
  }
}
