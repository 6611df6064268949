import { getOwn, isRecord } from "./json.ts";

/**
 * What a `$ref` inside `root` leads to: a JSON pointer (`#`, `#/$defs/node`), an anchor (`#node`) or the `$id` of a
 * definition. `undefined` when it leads to nothing here; nothing is ever fetched.
 */
export function resolveRef(root: unknown, ref: string): unknown {
  if (ref === "#") return root;
  if (ref.startsWith("#/")) return followPointer(root, ref.slice(2));
  for (const definitions of [getOwn(root, "$defs"), getOwn(root, "definitions")]) {
    if (!isRecord(definitions)) continue;
    for (const definition of Object.values(definitions)) {
      const anchor = getOwn(definition, "$anchor");
      if (getOwn(definition, "$id") === ref || (typeof anchor === "string" && `#${anchor}` === ref)) return definition;
    }
  }
  return undefined;
}

/** The steps of a pointer inside a `$ref`, without its `#/`: RFC 6901 §6, percent-encoded, then `~1` and `~0`. */
export function followPointer(root: unknown, pointer: string): unknown {
  return pointer.split("/").reduce((target, token) => getOwn(target, unescapeToken(percentDecoded(token))), root);
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray percent sign stands for itself
  }
}

/** A step of a JSON Pointer (RFC 6901). */
export function unescapeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
