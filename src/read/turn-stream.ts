import { ToolError } from "../errors.ts";
import type { StreamEvent, Turn } from "../stream/events.ts";
import type { Tool } from "../tool/tool.ts";
import type { Pump } from "./pump.ts";

/**
 * The events of one stream, once. Reading starts with the first event that is asked for.
 *
 * @example
 * for await (const event of stream) console.log(event.type);
 * messages.push(...adapter.assistantMessage(stream.turn), ...adapter.toolResults(stream.turn));
 */
export interface TurnStream<T extends Tool = Tool> extends AsyncIterable<StreamEvent<T>> {
  /** What has been read so far; complete after the last event. */
  readonly turn: Turn;
  /**
   * The same events in lists, one for each piece of the source that brought any: fewer promises, where a network chunk
   * holds many events. In place of iterating the stream itself.
   */
  readBatches(): AsyncIterable<readonly StreamEvent<T>[]>;
  /**
   * Reads what is left, and gives the turn. Never rejects: a failure is `turn.error`.
   *
   * While a loop reads the stream, it reads ahead of that loop and takes no event from it: the turn is complete, and the
   * loop may still have events to come.
   */
  done(): Promise<Turn>;
}

/** What somebody who asked for an event, or for all there are, gets. */
type Received = IteratorResult<any, void>;

/** Never written to. */
const NO_EVENTS: StreamEvent[] = [];
const NOBODY = Promise.resolve();

/**
 * What a pump brings, in batches or one by one, without waiting for those that came together.
 *
 * No async function on the way of an event, since with one event a network chunk each promise counts.
 */
export class PumpedStream implements TurnStream, AsyncIterator<StreamEvent, void, undefined> {
  readonly #pump: Pump;
  /** Of a batch with more than one event. */
  #next = 0;
  #batch: StreamEvent[] = NO_EVENTS;
  /** Whoever asked before the events were there is served first, in turn. */
  #waiting = 0;
  /** How many of those only read ahead. */
  #ahead = 0;
  /** Whether the one who waits for the source wants all that it brings. */
  #wantsAll = false;
  #last: Promise<unknown> = NOBODY;
  readonly turn: Turn;
  #isTaken = false;
  /** The signal has fired, and what was kept then is dropped. */
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

  /** The consumer has enough: the turn ends here, as one that was aborted. */
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
    // Who reads ahead takes none of the events that are here: they wait only for those who asked for events before.
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

  /** One more piece of the source, whose events are kept for whoever asks next. */
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
    // A list that was handed out is not ours to add to.
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

  /** A loop, so that a thousand pieces without an event do not make a chain of promises. */
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
      // Mostly there is one, and nothing to be kept.
      const event = reader.takeOnly();
      if (event !== undefined) return { value: event, done: false };
    }
    this.#batch = reader.take();
    this.#next = 0;
    return this.#result(all);
  }

  /** Of what came together. Once the signal has fired there is nothing more of it but how the turn ends then. */
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
    const from = this.#next;
    if (!all) return { value: batch[this.#next++]!, done: false };
    this.#next = batch.length;
    return { value: from === 0 ? batch : batch.slice(from), done: false };
  }
}
