/** What went wrong, as a closed set. The message is for a person, the code is for a program. */
export const TOOL_ERROR_CODES = [
  // one call that cannot be executed: data for the model
  "unknown_tool", // no tool with that name was offered
  "invalid_json", // the arguments are not JSON and could not be repaired
  "invalid_input", // the arguments do not fit the tool's input schema
  "truncated", // the model did not finish the call
  "too_large", // a limit of size, depth or number was exceeded
  "rejected", // the provider refused the call that its own model wrote
  "turn_not_finished", // the call is complete, the turn is not: a write is not released
  // execution
  "execution_failed", // the handler threw, or another function of the application (trim)
  "needs_approval", // nobody has approved the call, and whoever executes it asks nobody
  "external_tool", // the tool is executed by the caller, not by this process
  "timeout", // it took longer than it may
  "async_tool", // executeSync() of a tool that returns a promise
  "already_executed", // a ToolUse is executed once
  // an executor's outcomes
  "denied", // a rule, a policy or a person said no: nothing was executed
  "outcome_unknown", // it was started, and its outcome is not known
  "not_serializable", // the output, or what has to be digested, cannot be expressed in JSON
  "invalid_output", // the output does not fit the tool's output schema
  "output_too_large", // the output exceeded the limit
  // undoing
  "not_undoable", // the action has no undo function, or no effect that could be undone
  "already_undone", // an action is undone once
  "undo_expired", // the time for undoing it is over
  "undo_not_allowed", // this principal may not undo the action
  "undo_conflict", // the target was changed by someone else since
  "undo_failed", // the tool's undo function threw
  // definitions
  "invalid_tool", // an unusable definition
  "duplicate_tool", // two tools with the same name in one set
  "schema_loss", // the provider's schema dialect cannot express the whole schema
  // calls in text
  "invalid_call", // the call is written in a way that cannot be read
  "unresolved", // the call waits for the result of another one, or cannot get it
  // the stream as a whole
  "invalid_event", // an event that is not JSON
  "event_too_large", // one event exceeded the limit
  "provider_error", // the provider reported a failure
  "connection_lost", // the stream ended before the provider ended the turn
  "aborted", // the caller's signal fired
  // tools from outside: programs and servers
  "executable_refused", // the file must not or cannot be run: missing, writable by others, not a program
  "executable_changed", // the file is not the one that was loaded, or that the manifest lists
  "spawn_failed", // the system could not start the program
  "definition_changed", // the server now offers a different tool under the name
  "tool_failed", // the program or the server says that the call failed
  "invalid_answer", // what the program printed, or the server sent, is not an answer
  "input_required", // the server asks for something before it answers
  "server_failed", // the server refused the request, or could not be asked
  // recordings
  "unknown_wire", // no adapter recognises the content
  "invalid_recording", // the file cannot be read as a recording
  // stores
  "store_failed", // the store did not answer: whether it did what was asked is unknown
  "version_conflict", // the stored version is not the expected one: nothing was written
  // approvals
  "approval_not_found", // no such request, or none that this principal may know about
  "approval_not_allowed", // this principal may know about the request, but may not decide it
  "already_decided", // the first decision counts; the error carries it
  "approval_expired", // nobody decided in time
  "approval_void", // what was shown is no longer what would run, or the call is not to run any more
  "invalid_approval", // a stored request that this library cannot have written
  // runs
  "unknown_run", // there is no such conversation
  "run_open", // the conversation has calls without a result
  "run_busy", // another process, or another call, is working on the run
  "not_waiting", // the run is completed: there is nothing to resume
  "lease_lost", // the process that worked on the run died, or slept for too long: another one may go on, or does
  "unknown_call", // no call with that id waits for a result
  "already_answered", // the call has its result; the first one counts
  "invalid_result", // the result is not one, or does not fit the tool
  "max_steps", // the run has had as many turns as it may
  "budget_exceeded", // calls, tokens or time are used up
  "wrong_wire", // the conversation is in another provider's form
  "invalid_checkpoint", // the stored state of a run is damaged
  "checkpoint_newer", // the stored state of a run was written by a newer version
] as const;

