import { z } from "zod";
import { defineTool, type ToolCallError, type ToolDefinition, type ToolUse } from "../../src/index.ts";
import { ApprovalService, type ApprovalServiceOptions } from "../../src/execute/approvals/index.ts";
import { ToolExecutor, type Outcome, type ToolEvent, type ToolExecutorOptions } from "../../src/execute/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";

export { until } from "../soon.ts";

export type Options = Partial<ToolExecutorOptions>;

/** An executor over a store in memory, and what it told. */
export function setup(tools: ToolExecutorOptions["tools"], options: Options = {}) {
  const { store = memoryStore() } = options;
  const events: ToolEvent[] = [];
  const executor = new ToolExecutor({
    store,
    tools,
    retryDelayMs: 1,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  const types = () => events.map(({ type }) => type);
  return { executor, events, types, store };
}

/** The same with somebody to ask. */
export function setupWithApprovals(
  tools: Parameters<typeof setup>[0],
  options: Options & { service?: Partial<ApprovalServiceOptions> } = {},
) {
  const { store = memoryStore(), service, ...rest } = options;
  const approvals = new ApprovalService({ store, tools, ...service });
  return { ...setup(tools, { store, approvals, ...rest }), approvals };
}

/** A tool whose handler notes each run. */
export function counted(change: Partial<ToolDefinition<any, any>> = {}) {
  const ran: { input: any; context: any }[] = [];
  const { execute = (input: unknown) => ({ ok: true, input }), ...rest } = change;
  const tool = defineTool({
    name: "act",
    inputSchema: z.object({ n: z.number().optional(), text: z.string().optional() }),
    ...rest,
    execute: (input: any, context) => {
      ran.push({ input, context });
      return execute(input, context);
    },
  });
  return { tool, ran };
}

export const RUN = { runId: "run" };

let last = 0;
/** A use with an invocation id of its own. */
export function useOf(
  tool: { use: (input: any, init?: any) => ToolUse },
  input: unknown = {},
  init: object = {},
): ToolUse {
  return tool.use(input, { id: `call_${++last}`, ...init });
}

/** What a call has failed with, or was denied with. */
export function errorOf(outcome: Outcome): ToolCallError {
  if ("error" in outcome) return outcome.error;
  throw new Error(`It is ${outcome.status}.`);
}

/** A store that fails where it is told to. */
export function failing(store: Store, fails: (verb: "get" | "put", key: string) => unknown): Store {
  return {
    ...store,
    get: async (key) => {
      const error = await fails("get", key);
      if (error !== undefined) throw error;
      return store.get(key);
    },
    put: async (key, value, options) => {
      const error = await fails("put", key);
      if (error !== undefined) throw error;
      return store.put(key, value, options);
    },
  };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
