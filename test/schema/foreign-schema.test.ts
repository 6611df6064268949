import { describe, expect, it } from "vitest";
import { foreignSchema } from "../../src/schema/foreign-schema.ts";
import { powerOf } from "../../src/schema/slow-patterns.ts";

const long = "a".repeat(100_000);
const object = (text: object, more: object = {}) =>
  foreignSchema({ type: "object", properties: { text, more: { type: "number" } }, ...more }, true);

describe("a pattern from outside that can be slow", () => {
  it.each(["^.*.*.*x$", "^(.*)(.*)(.*)x$", "a*a*a*x", "^a{1,500}a{1,500}a{1,500}a{1,500}x$", "\\S+@\\S+\\.\\S+"])(
    "%s does not keep a long text waiting",
    (pattern) => {
      const schema = object({ type: "string", pattern });
      expect(schema.validate({ text: long })).toEqual({ ok: true, value: { text: long } });
      expect(schema.validate({ text: long, more: "x" })).toMatchObject({ ok: false, issues: [{ path: ["more"] }] });
      expect(schema.validate([long])).toMatchObject({ ok: false });
    },
  );

  it("refuses long texts where nobody else checks them", () => {
    const properties = { text: { type: "string", pattern: "^.*.*.*x$" } };
    const schema = foreignSchema({ type: "object", properties });
    expect(schema.validate({ text: "aax" })).toMatchObject({ ok: true });
    expect(schema.validate({ text: `${long}x` })).toMatchObject({ ok: false, issues: [{ path: [] }] });
  });

  it("is checked on texts that are not so long", () => {
    const schema = object({ type: "string", pattern: "^\\S+@\\S+\\.\\S+$" });
    expect(schema.validate({ text: "ada@example.org" })).toMatchObject({ ok: true });
    for (const text of ["ada", "ada".repeat(20)])
      expect(schema.validate({ text, more: null })).toMatchObject({ ok: false, issues: [{ path: ["text"] }, {}] });
  });

  it("leaves the others checked on a text that is too long for it", () => {
    const slow = { pattern: "^.*.*.*x$" };
    const schema = object({ allOf: [slow, { pattern: "^[a-z]*$" }] });
    expect(schema.validate({ text: long })).toMatchObject({ ok: true });
    expect(schema.validate({ text: `${long}A` })).toMatchObject({ ok: false, issues: [{ path: ["text"] }] });
  });

  it("does not add up in lists, nor in many patterns", () => {
    const pattern = "^.*.*.*x$";
    const list = object({ type: "array", items: { pattern } });
    expect(list.validate({ text: Array(5_000).fill("a".repeat(600)) })).toMatchObject({ ok: true });
    const all = object({ allOf: Array.from({ length: 100 }, () => ({ pattern })) });
    expect(all.validate({ text: "a".repeat(600) })).toMatchObject({ ok: true });
  });

  it("is not dropped where it is for the names of properties: then the value is refused", () => {
    const schema = foreignSchema({ type: "object", patternProperties: { "^.*.*.*x$": { type: "number" } } });
    expect(schema.validate({ abx: 1 })).toMatchObject({ ok: true });
    expect(schema.validate({ abx: "1" })).toMatchObject({ ok: false, issues: [{ path: ["abx"] }] });
    expect(schema.validate({ [long]: 1 })).toMatchObject({ ok: false, issues: [{ path: [] }] });
    const inside = { type: "object", patternProperties: { "^.*.*.*x$": { patternProperties: { "^a": {} } } } };
    expect(object({}, inside).validate({ [long]: 1 })).toMatchObject({ ok: false, issues: [{ path: [] }] });
  });

  it("is no pattern where it is data, or the name of a property", () => {
    const data = { pattern: ".*.*x" };
    const schema = object(
      { pattern: ".*.*x" },
      { properties: { pattern: { const: data }, text: { pattern: ".*.*x" } } },
    );
    expect(schema.validate({ text: long, pattern: data })).toMatchObject({ ok: true });
    expect(schema.validate({ text: long, pattern: {} })).toMatchObject({ ok: false });
  });

  it.each(["^(a{0,10}){0,10}$", "^(a?){10}(a?){10}(a?){10}$", `^${"a?".repeat(40)}b$`])(
    "%s is not checked on a text for which it would try a thousand million ways",
    (pattern) => {
      const text = `${"a".repeat(60)}x`;
      expect(object({ pattern }).validate({ text })).toEqual({ ok: true, value: { text } });
    },
  );

  it("is shown to the model as it is", () => {
    const source = { type: "object", properties: { text: { type: "string", pattern: ".*.*x" } } };
    expect(foreignSchema(source).jsonSchema).toEqual(source);
  });

  it("keeps null in values, and properties that are called like keywords", () => {
    const value = { a: null, b: { c: null } };
    const values = { const: value, default: value, example: value, examples: [value], enum: [value, null] };
    const properties = { type: values, required: { type: "string" }, example: { type: "string" } };
    const stated = { type: "object", properties };
    const given = { ...stated, required: null, properties: { ...properties, example: { type: "string", enum: null } } };
    expect(foreignSchema(given).jsonSchema).toEqual(stated);
  });

  it.each([
    ["^[a-z]*$", 1],
    ["^\\p{L}+$", 1],
    ["^[*+]{5}\\*x$", 0],
    ["^(?:a?b){3}$", 3],
    ["^((?:a{0,10}){0,10}b{2})*$", 12],
    ["x", 1],
    ["a*", 2],
    ["^a*|b*$", 3],
    ["^a{3,}b{2,20}c{12}$", 2],
    ["^b{3,3}$", 0],
    ["^(?:ab*){3,}$", 2],
    ["^(?:ab*){0}$", 0],
    ["^a*(?:b?c){3}$", 4],
    ["^(?:a*b)\\d{3}$", 1],
    ["^(?:a*b)[cd]{3}$", 1],
  ])("%s has the power %d", (pattern, power) => {
    expect(powerOf(pattern)).toBe(power);
  });
});
