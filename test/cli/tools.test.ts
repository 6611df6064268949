import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { loadTools } from "../../src/cli/tools-file.ts";
import { isToolError, type Loss } from "../../src/index.ts";
import { adapters } from "../adapters.ts";
import { fixturesDir } from "../fixtures.ts";
import { folderWith, jsonLines, run } from "./command.ts";

const index = pathToFileURL(resolve(import.meta.dirname, "../../src/index.ts")).href;
const openaiChat = pathToFileURL(resolve(import.meta.dirname, "../../adapters/openai-chat/index.ts")).href;
const defineWeather = `
  import { defineTool, jsonSchema, ToolRegistry } from ${JSON.stringify(index)};
  const weather = defineTool({
    name: "get_weather",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "integer" } }, required: ["city"] }),
  });
  const other = defineTool({ name: "other", inputSchema: jsonSchema({ type: "object" }) });`;
const call = join(fixturesDir, "anthropic/one-call");

describe("a tools file", () => {
  it("as JSON, decides on names and inputs", async () => {
    const files = ["one-call", "unknown-tool", "invalid-input"].map((name) => join(fixturesDir, "anthropic", name));
    const outcome = await run(["replay", "--json", "--tools", join(fixturesDir, "tools.json"), ...files]);
    const statuses = jsonLines(outcome).map(({ toolCalls }) => (toolCalls as { status: string }[])[0]!.status);
    expect(statuses).toEqual(["complete", "unknown-tool", "invalid"]);
  });

  it.each(adapters.map(({ adapter }) => [adapter.name, adapter] as const))(
    "as JSON, may be what a request of %s has",
    async (_, { tools }) => {
      const before = await loadTools(join(fixturesDir, "tools.json"));
      for (const sent of [
        tools(before, { onLoss: "ignore" }),
        { model: "m", tools: tools(before, { onLoss: "ignore" }) },
      ]) {
        const path = join(folderWith({ "request.json": JSON.stringify(sent) }), "request.json");
        const after = await loadTools(path);
        expect(after.map(({ name, description }) => [name, description])).toEqual(
          before.map(({ name, description }) => [name, description]),
        );
        const properties = after.map(({ inputSchema }) => Object.keys(inputSchema.jsonSchema["properties"] ?? {}));
        expect(properties).toContainEqual(["city", "unit"]);
      }
    },
  );

  it("as JSON, may begin with a byte order mark, and have effects, and tools without a schema", async () => {
    const listed = [
      { name: "look", parameters: { type: "object" }, effect: "read" },
      { type: "function", name: "now", parameters: null },
    ];
    const path = join(folderWith({ "tools.json": `\uFEFF${JSON.stringify(listed)}` }), "tools.json");
    expect((await loadTools(path)).map(({ name, effect }) => [name, effect])).toEqual([
      ["look", "read"],
      ["now", "write"],
    ]);
  });

  it("as JSON, may be what an MCP server lists", async () => {
    const listed = { tools: [{ name: "get_weather", title: "Weather", inputSchema: { type: "object" } }] };
    const path = join(folderWith({ "list.json": JSON.stringify(listed) }), "list.json");
    expect((await loadTools(path)).map(({ name }) => name)).toEqual(["get_weather"]);
  });

  it("as JSON, may have the types of Google's SDK in capitals", async () => {
    const schema = (type: (name: string) => string) => ({
      type: type("object"),
      properties: { type: { type: type("string"), enum: ["SUN", "RAIN"] }, days: { type: type("array"), items: {} } },
    });
    const functionDeclarations = [{ name: "get_weather", parameters: schema((name) => name.toUpperCase()) }];
    const path = join(folderWith({ "request.json": JSON.stringify([{ functionDeclarations }]) }), "request.json");
    const [tool] = await loadTools(path);
    expect(tool!.inputSchema.jsonSchema).toEqual(schema((name) => name));
  });

  it.each([
    ["exports a tool", "tools.ts", "export const tool: unknown = weather;"],
    ["exports a list", "tools.mjs", "export default [weather, other];"],
    ["exports a registry", "tools.mjs", "export const registry = new ToolRegistry([weather, other]);"],
    [
      "exports what keeps tools, and an adapter beside it",
      "tools.mjs",
      `export const set = { tools: () => [weather], skipped: [] };
       export { openaiChat } from ${JSON.stringify(openaiChat)};`,
    ],
    ["exports all of these", "tools.ts", "export { weather }; export const list = [weather, other];"],
  ])("as a module that %s", async (_, name, text) => {
    const folder = folderWith({ [name]: `${defineWeather}\n${text}` });
    const outcome = await run(["replay", "--json", "--tools", join(folder, name), call]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    expect(jsonLines(outcome)[0]).toMatchObject({
      toolCalls: [{ status: "invalid", error: { code: "invalid_input" } }],
    });
  });

  it("as a module that holds something open, is no reason to wait", async () => {
    const folder = folderWith({ "tools.mjs": `${defineWeather}\nsetInterval(() => {}, 1000);\nexport { weather };` });
    const outcome = await run(["schema", "--provider", "cohere", "--tools", join(folder, "tools.mjs")]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(outcome.stdout)).toMatchObject({ provider: "cohere" });
  });

  it("that Node does not understand says what to do", async () => {
    const path = join(folderWith({ "tools.ts": "export class A { @tool() a() {} }" }), "tools.ts");
    const { status, stderr } = await run(["schema", "--provider", "cohere", "--tools", path]);
    expect(status).toBe(1);
    expect(stderr).toContain('compile it, or set NODE_OPTIONS="--import tsx".');
  });

  const object = '{"type":"object"}';
  it.each([
    ["an object", "tools.json", "{}", "holds an object"],
    ["no JSON", "tools.json", "[{", "is not JSON"],
    ["a list of numbers", "tools.json", "[1]", "Entry 0 of the tool file"],
    ["a provider's form", "tools.json", '[{"type":"function","function":{}}]', "has no name, but type, function"],
    ["a tool without parameters", "tools.json", '[{"name":"a"}]', "has no parameters, which are a JSON Schema"],
    ...[
      { type: "function", function: { name: "a", parameters: "city" } },
      { type: "function", name: "a", parameters: ["city"] },
    ].map((tool): [string, string, string, string] => [
      `a provider's form with ${JSON.stringify(tool)}, whose parameters are no schema`,
      "tools.json",
      JSON.stringify([tool]),
      "has no parameters, which are a JSON Schema",
    ]),
    [
      "a schema that is none",
      "tools.json",
      '[{"name":"a","parameters":{"type":"text"}}]',
      '"text" is not a JSON Schema type',
    ],
    ["a name that is none", "tools.json", `[{"name":"a b","parameters":${object}}]`, "a name has 1 to 128 characters"],
    [
      "an unknown effect",
      "tools.json",
      `[{"name":"a","effect":"x","parameters":${object}}]`,
      "it must be read, idempotent",
    ],
    [
      "one name twice",
      "tools.json",
      `[{"name":"a","parameters":${object}},{"name":"a","parameters":${object}}]`,
      "Two tools are called a",
    ],
    ["text", "tools.txt", "get_weather", "is not JSON"],
    ["a module without tools", "tools.mjs", "export const answer = 42;", "exports no tools, but answer"],
    ["a module without exports", "tools.mjs", "", "exports nothing"],
    ["a module that cannot be read", "tools.mjs", "export const = 1", "cannot be loaded"],
    ["a module that throws", "tools.mjs", "throw new Error('no database')", "cannot be loaded: no database"],
    ["a module that throws a text", "tools.mjs", "throw 'no database'", "cannot be loaded: no database"],
  ])("may not be %s", async (_, name, text, words) => {
    const path = join(folderWith({ [name]: text }), name);
    const error = await loadTools(path).catch((reason: unknown) => reason);
    if (!isToolError(error)) throw new Error("it was taken, or failed otherwise", { cause: error });
    expect(["invalid_tool", "duplicate_tool"]).toContain(error.code);
    expect(error.message).toContain(path);
    expect(error.message).toContain(words);
  });

  it("that is none is told in words, before any file is read", async () => {
    const path = join(folderWith({ "tools.json": "{}" }), "tools.json");
    const { status, stdout, stderr } = await run(["replay", "--json", "--tools", path, call]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toBe(
      `toolstream: The tool file ${path} holds an object. It must be a JSON array of { name, description, parameters }, or a module that exports tools.\n`,
    );
  });

  it.each(["nowhere.json", "nowhere.ts"])("has to be there: %s", async (file) => {
    const { status, stderr } = await run(["schema", "--tools", file, "--provider", "cohere"]);
    expect(status).toBe(1);
    expect(stderr).toContain(`The tool file ${file} cannot be read: ENOENT`);
  });
});

describe("toolstream schema", () => {
  const lossy = {
    name: "find",
    description: "Find things.",
    parameters: {
      type: "object",
      properties: { query: { type: "string", minLength: 3 }, limit: { type: "integer", default: 5 } },
      required: ["query"],
      patternProperties: { "^x-": { type: "string" } },
    },
  };
  const shared = JSON.parse(readFileSync(join(fixturesDir, "tools.json"), "utf8")) as object[];

  for (const { adapter } of adapters) {
    it.each([false, true])(`prints what ${adapter.name}.tools() gives, and its losses (strict: %s)`, async (strict) => {
      const path = join(folderWith({ "tools.json": JSON.stringify([...shared, lossy]) }), "tools.json");
      const args = ["schema", "--tools", path, "--provider", adapter.name, ...(strict ? ["--strict"] : [])];
      const { status, stdout, stderr } = await run(args);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });

      const losses: Loss[] = [];
      const tools = adapter.tools(await loadTools(path), { strict, onLoss: (loss) => losses.push(loss) });
      expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify({ provider: adapter.name, strict, tools, losses })));
      if (strict) expect(losses.filter(({ tool }) => tool === "find")).not.toEqual([]);
    });
  }
});
