import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ToolExecutor, type Outcome } from "../../src/execute/index.ts";
import { defineTool, type ToolUse } from "../../src/index.ts";
import { memoryStore } from "../../src/store/index.ts";

const inputSchema = z.object({ amount: z.number() });
const refund = defineTool({
  name: "refund",
  inputSchema,
  needsApproval: ({ amount }) => amount > 100,
  approvalMessage: ({ amount }) => amount.toFixed(2),
  execute: async ({ amount }, { undoData, progress, idempotencyKey }) => {
    expectTypeOf(idempotencyKey).toEqualTypeOf<string>();
    await progress({ percent: 50 });
    undoData({ amount });
    return { refunded: amount };
  },
  undo: ({ input }, { conflict }) => {
    expectTypeOf(input).toEqualTypeOf<{ amount: number }>();
    throw conflict("changed");
  },
});
const count = defineTool({
  name: "count",
  inputSchema,
  execute: async function* () {
    yield 1;
    return "done";
  },
});
const executor = new ToolExecutor({ tools: [refund, count], store: memoryStore() });

test("an outcome has the type of the handler's result", async () => {
  const outcome = await executor.execute(refund.use({ amount: 5 }), { runId: "run" });
  if (outcome.status === "completed") expectTypeOf(outcome.output).toEqualTypeOf<{ refunded: number }>();
  else if (outcome.status === "awaiting_approval") expectTypeOf(outcome.approval.id).toEqualTypeOf<string>();
  else expectTypeOf(outcome.error.message).toEqualTypeOf<string>();
  // @ts-expect-error: only what has completed has an output
  void outcome.output;
});

test("of a generator it is what it returns", async () => {
  const steps = defineTool({
    name: "steps",
    inputSchema,
    execute: function* () {
      yield 1;
      return "done";
    },
  });
  expectTypeOf(await steps.use({ amount: 5 }).execute()).toEqualTypeOf<string>();
  const outcome = await executor.execute(count.use({ amount: 5 }), { runId: "run" });
  if (outcome.status === "completed") expectTypeOf(outcome.output).toEqualTypeOf<string>();
  expectTypeOf(await count.use({ amount: 5 }).execute()).toEqualTypeOf<string>();
});

test("uses of several tools, and of unknown ones, can be executed", async () => {
  const either = Math.random() > 2 ? refund.use({ amount: 1 }) : count.use({ amount: 1 });
  await executor.execute(either, { runId: "run" });
  expectTypeOf(executor.execute(refund as never as ToolUse, { runId: "run" })).resolves.toExtend<Outcome>();
  expectTypeOf(executor.executeAll([either], { runId: "run" })).resolves.toEqualTypeOf<Outcome[]>();
});

test("rules are checked where they are written", () => {
  // @ts-expect-error: the input has no such field
  defineTool({ name: "a", inputSchema, needsApproval: ({ price }) => price > 1, execute: () => 1 });
  // @ts-expect-error: a run is needed
  void executor.execute(refund.use({ amount: 1 }), {});
});
