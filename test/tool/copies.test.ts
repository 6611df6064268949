import { beforeAll, expect, it, vi } from "vitest";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import type * as Library from "../../src/index.ts";
import { isToolError, ToolBuffer, ToolRegistry, ToolUse } from "../../src/index.ts";
import { memoryStore } from "../../src/store/index.ts";

/** Another copy of the library, as of a package of tools that depends on a version of its own. */
let theirs: typeof Library;

beforeAll(async () => {
  vi.resetModules();
  theirs = await import("../../src/index.ts");
});

function add() {
  return theirs.defineTool({
    name: "add",
    inputSchema: theirs.jsonSchema<{ x: number; y: number }>({ type: "object" }),
    execute: ({ x, y }) => {
      if (!(y > 0)) throw new theirs.ToolError("tool_failed", "y has to be above 0.");
      return x + y;
    },
  });
}

it("a tool of another copy is called, executed and answered like one of ours", async () => {
  expect(theirs.ToolRegistry).not.toBe(ToolRegistry);
  const registry = new theirs.ToolRegistry([add()]);
  const buffer = new ToolBuffer(new ToolRegistry(registry));
  const use = buffer.append({ id: "c1", name: "add", argsTextDelta: '{"x":1,"y":2}', done: true });
  expect(use instanceof ToolUse && (await use.execute())).toBe(3);

  const executor = new ToolExecutor({ tools: registry, store: memoryStore() });
  const outcome = await executor.execute(add().use({ x: 2, y: 2 }), { runId: "r" });
  expect(outcome).toMatchObject({ status: "completed", output: 4 });
});

it("an error of another copy is one of ours", async () => {
  const error = await add()
    .use({ x: 1, y: 0 })
    .execute()
    .catch((reason: unknown) => reason);
  expect(isToolError(error) && isToolError(error.cause) && error.cause.code).toBe("tool_failed");
});

it("a call of free text that another copy made goes back as such", () => {
  const shell = theirs.defineTool({ name: "shell", inputSchema: theirs.jsonSchema<string>({ type: "string" }) });
  const use = shell.use("ls", { id: "c1" });
  expect(openaiResponses.toolResult(use, "")).toMatchObject({ type: "custom_tool_call_output", call_id: "c1" });
});
