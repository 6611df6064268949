import type { FinishReason } from "./events.ts";

/** What a provider's word for the end of a turn says, from the table of its words; `unknown` where it is not in it. */
export function finishReasons(words: Readonly<Record<string, FinishReason>>): (word: string) => FinishReason {
  const known = new Map(Object.entries(words));
  return (word) => known.get(word) ?? "unknown";
}

/** Whether a turn that ended so has said all that the model meant to say. A word that nobody knows does not vouch for it. */
export function isClean(finish: FinishReason): boolean {
  return finish === "stop" || finish === "tool-use";
}
