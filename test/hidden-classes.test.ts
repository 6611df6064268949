/**
 * An object with a getter of its own (`{ get x() {…} }` in a function, `defineProperty(o, "x", { get: () => … })`) is kept
 * as a dictionary by V8: microseconds to make, slow to read, and what the getter sees stays until the next full
 * collection. So nothing that is made for each stream, call or block has one.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderOf, readers } from "./adapters.ts";

const script = join(import.meta.dirname, "hidden-classes-child.ts");

it("gives the objects of two streams the same hidden classes", () => {
  const printed = execFileSync(process.execPath, ["--allow-natives-syntax", script], { encoding: "utf8" });
  const { compared, different } = JSON.parse(printed) as { compared: string[]; different: string[] };
  for (const row of readers) {
    const names = ["stream", "turn", "call", "use", "parser", "tool-use"];
    expect(compared).toEqual(expect.arrayContaining(names.map((name) => `${folderOf(row)}: ${name}`)));
  }
  // The last one is there to be seen.
  expect(different).toEqual(["a getter: its own"]);
});
