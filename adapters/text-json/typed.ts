import { isClosedRoot, isHighSurrogate, jsonIn } from "../../src/json/index.ts";
import { literals } from "../../src/schema/fields.ts";
import {
  allowedTypes,
  conjunction,
  fits,
  rootParts,
  schemasAt,
  takes,
  unionsOf,
  unlessTooMuch,
  type Parts,
  type Walk,
} from "../../src/schema/fits.ts";
import { isObject, isRecord, typeOfValue } from "../../src/schema/json.ts";
import type { TextContext } from "../../src/text/notation.ts";
import { WORDS } from "../../src/text/python/literals.ts";
import type { CallWriter } from "../../src/text/writer.ts";
import type { Tool } from "../../src/tool/tool.ts";

/** What the notation itself says about a value; if `undefined`, the schema decides. */
export type ValueType = "string" | "json" | undefined;

/** The arguments, or a value in them that has others in it. */
interface Container {
  readonly isList: boolean;
  /** All schemas that apply to it. */
  readonly parts: Parts;
  /** What it has so far: names or indices. */
  readonly keys: Set<string>;
}

/**
 * Writes arguments that come as names and plain texts as JSON. The tool's schema decides what a text means: if it takes
 * a string, the text stays one (even `007`) and is passed on as it comes, unless it is a list or an object that the
 * schema takes as well; otherwise it is read as JSON.
 */
export class TypedArguments {
  readonly #call: CallWriter;
  readonly #tool: Tool | undefined;
  readonly #maxKept: number;
  /** The arguments, and what in them is open: what began last ends first. */
  readonly #containers: Container[];
  /** The innermost that is open is a text, so far. */
  #isText = false;
  /** Whether that is passed on as a string, and has begun; otherwise it is kept until complete. */
  #isString = false;
  #hasBegun = false;
  #schemas: readonly unknown[] = [];
  #kept = "";
  #type: ValueType;
  #half = "";

  constructor(call: CallWriter, tool: Tool | undefined, { limits }: TextContext) {
    this.#call = call;
    this.#tool = tool;
    this.#maxKept = limits.maxArgumentsLength;
    const parts = tool === undefined ? [] : rootParts(tool.inputSchema.jsonSchema);
    this.#containers = [{ isList: false, parts, keys: new Set() }];
  }

  /** No value has come. */
  get isEmpty(): boolean {
    return this.#containers[0]!.keys.size === 0;
  }

