/**
 * Makes the frozen checkpoints of the format as it is now: `node test/run/corpus.ts fixtures/run/checkpoint-vN`.
 * Those of older formats are never made again: they are what older versions have written.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { counted, external, scripted } from "./script.ts";

export const conversationId = "frozen/1";

/** The tools that the frozen runs know. */
export function frozenTools(): { tools: readonly Tool[]; written: unknown[] } {
  const write = counted("write");
  const wipe = counted("wipe", { needsApproval: true });
  const read = counted("read", { effect: "read" });
  return { tools: [read.tool, write.tool, wipe.tool, external("ask")], written: write.inputs };
}

const calls = [
  { name: "read", id: "call_r", args: { n: 1 } },
  { name: "ask", id: "call_a", args: { n: 2 } },
  { name: "write", id: "call_w", args: { n: 3 } },
  { name: "wipe", id: "call_d", args: { n: 4 } },
  { name: "unheard", id: "call_u", args: {} },
];

async function make(name: string, go: (store: Store) => Promise<unknown>): Promise<void> {
  const store = memoryStore();
  await go(store);
  const entries = (await store.list("")).map(({ key, value }) => ({ key, value }));
  writeFileSync(join(process.argv[2]!, `${name}.json`), `${JSON.stringify(entries, null, 1)}\n`);
}

function orchestratorOf(store: Store, ...turns: Parameters<typeof scripted>): Orchestrator {
  const approvals = new ApprovalService({ store, ttlMs: Infinity });
  const model = scripted(...turns);
  return new Orchestrator({ model, tools: frozenTools().tools, store, approvals, maxSteps: 2 });
}

if (process.argv[2] !== undefined && import.meta.main) {
  const input = "Go";
  await make("paused", (store) =>
    orchestratorOf(store, { text: "I see.", calls }).run({ conversationId, input, instructions: "Be brief." }),
  );
  await make("answered", async (store) => {
    const orchestrator = orchestratorOf(store, { calls });
    const { pendingToolCalls } = await orchestrator.run({ conversationId, input });
    await orchestrator.provideToolResult(conversationId, { toolCallId: pendingToolCalls[0]!.id, result: { two: 2 } });
  });
  await make("completed", (store) =>
    orchestratorOf(store, { calls: calls.slice(0, 1) }, { text: "Done." }).run({ conversationId, input }),
  );
  await make("limit", (store) =>
    orchestratorOf(store, { calls: calls.slice(2, 3) }).run({ conversationId, input, behavior: "edit" }),
  );
  await make("died", async (store) => {
    // Killed between the call's row and its results: the lease is over when it is read.
    const frozen: Store = {
      ...store,
      put: (key, value, options) =>
        key.startsWith("run-row/") && (value as { kind?: unknown }).kind === "results"
          ? new Promise(() => {})
          : store.put(key, value, options),
    };
    void orchestratorOf(frozen, { calls: calls.slice(2, 3) }).run({ conversationId, input });
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  process.exit(0);
}
