import type { Redact } from "../summary.ts";
import { decidedMessage, requestedMessage } from "./messages.ts";
import type { FeedMessage } from "./protocol.ts";
import type { ApprovalService } from "./service.ts";
import type { Principal } from "./types.ts";

/** Whose events to send, and from where. */
export interface FeedOptions {
  readonly service: ApprovalService;
  /** The listener: only requests that this principal may decide are sent. */
  readonly principal: Principal;
  /** Default: `"default"`. */
  readonly scope?: string | undefined;
  /** Only requests of this run. */
  readonly runId?: string | undefined;
  /** The last number that the client has. Default: sends what is pending now, then what happens. */
  readonly after?: number | undefined;
  /** Hides parts of inputs; the path begins with `"input"`. */
  readonly redact?: Redact | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The messages for a client, in numerical order: none twice, and none missing that it may see. */
export async function* approvalFeed(options: FeedOptions): AsyncGenerator<FeedMessage, void, undefined> {
  const { service, principal, scope = "default", runId, redact, signal } = options;
  const position = await service.position(scope);
  let { after } = options;
  // A number that was never assigned is from another store: there is nothing to resume.
  if (after === undefined || after > position) {
    const pending = await service.list({ scope, runId, status: "pending", principal });
    // Requests made since the position was read follow as events.
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
