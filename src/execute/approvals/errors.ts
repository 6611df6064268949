import { ToolError, type Issue, type ToolErrorCode } from "../../errors.ts";
import { quietly } from "../../quietly.ts";
import type { ApprovalRequest } from "./types.ts";

/** Why a decision does not count. */
export type ApprovalErrorCode = Extract<
  ToolErrorCode,
  | "approval_not_found"
  | "approval_not_allowed"
  | "already_decided"
  | "approval_expired"
  | "approval_void"
  | "invalid_approval"
  | "invalid_input"
>;

/**
 * A decision that does not count.
 *
 * @example
 * if (error instanceof ApprovalError && error.code === "already_decided") show(error.request!.decidedBy);
 */
export class ApprovalError extends ToolError {
  /** The request as it stands, if the caller may see it: with `already_decided`, the first decision. */
  readonly request: ApprovalRequest | undefined;

  constructor(
    code: ApprovalErrorCode,
    message: string,
    options: { request?: ApprovalRequest | undefined; issues?: readonly Issue[] | undefined; cause?: unknown } = {},
  ) {
    super(code, message, options);
    this.name = "ApprovalError";
    this.request = options.request;
  }
}

/** For unknown ids and for requests that the principal may not see: the answer must not tell them apart. */
export function notFound(): ApprovalError {
  return new ApprovalError("approval_not_found", "There is no such approval request. Take the id from the request.");
}

/** Why a request that is no longer pending cannot be decided. */
export function notPending(request: ApprovalRequest): ApprovalError {
  const { status, decidedBy } = request;
  if (status === "expired") {
    return new ApprovalError("approval_expired", "The approval request has expired; nothing was executed.", {
      request,
    });
  }
  if (status === "void") {
    const message =
      "The approval request is void: its call has changed, and is asked about again, or is not to run any more.";
    return new ApprovalError("approval_void", message, { request });
  }
  const by = decidedBy === null ? "" : ` by ${JSON.stringify(decidedBy)}`;
  return new ApprovalError("already_decided", `The approval request was ${status}${by} already; that counts.`, {
    request,
  });
}

/** Wraps an error listener so that its own failures, at once or later, change no outcome. */
export function quiet(listener: ((error: unknown) => unknown) | undefined): (error: unknown) => void {
  return (error) => void quietly(() => listener?.(error));
}
