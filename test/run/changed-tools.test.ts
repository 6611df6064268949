/** A run is resumed by a process whose tools are others than when its calls were made. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { defineTool, type Tool, type ToolDefinition } from "../../src/tool/tool.ts";
import { unorderedStore } from "../store/unordered.ts";
import { external, scripted, short } from "./script.ts";
import { soon } from "../soon.ts";

const conversationId = "c1";
const args = { amount: 5 };
const asItWas = z.object({ amount: z.number() });

/** Another process: its `refund` has this schema, or it has none. */
function process(
  store: Store,
  refund: Partial<ToolDefinition> | undefined,
  turns: Parameters<typeof scripted>,
  hasExecutor = false,
) {
  const ran: unknown[] = [];
  const execute = (input: unknown) => {
    ran.push(input);
    return "refunded";
  };
  const tools: Tool[] = [external("ask_user")];
  if (refund !== undefined) tools.push(defineTool({ name: "refund", execute, ...refund } as ToolDefinition));
  const approvals = new ApprovalService({ store, tools });
  // One that an application makes has all its tools, as a rule.
  const executor = hasExecutor ? new ToolExecutor({ tools, store, approvals, leaseMs: 60 }) : undefined;
  const orchestrator = new Orchestrator({ model: scripted(...turns), tools, store, approvals, executor, leaseMs: 60 });
  return { orchestrator, ran };
}

const changes: readonly [string, Partial<ToolDefinition> | undefined][] = [
  ["its schema has one more default", { inputSchema: asItWas.extend({ note: z.string().default("none") }) }],
  ["its schema asks for more", { inputSchema: asItWas.extend({ note: z.string() }) }],
  ["it is gone", undefined],
  ["the caller executes it now", { inputSchema: asItWas, execute: undefined as never }],
];

describe("a call that was executed", () => {
  const calls = [{ name: "refund", args }, { name: "ask_user" }];

  it.each([
    ...changes.map(([what, changed]) => [what, changed, false] as const),
    ...changes.map(([what, changed]) => [`${what} (with an executor of its own)`, changed, true] as const),
  ])("keeps its result when %s", async (_, changed, hasExecutor) => {
    const store = memoryStore();
    const first = process(store, { inputSchema: asItWas }, [{ calls }]);
    const { pendingToolCalls } = await first.orchestrator.run({ conversationId, input: "Go" });
    const second = process(store, changed, [{ text: "Done." }], hasExecutor);
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, result: "yes" }];
    const { status, messages } = await second.orchestrator.resume(conversationId, { toolResults });
    expect([status, ...short(messages as never).slice(2)]).toEqual([
      "completed",
      "result(refunded)",
      "result(yes)",
      "say(Done.)",
    ]);
    expect([first.ran, second.ran]).toEqual([[args], []]);
  });

  it.each(changes)("keeps its result when %s and the conversation goes on without the others", async (_, changed) => {
    const store = memoryStore();
    await process(store, { inputSchema: asItWas }, [{ calls }]).orchestrator.run({ conversationId, input: "Go" });
    const { orchestrator } = process(store, changed, [{ text: "Done." }]);
    const { messages } = await orchestrator.run({ conversationId, input: "Never mind", whenOpen: "cancel" });
    expect(short(messages as never)[2]).toBe("result(refunded)");
  });

  it("keeps its result when its schema makes another input of it each time", async () => {
    const inputSchema = asItWas.transform((input) => ({ ...input, at: new Date() }));
    const store = memoryStore();
    const first = process(store, { inputSchema }, [{ calls }]);
    const { pendingToolCalls } = await first.orchestrator.run({ conversationId, input: "Go" });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const second = process(store, { inputSchema }, [{ text: "Done." }]);
    const toolResults = [{ toolCallId: pendingToolCalls[0]!.id, result: "yes" }];
    const { messages } = await second.orchestrator.resume(conversationId, { toolResults });
    expect(short(messages as never)[2]).toBe("result(refunded)");
  });
});

