import type { TextContext } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { nestingOf } from "../../src/text/python/code-state.ts";
import { parameterNames, propertiesOf } from "./names.ts";
import { readPython, type CallExpression, type Expression, type Statement } from "./python.ts";
import { Refusal } from "../../src/text/python/refusal.ts";
import { jsonOf, partOf, type Reference, type Value } from "./values.ts";

/** What a call in a block says about itself, in `use.metadata`. Plain JSON. */
export interface HelperMetadata {
  /** Its index among the calls of the turn's blocks, from 0. */
  readonly step: number;
  /** The variable that its result is assigned to. */
  readonly variable?: string;
  /** As the model wrote it, shortened if long. */
  readonly source: string;
  /** Its arguments refer to the results of other calls: it is not validated yet, and cannot run. */
  readonly dependent?: true;
  /** The steps whose results it needs. */
  readonly dependsOn?: readonly number[];
  readonly references?: readonly Reference[];
}

const MAX_SOURCE = 200;

/** Makes calls from the blocks of one text, in which later lines may refer to the results of earlier ones. */
export function createCalls(writer: BlockWriter, context: TextContext) {
  const scope = new Map<string, Value | { readonly failed: string }>();
  for (const [name, value] of Object.entries(context.variables)) {
    scope.set(name, { kind: "json", text: JSON.stringify(value) ?? "null" });
  }
  let steps = 0;
  /** Calls are about as long as their code; only variables used many times make them longer. */
  const budget = { left: context.limits.maxArgumentsLength };

  /** Makes the calls of one block, in order. One that cannot be made does not stop the others. */
  function read(code: string): void {
    const { maxDepth, maxCalls } = context.limits;
    budget.left += LONGEST_ESCAPE * code.length;
    if (nestingOf(code) > maxDepth + 1) {
      return writer.call().unreadable(`it nests deeper than ${maxDepth} levels (limits.maxDepth)`);
    }
    const statements = readPython(code, maxDepth);
    if ("syntaxError" in statements)
      writer.call().unreadable(`${statements.syntaxError}. Nothing in the block was run`);
    else {
      // One more than allowed: the turn fails with it.
      for (const statement of statements) if (steps <= maxCalls) run(statement);
    }
  }

  function run(statement: Statement): void {
    const { variable } = statement;
    if ("refused" in statement) return refuse(statement.refused, statement, variable);
    const { expression } = statement;
    const before = steps;
    const made: Made[] = [];
    try {
      const value = evaluate(expression, variable, made);
      if (variable !== undefined) scope.set(variable, value);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      steps = before;
      return refuse(error.message, expression.kind === "call" ? expression : undefined, variable);
    }
    for (const { name, args, metadata } of made) {
      const call = writer.call();
      call.name(name, undefined, { ...metadata });
      call.args(args);
      call.done();
    }
  }

  function refuse(
    reason: string,
    { name, source }: { readonly name?: string | undefined; readonly source?: string } = {},
    variable: string | undefined,
  ): void {
    if (variable !== undefined) scope.set(variable, { failed: reason });
    const call = writer.call();
    if (name !== undefined) call.name(name, undefined, source === undefined ? undefined : { source: short(source) });
    call.unreadable(reason);
  }

  interface Made {
    readonly name: string;
    readonly args: string;
    readonly metadata: HelperMetadata;
  }

  /** Inner calls first; they are made only if the whole line can be. */
  function evaluate(expression: Expression, variable: string | undefined, made: Made[]): Value {
    switch (expression.kind) {
      case "json":
        return expression;
      case "list":
        return { kind: "list", items: expression.items.map((item) => evaluate(item, undefined, made)) };
      case "dict": {
        const entries = expression.entries.map(([key, item]) => [key, evaluate(item, undefined, made)] as const);
        return { kind: "dict", entries: new Map(entries) };
      }
      case "name":
        return lookUp(expression.name);
      case "part":
        return partOf(evaluate(expression.of, undefined, made), expression.step, expression.source);
      case "call":
        return callOf(expression, variable, made);
    }
  }

  function lookUp(name: string): Value {
    const value = scope.get(name);
    if (value === undefined) {
      const literal = JSON_WORDS.get(name);
      if (literal !== undefined) return { kind: "json", text: literal };
      throw new Refusal(`${name} is not defined: no line before it in this answer and no earlier result assigns it`);
    }
    if ("failed" in value) throw new Refusal(`it needs ${name}, which has no value: ${value.failed}`);
    return value;
  }

  function callOf({ name, args, source }: CallExpression, variable: string | undefined, made: Made[]): Value {
    const tool = context.tool(name);
    const properties = tool === undefined ? undefined : [...propertiesOf(tool.inputSchema.jsonSchema).keys()];
    const byWord = new Map(Array.from(parameterNames(properties ?? []), ([property, word]) => [word, property]));
    const values = new Map<string, Value>();
    args.forEach(({ key, value }, position) => {
      const property = key === undefined ? propertyAt(properties, position, name) : (byWord.get(key) ?? key);
      if (values.has(property)) throw new Refusal(`the argument ${property} is given twice`);
      values.set(property, evaluate(value, undefined, made));
    });
    const references: Reference[] = [];
    const own = { left: Math.min(budget.left, context.limits.maxArgumentsLength) };
    const text = jsonOf({ kind: "dict", entries: values }, [], references, own);
    budget.left -= text.length;
    const step = steps++;
    const dependsOn = [...new Set(references.map((reference) => reference.step))];
    const metadata: HelperMetadata = {
      step,
      ...(variable !== undefined && { variable }),
      source: short(source),
      ...(references.length > 0 && { dependent: true as const, dependsOn, references }),
    };
    made.push({ name, args: text, metadata });
    return { kind: "result", step, steps: [], source: variable ?? source };
  }

  return { read };
}

function short(source: string): string {
  return source.length > MAX_SOURCE ? `${source.slice(0, MAX_SOURCE)}…` : source;
}

/** A control character is one character of code, but six in JSON. */
const LONGEST_ESCAPE = 6;

/** Models that write much JSON also use its literals. */
const JSON_WORDS: ReadonlyMap<string, string> = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
]);

/** The name of a positional argument: the schema's properties, in order. For an unknown tool, its position. */
function propertyAt(properties: readonly string[] | undefined, position: number, name: string): string {
  if (properties === undefined) return String(position);
  const property = properties[position];
  if (property !== undefined) return property;
  const count = properties.length;
  throw new Refusal(`${name} takes ${count} argument${count === 1 ? "" : "s"}, and this is number ${position + 1}`);
}
