import { parseJson } from "../../src/json/index.ts";
import { getOwn, isRecord } from "../../src/schema/json.ts";
import { once } from "../../src/schema/once.ts";
import { Refusal } from "../../src/text/python/refusal.ts";

/** One step into a result: a key, or an index from the front or (negative) from the end. */
export type Step = string | number;

/** What an expression evaluates to: JSON with places for the results of other calls. */
export type Value =
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly Value[] }
  | { readonly kind: "dict"; readonly entries: ReadonlyMap<string, Value> }
  | { readonly kind: "result"; readonly step: number; readonly steps: readonly Step[]; readonly source: string };

/** A place in the arguments of a call that the result of another one fills. Plain JSON, so that it can be kept. */
export interface Reference {
  /** Where it goes. */
  readonly path: readonly Step[];
  /** Whose result: `metadata.step` of that call. */
  readonly step: number;
  /** Which part of the result. */
  readonly steps: readonly Step[];
  /** As the model wrote it: `user["id"]`. */
  readonly source: string;
}

/** How many more characters a text may have: variables can be used many times, and nested in each other. */
export interface Budget {
  left: number;
}

/** The JSON text of a value; a reference to a result is written as `{"$result": "user_id"}`. */
export function jsonOf(value: Value, path: readonly Step[], references: Reference[], budget: Budget): string {
  budget.left -= value.kind === "json" ? value.text.length : 2;
  if (budget.left < 0) throw new Refusal("its arguments are too long (limits.maxArgumentsLength)");
  switch (value.kind) {
    case "json":
      return value.text;
    case "list":
      return `[${value.items.map((item, index) => jsonOf(item, [...path, index], references, budget)).join(", ")}]`;
    case "dict": {
      const entries = Array.from(value.entries, ([key, item]) => {
        budget.left -= key.length;
        return `${JSON.stringify(key)}: ${jsonOf(item, [...path, key], references, budget)}`;
      });
      return `{${entries.join(", ")}}`;
    }
    case "result":
      references.push({ path, step: value.step, steps: value.steps, source: value.source });
      return JSON.stringify({ $result: value.source });
  }
}

/** A part of a value; for a result that does not exist yet, the step is recorded. */
export function partOf(value: Value, step: Step, source: string): Value {
  switch (value.kind) {
    case "result":
      return { ...value, steps: [...value.steps, step], source };
    case "list": {
      const item = typeof step === "number" ? value.items.at(step) : undefined;
      if (item !== undefined) return item;
      break;
    }
    case "dict": {
      const item = value.entries.get(String(step));
      if (item !== undefined) return item;
      break;
    }
    case "json": {
      const { root, parts } = parsed(value);
      const known = parts.get(step);
      if (known !== undefined) return known;
      const part = valueAt(root, [step]);
      if (part === undefined) break;
      const made: Value = { kind: "json", text: JSON.stringify(part.value) };
      parts.set(step, made);
      return made;
    }
  }
  throw new Refusal(`there is no ${source}`);
}

/** Parsed once, with its parts written once: a variable may be used many times. */
const parsed = once(({ text }: Value & { kind: "json" }) => ({
  root: parseJson(text),
  parts: new Map<Step, Value>(),
}));

/** The value at some place in plain JSON; `undefined` if there is none. */
export function valueAt(value: unknown, steps: readonly Step[]): { value: unknown } | undefined {
  let current = value;
  for (const step of steps) {
    if (Array.isArray(current) && typeof step === "number" && current.at(step) !== undefined)
      current = current.at(step);
    else if (isRecord(current) && Object.hasOwn(current, step)) current = getOwn(current, String(step));
    else return undefined;
  }
  return { value: current };
}
