import type { WrittenCall } from "../../src/text/dialect.ts";
import { placeOf, pythonOf } from "../../src/text/python/write.ts";
import type { HelperMetadata } from "./calls.ts";
import { parameterNames, propertiesOf } from "./names.ts";
import { dependsOn } from "./run-block.ts";

/** Calls as lines of Python. A call in the arguments of another has no line of its own. */
export function linesOf(calls: readonly WrittenCall[]): string[] {
  const needed = new Set(calls.flatMap(dependsOn));
  return calls.flatMap((call) => {
    const { step, variable } = call.metadata as Partial<HelperMetadata>;
    if (typeof variable === "string") return [`${variable} = ${callOf(call)}`];
    return needed.has(step!) ? [] : [callOf(call)];
  });
}

/** Parameters have the names used in the tool's description, which depend on all of its parameters. */
function callOf({ name, args, tool, metadata }: WrittenCall): string {
  const known = tool === undefined ? Object.keys(args) : [...propertiesOf(tool.inputSchema.jsonSchema).keys()];
  const names = parameterNames([...new Set([...known, ...Object.keys(args)])]);
  const { references = [] } = metadata as Partial<HelperMetadata>;
  const sources = new Map(references.map(({ path, source }) => [placeOf(path), source]));
  const list = Object.entries(args).map(([key, value]) => `${names.get(key)!}=${pythonOf(value, sources, [key])}`);
  return `${name}(${list.join(", ")})`;
}
