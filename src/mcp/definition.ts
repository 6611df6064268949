import canonicalize from "canonicalize";
import { isToolError, messageOf, ToolError } from "../errors.ts";
import { foreignSchema } from "../schema/foreign-schema.ts";
import { isRecord } from "../schema/json.ts";
import type { Schema } from "../schema/index.ts";
import { withInputRoot } from "../schema/root.ts";
import type { McpToolDefinition } from "./client.ts";

/** A checked definition of a server's tool. */
export interface CheckedDefinition {
  readonly definition: McpToolDefinition;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema | undefined;
  /** Of everything that a model, a person or a policy was shown: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** More than a person would read before approving. */
const MAX_TEXT = 32_768;

/**
 * @param known the last one of this name: if nothing that was shown has changed, its schemas are not read again
 * @throws ToolError `invalid_tool`, `too_large` for a definition that is malformed, or too costly
 */
export async function checkDefinition(definition: unknown, known?: CheckedDefinition): Promise<CheckedDefinition> {
  if (!isDefinition(definition)) {
    throw new ToolError("invalid_tool", "its name, title, description or schemas are not of the kind that MCP says.");
  }
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = definition;
  // The specification's rule: otherwise different names could look the same.
  if (!/^[\w.-]{1,128}$/.test(name)) {
    throw new ToolError("invalid_tool", "its name has other characters than A-Z, a-z, 0-9, _ . -, or more than 128.");
  }
  // Its server must refuse any other call: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
  if (execution?.taskSupport === "required") {
    throw new ToolError("invalid_tool", "its server runs it as a task only, and calls are no tasks here.");
  }
  for (const text of [title, description]) {
    if ((text?.length ?? 0) > MAX_TEXT) throw new ToolError("too_large", `its description is longer than ${MAX_TEXT}.`);
  }
  const digest = await digestOf({ name, title, description, inputSchema, outputSchema, annotations });
  if (known?.digest === digest) return { ...known, definition };
  return {
    definition,
    inputSchema: withInputRoot(foreignSchema(inputSchema, true)),
    outputSchema: outputSchema === undefined ? undefined : usable(outputSchema),
    digest,
  };
}

/** The list is taken as it comes. */
function isDefinition(value: unknown): value is McpToolDefinition {
  if (!isRecord(value)) return false;
  const { name, title, description, inputSchema, outputSchema } = value;
  const areTexts = [title, description].every((text) => text === undefined || typeof text === "string");
  const isOfObject = isRecord(inputSchema) && inputSchema["type"] === "object";
  return typeof name === "string" && areTexts && isOfObject && (outputSchema === undefined || isRecord(outputSchema));
}

/** Outputs are data, and not acted upon: a schema that we cannot use only means one check less. */
function usable(outputSchema: Readonly<Record<string, unknown>>): Schema | undefined {
  try {
    return foreignSchema(outputSchema, true);
  } catch (error) {
    if (isToolError(error) && error.code !== "too_large") return undefined;
    throw error;
  }
}

async function digestOf(shown: object): Promise<string> {
  let canonical: string;
  try {
    canonical = canonicalize(shown) ?? "";
  } catch (cause) {
    throw new ToolError("invalid_tool", `it cannot be written as JSON: ${messageOf(cause)}.`, { cause });
  }
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical)));
  return `sha256:${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
