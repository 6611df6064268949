import { addDecoration, decorationsOf, type Decoration } from "./metadata.ts";
import { ToolError } from "../errors.ts";
import type { InferOutput, SchemaSource } from "../schema/index.ts";
import { isObject, isObjectLike, kindOf } from "../schema/json.ts";
import { invalidTool } from "./policy.ts";
import { toolList } from "./tool-set.ts";
import { makeTool, type Execute, type Tool, type ToolContext, type ToolDefinition } from "./tool.ts";

/**
 * Options of `@tool`: a {@link ToolDefinition} whose function is the method, and whose name defaults to the method's.
 * `undo`, `needsApproval`, `approvalMessage` and `toModelOutput` are called with the object as `this`: declare it, as in
 * `undo(this: Notes, { input }) { … }`.
 */
export interface ToolOptions<S extends SchemaSource = SchemaSource> extends Omit<
  ToolDefinition<S, any>,
  "name" | "execute"
> {
  readonly name?: string | undefined;
}

/** Accepts a method that takes what the schema gives; for any other it demands a property that no method has. */
type Takes<Input, Args extends readonly unknown[]> = ((...args: Args) => unknown) extends (
  input: Input,
  context: ToolContext,
) => unknown
  ? unknown
  : { readonly "the method does not take what its inputSchema gives": Input };

/** Serves both kinds of decorators: standard (TC39) and TypeScript's `experimentalDecorators`. */
export interface ToolDecorator<Input> {
  <This, Args extends readonly any[], Output>(
    method: (this: This, ...args: Args) => Output,
    context: ClassMethodDecoratorContext<This, (this: This, ...args: Args) => Output> & Takes<Input, Args>,
  ): void;
  <Args extends readonly any[], Output>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: Args) => Output> & Takes<Input, Args>,
  ): void;
}

/**
 * Makes a method a tool: `toolsOf()` finds it. On instance and static methods; inherited by subclasses.
 *
 * @throws TypeError on anything but a public method
 * @example
 * class Weather {
 *   @tool({ description: "Current weather of a city.", inputSchema: z.object({ city: z.string() }), effect: "read" })
 *   async getWeather({ city }: { city: string }) { return { city, celsius: 21 }; }
 * }
 */
export function tool<const S extends SchemaSource>(options: ToolOptions<S>): ToolDecorator<InferOutput<S>> {
  if (!isObject(options)) {
    throw new TypeError("@tool takes an object: @tool({ description, inputSchema })");
  }
  return (target: object, second: unknown, descriptor?: PropertyDescriptor): void => {
    if (isStandardContext(second)) {
      const { kind, name: key, static: isStatic, private: isPrivate } = second;
      if (kind !== "method") throw notAMethod(key, `a ${kind}`);
      if (isPrivate) throw notAMethod(key, "a private method");
      addDecoration(second.metadata ?? target, { key, isStatic, options });
      return;
    }
    if (typeof second !== "string" && typeof second !== "symbol") throw notAMethod(undefined, "a class");
    if (typeof descriptor?.value !== "function") throw notAMethod(second, "no method");
    addDecoration(target, { key: second, isStatic: typeof target === "function", options });
  };
}

/**
 * The tools of objects (their decorated methods, bound to them) and of classes (their decorated static methods).
 * A tool's qualified name is that of the instantiated class: `Weather.getWeather`. A method that overrides a decorated
 * one becomes the tool instead, with its own decoration if it has one.
 *
 * @throws ToolError `duplicate_tool`, naming both; `invalid_tool`
 * @example const tools = toolsOf(new Weather(), Calculator);
 */
export function toolsOf(...instancesOrClasses: readonly object[]): Tool[] {
  return [...toolList(instancesOrClasses.flatMap(toolsOfOne))];
}

function toolsOfOne(owner: object): Tool[] {
  if (!isObjectLike(owner)) {
    throw new TypeError(`toolsOf() takes objects and classes, got ${kindOf(owner)}`);
  }
  const isStatic = typeof owner === "function";
  const constructor = isStatic ? owner : Object.getPrototypeOf(owner)?.constructor;
  const found = decorationsOf(constructor, isStatic);
  if (found.size === 0) throw nothingFound(constructor, isStatic);
  return Array.from(found.values(), (decoration) => bind(owner, constructor.name, decoration));
}

function bind(owner: object, className: string, { key, options }: Decoration): Tool {
  const method: unknown = (owner as Record<PropertyKey, unknown>)[key];
  const qualifiedName = className === "" ? String(key) : `${className}.${String(key)}`;
  if (typeof method !== "function") {
    throw invalidTool(qualifiedName, `the method was replaced by ${typeof method}.`);
  }
  if (typeof key === "symbol" && options.name === undefined) {
    throw invalidTool(qualifiedName, 'a method with a symbol for a name needs the option "name".');
  }
  const rules = BOUND.map((name) => {
    const rule = options[name];
    return [name, typeof rule === "function" ? rule.bind(owner) : rule];
  });
  return makeTool(
    {
      ...options,
      name: options.name ?? String(key),
      execute: method.bind(owner) as Execute,
      ...Object.fromEntries(rules),
    },
    qualifiedName,
  );
}

/** The rules that get the object as `this`, like its methods, if they are functions. */
const BOUND = ["needsApproval", "approvalMessage", "undo", "toModelOutput"] as const;

function nothingFound(constructor: unknown, isStatic: boolean): ToolError {
  const name = (typeof constructor === "function" && constructor.name) || "the object";
  const other = decorationsOf(constructor, !isStatic).size > 0;
  const hint = isStatic
    ? `give an instance for its other methods: toolsOf(new ${name}())`
    : `give the class for its static methods: toolsOf(${name})`;
  return new ToolError(
    "invalid_tool",
    `toolsOf(): ${name} has no ${isStatic ? "static " : ""}method with @tool${other ? `; ${hint}` : ""}.`,
  );
}

function isStandardContext(value: unknown): value is ClassMethodDecoratorContext & { kind: string } {
  return isObject(value) && typeof (value as { kind?: unknown }).kind === "string";
}

function notAMethod(key: string | symbol | undefined, what: string): TypeError {
  return new TypeError(`@tool goes before a public method, ${key === undefined ? "this" : String(key)} is ${what}`);
}
