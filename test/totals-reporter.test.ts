/** The last line of a run is what people and scripts read: nothing that failed is missing in it, or in the exit status. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./doc-blocks.ts";
import { temporary } from "./temporary.ts";

it.each<[string, string, string]>([
  ["a file", 'throw new Error("no");', "0 passed, 1 failed, 0 skipped"],
  ["a file without tests", "", "0 passed, 1 failed, 0 skipped"],
  ["a test", 'it("is", () => {}); it("is not", () => { throw new Error("no"); });', "1 passed, 1 failed, 0 skipped"],
  [
    "a hook before all",
    'describe("a", () => { beforeAll(() => { throw new Error("no"); }); it("is not run", () => {}); });',
    "0 passed, 1 failed, 1 skipped",
  ],
  [
    "a hook behind a test that fails, too, and one of its file",
    `afterAll(() => { throw new Error("no"); });
    describe("a", () => {
      afterAll(() => { throw new Error("no"); });
      it("is not", () => { throw new Error("no"); });
      it("is", () => {});
    });`,
    "1 passed, 3 failed, 0 skipped",
  ],
  [
    "an error of which no test knows",
    'it("is", async () => { void Promise.reject(new Error("no")); await new Promise((end) => setTimeout(end, 20)); });',
    "1 passed, 1 failed, 0 skipped",
  ],
])("counts %s that fails", async (_, source, totals) => {
  expect(await runOf(source)).toEqual({ status: 1, last: totals, leftOut: expect.anything() });
});

it("names what is left out, and fails nothing for it", async () => {
  const source = `
    it("is", () => {});
    it.skip("needs a thing", () => {});
    it.skip("needs a thing", () => {});
    describe.skip("needs another", () => { it("one", () => {}); it("two", () => {}); });
    describe.skip("a third", () => { it("that is missing", () => {}); });`;
  expect(await runOf(source)).toEqual({
    status: 0,
    last: "1 passed, 0 failed, 5 skipped",
    leftOut: ["left out (2 times): needs a thing", "left out: needs another", "left out: a third: that is missing"],
  });
});

/** What comes of a run of one file. Its names are global: where it lies, nothing is installed. */
async function runOf(source: string) {
  const folder = temporary();
  writeFileSync(join(folder, "one.test.ts"), source);
  const reporter = join(root, "test/totals-reporter.ts");
  const args = ["run", "--globals", "--root", folder, "--reporter", reporter];
  const { status, stdout } = await new Promise<{ status: unknown; stdout: string }>((resolve) =>
    execFile(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args], (error, out) =>
      resolve({ status: error === null ? 0 : error.code, stdout: out }),
    ),
  );
  const lines = stdout.trimEnd().split("\n");
  return { status, last: lines.at(-1), leftOut: lines.filter((line) => line.startsWith("left out")) };
}
