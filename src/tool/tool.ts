import { ToolError } from "../errors.ts";
import { toSchema, withReasons, type InferInput, type InferOutput, type SchemaSource } from "../schema/index.ts";
import { isObject, kindOf, unknownKey } from "../schema/json.ts";
import { withInputRoot } from "../schema/root.ts";
import type { Schema } from "../schema/types.ts";
import {
  BOOLEAN,
  checkFields,
  FUNCTION,
  invalidTool,
  isFunction,
  policyOf,
  RULES,
  type Check,
  type PolicyContext,
  type ToolPolicy,
} from "./policy.ts";
import { didYouMean } from "./option-names.ts";
import type { HandlerResult } from "./progress.ts";
import { ToolUse, type ToolUseInit } from "./use.ts";

/** What running a tool does to the world. `write` unless the tool says otherwise. */
export type Effect = "read" | "idempotent" | "write";

/** Who runs a tool: this process, or the caller, who hands the result back. */
export type ToolMode = "internal" | "external";

/** How far arguments may be repaired: not at all, their JSON syntax, or also their types as the schema asks for. */
export type RepairPolicy = "off" | "syntax" | "coerce";

/** What a handler is told about the call it serves. An executor may add to it. */
export interface ToolContext {
  /** Our own id of the call: run + turn + position. Stable over retries. */
  readonly invocationId: string;
  /** The provider's id of the call, `null` if it gave none. Not an identity: providers repeat ids. */
  readonly toolCallId: string | null;
  /** As the tool set knows it. */
  readonly toolName: string;
  /** Fires when the caller gives up; a handler that waits should pass it on. */
  readonly signal: AbortSignal | undefined;
  /**
   * To pass on to whatever performs the effect, so that a retry does not repeat it: the same over all attempts and
   * processes, different for every other call.
   */
  readonly idempotencyKey: string;
  /** From 1; grows with each try of the same call. */
  readonly attempt: number;
  /** Reports how far the call has come. Resolves once it is delivered. `async function*` handlers yield it instead. */
  progress(value: unknown): Promise<void>;
  /** What the tool's `undo` will need, as of now. JSON; stored with the result, never shown. The last call counts. */
  undoData(data: unknown): void;
  /** From an executor: on whose behalf the call is made, in which mode, in which run; from a run, its conversation. */
  readonly principal?: PolicyContext["principal"];
  readonly behavior?: PolicyContext["behavior"];
  readonly runId?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly [key: string]: unknown;
}

/** The function behind a tool. May be async; a generator (`async function*`) yields progress and returns its result. */
export type Execute<Input = any, Output = unknown> = (input: Input, context: ToolContext) => Output;

/** What `defineTool()` and `@tool` take. `S` is the kind of input schema, which types the handler's parameter. */
export interface ToolDefinition<
  S extends SchemaSource = SchemaSource,
  Output = unknown,
  Name extends string = string,
