import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ToolError } from "../errors.ts";
import { jsonSchema } from "../schema/index.ts";
import { defineTool, type Tool } from "../tool/tool.ts";
import { toolList } from "../tool/tool-set.ts";

/**
 * Loads tools from a JSON file (an array of `{ name, description, parameters, effect? }`), or from a module
 * (every tool, list of tools or registry that it exports).
 *
 * @throws ToolError `invalid_tool` that says what the file holds instead
 */
export async function loadTools(path: string): Promise<readonly Tool[]> {
  return /\.json$/i.test(path) ? fromJson(path, await read(path)) : fromModule(path);
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new ToolError("invalid_tool", `The tool file ${path} can not be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function fromJson(path: string, text: string): readonly Tool[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (cause) {
    throw new ToolError("invalid_tool", `The tool file ${path} is no JSON: ${(cause as Error).message}`, { cause });
  }
  if (!Array.isArray(entries))
    throw new ToolError("invalid_tool", `The tool file ${path} holds ${kindOf(entries)}. ${SHAPE}`);
  return toolList(entries.map((entry, at) => fromEntry(path, entry, at)));
}

const SHAPE = "It has to be a JSON array of { name, description, parameters }, or a module that exports tools.";

function fromEntry(path: string, entry: unknown, at: number): Tool {
  const { name, description, parameters, effect } = (entry ?? {}) as Record<string, unknown>;
  if (typeof name !== "string")
    throw new ToolError("invalid_tool", `Entry ${at} of the tool file ${path} has no name. ${SHAPE}`);
  if (typeof parameters !== "object" || parameters === null) {
    throw new ToolError(
      "invalid_tool",
      `The tool ${name} of the tool file ${path} has no parameters, a JSON Schema. ${SHAPE}`,
    );
  }
  return defineTool({
    name,
    inputSchema: jsonSchema(parameters as Record<string, unknown>),
    ...(typeof description === "string" ? { description } : {}),
    ...(effect === "read" || effect === "idempotent" || effect === "write" ? { effect } : {}),
  });
}

async function fromModule(path: string): Promise<readonly Tool[]> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (cause) {
    throw new ToolError("invalid_tool", `The tool module ${path} can not be loaded: ${(cause as Error).message}`, {
      cause,
    });
  }
  const tools = new Set(Object.values(exports).flatMap(toolsIn));
  if (tools.size === 0) throw new ToolError("invalid_tool", `The module ${path} exports no tools. ${SHAPE}`);
  return toolList([...tools]);
}

function toolsIn(value: unknown): readonly Tool[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(toolsIn);
  if (typeof (value as { tools?: unknown }).tools === "function")
    return (value as { tools(): readonly Tool[] }).tools();
  return "inputSchema" in value && "effect" in value && typeof (value as Tool).use === "function"
    ? [value as Tool]
    : [];
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
