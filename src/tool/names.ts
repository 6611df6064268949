/** What a provider accepts as the name of a tool. */
export interface NameRules {
  /** Matches one character that may stand anywhere, for example `/[a-zA-Z0-9_-]/`. */
  readonly allowed: RegExp;
  /** Matches one character that may stand first. Default: `allowed`. */
  readonly allowedFirst?: RegExp;
  /** In characters. Must leave room for the suffix of a shortened name: at least 16. */
  readonly maxLength: number;
}

/**
 * Creates the function that maps a tool's name to one that a provider accepts: a character that is not allowed becomes
 * `__`, a name whose first character may not stand first is prefixed with `_`, and one that is too long is cut and ends
 * with a hash of the whole name. A valid name stays as it is.
 *
 * The function is pure, so the same name gives the same result in every process. Two names may still map to the same
 * one (`math.add` and `math__add`), so compare the results of a set of tools before sending it.
 *
 * @example
 * const toolName = safeToolName({ allowed: /[a-zA-Z0-9_-]/, maxLength: 64 });
 * toolName("math.add"); // "math__add"
 */
export function safeToolName(rules: NameRules): (name: string) => string {
  const { maxLength, allowed, allowedFirst = allowed } = rules;
  return (name) => {
    let safe = "";
    // Not `test()`, which begins where it ended last time if the flags are `g` or `y`.
    for (const character of name) safe += character.search(allowed) === -1 ? "__" : character;
    if (safe.charAt(0).search(allowedFirst) === -1) safe = `_${safe}`;
    if (safe.length <= maxLength) return safe;
    const suffix = `_${hash(name).toString(16).padStart(8, "0")}`;
    return safe.slice(0, maxLength - suffix.length) + suffix;
  };
}

/**
 * What models write for a tool's name, with the namespace in which they were shown tools in training: GPT and Kimi
 * `functions.f`, with Kimi's count behind it (`functions.f:0`, or `f:0`), Gemini `default_api:f`. Behind gateways, any
 * of them speaks any wire. https://github.com/tontinton/maki/pull/518, https://github.com/tya5/reyn/pull/1992,
 * https://github.com/google-gemini/cookbook/issues/1374
 *
 * Servers may leave something behind it of what else their model wrote: tags that close what it never opened
 * (`f</arg_value>`), or gpt-oss's tokens (`f<|channel|>commentary`). If that may hold the arguments, the name is none.
 * https://github.com/fw-ai-external/python-sdk/issues/119, https://github.com/vercel/ai/issues/10202
 */
export const namespaced = /^(?:(?:functions|default_api)[.:])?([^<]+?)(?::\d+)?(?:<\|[^{]*|(?:<\/\w+>)*)$/;

/** 32 bits of FNV-1a over the UTF-16 units: short and the same everywhere; guards against accidents only. */
export function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
  }
  return bits >>> 0;
}
