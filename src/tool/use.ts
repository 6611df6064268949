import { issuesText, messageOf, ToolCallError, ToolError, type FailedCall, type Issue } from "../errors.ts";
import { isPromise } from "../promise.ts";
import { approvalRule } from "./policy.ts";
import { isGenerator, settle, type HandlerResult } from "./progress.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** One repair made to a call, mostly to its arguments, for the log and for the user. */
export interface Repair {
  /**
   * - `empty`: nothing, `null`, `"null"` or `[]` was read as `{}`
   * - `placeholder`: a leading `{}` was dropped
   * - `resend`: a full copy sent again was dropped
   * - `snapshot`: the deltas were cumulative
   * - `object`: an object came where text was expected, or instead of text that differs from it
   * - `syntax`: broken JSON was repaired
   * - `coerce`: a value was given the type that the schema asks for
   * - `null_dropped`: `null` for an optional property (strict modes force it) was read as absent
   * - `name`: the name came with a namespace before it (`functions.f`)
   */
  readonly kind:
    | "empty"
    | "placeholder"
    | "resend"
    | "snapshot"
    | "object"
    | "syntax"
    | "coerce"
    | "null_dropped"
    | "name";
  readonly path?: readonly (string | number)[];
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Optional parts of a ToolUse made by hand. */
export interface ToolUseInit {
  /** The provider's id; default `null`. */
  id?: string | null | undefined;
  /** Our own id; default: the provider's id or a random one. */
  invocationId?: string | undefined;
  metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What {@link ToolUse.execute} passes on to the handler. The return value of `progress` is awaited. */
export type GivenContext = {
  readonly [K in keyof ToolContext]?: (K extends "progress" ? (value: unknown) => unknown : ToolContext[K]) | undefined;
} & {
  /** Whoever has to has approved this call, if its tool needs approval. The handler does not get it. */
  readonly approved?: boolean | undefined;
};

/** Everything that a ToolUse is made of; `input` has been validated. */
export interface ToolUseParts<Input = any, Output = any, Name extends string = string> extends Omit<
  FailedCall,
  "argsText"
> {
  /** The text, or an object that makes it on demand. */
  readonly argsText: string | { readonly text: string };
  readonly tool: Tool<Input, Output, any, Name>;
  readonly name: Name;
  readonly input: Input;
  /** See {@link ToolUse.argsValue}. Default: `argsText` is JSON that was not repaired. */
  readonly argsValue?: unknown;
  readonly repairs: readonly Repair[];
}

/**
 * A call of one of the tools, as a union over them, so that `use.name === "get_weather"` tells which it is and types
 * its input.
 */
export type UseOf<T extends Tool> =
  T extends Tool<infer Input, infer Output, any, infer Name> ? ToolUse<Input, Output, Name> : never;

/** Held by whoever has taken a {@link ToolUse} to execute it elsewhere. */
export interface ToolUseHandle<Output = any> {
  /** @param note what else the model is told: see {@link ToolUse.note} */
  finish(output: HandlerResult<Output>, note?: string): void;
  /** An error's message is for the model; a ToolCallError is kept as it is. */
  fail(reason: unknown, note?: string): void;
  release(): void;
}

class Use<Input = any, Output = any, Name extends string = string> implements FailedCall {
  static readonly name = "ToolUse";
  /** Our own id of the call: unique in its run and stable, so a key for idempotency, approval and undo. */
  readonly invocationId: string;
  /** The provider's id, byte for byte; `null` if the wire gave none. */
  readonly id: string | null;
  readonly name: Name;
  readonly tool: Tool<Input, Output, any, Name>;
  /** As the schema outputs it: defaults filled in, transforms applied. */
  readonly input: Input;
  // `declare`, so that the constructor is the first to create them, in this order: see #argsText.
  /** The arguments as the model wrote them; the compact JSON of arguments that came as a value. */
  declare readonly argsText: string;
  /** The arguments as the schema was given them, where that is not the JSON in `argsText`: repaired, or free text. */
  declare readonly argsValue: unknown;
  declare readonly repairs: readonly Repair[];
  declare readonly turnIndex: number;
  /** Position among the calls of the stream, from 0. */
  declare readonly position: number;
  /** Anything else that came with the call and goes back with it (signatures, callers). */
  declare readonly metadata: Readonly<Record<string, unknown>>;
  /** Makes `argsText` on demand. */
  #args: { readonly text: string } | undefined;
  #state: "new" | "running" | "done" | "failed" = "new";
  #result: HandlerResult<Output> | undefined;
  #error: ToolCallError | undefined;
  #note: string | undefined;

  /**
   * Defined as a property like any other, for code that copies a ToolUse. A single function for all, on a property that
   * never held a value: otherwise V8 gives the object a table or a hidden class of its own, which takes half a
   * microsecond or more and retains the whole stream until the next full collection.
   */
  static readonly #argsText: PropertyDescriptor & ThisType<Use> = {
    get() {
      return this.#args!.text;
    },
    enumerable: true,
  };

