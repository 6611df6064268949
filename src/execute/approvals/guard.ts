import { MAX_TIMER_MS } from "../../time.ts";
import {
  aboveZero,
  aFunction,
  aRecord,
  checkOptionNames,
  fromZero,
  type OptionNames,
} from "../../tool/option-names.ts";
import type { Redact } from "../summary.ts";
import type { ApprovalService } from "./service.ts";
import type { Principal } from "./types.ts";

/** What an authentication can use: the same for WebSockets and HTTP. */
export interface ApprovalClient {
  readonly url: URL;
  readonly headers: Headers;
}

/** An authenticated client. */
export interface AuthenticatedClient {
  readonly principal: Principal;
  /** Whose events: a tenant, a team. Default: `"default"`. */
  readonly scope?: string | undefined;
  /** When it ends, in milliseconds since 1970: the connection is closed then. Default: never. */
  readonly expiresAt?: number | undefined;
}

/** Authenticates a client. Returning `undefined` or throwing refuses it. */
export type Authenticate = (
  client: ApprovalClient,
) => AuthenticatedClient | undefined | null | Promise<AuthenticatedClient | undefined | null>;

/** Options of both handlers. */
export interface GuardOptions {
  /** Needs a `mayDecide`: all who connect are principals. */
  readonly service: ApprovalService;
  /** Who a client is, before it is told anything. */
  readonly authenticate: Authenticate;
  /** The origins of the pages that may connect (`https://app.example`). All others are refused. */
  readonly origins: readonly string[] | ((origin: string) => boolean);
  /** Whether clients without an origin (that is, no browsers) may connect. Default: false. */
  readonly allowNoOrigin?: boolean | undefined;
  /** The largest message or body of a client, in bytes. Default: 64 KiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Whether clients may grant "always". Default: false. */
  readonly allowAlways?: boolean | undefined;
  /** Hides parts of inputs; the path starts with `"input"`. */
  readonly redact?: Redact | undefined;
  /** Gets failures that clients are not told about. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const OPTIONS: OptionNames<GuardOptions> = {
  service: true,
  authenticate: true,
  origins: true,
  allowNoOrigin: true,
  maxMessageBytes: aboveZero,
  allowAlways: true,
  redact: aFunction,
  onError: aFunction,
};

/** Default of `maxMessageBytes`. */
export const MAX_MESSAGE_BYTES = 65_536;

/**
 * Refuses options that would silently refuse or hide everything.
 *
 * @throws TypeError
 */
export function checkGuard<Options extends GuardOptions>(
  name: string,
  options: Options,
  own: OptionNames<Omit<Options, keyof GuardOptions>>,
): void {
  const { service, authenticate, origins }: Partial<GuardOptions> = options ?? {};
  checkOptionNames(`${name}()`, options ?? {}, { ...OPTIONS, ...own });
  checkService(name, service);
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

/** @throws TypeError */
export function checkService(name: string, service: ApprovalService | undefined): void {
  if (service?.hasMayDecide === undefined) throw new TypeError(`${name}() needs a service: new ApprovalService(…)`);
  if (service.hasMayDecide) return;
  throw new TypeError(
    `${name}() needs a service with mayDecide(principal, request): all who connect are principals, and without it none of them may decide`,
  );
}

/**
 * Sandboxed pages send `"null"`. `URL` has no origin for schemes such as `chrome-extension:`, although browsers send
 * one.
 */
function isOrigin(text: string): boolean {
  if (text === "null") return true;
  if (!URL.canParse(text)) return false;
  const { origin, protocol, host } = new URL(text);
  return text === (origin === "null" ? `${protocol}//${host}` : origin);
}

/**
 * A page of another site can open a connection with its visitor's cookies; only the browser's origin tells whose page
 * it is: https://datatracker.ietf.org/doc/html/rfc6455#section-10.2
 */
export function isOriginAllowed({ origins, allowNoOrigin = false }: GuardOptions, headers: Headers): boolean {
  const origin = headers.get("origin");
  if (origin === null) return allowNoOrigin;
  return typeof origins === "function" ? origins(origin) : origins.includes(origin);
}

/** `undefined` for unknown clients, and for expired authentications. */
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

/** An invalid time (a string, `NaN`) counts as expired. */
export function isOver({ expiresAt = Infinity }: AuthenticatedClient): boolean {
  return !(expiresAt > Date.now());
}

/**
 * Calls back once an authentication has ended; times beyond the maximum of a timer take several.
 *
 * @returns stops waiting for it
 */
export function onceOver(who: AuthenticatedClient, end: () => void): () => void {
  const { expiresAt } = who;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    if (isOver(who)) end();
    else timer = setTimeout(look, Math.min(expiresAt! - Date.now() + 1, MAX_TIMER_MS));
  };
  if (expiresAt !== undefined) look();
  return () => clearTimeout(timer);
}

/** `?after=12` and `?run_id=run_1`. An invalid number resumes nothing. */
export function feedQuery(url: URL): { after: number | undefined; runId: string | undefined } {
  return { after: numberIn(url.searchParams.get("after")), runId: url.searchParams.get("run_id") ?? undefined };
}

/** The number of an event, if a client sent one. */
export function numberIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** How many messages a client may send. */
export interface RateLimit {
  /** In the long run. */
  readonly perSecond: number;
  /** At once. */
  readonly burst: number;
}

export const DEFAULT_RATE: RateLimit = { perSecond: 10, burst: 50 };

/** What is no number would limit nothing. @throws TypeError */
export function checkRate(name: string, rate: RateLimit): void {
  aRecord(name, rate);
  fromZero(`${name}.perSecond`, rate.perSecond);
  aboveZero(`${name}.burst`, rate.burst);
}

/** A bucket that fills with time: each message takes one out. */
export function createRateLimit({ perSecond, burst }: RateLimit) {
  let left = burst;
  let at = Date.now();
  return {
    /** False if there were too many. */
    take(): boolean {
      const time = Date.now();
      left = Math.min(burst, left + (Math.max(0, time - at) / 1000) * perSecond);
      at = time;
      if (left < 1) return false;
      left--;
      return true;
    },
    /** Whether the bucket has filled up again, as at the start. */
    isFull(): boolean {
      return left + (Math.max(0, Date.now() - at) / 1000) * perSecond >= burst;
    },
  };
}
