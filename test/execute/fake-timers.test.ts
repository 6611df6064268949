import { setImmediate } from "node:timers/promises";
import { mock } from "node:test";
import { afterEach, expect, it } from "vitest";
import { defineTool, jsonSchema } from "../../src/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { memoryStore } from "../../src/store/index.ts";

afterEach(() => mock.timers.reset());

it("a time limit is reached with the fake timers of node:test", async () => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const execute = mock.fn(() => new Promise(() => {}));
  const wait = defineTool({ name: "wait", inputSchema: jsonSchema({ type: "object" }), timeoutMs: 5_000, execute });
  const executor = new ToolExecutor({ tools: [wait], store: memoryStore() });
  const outcome = executor.execute(wait.use({}), { runId: "run" });
  while (execute.mock.callCount() === 0) await setImmediate();
  for (let ms = 0; ms < 20_000; ms += 1_000) {
    mock.timers.tick(1_000);
    await setImmediate();
  }
  expect(await outcome).toMatchObject({ status: "failed", error: { code: "timeout" } });
}, 10_000);
