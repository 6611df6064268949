import { find, look, lookFor } from "../../src/text/look.ts";
import type { Tag, TagNotation } from "./tags.ts";
import type { ValueType } from "./typed.ts";

/** Tags whose attributes say what is called, and what is given: `<invoke name="f">`, `<parameter name="key">`. */
export interface AttributeTags {
  /** What begins a tag, what begins one that ends something, and what ends either. */
  readonly open: string;
  readonly close: string;
  readonly end: string;
  /** Of a call, and the attribute that names what is called. */
  readonly call: readonly [tag: string, name: string];
  /** Of a parameter, and the attribute that names it. */
  readonly parameter: readonly [tag: string, name: string];
  readonly sections: readonly string[];
  /** Only what follows distinguishes a call without a section from another notation, or other XML. */
  readonly isCommon: boolean;
  /** What the attributes of a parameter say about its value. */
  typeOf(attribute: (name: string) => string | undefined): ValueType;
}

/** The maximum length of a tag's attributes. */
const MAX_TAG = 240;

export function attributeTags({ open, close, end, call, parameter, sections, ...parts }: AttributeTags): TagNotation {
  const names = [call[0], parameter[0], ...sections];
  const begins = names.map((name) => open + name);
  const ends = names.map((name) => close + name);
  return {
    close,
    callEnd: ends[0]! + end,
    nexts: begins.toSpliced(1, 1),
    parameterEnd: ends[1]! + end,
    sectionEnds: ends.slice(2).map((tag) => tag + end),
    isCommon: parts.isCommon,
    tagAt(text, at, isInValue) {
      const closes = look(text, at, close);
      if (closes === "maybe") return closes;
      const isEnd = closes === "yes";
      const words = isEnd ? ends : begins;
      const found = lookFor(text, at, words);
      if (typeof found !== "object") return found;
      const behind = at + found.word.length;
      const head = text.slice(behind, behind + MAX_TAG + end.length - 1);
      const stop = head.indexOf(end);
      const length = stop < 0 ? find(head, Math.max(0, head.length - end.length + 1), [end]).at : stop;
      const attributes = head.slice(0, length);
      const kind = (["call", "parameter"] as const)[words.indexOf(found.word)] ?? "section";
      const hasNone = isEnd || kind === "section";
      if (hasNone ? attributes.trim() !== "" : /^\S/.test(attributes)) return undefined;
      // One that runs into another tag is not a tag, but code that looks for such tags.
      if (length >= MAX_TAG || attributes.includes("<")) return { kind, isEnd, end: behind };
      if (stop < 0) return "maybe";
      const attribute = (name: string) => attributeOf(attributes, name, isInValue);
      return {
        kind,
        isEnd,
        name: kind === "section" ? undefined : attribute(kind === "call" ? call[1] : parameter[1]),
        type: kind === "parameter" ? parts.typeOf(attribute) : undefined,
        // DeepSeek V4 sometimes writes calls without parameters this way: https://github.com/sgl-project/sglang/pull/23915
        isWhole: attributes.endsWith("/"),
        end: behind + length + end.length,
      } satisfies Tag;
    },
  };
}

/** @param isInValue where quotes may be escaped, in a value that is JSON */
function attributeOf(attributes: string, name: string, isInValue: boolean): string | undefined {
  const quote = isInValue ? String.raw`\\*"` : '"';
  return new RegExp(`\\b${name}\\s*=\\s*${quote}([^"]*)"`)
    .exec(attributes)?.[1]
    ?.replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

/** As it stands in an attribute. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}
