import { checkMs } from "../../time.ts";
import { aboveZero } from "../../tool/option-names.ts";
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
  onceOver,
  type ApprovalClient,
  type AuthenticatedClient,
  type GuardOptions,
  type RateLimit,
} from "./guard.ts";
import { wireError } from "./messages.ts";
import type { ServerMessage } from "./protocol.ts";
import { approvalSession } from "./session.ts";

/** The part of a `ws` socket that is used. */
export interface ApprovalSocket {
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  ping(): void;
  on(event: "message", listener: (data: any, isBinary: boolean) => void): unknown;
  on(event: "pong" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** The part of a connection's HTTP request that is used. */
export interface UpgradeRequest {
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface ApprovalSocketsOptions extends GuardOptions {
  /** Default: 10 messages per second, bursts of 50. */
  readonly rateLimit?: RateLimit | undefined;
  /**
   * How much may be buffered for a client, in bytes. Beyond half of it, events wait for the client to read. A client
   * that reads nothing for a second, or exceeds the limit, is disconnected. Default: 1 MiB.
   */
  readonly maxBufferedBytes?: number | undefined;
  /** How often a client must answer a ping, in milliseconds. Default: 30 s. */
  readonly pingMs?: number | undefined;
  /** How long a client has to close, in milliseconds, before the connection is cut. Default: 5 s. */
  readonly closeMs?: number | undefined;
}

/** What `approvalSockets()` returns: two parts for a `WebSocketServer`. */
export interface ApprovalSockets {
  /**
   * For `new WebSocketServer({ …options })`: refuses foreign pages and unknown clients before there is a connection.
   */
  readonly options: {
    readonly maxPayload: number;
    readonly perMessageDeflate: false;
    readonly verifyClient: (
      info: { readonly req: UpgradeRequest },
      answer: (isAllowed: boolean, status?: number, message?: string) => void,
    ) => void;
  };
  /** For `server.on("connection", accept)`. */
  readonly accept: (socket: ApprovalSocket, request: UpgradeRequest) => void;
}

/**
 * Approvals over WebSockets, for the `ws` package.
 *
 * Closes with 1008 (authentication, origin, too many messages), 1009 (message too large), 1011 (the store failed), 1013
 * (the client does not read). A client resumes with `?after=<the last seq>`.
 *
 * @example
 * const { options, accept } = approvalSockets({ service, authenticate, origins: ["https://app.example"] });
 * new WebSocketServer({ port: 8080, path: "/approvals", ...options }).on("connection", accept);
 */
export function approvalSockets(options: ApprovalSocketsOptions): ApprovalSockets {
  checkGuard("approvalSockets", options, {
    rateLimit: checkRate,
    maxBufferedBytes: aboveZero,
    pingMs: checkMs,
    closeMs: checkMs,
  });
  const { maxMessageBytes = MAX_MESSAGE_BYTES } = options;
  /** Clients that were authenticated before their connection was made. */
  const known = new WeakMap<UpgradeRequest, AuthenticatedClient>();

  async function check(request: UpgradeRequest): Promise<401 | 403 | AuthenticatedClient> {
    try {
      const client = clientOf(request);
      if (!isOriginAllowed(options, client.headers)) return 403;
      return (await authenticated(options, client)) ?? 401;
    } catch {
      return 403; // a malformed URL or header
    }
  }

  return {
    options: {
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      verifyClient({ req }, answer) {
        void check(req).then((who) => {
          if (typeof who === "number") return answer(false, who);
          known.set(req, who);
          answer(true);
        });
      },
    },
    accept(socket, request) {
      const who = known.get(request);
      // Without our options, nobody was authenticated yet. Messages that arrive meanwhile wait in the session.
      serve(socket, request, options, who ?? check(request));
    },
  };
}

/** One connection, from the first to the last message. */
function serve(
  socket: ApprovalSocket,
  request: UpgradeRequest,
  options: ApprovalSocketsOptions,
  asked: AuthenticatedClient | Promise<401 | 403 | AuthenticatedClient>,
): void {
  const { maxMessageBytes = MAX_MESSAGE_BYTES, maxBufferedBytes = 1_048_576 } = options;
  const { pingMs = 30_000, closeMs = 5_000, rateLimit = DEFAULT_RATE, onError } = options;
  const limit = createRateLimit(rateLimit);
  let closing: ReturnType<typeof setTimeout> | undefined;
  let stopWatching: (() => void) | undefined;
  let isClosing = false;
  let isAlive = true;

  function close(code: number, reason: string): void {
    if (isClosing) return;
    isClosing = true;
    void session.then((open) => open?.end());
    socket.close(code, reason);
    // A client that does not read will not read the close frame either.
    closing = setTimeout(() => socket.terminate(), closeMs);
  }

  function send(message: ServerMessage): void {
    if (isClosing || socket.readyState !== OPEN) return;
    if (socket.bufferedAmount > maxBufferedBytes) return close(1013, "does not read");
    socket.send(JSON.stringify(message));
  }

  /**
   * Sends an event, then waits for capacity: a client that missed many gets them as fast as it reads. A client that
   * takes nothing for a while is considered not to read.
   */
  async function tell(message: ServerMessage): Promise<void> {
    send(message);
    let least = socket.bufferedAmount;
    for (let since = Date.now(); !isClosing && socket.bufferedAmount > maxBufferedBytes / 2;) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
      if (socket.bufferedAmount < least) [least, since] = [socket.bufferedAmount, Date.now()];
      else if (Date.now() - since > PATIENCE_MS) close(1013, "does not read");
    }
  }

  const session = Promise.resolve(asked).then((who) => {
    if (isClosing) return undefined;
    if (typeof who === "number") {
      close(1008, who === 403 ? "origin" : "authentication");
      return undefined;
    }
    const { principal, scope } = who;
    stopWatching = onceOver(who, () => close(1008, "authentication has expired"));
    const { after, runId } = feedQuery(clientOf(request).url);
    const { service, allowAlways, redact } = options;
    const opened = approvalSession({
      service,
      principal,
      send: tell,
      scope,
      runId,
      after,
      allowAlways,
      redact,
      onError,
    });
    void opened.ended.then(() => close(1011, "failed"));
    return { ...opened, isOver: () => isOver(who) };
  });

  /** Handled one after the other, so that answers are sent in the order of the messages. */
  let turn: Promise<unknown> = session;
  socket.on("message", (data: unknown, isBinary: boolean) => {
    if (isClosing) return;
    if (!limit.take()) {
      send(wireError("rate_limited", "Too many messages."));
      return close(1008, "too many messages");
    }
    if (sizeOf(data) > maxMessageBytes) return close(1009, "message too large");
    if (isBinary) return send(wireError("not_json", "A message is one JSON object, as text."));
    turn = turn.then(async () => {
      const open = await session;
      if (open?.isOver() === true) close(1008, "authentication has expired");
      else if (!isClosing) await open?.receive(textOf(data));
    });
  });
  socket.on("pong", () => (isAlive = true));
  // A bad frame closes the connection; there is nothing else to do.
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosing = true;
    clearInterval(heartbeat);
    clearTimeout(closing);
    stopWatching?.();
    void session.then((open) => open?.end());
  });
  // A peer that vanished silently would keep its connection forever.
  const heartbeat = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, pingMs);
}

const DRAIN_POLL_MS = 10;
const PATIENCE_MS = 1_000;

/** https://developer.mozilla.org/docs/Web/API/WebSocket/readyState */
const OPEN = 1;

function clientOf({ url = "/", headers }: UpgradeRequest): ApprovalClient {
  const copy = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(":"))
      copy.set(name, typeof value === "string" ? value : value.join(", "));
  }
  return { url: new URL(url.replace(/^\/+/, "/"), "http://localhost"), headers: copy };
}

function sizeOf(data: unknown): number {
  if (typeof data === "string") return data.length;
  if (Array.isArray(data)) return data.reduce<number>((sum, part) => sum + sizeOf(part), 0);
  return (data as ArrayBufferLike | ArrayBufferView).byteLength;
}

function textOf(data: unknown): string {
  if (typeof data === "string") return data;
  const decoder = new TextDecoder();
  const parts = (Array.isArray(data) ? data : [data]) as readonly ArrayBuffer[];
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}
