import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/python";
import { isClosedString, numberOf, stringOf } from "../../src/text/python/literals.ts";
import { Refusal } from "../../src/text/python/refusal.ts";
import type { Step } from "./values.ts";

/** An expression of the kinds that calls are made of. */
export type Expression =
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly Expression[] }
  | { readonly kind: "dict"; readonly entries: readonly (readonly [key: string, value: Expression])[] }
  | { readonly kind: "name"; readonly name: string; readonly source: string }
  | { readonly kind: "part"; readonly of: Expression; readonly step: Step; readonly source: string }
  | CallExpression;

export interface CallExpression {
  readonly kind: "call";
  /** `find_user`, `Search.web` */
  readonly name: string;
  readonly args: readonly { readonly key: string | undefined; readonly value: Expression }[];
  readonly source: string;
}

/** One line of a block. */
export type Statement =
  | { readonly variable: string | undefined; readonly expression: Expression }
  /** A rejected statement; `name` is that of the call it was meant to be. */
  | {
      readonly variable: string | undefined;
      readonly refused: string;
      readonly name: string | undefined;
      readonly source: string;
    };

/**
 * Reads a block of Python.
 *
 * @returns its statements, or none of them and the place of the error if there is a syntax error, as in Python
 */
export function readPython(code: string, maxDepth: number): readonly Statement[] | { readonly syntaxError: string } {
  const tree = parser.parse(code);
  let error: number | undefined;
  tree.iterate({
    enter({ type, from, to }) {
      const isWrong = type.isError || (type.name === "String" && !isClosedString(code.slice(from, to)));
      if (isWrong && (error === undefined || from < error)) error = from;
      return error === undefined;
    },
  });
  if (error !== undefined) return { syntaxError: placeOf(code, error) };
  const reader = new Reader(code, maxDepth);
  return childrenOf(tree.topNode).flatMap((node) =>
    node.name === "StatementGroup" ? childrenOf(node).map((one) => reader.statement(one)) : [reader.statement(node)],
  );
}

