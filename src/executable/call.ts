import { createHash } from "node:crypto";
import { ToolError } from "../errors.ts";
import { quietly } from "../quietly.ts";
import { createWakeUp } from "../time.ts";
import { createProgressQueue } from "../tool/progress-queue.ts";
import type { ToolContext } from "../tool/tool.ts";
import { readAnswer } from "./answer.ts";
import { ExecutableError } from "./error.ts";
import type { Settings, Variables } from "./options.ts";
import { interruption, runOf } from "./output.ts";
import type { Program } from "./program.ts";
import type { ProgressLine } from "./stderr.ts";

/**
 * One call of a program: the handler of its tool.
 *
 * @throws ToolError `executable_changed`, `executable_refused`, `spawn_failed`, `timeout` of `env`
 * @throws ExecutableError `spawn_failed`, `timeout`, `too_large`, `tool_failed`, `invalid_answer`, `aborted`
 */
export async function callProgram(
  name: string,
  program: Program,
  settings: Settings,
  input: unknown,
  context: ToolContext,
): Promise<unknown> {
  const { timeoutMs, maxOutputBytes, maxDepth, onRun } = settings;
  const given = await variablesOf(settings, context);
  await program.checkAgain(); // last, since `env` may take its time
  const progress = createProgressQueue((line: ProgressLine) => context.progress(line));
  const outcome = await program.run({
    args: [],
    // It escapes lone surrogates, so that the bytes are UTF-8 whatever the model wrote. The newline is for shells, whose
    // `read` fails without one (holman/spark#37).
    input: `${JSON.stringify(input)}\n`,
    env: { ...callEnv(context), ...given },
    timeoutMs,
    maxOutputBytes,
    signal: context.signal,
    onProgress: progress.push,
  });
  await progress.end(context.signal);
  const run = runOf(name, context.invocationId, outcome);
  const stopped = interruption(outcome, { ...settings, signal: context.signal });
  if (stopped !== undefined) {
    void quietly(() => onRun?.(run)); // a log that fails fails no call
    throw new ExecutableError(stopped.code, `The program ${stopped.reason}.`, run, { cause: stopped.cause });
  }
  const { failure, result, metadata } = readAnswer(outcome, maxDepth);
  const told = { ...run, metadata };
  void quietly(() => onRun?.(told));
  if (failure !== undefined) throw new ExecutableError(failure.code, failure.message, told, { cause: failure.cause });
  if (Object.hasOwn(metadata, "undo")) context.undoData(metadata["undo"]);
  return result;
}

/** What is added to the environment. Once the caller has given up it may be missing: then no program is started. */
async function variablesOf({ env, timeoutMs }: Settings, context: ToolContext) {
  if (typeof env !== "function") return env;
  const { wake, wait } = createWakeUp(context.signal);
  let answer: PromiseSettledResult<Variables> | undefined;
  void Promise.allSettled([env(context)]).then(([settled]) => {
    answer = settled;
    wake();
  });
  await wait(timeoutMs);
  if (answer?.status === "rejected") throw answer.reason;
  if (answer === undefined && !context.signal?.aborted) {
    throw new ToolError("timeout", `The program was not started: its variables took longer than ${timeoutMs} ms.`);
  }
  return answer?.value;
}

/** These let a program notice that it is asked twice for the same thing. */
function callEnv({ invocationId, idempotencyKey }: ToolContext): Record<string, string> {
  return { TOOLSTREAM_INVOCATION_ID: plainId(invocationId), TOOLSTREAM_IDEMPOTENCY_KEY: plainId(idempotencyKey) };
}

/**
 * Ids may come from providers: an id that is not plain text is replaced by its digest, which is just as distinctive.
 */
function plainId(id: string): string {
  return /^[\w.:+/=@%!~*'()-]{1,256}$/.test(id) ? id : createHash("sha256").update(id).digest("hex");
}
