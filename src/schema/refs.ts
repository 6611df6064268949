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

function followPointer(root: unknown, pointer: string): unknown {
  let target = root;
  for (const token of pointer.split("/")) {
    target = getOwn(target, unescape(token));
    if (target === undefined) return undefined;
  }
  return target;
}

/** RFC 6901 §6: percent-encoded, then `~1` and `~0`. */
function unescape(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // a stray percent sign stands for itself
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}
