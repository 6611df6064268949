import { ToolError } from "../../errors.ts";
import { mayPass } from "../../store/errors.ts";
import { stopwatch } from "../../time.ts";
import { checkOptionNames, fromZero, oneOf, type OptionNames } from "../../tool/option-names.ts";
import { checkAfter, checkPrincipal, checkRunId } from "../context.ts";
import { lookUntilOver } from "../look-until-over.ts";
import { remember } from "../remember.ts";
import { asJson, checkDecision, decided } from "./decision.ts";
import { notFound, notPending } from "./errors.ts";
import { createApprovalEvents, type ApprovalEvents } from "./events.ts";
import { createApprovalGrants, type ApprovalGrants } from "./grants.ts";
import { MAX_SCOPES } from "./log.ts";
import { checkAsk, checkDuration, settingsOf, type ApprovalServiceOptions, type ApprovalSettings } from "./options.ts";
import { checkMayDecide, mayDecide } from "./rights.ts";
import { createApprovalRows, type ApprovalRows } from "./rows.ts";
import { approvalDigest, checkApproved, STATUSES } from "./trust.ts";
import type {
  ApprovalAsk,
  ApprovalEvent,
  ApprovalGrant,
  ApprovalRequest,
  Approvals,
  AwaitOptions,
  Decision,
  ListApprovals,
  Principal,
  SubscribeOptions,
} from "./types.ts";

const FILTER: OptionNames<ListApprovals> = {
  runId: true,
  status: oneOf(...STATUSES),
  scope: true,
  principal: true,
};
const AWAIT_OPTIONS: OptionNames<AwaitOptions> = { timeoutMs: fromZero, signal: true };
const SUBSCRIBE_OPTIONS: OptionNames<SubscribeOptions> = { scope: true, after: true, signal: true };

/**
 * Approvals over a {@link Store}: the process that asks and the one that decides may differ, and either may die in
 * between.
 *
 * @example
 * const approvals = new ApprovalService({
 *   store,
 *   tools,
 *   mayDecide: (principal, request) => principal.tenant === request.metadata.tenant,
 * });
 * const [request] = await approvals.list({ status: "pending" });
 * await approvals.decide(request!.id, { decision: "approve" }, { id: "ada", tenant: "acme" });
 */
export class ApprovalService implements Approvals {
  readonly #settings: ApprovalSettings;
  readonly #rows: ApprovalRows;
  readonly #events: ApprovalEvents;
  readonly #grants: ApprovalGrants;
  /** The last look of this process at everything that is open, by scope, and when it began. */
  readonly #looks = new Map<string | undefined, { readonly at: number; readonly looking: Promise<unknown> }>();

  constructor(options: ApprovalServiceOptions) {
    this.#settings = settingsOf(options);
    this.#rows = createApprovalRows(this.#settings);
    this.#events = createApprovalEvents(this.#settings, this.#rows);
    this.#grants = createApprovalGrants(this.#settings);
  }

  /** Whether there is a rule about who may decide, which is required if there are principals. */
  get hasMayDecide(): boolean {
    return this.#settings.mayDecide !== undefined;
  }

