import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { z } from "zod";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { isToolError } from "../../src/errors.ts";
import { Orchestrator, type OrchestrationResult } from "../../src/run/index.ts";
import type { Store } from "../../src/store/store.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { scripted, type ScriptedTurn } from "./script.ts";

/** How long a dead process holds its runs. Short, for somebody waits for it. */
export const LEASE_MS = 250;

export const conversationId = "crash/1";

/** What the outside world sees of a run: what happened to it, in order. */
export type World = (event: string) => void;

const SCRIPT: readonly ScriptedTurn[] = [
  {
    calls: [
      { id: "a", name: "look", args: { n: 1 } },
      { id: "b", name: "ask", args: { n: 2 } },
      { id: "c", name: "charge", args: { n: 3 } },
      { id: "d", name: "wipe", args: { n: 4 } },
      { id: "e", name: "ask", args: { n: 5 } },
    ],
  },
  { calls: [{ id: "a", name: "charge", args: { n: 3 } }] },
  { text: "Done." },
];

/**
 * A run with everything in it: tools that read and write, one that needs approval, two calls for the caller, an undo.
 * What the model says depends on the history alone, so that any process may go on with it.
 */
export function createScenario(store: Store, world: World) {
  const approvals = new ApprovalService({ store });
  const input = z.object({ n: z.number() });
  const write = (name: string, more: object = {}) =>
    defineTool({
      name,
      inputSchema: input,
      ...more,
      execute: ({ n }, { idempotencyKey, invocationId }) => {
        world(`${name} ${n} ${String(idempotencyKey ?? invocationId)}`);
        return { n, name };
      },
      undo: ({ input: given }) => world(`undo ${name} ${(given as { n: number }).n}`),
    });
  const tools = [
    defineTool({
      name: "look",
      inputSchema: input,
      effect: "read",
      execute: ({ n }) => {
        world(`look ${n} -`);
        return n;
      },
    }),
    defineTool({ name: "ask", inputSchema: input }),
    write("charge"),
    write("wipe", { needsApproval: true }),
  ];
  const internal = tools.filter(({ mode }) => mode === "internal");
  const executor = new ToolExecutor({ tools: internal, store, approvals, waitForApproval: false, leaseMs: LEASE_MS });
  const model = scripted(({ messages }) => {
    world(`asked ${problemOf(messages) ?? "-"}`);
    const said = messages.filter(({ role }: ChatCompletionMessageParam) => role === "assistant").length;
    return SCRIPT[Math.min(said, SCRIPT.length - 1)]!;
  });
  const orchestrator = new Orchestrator({ model, tools, store, executor, approvals, leaseMs: LEASE_MS });
  return { orchestrator, executor, approvals };
}

export type Scenario = ReturnType<typeof createScenario>;

/** Does what has to be done next, until nothing has; from wherever another process has left it. */
export async function finish({ orchestrator, executor }: Scenario): Promise<OrchestrationResult> {
  for (;;) {
    try {
      const now = await orchestrator.get(conversationId);
      if (now === undefined) await orchestrator.run({ conversationId, input: "Go" });
      else if (now.status === "completed") {
        for (const { actionId, toolName } of await executor.actions(now.runId)) {
          if (toolName === "wipe") await executor.undo(actionId);
        }
        return now;
      } else {
        // One result at a time, the last first, and the decision in between.
        const call = now.pendingToolCalls.at(-1);
        const approval = now.pendingToolCalls.length > 1 ? undefined : now.pendingApprovals[0];
        await orchestrator.resume(conversationId, {
          toolResults: call === undefined ? [] : [{ toolCallId: call.id, result: `answer ${call.rawText}` }],
          approvals: approval === undefined ? [] : [{ id: approval.id, decision: "approve" }],
        });
      }
    } catch (error) {
      // Its process died and the lease has not ended yet.
      if (!isToolError(error) || error.code !== "run_busy") throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** What a provider would refuse: a call without exactly one result, in call order, right behind it. */
export function problemOf(messages: readonly ChatCompletionMessageParam[]): string | undefined {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (message.tool_call_id !== open.shift()) return `result-of-${message.tool_call_id}`;
      continue;
    }
    if (open.length > 0) return `no-result-of-${open[0]}`;
    if (message.role === "assistant") open = (message.tool_calls ?? []).map(({ id }) => id);
  }
  return open.length > 0 ? `no-result-of-${open[0]}` : undefined;
}

/** What holds of every finished run. */
export async function problemsOf(
  { executor }: Scenario,
  result: OrchestrationResult,
  seen: readonly string[],
): Promise<string[]> {
  const problems: string[] = [];
  const bodies = seen.filter((line) => /^(charge|wipe) /.test(line));
  const keys = bodies.map((line) => line.split(" ")[2]!);
  if (new Set(keys).size !== keys.length) problems.push(`a write ran twice: ${bodies.join("; ")}`);
  const undone = seen.filter((line) => line.startsWith("undo "));
  if (undone.length > 1) problems.push(`undone twice: ${undone.join("; ")}`);
  for (const line of seen) if (line.startsWith("asked ") && line !== "asked -") problems.push(line);

  const events = await executor.events(result.runId);
  events.forEach(({ seq }, index) => {
    if (seq !== index + 1) problems.push(`event ${index + 1} has number ${seq}`);
  });
  const ends = events
    .filter(({ type }) => /^tool\.(completed|failed|denied)$/.test(type))
    .map((event) => event.actionId);
  if (new Set(ends).size !== ends.length) problems.push("an action ended twice");
  const decided = events.filter(({ type }) => type === "approval.decided");
  if (decided.length > 1) problems.push("decided twice");

  const problem = problemOf(result.messages as ChatCompletionMessageParam[]);
  if (problem !== undefined) problems.push(problem);
  const answers = (result.messages as ChatCompletionMessageParam[]).flatMap((message) =>
    message.role === "tool" ? [String(message.content)] : [],
  );
  const expected = [
    /^1$/,
    /^answer \{"n":2\}$/,
    /^\{"n":3,"name":"charge"\}$|it is not known what came of it/,
    /^\{"n":4,"name":"wipe"\}$|it is not known what came of it/,
    /^answer \{"n":5\}$/,
    /^\{"n":3,"name":"charge"\}$|it is not known what came of it/,
  ];
  if (answers.length !== expected.length || !expected.every((pattern, at) => pattern.test(answers[at]!))) {
    problems.push(`the model heard ${JSON.stringify(answers)}`);
  }
  return problems;
}
