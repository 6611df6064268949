import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor, type ToolEvent } from "../../src/execute/index.ts";
import { loadExecutable } from "../../src/executable/index.ts";
import type { Tool } from "../../src/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { hostile, mark, onLinux, program, shTool } from "./support.ts";
import { soon } from "../soon.ts";

function setup(tool: Tool, more: { timeoutMs?: number } = {}) {
  const store = memoryStore();
  const events: ToolEvent[] = [];
  const approvals = new ApprovalService({ store });
  const onEvent = (event: ToolEvent) => void events.push(event);
  const executor = new ToolExecutor({ tools: [tool], store, approvals, waitForApproval: false, onEvent, ...more });
  return { executor, approvals, store, events };
}

const APPROVE = { decision: "approve" } as const;
const answer = (result: string) => shTool(`echo '{"success":true,"result":"${result}"}'`);

describe("an executable under an executor", () => {
  it("that changes on disk between approval and call is not run", async () => {
    const path = program(answer("as shown"));
    const tool = await loadExecutable(path, { policy: { needsApproval: true } });
    const { executor, approvals, events } = setup(tool);
    const use = tool.use({}, { invocationId: "call_1" });
    const paused = await executor.execute(use, { runId: "run_1" });
    if (paused.status !== "awaiting_approval") return expect.unreachable(paused.status);
    await approvals.decide(paused.approval.id, APPROVE);
    program(answer("something else"), { inside: dirname(path) });

    const outcome = await executor.execute(use, { runId: "run_1" });
    expect(outcome).toMatchObject({ status: "failed", error: { cause: { code: "executable_changed" } } });
    expect(events.at(-1)).toMatchObject({
      type: "tool.failed",
      errorMessage: expect.stringContaining("was changed after it was loaded"),
    });
  });

  it("that is loaded again after it changed needs another approval", async () => {
    const path = program(answer("as shown"));
    const policy = { needsApproval: true };
    const first = setup(await loadExecutable(path, { policy }));
    const use = (tool: Tool) => tool.use({}, { invocationId: "call_1" });
    const paused = await first.executor.execute(use(await loadExecutable(path, { policy })), { runId: "run_1" });
    if (paused.status !== "awaiting_approval") return expect.unreachable(paused.status);
    await first.approvals.decide(paused.approval.id, APPROVE);

    program(answer("something else"), { inside: dirname(path) });
    const changed = await loadExecutable(path, { policy });
    const { store, approvals } = first;
    const executor = new ToolExecutor({ tools: [changed], store, approvals, waitForApproval: false });
    const again = await executor.execute(use(changed), { runId: "run_1" });
    if (again.status !== "awaiting_approval") return expect.unreachable(again.status);
    expect(again.approval.id).not.toBe(paused.approval.id);
    await approvals.decide(again.approval.id, APPROVE);
    expect(await executor.execute(use(changed), { runId: "run_1" })).toMatchObject({
      status: "completed",
      output: "something else",
    });
  });

  it("is ended, with all it started, when the executor's time is over", async () => {
    const { env, left } = mark();
    const tool = await loadExecutable(hostile("forks-and-hangs"), { env, graceMs: 100, policy: { timeoutMs: 300 } });
    const outcome = await setup(tool).executor.execute(tool.use({}), { runId: "run_1" });
    expect(outcome.status).toBe("failed");
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it("fails in words when its own time is over", async () => {
    const tool = await loadExecutable(hostile("ignores-sigterm"), { graceMs: 100, timeoutMs: 300 });
    const outcome = await setup(tool).executor.execute(tool.use({}), { runId: "run_1" });
    expect(outcome).toMatchObject({ status: "failed", error: { cause: { code: "timeout" } } });
  });

  it("that cannot be started is an event and an outcome, never a throw", async () => {
    const path = program(answer("there"));
    const tool = await loadExecutable(path);
    writeFileSync(path, "no program");
    const { executor, events } = setup(tool);
    const outcome = await executor.execute(tool.use({}), { runId: "run_1" });
    expect(outcome).toMatchObject({ status: "failed", error: { cause: { code: "executable_refused" } } });
    expect(events.map(({ type }) => type)).toContain("tool.failed");
    expect(JSON.stringify(events)).not.toContain(path);
  });

  it("tells the executor of its progress", async () => {
    const tool = await loadExecutable(
      program(shTool(`echo '{"progress":0.5}' >&2; echo '{"success":true,"result":1}'`)),
    );
    const { executor, events } = setup(tool);
    await executor.execute(tool.use({}), { runId: "run_1" });
    expect(events).toContainEqual(expect.objectContaining({ type: "tool.progress" }));
  });

  it.each(["run_1", "user:5", "Ünal's (1)"])("has the key of the action, in a run that is called %s", async (runId) => {
    const body = `printf '{"success":true,"result":"%s"}' "$TOOLSTREAM_IDEMPOTENCY_KEY"`;
    const tool = await loadExecutable(program(shTool(body)));
    const { executor, events } = setup(tool);
    const outcome = await executor.execute(tool.use({}, { invocationId: `${runId}-0-0` }), { runId });
    expect(outcome).toMatchObject({ status: "completed", output: events[0]!.actionId });
  });
});
