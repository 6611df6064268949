import { ToolError } from "../errors.ts";
import type { StreamEvent, Turn } from "../stream/events.ts";
import type { Tool } from "../tool/tool.ts";
import type { Pump } from "./pump.ts";

/**
 * The events of one stream, readable once. Nothing is read until the first event is asked for.
 *
 * @example
 * for await (const event of stream) console.log(event.type);
 * messages.push(...adapter.assistantMessage(stream.turn), ...adapter.toolResults(stream.turn));
 */
export interface TurnStream<T extends Tool = Tool> extends AsyncIterable<StreamEvent<T>> {
  /** What has been read so far; complete after the last event. */
  readonly turn: Turn;
  /**
   * The same events in lists, one for each piece of the source that brought any: fewer promises when a network chunk
   * holds many events. Use it instead of iterating the stream itself.
   */
  readBatches(): AsyncIterable<readonly StreamEvent<T>[]>;
  /**
   * Reads the rest and returns the turn. Never rejects: a failure is `turn.error`.
   *
   * While a loop reads the stream, `done()` reads ahead and takes no event from it: the turn is then complete, while
   * the loop may still have events to come.
   */
  done(): Promise<Turn>;
}

/** The answer to a request for one event, or for all there are. */
type Received = IteratorResult<any, void>;

/** Never written to. */
const NO_EVENTS: StreamEvent[] = [];
const NOBODY = Promise.resolve();

/**
 * Hands out what a pump brings, in batches or one by one; events that came together are handed out without waiting.
 *
 * No async function on an event's path: with one event per network chunk, each promise counts.
 */
export class PumpedStream implements TurnStream, AsyncIterator<StreamEvent, void, undefined> {
  readonly #pump: Pump;
  /** Index of the next event in `#batch`. */
  #next = 0;
  #batch: StreamEvent[] = NO_EVENTS;
  /** Requests waiting for events. They are served first, in order. */
  #waiting = 0;
  /** How many of `#waiting` only read ahead. */
  #ahead = 0;
  /** Whether the request now waiting for the source wants everything it brings. */
  #wantsAll = false;
  #last: Promise<unknown> = NOBODY;
  readonly turn: Turn;
  #isTaken = false;
  /** The signal has fired, and the events buffered at that moment were dropped. */
  #isCut = false;

  constructor(pump: Pump) {
    this.turn = pump.reader.turn;
    this.#pump = pump;
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamEvent, void, undefined> {
    this.#claim();
    return this;
  }

  readBatches(): AsyncIterable<readonly StreamEvent[]> {
    return {
      [Symbol.asyncIterator]: () => {
        this.#claim();
        return { next: () => this.#ask(true), return: () => this.return() };
      },
    };
  }

  next(): Promise<IteratorResult<StreamEvent, void>> {
    return this.#ask(false);
  }

  /** The consumer stops early: the turn ends here, as aborted. */
  async return(): Promise<Received> {
    this.#batch = NO_EVENTS;
    this.#pump.stop(new ToolError("aborted", "Reading was stopped before the turn ended."));
    this.#pump.reader.take();
    return { value: undefined, done: true };
  }

  async done(): Promise<Turn> {
    if (this.#isTaken) {
      void this.#readAll();
      await this.#pump.over;
    } else {
      this.#isTaken = true;
      while ((await this.#ask(true)).done !== true);
    }
    return this.turn;
  }

  #claim(): void {
    if (this.#isTaken) throw new TypeError("This stream was read already; a stream is read once.");
    this.#isTaken = true;
  }

  #ask(all: boolean): Promise<Received> {
    if (this.#waiting === 0) return (this.#last = this.#now(all));
    // Reading ahead consumes no events: what is buffered waits only behind requests for events made before.
    if (this.#waiting === this.#ahead && this.#next < this.#batch.length) return Promise.resolve(this.#kept(all));
    return this.#inTurn(() => this.#now(all));
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const now = () => {
      this.#waiting--;
      return act();
    };
    const acted = this.#last.then(now, now);
    this.#last = acted;
    return acted;
  }

  #now(all: boolean): Promise<Received> {
    if (this.#next < this.#batch.length) return Promise.resolve(this.#kept(all));
    if (this.#pump.isOver) return Promise.resolve(this.#deliver(all));
    this.#waiting++;
    this.#wantsAll = all;
    return this.#pump.step().then(this.#onStep, this.#onThrown);
  }

  async #readAll(): Promise<void> {
    while (!this.#pump.isOver) await this.#readAhead();
  }

  /** Reads one more piece of the source and keeps its events for the next request. */
  #readAhead(): Promise<void> {
    this.#ahead++;
    return this.#inTurn(async () => {
      if (!this.#pump.isOver) {
        this.#waiting++;
        try {
          this.#pump.take(await this.#pump.step());
        } catch (error) {
          this.#pump.thrown(error);
        }
        this.#waiting--;
        this.#keep(this.#pump.reader.take());
      }
      this.#ahead--;
    });
  }

  #keep(events: StreamEvent[]): void {
    // A list that was handed out must not be added to.
    if (this.#next < this.#batch.length) {
      for (const event of events) this.#batch.push(event);
    } else {
      this.#batch = events;
      this.#next = 0;
    }
  }

  readonly #onStep = (step: IteratorResult<unknown>): Received | Promise<Received> => {
    this.#pump.take(step);
    return this.#goOn();
  };

  readonly #onThrown = (error: unknown): Received | Promise<Received> => {
    this.#pump.thrown(error);
    return this.#goOn();
  };

  #goOn(): Received | Promise<Received> {
    if (!this.#isReady()) return this.#untilReady();
    this.#waiting--;
    return this.#deliver(this.#wantsAll);
  }

  /**
   * A loop, so that a thousand pieces without an event do not make a chain of promises; with its own `await`, since a
   * function that does both would cost every piece one more promise.
   */
  async #untilReady(): Promise<Received> {
    do {
      try {
        this.#pump.take(await this.#pump.step());
      } catch (error) {
        this.#pump.thrown(error);
      }
    } while (!this.#isReady());
    this.#waiting--;
    return this.#deliver(this.#wantsAll);
  }

  #isReady(): boolean {
    return this.#pump.reader.hasEvents || this.#pump.isOver;
  }

  #deliver(all: boolean): Received {
    const { reader } = this.#pump;
    if (!reader.hasEvents) return { value: undefined, done: true };
    if (!all) {
      // Mostly there is just one, and nothing to buffer.
      const event = reader.takeOnly();
      if (event !== undefined) return { value: event, done: false };
    }
    this.#batch = reader.take();
    this.#next = 0;
    return this.#result(all);
  }

  /** From the buffered events. Once the signal has fired, only how their calls and the turn end is left of them. */
  #kept(all: boolean): Received {
    if (!this.#pump.isAborted || this.#isCut) return this.#result(all);
    this.#isCut = true;
    const kept = this.#batch.slice(this.#next);
    this.#batch = NO_EVENTS;
    this.#pump.abort(kept);
    return this.#deliver(all);
  }

  #result(all: boolean): Received {
    const batch = this.#batch;
    if (!all) return { value: batch[this.#next++]!, done: false };
    // Whoever takes lists takes nothing else, so all of it is left.
    this.#next = batch.length;
    return { value: batch, done: false };
  }
}
