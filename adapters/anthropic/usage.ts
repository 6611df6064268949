import type { ParserSink } from "../../src/adapter.ts";
import type { Usage } from "../../src/stream/events.ts";
import { countOf, isNothing } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** `input_tokens` excludes cache reads and writes; the total is the sum of the three. */
function usageOf(raw: WireUsage): Usage {
  const fresh = countOf(raw.input_tokens);
  const cacheReadTokens = countOf(raw.cache_read_input_tokens);
  const cacheWriteTokens = countOf(raw.cache_creation_input_tokens);
  const inputTokens = fresh === undefined ? undefined : fresh + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = countOf(raw.output_tokens);
  const totalTokens = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  const reasoningTokens = countOf(raw.output_tokens_details?.thinking_tokens);
  return { inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, raw };
}

/** What was read: the names of its counts. */
const READ = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] as const;

/** Whether counts tell that anything was read: a gateway that does not know it any more says zero. */
const tellsRead = (counts: WireUsage): boolean => READ.some((name) => (countOf(counts[name]) ?? 0) > 0);

/** The counts of a message, which come in parts. */
export class UsageSum {
  readonly #sink: ParserSink;
  #sum: WireUsage | undefined;
  #isTold = true;

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  /** A message begins. */
  begin(): void {
    this.#sum = undefined;
  }

  /**
   * Counts are cumulative; `null` in a later frame means that the count is not repeated, as do zeros for all that was
   * read: https://github.com/envoyproxy/ai-gateway/pull/1631. A lower count counts: the first may be an estimate.
   */
  add(more: WireUsage | null | undefined): void {
    if (!more) return;
    const sum: Record<string, unknown> = { ...this.#sum };
    const known: readonly string[] = this.#sum !== undefined && tellsRead(this.#sum) && !tellsRead(more) ? READ : [];
    for (const [name, value] of Object.entries(more)) {
      if (!isNothing(value) && name !== "__proto__" && !known.includes(name)) sum[name] = value;
    }
    this.#sum = sum as WireUsage;
    this.#isTold = false;
  }

  /** Reports what is new. */
  tell(): void {
    if (this.#sum === undefined || this.#isTold) return;
    this.#isTold = true;
    this.#sink.usage(usageOf(this.#sum));
  }
}
