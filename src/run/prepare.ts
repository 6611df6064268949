import { isOffered } from "../execute/gate.ts";
import { wellFormed } from "../json/index.ts";
import { copyJson } from "../schema/json.ts";
import type { ToolChoice } from "../tool/choice.ts";
import { toolList } from "../tool/tool-set.ts";
import { checkChange, checkObjects, paired } from "./check.ts";
import type { RunState } from "./checkpoint.ts";
import type { RunDeps } from "./options.ts";
import { latest, rowsThatCount, turnsOfRun } from "./rows.ts";
import { transcriptOf } from "./transcript.ts";
import type { RunContext, Step } from "./types.ts";

export type PreparedTurn = Awaited<ReturnType<typeof prepareTurn>>;

/**
 * What the model is asked with for the next turn, and whether it is asked. Calls and results are paired here, at the
 * last moment before the request.
 *
 * @throws TypeError for what `trim` or `prepareStep` may not return; whatever they throw
 */
export async function prepareTurn(
  deps: RunDeps,
  stored: RunState,
  { principal, requestId, context }: RunContext,
  signal: AbortSignal,
) {
  const { trim, model, tools, prepareStep } = deps;
  const { rows, head } = stored;
  const behavior = latest(rows, "behavior");
  const counted = rowsThatCount(rows, "turn");
  const last = counted.at(-1);
  const said = counted.flatMap(({ messages }) => messages);
  // A copy: what is changed in a message is for this turn, too. Marks on the latest one (`cache_control`) would add up
  // until the provider refuses them.
  const all = trim === undefined && prepareStep === undefined ? said : (copyJson(said) as unknown[]);
  const trimmed = (await trim?.(all)) ?? all;
  const selected = trimmed === all ? "messages" : "trim()";
  checkObjects(trimmed, model, selected);
  const offer = () => tools.all().filter((tool) => isOffered(tool, behavior));
  const step: Step = {
    principal,
    requestId,
    context,
    signal,
    behavior,
    conversationId: head.conversationId,
    step: turnsOfRun(rows).length,
    messages: trimmed,
    tools: offer(),
    instructions: latest(rows, "instructions"),
    toolChoice: last?.kind === "input" ? (last.toolChoice as ToolChoice | undefined) : undefined,
    transcript: () => transcriptOf(deps, stored),
  };
  const change = (await prepareStep?.(step)) ?? {};
  checkChange(change, step, model.adapter.name, tools);
  const { model: asked = model, messages = trimmed, tools: given = step.tools } = change;
  const { instructions = step.instructions, toolChoice = step.toolChoice, stop } = change;
  const name = messages === trimmed ? selected : "prepareStep().messages";
  const sent = paired(messages, model, name);
  return {
    stop,
    model: asked,
    // What is stored has no halves of characters; what a hook has shortened may.
    messages: all === said ? sent : wellFormed(sent),
    // Read again: it may have registered some, or refreshed those of a server.
    tools: toolList(given === step.tools ? offer() : given),
    instructions: instructions?.toWellFormed(),
    toolChoice,
  };
}
