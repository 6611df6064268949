import type { ChatModelOptions, ChatReadOptions, ToolChoiceOptions } from "../../adapters/openai-chat/index.ts";
import type { GoogleModelOptions, GoogleToolChoiceOptions, GoogleToolsOptions } from "../../adapters/google/index.ts";
import type { HelperTags } from "../../adapters/text-helpers/index.ts";
import type { RescueTextCallsOptions, TextModelOptions, TextReadOptions } from "../../adapters/text-json/index.ts";
import type { DiscoverOptions, ExecutableOptions } from "../../src/executable/index.ts";
import type { Decision, ExecutionContext, ToolExecutorOptions, UndoOptions } from "../../src/execute/index.ts";
import type {
  ApprovalHandlerOptions,
  ApprovalServiceOptions,
  ApprovalSessionOptions,
  ApprovalSocketsOptions,
  AwaitOptions,
  FeedOptions,
  GrantOptions,
  ListApprovals,
  SubscribeOptions,
} from "../../src/execute/approvals/index.ts";
import type { OpenTelemetryOptions } from "../../src/execute/telemetry.ts";
import type {
  createJsonParser,
  GivenContext,
  ModelOptions,
  ModelRequest,
  ReadOptions,
  RegisterOptions,
  ToolBufferOptions,
  ToolChoice,
  ToolDefinition,
  ToolOptions,
  ToolsOptions,
  ToolUseInit,
} from "../../src/index.ts";
import type { McpToolsOptions, ServeMcpOptions } from "../../src/mcp/index.ts";
import type { ProxyOptions, ReplayBehavior, ReplayOptions, ServeOptions } from "../../src/replay/index.ts";
import type {
  Budgets,
  OrchestratorOptions,
  ResumeOptions,
  RunOptions,
  StepChange,
  ToolResultInput,
} from "../../src/run/index.ts";
import type { DeleteOptions, ListOptions, PutOptions, UpdateOptions } from "../../src/store/index.ts";
import type { RedisStoreOptions } from "../../src/store/redis.ts";
import type { SqliteStoreOptions } from "../../src/store/sqlite.ts";
import type { BullmqToolsOptions, BullmqWorkerOptions } from "../../src/workers/bullmq.ts";

/** Without what else may be there under any name. */
type Named<Options> = { [Name in keyof Options as string extends Name ? never : Name]: Options[Name] };

/** The options that may be left out, but not be `undefined`, as an option that is passed on may be. */
type Strict<Options> = {
  [Name in keyof Options]-?: {} extends Pick<Options, Name>
    ? { [Same in Name]: undefined } extends Pick<Options, Name>
      ? never
      : Name
    : never;
}[keyof Options];
type All<Options extends readonly unknown[]> = { [At in keyof Options]: Strict<Options[At]> }[number];
const none = <_Names extends never>(): void => {};

none<All<[ToolDefinition, ToolOptions, RegisterOptions, ToolsOptions, ReadOptions, ToolBufferOptions]>>();
none<All<[ModelOptions, ModelRequest, Extract<ToolChoice, { names: unknown }>]>>();
none<Strict<NonNullable<Parameters<typeof createJsonParser>[0]>>>();
none<All<[NonNullable<ReadOptions["limits"]>, NonNullable<ServeMcpOptions["limits"]>]>>();
none<All<[Named<GivenContext>, Named<ExecutionContext>, ToolUseInit, Decision, StepChange]>>();
none<All<[ChatModelOptions, ChatReadOptions, ToolChoiceOptions]>>();
none<All<[GoogleModelOptions, GoogleToolChoiceOptions, GoogleToolsOptions]>>();
none<All<[HelperTags, RescueTextCallsOptions, TextModelOptions, TextReadOptions]>>();
none<All<[DiscoverOptions, ExecutableOptions, McpToolsOptions, ServeMcpOptions]>>();
none<All<[ToolExecutorOptions, UndoOptions, OpenTelemetryOptions]>>();
none<All<[ApprovalServiceOptions, ApprovalHandlerOptions, ApprovalSocketsOptions, ApprovalSessionOptions]>>();
none<All<[AwaitOptions, FeedOptions, GrantOptions, ListApprovals, SubscribeOptions]>>();
none<All<[OrchestratorOptions, RunOptions, ResumeOptions, Budgets, ToolResultInput]>>();
none<All<[PutOptions, DeleteOptions, ListOptions, UpdateOptions, SqliteStoreOptions, RedisStoreOptions]>>();
none<All<[BullmqToolsOptions, BullmqWorkerOptions]>>();
none<All<[ProxyOptions, ReplayBehavior, ReplayOptions, ServeOptions]>>();

// @ts-expect-error: the check would find one
none<Strict<{ readonly a?: number }>>();
// @ts-expect-error: there, too
none<Strict<Named<{ readonly a?: number; readonly [name: string]: unknown }>>>();
