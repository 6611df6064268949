import type { Redact } from "../summary.ts";
import { decidedMessage, requestedMessage } from "./messages.ts";
import type { FeedMessage } from "./protocol.ts";
import type { ApprovalService } from "./service.ts";
import type { Principal } from "./types.ts";

/** Whose events, and from where on. */
export interface FeedOptions {
  readonly service: ApprovalService;
  /** Who listens: only what this principal may decide is told. */
  readonly principal: Principal;
  /** Default: `"default"`. */
  readonly scope?: string | undefined;
  /** Only requests of this run. */
  readonly runId?: string | undefined;
  /** The last number that the client has. Left out: what is pending now, then what happens. */
  readonly after?: number | undefined;
  /** Hides parts of inputs; the path begins with `"input"`. */
  readonly redact?: Redact | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a client is told, in the order of the numbers: nothing twice, and nothing left out that it may know of. */
export async function* approvalFeed(options: FeedOptions): AsyncGenerator<FeedMessage, void, undefined> {
  const { service, principal, scope = "default", runId, redact, signal } = options;
  const position = await service.position(scope);
  let { after } = options;
  // A number that was never given is one of another store: there is nothing to resume.
  if (after === undefined || after > position) {
    const pending = await service.list({ scope, runId, status: "pending", principal });
    // What came since the position was read follows as an event.
    for (const request of pending) if (request.seq <= position) yield requestedMessage(request, redact);
    after = position;
  }
  yield { type: "approval.ready", seq: after };
  for await (const { type, request } of service.subscribe({ scope, after, signal })) {
    if (runId !== undefined && request.runId !== runId) continue;
    if (!(await service.mayDecide(principal, request))) continue;
    yield type === "approval.requested" ? requestedMessage(request, redact) : decidedMessage(request);
  }
}
