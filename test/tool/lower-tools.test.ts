import { afterEach, describe, expect, it, vi } from "vitest";
import type { Loss } from "../../src/schema/lower.ts";
import { closeObjects, dropKeywords, requireAll } from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { lowerTools, type ToolsOptions } from "../../src/tool/lower-tools.ts";
import { defineTool } from "../../src/tool/tool.ts";

const plain = [dropKeywords(["pattern"])];
const strict = [dropKeywords(["pattern", "minLength"]), closeObjects, requireAll];

function lower(tools: Parameters<typeof lowerTools>[0], options?: ToolsOptions, hasStrict = true) {
  return lowerTools(tools, {
    adapter: "example",
    toolName: (name) => name.replaceAll(".", "_"),
    plain,
    ...(hasStrict && { strict }),
    options,
    make: ({ description }, lowered) => ({ ...lowered, description }),
  });
}

function tool(name: string, properties: JsonSchema = {}) {
  return defineTool({ name, description: `What ${name} does.`, inputSchema: { type: "object", properties } });
}

const fine = () => tool("fine", { city: { type: "string" } });
const losesInStrict = () => tool("bounded", { city: { type: "string", minLength: 1 } });
const losesAlways = () => tool("matched", { city: { type: "string", pattern: "a" } });

afterEach(() => vi.restoreAllMocks());

describe("lowerTools", () => {
  it("gives each tool its mapped name, its lowered schema and its description", () => {
    expect(lower([tool("math.add", { x: { type: "number" } })])).toEqual([
      {
        name: "math_add",
        schema: { type: "object", properties: { x: { type: "number" } } },
        strict: false,
        description: "What math.add does.",
      },
    ]);
  });

  it("refuses two tools that the provider would know by one name, and names both", () => {
    const clash = () => lower([tool("math.add"), tool("math_add")]);
    expect(clash).toThrow(expect.objectContaining({ code: "duplicate_tool" }));
    expect(clash).toThrow(/called math_add on the wire: one comes from math\.add, one from math_add/);
  });

  it("takes an input of no type, and refuses a text where the provider knows only objects", () => {
    const lowered = (inputSchema: JsonSchema) => lower([defineTool({ name: "a", inputSchema })]);
    const either = { anyOf: [{ type: "object", properties: { city: {} } }, { type: "object" }] };
    expect(lowered(either)[0]?.schema).toEqual(either);
    expect(() => lowered({ type: "string" })).toThrow(
      expect.objectContaining({ code: "schema_loss", message: expect.stringContaining('of a is of type "string"') }),
    );
  });

  describe("strict", () => {
    it("is left alone unless asked for", () => {
      expect(lower([fine()])[0]).toMatchObject({ strict: false, schema: { properties: { city: { type: "string" } } } });
    });

    it("is used for every tool when it is true", () => {
      expect(lower([fine(), losesInStrict()], { strict: true, onLoss: "ignore" }).map((param) => param.strict)).toEqual(
        [true, true],
      );
    });

    it("is used with auto where it loses nothing that the plain form keeps", () => {
      const losesBoth = tool("both", { city: { type: "string", minLength: 1, pattern: "a" } });
      const tools = [fine(), losesInStrict(), losesAlways(), losesBoth];
      const params = lower(tools, { strict: "auto", onLoss: "ignore" });
      expect(params.map((param) => param.strict)).toEqual([true, false, true, false]);
    });

    it("reports with auto only what is lost in the form that is sent", () => {
      const losses: Loss[] = [];
      lower([fine(), losesInStrict()], { strict: "auto", onLoss: (loss) => losses.push(loss) });
      expect(losses).toEqual([]);
    });

    it("is a loss where the provider has none, and plain with auto", () => {
      const losses: Loss[] = [];
      const [param] = lower([fine()], { strict: true, onLoss: (loss) => losses.push(loss) }, false);
      expect(param).toMatchObject({ strict: false, schema: { properties: { city: { type: "string" } } } });
      expect(losses).toEqual([
        { tool: "fine", path: "", rule: "strict", message: expect.stringContaining("no strict mode") },
      ]);
      expect(lower([fine()], { strict: "auto", onLoss: "throw" }, false)[0]?.strict).toBe(false);
    });
  });

  describe("onLoss", () => {
    it("warns once a tool by default, however often it is lowered", () => {
      const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
      const tools = [losesAlways(), fine()];
      lower(tools);
      lower(tools);
      expect(warn.mock.calls).toEqual([[expect.stringMatching(/example.*matched.*\/properties\/city.*pattern/)]]);
    });

    it("throws one error with an issue a loss", () => {
      const attempt = () => lower([losesAlways(), losesInStrict()], { strict: true, onLoss: "throw" });
      expect(attempt).toThrow(
        expect.objectContaining({
          code: "schema_loss",
          issues: [
            { path: ["properties", "city"], message: expect.stringContaining("matched: unsupported:pattern") },
            { path: ["properties", "city"], message: expect.stringContaining("bounded: unsupported:minLength") },
          ],
        }),
      );
    });

    it("says nothing with ignore", () => {
      const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
      lower([losesAlways()], { onLoss: "ignore" });
      expect(warn).not.toHaveBeenCalled();
    });

    it("hands each loss to a function", () => {
      const losses: Loss[] = [];
      lower([losesAlways()], { onLoss: (loss) => losses.push(loss) });
      expect(losses).toEqual([
        { tool: "matched", path: "/properties/city", rule: "unsupported:pattern", message: expect.any(String) },
      ]);
    });
  });

  it.each([
    ["strict", { strict: "yes" }],
    ["onLoss", { onLoss: "shout" }],
  ])("refuses an unknown value of %s", (name, options) => {
    expect(() => lower([fine()], options as never)).toThrow(TypeError);
    expect(() => lower([fine()], options as never)).toThrow(name);
  });
});
