import type { OutputUnit, Schema as CheckedSchema } from "@cfworker/json-schema";
import type { Issue } from "../errors.ts";
import { article, getOwn, kindOf } from "./json.ts";
import { pointerSteps } from "./pointer.ts";
import { holdsSchemas, typeOfKeyword } from "./subschemas.ts";

export type Lookup = Readonly<Record<string, CheckedSchema | boolean>>;
type Path = readonly (string | number)[];

/** Whether a keyword (a reference, too) only says "something below failed": the failure below follows. */
function isContainer({ keyword, error }: OutputUnit): boolean {
  if (keyword === "dependencies") return !MISSING.test(error);
  return keyword.startsWith("$") || (holdsSchemas(keyword) && keyword !== "contains" && keyword !== "not");
}

const MISSING = /^Instance (?:has "(.*)" but )?does not have (?:required property )?"(.*)"\.$/s;

function isConstant({ keyword }: OutputUnit): boolean {
  return keyword === "const" || keyword === "enum";
}

/**
 * The validator's flat list of errors, in words that a model can act on: only the deepest ones, without duplicates,
 * with what was expected and what came.
 */
export function readIssues(
  units: readonly OutputUnit[],
  value: unknown,
  root: CheckedSchema | boolean,
  references: Lookup,
): Issue[] {
  const seen = new Set<string>();
  let isName = false; // of a property: it has no location of its own, but is the last step of its property's
  return issuesOf(placed(units)).filter((issue) => {
    const key = JSON.stringify(issue);
    if (!explained.has(issue)) explained.set(issue, []);
    return !seen.has(key) && seen.add(key);
  });

  /** `from`: the length of the prefix that all locations in the list share. It can be long, so each level skips it. */
  function issuesOf(list: readonly OutputUnit[], from = 0): Issue[] {
    const found: Issue[] = [];
    const failed = new Set<string>();
    for (let index = 0; index < list.length;) {
      const unit = list[index]!;
      const { keyword, keywordLocation, instanceLocation } = unit;
      // What does not fit its own schema counts as unevaluated too; it is not unknown.
      const isKnown = keyword.startsWith("unevaluated") && failed.has(list[index + 1]!.instanceLocation);
      failed.add(instanceLocation);
      index++;
      const isUnion = keyword === "anyOf" || keyword === "oneOf";
      if (isContainer(unit) && !isKnown && !isUnion && keyword !== "propertyNames") continue;
      const children: OutputUnit[] = [];
      const below = `${keywordLocation.slice(from)}/`;
      for (; list[index]?.keywordLocation.startsWith(below, from); index++) {
        children.push(list[index]!);
        failed.add(list[index]!.instanceLocation);
      }
      if (isKnown) continue;
      if (keyword === "propertyNames") {
        isName = true;
        for (const { message, path } of issuesOf(children, keywordLocation.length))
          found.push(explaining({ message: `the property name ${message}`, path }, path));
        isName = false;
        continue;
      }
      const isOneOfMany = (isUnion || keyword === "type") && isChoice(keywordValue(unit));
      for (const issue of isUnion ? alternatives(unit, children) : [leaf(unit)])
        found.push(isOneOfMany ? explaining(issue, at(unit).path) : issue);
    }
    return found;
  }

  /** Reports on the alternative that was meant, if that can be told, else on what they have in common. */
  function alternatives(unit: OutputUnit, children: readonly OutputUnit[]): Issue[] {
    const { path, value: got } = at(unit);
    if (children.length === 0) return [{ message: "fits more than one of the alternatives, must fit one", path }];
    const from = unit.keywordLocation.length;
    const branches = Map.groupBy(children, (child) => /^\/\d+/.exec(child.keywordLocation.slice(from))?.[0]);
    const all = Array.from(branches.values(), (list) => ({
      list: list.filter((child) => !isContainer(child)),
      issues: issuesOf(list, from),
    }));
    const isAbout = (child: OutputUnit, depth: number) =>
      child.instanceLocation.slice(unit.instanceLocation.length).split("/").length === depth + 1;
    const isOfType = (child: OutputUnit) => child.keyword === "type" && isAbout(child, 0);
    if (all.every(({ list }) => list.length === 1 && isOfType(list[0]!))) {
      const types = all.flatMap(({ list }) => keywordValue(list[0]!));
      return [{ message: mustBe(types, got), path }];
    }
    const isNull = (child: OutputUnit) => isOfType(child) && keywordValue(child) === "null";
    const besideNull = all.filter(({ list }) => list.length !== 1 || !isNull(list[0]!));
    if (besideNull.length === 1) return besideNull[0]!.issues;
    for (const depth of [0, 1]) {
      // Whether a branch failed because it describes something else: another type, another discriminator.
      const tellsAnotherKind = (child: OutputUnit) => {
        if (!isConstant(child)) return isOfType(child);
        if (!isAbout(child, 0)) return depth === 1 && isAbout(child, 1);
        return ![keywordValue(child)].flat().some((one) => typeof one === typeof got);
      };
      // One of the same type was hardly meant: told alone of `"all"` or a list of ids, a model would say "all".
      const isOtherConstant = (child: OutputUnit) => isConstant(child) && isAbout(child, 0);
      const [likely, ...others] = all.filter(({ list }) => !list.some(tellsAnotherKind));
      if (likely !== undefined && others.length === 0 && !likely.list.some(isOtherConstant)) return likely.issues;
    }
    const discriminator = commonDiscriminator(all.map(({ list }) => list));
    if (discriminator !== undefined) return [discriminator];
    const texts = all.flatMap(({ issues }) =>
      issues.map((issue) => [issue.path.slice(path.length).join("."), issue.message].filter(Boolean).join(": ")),
    );
    const told = [...new Set(texts)].slice(0, 5).join("; ");
    return [{ message: `fits none of the ${branches.size} alternatives (${told})`, path }];
  }

  /** Every branch wants a different constant in one place (`kind: "a"`, `kind: "b"`), and none of them came. */
  function commonDiscriminator(branches: readonly (readonly OutputUnit[])[]): Issue | undefined {
    const deciding = branches.map((list) => list.find(isConstant));
    const [first] = deciding;
    if (!first || deciding.some((unit) => unit?.instanceLocation !== first.instanceLocation)) return undefined;
    const wanted = deciding.flatMap((unit) => keywordValue(unit!)); // the list of an enum, or one constant
    const { path, value: got } = at(first);
    return { message: `must be one of ${listOf([...new Set(wanted)])}, got ${short(got)}`, path };
  }

  function leaf(unit: OutputUnit): Issue {
    const { path, value: got } = at(unit);
    const [, needing, missing] = MISSING.exec(unit.error) ?? [];
    if (missing === undefined) return { message: messageFor(unit, got, path.at(-1)), path };
    const name = JSON.stringify(missing);
    const message =
      needing === undefined
        ? `the required property ${name} is missing`
        : `the property ${name} is missing, which ${JSON.stringify(needing)} needs`;
    return { message, path: [...path, missing] };
  }

  function messageFor(unit: OutputUnit, got: unknown, name: string | number | undefined): string {
    const { keyword, error } = unit;
    const limit = keywordValue(unit);
    const words = MUST[keyword];
    if (words !== undefined) {
      const wanted = keyword === "enum" ? listOf(limit as unknown[]) : keyword === "const" ? short(limit) : limit;
      return `must ${words} ${wanted}, got ${short(got)}`;
    }
    const [, least, counted] = /^(?:(min)|max)(.+)$/.exec(keyword) ?? [];
    if (counted !== undefined) {
      const noun = { Length: "character", Properties: "property" }[counted] ?? "item";
      const rest =
        counted === "Contains" ? ` that fit ${short(keywordValue(unit, "contains"))}` : `, has ${sizeOf(got)}`;
      return `must have ${least === undefined ? "at most" : "at least"} ${count(limit, noun)}${rest}`;
    }
    switch (keyword) {
      case "type":
        return mustBe([limit].flat(), got);
      case "uniqueItems": {
        const [first, second] = error.match(/\d+/g) ?? [];
        return `must have no equal items, items ${first} and ${second} are`;
      }
      case "contains":
        return `must have an item that fits ${short(limit)}`;
      case "not":
        return `must not be ${short(got)}: the schema excludes ${short(limit)}`;
      case "false":
        return forbidden(unit, JSON.stringify(name));
      default:
        return error.replace(/\.$/, "");
    }
  }

  /** For what has the schema `false`, see {@link placed}. */
  function forbidden({ error: holder, keywordLocation }: OutputUnit, name: string): string {
    if (typeOfKeyword(holder) === "array") return `there may be no item ${name}`;
    switch (holder) {
      case "additionalProperties": {
        const known = Object.keys(getOwn(schemaAt(keywordLocation, -2), "properties") ?? {});
        const told = known.length === 0 ? "" : `; known ${known.length === 1 ? "is" : "are"} ${listOf(known)}`;
        return `unknown property ${name}${told}`;
      }
      case "unevaluatedProperties":
        return `unknown property ${name}`;
      case "properties":
      case "patternProperties":
        return `the property ${name} is not allowed`;
      case "propertyNames":
        return "is not allowed";
      default:
        return "nothing is allowed here";
    }
  }

  /** What a failure is about. */
  function at({ instanceLocation }: OutputUnit): Located {
    const located = locate(instanceLocation, value);
    return isName ? { ...located, value: located.path.at(-1) } : located;
  }

  function keywordValue(unit: OutputUnit, keyword = unit.keyword): unknown {
    return getOwn(schemaAt(unit.keywordLocation, -1), keyword);
  }

  /** The schema that a location leads to, across references, without its last steps. */
  function schemaAt(location: string, end: number): unknown {
    let schema: unknown = root;
    for (const key of stepsOf(location).slice(0, end)) {
      const uri = key === "$ref" ? getOwn(schema, "__absolute_ref__") : undefined; // not of a property of that name
      if (uri !== undefined) schema = references[String(uri)];
      else if (key === "$recursiveRef") schema = root;
      else schema = getOwn(schema, key);
    }
    return schema;
  }
}

