import type { ApprovalErrorCode } from "./errors.ts";
import type { ApprovalStatus, Decision, GrantScope } from "./types.ts";

/*
 * What goes over a WebSocket, one JSON object per message (over HTTP: the data of events, and the bodies).
 *
 *   server: {"type":"approval.requested","request_id":…,"seq":1}
 *   server: {"type":"approval.ready","seq":1}
 *   client: {"type":"approval.decide","request_id":…,"decision":"approve"}
 *   server: {"type":"approval.outcome","request_id":…,"status":"approved"}
 *   server: {"type":"approval.decided","request_id":…,"status":"approved","seq":2}
 */

/** A request that this client may decide. */
export interface RequestedMessage {
  readonly type: "approval.requested";
  readonly request_id: string;
  readonly run_id: string;
  readonly tool_name: string;
  readonly message: string;
  readonly options: readonly ["approve", "deny"];
  /** The input as bounded, redacted JSON text. The answer to `approval.get` has all of it. */
  readonly summary: string;
  /** The current status: an older request may have been decided. */
  readonly status: ApprovalStatus;
  readonly requested_by: string | null;
  /** Times are milliseconds since 1970. */
  readonly created_at: number;
  readonly expires_at: number | null;
  /** The request that this one replaced, and that is now void. */
  readonly replaces?: string;
  readonly seq: number;
}

/** The outcome of a request. */
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

/** All pending requests have been sent; what follows are new events. */
export interface ReadyMessage {
  readonly type: "approval.ready";
  /** The number to resume after. */
  readonly seq: number;
}

/** The answer to a decision. */
export interface OutcomeMessage extends Omit<DecidedMessage, "type" | "seq"> {
  readonly type: "approval.outcome";
  /** What "always" will mean once the call has succeeded. */
  readonly always?: GrantScope;
}

/** The answer to `approval.get`: everything that would run. */
export interface DetailsMessage {
  readonly type: "approval.details";
  readonly request_id: string;
  readonly run_id: string;
  readonly tool_name: string;
  readonly message: string;
  /** Not bounded; redacted. */
  readonly input: unknown;
  /** What runs instead, after an edit. */
  readonly edited_input?: unknown;
  readonly status: ApprovalStatus;
}

/** Why a message had no effect. */
export interface ErrorMessage {
  readonly type: "approval.error";
  readonly code: WireErrorCode;
  readonly message: string;
  readonly request_id?: string;
  /** With `already_decided`, `approval_expired` and `approval_void`: the outcome that counts. */
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
  /** If the server allows it; `true` for exactly this input. */
  readonly always?: true | { readonly where?: GrantScope["where"]; readonly ttl_ms?: number };
}

/** Asks for a request in full, since a summary is short. */
export interface GetMessage {
  readonly type: "approval.get";
  readonly request_id: string;
}

/** Asks for the events after a number again. */
export interface ResumeMessage {
  readonly type: "approval.resume";
  readonly seq: number;
}

export type ClientMessage = DecideMessage | GetMessage | ResumeMessage;

/** Codes of the wire: those of decisions, and those of messages. */
export type WireErrorCode =
  | Exclude<ApprovalErrorCode, "invalid_approval">
  | "not_json" // the message is not a JSON object
  | "unknown_type" // the message has an unknown type
  | "invalid_message" // a field is missing or malformed
  | "message_too_large"
  | "rate_limited"
  | "unauthenticated" // no principal, or not any more
  | "origin_refused"
  | "not_found" // no such address
  | "internal_error"; // the server's fault; details are not disclosed
