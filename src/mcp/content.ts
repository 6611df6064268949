import type { McpContent, McpResult } from "./client.ts";

/**
 * A result as a model reads it: the structured content where there is some, else the text of all blocks.
 * What is no text is named and not shown: as text, its Base64 would be thousands of tokens that say nothing.
 * Links are not followed.
 */
export function resultOf({ structuredContent, content = [] }: McpResult): unknown {
  return structuredContent === undefined ? textOf(content) : structuredContent;
}

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
