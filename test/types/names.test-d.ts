// What a public declaration speaks of can be named by those who import it.
import type { Worker } from "bullmq";
import type { StreamedEvent, WholeResponse } from "../../adapters/openai-responses/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { anthropic, type MessagesClient, type WireEvent, type WireMessage } from "../../adapters/anthropic/index.ts";
import type {
  ToolUse,
  createJsonParser,
  Delta,
  EventPath,
  GivenContext,
  HistoryCall,
  HistoryResult,
  JsonState,
  MessageParts,
  Requested,
  ToolUseParts,
  Turn,
} from "../../src/index.ts";
import type { BullmqWorker, JobData, JobResult } from "../../src/workers/bullmq.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_Fact extends true>(): void => {};

is<Equal<Parameters<ToolUse["execute"]>[0], GivenContext | undefined>>();
is<Equal<ConstructorParameters<typeof ToolUse>[0], ToolUseParts<unknown, unknown>>>();
is<Equal<ReturnType<typeof createJsonParser>["state"], JsonState>>();
is<Equal<MessageParts<string>["calls"], readonly HistoryCall[] | undefined>>();
is<Equal<MessageParts<string>["results"], readonly HistoryResult<string>[] | undefined>>();
is<Equal<Delta<unknown>["text"], EventPath>>();
is<ReturnType<MessagesClient["messages"]["create"]> extends Requested<WireEvent> ? true : false>();
is<Equal<BullmqWorker["worker"], Worker<JobData, JobResult>>>();

/** A reader of one's own, over that of an adapter. */
export const read = {
  anthropic: (source: AsyncIterable<WireEvent>): Promise<Turn> => anthropic.read(source).done(),
  anthropicWhole: (message: WireMessage) => anthropic.parse(message),
  responses: (source: AsyncIterable<StreamedEvent>): Promise<Turn> => openaiResponses.read(source).done(),
  responsesWhole: (response: WholeResponse) => openaiResponses.parse(response),
};
