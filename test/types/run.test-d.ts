import { expectTypeOf, test } from "vitest";
import type { ToolError } from "../../src/errors.ts";
import type { OrchestrationResult, RunStatus } from "../../src/run/index.ts";

declare const result: OrchestrationResult<{ role: "user" }>;

test("a run that ended with status error has its error, and no other has one", () => {
  expectTypeOf(result.status).toEqualTypeOf<RunStatus>();
  expectTypeOf(result.error).toEqualTypeOf<ToolError | undefined>();
  if (result.status === "error") expectTypeOf(result.error).toEqualTypeOf<ToolError>();
  else expectTypeOf(result.error).toEqualTypeOf<undefined>();
  expectTypeOf(result.messages).toEqualTypeOf<readonly { role: "user" }[]>();
});
