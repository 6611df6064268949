import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { textAdapters } from "../adapters.ts";
import { fixturesDir } from "../fixtures.ts";
import { folderWith, jsonLines, run } from "./command.ts";

const tools = join(fixturesDir, "tools.json");

interface Line {
  readonly wire: string;
  readonly text: string;
  readonly toolCalls: readonly { readonly name: string; readonly input: unknown; readonly status: string }[];
}

describe("toolstream replay --text", () => {
  it.each(textAdapters.map(({ adapter }) => adapter.name))("reads the calls of %s", async (name) => {
    const notation = name === "text-helpers" ? "helpers" : name.replace("text-json/", "");
    const folder = join(fixturesDir, name, "parallel");
    const outcome = await run(["replay", folder, "--text", notation, "--tools", tools, "--json"]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")) as Line;
    const [line] = jsonLines(outcome) as unknown as [Line];
    expect(line.wire).toBe("text");
    expect(line.text).toBe(expected.text);
    expect(line.toolCalls).toEqual(expected.toolCalls);
  });

  it("is not needed for a fixture: its meta.json says how the calls are written", async () => {
    const wires = ["text-helpers", "text-json/hermes", "text-json/qwen-xml"];
    const folders = wires.flatMap((wire) =>
      ["parallel", "error-mid-stream", "non-streamed"].map((name) => join(fixturesDir, wire, name)),
    );
    const [folder, file] = [folders[3]!, join(folders[3]!, "stream.ndjson")];
    const outcome = await run(["replay", ...folders, file, "--tools", tools, "--json"]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    const expected = [...folders, folder].map((one) => JSON.parse(readFileSync(join(one, "expected.json"), "utf8")));
    expect(jsonLines(outcome).map(({ file: _, ...line }) => line)).toEqual(expected);
    const asText = await run(["replay", folder, "--wire", "text", "--json"]);
    expect(jsonLines(asText)).toMatchObject([{ wire: "text", toolCalls: [] }]);
  });

  it("leaves a text as it is where meta.json names no notation", async () => {
    const stream = '{"type":"text-delta","delta":"<tool_call>"}\n';
    const metas = ["nothing", "[]", '{ "wire": 5 }', '{ "wire": "text-json" }', '{ "wire": "text-json/toString" }'];
    const outcome = await run([
      "replay",
      "--json",
      ...metas.map((meta) => folderWith({ "stream.ndjson": stream, "meta.json": meta })),
    ]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    expect(jsonLines(outcome)).toMatchObject(metas.map(() => ({ wire: "text", text: "<tool_call>" })));
  });

  it("reads them from the text of any wire, and without it shows the text as it is", async () => {
    const folder = join(fixturesDir, "text-json/rescue/quirk-30-qwen-xml-in-think");
    const [found, plain] = await Promise.all([
      run(["replay", folder, "--text", "qwen-xml", "--tools", tools, "--json"]),
      run(["replay", folder, "--tools", tools, "--json"]),
    ]);
    expect(jsonLines(found)).toMatchObject([
      { wire: "openai-chat", toolCalls: [{ input: { customer: "007", limit: 5 } }] },
    ]);
    expect(jsonLines(plain)).toMatchObject([
      { text: expect.stringContaining("<function=find_orders>") as string, toolCalls: [] },
    ]);
  });

  it("names them all in its help", async () => {
    const { stdout } = await run(["replay", "--help"]);
    for (const { adapter } of textAdapters) {
      expect(stdout).toContain(adapter.name === "text-helpers" ? "helpers" : adapter.name.replace("text-json/", ""));
    }
  });

  it("says what to install where the package for Python is missing", async () => {
    const missing = `import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) { return next(name.replace("@lezer/python", "@lezer/none"), context) } })`;
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(missing)}`;
    const folder = join(fixturesDir, "text-helpers/parallel");
    const outcome = await run(["replay", folder, "--text", "helpers"], { env: { NODE_OPTIONS } });
    expect(outcome).toMatchObject({
      status: 1,
      stderr:
        "toolstream: The package @lezer/python is needed for this and cannot be loaded: npm install @lezer/python\n",
    });
  });

  it("shows them to a person, too", async () => {
    const outcome = await run([
      "replay",
      join(fixturesDir, "text-helpers/references"),
      "--text",
      "helpers",
      "--tools",
      tools,
    ]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    expect(outcome.stdout).toContain("find_orders");
  });
});