/** One of {@link TOOL_ERROR_CODES}. */
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** One thing that is wrong with a value, at a path inside it. */
export interface Issue {
  readonly message: string;
  /** Property names and array indexes from the root; empty for the root itself. */
  readonly path: readonly (string | number)[];
}

/** The first ten, each with its path. @param root what the value itself is called */
export function issuesText(issues: readonly Issue[], root: string): string {
  const list = issues.slice(0, 10).map(({ path, message }) => `${path.join(".") || root}: ${message}`);
  return list.join("; ") + (issues.length > 10 ? `; and ${issues.length - 10} more` : "");
}

const marker: unique symbol = Symbol.for("toolstream.error") as never;

/**
 * Every error of this library. `code` is one of {@link TOOL_ERROR_CODES}.
 *
 * @example
 * try { await use.execute() } catch (error) {
 *   if (isToolError(error) && error.code === "execution_failed") console.error(error.cause);
 * }
 */
export class ToolError extends Error {
  readonly code: ToolErrorCode;
  /** The details, if there is more than one thing to say. */
  readonly issues: readonly Issue[];

  constructor(
    code: ToolErrorCode,
    message: string,
    options: { issues?: readonly Issue[] | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ToolError";
    this.code = code;
    this.issues = options.issues ?? [];
  }

  /** `JSON.stringify()` would leave the message out. The `cause` is left out: it may be private. */
  toJSON(): object {
    return { ...this, message: this.message };
  }

  /** @internal */
  get [marker](): true {
    return true;
  }
}

/** True for a {@link ToolError} of any copy of this library in the process. */
export function isToolError(value: unknown): value is ToolError {
  try {
    return typeof value === "object" && value !== null && (value as { [marker]?: unknown })[marker] === true;
  } catch {
    // A proxy may throw on any access, and anything may be thrown.
    return false;
  }
}

/** A text for what was thrown: anything can be thrown, even a value without a usable message. */
export function messageOf(thrown: unknown): string {
  try {
    const { message } = (thrown ?? {}) as { readonly message?: unknown };
    if (typeof message === "string" && message !== "") return message;
    const text = String(thrown);
    // The contents of such an object may be private: it is kept as the error's `cause`.
    return text === "[object Object]" ? "an object without a message was thrown" : text;
  } catch {
    return "what was thrown cannot be shown";
  }
}

/** At most `max` UTF-16 code units of a text, ending in `…` if it was longer; never cut inside a surrogate pair. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The call that an error is about. */
export interface FailedCall {
  /** Our own id of the call: unique in its run. */
  readonly invocationId: string;
  /** The provider's id, byte for byte; `null` if the wire gave none. */
  readonly id: string | null;
  /** The name as the tool set knows it, or as the model wrote it if there is no such tool; `null` if none came. */
  readonly name: string | null;
  /** The arguments as far as they arrived. */
  readonly argsText: string;
  /** The arguments as far as they could be read: a preview, not validated. */
  readonly input: unknown;
  /** Which message of the model in the stream it is part of, mostly 0: as in a `ToolChunk`. */
  readonly turnIndex: number;
  /** Position among the calls of the stream, from 0. */
  readonly position: number;
  /** Anything else that came with the call and goes back with it (signatures, callers). */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * A call that cannot be, or was not, executed: unknown tool, bad JSON, bad input, truncated, too large, rejected,
 * not released, or failed in its handler. Its `message` is written for the model and holds no stack; a handler's own
 * error message is included unchanged (an executor removes paths and the like from it).
 * The stream hands it out as data; `ToolUse.execute()` throws it when the handler fails (whose error is the `cause`).
 */
export class ToolCallError extends ToolError {
  readonly call: FailedCall;

  constructor(
    code: ToolErrorCode,
    message: string,
    call: FailedCall,
    options: { issues?: readonly Issue[] | undefined; cause?: unknown } = {},
  ) {
    super(code, message, options);
    this.name = "ToolCallError";
    this.call = call;
  }

  /** The provider's id of the call, `null` if it gave none. */
  get id(): string | null {
    return this.call.id;
  }

  /** Our own id of the call. */
  get invocationId(): string {
    return this.call.invocationId;
  }
}
