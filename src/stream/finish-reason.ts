import type { FinishReason } from "./events.ts";

/** The meaning of a provider's word for the end of a turn, from its table of words; `unknown` if it is not listed. */
export function finishReasons(words: Readonly<Record<string, FinishReason>>): (word: string) => FinishReason {
  const known = new Map(Object.entries(words));
  return (word) => known.get(word) ?? "unknown";
}

/** Whether a turn with this ending is complete, with nothing left unsaid. An unknown word is no guarantee of that. */
export function isClean(finish: FinishReason): boolean {
  return finish === "stop" || finish === "tool-use";
}
