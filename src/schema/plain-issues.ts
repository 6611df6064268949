import type { OutputUnit, Schema as CheckedSchema } from "@cfworker/json-schema";
import type { Issue } from "../errors.ts";
import { article, getOwn, isRecord, kindOf } from "./json.ts";
import { decodeToken } from "./pointer.ts";
import { SCHEMA_KEYWORDS } from "./subschemas.ts";

export type Lookup = Readonly<Record<string, CheckedSchema | boolean>>;
type Path = readonly (string | number)[];

/** Whether a keyword (a reference, too) only says "something below failed": the failure below is the issue. */
function isContainer({ keyword }: OutputUnit): boolean {
  return keyword.startsWith("$") || (SCHEMA_KEYWORDS.has(keyword) && keyword !== "contains" && keyword !== "not");
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
  return issuesOf(counted(units)).filter((issue) => {
    const key = JSON.stringify(issue);
    return !seen.has(key) && seen.add(key);
  });

  /** `from`: the length of the prefix that all locations in the list share. It can be long, so each level skips it. */
  function issuesOf(list: readonly OutputUnit[], from = 0): Issue[] {
    const found: Issue[] = [];
    const failed = new Set<string>();
    for (let index = 0; index < list.length;) {
      const unit = list[index]!;
      const end = endOfChildren(list, index, from);
      const children = list.slice(index + 1, end);
      // What does not fit its own schema counts as unevaluated too; it is not unknown.
      const isKnown = unit.keyword.startsWith("unevaluated") && failed.has(children[0]?.instanceLocation ?? "");
      if (!isKnown) found.push(...issuesOfOne(unit, children));
      for (const child of children) if (child.keyword !== "false") failed.add(child.instanceLocation);
      index = end;
    }
    return found;
  }

  function issuesOfOne(unit: OutputUnit, children: readonly OutputUnit[]): Issue[] {
    const at = locate(unit.instanceLocation, value);
    const from = unit.keywordLocation.length - "if".length;
    if (children[0]?.keyword === "false") {
      const { path } = locate(children[0].instanceLocation, value);
      const message = forbiddenMessage(unit, path);
      if (message !== undefined) return [{ message, path }];
    }
    if (unit.keyword === "anyOf" || unit.keyword === "oneOf") return alternatives(unit, children, at);
    if (unit.keyword === "propertyNames") {
      const leaves = children.filter((child) => !isContainer(child));
      if (leaves.length === 0) return [leaf(unit, at)];
      return leaves.map((child) => {
        const { path } = locate(child.instanceLocation, value);
        const { message } = leaf(child, { path, value: path.at(-1) });
        return { message: `the property name ${message}`, path };
      });
    }
    if (isContainer(unit) && children.length > 0) return issuesOf(children, from);
    return [leaf(unit, at)];
  }

  /** For a property or an item whose schema is `false`; `undefined` if the value itself is forbidden. */
  function forbiddenMessage(unit: OutputUnit, path: Path): string | undefined {
    const name = JSON.stringify(path.at(-1));
    switch (unit.keyword) {
      case "additionalProperties": {
        const known = Object.keys((keywordValue(unit, "properties") as object | undefined) ?? {});
        if (known.length === 0) return `unknown property ${name}`;
        return `unknown property ${name}; known ${known.length === 1 ? "is" : "are"} ${listOf(known)}`;
      }
      case "unevaluatedProperties":
        return `unknown property ${name}`;
      case "properties":
      case "patternProperties":
      case "propertyNames":
        return `the property ${name} is not allowed`;
      case "items":
      case "prefixItems":
      case "additionalItems":
      case "unevaluatedItems":
        return `there may be no item ${name}`;
    }
    return undefined;
  }

  /** Reports on the alternative that was meant, if that can be told, else on what they have in common. */
  function alternatives(unit: OutputUnit, children: readonly OutputUnit[], at: Located): Issue[] {
    if (children.length === 0)
      return [{ message: "fits more than one of the alternatives, must fit one", path: at.path }];
    const branches = new Map<string, OutputUnit[]>();
    let branch = "";
    for (const child of children) {
      if (child.keyword === "if") continue; // what failed in it follows
      // a `false` schema has no location of its own: it follows its parent
      if (child.keyword !== "false")
        branch = /^\/\d+/.exec(child.keywordLocation.slice(unit.keywordLocation.length))?.[0] ?? "";
      const list = branches.get(branch);
      if (list === undefined) branches.set(branch, [child]);
      else list.push(child);
    }
    const all = [...branches.values()].map((list) => ({ list, issues: issuesOf(list, unit.keywordLocation.length) }));
    const likely = all.filter(({ list }) => !list.some((child) => tellsAnotherKind(child, unit)));
    if (likely.length === 1) return likely[0]!.issues;
    const discriminator = commonDiscriminator(all.map(({ list }) => list));
    if (discriminator !== undefined) return [discriminator];
    const isOfType = ({ keyword, instanceLocation }: OutputUnit) =>
      keyword === "type" && instanceLocation === unit.instanceLocation;
    if (all.every(({ list }) => list.length === 1 && isOfType(list[0]!))) {
      const types = all.flatMap(({ list }) => keywordValue(list[0]!));
      return [{ message: mustBe(types, at.value), path: at.path }];
    }
    const texts = all.flatMap(({ issues }) =>
      issues.map(({ path, message }) => [path.slice(at.path.length).join("."), message].filter(Boolean).join(": ")),
    );
    const told = [...new Set(texts)].slice(0, 5).join("; ");
    return [{ message: `fits none of the ${branches.size} alternatives (${told})`, path: at.path }];
  }

  /** Every branch wants a different constant in one place (`kind: "a"`, `kind: "b"`), and none of them came. */
  function commonDiscriminator(branches: readonly (readonly OutputUnit[])[]): Issue | undefined {
    const deciding = branches.map((list) => list.find(({ keyword }) => keyword === "const" || keyword === "enum"));
    const where = deciding[0]?.instanceLocation;
    if (where === undefined || deciding.some((unit) => unit?.instanceLocation !== where)) return undefined;
    const wanted = deciding.flatMap((unit) => keywordValue(unit!)); // the list of an enum, or one constant
    const { path, value: got } = locate(where, value);
    return { message: `must be one of ${listOf([...new Set(wanted)])}, got ${short(got)}`, path };
  }

  function leaf(unit: OutputUnit, { value: got, path }: Located): Issue {
    const limit = keywordValue(unit);
    const bound = unit.keyword.startsWith("min") ? "at least" : "at most";
    const say = (message: string, at: Path = path): Issue => ({ message, path: at });
    switch (unit.keyword) {
      case "type":
        return say(mustBe([limit].flat(), got));
      case "required": {
        const { error } = unit;
        const name = error.slice(error.indexOf('"') + 1, error.lastIndexOf('"'));
        return say(`the required property ${JSON.stringify(name)} is missing`, [...path, name]);
      }
      case "dependentRequired":
      case "dependencies": {
        const [, given, name] = /^Instance has "(.*)" but does not have "(.*)"\.$/s.exec(unit.error) ?? [];
        if (given === undefined || name === undefined) break;
        return say(`the property ${JSON.stringify(name)} is missing, which ${JSON.stringify(given)} needs`, [
          ...path,
          name,
        ]);
      }
      case "enum":
        return say(`must be one of ${listOf(limit as unknown[])}, got ${short(got)}`);
      case "const":
        return say(`must be ${short(limit)}, got ${short(got)}`);
      case "minimum":
      case "maximum":
        return say(`must be ${bound} ${limit}, got ${got}`);
      case "exclusiveMinimum":
        return say(`must be more than ${limit}, got ${got}`);
      case "exclusiveMaximum":
        return say(`must be less than ${limit}, got ${got}`);
      case "multipleOf":
        return say(`must be a multiple of ${limit}, got ${got}`);
      case "minLength":
      case "maxLength":
        return say(`must have ${bound} ${count(limit, "character")}, has ${[...String(got)].length}`);
      case "pattern":
        return say(`must match the pattern ${limit}, got ${short(got)}`);
      case "format":
        return say(`must be a valid ${limit}, got ${short(got)}`);
      case "minItems":
      case "maxItems":
        return say(`must have ${bound} ${count(limit, "item")}, has ${(got as unknown[]).length}`);
      case "uniqueItems": {
        const [first, second] = unit.error.match(/\d+/g) ?? [];
        return say(`must have no equal items, items ${first} and ${second} are`);
      }
      case "minProperties":
      case "maxProperties":
        return say(`must have ${bound} ${count(limit, "property")}`);
      case "contains":
        return say(`must have an item that fits ${short(limit)}`);
      case "minContains":
      case "maxContains":
        return say(`must have ${bound} ${count(limit, "item")} that fit ${short(keywordValue(unit, "contains"))}`);
      case "not":
        return say(`must not be ${short(got)}: the schema excludes ${short(limit)}`);
      case "false":
        return say("nothing is allowed here");
    }
    return say(unit.error.replace(/\.$/, ""));
  }

  function keywordValue(unit: OutputUnit, keyword = unit.keyword): unknown {
    return getOwn(parentSchema(unit), keyword);
  }

  /** The schema object that holds the keyword, found by its location, across references. */
  function parentSchema(unit: OutputUnit): unknown {
    let schema: unknown = root;
    for (const token of unit.keywordLocation.split("/").slice(1, -1)) {
      const key = decodeToken(decodeURIComponent(token));
      if (key === "$ref" && isRecord(schema)) schema = references[String(schema["__absolute_ref__"])];
      else if (key === "$recursiveRef") schema = root;
      else schema = getOwn(schema, key) ?? schema; // "items" stands for each item
    }
    return schema;
  }
}

