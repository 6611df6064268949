import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { definitionDigest, digestOf } from "../../src/execute/digest.ts";

describe("digestOf()", () => {
  it("is SHA-256 of the canonical JSON", async () => {
    // printf '{"a":[1,"x"],"b":null}' | sha256sum
    expect(await digestOf({ b: null, a: [1, "x"] })).toBe(
      "sha256:854ef06dc57f5dfed10206344ab2d02e0b6c84b0e19436703a5afd0f1f9f2687",
    );
  });

  it("does not depend on the order of keys, nor on what is not there", async () => {
    expect(await digestOf({ a: 1, b: { c: 2, d: 3 } })).toBe(await digestOf({ b: { d: 3, c: 2 }, a: 1, e: undefined }));
  });

  it("is equal only for equal values", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (a, b) => {
        const canon = (value: unknown) => JSON.stringify(value, sorted).replaceAll("-0", "0");
        expect((await digestOf(a)) === (await digestOf(b))).toBe(canon(a) === canon(b));
      }),
    );
  });

  it.each<[string, unknown, unknown]>([
    ["two lone surrogates", "\ud800", "\ud801"],
    ["a lone surrogate and what stands for it", "\ud800", '\u{F0000}u"\\ud800"'],
    ["a Date and its text", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a Date and an object written like it", new Date(5), { $date: 5 }],
    ["two Maps", new Map([["a", 1]]), new Map([["a", 2]])],
    ["a bigint and a number", 1n, 1],
    ["bytes and a list", new Uint8Array([1]), [1]],
    ["two regular expressions", { a: /^safe$/ }, { a: /.*/ }],
    ["a regular expression and its text", /a/g, "/a/g"],
    ["two URLSearchParams", new URLSearchParams("a=1"), new URLSearchParams("a=2")],
    ["two ArrayBuffers", new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    ["two URLs", new URL("https://a.example/1"), new URL("https://a.example/2")],
    ["own __proto__ and none", JSON.parse('{"__proto__":{"a":1}}'), {}],
  ])("keeps apart %s", async (_, a, b) => {
    expect(await digestOf(a)).not.toBe(await digestOf(b));
  });

  it.each<[string, () => unknown, string]>([
    ["a function", () => ({ f: () => 1 }), "not_serializable"],
    ["NaN", () => ({ n: Number.NaN }), "not_serializable"],
    [
      "an instance of a class, which may hold what nobody sees",
      () =>
        new (class {
          a = 1;
        })(),
      "not_serializable",
    ],
    ["a Blob", () => ({ file: new Blob(["a"]) }), "not_serializable"],
    [
      "a cycle",
      () => {
        const list: unknown[] = [];
        list.push(list);
        return list;
      },
      "not_serializable",
    ],
    [
      "a getter that throws",
      () => ({
        get a() {
          throw new Error("no");
        },
      }),
      "not_serializable",
    ],
    ["depth 10,000", () => JSON.parse("[".repeat(10_000) + "]".repeat(10_000)), "too_large"],
    ["two million values", () => Array.from({ length: 2_000_000 }, () => 0), "too_large"],
    ["a text of 33 Mi characters", () => "x".repeat(33 * 1024 * 1024), "too_large"],
  ])("refuses %s", async (_, make, code) => {
    await expect(digestOf(make())).rejects.toMatchObject({ code });
  });

  it("takes the same object twice for no cycle", async () => {
    const shared = { a: 1 };
    await expect(digestOf([shared, shared])).resolves.toMatch(/^sha256:/);
  });
});

describe("definitionDigest()", () => {
  const make = (change: object = {}) =>
    defineTool({
      name: "refund",
      description: "Refunds an order.",
      inputSchema: z.object({ id: z.string() }),
      execute: () => "ok",
      ...change,
    });

  it("is the same for the same definition, made twice", async () => {
    expect(await definitionDigest(make())).toBe(await definitionDigest(make()));
  });

  // MCPoison, CVE-2025-54136: the definition changed after it was approved.
  it.each<[string, object]>([
    ["name", { name: "refund2" }],
    ["description", { description: "Refunds any order." }],
    ["input schema", { inputSchema: z.object({ id: z.string(), amount: z.number() }) }],
    ["output schema", { outputSchema: z.string() }],
    ["effect", { effect: "idempotent" }],
    ["metadata", { metadata: { version: 2 } }],
  ])("changes with the %s", async (_, change) => {
    expect(await definitionDigest(make(change))).not.toBe(await definitionDigest(make()));
  });

  it("takes no part of metadata that has no digest", async () => {
    const withClient = (client: object) => definitionDigest(make({ metadata: { client } }));
    expect(await withClient(new Blob(["a"]))).toBe(await withClient(new Response("b")));
  });

  it("changes with what can be seen of an instance of a class in the metadata", async () => {
    class Limit {
      max = 0;
    }
    const withLimit = (max: number) =>
      definitionDigest(make({ metadata: { limit: Object.assign(new Limit(), { max }) } }));
    expect(await withLimit(1)).toBe(await withLimit(1));
    expect(await withLimit(1)).not.toBe(await withLimit(2));
  });

  it("changes with the executable behind it", async () => {
    const tool = make();
    expect(await definitionDigest(tool, "sha256:aa")).not.toBe(await definitionDigest(tool));
    expect(await definitionDigest(tool, "sha256:aa")).not.toBe(await definitionDigest(tool, "sha256:bb"));
  });
});

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return { entries: Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}
