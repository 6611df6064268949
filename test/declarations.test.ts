import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { root } from "./doc-blocks.ts";
import { sharedTemporary } from "./temporary.ts";

/** A project with this library, what it depends on, and nothing else: no SDK, no `@types/node`. */
const folder = sharedTemporary();
const library = join(folder, "node_modules/toolstream");

beforeAll(async () => {
  const dist = join(library, "dist");
  expect(await tsc(root, ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--noCheck", "--outDir", dist])).toBe(
    "",
  );
  cpSync(join(root, "package.json"), join(library, "package.json"));
  for (const name of ["@standard-schema/spec", "@cfworker/json-schema"]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(realpathSync(join(root, "node_modules", name)), link);
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
});

const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: object };

/** All imports but those that are for a package of another kind: its types are part of theirs. */
const imports = Object.keys(about.exports)
  .filter((path) => !["./package.json", "./bullmq", "./execute/telemetry"].includes(path))
  .map((path) => `toolstream${path.slice(1)}`);

const everyone = { target: "es2022", strict: true, exactOptionalPropertyTypes: true, noEmit: true };

/** What the compiler of a user says, who has `skipLibCheck: false` and calls with `fetch`, or with another SDK. */
it.each<[string, object]>([
  ["in a browser", { lib: ["es2023", "dom"], types: [], module: "nodenext" }],
  ["on Node", { lib: ["es2023"], types: ["node"], module: "esnext", moduleResolution: "bundler" }],
])("the declarations are no errors %s, where no SDK is installed", async (_, options) => {
  const typeRoots = [join(root, "node_modules/@types")];
  const user = imports.map((name, index) => `export * as part${index} from "${name}";`);
  const compilerOptions = { ...everyone, skipLibCheck: false, typeRoots, ...options };
  expect(await compile(user.join("\n"), compilerOptions)).toBe("");
});

/** As of two packages that depend on different versions, and hand tools and stores to each other. */
it("what another copy of the library makes is taken: tools, registries, calls, errors, stores", async () => {
  const theirs = join(folder, "node_modules/theirs");
  cpSync(library, theirs, { recursive: true });
  // The compiler takes packages of one name and version for one.
  writeFileSync(join(theirs, "package.json"), JSON.stringify({ ...about, version: "0.0.1" }));
  const user = `
    import type { Tool, ToolError, ToolCallError, ToolRegistry, ToolUse } from "theirs";
    import type { Store } from "theirs/store";
    import { defineTool, ToolBuffer, ToolRegistry as Registry, type Tool as OurTool } from "toolstream";
    import { openaiChat } from "toolstream/openai-chat";
    import { ToolExecutor } from "toolstream/execute";
    declare const tool: Tool<{ city: string }, number, { city: string }, "weather">;
    declare const [registry, use, store]: [ToolRegistry, ToolUse, Store];
    declare const [error, failed]: [ToolError, ToolCallError];
    export const ours: OurTool[] = [tool, defineTool(tool)];
    export const set = [new Registry([tool]), new Registry(registry), new ToolBuffer(registry)];
    export const params = [...openaiChat.tools([tool]), ...openaiChat.tools(registry)];
    export const executor = new ToolExecutor({ tools: [tool], store });
    export const outcomes = [executor.execute(tool.use({ city: "Oslo" }), { runId: "r" })];
    export const messages = [openaiChat.toolResult(use, 1), openaiChat.toolError(failed)];
    export const codes: import("toolstream").ToolError[] = [error, failed];
  `;
  const options = { lib: ["es2023", "dom"], types: [], module: "nodenext", skipLibCheck: true };
  expect(await compile(user, { ...everyone, ...options })).toBe("");
});

const wires = ["openai-chat", "openai-responses", "anthropic", "google", "google-interactions", "cohere"];
const camelCase = (name: string) => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

it.each(wires)("%s says how it answers calls", (name) => {
  const declared = readFileSync(join(library, "dist/adapters", name, "index.d.ts"), "utf8");
  for (const member of ["toolResult", "toolError", "toolResults"])
    expect(declared).toMatch(new RegExp(`\\*/\\s+readonly ${member}:`));
});

// An editor shows what is said of an overload, not of the constant or the member that has it.
it.each(["GoogleTools", "GoogleToolChoice"])("the overloads of %s say what they do", (name) => {
  const [index, schema] = ["index", "schema"].map((file) =>
    readFileSync(join(library, "dist/adapters/google", `${file}.d.ts`), "utf8"),
  );
  expect(index).toContain(`: import("./schema.ts").${name};`);
  expect(schema).toMatch(new RegExp(`interface ${name} \\{\\s+/\\*\\*`));
});

/** As of a package of a monorepo: the types of what it exports are written down, with names that others can import. */
it("what is made of an adapter can be exported from a package with declarations", async () => {
  const user = `
    import { rescueTextCalls, textJson } from "toolstream/text-json";
    import { textHelpers } from "toolstream/text-helpers";
    ${wires.map((name) => `import { ${camelCase(name)} } from "toolstream/${name}";`).join("\n")}
    ${wires.map((name, at) => `export const wrapped${at} = { ...${camelCase(name)}, read: () => 1 };`).join("\n")}
    ${wires.map((name, at) => `export const rescued${at} = rescueTextCalls(${camelCase(name)});`).join("\n")}
    export const ofText = [{ ...textJson("hermes") }, { ...textHelpers }];
  `;
  const options = { lib: ["es2023", "dom"], types: [], module: "nodenext", skipLibCheck: true };
  const emitted = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: "out" };
  expect(await compile(user, { ...everyone, ...options, ...emitted })).toBe("");
});

it("what is internal is not in the declarations: it may change", async () => {
  const user = `
    import { Templates, type Parser } from "toolstream";
    export const templates: Parser<unknown>["templates"] = new Templates(() => undefined);
    export const members: { [Name in keyof Templates]: never } = {};
  `;
  const options = { lib: ["es2023", "dom"], types: [], module: "nodenext", skipLibCheck: true };
  expect(await compile(user, { ...everyone, ...options })).toBe("");
});

function compile(user: string, compilerOptions: object): Promise<string> {
  writeFileSync(join(folder, "user.ts"), user);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["user.ts"] }));
  return tsc(folder, []);
}

function tsc(cwd: string, args: string[]): Promise<string> {
  const path = join(root, "node_modules/typescript/bin/tsc");
  return new Promise((done, fail) => {
    execFile(process.execPath, [path, "--pretty", "false", ...args], { cwd }, (error, stdout) => {
      if (error !== null && typeof error.code !== "number") fail(error);
      else done(stdout);
    });
  });
}
