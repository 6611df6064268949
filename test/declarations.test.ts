import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { root } from "./doc-blocks.ts";

/** A project from which no SDK is found. */
const folder = mkdtempSync(join(tmpdir(), "declarations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const wires = ["anthropic", "cohere", "google", "openai-chat", "openai-responses"];

/** What the compiler of a user says, who has `skipLibCheck: false` and calls with `fetch`, or with another SDK. */
it("the declarations of the adapters are no errors where an SDK is not installed", async () => {
  const dist = join(folder, "dist");
  expect(await tsc(root, ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--noCheck", "--outDir", dist])).toBe(
    "",
  );

  mkdirSync(join(folder, "node_modules"));
  symlinkSync(realpathSync(join(root, "node_modules/@standard-schema")), join(folder, "node_modules/@standard-schema"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const user = wires.map((wire) => `export * as ${wire.replace("-", "_")} from "./dist/adapters/${wire}/index.js";`);
  writeFileSync(join(folder, "user.ts"), user.join("\n"));
  const lib = ["es2024", "esnext.decorators", "dom", "dom.iterable", "dom.asynciterable"];
  const options = { target: "es2022", module: "nodenext", strict: true, skipLibCheck: false, noEmit: true };
  const compilerOptions = { ...options, lib, types: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["user.ts"] }));
  expect(await tsc(folder, [])).toBe("");
}, 60_000);

function tsc(cwd: string, args: string[]): Promise<string> {
  const path = join(root, "node_modules/typescript/bin/tsc");
  return new Promise((done, fail) => {
    execFile(process.execPath, [path, "--pretty", "false", ...args], { cwd }, (error, stdout) => {
      if (error !== null && typeof error.code !== "number") fail(error);
      else done(stdout);
    });
  });
}
