import { expectTypeOf, test } from "vitest";
import type { ToolError, ToolErrorCode } from "../../src/errors.ts";
import type { ActionInfo } from "../../src/execute/index.ts";
import type { OrchestrationResult, RunEvent, RunStatus, TranscriptEntry } from "../../src/run/index.ts";
import type { CallSummary, TurnSummary } from "../../src/testing/index.ts";

declare const result: OrchestrationResult<{ role: "user" }>;

test("a run that ended with status error has its error, and no other has one", () => {
  expectTypeOf(result.status).toEqualTypeOf<RunStatus>();
  expectTypeOf(result.error).toEqualTypeOf<ToolError | undefined>();
  if (result.status === "error") expectTypeOf(result.error).toEqualTypeOf<ToolError>();
  else expectTypeOf(result.error).toEqualTypeOf<undefined>();
  expectTypeOf(result.messages).toEqualTypeOf<readonly { role: "user" }[]>();
});

test("a code is one of the codes, wherever it is told", () => {
  type Failed = Extract<RunEvent, { type: "tool.failed" | "tool.undo_failed" }>;
  expectTypeOf<Failed["errorCode"]>().toEqualTypeOf<ToolErrorCode>();
  type Told = ActionInfo | Extract<TranscriptEntry, { role: "assistant" }> | CallSummary | TurnSummary;
  expectTypeOf<NonNullable<Told["error"]>["code"]>().toEqualTypeOf<ToolErrorCode>();
});
