import { isObjectLike } from "../schema/json.ts";

// Must run before the first decorated class: no engine has Symbol.metadata yet, and TypeScript's output gives
// decorators a `metadata` object only if the symbol exists. esbuild, babel and swc fall back to this same one.
const METADATA: unique symbol = Symbol.for("Symbol.metadata") as never;
if (!("metadata" in Symbol) && Object.isExtensible(Symbol)) {
  Object.defineProperty(Symbol, "metadata", { value: METADATA, configurable: true, writable: true });
}

/** What a decorator said about one method. */
export interface Decoration<Options> {
  readonly key: string | symbol;
  readonly isStatic: boolean;
  readonly options: Options;
}

/**
 * What decorators said about the methods of classes, kept outside the classes.
 * Standard decorators see the class only as its `metadata` object, legacy ones as prototype or constructor; with
 * compilers that provide no metadata, only the function is left.
 */
export interface Decorations<Options> {
  add(owner: object, decoration: Decoration<Options>): void;
  /** For a class and what it extends, the nearest decoration of each method. Base classes come first. */
  of(constructor: object, isStatic: boolean): ReadonlyMap<string | symbol, Decoration<Options>>;
}

export function createDecorations<Options>(): Decorations<Options> {
  const byOwner = new WeakMap<object, Decoration<Options>[]>();
  return { add, of };

  function add(owner: object, decoration: Decoration<Options>): void {
    const list = byOwner.get(owner);
    if (list === undefined) byOwner.set(owner, [decoration]);
    else list.push(decoration);
  }

  function of(constructor: object, isStatic: boolean): ReadonlyMap<string | symbol, Decoration<Options>> {
    const nearest = new Map<string | symbol, Decoration<Options>>();
    for (const one of lineage(constructor)) {
      for (const decoration of ownDecorations(one, isStatic)) nearest.set(decoration.key, decoration);
    }
    return nearest;
  }

  function ownDecorations(constructor: object, isStatic: boolean): Decoration<Options>[] {
    const holder = isStatic ? constructor : ownValue(constructor, "prototype");
    const owners = [ownValue(constructor, metadataSymbol()), ownValue(constructor, METADATA), holder];
    const found = new Set<Decoration<Options>>();
    const collect = (owner: unknown): void => {
      const list = isObjectLike(owner) ? byOwner.get(owner) : undefined;
      for (const decoration of list ?? []) if (decoration.isStatic === isStatic) found.add(decoration);
    };
    owners.forEach(collect);
    if (isObjectLike(holder)) for (const key of Reflect.ownKeys(holder)) collect(ownValue(holder, key));
    return [...found];
  }
}

/** The class and everything it extends, the base first. */
function lineage(constructor: object): object[] {
  const classes: object[] = [];
  for (let one: object | null = constructor; typeof one === "function" && one !== Function.prototype;) {
    classes.unshift(one);
    one = Object.getPrototypeOf(one);
  }
  return classes;
}

function metadataSymbol(): symbol {
  return (Symbol as { metadata?: symbol }).metadata ?? METADATA;
}

/** The own data property; getters are not run. */
function ownValue(object: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
