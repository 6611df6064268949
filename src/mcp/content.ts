import { ToolError } from "../errors.ts";
import { jsonIn, lostNumber, parseJson } from "../json/index.ts";
import type { Schema } from "../schema/index.ts";
import type { McpContent, McpResult, McpToolDefinition } from "./client.ts";

/**
 * A result as a model reads it: the structured content if there is some, otherwise the text of all blocks. Anything
 * that is not text is named but not shown: its Base64 would be thousands of meaningless tokens. Links are not followed.
 *
 * A tool without an output schema may have the text for the model, and say something else in the structure, such as the
 * name and type of the file that the text is from: then the model gets both.
 * https://github.com/NousResearch/hermes-agent/pull/7118, https://github.com/anthropics/claude-code/issues/79944
 *
 * The client has parsed the structured content, and JavaScript keeps integers only up to 2^53. If one has lost digits,
 * the text still has them, and is used if the tool does not promise structure.
 *
 * @param schema the output schema, as far as it can be used, which the structured content fits
 * @throws ToolError `invalid_answer` for a number that cannot be kept, if the tool promises structure or there is no
 *   text, unless it says that it failed
 */
export function resultOf(
  { structuredContent, content = [], isError }: McpResult,
  { outputSchema }: Pick<McpToolDefinition, "outputSchema">,
  schema?: Schema,
): unknown {
  const text = textOf(content);
  if (structuredContent === undefined) return text;
  const isPromised = outputSchema !== undefined;
  const lost = lostNumber(structuredContent);
  if (lost === undefined) {
    const structure = withoutBytes(structuredContent, content, schema);
    const json = JSON.stringify(structure);
    return isPromised || repeats(text, structure, json) ? structure : `${text}\n${json}`;
  }
  if (!isPromised && (text !== "" || isError === true)) return text;
  const why = `its result has a number that cannot be kept exactly (near ${lost})`;
  throw new ToolError("invalid_answer", `The tool was executed, but ${why}.`);
}

/** Shorter strings may be equal by chance. */
const MIN_BYTES = 100;

/**
 * Servers also put the Base64 of a block into the structure:
 * https://github.com/modelcontextprotocol/servers/pull/4044
 *
 * Where the schema wants Base64 (`z.base64()`), it stays: an executor would refuse the output of a tool that has run.
 */
function withoutBytes(structure: unknown, content: readonly McpContent[], schema: Schema | undefined): unknown {
  const shown = new Map<unknown, string>();
  for (const block of content) {
    for (const bytes of [block.data, block.resource?.blob]) {
      if (typeof bytes === "string" && bytes.length >= MIN_BYTES) shown.set(bytes, blockText(block));
    }
  }
  if (shown.size === 0) return structure;
  const named = parseJson(JSON.stringify(structure, (_, value: unknown) => shown.get(value) ?? value));
  return schema === undefined || schema.validate(named).ok ? named : structure;
}

/** Whether the text repeats the structure or a part of it, as JSON, as the specification wants it, or a string as it is. */
function repeats(text: string, structure: unknown, json: string): boolean {
  if (text.trim() === "") return true;
  const value = jsonIn(text) ?? text;
  return typeof value === "object" ? json.includes(JSON.stringify(value)) : holds(structure, value);
}

function holds(structure: unknown, value: unknown): boolean {
  if (typeof structure !== "object" || structure === null) return structure === value;
  return Object.values(structure).some((part) => holds(part, value));
}

/** The text of all blocks. */
export function textOf(content: readonly McpContent[]): string {
  return content.map(blockText).join("\n");
}

function blockText(block: McpContent): string {
  const { type, text, data, mimeType = "unknown type", uri, name, resource } = block;
  switch (type) {
    case "text":
      return text ?? "";
    case "resource_link":
      return `[${name ?? "resource"}: ${uri ?? "no address"}]`;
    case "resource":
      return resource?.text ?? `[${resource?.uri ?? "resource"}: ${described(resource?.mimeType, resource?.blob)}]`;
    default:
      return `[${type}: ${described(mimeType, data)}]`;
  }
}

function described(mimeType = "unknown type", base64 = ""): string {
  return `${mimeType}, ${Math.floor((base64.length * 3) / 4)} bytes, not shown`;
}
