import { isObjectLike } from "../schema/json.ts";
import type { ToolOptions } from "./decorator.ts";

// Must run before the first decorated class: no engine has Symbol.metadata yet, and TypeScript's output gives
// decorators a `metadata` object only if the symbol exists. esbuild, babel and swc fall back to this same one.
const METADATA: unique symbol = Symbol.for("Symbol.metadata") as never;
if (!("metadata" in Symbol) && Object.isExtensible(Symbol)) {
  Object.defineProperty(Symbol, "metadata", { value: METADATA, configurable: true, writable: true });
}

/** What a decorator said about one method. */
export interface Decoration {
  readonly key: string | symbol;
  readonly isStatic: boolean;
  readonly options: ToolOptions;
}

/**
 * Kept outside the classes. Standard decorators see the class only as its `metadata` object, legacy ones as prototype or
 * constructor; with compilers that provide no metadata, only the function is left.
 */
const byOwner = new WeakMap<object, Decoration[]>();

export function addDecoration(owner: object, decoration: Decoration): void {
  byOwner.set(owner, [...(byOwner.get(owner) ?? []), decoration]);
}

/** For a class and what it extends, the nearest decoration of each method. Base classes come first. */
export function decorationsOf(constructor: unknown, isStatic: boolean): Map<string | symbol, Decoration> {
  if (typeof constructor !== "function") return new Map();
  const nearest = decorationsOf(Object.getPrototypeOf(constructor), isStatic);
  for (const decoration of ownDecorations(constructor, isStatic)) nearest.set(decoration.key, decoration);
  return nearest;
}

function ownDecorations(constructor: object, isStatic: boolean): Set<Decoration> {
  const holder = isStatic ? constructor : ownValue(constructor, "prototype");
  const owners = [ownValue(constructor, metadataSymbol()), ownValue(constructor, METADATA), holder];
  if (isObjectLike(holder)) owners.push(...Reflect.ownKeys(holder).map((key) => ownValue(holder, key)));
  const found = owners.filter(isObjectLike).flatMap((owner) => byOwner.get(owner) ?? []);
  return new Set(found.filter((decoration) => decoration.isStatic === isStatic));
}

function metadataSymbol(): symbol {
  return (Symbol as { metadata?: symbol }).metadata ?? METADATA;
}

/** The own data property; getters are not run. */
function ownValue(object: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
