import type { JsonSchema } from "../../schema/types.ts";

/** Somebody who asks or decides, as the application's own authentication knows them. */
export interface Principal {
  /** Unique and stable: it is what the rows keep. The rest is for the application's `mayDecide` and is stored nowhere. */
  readonly id: string;
  readonly [attribute: string]: unknown;
}

/**
 * - `pending`: nobody has decided
 * - `approved`, `denied`: decided, once
 * - `expired`: nobody decided in time
 * - `void`: what was shown is not what would run any more; asked again under another id
 */
export type ApprovalStatus = "pending" | "approved" | "denied" | "expired" | "void";

/**
 * One request for approval, as it is stored: what was shown to whom, and what came of it.
 *
 * ```
 * pending ─┬─ approved ─┐
 *          ├─ denied    ├─ void      (input, tool or executable changed: a new request)
 *          └─ expired ──┘
 * ```
 */
export interface ApprovalRequest {
  /** Random, not to be guessed. */
  readonly id: string;
  readonly runId: string;
  readonly invocationId: string;
  readonly toolName: string;
  /** For the person who decides. */
  readonly message: string;
  /** It was made of the input alone: who may not see all of that may not see it as it is. Older versions did not say. */
  readonly isDefaultMessage?: boolean;
  /** What was shown: the call's input, as JSON. */
  readonly input: unknown;
  /** Of what may run: tool, input (the edited one after an edit) and definition. See `approvalDigest()`. */
  readonly digest: string;
  /** Of what was asked for: the same as `digest` until somebody edits. */
  readonly askedDigest: string;
  /** Of the tool's definition, and of the executable behind it where there is one. */
  readonly definitionDigest: string;
  readonly status: ApprovalStatus;
  /** The principal on whose behalf the call is made; `null` where there are no principals. */
  readonly requestedBy: string | null;
  /** `null` until decided, where there are no principals, and for what expired or became void undecided. */
  readonly decidedBy: string | null;
  /** Milliseconds since 1970, like all times here. */
  readonly decidedAt: number | null;
  readonly createdAt: number;
  /** `null`: never. */
  readonly expiresAt: number | null;
  /** The whole input in the place of `input`, checked by the tool's schema. Only there after an edit. */
  readonly editedInput?: unknown;
  readonly reason?: string;
  /** The grant that decided, in the place of a person. */
  readonly grantId?: string;
  /** What the decider wants for calls like this one; counts once this call has succeeded. */
  readonly always?: GrantScope;
  /** The request that became void when this one was asked in its place. */
  readonly replaces?: string;
  /** Whose events are numbered together: a tenant, a team. */
  readonly scope: string;
  /** What `mayDecide` needs to know. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Number of the event `approval.requested` in its scope, from 1; 0 until it has one. */
  readonly seq: number;
  /** Number of the event `approval.decided` in its scope; 0 until it has one. */
  readonly decidedSeq: number;
  /** The last number of the scope before the request was made, or decided: where to look for a number that is not noted. */
  readonly eventsAfter: number;
}

/** What is asked. */
export interface ApprovalAsk {
  readonly runId: string;
  readonly invocationId: string;
  readonly toolName: string;
  /** The validated input that would run. Has to be JSON. */
  readonly input: unknown;
  /** Of the tool's definition (`definitionDigest(tool)`), and of the executable behind it where there is one. */
  readonly definitionDigest: string;
  /** For the person who decides. */
  readonly message: string;
  /** Nobody wrote it: it was made of the input, and what is hidden of that is to be hidden here. */
  readonly isDefaultMessage?: boolean | undefined;
  /** On whose behalf the call is made. Only the id is stored. */
  readonly requestedBy?: Principal | undefined;
  /** Whose events are numbered together. Default: `"default"`. */
  readonly scope?: string | undefined;
  /** What `mayDecide` needs to know (a tenant, a channel). Is stored: no secrets. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** How long it may be decided, in milliseconds. Default: the service's. */
  readonly ttlMs?: number | undefined;
}

