import canonicalize from "canonicalize";
import { messageOf, ToolError } from "../errors.ts";
import { isPlainObject, jsonIn } from "../json/index.ts";
import { getOwn } from "../schema/json.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import { bytesOf } from "./forms.ts";

/** Bounds on what is digested: anything larger is refused, since it could not be shown to a person either. */
const MAX_DEPTH = 256;
const MAX_VALUES = 1_000_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;

/**
 * SHA-256 over the canonical JSON (RFC 8785) of a value, as `sha256:` and 64 hexadecimal digits: equal for equal
 * values, whatever the order of their keys, in every process. It identifies a value that was shown to a person.
 *
 * Values that JSON lacks but a schema may produce (a Date, a bigint, a Map, a Set, bytes, a RegExp, URLSearchParams)
 * are digested as what they are, an instance of any other class as what its `toJSON()` returns. Different lone
 * surrogates have different digests.
 *
 * @throws ToolError `not_serializable` for functions, symbols, cycles, NaN, getters that throw, and instances of
 *   classes without `toJSON()`; `too_large` past 256 levels, a million values or 32 Mi characters
 */
export async function digestOf(value: unknown): Promise<string> {
  return sha256(canonicalText(value));
}

/** The text that {@link digestOf} hashes. */
export function canonicalText(value: unknown): string {
  const { json, hiding } = canonical(value);
  if (hiding === undefined) return json;
  throw new ToolError("not_serializable", `This value has no digest: it holds ${hiding}.`);
}

/** What tells one call from another. */
export interface CallDigest {
  readonly digest: string;
  /** Something in the input that may hide state: when shown to a person, it could pass for a different input. */
  readonly hiding: string | undefined;
}

/**
 * The digest of a call: its tool and its input. If the input may hide something, also the arguments that it was parsed
 * from, as values, since the same call may come back with different white space.
 *
 * @throws ToolError as {@link digestOf}, but not for instances of classes
 */
export async function callDigest({ name: tool, argsText }: ToolUse, input: unknown): Promise<CallDigest> {
  const { json, hiding } = canonical({ tool, input });
  const args = hiding === undefined ? "" : canonicalText(jsonIn(argsText) ?? argsText);
  return { digest: await sha256(json + args), hiding };
}

const definitions = new WeakMap<Tool, Map<string, Promise<string>>>();

/**
 * The digest of a tool's definition: names, description, schemas, effect and metadata. When it changes, an approval is
 * void, since the person who approved saw a different tool.
 *
 * @param executable digest of the program behind the tool, if there is one: swapping the file changes the definition
 */
export function definitionDigest(tool: Tool, executable = ""): Promise<string> {
  let known = definitions.get(tool);
  if (known === undefined) definitions.set(tool, (known = new Map()));
  let digest = known.get(executable);
  if (digest === undefined) {
    const { name, qualifiedName, description, inputSchema, outputSchema, effect, mode, metadata } = tool;
    digest = digestOf({
      name,
      qualifiedName,
      description,
      inputSchema: inputSchema.jsonSchema,
      outputSchema: outputSchema?.jsonSchema,
      effect,
      mode,
      metadata: jsonPart(metadata),
      executable,
    });
    known.set(executable, digest);
  }
  return digest;
}

async function sha256(json: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(json)));
  let hex = "";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return `sha256:${hex}`;
}

interface Budget {
  values: number;
  characters: number;
  /** The objects around this value. */
  readonly above: Set<object>;
  /** A value found whose properties may not be everything it holds: classes may have private state. */
  hiding: string | undefined;
}

function newBudget(): Budget {
  return { values: 0, characters: 0, above: new Set(), hiding: undefined };
}

function canonical(value: unknown): { readonly json: string; readonly hiding: string | undefined } {
  const budget = newBudget();
  try {
    return { json: canonicalize(plain(value, budget)) ?? "null", hiding: budget.hiding };
  } catch (cause) {
    if (cause instanceof ToolError) throw cause;
    throw new ToolError("not_serializable", `This value has no digest: ${messageOf(cause)}.`, { cause });
  }
}

/** A copy that canonical JSON can express. Objects become lists of entries if a key could be mistaken for a tag. */
function plain(value: unknown, budget: Budget): unknown {
  if (++budget.values > MAX_VALUES) throw tooLarge(`more than ${MAX_VALUES} values`);
  switch (typeof value) {
    case "string":
      return text(value, budget);
    case "undefined":
      return undefined;
    case "bigint":
      return { $bigint: String(value) };
    case "function":
    case "symbol":
      throw new ToolError("not_serializable", `This value has no digest: it holds a ${typeof value}.`);
    case "object":
      return value === null ? null : inside(value, budget, () => object(value, budget));
    default:
      return value;
  }
}

function object(value: object, budget: Budget): unknown {
  if (Array.isArray(value)) return value.map((item) => plain(item, budget));
  if (value instanceof Date) return { $date: value.getTime() };
  if (value instanceof Map) return { $map: Array.from(value, (entry) => plain(entry, budget)) };
  if (value instanceof Set) return { $set: Array.from(value, (item) => plain(item, budget)) };
  if (value instanceof RegExp) return { $regexp: text(String(value), budget) };
  if (value instanceof URLSearchParams) return { $params: text(String(value), budget) };
  const bytes = bytesOf(value);
  if (bytes !== undefined) return { $bytes: bytes };
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return { $json: plain((value as { toJSON(): unknown }).toJSON(), budget) };
  }
  if (!isPlainObject(value))
    budget.hiding ??= `an instance of ${value.constructor?.name || "a class"} without toJSON()`;
  const keys = Object.keys(value);
  // Written by hand, `{"$date": 5}` must not have the digest of a Date.
  if (keys.some((key) => key.startsWith("$"))) {
    return { $object: keys.toSorted().map((key) => [text(key, budget), plain(getOwn(value, key), budget)]) };
  }
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of keys) copy[text(key, budget)] = plain(getOwn(value, key), budget);
  return copy;
}

function inside<T>(value: object, budget: Budget, visit: () => T): T {
  const { above } = budget;
  if (above.has(value)) throw new ToolError("not_serializable", "This value has no digest: it contains itself.");
  if (above.size >= MAX_DEPTH) throw tooLarge(`more than ${MAX_DEPTH} levels`);
  above.add(value);
  const result = visit();
  above.delete(value);
  return result;
}

/** RFC 8785 refuses lone surrogates. They are written with a prefix that no well-formed text starts with. */
function text(value: string, budget: Budget): string {
  budget.characters += value.length;
  if (budget.characters > MAX_CHARACTERS) throw tooLarge(`more than ${MAX_CHARACTERS} characters`);
  if (value.isWellFormed()) return value.startsWith(MARK) ? MARK + value : value;
  return `${MARK}u${JSON.stringify(value)}`;
}

const MARK = "\u{F0000}";

/** Metadata may hold anything; parts without a digest could not be shown to a person either, and are left out. */
function jsonPart(metadata: Readonly<Record<string, unknown>>): unknown {
  const part: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(metadata)) {
    try {
      // For class instances, what is visible of them: if that changes, the tool has changed.
      part[key] = plain(value, newBudget());
    } catch {
      part[key] = null;
    }
  }
  return part;
}

function tooLarge(what: string): ToolError {
  return new ToolError("too_large", `This value has no digest: it has ${what}.`);
}