/** The issues made here: where the alternatives, or the name, are that each is about. */
const explained = new WeakMap<Issue, string[]>();

export function explaining(issue: Issue, path: Path): Issue {
  explained.set(issue, [...(explained.get(issue) ?? []), path.join("/")]);
  return issue;
}

/** Whether an issue was made here and, with a path, says why none of the alternatives there fits, or not the name. */
export function isPlainIssue(issue: Issue, path?: Path): boolean {
  const about = explained.get(issue);
  return about !== undefined && (path === undefined || about.includes(path.join("/")));
}

/** A list of schemas or of types, null not counted. */
function isChoice(list: unknown): boolean {
  if (!Array.isArray(list)) return false;
  return list.filter((one) => one !== "null" && getOwn(one, "type") !== "null").length > 1;
}

/** What a value must do, by the keyword that says so; the keyword's value follows. */
const MUST: Readonly<Record<string, string>> = {
  enum: "be one of",
  const: "be",
  minimum: "be at least",
  maximum: "be at most",
  exclusiveMinimum: "be more than",
  exclusiveMaximum: "be less than",
  multipleOf: "be a multiple of",
  pattern: "match the pattern",
  format: "be a valid",
};

/**
 * The failures, each in its place. A schema `false` has no location of its own: it follows the keyword that holds it,
 * which becomes its `error`. If too few items match, the validator lists why each other one does not, before
 * `minContains`: none of them must. Nor must what does not fit where two alternatives of a `oneOf` do.
 */
