import { isClosedRoot, isHighSurrogate } from "../../src/json/index.ts";
import {
  conjunction,
  fitsKind,
  GiveUp,
  propertySchemas,
  rootParts,
  unionsOf,
  type Walk,
} from "../../src/schema/fits.ts";
import type { TextContext } from "../../src/text/notation.ts";
import { WORDS } from "../../src/text/python/literals.ts";
import type { CallWriter } from "../../src/text/writer.ts";
import type { Tool } from "../../src/tool/tool.ts";

/** What the notation itself says about a value; if `undefined`, the schema decides. */
export type ValueType = "string" | "json" | undefined;

/**
 * Writes arguments that come as names and plain texts as JSON. The tool's schema decides what a text means: if it takes
 * a string, the text stays one (even `007`) and is passed on as it comes; otherwise it is read as JSON.
 */
export class TypedArguments {
  readonly #call: CallWriter;
  readonly #tool: Tool | undefined;
  readonly #maxKept: number;
  readonly #names = new Set<string>();
  /** Whether the open value is passed on as a string; otherwise it is kept until complete. */
  #isString = false;
  #schemas: readonly unknown[] = [];
  #kept: string[] = [];
  #keptLength = 0;
  #type: ValueType;
  #half = "";

  constructor(call: CallWriter, tool: Tool | undefined, { limits }: TextContext) {
    this.#call = call;
    this.#tool = tool;
    this.#maxKept = limits.maxArgumentsLength;
  }

  /** No value has come. */
  get isEmpty(): boolean {
    return this.#names.size === 0;
  }

  /** A name that comes twice may belong to another call, whose beginning is in the value before it. */
  begin(name: string, type?: ValueType): void {
    if (this.#names.has(name)) this.#call.unreadable(`it gives the parameter ${JSON.stringify(name)} twice`);
    const isFirst = this.#names.size === 0;
    this.#names.add(name);
    this.#schemas = schemasOf(this.#tool, name);
    this.#type = type;
    this.#isString = type === "string" || (type === undefined && !this.#takes(null) && this.#takes("a text"));
    this.#kept = [];
    this.#keptLength = 0;
    this.#half = "";
    this.#call.args(`${isFirst ? "{" : ","}${JSON.stringify(name)}:${this.#isString ? '"' : ""}`);
  }

  piece(text: string): void {
    if (text === "") return;
    if (this.#isString) this.#say(text);
    else if (this.#keptLength <= this.#maxKept) {
      this.#kept.push(text);
      this.#keptLength += text.length;
    }
  }

  /** Joins the two halves of a surrogate pair that was split. */
  #say(text: string): void {
    const whole = this.#half + text;
    const isHalf = isHighSurrogate(whole.charCodeAt(whole.length - 1));
    this.#half = isHalf ? whole.slice(-1) : "";
    this.#call.args(JSON.stringify(isHalf ? whole.slice(0, -1) : whole).slice(1, -1));
  }

  end(): void {
    if (this.#isString) this.#call.args(JSON.stringify(this.#half).slice(1));
    else this.#call.args(this.#jsonOf(this.#kept.join("")));
  }

  /** Whether the tool has a parameter of this name that has not been given yet. */
  lacks(name: string): boolean {
    return !this.#names.has(name) && schemasOf(this.#tool, name).length > 0;
  }

  /** The call is over. */
  close(): void {
    this.#call.args(this.#names.size === 0 ? "{}" : "}");
  }

  #jsonOf(text: string): string {
    const trimmed = text.trim();
    if (this.#type === undefined && this.#takes("a text") && !(isNull(trimmed) && this.#takes(null))) {
      return JSON.stringify(text);
    }
    // Models trained on much Python write its literals.
    const json = WORDS.get(trimmed) ?? trimmed;
    try {
      JSON.parse(json);
      return json;
    } catch {
      // A list or an object in Python syntax, say: repaired with all the arguments, if the tool's policy allows it.
      return isClosedRoot(json) ? json : JSON.stringify(text);
    }
  }

  /** Whether the schema allows a value of this kind. An unknown property is a string. */
  #takes(value: string | null): boolean {
    if (this.#schemas.length === 0) return value !== null;
    const walk: Walk = { root: this.#tool!.inputSchema.jsonSchema, steps: 10_000 };
    try {
      return this.#schemas.every((schema) => takes(schema, value, walk));
    } catch (error) {
      if (error instanceof GiveUp) return value !== null;
      throw error;
    }
  }
}

/** Whether the tool takes any arguments: if not, a call without them lacks nothing. */
export function takesArguments(tool: Tool | undefined): boolean {
  if (tool === undefined) return true;
  const parts = rootParts(tool.inputSchema.jsonSchema);
  const takesAny = parts?.some((part) => {
    const { properties, patternProperties, additionalProperties } = part;
    return (
      Object.keys(properties ?? {}).length > 0 ||
      patternProperties !== undefined ||
      (typeof additionalProperties === "object" && additionalProperties !== null) ||
      unionsOf(part).length > 0
    );
  });
  return takesAny ?? true;
}

function schemasOf(tool: Tool | undefined, name: string): readonly unknown[] {
  const parts = tool === undefined ? undefined : rootParts(tool.inputSchema.jsonSchema);
  return propertySchemas(parts ?? [], name).filter((schema) => schema !== false);
}

/** Judges by type alone: which strings an `enum` or a `format` allows is left to validation. */
function takes(schema: unknown, value: string | null, walk: Walk): boolean {
  if (typeof schema === "boolean") return value !== null;
  const parts = conjunction(schema, walk);
  const kinds = parts.map(({ enum: values, const: constant, ...part }) => {
    if (Array.isArray(values)) return { ...part, type: [...new Set(values.map(kindOf))] };
    return constant === undefined ? part : { ...part, type: kindOf(constant) };
  });
  // A schema without constraints takes anything; a text then stays a text.
  if (kinds.every(({ type }) => type === undefined) && parts.every((part) => unionsOf(part).length === 0))
    return value !== null;
  return (
    fitsKind(value, kinds) &&
    parts.every((part) => unionsOf(part).every((union) => union.some((branch) => takes(branch, value, walk))))
  );
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isNull(text: string): boolean {
  return text === "null" || text === "None";
}
