import { getOwn } from "./json.ts";

/** The target of a pointer inside a `$ref`, without its `#/`: RFC 6901 §6, percent-encoded, then `~1` and `~0`. */
export function followPointer(root: unknown, pointer: string): unknown {
  return pointer.split("/").reduce((target, token) => getOwn(target, decodeToken(percentDecoded(token))), root);
}

export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray percent sign stands for itself
  }
}

/** The steps of a JSON Pointer (RFC 6901). */
export function pointerSteps(pointer: string): string[] {
  return pointer === "" ? [] : pointer.slice(1).split("/").map(decodeToken);
}

/** A name as a step of a JSON Pointer. */
export function encodeToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function decodeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