/** What a person decides. */
export interface Decision {
  readonly decision: "approve" | "deny";
  /** Runs instead of the input that was shown: a full replacement, checked by the tool's schema. Only with `approve`. */
  readonly editedInput?: unknown;
  readonly reason?: string | undefined;
  /** Approve calls like this one from now on, once this one has succeeded. Not with an edited input. */
  readonly always?: GrantOptions | undefined;
}

/** For which inputs a grant holds. Data, so that what is shown is what is stored and what is applied. */
export type GrantScope = {
  /** `equals`: each of these places holds this value. `schema`: the input fits. Where there are both, both. */
  readonly where: {
    readonly equals?: readonly GrantPlace[] | undefined;
    readonly schema?: JsonSchema | undefined;
  };
  readonly expiresAt: number;
};

/** One place in the input, `[]` being all of it, and the value that has to be there. */
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
  /** The request that it was given with. */
  readonly requestId: string;
  readonly createdAt: number;
}

/** What happened to a request. `seq` grows by event within a scope; each number is given once. */
export interface ApprovalEvent {
  readonly type: "approval.requested" | "approval.decided";
  readonly seq: number;
  readonly scope: string;
  /** As it is now: of a request that was decided since, also its `approval.requested` says so. */
  readonly request: ApprovalRequest;
}

/** How long to wait. */
export interface AwaitOptions {
  /** After so many milliseconds the request is given back still `pending`. Default: until it is decided or expires. */
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
  /** The last number that is known: the events behind it come. Default: 0, all of them. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Approvals as an executor needs them.
 *
 * ```ts
 * let row = await approvals.request(ask);                       // finds or makes; the same ask gives the same row
 * if (row.status === "pending") await approvals.await(row.id);
 * row = await approvals.request(askAgain);                      // right before running: changed since? void, asked again
 * if (row.status === "approved") run(approvedInput(row)), await approvals.succeeded(row.id);
 * ```
 */
export interface Approvals {
  /**
   * Asks, or finds what was asked: the same run, invocation and digest give the same row, after a crash too. Another
   * input or definition for the same invocation makes the old row void, in the same write, and asks again. A grant that
   * covers the call gives a row that is approved already.
   */
  request(ask: ApprovalAsk): Promise<ApprovalRequest>;
  /**
   * Decides, once: the first decision wins, between processes too.
   *
   * @returns the request as it was decided; where the call has changed since, {@link get} tells that it is void.
   * @throws ApprovalError `already_decided` (with the first decision in `request`), `approval_expired`, `approval_void`,
   *   `approval_not_found` (also for whom may not know of it), `approval_not_allowed`, `invalid_input` (the edited input)
   */
  decide(requestId: string, decision: Decision, principal?: Principal): Promise<ApprovalRequest>;
  /** Waits until it is not pending any more, wherever that happens. @throws ToolError `aborted`, `approval_not_found` */
  await(requestId: string, options?: AwaitOptions): Promise<ApprovalRequest>;
  get(requestId: string): Promise<ApprovalRequest | undefined>;
  /** In the order in which they were asked. */
  list(filter?: ListApprovals): Promise<ApprovalRequest[]>;
  /** Events from a number on, then as they happen. Ends with the signal. */
  subscribe(options?: SubscribeOptions): AsyncIterable<ApprovalEvent>;
  /** The call ran and succeeded: an "always" that was given with its approval counts from now on. */
  succeeded(requestId: string): Promise<void>;
  /**
   * Deletes the requests of a run that is over, whatever came of them: else one that was approved would let its call run
   * again when nothing else is on record of it. An "always" stays.
   */
  forget?(runId: string): Promise<void>;
}

/** What runs after an approval: the edited input where there is one, else what was shown. */
export function approvedInput(request: ApprovalRequest): unknown {
  return "editedInput" in request ? request.editedInput : request.input;
}
