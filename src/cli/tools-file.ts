import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isToolError, messageOf, ToolError } from "../errors.ts";
import { jsonSchema } from "../schema/index.ts";
import { isRecord, kindOf } from "../schema/json.ts";
import { changeAll } from "../schema/subschemas.ts";
import type { JsonSchema } from "../schema/types.ts";
import { defineTool, type Tool } from "../tool/tool.ts";
import { toolList } from "../tool/tool-set.ts";

/**
 * Loads tools from a JSON file (an array of `{ name, description, parameters, effect? }`, or what a request to a
 * provider or the answer of an MCP server has), or from a module (every tool, list of tools or registry that it
 * exports).
 *
 * @throws ToolError `invalid_tool` that says what the file holds instead
 */
export async function loadTools(path: string): Promise<readonly Tool[]> {
  try {
    const text = await read(path); // of a module, too: what a failed import says is about this file of ours
    return /\.[cm]?[jt]s$/i.test(path) ? await fromModule(path) : fromJson(path, text);
  } catch (error) {
    if (!isToolError(error) || error.message.includes(path)) throw error;
    const { code, message, issues } = error;
    throw new ToolError(code, `The tool file ${path}: ${message}`, { issues, cause: error });
  }
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new ToolError("invalid_tool", `The tool file ${path} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function fromJson(path: string, text: string): readonly Tool[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new ToolError(
      "invalid_tool",
      `The tool file ${path} is not JSON: ${messageOf(cause).replaceAll("\n", " ")}`,
      {
        cause,
      },
    );
  }
  const list = listIn(entries);
  if (list === undefined)
    throw new ToolError("invalid_tool", `The tool file ${path} holds ${kindOf(entries)}. ${SHAPE}`);
  return toolList(list.map((entry, at) => fromEntry(path, entry, at)));
}

/** The entries: also of a request or of an MCP server's answer, `{ tools: [] }`, and Google's, grouped. */
function listIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown) => {
      const group = isRecord(entry) ? entry["functionDeclarations"] : undefined;
      if (!Array.isArray(group)) return [entry];
      return group.map((one: unknown) => ({ function: isRecord(one) ? changeAll(one, inSmallLetters) : one }));
    });
  }
  return isRecord(value) && Array.isArray(value["tools"]) ? listIn(value["tools"]) : undefined;
}

/** `Type.OBJECT` of Google's SDK is "OBJECT". */
function inSmallLetters(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  return typeof type === "string" ? { ...schema, type: type.toLowerCase() } : schema;
}

const SHAPE = "It must be a JSON array of { name, description, parameters }, or a module that exports tools.";
const EFFECTS = ["read", "idempotent", "write"] as const;

/** What the schema is called: by OpenAI and Cohere, by Anthropic, by MCP, and by Google. */
const SCHEMAS = ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"];

function fromEntry(path: string, given: unknown, at: number): Tool {
  // Of Chat Completions and Cohere, `{ type: "function", function: { name, … } }`, and of Google, from listIn().
  const entry = isRecord(given) && isRecord(given["function"]) ? given["function"] : given;
  if (!isRecord(entry)) {
    throw new ToolError("invalid_tool", `Entry ${at} of the tool file ${path} is ${kindOf(entry)}. ${SHAPE}`);
  }
  const { name, description, effect } = entry;
  // In a request, a function without a schema has no parameters.
  const none = entry !== given || entry["type"] === "function" ? { type: "object" } : undefined;
  const parameters = SCHEMAS.map((key) => entry[key]).find((schema) => schema !== undefined) ?? none;
  if (typeof name !== "string") {
    const keys = Object.keys(given as object).join(", ") || "nothing";
    throw new ToolError("invalid_tool", `Entry ${at} of the tool file ${path} has no name, but ${keys}. ${SHAPE}`);
  }
  const tool = `The tool ${JSON.stringify(name)} of the tool file ${path}`;
  if (!isRecord(parameters)) {
    throw new ToolError("invalid_tool", `${tool} has no parameters, which are a JSON Schema. ${SHAPE}`);
  }
  const known = EFFECTS.find((candidate) => candidate === effect);
  if (effect !== undefined && known === undefined) {
    throw new ToolError(
      "invalid_tool",
      `${tool} has the effect ${JSON.stringify(effect)}; it must be ${EFFECTS.join(", ")}.`,
    );
  }
  return defineTool({
    name,
    inputSchema: jsonSchema(parameters),
    ...(typeof description === "string" ? { description } : {}),
    ...(known === undefined ? {} : { effect: known }),
  });
}

/** Node strips types, and does not compile: https://nodejs.org/api/typescript.html (2026-11). */
const COMPILE = `. Node does not run decorators and enums: compile it, or set NODE_OPTIONS="--import tsx".`;

async function fromModule(path: string): Promise<readonly Tool[]> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (cause) {
    const hint = cause instanceof SyntaxError && /ts$/i.test(path) ? COMPILE : "";
    throw new ToolError("invalid_tool", `The tool module ${path} cannot be loaded: ${messageOf(cause)}${hint}`, {
      cause,
    });
  }
  const names = Object.keys(exports);
  const tools = new Set(Object.values(exports).flatMap(toolsIn));
  if (tools.size > 0) return toolList([...tools]);
  const what = names.length === 0 ? "exports nothing" : `exports no tools, but ${names.join(", ")}`;
  throw new ToolError("invalid_tool", `The tool module ${path} ${what}. ${SHAPE}`);
}

/** Tools, lists, and holders of one (a registry, an MCP server). By shape: the module may have its own library copy. */
function toolsIn(value: unknown): readonly Tool[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(toolsIn);
  const { tools, inputSchema, effect, use } = value as Record<string, unknown>;
  if (typeof tools === "function" && tools.length === 0) return toolsIn(tools.call(value)); // not an adapter's
  return inputSchema !== undefined && effect !== undefined && typeof use === "function" ? [value as Tool] : [];
}
