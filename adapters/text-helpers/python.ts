import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/python";
import { cut } from "../../src/errors.ts";
import { isClosedString, numberOf, stringOf, WORDS } from "../../src/text/python/literals.ts";
import { Refusal } from "../../src/text/python/refusal.ts";
import { partOf, type Step, type Value } from "./values.ts";

/** An argument of a call; a positional one has no key. */
export interface Argument {
  readonly key: string | undefined;
  readonly value: Value;
}

/** What names mean. */
export interface Scope {
  /** @throws Refusal if it has no value */
  variable(name: string): Value;
  /** @param name `find_user`, `Search.web` */
  call(name: string, args: readonly Argument[], source: string): Value;
}

/** The statements of a block of Python; or the place of its syntax error, with which it has none, as in Python. */
export function statementsOf(code: string): readonly SyntaxNode[] | { readonly syntaxError: string } {
  const tree = parser.parse(code);
  let error: number | undefined;
  tree.iterate({
    enter({ type, from, to }) {
      const isWrong = type.isError || (type.name === "String" && !isClosedString(code.slice(from, to)));
      if (isWrong) error ??= from;
      return error === undefined;
    },
  });
  if (error !== undefined) return { syntaxError: placeOf(code, error) };
  return childrenOf(tree.topNode).flatMap((node) => (node.name === "StatementGroup" ? childrenOf(node) : [node]));
}

function placeOf(code: string, at: number): string {
  const line = code.slice(0, at).split("\n").length;
  return `line ${line} is not valid Python: ${cut(code.split("\n")[line - 1]!.trim(), 60)}`;
}

/** Evaluates what calls are made of. Anything else is a {@link Refusal}. */
export class PythonReader {
  readonly #code: string;
  readonly #maxDepth: number;
  readonly #scope: Scope;

  constructor(code: string, maxDepth: number, scope: Scope) {
    this.#code = code;
    this.#maxDepth = maxDepth;
    this.#scope = scope;
  }

  /** What a statement evaluates, and the variable that it assigns. */
  partsOf(statement: SyntaxNode): { readonly variable: string | undefined; readonly value: SyntaxNode } {
    const children = childrenOf(statement);
    if (statement.name === "ExpressionStatement" && children.length === 1) {
      return { variable: undefined, value: inner(children[0]!) };
    }
    if (statement.name !== "AssignStatement") {
      throw new Refusal(`${whatIs(statement.name)} cannot be run here: a block holds calls and assignments`);
    }
    const parts = children.filter(({ name }) => name !== "TypeDef");
    const [target, operator, value] = parts;
    if (parts.length !== 3 || target!.name !== "VariableName" || operator!.name !== "AssignOp") {
      throw new Refusal("an assignment has one name on its left, and one value on its right");
    }
    return { variable: this.text(target!), value: inner(value!) };
  }

  /** The name of the function that is called, if this is a call. */
  nameOf(node: SyntaxNode): string | undefined {
    const callee = node.name === "CallExpression" ? node.firstChild : null;
    return callee === null ? undefined : this.#dotted(callee);
  }

  text({ from, to }: SyntaxNode): string {
    return this.#code.slice(from, to);
  }

  value(given: SyntaxNode, depth = 0): Value {
    if (depth > this.#maxDepth) throw new Refusal(`it nests deeper than ${this.#maxDepth} levels (limits.maxDepth)`);
    const node = inner(given);
    const text = this.#literal(node);
    if (text !== undefined) return { kind: "json", text };
    switch (node.name) {
      case "ArrayExpression":
      case "TupleExpression":
        return { kind: "list", items: this.#items(node).map((item) => this.value(item, depth + 1)) };
      case "DictionaryExpression":
        return this.#dict(node, depth);
      case "VariableName":
        return this.#scope.variable(this.text(node));
      case "MemberExpression":
        return this.#part(node, depth);
      case "CallExpression":
        return this.#call(node, depth);
      default:
        throw new Refusal(`${whatIs(node.name)} is not evaluated: write the value itself, or the name of a variable`);
    }
  }

  /** The JSON of a string, a number or a word. */
  #literal(node: SyntaxNode): string | undefined {
    switch (node.name) {
      case "String":
      case "FormatString":
        return JSON.stringify(this.#string(node));
      case "ContinuedString":
        return JSON.stringify(
          childrenOf(node)
            .map((part) => this.#string(part))
            .join(""),
        );
      case "Number":
        return numberOf(this.text(node));
      case "Boolean":
      case "None":
        return WORDS.get(this.text(node));
      case "UnaryExpression":
        return this.#signed(node);
      default:
        return undefined;
    }
  }

  #string(node: SyntaxNode): string {
    if (node.name === "FormatString") throw new Refusal(F_STRING);
    return stringOf(this.text(node));
  }

  #signed(node: SyntaxNode): string {
    const [operator, operand] = childrenOf(node);
    const sign = this.text(operator!);
    if (operand?.name !== "Number" || (sign !== "-" && sign !== "+")) {
      throw new Refusal("an operation is not evaluated: write the value itself");
    }
    return numberOf(this.text(operand), sign);
  }

  /** The items of a list; unpacking and comprehensions are rejected. */
  #items(node: SyntaxNode): SyntaxNode[] {
    const items = itemsOf(node);
    for (const { name } of items) {
      if (name === "*" || name === "**") throw new Refusal(STARRED);
      if (name === "for" || name === "async") throw new Refusal("a comprehension is not evaluated: write the list");
    }
    return items;
  }

