import { describe, expect, it } from "vitest";
import { ToolRegistry } from "../../src/tool/registry.ts";
import { toolList } from "../../src/tool/tool-set.ts";
import { defineTool, makeTool } from "../../src/tool/tool.ts";

const inputSchema = { type: "object" };
const add = defineTool({ name: "add", inputSchema, execute: () => 1 });
const ask = defineTool({ name: "ask", inputSchema });
const getWeather = makeTool({ name: "getWeather", inputSchema, execute: () => 21 }, "Weather.getWeather");
const otherWeather = makeTool({ name: "getWeather", inputSchema, execute: () => 22 }, "Marine.getWeather");

describe("ToolRegistry", () => {
  it("finds tools by name and by qualified name", () => {
    const registry = new ToolRegistry([add, getWeather]);
    expect(registry.get("add")).toBe(add);
    expect(registry.get("getWeather")).toBe(getWeather);
    expect(registry.get("Weather.getWeather")).toBe(getWeather);
    expect(registry.has("Weather.getWeather")).toBe(true);
    expect(registry.tools()).toEqual([add, getWeather]);
  });

  it("says who runs a tool", () => {
    const registry = new ToolRegistry([add, ask]);
    expect([registry.mode("add"), registry.mode("ask"), registry.mode("none")]).toEqual([
      "internal",
      "external",
      undefined,
    ]);
    expect([registry.isExternal("add"), registry.isExternal("ask"), registry.isExternal("none")]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("makes an internal tool external in this set only", async () => {
    const registry = new ToolRegistry();
    const view = registry.register(getWeather, { mode: "external" });
    expect(registry.get("Weather.getWeather")).toBe(view);
    expect(registry.isExternal("getWeather")).toBe(true);
    expect(view).toMatchObject({
      name: "getWeather",
      qualifiedName: "Weather.getWeather",
      mode: "external",
      execute: undefined,
    });
    expect(Object.isFrozen(view)).toBe(true);
    const use = view.use({});
    expect(use.tool).toBe(view);
    await expect(use.execute()).rejects.toThrow(expect.objectContaining({ code: "external_tool" }));
    expect(getWeather.mode).toBe("internal");
    expect(getWeather.use({}).executeSync()).toBe(21);
  });

  it("cannot make an external tool internal", () => {
    expect(() => new ToolRegistry().register(ask, { mode: "internal" })).toThrow(
      expect.objectContaining({ code: "invalid_tool", message: expect.stringContaining("ask") }),
    );
    expect(() => new ToolRegistry().register(add, { mode: "remote" as never })).toThrow(TypeError);
  });

  it.each(["constructor", "toString", "__proto__", "hasOwnProperty", "", "Add", "add ", "аdd", "a\u200bdd"])(
    "has no tool %j",
    (name) => {
      const registry = new ToolRegistry([add]);
      expect(registry.get(name)).toBeUndefined();
      expect(registry.has(name)).toBe(false);
      expect(registry.mode(name)).toBeUndefined();
      expect(registry.isExternal(name)).toBe(false);
    },
  );

  it.each(["constructor", "__proto__"])("can have a tool %j", (name) => {
    const tool = defineTool({ name, inputSchema });
    expect(new ToolRegistry([tool]).get(name)).toBe(tool);
  });

  it("refuses a second tool of a name, naming both, and stays as it was", () => {
    const registry = new ToolRegistry([getWeather]);
    expect(() => registry.register(otherWeather)).toThrow(
      expect.objectContaining({
        code: "duplicate_tool",
        message: expect.stringMatching(/getWeather.*Weather\.getWeather.*Marine\.getWeather/),
      }),
    );
    expect(registry.tools()).toEqual([getWeather]);
    expect(registry.has("Marine.getWeather")).toBe(false);
  });

  it("refuses a name that is another's qualified name", () => {
    const registry = new ToolRegistry([getWeather]);
    const spoof = defineTool({ name: "Weather.getWeather", inputSchema });
    expect(() => registry.register(spoof)).toThrow(/Two tools are called Weather\.getWeather/);
    expect(() => new ToolRegistry([spoof]).register(getWeather)).toThrow(/Two tools are called Weather\.getWeather/);
  });

  it("refuses the same tool twice", () => {
    expect(() => new ToolRegistry([add, add])).toThrow(/both come from add/);
  });

  it("refuses what is no tool", () => {
    expect(() => new ToolRegistry().register({ name: "x" } as never)).toThrow(
      /defineTool\(\) or toolsOf\(\), got an object with name$/,
    );
    expect(() => new ToolRegistry([undefined] as never)).toThrow(TypeError);
  });

  it("copies: a registry of a registry's tools goes its own way", () => {
    const first = new ToolRegistry([add]);
    const second = new ToolRegistry(first);
    second.register(ask);
    expect(first.tools()).toEqual([add]);
    (first.tools() as unknown[]).push(ask);
    expect(first.has("ask")).toBe(false);
    expect(first.tools()).toHaveLength(1);
  });
});

describe("toolList()", () => {
  it("takes a list and whatever keeps one", () => {
    expect(toolList([add, ask])).toEqual([add, ask]);
    expect(toolList(new ToolRegistry([add, ask]))).toEqual([add, ask]);
    expect(toolList({ tools: () => [add] })).toEqual([add]);
    expect(toolList([])).toEqual([]);
  });

  it("refuses two tools of one name and names both origins", () => {
    expect(() => toolList([getWeather, add, otherWeather])).toThrow(
      expect.objectContaining({
        code: "duplicate_tool",
        message: expect.stringMatching(/Weather\.getWeather.*Marine\.getWeather/),
      }),
    );
  });

  it.each([undefined, null, "add", {}, add])("refuses what holds no tools: %s", (source) => {
    expect(() => toolList(source as never)).toThrow(TypeError);
  });
});
