import { checkMs } from "../../time.ts";
import { quiet } from "./errors.ts";
import { approvalFeed } from "./feed.ts";
import {
  authenticated,
  checkGuard,
  checkRate,
  createRateLimit,
  DEFAULT_RATE,
  feedQuery,
  isOriginAllowed,
  isOver,
  MAX_MESSAGE_BYTES,
  numberIn,
  type AuthenticatedClient,
  type GuardOptions,
  type RateLimit,
} from "./guard.ts";
import { answerTo, parseMessage, requestedMessage, wireError } from "./messages.ts";
import type { DecideMessage, GetMessage, ServerMessage, WireErrorCode } from "./protocol.ts";
import { eventStream } from "./sse.ts";

export interface ApprovalHandlerOptions extends GuardOptions {
  /** Path prefix. Default: `"/approvals"`. */
  readonly path?: string | undefined;
  /** Limit on decisions, per principal. Default: 10 per second, bursts of 50. */
  readonly rateLimit?: RateLimit | undefined;
  /** How often a comment line keeps a silent event stream open, in milliseconds. Default: 15 s. */
  readonly keepAliveMs?: number | undefined;
}

/**
 * Approvals over HTTP, for any server built on `Request` and `Response`.
 *
 * ```
 * GET  /approvals                the pending requests: { requests: [{ type: "approval.requested", … }] }
 * GET  /approvals/<request_id>   one of them in full: { type: "approval.details", input, … }
 * GET  /approvals/events         the same and what happens, as server-sent events; resumes by Last-Event-ID or ?after=
 * POST /approvals/decide         { type: "approval.decide", request_id, decision }, as JSON
 * ```
 *
 * Failures are `{ type: "approval.error", code, message }` with status 400, 401, 403, 404 (also for requests that this
 * principal may not see), 409 (already decided; with the outcome), 410 (expired or void), 413, 415, 422, 429, 500.
 *
 * @example
 * const handle = approvalHandler({ service, authenticate, origins: ["https://app.example"] });
 * export default { fetch: handle };
 */
