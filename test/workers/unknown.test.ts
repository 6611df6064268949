import { expect, it } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/errors.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { defineTool } from "../../src/tool/tool.ts";

it("a handler that works elsewhere can say that nobody knows what came of it", async () => {
  let ran = 0;
  const tool = defineTool({
    name: "act",
    inputSchema: z.object({}),
    execute: () => {
      ran++;
      throw new ToolError("outcome_unknown", "The line went dead.");
    },
  });
  const executor = new ToolExecutor({ tools: [tool], store: memoryStore() });
  const call = () => executor.execute(tool.use({}, { invocationId: "a" }), { runId: "run" });
  const outcome = { status: "unknown", error: { code: "outcome_unknown", message: "act: The line went dead." } };
  expect(await call()).toMatchObject({ ...outcome, replayed: false });
  expect(await call()).toMatchObject({ ...outcome, replayed: true });
  expect(ran).toBe(1);
  expect(await executor.actions("run")).toMatchObject([{ status: "unknown" }]);
});
