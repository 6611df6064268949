import type { WrittenCall } from "../../src/text/dialect.ts";
import type { HelperMetadata } from "./calls.ts";
import { parameterNames, propertiesOf } from "./names.ts";

/** Calls as lines of Python. A call in the arguments of another has no line of its own. */
export function linesOf(calls: readonly WrittenCall[]): string[] {
  const needed = new Set(calls.flatMap(({ metadata }) => (metadata as Partial<HelperMetadata>).dependsOn ?? []));
  return calls.flatMap((call) => {
    const { step, variable } = call.metadata as Partial<HelperMetadata>;
    if (typeof variable === "string") return [`${variable} = ${callOf(call)}`];
    return step !== undefined && needed.has(step) ? [] : [callOf(call)];
  });
}

/** Parameters have the names used in the tool's description, which depend on all of its parameters. */
function callOf({ name, args, tool, metadata }: WrittenCall): string {
  const known = tool === undefined ? Object.keys(args) : [...propertiesOf(tool.inputSchema.jsonSchema).keys()];
  const names = parameterNames([...new Set([...known, ...Object.keys(args)])]);
  const { references = [] } = metadata as Partial<HelperMetadata>;
  const sources = new Map(references.map(({ path, source }) => [keyOf(path), source]));
  const list = Object.entries(args).map(([key, value]) => `${names.get(key)!}=${pythonOf(value, sources, [key])}`);
  return `${name}(${list.join(", ")})`;
}

/** A value in Python syntax, with references to results written as their sources, which are keyed by place. */
export function pythonOf(
  value: unknown,
  sources: ReadonlyMap<string, string> = new Map(),
  path: readonly (string | number)[] = [],
): string {
  const source = sources.size === 0 ? undefined : sources.get(keyOf(path));
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

function keyOf(path: readonly (string | number)[]): string {
  return JSON.stringify(path);
}
