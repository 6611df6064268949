import { describe, expect, it } from "vitest";
import { safeToolName } from "../../src/index.ts";

const toolName = safeToolName({ allowed: /[a-zA-Z0-9_-]/, maxLength: 64 });

describe("safeToolName()", () => {
  it.each([
    ["get_weather", "get_weather"],
    ["get-weather", "get-weather"],
    ["2fast", "2fast"],
    ["math.add", "math__add"],
    ["a/b:c", "a__b__c"],
    ["wetter_für", "wetter_f__r"],
    ["🌦️", "____"],
  ])("maps %s to %s", (name, safe) => {
    expect(toolName(name)).toBe(safe);
  });

  it("puts a _ before a character that may not stand first", () => {
    const strict = safeToolName({ allowed: /[a-zA-Z0-9_]/, allowedFirst: /[a-zA-Z_]/, maxLength: 64 });
    expect([strict("2fast"), strict("fast2"), strict(".net")]).toEqual(["_2fast", "fast2", "__net"]);
  });

  it("cuts a long name and keeps it apart from its neighbours", () => {
    const long = "x".repeat(80);
    expect(toolName(`${long}a`)).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(toolName(`${long}a`)).toBe(toolName(`${long}a`));
    expect(toolName(`${long}a`)).not.toBe(toolName(`${long}b`));
    expect(toolName("x".repeat(64))).toBe("x".repeat(64));
  });

  it.each(["g", "y", "gu"])(
    "takes a pattern with the flags %s, and gives a name the same result each time",
    (flags) => {
      const flagged = safeToolName({ allowed: new RegExp("[a-zA-Z0-9_-]", flags), maxLength: 64 });
      for (const name of ["get_weather", "get_weather", "math.add"]) expect(flagged(name)).toBe(toolName(name));
    },
  );

  it("does not change what it has made", () => {
    for (const name of ["math.add", "x".repeat(100), "🌦️"]) expect(toolName(toolName(name))).toBe(toolName(name));
  });
});