export function approvalHandler(options: ApprovalHandlerOptions): (request: Request) => Promise<Response> {
  checkGuard("approvalHandler", options, { path: true, rateLimit: checkRate, keepAliveMs: checkMs });
  const { service, path = "/approvals", redact, rateLimit = DEFAULT_RATE, allowAlways } = options;
  const { maxMessageBytes = MAX_MESSAGE_BYTES, keepAliveMs = 15_000 } = options;
  const onError = quiet(options.onError);
  if (!/^\/.*[^/]$/.test(path)) {
    throw new TypeError(`path begins with a slash and ends with none: "/approvals"; got ${JSON.stringify(path)}`);
  }
  const limits = new Map<string, ReturnType<typeof createRateLimit>>();

  async function answer(request: Request, url: URL): Promise<Response> {
    const { method } = request;
    if (!mayAsk(options, request)) return json(originRefused(request.headers.get("origin")));
    if (method === "OPTIONS") return new Response(null, { status: 204 });
    const who = await authenticated(options, { url, headers: request.headers });
    if (who === undefined) return json(wireError("unauthenticated", "Who is asking? Sign in."));
    const address = `${method} ${url.pathname}`;
    if (address === `GET ${path}`) return list(who, url);
    if (address === `GET ${path}/events`) return events(who, url, request);
    if (address === `POST ${path}/decide`) return decide(who, request);
    if (address.startsWith(`GET ${path}/apr_`)) {
      return answered(who, { type: "approval.get", request_id: url.pathname.slice(path.length + 1) });
    }
    return json(
      wireError(
        "not_found",
        `There are GET ${path}, GET ${path}/<request_id>, GET ${path}/events and POST ${path}/decide.`,
      ),
    );
  }

  async function list({ principal, scope = "default" }: AuthenticatedClient, url: URL): Promise<Response> {
    const { runId } = feedQuery(url);
    const requests = await service.list({ scope, runId, principal, status: "pending" });
    return json({ requests: requests.map((request) => requestedMessage(request, redact)) });
  }

  function events(who: AuthenticatedClient, url: URL, request: Request): Response {
    const { principal, scope } = who;
    const query = feedQuery(url);
    // A browser that reconnects by itself sends the last id it received, to the original URL.
    const after = numberIn(request.headers.get("last-event-id")) ?? query.after;
    const stop = new AbortController();
    const { signal } = stop;
    const feed = approvalFeed({ service, principal, scope, runId: query.runId, after, redact, signal });
    // A client that left during authentication does not fire the event again.
    if (request.signal.aborted) stop.abort();
    else request.signal.addEventListener("abort", () => stop.abort(), { signal });
    return new Response(eventStream(feed, { stop, who, keepAliveMs, onError }), {
      headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
    });
  }

  async function decide(who: AuthenticatedClient, request: Request): Promise<Response> {
    if (!limitOf(who.principal.id).take()) return json(wireError("rate_limited", "Too many decisions."));
    // A form of another site cannot send this type without a preflight, which is refused.
    const type = request.headers.get("content-type") ?? "";
    if (!/^application\/json\s*(;|$)/i.test(type)) {
      return json(wireError("invalid_message", "A decision is sent as application/json."), 415);
    }
    const text = await readText(request, maxMessageBytes);
    if (text === undefined) {
      return json(wireError("message_too_large", `A decision has at most ${maxMessageBytes} bytes.`));
    }
    // Reading the body may have taken long.
    if (isOver(who)) return json(wireError("unauthenticated", "Sign in again."));
    const message = parseMessage(text);
    if (message.type === "approval.error" && message.code !== "unknown_type") return json(message);
    if (message.type !== "approval.decide") return json(wireError("unknown_type", "type is approval.decide."));
    return answered(who, message);
  }

  async function answered({ principal }: AuthenticatedClient, message: DecideMessage | GetMessage): Promise<Response> {
    return json(await answerTo(message, { service, principal, redact, allowAlways }, onError));
  }

  function limitOf(principalId: string) {
    let limit = limits.get(principalId);
    if (limit === undefined) {
      // Clients that have been silent for long start over.
      if (limits.size >= MAX_LIMITS) for (const [id, one] of limits) if (one.isFull()) limits.delete(id);
      limits.set(principalId, (limit = createRateLimit(rateLimit)));
    }
    return limit;
  }

  return async (request) => {
    let response: Response;
    try {
      response = await answer(request, new URL(request.url));
    } catch (error) {
      onError(error);
      response = json(wireError("internal_error", "The server failed."));
    }
    return withCors(options, request, response);
  };
}

/**
 * Pages of other sites may read and change nothing. A same-origin GET has no origin, but says that it is same-origin.
 */
function mayAsk(options: GuardOptions, { headers, method }: Request): boolean {
  if (headers.has("origin")) return isOriginAllowed(options, headers);
  const site = headers.get("sec-fetch-site");
  if (site === "same-origin" && method === "GET") return true;
  return site === null && isOriginAllowed(options, headers);
}

function originRefused(origin: string | null) {
  const who = origin === null ? "A request without an origin" : `A page of ${origin}`;
  return wireError("origin_refused", `${who} may not ask: the server's origins and allowNoOrigin say who may.`);
}

/** A body as text, counted while it is read; `undefined` if it is too large: the rest is not read. */
async function readText({ body }: Request, maxBytes: number): Promise<string | undefined> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function withCors(options: GuardOptions, request: Request, response: Response): Response {
  const origin = request.headers.get("origin");
  response.headers.append("vary", "origin");
  if (origin === null || response.status === STATUS.origin_refused) return response;
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-allow-credentials", "true");
  response.headers.set("access-control-allow-methods", "GET, POST");
  response.headers.set("access-control-allow-headers", "authorization, content-type, last-event-id");
  return response;
}

function json(body: ServerMessage | { readonly requests: readonly ServerMessage[] }, status?: number): Response {
  const isError = "type" in body && body.type === "approval.error";
  return Response.json(body, {
    status: status ?? (isError ? STATUS[body.code] : 200),
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });
}

const STATUS = {
  approval_not_found: 404,
  approval_not_allowed: 403,
  already_decided: 409,
  approval_expired: 410,
  approval_void: 410,
  invalid_input: 422,
  not_json: 400,
  unknown_type: 400,
  invalid_message: 400,
  message_too_large: 413,
  rate_limited: 429,
  unauthenticated: 401,
  origin_refused: 403,
  not_found: 404,
  internal_error: 500,
} satisfies Record<WireErrorCode, number>;

const MAX_LIMITS = 10_000;
