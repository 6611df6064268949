import type { ActionInfo } from "../execute/info.ts";
import type { ToolErrorCode } from "../errors.ts";
import type { FinishReason } from "../stream/events.ts";
import { answersIn } from "./answers.ts";
import type { RunState } from "./checkpoint.ts";
import type { CallRecord, CallStatus, InputRow, OutcomeRecord, TurnRow } from "./format.ts";
import type { RunDeps } from "./options.ts";
import { outcomesOf } from "./result.ts";
import { openTurn, outcomesAt, rowsThatCount } from "./rows.ts";

/** What the user or the model said, in the same form for every provider. */
export type TranscriptEntry = UserEntry | AssistantEntry;

interface EntryBase {
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Where it begins in the `messages` of the result. */
  readonly index: number;
}

interface UserEntry extends EntryBase {
  readonly role: "user";
}

/** A turn of the model, or a text of it among the messages that `run()` was given. */
interface AssistantEntry extends EntryBase {
  readonly role: "assistant";
  readonly reasoning: string;
  readonly calls: readonly TranscriptCall[];
  readonly finishReason: FinishReason | null;
  /** Why the turn did not end normally: with code `aborted`, it was stopped. */
  readonly error?: { readonly code: ToolErrorCode; readonly message: string };
}

/** A call of the model, and what came of it. */
export interface TranscriptCall {
  /** The invocation id: that of `pendingToolCalls`, approvals and events. */
  readonly id: string;
  /** The key for the executor's `undo()` and `action()`, of a call that it has on record. */
  readonly actionId?: string;
  /** `null` if the model gave none. */
  readonly name: string | null;
  /** Validated, as plain JSON; if there is no valid input, the text that the model wrote. */
  readonly input: unknown;
  /** What ran instead, if the person who approved the call changed its input. */
  readonly editedInput?: unknown;
  readonly status: CallStatus | "open";
  /** What a completed call returned, as plain JSON, if that is on record. */
  readonly output?: unknown;
  /** Why there is no output, as the model was told. */
  readonly error?: string;
}

/** What is on record of a call besides its outcome. */
type CallResult = Partial<Pick<ActionInfo, "actionId" | "output" | "editedInput">>;

/** A conversation as far as it is stored, without turns that were requested again. */
export async function transcriptOf(deps: RunDeps, { head, rows }: RunState): Promise<TranscriptEntry[]> {
  const counted = rowsThatCount(rows);
  const answers = await answersIn(deps.store, head.conversationId);
  const records = new Map<string, CallResult>([...answers].map(([id, { result }]) => [id, { output: result }]));
  const runs = counted.flatMap((row) => (row.kind === "input" ? [row.runId] : []));
  const actions = await Promise.all(runs.map((runId) => deps.executor.actions(runId)));
  for (const action of actions.flat()) records.set(action.invocationId, action);
  const last = openTurn(rows);
  const open = last && (await outcomesOf(deps, head.runId, last, answers));
  let next = 0;
  return counted.flatMap((row, at): TranscriptEntry[] => {
    const index = next;
    next += row.messages.length;
    if (row.kind === "turn") return turnEntry(row, index, outcomesAt(counted, at, open), records);
    return row.kind === "input" ? inputEntries(row, index) : [];
  });
}

/**
 * What the user and the model say in messages that `run()` was given. Such messages have a role or a type of their own,
 * and their text in `content` or `parts`, whole or in pieces. Any wire's form is read, since an app may show a
 * conversation after it has moved on to another provider.
 */
function inputEntries({ messages, at }: InputRow, first: number): TranscriptEntry[] {
  return messages.flatMap((message, offset): TranscriptEntry[] => {
    const { type, role = type, content, parts = content } = message as Readonly<Record<string, unknown>>;
    const pieces: readonly unknown[] = Array.isArray(parts) ? parts : [{ text: parts }];
    const text = pieces.map(textIn).join("");
    const base = { text, at, index: first + offset };
    if (text.trim() === "") return [];
    if (role === "user" || role === "user_input") return [{ role: "user", ...base }];
    const isModels = role === "assistant" || role === "model" || role === "model_output";
    return isModels ? [{ role: "assistant", ...base, reasoning: "", calls: [], finishReason: null }] : [];
  });
}

function textIn(piece: unknown): string {
  const { text, thought } = Object(piece) as { readonly text?: unknown; readonly thought?: unknown };
  return typeof text === "string" && thought !== true ? text : "";
}

function turnEntry(
  { text, reasoning = "", calls, finishReason, error, at }: TurnRow,
  index: number,
  outcomes: readonly OutcomeRecord[],
  records: ReadonlyMap<string, CallResult>,
): TranscriptEntry[] {
  // Nothing to show: a turn of calls that the provider ran, or one that it goes on with.
  if (text.trim() === "" && reasoning === "" && calls.length === 0) return [];
  const shown = calls.map((call) => callOf(call, outcomes, records.get(call.invocationId)));
  const base = { text, at, index, reasoning, calls: shown, finishReason };
  return [{ role: "assistant", ...base, ...(error !== undefined && { error }) }];
}

function callOf(
  { invocationId: id, name, input, argsText }: CallRecord,
  outcomes: readonly OutcomeRecord[],
  { actionId, output, editedInput }: CallResult = {},
): TranscriptCall {
  const { status = "open", message } = outcomes.find(({ invocationId }) => invocationId === id) ?? {};
  return {
    id,
    ...(actionId !== undefined && { actionId }),
    name,
    input: input === undefined ? argsText : input,
    ...(editedInput !== undefined && { editedInput }),
    status,
    ...(status === "completed" && output !== undefined && { output }),
    ...(message !== undefined && { error: message }),
  };
}