  constructor(parts: ToolUseParts<Input, Output, Name>) {
    this.invocationId = parts.invocationId;
    this.id = parts.id;
    this.name = parts.name;
    this.tool = parts.tool;
    this.input = parts.input;
    const { argsText } = parts;
    if (typeof argsText === "string") this.argsText = argsText;
    else {
      this.#args = argsText;
      Object.defineProperty(this, "argsText", Use.#argsText);
    }
    this.argsValue = parts.argsValue;
    this.repairs = parts.repairs;
    this.turnIndex = parts.turnIndex;
    this.position = parts.position;
    this.metadata = parts.metadata;
  }

  /** A ToolUse made by hand. @throws ToolCallError `invalid_input` */
  static from<I, O, N extends string>(
    tool: Tool<I, O, any, N>,
    input: unknown,
    init: ToolUseInit = {},
  ): ToolUse<I, O, N> {
    const call = {
      invocationId: init.invocationId ?? (init.id || crypto.randomUUID()), // "" is what some servers give
      id: init.id ?? null,
      name: tool.name,
      argsText: "",
      turnIndex: 0,
      position: 0,
      metadata: init.metadata ?? {},
    };
    try {
      call.argsText = JSON.stringify(input) ?? "";
    } catch (cause) {
      const [reason] = messageOf(cause).split("\n", 1);
      throw invalidInput({ ...call, input }, [{ message: `must be a JSON value: ${reason}`, path: [] }]);
    }
    const checked = tool.inputSchema.validate(input);
    if (!checked.ok) throw invalidInput({ ...call, input }, checked.issues);
    return new Use<I, O, N>({ ...call, tool, input: checked.value, repairs: [] });
  }

  /** Whether the handler was started or an outcome was handed in. */
  get executed(): boolean {
    return this.#state !== "new";
  }

  /** What the handler returned; `undefined` until then. */
  get result(): HandlerResult<Output> | undefined {
    return this.#result;
  }

  /** Why the handler failed; `undefined` unless it did. */
  get error(): ToolCallError | undefined {
    return this.#error;
  }

  /** What the model is told in addition to the result or error, such as that a person has changed the arguments. */
  get note(): string | undefined {
    return this.#note;
  }

  /** `new`, `running`, `done` or `failed`. */
  get state(): "new" | "running" | "done" | "failed" {
    return this.#state;
  }

  /**
   * Runs the handler, sync or async. For a generator (`async function*`), the result is what it returns or, if it
   * returns nothing, the last value it yields; what it yields goes to `context.progress`.
   *
   * A failure is also kept in `error`, and reaches the model with `toolResults(turn)`; so a promise that is not awaited
   * yet while the stream goes on does not end the process as an unhandled rejection.
   *
   * @param context what the handler gets as its second argument, alongside the call's own ids.
   * @throws ToolError `external_tool` (the tool has no handler), `needs_approval` (the tool has such a rule, and the
   *   context does not say `approved: true`), `already_executed`, `unresolved` (it waits for the result of another call)
   * @throws ToolCallError `execution_failed` when the handler throws; its error is the `cause`.
   */
  execute(context?: GivenContext): Promise<HandlerResult<Output>> {
    const execution = this.#run(context);
    execution.catch(() => {});
    return execution;
  }

  /**
   * Runs a sync handler and returns its result.
   *
   * @throws ToolError `async_tool` when the handler returns a promise (which goes on; its failure is swallowed) or is a
   *   generator, `external_tool`, `needs_approval`, `already_executed`
   * @throws ToolCallError `execution_failed`
   */
  executeSync(context?: GivenContext): Output {
    if (isAsyncFunction(this.tool.execute)) throw this.#isAsync();
    const handler = this.#start(context);
    let output: Output;
    try {
      output = handler(this.input, this.#context(context));
    } catch (cause) {
      throw this.#fail(cause);
    }
    if (isPromise(output) || isGenerator(output)) {
      // A generator has not started yet, and never will.
      if (isPromise(output)) output.then(undefined, () => {});
      this.#state = "failed";
      throw (this.#error = this.#isAsync());
    }
    return this.#finish(output as HandlerResult<Output>) as Output;
  }

  /**
   * Hands in the outcome of an execution elsewhere, such as that of an external tool.
   *
   * @throws ToolError `already_executed` when there is an outcome, or the handler is running
   * @throws TypeError for a promise
   * @example use.provideResult(await askTheUser(use.input));
   */
  provideResult(output: HandlerResult<Output>): void {
    if (isPromise(output)) throw new TypeError("provideResult() takes the value of a promise: await it first.");
    this.#claim();
    this.#finish(output);
  }

  /**
   * Like {@link provideResult}, for an execution that failed.
   *
   * @param reason for the model to read: an error's message; a ToolCallError is kept as it is
   * @throws ToolError `already_executed`
   */
  provideError(reason: unknown): void {
    this.#claim();
    this.#fail(reason);
  }

  /**
   * Takes the call for execution elsewhere: it counts as running until one of the functions is called, so that nothing
   * else runs or answers it meanwhile. `release` gives it back as if it had not been taken.
   *
   * @throws ToolError `already_executed`, `unresolved`
   */
  take(): ToolUseHandle<Output> {
    this.#checkResolved();
    this.#claim();
    this.#state = "running";
    return {
      finish: (output, note) => {
        this.#note = note;
        this.#finish(output);
      },
      fail: (reason, note) => {
        this.#note = note;
        this.#fail(reason);
      },
      release: () => void (this.#state = "new"),
    };
  }

  async #run(context: GivenContext | undefined): Promise<HandlerResult<Output>> {
    const handler = this.#start(context);
    const full = this.#context(context);
    try {
      const answer = await handler(this.input, full);
      return this.#finish((await settle(answer, full.progress, full.signal)) as HandlerResult<Output>);
    } catch (cause) {
      throw this.#fail(cause);
    }
  }

  #start(context: GivenContext | undefined) {
    const { execute } = this.tool;
    if (execute === undefined) {
      throw new ToolError(
        "external_tool",
        `Tool ${this.name} is external: its caller executes it and hands the result back with provideResult(). Give defineTool() an execute function, and read() the tools, to run it here.`,
      );
    }
    this.#checkResolved();
    this.#claim();
    if (context?.approved !== true && approvalRule(this.tool) !== false) {
      throw new ToolError(
        "needs_approval",
        `Tool ${this.name} needs approval: give the call to an executor (toolstream/execute), which asks for it, or to execute({ approved: true }) once it is approved.`,
      );
    }
    this.#state = "running";
    return execute;
  }

  /** The input of such a call has not been validated, since other results are still to be filled in. */
  #checkResolved(): void {
    if (this.metadata["dependent"] !== true) return;
    throw new ToolError(
      "unresolved",
      `Call ${this.#label()} refers to the result of another call: fill it in first, with runBlock() or resolveUse() of toolstream/text-helpers.`,
    );
  }

  /** An outcome is accepted once. */
  #claim(): void {
    if (this.#state !== "new") {
      throw new ToolError(
        "already_executed",
        `Call ${this.#label()} was executed already; its outcome is in .result or .error.`,
      );
    }
  }