  #dict(node: SyntaxNode, depth: number): Value {
    const entries = new Map<string, Value>();
    const items = this.#items(node);
    for (let at = 0; at < items.length; at += 3) {
      const [key, colon, value] = items.slice(at, at + 3);
      if (colon?.name !== ":" || value === undefined) throw new Refusal("a dict has a value for each key");
      entries.set(this.#key(key!), this.value(value, depth + 1));
    }
    return { kind: "dict", entries };
  }

  /** A key as `json.dumps` writes it. */
  #key(node: SyntaxNode): string {
    const text = this.#literal(inner(node));
    if (text === undefined) throw new Refusal("the keys of a dict must be strings");
    return text.startsWith('"') ? (JSON.parse(text) as string) : text;
  }

  #part(node: SyntaxNode, depth: number): Value {
    const source = this.text(node);
    const [owner, mark, part] = childrenOf(node);
    const of = this.value(owner!, depth + 1);
    if (mark!.name === ".") return partOf(of, this.text(part!), source);
    if (childrenOf(node).length !== 4) throw new Refusal("a slice is not evaluated");
    const index = this.#literal(inner(part!));
    const step: unknown = index === undefined ? undefined : JSON.parse(index);
    if (typeof step !== "string" && !Number.isInteger(step))
      throw new Refusal(`the index in ${source} must be a string or an integer`);
    return partOf(of, step as Step, source);
  }

  #call(node: SyntaxNode, depth: number): Value {
    const name = this.nameOf(node);
    if (name === undefined) throw new Refusal("a call begins with the name of a function");
    const args: Argument[] = [];
    let hasKeyword = false;
    const items = this.#items(node.lastChild!);
    for (let at = 0; at < items.length; at++) {
      let key: string | undefined;
      const operator = items[at + 1];
      if (operator?.name === "AssignOp") {
        if (this.text(operator) !== "=") throw new Refusal("an assignment in a call is not evaluated: write the value");
        key = this.text(items[at]!);
        at += 2;
      } else if (hasKeyword) throw new Refusal("a positional argument follows a keyword argument");
      hasKeyword ||= key !== undefined;
      args.push({ key, value: this.value(items[at]!, depth + 1) });
    }
    return this.#scope.call(name, args, this.text(node));
  }

  /** `Search.web`, if it consists of names only. */
  #dotted(node: SyntaxNode): string | undefined {
    if (node.name === "VariableName") return this.text(node);
    const [owner, mark, property] = childrenOf(node);
    const before = mark?.name === "." ? this.#dotted(owner!) : undefined;
    return before === undefined ? undefined : `${before}.${this.text(property!)}`;
  }
}

const F_STRING = "an f-string is not evaluated: write the text itself, or pass the variable as its own argument";
const STARRED = "a starred argument is not unpacked: write each argument";

/** A value in brackets is that value, and all results are awaited anyway. */
function inner(node: SyntaxNode): SyntaxNode {
  if (node.name === "ParenthesizedExpression") return inner(itemsOf(node)[0]!);
  const awaited = node.name === "AwaitExpression" ? node.lastChild! : node;
  return awaited.name === "ParenthesizedExpression" ? inner(awaited) : awaited;
}

/** Without brackets, commas and comments. */
function itemsOf(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => !/^[()[\]{},]$/.test(name));
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.name !== "Comment" && child.name !== ";") children.push(child);
  }
  return children;
}

/** Describes a node of the grammar in words. */
function whatIs(node: string): string {
  if (/Comprehension/.test(node)) return "a comprehension";
  if (node === "BinaryExpression") return "an operation";
  const words = node
    .replace(/(Expression|Statement|Definition)$/, "")
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
  const kind = node.endsWith("Statement") ? " statement" : node.endsWith("Expression") ? " expression" : "";
  return `${/^[aeiou]/.test(words) ? "an" : "a"} ${words}${kind}`;
}