> extends ToolPolicy<InferOutput<S>> {
  /** As the model sees it: 1 to 128 characters, no white space and no control characters. */
  name: Name;
  /** For the model: what the tool does, and when to call it. */
  description?: string | undefined;
  /** What the model writes, and what `execute` gets: its parameter is inferred from it. An object, or a string. */
  inputSchema: S;
  /** Checked by an executor after execution; sent to providers that take it. */
  outputSchema?: SchemaSource | undefined;
  /** Without it, the tool is external: its calls are handed to the caller. */
  execute?: Execute<InferOutput<S>, Output> | undefined;
  /**
   * What the model is told of what `execute` returned, sync. Default: all of it. Everybody else gets the output:
   * `use.result`, the record, a transcript.
   */
  toModelOutput?: ((output: HandlerResult<Output>) => unknown) | undefined;
  /** What running it does to the world. Default `"write"`. */
  effect?: Effect | undefined;
  /** Release the call as soon as it is complete, even while the turn goes on. Default: true for `effect: "read"`. */
  eager?: boolean | undefined;
  /** Default: `"coerce"` for `effect: "read"`, `"syntax"` for the others. */
  repair?: RepairPolicy | undefined;
  /** Anything that the application wants to find on the tool later. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** A tool: defined once, for all providers. Made by {@link defineTool} or `toolsOf()`; frozen. */
export interface Tool<
  Input = any,
  Output = any,
  ModelInput = any,
  Name extends string = string,
> extends ToolPolicy<Input> {
  readonly name: Name;
  /** Where it comes from: `Weather.getWeather` for a decorated method, else the name. */
  readonly qualifiedName: string;
  readonly description: string | undefined;
  readonly inputSchema: Schema<ModelInput, Input>;
  readonly outputSchema: Schema | undefined;
  readonly mode: ToolMode;
  readonly execute: Execute<Input, Output> | undefined;
  readonly toModelOutput?: ((output: any) => unknown) | undefined;
  readonly effect: Effect;
  readonly eager: boolean;
  readonly repair: RepairPolicy;
  readonly metadata: Readonly<Record<string, unknown>>;
  /**
   * With an `attempt` above 1, `execute` starts nothing and returns the outcome of the first attempt: so the outcome of
   * a write is known even if the process that began it died. Default: it cannot do that.
   */
  readonly recalls?: true;
  /**
   * A ToolUse made by hand, validated like one from a stream.
   *
   * @throws ToolCallError `invalid_input` when the input does not fit the schema.
   * @example tool.use({ city: "Oslo" }, { id: "call_123" }).execute()
   */
  use(input: ModelInput, init?: ToolUseInit): ToolUse<Input, Output, Name>;
}

/**
 * Defines a tool.
 *
 * @throws ToolError `invalid_tool` when the name or the schema is unusable, or an option does not exist.
 * @example
 * const getWeather = defineTool({
 *   name: "get_weather",
 *   description: "Current weather of a city.",
 *   inputSchema: z.object({ city: z.string() }),
 *   effect: "read",
 *   execute: ({ city }) => ({ city, celsius: 21 }),
 * });
 */
export function defineTool<const S extends SchemaSource, Output = unknown, Name extends string = string>(
  definition: ToolDefinition<S, Output, Name>,
): Tool<InferOutput<S>, Output, InferInput<S>, Name> {
  return makeTool(definition, definition?.name);
}

/** {@link defineTool} with a separate qualified name: for tools that come from a class or a server. */
export function makeTool<S extends SchemaSource, Output, Name extends string>(
  definition: ToolDefinition<S, Output, Name>,
  qualifiedName: string,
): Tool<InferOutput<S>, Output, InferInput<S>, Name> {
  if (!isObject(definition)) {
    throw new TypeError(`defineTool() takes one object, got ${kindOf(definition)}`);
  }
  const { name, description, outputSchema, execute, toModelOutput, effect = "write", metadata = {} } = definition;
  const { eager = effect === "read", repair = effect === "read" ? "coerce" : "syntax" } = definition;
  checkName(name, qualifiedName);
  const unknown = unknownKey(definition, KNOWN);
  if (unknown !== undefined) {
    throw invalidTool(name, `there is no option ${JSON.stringify(unknown)}.${instead(unknown)}`);
  }
  checkFields(FIELDS, definition, name);
  const tool: Tool<InferOutput<S>, Output, InferInput<S>, Name> = {
    name,
    qualifiedName,
    description,
    inputSchema: schemaOf(definition.inputSchema, name, "inputSchema", withInputRoot) as Schema<
      InferInput<S>,
      InferOutput<S>
    >,
    outputSchema: outputSchema === undefined ? undefined : schemaOf(outputSchema, name, "outputSchema"),
    mode: execute === undefined ? "external" : "internal",
    execute,
    toModelOutput,
    effect,
    eager,
    repair,
    metadata: Object.freeze({ ...metadata }),
    ...policyOf(definition, effect),
    use: (input, init) => ToolUse.from(tool, input, init),
  };
  return Object.freeze(tool);
}

/** Providers differ in what names they accept; each adapter maps what its own rejects. This is what none accepts. */
function checkName(name: unknown, qualifiedName: string): void {
  if (typeof name === "string" && name.length > 0 && name.length <= 128 && !/[\s\p{Cc}\p{Cf}]/u.test(name)) return;
  throw invalidTool(
    qualifiedName,
    `a name has 1 to 128 characters without white space or control characters, got ${JSON.stringify(name)}.`,
  );
}

const FIELDS = {
  description: [(value) => typeof value === "string", "a text"],
  execute: [isFunction, "a function (without one the tool is external)"],
  toModelOutput: FUNCTION,
  effect: [
    (value) => value === "read" || value === "idempotent" || value === "write",
    '"read", "idempotent" or "write"',
  ],
  eager: BOOLEAN,
  repair: [(value) => value === "off" || value === "syntax" || value === "coerce", '"off", "syntax" or "coerce"'],
  metadata: [isObject, "an object"],
  ...RULES,
} satisfies Partial<Record<keyof ToolDefinition, Check>>;

/**
 * Anything else is refused: a rule with a typo in its name would allow what it is there to forbid. The last ones are
 * those of a tool, which may be defined again.
 */
const KNOWN: readonly string[] = [
  ...Object.keys(FIELDS),
  ...(["name", "inputSchema", "outputSchema", "qualifiedName", "mode", "recalls", "use"] satisfies (keyof Tool)[]),
];

/** What other libraries call an option of ours. */
const ELSEWHERE = {
  inputSchema: "parameters input_schema schema args",
  outputSchema: "output_schema",
  execute: "handler run func function invoke",
} satisfies Partial<Record<keyof ToolDefinition, string>>;

function instead(option: string): string {
  for (const [ours, theirs] of Object.entries(ELSEWHERE))
    if (theirs.split(" ").includes(option)) return ` Here it is called ${ours}.`;
  return `${didYouMean(option, KNOWN)} Data of your own goes into metadata.`;
}

function schemaOf(source: SchemaSource, name: string, field: string, checked = (schema: Schema) => schema): Schema {
  try {
    return withReasons(checked(toSchema(source)));
  } catch (cause) {
    if (!(cause instanceof ToolError)) throw cause;
    throw new ToolError(cause.code, `Tool ${name}: ${field}: ${cause.message}`, { issues: cause.issues, cause });
  }
}
