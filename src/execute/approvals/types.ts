import type { JsonSchema } from "../../schema/types.ts";

/** A user who asks or decides, as known to the application's own authentication. */
export interface Principal {
  /** Unique and stable: this is what is stored. The rest is for the application's `mayDecide` and is not stored. */
  readonly id: string;
  readonly [attribute: string]: unknown;
}

/**
 * - `pending`: nobody has decided
 * - `approved`, `denied`: decided, once
 * - `expired`: nobody decided in time
 * - `void`: what was shown is no longer what would run, or its grant is over, and it is asked again under another id; or
 *   its call is no longer to run
 */
export type ApprovalStatus = "pending" | "approved" | "denied" | "expired" | "void";

/**
 * One request for approval, as it is stored: what was shown to whom, and its outcome.
 *
 * ```
 * pending ─┬─ approved ─┐
 *          ├─ denied    ├─ void      (input, tool or executable changed, or the grant is over: a new request)
 *          └─ expired ──┘
 * ```
 */
export interface ApprovalRequest {
  /** Random, unguessable. */
  readonly id: string;
  readonly runId: string;
  readonly invocationId: string;
  readonly toolName: string;
  /** For the person who decides. */
  readonly message: string;
  /** Made from the input alone, so that redaction of the input applies. */
  readonly isDefaultMessage: boolean;
  /** What was shown: the call's input, as JSON. */
  readonly input: unknown;
  /** Digest of what may run: tool, input (the edited one after an edit) and definition. See `approvalDigest()`. */
  readonly digest: string;
  /** Digest of what was asked for: the same as `digest` until somebody edits. */
  readonly askedDigest: string;
  /** Digest of the tool's definition, and of the executable behind it, if there is one. */
  readonly definitionDigest: string;
  readonly status: ApprovalStatus;
  /** The principal that the call is made for; `null` if there are no principals. */
  readonly requestedBy: string | null;
  /** `null` until decided, without principals, and if it expired or became void undecided. */
  readonly decidedBy: string | null;
  /** Milliseconds since 1970, like all times here. */
  readonly decidedAt: number | null;
  readonly createdAt: number;
  /** `null` means never. */
  readonly expiresAt: number | null;
  /** Replaces all of `input`, validated by the tool's schema. Only present after an edit. */
  readonly editedInput?: unknown;
  readonly reason?: string;
  /** The grant that decided, instead of a person. */
  readonly grantId?: string;
  /** What was granted for calls like this one; takes effect once this call has succeeded. */
  readonly always?: GrantScope;
  /** The request that this one replaced, and that is now void. */
  readonly replaces?: string;
  /** Whose events are numbered together: a tenant, a team. */
  readonly scope: string;
  /** What `mayDecide` needs to know. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Number of the event `approval.requested` in its scope, from 1; 0 until it has one. */
  readonly seq: number;
  /** Number of the event `approval.decided` in its scope; 0 until it has one. */
  readonly decidedSeq: number;
  /** The scope's last number before the request was made or decided: where to start looking for a missing number. */
  readonly eventsAfter: number;
}

/** What to ask. */
export interface ApprovalAsk {
  readonly runId: string;
  readonly invocationId: string;
  readonly toolName: string;
  /** The validated input that would run. Must be JSON. */
  readonly input: unknown;
  /** Digest of the tool's definition (`definitionDigest(tool)`), and of the executable behind it, if there is one. */
  readonly definitionDigest: string;
  /** For the person who decides. */
  readonly message: string;
  /** The message was made from the input, so redaction of the input applies to it. */
  readonly isDefaultMessage?: boolean | undefined;
  /** The principal that the call is made for. Only the id is stored. */
  readonly requestedBy?: Principal | undefined;
  /** Whose events are numbered together. Default: `"default"`. */
  readonly scope?: string | undefined;
  /** What `mayDecide` needs to know (a tenant, a channel). Stored, so no secrets. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** How long it can be decided, in milliseconds. Default: the service's. */
  readonly ttlMs?: number | undefined;
}

/** What a person decides. */
export interface Decision {
  readonly decision: "approve" | "deny";
  /**
   * Runs instead of the input that was shown: a full replacement, validated by the tool's schema. Only with `approve`.
   */
  readonly editedInput?: unknown;
  readonly reason?: string | undefined;
  /**
   * Approve calls like this one from now on, once this one has succeeded; `{}`: with exactly this input, for an hour.
   * Not with an edited input.
   */
  readonly always?: GrantOptions | undefined;
}

