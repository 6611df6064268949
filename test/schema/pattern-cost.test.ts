import { describe, expect, it } from "vitest";
import { toSchema } from "../../src/schema/index.ts";
import { isExponential } from "../../src/schema/pattern-cost.ts";
import { busyMs } from "../busy-ms.ts";

describe("isExponential()", () => {
  it.each([
    "^(a+)+$",
    "^(a*)*$",
    "^(a|a)*$",
    "^(a|ab|b)*c$",
    "^(?:a?b?)*$",
    "^(\\w+\\s?)*$",
    "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
    "^(?:.*a){20}$",
    "^(a{1,30}){1,30}$",
    "^(a{1,10})*$",
    "^(\\d{1,3},?)+$",
    "^(?:(?:a{0,2}){2})*$",
    "^(?:b(?:a?){2})*$",
    "^(a{2,})*$",
    "^(?:[a-z]{10}){10}(?:[A-Z]{10}){10}(?:[0-9]{10}){10}(x+)+$",
    "^(?=(x+x+)+y)",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(?<name>\\d+)+x",
    "^(\\d|\\p{N})*$",
    "^([^\\]]|[a-z])+$",
    "^(?:a{1,2})*$",
    "^(?:b+(?:a?){1})*$",
    "^(?:b+(?:|a))*$",
    "^(?:a+(?!b))+$",
    "^(?:a+\\B)+c",
    "^(?:[\\u0900-\\u097f][\\u0900-\\u097f ]*)+$",
    "^(?:\\xf1|[\\xf0-\\xf9])*$",
    "^(?:\\u{1F400}|[\\u{1F3FF}-\\u{1F4FF}])*$",
    "^(?:[a-z]{10}){10}(?:[A-Z]{10}){10}(?:[0-9]{10}){10}(x|x)*$",
  ])("sees that %s is", (pattern) => {
    expect(isExponential(pattern)).toBe(true);
  });

  it.each([
    "^[a-z0-9]+(?:-[a-z0-9]+)*$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^(?:\\d{1,3}\\.){3}\\d{1,3}$",
    "^[\\w.%+-]+@[\\w.-]+\\.[A-Za-z]{2,}$",
    "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$",
    "^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$",
    "^#(?:[0-9a-fA-F]{3}){1,2}$",
    "^(?:[0-9a-f]{2}){1,32}$",
    "^(?:\\d{1,3},)*\\d{1,3}$",
    "^(?:a{2}b?)*$",
    "^(?:c(?:ba?)c?)*$",
    "^(?:a|b|c)*$",
    "^\\s*(?:\\S+\\s+)*$",
    '^"(?:[^"\\\\]|\\\\.)*"$',
    "^(?!-)[a-z]+(?<!-)$",
    "^\\p{L}+(?: \\p{L}+)*$",
    "^(.)\\1+$",
    "a.*b.*c",
    "^[\\]\\[(|)*+?{}]*$",
    "",
    "^(?:)*$",
    "^(?:a{3}b?)*$",
    "^(?:a{1,3}){2}$",
    "^\\\\u{110000}$",
    "^\\/(?:[^/]+\\/)*$",
    "^v?(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$",
  ])("sees that %s is not", (pattern) => {
    expect(isExponential(pattern)).toBe(false);
  });

  it("lets pass what has too many characters to tell, and nothing that is too deep to read", () => {
    expect(isExponential(`^(?:${"[a-z]".repeat(300)})*$`)).toBe(false);
    expect(isExponential(`${"(?:".repeat(20_000)}a${")".repeat(20_000)}`)).toBe(true);
  });

  it("is quick for long patterns, and lets pass what is too long to tell", () => {
    const begin = busyMs();
    for (const pattern of [
      "(?:[a-z]b)*".repeat(60),
      "[ab]*".repeat(120),
      `^(?:${"[a-z]".repeat(240)})*$`,
      "(a+)+".repeat(500),
      `${"(?:".repeat(60)}${"){10}".repeat(60)}`,
      `${"(?:".repeat(60)}a?${"){2,10}".repeat(60)}`,
      `^(?:${Array.from({ length: 60 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join("|")})*$`,
    ])
      isExponential(pattern);
    expect(busyMs() - begin).toBeLessThan(1500);
  });
});

it("a plain JSON Schema with such a pattern is refused when it is defined", () => {
  const schema = { type: "object", properties: { name: { type: "string", pattern: "^(a+)+$" } } };
  expect(() => toSchema(schema)).toThrow(
    expect.objectContaining({
      code: "invalid_tool",
      message: expect.stringMatching(/#\/properties\/name\/pattern.*\^\(a\+\)\+\$.*exponential/),
    }),
  );
  expect(() => toSchema({ patternProperties: { "^(a+)+$": {} } })).toThrow(/exponential/);
});
