import type { TextDialect } from "../../../src/text/dialect.ts";
import { anyName } from "../names.ts";
import type { JsonDialect } from "../prompt.ts";
import { deepseek } from "./deepseek.ts";
import { dsml } from "./dsml.ts";
import { glm } from "./glm.ts";
import { gemma } from "./gemma.ts";
import { invoke } from "./invoke.ts";
import { qwenXml } from "./qwen-xml.ts";
import { functionTag } from "./function-tag.ts";
import { harmony } from "./harmony.ts";
import { hermes } from "./hermes.ts";
import { kimi } from "./kimi.ts";
import { mistral } from "./mistral.ts";
import { pythonic } from "./pythonic.ts";
import { xtml } from "./xtml.ts";

/** If several share a marker, the first one that can read what follows does. */
export const notations = {
  hermes,
  mistral,
  "qwen-xml": qwenXml,
  glm,
  "function-tag": functionTag,
  kimi,
  deepseek,
  dsml,
  invoke,
  xtml,
  harmony,
  gemma,
  pythonic,
} as const satisfies Record<string, JsonDialect>;

export type NotationName = keyof typeof notations;

/** @throws TypeError that lists the known ones */
export function notationNamed(name: NotationName): TextDialect {
  if (Object.hasOwn(notations, name)) return { ...notations[name], toolName: anyName };
  throw new TypeError(`There is no notation ${JSON.stringify(name)}; there are ${Object.keys(notations).join(", ")}.`);
}
