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
   * Hands a job to the workers and waits for its end. If a job with the same key exists, that one is waited for
   * instead. For a write after its first `attempt`, only an existing job is looked for and none is created.
   *
   * @throws ToolError as reported by the worker; `outcome_unknown` if a write may have been started
   */
  send(job: JobData, tool: Tool, context: ToolContext): Promise<JobResult>;
  /** What the application sends along. */
  extra(context: ToolContext): Readonly<Record<string, unknown>>;
}

/**
 * The tool, executed elsewhere. Everything else about it is unchanged: offering, approving, recording and undoing it
 * make no difference.
 */
export function remoteTool(tool: Tool, dispatch: Dispatch): Tool {
  // The queue retries, not the executor.
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

/** Stands for undo data that could not be kept, and cannot be kept itself: the executor then reports that. */
const LOST = Symbol("lost");

/** The worker has validated what its handler returned; what comes back is its JSON. */
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