/** Which inputs a grant covers. Plain data, so that what is shown is what is stored and applied. */
export type GrantScope = {
  /**
   * `equals`: each of these places holds this value; at least one. `schema`: the input matches (`{}`: any input). If
   * both are given, both must hold.
   */
  readonly where: {
    readonly equals?: readonly GrantPlace[] | undefined;
    readonly schema?: JsonSchema | undefined;
  };
  readonly expiresAt: number;
};

/** One place in the input (`[]` is all of it), and the value that must be there. */
export interface GrantPlace {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** How far an "always" reaches. */
export interface GrantOptions {
  /** Default: exactly this input. */
  readonly where?: GrantScope["where"] | undefined;
  /** In milliseconds. Default: 1 hour. */
  readonly ttlMs?: number | undefined;
}

/** An "always", as it is stored. */
export interface ApprovalGrant extends GrantScope {
  readonly id: string;
  readonly scope: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  /** Whose calls it covers. */
  readonly requestedBy: string | null;
  /** Who gave it. */
  readonly grantedBy: string | null;
  /** The request for approval that it was given with. */
  readonly approvalId: string;
  readonly createdAt: number;
}

/** What happened to a request. `seq` grows with each event within a scope; no number is reused. */
export interface ApprovalEvent {
  readonly type: "approval.requested" | "approval.decided";
  readonly seq: number;
  readonly scope: string;
  /** The current request: if it was decided since, even its `approval.requested` event shows that. */
  readonly request: ApprovalRequest;
}

/** How long to wait. */
export interface AwaitOptions {
  /** After this many milliseconds the request is returned still `pending`. Default: until it is decided or expires. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Which requests to list. */
export interface ListApprovals {
  readonly runId?: string | undefined;
  readonly status?: ApprovalStatus | undefined;
  readonly scope?: string | undefined;
  /** Only what this principal may decide. */
  readonly principal?: Principal | undefined;
}

/** Which events to follow. */
export interface SubscribeOptions {
  /** Default: `"default"`. */
  readonly scope?: string | undefined;
  /** Yields the events after this number. Default: 0, all of them. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Approvals as an executor needs them.
 *
 * ```ts
 * let row = await approvals.request(ask); // finds or makes: the same ask gives the same row
 * if (row.status === "pending") await approvals.await(row.id);
 * row = await approvals.request(askAgain); // right before running: changed since? void, asked again
 * if (row.status === "approved") run(approvedInput(row)), await approvals.succeeded(row.id);
 * ```
 */
export interface Approvals {
  /**
   * Asks, or finds the existing request: the same run, invocation and digest give the same row, even after a crash.
   * Another input or definition for the same invocation makes the old row void, in the same write, and asks again. If a
   * grant covers the call, the row is already approved, as long as it does.
   */
  request(ask: ApprovalAsk): Promise<ApprovalRequest>;
  /**
   * Decides, once: the first decision wins, across processes too.
   *
   * @returns the request as it was decided; if the call has changed since, {@link get} shows that it is void.
   * @throws ApprovalError `already_decided` (with the first decision in `request`), `approval_expired`,
   *   `approval_void`, `approval_not_found` (also if the principal may not see it), `approval_not_allowed`,
   *   `invalid_input` (the edit)
   */
  decide(requestId: string, decision: Decision, principal?: Principal): Promise<ApprovalRequest>;
  /** Waits until it is no longer pending, wherever it is decided. @throws ToolError `aborted`, `approval_not_found` */
  await(requestId: string, options?: AwaitOptions): Promise<ApprovalRequest>;
  /** @throws ApprovalError `invalid_approval` */
  get(requestId: string): Promise<ApprovalRequest | undefined>;
  /** In the order in which they were requested. */
  list(filter?: ListApprovals): Promise<ApprovalRequest[]>;
  /** Events after a number, then as they happen. Ends with the signal. */
  subscribe(options?: SubscribeOptions): AsyncIterable<ApprovalEvent>;
  /** The call ran and succeeded: an "always" given with its approval takes effect. */
  succeeded(requestId: string): Promise<void>;
  /** The call is not to run any more, or no call of the run: what is pending becomes void. */
  withdraw?(runId: string, invocationId?: string): Promise<void>;
  /**
   * Deletes the requests of a finished run, whatever their outcome: otherwise an approved one would let its call run
   * again once nothing else is on record. An "always" stays.
   */
  forget?(runId: string): Promise<void>;
}

/** What runs after an approval: the edited input if there is one, otherwise what was shown. */
export function approvedInput(request: ApprovalRequest): unknown {
  return "editedInput" in request ? request.editedInput : request.input;
}
