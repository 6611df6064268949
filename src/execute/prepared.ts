import { isToolError, type ToolError } from "../errors.ts";
import { jsonIn } from "../json/index.ts";
import type { Tool } from "../tool/tool.ts";
import { invalidInput, type ToolUse } from "../tool/use.ts";
import { callDigest, type CallDigest } from "./digest.ts";
import { snapshot } from "./snapshot.ts";

/** What can be known of a call without the store. */
export interface PreparedInput extends CallDigest {
  /** What is judged, shown and run: a snapshot, since its owner may still change the input. */
  readonly input: unknown;
  /** The digest of the input as it was given. */
  readonly given: string;
  /** Why it cannot run. */
  readonly problem: ToolError | undefined;
}

/** The input that would run, and its digest. @param tool the executor's; `undefined` if it has none of that name */
export async function prepareInput(use: ToolUse, tool: Tool | undefined): Promise<PreparedInput> {
  // At once, since its owner may still change it.
  let input: unknown = snapshot(use.input);
  let given: CallDigest = { digest: "", hiding: undefined };
  let digest = given;
  let problem: ToolError | undefined;
  try {
    digest = given = await callDigest(use, input);
    if (tool !== undefined && tool.inputSchema !== use.tool.inputSchema) {
      // It was validated by a different definition than the one that runs. What a schema has transformed, another one
      // would refuse, or transform once more: as long as it is what came of the arguments, they are read again.
      const args = use.argsValue ?? jsonIn(use.argsText);
      const own = use.tool.inputSchema.validate(args);
      const isOwn = own.ok && (await callDigest(use, own.value)).digest === given.digest;
      const checked = tool.inputSchema.validate(isOwn ? args : input);
      if (!checked.ok) throw invalidInput(use, checked.issues);
      input = snapshot(checked.value);
      digest = await callDigest(use, input);
      if (!isOwn && digest.digest !== given.digest) throw invalidInput(use, [CHANGED]);
    }
  } catch (error) {
    if (!isToolError(error)) throw error;
    problem = error;
  }
  return { ...digest, input, given: given.digest, problem };
}

/** Nobody can tell whether it has been transformed once or twice. */
const CHANGED = { path: [], message: "another definition of the tool has read it, and this one makes another of it" };