describe("a call whose process died while it ran", () => {
  /** A store that a process cannot write to any more: it is dead. */
  function dying(store: Store) {
    const never = new Promise<never>(() => {});
    let isDead = false;
    const put: Store["put"] = (...given) => (isDead ? never : store.put(...given));
    const die = () => {
      isDead = true;
      return never;
    };
    return { store: { ...store, put }, die, hasDied: () => isDead };
  }

  async function resumedAfterDeath(effect: "write" | "idempotent", changed: Partial<ToolDefinition> | undefined) {
    const store = memoryStore();
    const first = dying(store);
    const refund = { inputSchema: asItWas, effect, execute: first.die };
    const { orchestrator } = process(first.store, refund, [{ calls: [{ name: "refund", args }] }]);
    void orchestrator.run({ conversationId, input: "Go" });
    await soon(() => expect(first.hasDied()).toBe(true));
    const second = process(store, changed && { effect, ...changed }, [{ text: "Done." }]);
    const { messages } = await second.orchestrator.waitAndResume(conversationId);
    return { history: short(messages as never), ran: second.ran };
  }

  it.each(changes)("is of unknown outcome, if it writes, when %s", async (_, changed) => {
    const { history, ran } = await resumedAfterDeath("write", changed);
    expect(history[2]).toMatch(/refund was started, and it is not known what came of it/);
    expect(ran).toEqual([]);
  });

  it("is not executed again, though it might be, when its tool needs approval now", async () => {
    const { history, ran } = await resumedAfterDeath("idempotent", { inputSchema: asItWas, needsApproval: true });
    expect(history[2]).toMatch(/refund was started, and it is not known what came of it/);
    expect(ran).toEqual([]);
  });

  it("is executed again, if it may be, as its tool reads it now", async () => {
    const { history, ran } = await resumedAfterDeath("idempotent", changes[0]![1]);
    expect(history[2]).toBe("result(refunded)");
    expect(ran).toEqual([{ amount: 5, note: "none" }]);
  });
});

describe("a call that waits for approval", () => {
  async function paused(inputSchema: ToolDefinition["inputSchema"], store = memoryStore()) {
    const refund = { inputSchema, needsApproval: true };
    const { orchestrator } = process(store, refund, [{ calls: [{ name: "refund", args }] }]);
    const { pendingApprovals } = await orchestrator.run({ conversationId, input: "Go" });
    const { id, input } = pendingApprovals[0]!;
    return { store, input, decision: { approvals: [{ id, decision: "approve" as const }] } };
  }

  it.each([
    ["memory", memoryStore()],
    ["one that keeps no order of keys", unorderedStore()],
  ])("is executed as it was shown where a default is another one each time (store: %s)", async (_, kept) => {
    const inputSchema = asItWas.extend({ key: z.string().default(() => crypto.randomUUID()) });
    const { store, input, decision } = await paused(inputSchema, kept);
    const second = process(store, { inputSchema, needsApproval: true }, [{ text: "Done." }]);
    expect(await second.orchestrator.resume(conversationId, decision)).toMatchObject({ status: "completed" });
    expect(second.ran).toEqual([input]);
  });

  it("is asked about once by each of two versions that wait for it", async () => {
    const { store } = await paused(asItWas);
    const controller = new AbortController();
    const processes = ["Refunds.", "Pays back."].map((description) =>
      process(store, { inputSchema: asItWas, needsApproval: true, description }, [{ text: "Done." }]),
    );
    const { signal } = controller;
    const waiting = processes.map(({ orchestrator }) => orchestrator.waitAndResume(conversationId, { signal }));
    // One by the process that has died, and one by each that waits.
    const once = ["pending", "void", "void"];
    const requests = () => new ApprovalService({ store }).list();
    const statuses = async () => (await requests()).map(({ status }) => status).toSorted();
    await soon(async () => expect(await statuses()).toEqual(once));
    await new Promise((resolve) => setTimeout(resolve, 300));
    controller.abort();
    await Promise.all(waiting);
    expect(await statuses()).toEqual(once);
  });

  it.each<[string, Partial<ToolDefinition> | undefined, RegExp]>([
    [changes[1]![0], changes[1]![1], /does not fit its schema: note/],
    [changes[2]![0], changes[2]![1], /There is no tool .*refund.* here/],
    [changes[3]![0], changes[3]![1], /There is no tool .*refund.* here/],
  ])("is not executed, and the model hears why, when %s", async (_, changed, message) => {
    const { store, decision } = await paused(asItWas);
    const second = process(store, changed && { needsApproval: true, ...changed }, [{ text: "Done." }], true);
    const { status, messages } = await second.orchestrator.resume(conversationId, decision);
    expect(status).toBe("completed");
    expect(short(messages as never)[2]).toMatch(message);
    expect(second.ran).toEqual([]);
  });
});
