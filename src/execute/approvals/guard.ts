import type { Redact } from "../summary.ts";
import type { ApprovalService } from "./service.ts";
import type { Principal } from "./types.ts";

/** What an authentication has to go by: the same for WebSockets and for HTTP. */
export interface ApprovalClient {
  readonly url: URL;
  readonly headers: Headers;
}

/** Somebody who was recognised. */
export interface AuthenticatedClient {
  readonly principal: Principal;
  /** Whose events: a tenant, a team. Default: `"default"`. */
  readonly scope?: string | undefined;
  /** When it ends, in milliseconds since 1970: the connection is closed then. Default: never. */
  readonly expiresAt?: number | undefined;
}

/** Who is it? `undefined`, or a throw: nobody. */
export type Authenticate = (
  client: ApprovalClient,
) => AuthenticatedClient | undefined | null | Promise<AuthenticatedClient | undefined | null>;

/** What both handlers are told. */
export interface GuardOptions {
  readonly service: ApprovalService;
  readonly authenticate: Authenticate;
  /** The origins of the pages that may connect (`https://app.example`). All others are refused. */
  readonly origins: readonly string[] | ((origin: string) => boolean);
  /** Whether clients that say no origin, which no browser does, may connect. Default: false. */
  readonly allowNoOrigin?: boolean | undefined;
  /** The largest message or body of a client, in bytes. Default: 64 KiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Whether clients may give an "always". Default: false. */
  readonly allowAlways?: boolean | undefined;
  /** Hides parts of inputs; the path begins with `"input"`. */
  readonly redact?: Redact | undefined;
  /** Hears of failures that clients are told nothing about. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What `maxMessageBytes` is where nobody says. */
export const MAX_MESSAGE_BYTES = 65_536;

/**
 * What would refuse or hide everything, and say nothing about it.
 *
 * @throws TypeError
 */
export function checkGuard(name: string, options: GuardOptions): void {
  const { service, authenticate, origins }: Partial<GuardOptions> = options ?? {};
  if (service?.hasMayDecide === undefined) throw new TypeError(`${name}() needs a service: new ApprovalService(…)`);
  if (!service.hasMayDecide) {
    throw new TypeError(
      `${name}() needs a service with mayDecide(principal, request): all who connect are principals, and without it none of them may decide`,
    );
  }
  if (typeof authenticate !== "function") {
    throw new TypeError(`${name}() needs authenticate(client): without it nobody is anybody`);
  }
  if (!Array.isArray(origins) && typeof origins !== "function") {
    throw new TypeError(
      `${name}() needs origins, a list of the pages that may connect: ["https://app.example"]; [] for none but programs (allowNoOrigin)`,
    );
  }
  const wrong = Array.isArray(origins) ? origins.find((origin) => !isOrigin(origin)) : undefined;
  if (wrong !== undefined) {
    throw new TypeError(
      `${name}(): ${JSON.stringify(wrong)} in origins is no origin as browsers say it: "https://app.example", with no slash behind it`,
    );
  }
}

/** `"null"` is what a sandboxed page says. URLs know no origin of schemes like `chrome-extension:`, and browsers send one. */
function isOrigin(text: string): boolean {
  if (text === "null") return true;
  if (!URL.canParse(text)) return false;
  const { origin, protocol, host } = new URL(text);
  return text === (origin === "null" ? `${protocol}//${host}` : origin);
}

/**
 * A page of another site may open a connection with the cookies of its visitor, and only the browser says whose page it
 * is: https://datatracker.ietf.org/doc/html/rfc6455#section-10.2
 */
export function isOriginAllowed({ origins, allowNoOrigin = false }: GuardOptions, headers: Headers): boolean {
  const origin = headers.get("origin");
  if (origin === null) return allowNoOrigin;
  return typeof origins === "function" ? origins(origin) : origins.includes(origin);
}

/** `undefined` for whom nobody knows, and for whom the time is over. */
export async function authenticated(
  { authenticate }: GuardOptions,
  client: ApprovalClient,
): Promise<AuthenticatedClient | undefined> {
  let who: AuthenticatedClient | undefined | null;
  try {
    who = await authenticate(client);
  } catch {
    return undefined;
  }
  if (typeof who?.principal?.id !== "string" || who.principal.id === "" || isOver(who)) return undefined;
  return who;
}

/** What is no time (a text, `NaN`) is over. */
export function isOver({ expiresAt = Infinity }: AuthenticatedClient): boolean {
  return !(expiresAt > Date.now());
}

/** `?after=12` and `?run_id=run_1`. What is no number resumes nothing. */
export function feedQuery(url: URL): { after: number | undefined; runId: string | undefined } {
  const after = url.searchParams.get("after");
  return {
    after: after !== null && /^\d{1,15}$/.test(after) ? Number(after) : undefined,
    runId: url.searchParams.get("run_id") ?? undefined,
  };
}

/** How much somebody may send. */
export interface RateLimit {
  /** In the long run. */
  readonly perSecond: number;
  /** At once. */
  readonly burst: number;
}

export const DEFAULT_RATE: RateLimit = { perSecond: 10, burst: 50 };

/** A bucket that fills with time: each message takes one out. */
export function createRateLimit({ perSecond, burst }: RateLimit, now: () => number = Date.now) {
  let left = burst;
  let at = now();
  return {
    /** False: too many. */
    take(): boolean {
      const time = now();
      left = Math.min(burst, left + (Math.max(0, time - at) / 1000) * perSecond);
      at = time;
      if (left < 1) return false;
      left--;
      return true;
    },
    /** Nothing was taken for so long that all is as at first. */
    isFull(): boolean {
      return left + (Math.max(0, now() - at) / 1000) * perSecond >= burst;
    },
  };
}
