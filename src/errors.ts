/** What went wrong, as a closed set. The message is for a person, the code is for a program. */
export const TOOL_ERROR_CODES = [
  // one call that can not be executed: data for the model
  "unknown_tool", // no tool of that name was offered
  "invalid_json", // the arguments are no JSON and could not be repaired
  "invalid_input", // the arguments do not fit the tool's input schema
  "truncated", // the model did not finish the call
  "too_large", // a limit of size, depth or number was passed
  "rejected", // the provider refused the call that its own model wrote
  "turn_not_finished", // the call is complete, the turn is not: a write is not released
  // execution
  "execution_failed", // the handler threw
  "external_tool", // the tool is executed by the caller, not by this process
  "timeout", // it took longer than it may
  "async_tool", // executeSync() of a tool that answers with a promise
  "already_executed", // a ToolUse is executed once
  // an executor's outcomes
  "denied", // a rule, a policy or a person said no: nothing was executed
  "outcome_unknown", // it was started, and nobody knows what came of it
  "not_serializable", // the output, or what has to be digested, is nothing that JSON can say
  "invalid_output", // the output does not fit the tool's output schema
  "output_too_large", // the output passed the limit
  // undoing
  "not_undoable", // the action has nothing to undo it with, or has no effect that could be undone
  "already_undone", // an action is undone once
  "undo_expired", // the time in which it could be undone is over
  "undo_not_allowed", // this principal may not undo the action
  "undo_conflict", // what would be undone was changed by somebody else since
  "undo_failed", // the tool's undo function threw
  // definitions
  "invalid_tool", // a definition that can not be used
  "duplicate_tool", // two tools of one name in one set
  "schema_loss", // the provider's schema dialect can not say what the schema says
  // calls in text
  "invalid_call", // the call is written in a way that can not be read
  "unresolved", // the call waits for the result of another one, or can not have it
  // the stream as a whole
  "invalid_event", // an event that is not JSON
  "event_too_large", // one event passed the limit
  "provider_error", // the provider reported a failure
  "connection_lost", // the stream ended before the provider ended the turn
  "aborted", // the caller's signal fired
  // tools from outside: programs and servers
  "executable_refused", // the file may not or can not be run: not there, writable by others, no program
  "executable_changed", // the file is not the one that was loaded, or that the manifest knows
  "spawn_failed", // the system could not start the program
  "definition_changed", // the server offers another tool under the name than it did
  "tool_failed", // the program or the server says that the call failed
  "invalid_answer", // what the program printed, or the server sent, is no answer
  "input_required", // the server asks for something before it answers
  "server_failed", // the server refused the request, or could not be asked
  // recordings
  "unknown_wire", // no adapter recognises the content
  "invalid_recording", // the file can not be read as a recording
  // stores
  "store_failed", // the store did not answer: whether it did what was asked is unknown
  "version_conflict", // another version is stored than the expected one: nothing was written
  // approvals
  "approval_not_found", // no such request, or none that this principal may know of
  "approval_not_allowed", // this principal may know of the request, and may not decide it
  "already_decided", // the first decision counts; the error carries it
  "approval_expired", // nobody decided in time
  "approval_void", // what was shown is not what would run any more
  "invalid_approval", // a stored request that can not be what this library has written
  // runs
  "unknown_run", // there is no such conversation
  "run_open", // the conversation has calls without a result
  "run_busy", // another process, or another call, works on the run
  "not_waiting", // the run is completed: there is nothing to resume
  "lease_lost", // another process has taken the run over
  "unknown_call", // no call of that id waits for a result
  "already_answered", // the call has its result; the first one counts
  "invalid_result", // the result is none, or does not fit the tool
  "max_steps", // the run has had as many turns as it may
  "budget_exceeded", // calls, tokens or time are used up
  "wrong_wire", // the conversation is in another provider's form
  "invalid_checkpoint", // what is stored of a run is damaged
  "checkpoint_newer", // what is stored of a run was written by a newer version
] as const;

export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** One thing that is wrong with a value, at a path inside it. */
export interface Issue {
  readonly message: string;
  /** Property names and array indexes from the root; empty for the root itself. */
  readonly path: readonly (string | number)[];
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
  /** What is wrong in detail, where there is more than one thing to say. */
  readonly issues: readonly Issue[];
  readonly [marker] = true;

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
}

/** True for a {@link ToolError} of any copy of this library in the process. */
export function isToolError(value: unknown): value is ToolError {
  try {
    return typeof value === "object" && value !== null && (value as { [marker]?: unknown })[marker] === true;
  } catch {
    // A proxy may throw whatever it is asked, and anything may be thrown.
    return false;
  }
}

/** What an error says, of whatever realm it is; of anything else that was thrown, its text. */
export function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  return typeof message === "string" ? message : String(error);
}

/** Which call an error is about. */
export interface FailedCall {
  /** Our own id of the call: unique in its run. */
  readonly invocationId: string;
  /** The provider's id, byte for byte; `null` where the wire gave none. */
  readonly id: string | null;
  /** The name as the tool set knows it, or as the model wrote it where no tool has it; `null` where none came. */
  readonly name: string | null;
  /** The arguments as far as they came. */
  readonly argsText: string;
  /** The arguments as far as they could be read: a preview, not validated. */
  readonly input: unknown;
  readonly turnIndex: number;
  /** Position among the calls of the stream, from 0. */
  readonly position: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * A call that can not be, or was not, executed: unknown tool, bad JSON, bad input, truncated, too large, rejected,
 * not released, or failed in its handler. Its `message` is written for the model and holds no stack; that of a handler's
 * error is in it as it is (an executor takes paths and the like out of it).
 * The stream hands it out as data; `ToolUse.execute()` throws it when the handler fails (with the handler's error as `cause`).
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

  /** The provider's id of the call, `null` where it gave none. */
  get id(): string | null {
    return this.call.id;
  }

  /** Our own id of the call. */
  get invocationId(): string {
    return this.call.invocationId;
  }
}
