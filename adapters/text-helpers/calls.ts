import type { SyntaxNode } from "@lezer/common";
import { cut } from "../../src/errors.ts";
import type { TextContext } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { nestingOf } from "../../src/text/python/code-state.ts";
import { WORDS } from "../../src/text/python/literals.ts";
import { parameterNames, propertiesOf } from "./names.ts";
import { PythonReader, statementsOf, type Argument } from "./python.ts";
import { Refusal } from "../../src/text/python/refusal.ts";
import { jsonOf, type Reference, type Value } from "./values.ts";

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
  /** The calls of the line, inner ones first; they are written only if the whole line can be evaluated. */
  let made: Made[] = [];
  /** Calls are about as long as their code; only variables used many times make them longer. */
  const budget = { left: context.limits.maxArgumentsLength };

  /** Makes the calls of one block, in order. One that cannot be made does not stop the others. */
  function read(code: string): void {
    const { maxDepth, maxCalls } = context.limits;
    budget.left += LONGEST_ESCAPE * code.length;
    if (nestingOf(code) > maxDepth + 1) {
      return writer.call().unreadable(`it nests deeper than ${maxDepth} levels (limits.maxDepth)`);
    }
    const statements = statementsOf(code);
    if ("syntaxError" in statements) {
      return writer.call().unreadable(`${statements.syntaxError}. Nothing in the block was run`);
    }
    const reader = new PythonReader(code, maxDepth, { variable, call });
    // One more than allowed: the turn fails with it.
    for (const statement of statements) if (steps <= maxCalls) run(reader, statement);
  }

  function run(reader: PythonReader, statement: SyntaxNode): void {
    const before = steps;
    made = [];
    let parts: ReturnType<PythonReader["partsOf"]> = { variable: undefined, value: statement };
    try {
      parts = reader.partsOf(statement);
      assign(parts.variable, reader.value(parts.value));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      steps = before;
      return refuse(error.message, reader.nameOf(parts.value), reader.text(parts.value), parts.variable);
    }
    for (const { name, args, metadata } of made) {
      const written = writer.call();
      written.name(name, undefined, { ...metadata });
      written.args(args);
      written.done();
    }
  }

  function assign(name: string | undefined, value: Value): void {
    if (name === undefined) return;
    const last = made.at(-1);
    const isOwn = value.kind === "result" && value.steps.length === 0 && value.step === last?.metadata.step;
    if (isOwn) last!.metadata = { ...last!.metadata, variable: name };
    scope.set(name, isOwn ? { ...value, source: name } : value);
  }

  function refuse(reason: string, name: string | undefined, source: string, assigned: string | undefined): void {
    if (assigned !== undefined) scope.set(assigned, { failed: reason });
    const written = writer.call();
    if (name !== undefined) written.name(name, undefined, { source: cut(source, MAX_SOURCE) });
    written.unreadable(reason);
  }

  function variable(name: string): Value {
    const value = scope.get(name);
    if (value === undefined) {
      const literal = WORDS.get(name);
      if (literal !== undefined) return { kind: "json", text: literal };
      throw new Refusal(`${name} is not defined: no line before it in this answer and no earlier result assigns it`);
    }
    if ("failed" in value) throw new Refusal(`it needs ${name}, which has no value: ${value.failed}`);
    return value;
  }

  function call(name: string, args: readonly Argument[], source: string): Value {
    const tool = context.tool(name);
    const properties = tool === undefined ? undefined : [...propertiesOf(tool.inputSchema.jsonSchema).keys()];
    const byWord = new Map(Array.from(parameterNames(properties ?? []), ([property, word]) => [word, property]));
    const values = new Map<string, Value>();
    for (const [position, { key, value }] of args.entries()) {
      const property = key === undefined ? propertyAt(properties, position, name) : (byWord.get(key) ?? key);
      if (values.has(property)) throw new Refusal(`the argument ${property} is given twice`);
      values.set(property, value);
    }
    const references: Reference[] = [];
    const own = { left: Math.min(budget.left, context.limits.maxArgumentsLength) };
    const text = jsonOf({ kind: "dict", entries: values }, [], references, own);
    budget.left -= text.length;
    const step = steps++;
    const dependsOn = [...new Set(references.map((reference) => reference.step))];
    const metadata: HelperMetadata = {
      step,
      source: cut(source, MAX_SOURCE),
      ...(references.length > 0 && { dependent: true as const, dependsOn, references }),
    };
    made.push({ name, args: text, metadata });
    return { kind: "result", step, steps: [], source };
  }

  return { read };
}

interface Made {
  readonly name: string;
  readonly args: string;
  metadata: HelperMetadata;
}

/** A control character is one character of code, but six in JSON. */
const LONGEST_ESCAPE = 6;

/** The name of a positional argument: the schema's properties, in order. For an unknown tool, its position. */
function propertyAt(properties: readonly string[] | undefined, position: number, name: string): string {
  if (properties === undefined) return String(position);
  const property = properties[position];
  if (property !== undefined) return property;
  const count = properties.length;
  throw new Refusal(`${name} takes ${count} argument${count === 1 ? "" : "s"}, and this is number ${position + 1}`);
}
