import type { StreamSource } from "../adapter.ts";
import type { ConversationAdapter, Model, ModelRequest, ModelTurn, ResponseInfo } from "../model.ts";
import { openTurn, responseInfo } from "../open-turn.ts";
import type { Recording } from "../replay/recording.ts";
import { isResponse } from "../source.ts";

/** One answer: a recording, bytes, a `Response`, the events of a stream, or a function that makes one for a request. */
export type ReplayedTurn<Message = any> = ReplaySource | ((request: ModelRequest<Message>) => ReplaySource);
type ReplaySource = Recording | Uint8Array | Iterable<unknown> | StreamSource<any>;

/** A model that answers from recordings, and keeps the requests it gets. */
export interface ReplayModel<Message = any> extends Model<Message> {
  /** The requests so far, oldest first; the messages are copies. */
  readonly requests: readonly ModelRequest<Message>[];
}

/**
 * A model that answers with recordings, one per turn: for tests, and for a run without a key.
 *
 * @throws TypeError from `open()` when no answer is left, or it is not an answer
 * @example
 * const model = replayModel(anthropic, [await loadRecording("fixtures/anthropic/parallel")]);
 */
export function replayModel<Message>(
  adapter: ConversationAdapter<Message>,
  turns: readonly ReplayedTurn<Message>[],
): ReplayModel<Message> {
  if (typeof adapter?.read !== "function" || !Array.isArray(turns)) {
    throw new TypeError("replayModel() takes an adapter and a list of answers, one for each turn.");
  }
  const requests: ModelRequest<Message>[] = [];
  let last: ModelTurn | undefined;
  return {
    ...adapter.conversation,
    adapter,
    requests,
    open(request): ModelTurn {
      const answer = turns[requests.length];
      if (answer === undefined) {
        // A loop asks again after a lost connection, and nothing else would tell of it.
        const failed = last?.turn.error;
        const hint = failed === undefined ? "" : ` Turn ${turns.length} failed: ${failed.message}`;
        throw new TypeError(
          `This replayModel() was asked for turn ${turns.length + 1} and has ${turns.length}. Give it another recording.${hint}`,
        );
      }
      requests.push({ ...request, messages: structuredClone(request.messages) as Message[] });
      const said = typeof answer === "function" ? answer(request) : answer;
      const events = sourceOf(said);
      const { tools = [], signal, runId } = request;
      last = openTurn<unknown>(
        (source) => adapter.read(source, { tools, signal, runId }),
        async () => ({ events, response: isResponse(said) ? await accepted(said) : undefined }),
      );
      return last;
    },
  };
}

/** @throws what an SDK throws for a response with an error status */
async function accepted(response: Response): Promise<ResponseInfo> {
  const { ok, status, headers } = response;
  if (!ok) throw Object.assign(new Error(await response.text()), { status, headers });
  return responseInfo(status, headers);
}

function sourceOf(source: ReplaySource): AsyncIterable<unknown> {
  if (typeof source !== "object" || source === null) throw noSource(JSON.stringify(source) ?? typeof source);
  if (isRecording(source)) return each([source.bytes]);
  if (ArrayBuffer.isView(source)) return each([source]);
  if (Symbol.iterator in source) return each(source);
  if (Symbol.asyncIterator in source) return source as AsyncIterable<unknown>;
  if (isResponse(source)) return source.body ?? each([]);
  if ("then" in source) throw noSource("a promise, which must be awaited first");
  const keys = Object.keys(source).join(", ") || "no keys";
  throw noSource(`an object with ${keys}; Response.json(answer) makes one of a whole answer`);
}

function noSource(got: string): TypeError {
  return new TypeError(`replayModel() takes recordings, bytes or events, got ${got}; loadRecording(path) reads a file`);
}

function isRecording(source: ReplaySource): source is Recording {
  return "bytes" in source && ArrayBuffer.isView(source.bytes);
}

async function* each(events: Iterable<unknown>): AsyncIterable<unknown> {
  yield* events;
}
