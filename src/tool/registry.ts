import { invalidTool } from "./policy.ts";
import { checkTool, duplicateTool, type ToolSource, toolList } from "./tool-set.ts";
import { ToolUse } from "./use.ts";
import type { Tool, ToolMode } from "./tool.ts";

/** How a tool is registered. */
export interface RegisterOptions {
  /** `"external"` hands a tool's calls to the caller even if it has a handler. */
  readonly mode?: ToolMode | undefined;
}

/**
 * A set of tools that grows, found by name (`getWeather`) or qualified name (`Weather.getWeather`).
 * No two of them share either.
 *
 * @example
 * const registry = new ToolRegistry(toolsOf(new Weather()));
 * registry.register(deleteFile, { mode: "external" });
 */
export class ToolRegistry {
  /** By name and by qualified name; a Map, since models also ask for `constructor`. */
  readonly #known = new Map<string, Tool>();
  readonly #tools: Tool[] = [];

  /** @throws ToolError `duplicate_tool` */
  constructor(tools: ToolSource = []) {
    for (const tool of toolList(tools)) this.register(tool);
  }

  /**
   * Adds a tool and returns it as the registry holds it.
   *
   * @throws ToolError `duplicate_tool` when another one has its name or its qualified name; `invalid_tool` for
   *   `mode: "internal"` of a tool without a handler
   */
  register(tool: Tool, options: RegisterOptions = {}): Tool {
    checkTool(tool);
    const { mode = tool.mode } = options;
    for (const name of [tool.name, tool.qualifiedName]) {
      const first = this.#known.get(name);
      if (first !== undefined) throw duplicateTool(first, tool, name);
    }
    const registered = inMode(tool, mode);
    this.#known.set(tool.name, registered);
    this.#known.set(tool.qualifiedName, registered);
    this.#tools.push(registered);
    return registered;
  }

  /** By exact name or qualified name; `undefined` if there is no such tool. */
  get(name: string): Tool | undefined {
    return this.#known.get(name);
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** `undefined` if there is no such tool. */
  mode(name: string): ToolMode | undefined {
    return this.get(name)?.mode;
  }

  /** Also false if there is no such tool. */
  isExternal(name: string): boolean {
    return this.mode(name) === "external";
  }

  /** All tools, in the order they were registered. */
  tools(): readonly Tool[] {
    return [...this.#tools];
  }
}

/** The tool itself, or an external view of it. */
function inMode(tool: Tool, mode: ToolMode): Tool {
  if (mode === tool.mode) return tool;
  if (mode === "internal") {
    throw invalidTool(tool.qualifiedName, "it has no execute function and can only be external.");
  }
  if (mode !== "external") throw new TypeError(`mode is "internal" or "external", got ${JSON.stringify(mode)}`);
  const view: Tool = {
    ...tool,
    mode,
    execute: undefined,
    use: (input, init) => ToolUse.from(view, input, init),
  };
  return Object.freeze(view);
}
