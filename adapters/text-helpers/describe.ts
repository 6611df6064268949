import { requiredOf as ownRequired } from "../../src/schema/fields.ts";
import { isRecord } from "../../src/schema/json.ts";
import { resolveRef } from "../../src/schema/refs.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import type { ToolDescription } from "../../src/text/dialect.ts";
import { parameterNames, propertiesOf, requiredOf } from "./names.ts";
import { pythonOf } from "../../src/text/python/write.ts";

/** Tools as Python functions without a body, which a model that knows Python reads best. */
export function signatures(tools: readonly ToolDescription[]): string {
  return tools.map(signature).join("\n\n");
}

function signature({ name, description, parameters }: ToolDescription): string {
  const properties = propertiesOf(parameters);
  const required = requiredOf(parameters);
  const names = Array.from(parameterNames([...properties.keys()]));
  const list = names.map(([key, word]) => {
    const schema = properties.get(key);
    const type = typeName(schema, parameters, 0);
    if (required.has(key)) return `${word}: ${type}`;
    const fallback = isRecord(schema) && "default" in schema ? pythonOf(schema["default"]) : "None";
    return `${word}: ${type} = ${fallback}`;
  });
  const lines = names.flatMap(([key, word]) => {
    const schema = properties.get(key);
    const text = isRecord(schema) && typeof schema["description"] === "string" ? schema["description"] : undefined;
    return text === undefined ? [] : [`    ${word}: ${oneLine(text)}`];
  });
  const doc = [
    ...(description === undefined ? [] : [oneLine(description)]),
    ...(lines.length > 0 ? ["", ...lines] : []),
  ];
  const head = `def ${name}(${list.join(", ")}):`;
  if (doc.length === 0) return `${head} ...`;
  if (doc.length === 1) return `${head}\n    """${doc[0]}"""`;
  return `${head}\n    """${doc.join("\n")}\n    """`;
}

/** A schema as a Python type; anything that Python has no type for is `Any`. */
function typeName(schema: unknown, root: JsonSchema, depth: number): string {
  if (!isRecord(schema) || depth > 4) return "Any";
  const { type, enum: values, const: constant, items, anyOf, oneOf, properties, $ref } = schema;
  if (typeof $ref === "string") return typeName(resolveRef(root, $ref), root, depth + 1);
  if (Array.isArray(values)) return `Literal[${values.map((one) => pythonOf(one)).join(", ")}]`;
  if (constant !== undefined) return `Literal[${pythonOf(constant)}]`;
  const union = anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((one) => ({ ...schema, type: one })) : undefined);
  if (Array.isArray(union)) return [...new Set(union.map((one) => typeName(one, root, depth + 1)))].join(" | ");
  switch (type) {
    case "array":
      return `list[${typeName(items, root, depth + 1)}]`;
    case "object": {
      if (!isRecord(properties)) return "dict";
      const required = ownRequired(schema);
      const keys = Object.entries(properties).map(
        ([key, value]) =>
          `${JSON.stringify(key)}${required.includes(key) ? "" : "?"}: ${typeName(value, root, depth + 1)}`,
      );
      return `{${keys.join(", ")}}`;
    }
    case "string":
      return "str";
    case "integer":
      return "int";
    case "number":
      return "float";
    case "boolean":
      return "bool";
    case "null":
      return "None";
    default:
      return "Any";
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll('"""', "'''").trim();
}