function placeOf(code: string, at: number): string {
  const line = code.slice(0, at).split("\n").length;
  const text = (code.split("\n")[line - 1] ?? "").trim();
  return `line ${line} is not valid Python: ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}

class Reader {
  readonly #code: string;
  readonly #maxDepth: number;

  constructor(code: string, maxDepth: number) {
    this.#code = code;
    this.#maxDepth = maxDepth;
  }

  statement(node: SyntaxNode): Statement {
    let variable: string | undefined;
    let call: SyntaxNode | undefined;
    try {
      const value = this.#valueOf(node, (name) => (variable = name));
      call = withoutAwait(value);
      return { variable, expression: this.#expression(call, 0) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const name = call === undefined ? undefined : this.#nameOf(call);
      return { variable, refused: error.message, name, source: this.#text(call ?? node) };
    }
  }

  #valueOf(node: SyntaxNode, onVariable: (name: string) => void): SyntaxNode {
    const children = childrenOf(node);
    if (node.name === "ExpressionStatement" && children.length === 1) return children[0]!;
    if (node.name !== "AssignStatement") {
      throw new Refusal(`${whatIs(node.name)} cannot be run here: a block holds calls and assignments`);
    }
    const parts = children.filter(({ name }) => name !== "TypeDef");
    const [target, operator, value] = parts;
    if (parts.length !== 3 || target!.name !== "VariableName" || operator!.name !== "AssignOp") {
      throw new Refusal("an assignment has one name on its left, and one value on its right");
    }
    onVariable(this.#text(target!));
    return value!;
  }

  #nameOf(node: SyntaxNode): string | undefined {
    const callee = node.name === "CallExpression" ? node.firstChild : null;
    return callee === null ? undefined : this.#dotted(callee);
  }

  #expression(given: SyntaxNode, depth: number): Expression {
    if (depth > this.#maxDepth) throw new Refusal(`it nests deeper than ${this.#maxDepth} levels (limits.maxDepth)`);
    const node = withoutAwait(given);
    switch (node.name) {
      case "String":
        return json(JSON.stringify(stringOf(this.#text(node))));
      case "ContinuedString":
        return json(
          JSON.stringify(
            childrenOf(node)
              .map((part) => this.#string(part))
              .join(""),
          ),
        );
      case "Number":
        return json(numberOf(this.#text(node)));
      case "Boolean":
        return json(this.#text(node) === "True" ? "true" : "false");
      case "None":
        return json("null");
      case "UnaryExpression":
        return this.#signed(node);
      case "ParenthesizedExpression":
        return this.#expression(itemsOf(node)[0]!, depth + 1);
      case "ArrayExpression":
      case "TupleExpression":
        return { kind: "list", items: this.#items(node).map((item) => this.#expression(item, depth + 1)) };
      case "DictionaryExpression":
        return this.#dict(node, depth);
      case "VariableName":
        return { kind: "name", name: this.#text(node), source: this.#text(node) };
      case "MemberExpression":
        return this.#part(node, depth);
      case "CallExpression":
        return this.#call(node, depth);
      case "FormatString":
        throw new Refusal(F_STRING);
      default:
        throw new Refusal(`${whatIs(node.name)} is not evaluated: write the value itself, or the name of a variable`);
    }
  }

  #string(node: SyntaxNode): string {
    if (node.name === "FormatString") throw new Refusal(F_STRING);
    return stringOf(this.#text(node));
  }

  #signed(node: SyntaxNode): Expression {
    const [operator, operand] = childrenOf(node);
    const sign = this.#text(operator!);
    if (operand?.name !== "Number" || (sign !== "-" && sign !== "+")) {
      throw new Refusal("an operation is not evaluated: write the value itself");
    }
    const text = numberOf(this.#text(operand));
    return json(sign === "-" && text !== "0" ? `-${text}` : text);
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

  #dict(node: SyntaxNode, depth: number): Expression {
    const entries: (readonly [string, Expression])[] = [];
    const items = this.#items(node);
    for (let at = 0; at < items.length; at += 3) {
      const [key, colon, value] = items.slice(at, at + 3);
      if (colon?.name !== ":" || value === undefined) throw new Refusal("a dict has a value for each key");
      entries.push([this.#key(key!), this.#expression(value, depth + 1)]);
    }
    return { kind: "dict", entries };
  }

  /** A key as `json.dumps` writes it. */
  #key(node: SyntaxNode): string {
    const key = this.#expression(node, 0);
    if (key.kind !== "json" || /^[[{]/.test(key.text)) throw new Refusal("the keys of a dict must be strings");
    return key.text.startsWith('"') ? (JSON.parse(key.text) as string) : key.text;
  }

  #part(node: SyntaxNode, depth: number): Expression {
    const source = this.#text(node);
    const [owner, mark, inner] = childrenOf(node);
    const of = this.#expression(owner!, depth + 1);
    if (mark!.name === ".") return { kind: "part", of, step: this.#text(inner!), source };
    if (childrenOf(node).length !== 4) throw new Refusal("a slice is not evaluated");
    const index = this.#expression(inner!, depth + 1);
    const step: unknown = index.kind === "json" ? JSON.parse(index.text) : undefined;
    if (typeof step !== "string" && !Number.isInteger(step))
      throw new Refusal(`the index in ${source} must be a string or an integer`);
    return { kind: "part", of, step: step as Step, source };
  }

  #call(node: SyntaxNode, depth: number): Expression {
    const name = this.#nameOf(node);
    if (name === undefined) throw new Refusal("a call begins with the name of a function");
    const list = node.lastChild!;
    const args: { key: string | undefined; value: Expression }[] = [];
    let hasKeyword = false;
    const items = this.#items(list);
    for (let at = 0; at < items.length; at++) {
      let key: string | undefined;
      const operator = items[at + 1];
      if (operator?.name === "AssignOp" && this.#text(operator) === "=") {
        key = this.#text(items[at]!);
        at += 2;
      } else if (hasKeyword) throw new Refusal("a positional argument follows a keyword argument");
      hasKeyword ||= key !== undefined;
      args.push({ key, value: this.#expression(items[at]!, depth + 1) });
    }
    return { kind: "call", name, args, source: this.#text(node) };
  }

  /** `Search.web`, if it consists of names only. */
  #dotted(node: SyntaxNode): string | undefined {
    if (node.name === "VariableName") return this.#text(node);
    if (node.name !== "MemberExpression") return undefined;
    const [owner, mark, property] = childrenOf(node);
    const before = mark?.name === "." ? this.#dotted(owner!) : undefined;
    return before === undefined ? undefined : `${before}.${this.#text(property!)}`;
  }

  #text({ from, to }: SyntaxNode): string {
    return this.#code.slice(from, to);
  }
}

const F_STRING = "an f-string is not evaluated: write the text itself, or pass the variable as its own argument";
const STARRED = "a starred argument is not unpacked: write each argument";

function json(text: string): Expression {
  return { kind: "json", text };
}

/** All results are awaited anyway. */
function withoutAwait(node: SyntaxNode): SyntaxNode {
  return node.name === "AwaitExpression" ? node.lastChild! : node;
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
  if (node === "FormatString") return "an f-string";
  if (/Comprehension/.test(node)) return "a comprehension";
  if (node === "BinaryExpression") return "an operation";
  const words = node
    .replace(/(Expression|Statement|Definition)$/, "")
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
  const kind = node.endsWith("Statement") ? " statement" : node.endsWith("Expression") ? " expression" : "";
  return `${/^[aeiou]/.test(words) ? "an" : "a"} ${words}${kind}`;
}
