/** A value in Python syntax, with references to results written as their sources, which are keyed by place. */
export function pythonOf(
  value: unknown,
  sources: ReadonlyMap<string, string> = new Map(),
  path: readonly (string | number)[] = [],
): string {
  const source = sources.size === 0 ? undefined : sources.get(placeOf(path));
  if (source !== undefined) return source;
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((item, at) => pythonOf(item, sources, [...path, at])).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}: ${pythonOf(item, sources, [...path, key])}`,
    );
    return `{${entries.join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** A place in a value, as a key. */
export function placeOf(path: readonly (string | number)[]): string {
  return JSON.stringify(path);
}