  /**
   * A value begins. If another one is open, it is in that one: a list of values that are all called `item`, or an object.
   * A name that comes twice may belong to another call, whose beginning is in the value before it.
   */
  begin(name: string, type?: ValueType): void {
    if (this.#isText) this.#contain(name);
    const { isList, parts, keys } = this.#containers.at(-1)!;
    const key = isList ? String(keys.size) : name;
    if (isList && name !== "item") this.#call.unreadable(MIXED);
    if (keys.has(key)) this.#call.unreadable(`it gives the parameter ${JSON.stringify(name)} twice`);
    const open = isList ? "[" : "{";
    this.#call.args(`${keys.size === 0 ? open : ","}${isList ? "" : `${JSON.stringify(name)}:`}`);
    this.#schemas = schemasAt(parts, isList ? keys.size : name);
    keys.add(key);
    this.#type = type;
    this.#isText = true;
    const isSure = () => this.#takes("string") && !["null", "array", "object"].some((other) => this.#takes(other));
    this.#isString = type === "string" || (type === undefined && isSure());
    this.#hasBegun = false;
    this.#kept = "";
    this.#half = "";
  }

  #contain(name: string): void {
    if (this.#hasBegun || this.#kept.trim() !== "") this.#call.unreadable(MIXED);
    const isList = name === "item" && this.#takes("array", true);
    this.#containers.push({ isList, parts: partsOf(this.#schemas, this.#walk()), keys: new Set() });
  }

  piece(text: string): void {
    if (text === "") return;
    if (!this.#isText) {
      if (text.trim() !== "") this.#call.unreadable(MIXED);
    } else if (this.#isString) this.#say(text);
    else if (this.#kept.length <= this.#maxKept) this.#kept += text;
  }

  /** Joins the two halves of a surrogate pair that was split. */
  #say(text: string): void {
    const whole = this.#half + text;
    const isHalf = isHighSurrogate(whole.charCodeAt(whole.length - 1));
    this.#half = isHalf ? whole.slice(-1) : "";
    this.#string(JSON.stringify(isHalf ? whole.slice(0, -1) : whole).slice(1, -1));
  }

  #string(json: string): void {
    this.#call.args(this.#hasBegun ? json : `"${json}`);
    this.#hasBegun = true;
  }

  /** The innermost value that is open is over. */
  end(): void {
    if (!this.#isText) this.#call.args(this.#containers.pop()!.isList ? "]" : "}");
    else if (this.#isString) this.#string(JSON.stringify(this.#half).slice(1));
    else this.#call.args(this.#jsonOf(this.#kept));
    this.#isText = false;
  }

  /** Whether the tool has a parameter of this name that has not been given yet. */
  lacks(name: string): boolean {
    const { keys, parts } = this.#containers[0]!;
    return !keys.has(name) && schemasAt(parts, name).some((schema) => schema !== false);
  }

  /** The call is over. */
  close(): void {
    this.#call.args(this.isEmpty ? "{}" : "}");
  }

  #jsonOf(text: string): string {
    const trimmed = text.trim();
    if (this.#type === undefined && this.#takes("string") && !this.#isOther(trimmed)) return JSON.stringify(text);
    // Models trained on much Python write its literals.
    const json = WORDS.get(trimmed) ?? trimmed;
    // A list or an object in Python syntax, say, is repaired with all the arguments, if the tool's policy allows it.
    return jsonIn(json) !== undefined || isClosedRoot(json) ? json : JSON.stringify(text);
  }

  /**
   * Whether a text that may be a string is what else the schema takes: `null`, or a list or an object. Servers read it
   * so, too: https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/utils.py
   */
  #isOther(text: string): boolean {
    if (text === "null" || text === "None") return this.#takes("null");
    const value = jsonIn(text);
    if (!isObject(value) || !this.#takes(typeOfValue(value))) return false;
    return unlessTooMuch(() => fits(value, this.#schemas, this.#walk()), false);
  }

  /** @param any whether what allows anything allows this: an unknown property, and any text without a type, is a string */
  #takes(type: string, any = type === "string"): boolean {
    if (this.#schemas.length === 0) return any;
    const walk = this.#walk();
    return unlessTooMuch(() => this.#schemas.every((schema) => takesType(schema, type, any, walk)), any);
  }

  #walk(): Walk {
    return { root: this.#tool?.inputSchema.jsonSchema ?? {}, steps: 10_000 };
  }
}

const MIXED = "a value has both text and values in it";

/** Whether the tool takes any arguments: if not, a call without them lacks nothing. */
export function takesArguments(tool: Tool | undefined): boolean {
  if (tool === undefined) return true;
  const parts = rootParts(tool.inputSchema.jsonSchema);
  const takesAny = parts.some((part) => {
    const { properties, patternProperties, additionalProperties } = part;
    return (
      Object.keys(properties ?? {}).length > 0 ||
      patternProperties !== undefined ||
      isRecord(additionalProperties) ||
      unionsOf([part]).length > 0
    );
  });
  return takesAny || parts.length === 0;
}

/**
 * All schemas that apply to a value with others in it, and those of which one does; none if there are too many. Each
 * once: those of a recursive schema would double with every level.
 */
function partsOf(schemas: readonly unknown[], walk: Walk): Parts {
  return unlessTooMuch(() => {
    const parts = conjunction(schemas, walk);
    const branches = unionsOf(parts).flat();
    return [...new Set([...parts, ...branches.flatMap((branch) => conjunction([branch], walk))])];
  }, []);
}

/** Judges by type alone: which strings an `enum` or a `format` allows is left to validation. */
function takesType(schema: unknown, type: string, any: boolean, walk: Walk): boolean {
  // What is listed says more than a type beside it: `{ type: ["string", "null"], enum: ["a", "null"] }`.
  const parts = conjunction([schema], walk).map(({ type: said, ...part }) =>
    said === undefined || (part.nullable !== true && literals(part) !== undefined) ? part : { ...part, type: said },
  );
  const unions = unionsOf(parts);
  // A schema without constraints takes anything; a text then stays a text.
  if (unions.length === 0 && parts.every((part) => allowedTypes(part) === undefined)) return any;
  return takes(parts, type) && unions.every((union) => union.some((branch) => takesType(branch, type, any, walk)));
}
