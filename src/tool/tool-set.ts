import { ToolError } from "../errors.ts";
import { isRecord, kindOf, kindOfObject } from "../schema/json.ts";
import type { Tool } from "./tool.ts";

/** Tools as a list, or anything that holds one (a `ToolRegistry`). */
export type ToolSource<T extends Tool = Tool> = readonly T[] | { tools(): readonly T[] };

/**
 * The tools of a source, in its order.
 *
 * @throws ToolError `duplicate_tool` when two of them have the same name; it says where both come from.
 * @throws TypeError when the source holds something that is not a tool.
 */
export function toolList(source: ToolSource): readonly Tool[] {
  const tools = listOf(source);
  toolsByName(tools);
  return tools;
}

/**
 * The tools of a source by their names, or by the names that `nameOf` makes of them.
 *
 * @throws as {@link toolList}, and when two of the resulting names are the same
 */
export function toolsByName(source: ToolSource, nameOf?: (name: string) => string): Map<string, Tool> {
  const found = new Map<string, Tool>();
  for (const tool of listOf(source)) {
    checkTool(tool);
    const name = nameOf === undefined ? tool.name : nameOf(tool.name);
    const first = found.get(name);
    if (first !== undefined) {
      throw duplicateTool(first, tool, first.name === tool.name ? tool.name : `${name} on the wire`);
    }
    found.set(name, tool);
  }
  return found;
}

/**
 * What is made of the tools of a source: kept with the first tool, as long as that lives, and made again when the list
 * differs. Most streams have the tools of the stream before: a registry may grow and a server's tools may change, but
 * hardly ever between two calls.
 *
 * @param make may depend on one more value
 */
export function onceForTools<Made, By = void>(
  make: (tools: readonly Tool[], by: By) => Made,
): (source: ToolSource, by: By) => Made {
  const kept = new WeakMap<Tool, { readonly tools: readonly Tool[]; readonly by: By; readonly made: Made }>();
  return (source, by) => {
    const tools = listOf(source);
    const last = kept.get(tools[0]!);
    if (
      last?.tools.length === tools.length &&
      last.by === by &&
      tools.every((tool, index) => tool === last.tools[index])
    )
      return last.made;
    const made = make(tools, by);
    if (tools.length > 0) kept.set(tools[0]!, { tools: [...tools], by, made });
    return made;
  };
}

/**
 * The tools of a source by the names that `nameOf` makes of them, and also by their own and their qualified names, where
 * no other tool has that name: servers know some tools by themselves (`$web_search`), and models write names as they
 * read them elsewhere.
 *
 * @throws as {@link toolsByName}
 */
export const toolsByEachName = /* @__PURE__ */ onceForTools(
  (tools, nameOf: ((name: string) => string) | undefined): ReadonlyMap<string, Tool> => {
    const found = toolsByName(tools, nameOf);
    for (const key of ["name", "qualifiedName"] as const) {
      for (const tool of tools) if (!found.has(tool[key])) found.set(tool[key], tool);
    }
    return found;
  },
);

function listOf(source: ToolSource): readonly Tool[] {
  const tools: unknown = (source as { tools?(): readonly Tool[] } | undefined)?.tools?.() ?? source;
  if (Array.isArray(tools)) return tools;
  throw new TypeError(
    `tools are a list of tools, such as Object.values(tools), or a ToolRegistry, got ${kindOf(source)}`,
  );
}

/**
 * The named tools of a source, in the order of the source.
 *
 * @throws TypeError when one of them is missing
 */
export function namedTools(source: ToolSource, names: readonly string[]): readonly Tool[] {
  const tools = toolList(source);
  for (const name of names) {
    if (tools.some((tool) => tool.name === name)) continue;
    throw new TypeError(`toolChoice names ${name}, the tools are ${tools.map((tool) => tool.name).join(", ")}.`);
  }
  return tools.filter((tool) => names.includes(tool.name));
}

/** @throws TypeError that says what to do, when a value is not a tool */
export function checkTool(tool: unknown): asserts tool is Tool {
  if (typeof (tool as Tool | undefined)?.use === "function") return;
  const got = isRecord(tool) ? kindOfObject(tool) : kindOf(tool);
  throw new TypeError(`a tool is made by defineTool() or toolsOf(), got ${got}`);
}

export function duplicateTool(first: Tool, second: Tool, name = second.name): ToolError {
  const origins =
    first.qualifiedName === second.qualifiedName
      ? `both come from ${first.qualifiedName}`
      : `one comes from ${first.qualifiedName}, one from ${second.qualifiedName}`;
  return new ToolError("duplicate_tool", `Two tools are called ${name}: ${origins}. Give one of them another name.`);
}
