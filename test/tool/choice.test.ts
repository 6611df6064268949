import { describe, expect, it } from "vitest";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import { adapters } from "../adapters.ts";

const choices: ToolChoice[] = ["auto", "none", "required", { name: "a" }, { names: ["a", "b"], required: true }];

/** What other libraries and the providers themselves take, and what is nothing. */
const others: unknown[] = [
  undefined,
  null,
  "any",
  {},
  { type: "auto" },
  { type: "tool", toolName: "a" },
  { type: "function", function: { name: "a" } },
  { mode: "ANY" },
  { name: 1 },
  { name: "" },
  { names: ["a", ""] },
  { names: "a" },
  { names: [1] },
  { names: [], required: true },
];

describe("the choice of tools", () => {
  it.each(choices)("may be %j", (choice) => {
    expect(checkedChoice(choice)).toBe(choice);
  });

  it("is none where there is nothing to choose from", () => {
    expect(checkedChoice({ names: [] })).toBe("none");
  });

  it.each(others)("is not %j: the error says what there is", (choice) => {
    const said = `toolChoice() takes "auto", "none", "required", { name } or { names, required? }, got ${JSON.stringify(choice)}`;
    expect(() => checkedChoice(choice as ToolChoice)).toThrow(new TypeError(said + hintOf(choice)));
  });

  // Text has no field for the choice.
  const wires = adapters.filter(({ adapter }) => adapter.capabilities.wireIds || adapter.name === "google");
  it.each(wires)("is checked by $adapter.name", ({ adapter }) => {
    for (const choice of choices) expect(adapter.toolChoice(choice)).toBeTypeOf("object");
    for (const choice of others) expect(() => adapter.toolChoice(choice as ToolChoice)).toThrow("toolChoice() takes");
    expect(() => adapter.toolChoice("auto", { paralel: false } as object)).toThrow("Did you mean parallel?");
    expect(() => adapter.toolChoice({ names: ["a"], require: true } as never)).toThrow("Did you mean required?");
    expect(() => adapter.toolChoice("auto", { parallel: true, tools: [], ofAnother: 1 } as object)).not.toThrow();
  });
});

function hintOf(choice: unknown): string {
  const isNative = typeof choice === "object" && choice !== null && ("type" in choice || "mode" in choice);
  return isNative ? ": this is a provider's own form, which goes into the request as it is" : "";
}