/**
 * If too few items match, the validator also lists why each other one does not, next to `minContains`: none of them
 * must.
 */
function counted(units: readonly OutputUnit[]): readonly OutputUnit[] {
  const few = units.filter(({ keyword }) => keyword === "minContains");
  const places = [...new Set(few.map(({ keywordLocation }) => keywordLocation.replace(/minContains$/, "contains")))];
  return units.filter(({ keywordLocation }) => !places.some((place) => keywordLocation.startsWith(place)));
}

/** Whether a branch failed because it describes something else: another type, another discriminator. */
function tellsAnotherKind(child: OutputUnit, unit: OutputUnit): boolean {
  if (child.keyword === "type") return child.instanceLocation === unit.instanceLocation;
  if (child.keyword !== "const" && child.keyword !== "enum") return false;
  return child.instanceLocation.split("/").length <= unit.instanceLocation.split("/").length + 1;
}

/**
 * The first unit after `index` that is not below it. A `false` schema has no location of its own: it follows its
 * parent.
 */
function endOfChildren(list: readonly OutputUnit[], index: number, from: number): number {
  const { keyword, keywordLocation, instanceLocation } = list[index]!;
  if (keyword === "false") return index + 1;
  const base = keyword === "if" ? keywordLocation.slice(from, -"if".length) : `${keywordLocation.slice(from)}/`;
  const isBelow = (child: OutputUnit) =>
    child.keyword === "false"
      ? child.instanceLocation.startsWith(instanceLocation)
      : child.keywordLocation.startsWith(base, from);
  let end = index + 1;
  while (end < list.length && isBelow(list[end]!)) end++;
  return end;
}

export interface Located {
  readonly path: Path;
  readonly value: unknown;
}

/** The value at a JSON pointer of the validator, and its path. */
export function locate(pointer: string, root: unknown): Located {
  const path: (string | number)[] = [];
  let value = root;
  for (const token of pointer.split("/").slice(1)) {
    const key = decodeToken(decodeURIComponent(token));
    path.push(Array.isArray(value) ? Number(key) : key);
    value = getOwn(value, key);
  }
  return { path, value };
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

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77).toWellFormed()}...`;
}

function count(limit: unknown, noun: string): string {
  if (limit === 1) return `1 ${noun}`;
  return `${limit} ${noun === "property" ? "properties" : `${noun}s`}`;
}
