import { notations, type NotationName } from "../../adapters/text-json/notations/index.ts";
import type { Adapter } from "../adapter.ts";
import type { Notation } from "../text/notation.ts";
import { rescue } from "../text/rescue.ts";
import { installed, UsageError } from "./usage-error.ts";

/** The notations of `--text`. */
export const textNotations: readonly string[] = ["helpers", ...Object.keys(notations)];

/**
 * An adapter that also finds calls written in the text, and in the reasoning.
 *
 * @throws CommandError if a package is missing
 */
export async function withTextCalls(adapter: Adapter, name: string): Promise<Adapter> {
  return rescue(adapter, { notations: [await notationOf(name)], reasoning: true });
}

/** @throws UsageError */
export function checkNotation(name: string): void {
  if (textNotations.includes(name)) return;
  throw new UsageError(`There is no notation ${JSON.stringify(name)}. The notations are: ${textNotations.join(", ")}.`);
}

/** Reading Python takes a package of its own, which nothing else needs. */
async function notationOf(name: string): Promise<Notation> {
  if (name !== "helpers") return notations[name as NotationName];
  const { helpers } = await installed("@lezer/python", () => import("../../adapters/text-helpers/notation.ts"));
  return helpers();
}