function placed(units: readonly OutputUnit[]): readonly OutputUnit[] {
  const list: OutputUnit[] = [];
  let skipped: string | undefined;
  for (const unit of units) {
    const { keyword, keywordLocation, error } = unit;
    if (skipped !== undefined && (keyword === "false" || keywordLocation.startsWith(skipped))) continue;
    skipped = keyword === "oneOf" && /\([1-9]/.test(error) ? `${keywordLocation}/` : undefined;
    if (keyword === "minContains") {
      const items = `${keywordLocation.replace(/minContains$/, "contains")}/`;
      while (list.at(-1)?.keywordLocation.startsWith(items)) list.pop();
    }
    const holder = list.at(-1);
    if (keyword !== "false" || holder === undefined) list.push(unit);
    else list.push({ ...unit, keywordLocation: `${holder.keywordLocation}/false`, error: holder.keyword });
  }
  return list;
}

export interface Located {
  readonly path: Path;
  readonly value: unknown;
}

/** The value at a JSON pointer of the validator, and its path. */
export function locate(pointer: string, root: unknown): Located {
  const path: (string | number)[] = [];
  let value = root;
  for (const key of stepsOf(pointer)) {
    path.push(Array.isArray(value) ? Number(key) : key);
    value = getOwn(value, key);
  }
  return { path, value };
}

/** The steps of a location, which is a pointer in a URI. */
function stepsOf(location: string): string[] {
  return pointerSteps(decodeURIComponent(location.slice(1)));
}

function mustBe(types: readonly unknown[], got: unknown): string {
  const wanted = [...new Set(types)].map((type) => article(String(type)));
  const last = wanted.pop();
  const shown = typeof got === "number" && types.includes("integer") ? got : kindOf(got);
  return `must be ${wanted.length === 0 ? last : `${wanted.join(", ")} or ${last}`}, got ${shown}`;
}

function listOf(values: readonly unknown[]): string {
  const shown = values.slice(0, 20).map(short);
  return shown.join(", ") + (values.length > 20 ? ` and ${values.length - 20} more` : "");
}

/** A value in a message. */
export function short(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // a BigInt, a cycle
  }
  text ??= String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77).toWellFormed()}...`;
}

function sizeOf(value: unknown): number {
  return (typeof value === "string" || Array.isArray(value) ? [...value] : Object.keys(value as object)).length;
}

function count(limit: unknown, noun: string): string {
  if (limit === 1) return `1 ${noun}`;
  return `${limit} ${noun === "property" ? "properties" : `${noun}s`}`;
}
