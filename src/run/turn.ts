import type { ToolChoice } from "../adapter.ts";
import type { ToolError } from "../errors.ts";
import type { Model } from "../model.ts";
import type { FinishReason, Turn } from "../stream/events.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { TurnRow } from "./format.ts";
import { executable, isDependent, pendingCall, recordsOf } from "./partition.ts";
import type { RunEvent } from "./types.ts";

export interface TurnRequest {
  readonly model: Model;
  readonly messages: readonly unknown[];
  readonly tools: readonly Tool[];
  readonly instructions: string | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly signal: AbortSignal;
  /** The first part of the ids of the turn's calls. */
  readonly turnId: string;
  emit(event: RunEvent): void | Promise<void>;
  /** A call of a tool that only reads: it may run while the turn goes on. */
  onRead(use: ToolUse): void;
  /** A call for the caller. */
  onExternal(use: ToolUse): void;
}

/** One turn of the model, read to its end. */
export interface AskedTurn {
  readonly row: TurnRow;
  /** The calls that can be executed, by invocation id. */
  readonly uses: ReadonlyMap<string, ToolUse>;
  /** Why it did not end as it should. */
  readonly error: ToolError | undefined;
  /** Something of it came. */
  readonly hasBegun: boolean;
}

/** Asks the model, and tells what it says while it says it. */
export async function askModel(request: TurnRequest): Promise<AskedTurn> {
  const { model, messages, tools, instructions, toolChoice, signal, turnId, emit } = request;
  const at = Date.now();
  const stream = model.open({ messages, tools, instructions, toolChoice, signal, runId: turnId });
  const uses = new Map<string, ToolUse>();
  let hasBegun = false;
  for await (const event of stream) {
    hasBegun ||= event.type !== "error";
    if (event.type === "tool-use") {
      const { use } = event;
      uses.set(use.invocationId, use);
      await emit(event);
      if (use.tool.mode === "external") {
        request.onExternal(use);
        if (!isDependent(use)) await emit({ type: "external_tool_detected", call: callOf(use) });
      } else if (use.tool.effect === "read" && !isDependent(use)) request.onRead(use);
    } else await emit(event);
  }
  const { turn } = stream;
  const requestId = stream.response?.requestId;
  return { row: rowOf(model, turn, turnId, at, requestId), uses, error: turn.error, hasBegun };
}

function rowOf(model: Model, turn: Turn, turnId: string, at: number, requestId: string | undefined): TurnRow {
  const { text, finishReason, usage, error } = turn;
  return {
    kind: "turn",
    turnId,
    at,
    durationMs: Date.now() - at,
    messages: model.adapter.assistantMessage(turn),
    text,
    calls: recordsOf(turn.calls),
    finishReason: finishReason ?? null,
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...(usage !== undefined && { usage: tokensOf(usage) }),
    ...(turn.model !== undefined && { model: turn.model }),
    ...(requestId !== undefined && { requestId }),
    ...(model.goesOn?.(turn) === true && turn.calls.length === 0 && { goesOn: true as const }),
  };
}

/** Whether the provider, or the connection, ended the turn before the model had. */
export function isCut({ error, finishReason }: TurnRow): boolean {
  return error !== undefined || UNFINISHED.has(finishReason);
}

const UNFINISHED: ReadonlySet<FinishReason | null> = new Set(["length", "content-filter", "refusal", "error"]);

function tokensOf({ inputTokens = 0, outputTokens = 0, totalTokens }: NonNullable<Turn["usage"]>) {
  return { inputTokens, outputTokens, totalTokens: totalTokens ?? inputTokens + outputTokens };
}

function callOf(use: ToolUse) {
  return pendingCall({ ...use, id: use.id, batch: 0, ...executable(use) });
}
