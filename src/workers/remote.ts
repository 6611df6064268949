import { ToolError } from "../errors.ts";
import { withMarks } from "../execute/output.ts";
import { parseJson } from "../json/parse.ts";
import type { Schema } from "../schema/types.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { ToolUse } from "../tool/use.ts";
import { jobOf, type JobData, type JobResult } from "./job.ts";

/** Where jobs are sent, and come back from. */
export interface Dispatch {
  /**
   * Hands a job to the workers and waits for its end. A job of the same key that is there already is waited for in its
   * place. Of a write whose `attempt` is not the first that one is all that is looked for: none is made.
   *
   * @throws ToolError as the worker told it; `outcome_unknown` where a write may have been begun
   */
  send(job: JobData, tool: Tool, context: ToolContext): Promise<JobResult>;
  /** What the application sends along. */
  extra(context: ToolContext): Readonly<Record<string, unknown>>;
}

/**
 * The tool, executed elsewhere. Everything else about it is as it was: who offers it, asks for approval, records it or
 * undoes it sees no difference.
 */
export function remoteTool(tool: Tool, dispatch: Dispatch): Tool {
  // The queue tries again, not the executor.
  const { retries: _, ...rest } = tool;
  const remote: Tool = {
    ...rest,
    outputSchema: tool.outputSchema && unchecked(tool.outputSchema),
    recalls: true,
    use: (input, init) => ToolUse.from(remote, input, init),
    async execute(input: unknown, context: ToolContext) {
      const job = await jobOf(tool, input, context, dispatch.extra(context));
      const { output, marks = [], undoData } = await dispatch.send(job, tool, context);
      if (undoData !== undefined) context.undoData(undoData === false ? LOST : parsed(undoData));
      return withMarks(parsed(output), marks);
    },
  };
  return Object.freeze(remote);
}

/** As little to be kept as what it stands for: the executor says then that the call can not be undone. */
const LOST = Symbol("lost");

/** The worker has checked what its handler returned; what comes back is the JSON of it. */
function unchecked(schema: Schema): Schema {
  return { ...schema, validate: (value) => ({ ok: true, value }) };
}

function parsed(text: unknown): unknown {
  try {
    return parseJson(text as string);
  } catch (cause) {
    throw new ToolError("invalid_answer", "what the worker answered is no JSON", { cause });
  }
}
