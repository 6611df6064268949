import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { textJson } from "../../adapters/text-json/index.ts";
import { notations, type NotationName } from "../../adapters/text-json/notations/index.ts";
import type { Adapter } from "../adapter.ts";
import { isDirectory } from "../replay/files.ts";
import { isRecord } from "../schema/json.ts";
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

/**
 * The adapter of a fixture of text, whose `meta.json` names it (`"wire": "text-json/hermes"`): the text itself does not
 * say in which notation its calls are.
 *
 * @throws CommandError if a package is missing
 */
export async function textFixtureAdapter(file: string): Promise<Adapter | undefined> {
  const folder = (await isDirectory(file)) ? file : dirname(file);
  const wire = await wireInMeta(join(folder, "meta.json"));
  if (wire === "text-helpers")
    return (await python(() => import("../../adapters/text-helpers/index.ts"))).textHelpers();
  const [kind, name = ""] = wire?.split("/") ?? [];
  return kind === "text-json" && Object.hasOwn(notations, name) ? textJson(name as NotationName) : undefined;
}

async function wireInMeta(path: string): Promise<string | undefined> {
  try {
    const meta: unknown = JSON.parse(await readFile(path, "utf8"));
    return isRecord(meta) && typeof meta["wire"] === "string" ? meta["wire"] : undefined;
  } catch {
    return undefined; // a recording need not have one
  }
}

/** @throws UsageError */
export function checkNotation(name: string): void {
  if (textNotations.includes(name)) return;
  throw new UsageError(`There is no notation ${JSON.stringify(name)}. The notations are: ${textNotations.join(", ")}.`);
}

/**
 * How calls are written in the text is no wire: any wire may carry such a text.
 *
 * @throws UsageError
 */
export function checkIsNoNotation(wire: string | undefined): void {
  const name = wire?.replace(/^text-(?:json\/)?/, "") ?? "";
  if (!textNotations.includes(name)) return;
  throw new UsageError(`${wire} is how calls are written in a text, not a wire: use --text ${name}.`);
}

async function notationOf(name: string): Promise<Notation> {
  if (name !== "helpers") return notations[name as NotationName];
  return (await python(() => import("../../adapters/text-helpers/notation.ts"))).helpers();
}

/** Reading Python takes a package of its own, which nothing else needs. */
function python<Module>(load: () => Promise<Module>): Promise<Module> {
  return installed("@lezer/python", load);
}