  #context(given: GivenContext | undefined): ToolContext {
    const { approved: _, ...context } = given ?? {};
    // A value of undefined counts as not given.
    const { signal, idempotencyKey = this.invocationId, attempt = 1, progress, undoData = () => {} } = context;
    const all = {
      ...context,
      signal,
      idempotencyKey,
      attempt,
      progress: async (value: unknown) => void (await progress?.(value)),
      undoData,
      invocationId: this.invocationId,
      toolCallId: this.id,
      toolName: this.name,
    };
    return all as ToolContext; // with what an application has added to it, as it was given
  }

  #finish(output: HandlerResult<Output>): HandlerResult<Output> {
    this.#state = "done";
    this.#result = output;
    return output;
  }

  #fail(cause: unknown): ToolCallError {
    this.#state = "failed";
    if (cause instanceof ToolCallError && cause.invocationId === this.invocationId) return (this.#error = cause);
    const message = `Tool ${this.name} failed: ${messageOf(cause)}`;
    return (this.#error = new ToolCallError("execution_failed", message, this, { cause }));
  }

  #isAsync(): ToolCallError {
    return new ToolCallError(
      "async_tool",
      `Tool ${this.name} is async: call ${this.#label()} needs execute(), not executeSync().`,
      this,
    );
  }

  #label(): string {
    return `${this.id ?? this.invocationId} (${this.name})`;
  }
}

/**
 * One complete, validated tool call that can be executed, once.
 *
 * The type leaves out what is private, which would keep the tools of another copy of this library from being a `Tool`
 * here: their `use()` returns its class.
 *
 * @example
 * if (event.type === "tool-use") console.log(event.use.name, await event.use.execute());
 */
export interface ToolUse<Input = any, Output = any, Name extends string = string> extends Pick<
  Use<Input, Output, Name>,
  keyof Use
> {}

interface ToolUseClass extends Pick<typeof Use, "from"> {
  new <Input = any, Output = any, Name extends string = string>(
    parts: ToolUseParts<Input, Output, Name>,
  ): ToolUse<Input, Output, Name>;
  readonly prototype: ToolUse;
}

export const ToolUse: ToolUseClass = Use;

/** The error for an input that does not fit: lists each issue with its path, for the model. */
export function invalidInput(call: FailedCall, issues: readonly Issue[]): ToolCallError {
  return new ToolCallError(
    "invalid_input",
    `The input of ${call.name} does not fit its schema: ${issuesText(issues, "input")}. Correct the arguments and call it again.`,
    call,
    { issues },
  );
}

/** Known before it runs; other functions that return a promise are only found out afterwards. */
function isAsyncFunction(value: unknown): boolean {
  return /^\[object (?:AsyncFunction|(?:Async)?GeneratorFunction)\]$/.test(Object.prototype.toString.call(value));
}
