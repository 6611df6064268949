import type { ApprovalErrorCode } from "./errors.ts";
import type { ApprovalStatus, Decision, GrantScope } from "./types.ts";

/*
 * What goes over a WebSocket, one JSON object a message (over HTTP: the data of an event, and the bodies).
 *
 *   server                                                client
 *   {"type":"approval.requested","request_id":…,"seq":1}
 *   {"type":"approval.ready","seq":1}
 *                                                         {"type":"approval.decide","request_id":…,"decision":"approve"}
 *   {"type":"approval.outcome","request_id":…,"status":"approved"}
 *   {"type":"approval.decided","request_id":…,"status":"approved","seq":2}
 */

/** A request that this client may decide. */
export interface RequestedMessage {
  readonly type: "approval.requested";
  readonly request_id: string;
  readonly run_id: string;
  readonly tool_name: string;
  readonly message: string;
  readonly options: readonly ["approve", "deny"];
  /** The input as JSON text: bounded, redacted. All of it is in the answer to `approval.get`. */
  readonly summary: string;
  /** As it is now: of an older request perhaps decided. */
  readonly status: ApprovalStatus;
  readonly requested_by: string | null;
  /** Times are milliseconds since 1970. */
  readonly created_at: number;
  readonly expires_at: number | null;
  /** The request that became void when this one took its place. */
  readonly replaces?: string;
  readonly seq: number;
}

/** What came of a request. */
export interface DecidedMessage {
  readonly type: "approval.decided";
  readonly request_id: string;
  readonly run_id: string;
  readonly status: ApprovalStatus;
  readonly decided_by: string | null;
  readonly decided_at: number | null;
  readonly reason?: string;
  /** Whether another input than the one shown was approved. */
  readonly edited: boolean;
  readonly seq: number;
}

/** All that was open is sent; what follows happens from now on. */
export interface ReadyMessage {
  readonly type: "approval.ready";
  /** Resume behind this number. */
  readonly seq: number;
}

/** The answer to whoever decided. */
export interface OutcomeMessage extends Omit<DecidedMessage, "type" | "seq"> {
  readonly type: "approval.outcome";
  /** What "always" will mean once the call has succeeded. */
  readonly always?: GrantScope;
}

/** The answer to `approval.get`: all of what would run. */
export interface DetailsMessage {
  readonly type: "approval.details";
  readonly request_id: string;
  readonly run_id: string;
  readonly tool_name: string;
  readonly message: string;
  /** Not bounded; redacted. */
  readonly input: unknown;
  /** What runs in its place, after an edit. */
  readonly edited_input?: unknown;
  readonly status: ApprovalStatus;
}

/** Why a message had no effect. */
export interface ErrorMessage {
  readonly type: "approval.error";
  readonly code: WireErrorCode;
  readonly message: string;
  readonly request_id?: string;
  /** With `already_decided`, `approval_expired` and `approval_void`: what counts. */
  readonly outcome?: OutcomeMessage;
}

/** What the server sends with a number: the events. */
export type FeedMessage = RequestedMessage | DecidedMessage | ReadyMessage;
export type ServerMessage = FeedMessage | OutcomeMessage | DetailsMessage | ErrorMessage;

/** A decision. */
export interface DecideMessage {
  readonly type: "approval.decide";
  readonly request_id: string;
  readonly decision: Decision["decision"];
  /** A full replacement. */
  readonly edited_input?: unknown;
  readonly reason?: string;
  /** Where the server allows it: `true` for exactly this input. */
  readonly always?: true | { readonly where?: GrantScope["where"]; readonly ttl_ms?: number };
}

/** All of a request: a summary is short. */
export interface GetMessage {
  readonly type: "approval.get";
  readonly request_id: string;
}

/** The events behind a number, once more. */
export interface ResumeMessage {
  readonly type: "approval.resume";
  readonly seq: number;
}

export type ClientMessage = DecideMessage | GetMessage | ResumeMessage;

/** Codes of the wire: those of decisions, and those of messages. */
export type WireErrorCode =
  | Exclude<ApprovalErrorCode, "invalid_approval">
  | "not_json" // the message is no JSON object
  | "unknown_type" // its type is none of ours
  | "invalid_message" // a field is missing, or is not what it has to be
  | "message_too_large"
  | "rate_limited"
  | "unauthenticated" // no principal, or not any more
  | "origin_refused"
  | "not_found" // no such address
  | "internal_error"; // the server's fault; nothing is said about it
