import { aFunction, checkOptionNames, type OptionNames } from "../../tool/option-names.ts";
import { checkPrincipal } from "../context.ts";
import { quiet } from "./errors.ts";
import { approvalFeed, type FeedOptions } from "./feed.ts";
import { checkService } from "./guard.ts";
import { answerTo, parseMessage } from "./messages.ts";
import type { ServerMessage } from "./protocol.ts";

/** One connection of one principal, whatever carries the messages. */
export interface ApprovalSessionOptions extends Omit<FeedOptions, "signal"> {
  /** If it returns a promise, the next event is sent once that resolves. */
  readonly send: (message: ServerMessage) => void | Promise<void>;
  /** Whether clients may grant "always". Default: false. */
  readonly allowAlways?: boolean | undefined;
  /** Gets failures that the client is not told about. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const OPTIONS: OptionNames<ApprovalSessionOptions> = {
  service: true,
  principal: true,
  scope: true,
  runId: true,
  after: true,
  redact: aFunction,
  send: true,
  allowAlways: true,
  onError: aFunction,
};

export interface ApprovalSession {
  /** Handles one message from the client and sends the answer. Never rejects. */
  receive(text: string): Promise<void>;
  /** Ends the session; resolves when nothing more is sent. */
  end(): Promise<void>;
  /** Resolves when no more events come: after `end()`, or because the store failed. */
  readonly ended: Promise<void>;
}

/**
 * The approval protocol for one connection: sends the principal what it may decide, and takes its decisions.
 *
 * @example
 * const session = approvalSession({ service, principal, send: (message) => socket.send(JSON.stringify(message)) });
 * socket.onmessage = ({ data }) => session.receive(data);
 * socket.onclose = () => session.end();
 */
export function approvalSession(options: ApprovalSessionOptions): ApprovalSession {
  checkOptionNames("approvalSession()", options, OPTIONS);
  checkService("approvalSession", options.service);
  aFunction("send", options.send);
  // Without one, all that is pending would be sent.
  if (options.principal === undefined) throw new TypeError("approvalSession() needs a principal: whose session it is.");
  checkPrincipal(options.principal);
  const onError = quiet(options.onError);
  const ended = Promise.withResolvers<void>();
  let isOver = false;
  let feed = follow(options.after);

  /** Never rejects. Events wait for capacity; answers do not, since there is one per message from the client. */
  async function send(message: ServerMessage): Promise<void> {
    if (isOver) return;
    try {
      await options.send(message);
    } catch (error) {
      onError(error);
    }
  }

  function follow(after: number | undefined) {
    const stop = new AbortController();
    const pump = async () => {
      for await (const message of approvalFeed({ ...options, after, signal: stop.signal })) {
        if (stop.signal.aborted) return;
        await send(message);
      }
    };
    const done = pump()
      .catch(onError)
      .then(() => {
        if (feed.stop === stop) ended.resolve();
      });
    return { stop, done };
  }

  async function resume(seq: number): Promise<void> {
    const before = feed;
    before.stop.abort();
    feed = follow(seq);
    await before.done;
  }

  return {
    async receive(text) {
      if (isOver) return;
      const message = parseMessage(text);
      if (message.type === "approval.error") void send(message);
      else if (message.type === "approval.resume") await resume(message.seq);
      else void send(await answerTo(message, options, onError));
    },
    async end() {
      isOver = true;
      feed.stop.abort();
      await feed.done;
    },
    ended: ended.promise,
  };
}