  async request(ask: ApprovalAsk): Promise<ApprovalRequest> {
    checkAsk(ask);
    const askedDigest = await approvalDigest(ask);
    for (;;) {
      const found = await this.#rows.ofCall(ask);
      if (found?.request.askedDigest === askedDigest) {
        const request = await this.#checked(found.request);
        // It has not begun: an "always" that was revoked, or is over, covers it no more.
        if (request.grantId === undefined || (await this.#grants.find(request)) !== undefined) return request;
      }
      const older = found?.requests ?? [];
      const request = await this.#newRequest(ask, askedDigest, found?.request);
      const voided = await Promise.all(older.map((one) => this.#closed(one, this.#voided(one))));
      if (!(await this.#rows.add(request, voided, found?.version ?? 0))) continue;
      for (const one of voided) if (one.decidedSeq === 0) await this.#announce(one);
      return Object.freeze(await this.#announce(request));
    }
  }

  async decide(requestId: string, decision: Decision, principal?: Principal): Promise<ApprovalRequest> {
    checkDecision(decision);
    checkPrincipal(principal);
    const updated = await this.#rows.update(requestId, async (request) => {
      await checkMayDecide(this.#settings, principal, request);
      if (request.status !== "pending") return undefined;
      if (this.#isOver(request)) return this.#closed(request, this.#decided(request, "expired"));
      const outcome = await decided(request, decision, principal, this.#settings.now(), this.#settings.validate);
      return this.#closed(request, outcome);
    });
    if (updated === undefined) throw notFound();
    // With the numbers of its events, and as it was decided, whatever has become of it since.
    const { seq, decidedSeq } = await this.#announce(updated.request);
    const request = Object.freeze({ ...updated.request, seq, decidedSeq });
    if (!updated.isChanged || request.status === "expired") throw notPending(request);
    return request;
  }

  async await(requestId: string, options: AwaitOptions = {}): Promise<ApprovalRequest> {
    checkOptionNames("await()", options, AWAIT_OPTIONS);
    const { timeoutMs = Infinity, signal } = options;
    const { store, now, pollMs, onError } = this.#settings;
    const first = await this.#rows.find(requestId);
    if (first === undefined) throw notFound();
    // Not by the clock, which may be set back meanwhile.
    const elapsedMs = stopwatch();
    const leftMs = () => timeoutMs - elapsedMs();
    let failures = 0;
    let { request } = first;
    const look = async () => {
      if (signal?.aborted === true) throw aborted(signal);
      let expiresAt = Infinity;
      try {
        const found = await this.get(requestId);
        if (found === undefined) throw notFound();
        request = found;
        if (request.status !== "pending" || leftMs() <= 0) return undefined;
        expiresAt = request.expiresAt ?? Infinity;
        failures = 0;
      } catch (error) {
        if (!mayPass(error, ++failures) || leftMs() <= 0) throw error;
        onError(error);
      }
      return Math.min(leftMs(), expiresAt - now(), pollMs);
    };
    await lookUntilOver((wake) => store.subscribe(this.#rows.keyOf(request), wake), look, signal);
    return request;
  }

  async get(requestId: string): Promise<ApprovalRequest | undefined> {
    const found = await this.#rows.find(requestId);
    return found && this.#checked(found.request);
  }

  async list(filter: ListApprovals = {}): Promise<ApprovalRequest[]> {
    checkOptionNames("list()", filter, FILTER);
    const { runId, status, scope, principal } = filter;
    checkPrincipal(principal);
    const isOpen = status === "pending" && runId === undefined;
    const requests: ApprovalRequest[] = [];
    for (const stored of isOpen ? await this.#open(scope) : await this.#rows.all(runId)) {
      if (scope !== undefined && stored.scope !== scope) continue;
      const request = await this.#settle(stored);
      if (status !== undefined && request.status !== status) continue;
      if (principal !== undefined && !(await this.mayDecide(principal, request))) continue;
      requests.push(Object.freeze(request));
    }
    // Clocks of processes differ, the numbers of a scope do not.
    const isOneScope = requests.every((request) => request.scope === requests[0]!.scope);
    return requests.toSorted((a, b) => (isOneScope ? a.seq - b.seq : a.createdAt - b.createdAt));
  }

  async *subscribe(options: SubscribeOptions = {}): AsyncGenerator<ApprovalEvent, void, undefined> {
    checkOptionNames("subscribe()", options, SUBSCRIBE_OPTIONS);
    const { scope = "default", after = 0 } = options;
    checkAfter(after);
    // Number what a process could not number before it died. That looks at everything that is open: once for many who
    // subscribe at about the same time, such as after a deployment.
    const last = this.#looks.get(scope);
    await (last !== undefined && performance.now() - last.at < this.#settings.pollMs
      ? last.looking
      : this.#open(scope));
    yield* this.#events.subscribe(options);
  }

  /** The number of the last event of a scope, 0 before the first. */
  position(scope = "default"): Promise<number> {
    return this.#events.position(scope);
  }

  async succeeded(requestId: string): Promise<void> {
    const { request } = (await this.#rows.find(requestId)) ?? {};
    if (request?.always === undefined) return;
    await this.#grants.learn(request);
    // Nobody needs to decide about calls that were asked about before, and that it covers.
    for (const open of await this.#open(request.scope)) {
      if (open.toolName === request.toolName) await this.#close(open, (now) => this.#granted(now));
    }
  }

  async withdraw(runId: string, invocationId?: string): Promise<void> {
    checkRunId("withdraw()", runId);
    const requests =
      invocationId === undefined
        ? await this.#rows.all(runId)
        : ((await this.#rows.ofCall({ runId, invocationId }))?.requests ?? []);
    for (const request of requests) {
      if (request.status === "pending") await this.#close(request, (now) => this.#voided(now));
    }
  }

  async forget(runId: string): Promise<void> {
    checkRunId("forget()", runId);
    // Events first: the requests say which they are.
    for (const request of await this.#rows.all(runId)) await this.#events.forget(request);
    await this.#rows.forget(runId);
  }

  /** Every "always" in force, oldest first. */
  grants(scope?: string): Promise<ApprovalGrant[]> {
    return this.#grants.list(scope);
  }

  /** Revokes an "always". False if there was none. */
  revoke(grant: ApprovalGrant): Promise<boolean> {
    return this.#grants.revoke(grant);
  }

  /** Whether this principal may decide, and so see, the request. For one's own requests, see `allowSelfApproval`. */
  mayDecide(principal: Principal, request: ApprovalRequest): Promise<boolean> {
    return mayDecide(this.#settings, principal, request);
  }

  async #newRequest(
    ask: ApprovalAsk,
    askedDigest: string,
    before: ApprovalRequest | undefined,
  ): Promise<ApprovalRequest> {
    const { runId, invocationId, toolName, message, definitionDigest, requestedBy, scope = "default" } = ask;
    const { isDefaultMessage = false, metadata = {}, ttlMs = this.#settings.ttlMs } = ask;
    const createdAt = this.#settings.now();
    const request: ApprovalRequest = {
      id: newId(),
      runId,
      invocationId,
      toolName,
      message,
      isDefaultMessage,
      input: asJson(ask.input),
      digest: askedDigest,
      askedDigest,
      definitionDigest,
      status: "pending",
      requestedBy: requestedBy?.id ?? null,
      decidedBy: null,
      decidedAt: null,
      createdAt,
      expiresAt: ttlMs === Infinity ? null : createdAt + checkDuration("ttlMs", ttlMs),
      scope,
      metadata: structuredClone(metadata),
      seq: 0,
      decidedSeq: 0,
      eventsAfter: await this.#events.position(scope),
      ...(before !== undefined && { replaces: before.id }),
    };
    return this.#granted(request);
  }

  /** Approved, if a grant covers it. */
  async #granted(request: ApprovalRequest): Promise<ApprovalRequest> {
    const grant = await this.#grants.find(request);
    if (grant === undefined) return request;
    return { ...this.#decided(request, "approved"), decidedBy: grant.grantedBy, grantId: grant.id };
  }

  /** The open requests, including those left open by a process that died. */
  async #open(scope: string | undefined): Promise<ApprovalRequest[]> {
    const requests: ApprovalRequest[] = [];
    const look = { at: performance.now(), looking: this.#look(scope, requests) };
    remember(this.#looks, scope, look, MAX_SCOPES);
    let isThrough = false;
    try {
      isThrough = await look.looking;
    } finally {
      if (!isThrough && this.#looks.get(scope) === look) this.#looks.delete(scope);
    }
    return requests;
  }

  /** @returns whether everything that was found has its numbers */
  async #look(scope: string | undefined, requests: ApprovalRequest[]): Promise<boolean> {
    let isThrough = true;
    for (const stored of await this.#rows.open(scope)) {
      const request = await this.#settle(stored);
      if (request.status === "pending") requests.push(request);
      else if (stored.decidedSeq !== 0) await this.#rows.close(request);
      isThrough &&= request.seq !== 0 && (request.status === "pending" || request.decidedSeq !== 0);
    }
    return isThrough;
  }

  /** As it is now. @throws ApprovalError `invalid_approval` */
  async #checked(stored: ApprovalRequest): Promise<ApprovalRequest> {
    const request = await this.#settle(stored);
    if (request.status === "approved") await checkApproved(request);
    return Object.freeze(request);
  }

  /** The request brought up to date: expired if its time is over, and with its event numbers. */
  async #settle(request: ApprovalRequest): Promise<ApprovalRequest> {
    if (request.status !== "pending" || !this.#isOver(request)) return this.#announce(request);
    return this.#close(request, (now) => this.#decided(now, "expired"));
  }

  /** Gives a request its outcome if it is still pending: none, if it is to stay so. */
  async #close(
    request: ApprovalRequest,
    outcomeOf: (now: ApprovalRequest) => ApprovalRequest | Promise<ApprovalRequest>,
  ): Promise<ApprovalRequest> {
    const updated = await this.#rows.update(request.id, async (now) => {
      const outcome = now.status === "pending" ? await outcomeOf(now) : now;
      return outcome === now ? undefined : this.#closed(now, outcome);
    });
    return this.#announce(updated?.request ?? request);
  }

  /** Outcomes are already in their rows: a number that cannot be assigned now is assigned later. */
  async #announce(request: ApprovalRequest): Promise<ApprovalRequest> {
    try {
      const now = await this.#events.announce(request);
      if (request.decidedSeq === 0 && now.decidedSeq !== 0) await this.#rows.close(now);
      return now;
    } catch (error) {
      this.#settings.onError(error);
      return request;
    }
  }

  #isOver({ expiresAt }: ApprovalRequest): boolean {
    return expiresAt !== null && expiresAt <= this.#settings.now();
  }

  #decided(request: ApprovalRequest, status: ApprovalRequest["status"]): ApprovalRequest {
    return { ...request, status, decidedAt: request.decidedAt ?? this.#settings.now() };
  }

  /** Denied and expired requests stay so; those that could still lead to an execution become void. */
  #voided(request: ApprovalRequest): ApprovalRequest {
    const { status } = request;
    return status === "pending" || status === "approved" ? this.#decided(request, "void") : request;
  }

  /**
   * Closes a pending request: its next event will come after the current last one. If an earlier event has no number
   * yet, the position stays, since that event may already be in the log.
   */
  async #closed(request: ApprovalRequest, outcome: ApprovalRequest): Promise<ApprovalRequest> {
    if (request.status !== "pending" || request.seq === 0) return outcome;
    return { ...outcome, eventsAfter: await this.#events.position(request.scope) };
  }
}

function aborted(signal: AbortSignal): ToolError {
  return new ToolError("aborted", "Nobody waits for the approval any more; it can still be decided.", {
    cause: signal.reason,
  });
}

/** 192 random bits. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return `apr_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
