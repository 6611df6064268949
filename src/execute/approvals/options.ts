import type { Store } from "../../store/store.ts";
import { aFunction, checkOptionNames, type OptionNames } from "../../tool/option-names.ts";
import type { ToolSource } from "../../tool/tool-set.ts";
import { checkPrincipal } from "../context.ts";
import { validateWith, type ValidateInput } from "./decision.ts";
import { quiet } from "./errors.ts";
import type { ApprovalAsk, ApprovalRequest, Principal } from "./types.ts";

/** Whether this principal may decide this request. Throwing means no. */
export type MayDecide = (principal: Principal, request: ApprovalRequest) => boolean | Promise<boolean>;

export interface ApprovalServiceOptions {
  /** Where requests are kept. Processes that share it share the approvals. */
  readonly store: Store;
  /** Required once there are principals: without it, none of them may decide. */
  readonly mayDecide?: MayDecide | undefined;
  /** Whether the requester may decide as well. Default: false. */
  readonly allowSelfApproval?: boolean | undefined;
  /** The tools whose schemas validate an edited input. */
  readonly tools?: ToolSource | undefined;
  /** Validates an edited input, instead of `tools`. */
  readonly validateInput?: ValidateInput | undefined;
  /** How long a request can be decided, in milliseconds; `Infinity` means forever. Default: 24 hours. */
  readonly ttlMs?: number | undefined;
  /**
   * How long a request is kept after it was decided, expired or became void, in milliseconds. Make it longer than a run
   * may pause: an approval that is gone before its call ran is asked for again. Default: forever.
   */
  readonly retentionMs?: number | undefined;
  /** Where in the store. Default: `"approval"`. */
  readonly namespace?: string | undefined;
  /** How often to poll in any case, in milliseconds, since a store's notifications may get lost. Default: 5 s. */
  readonly pollMs?: number | undefined;
  /**
   * Gets errors that change no outcome: those of `mayDecide`, of numbering an event, or about an unreadable stored
   * request, which lists and events leave out.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const OPTIONS: OptionNames<ApprovalServiceOptions> = {
  store: true,
  mayDecide: aFunction,
  allowSelfApproval: true,
  tools: true,
  validateInput: aFunction,
  ttlMs: checkDuration,
  retentionMs: checkDuration,
  namespace: true,
  pollMs: checkDuration,
  onError: aFunction,
  now: aFunction,
};

/** The options of a service with their defaults, for its parts. */
export type ApprovalSettings = ReturnType<typeof settingsOf>;

/** @throws TypeError */
export function settingsOf(options: ApprovalServiceOptions) {
  const given: Partial<ApprovalServiceOptions> = options ?? {};
  checkOptionNames("new ApprovalService()", given, OPTIONS);
  const { store, mayDecide, allowSelfApproval = false, tools, validateInput, namespace = "approval" } = given;
  const { ttlMs = 86_400_000, retentionMs = Infinity, pollMs = 5_000, onError, now = Date.now } = given;
  if (typeof store?.put !== "function") throw new TypeError("new ApprovalService() needs a store: { store }");
  const validate = validateInput ?? (tools && validateWith(tools));
  return {
    store,
    mayDecide,
    allowSelfApproval,
    validate,
    ttlMs,
    retentionMs,
    namespace,
    pollMs,
    onError: quiet(onError),
    now,
  };
}

/** `Infinity` is allowed: none of these is a single timer. */
export function checkDuration(name: string, ms: number): number {
  if (typeof ms === "number" && ms > 0) return ms;
  throw new TypeError(`${name} is a number of milliseconds above 0, got ${String(ms)}`);
}

export function checkAsk(ask: ApprovalAsk): void {
  for (const field of ["runId", "invocationId", "toolName", "message", "definitionDigest"] as const) {
    if (typeof ask[field] !== "string")
      throw new TypeError(`request() needs ${field}, a text, got ${typeof ask[field]}`);
  }
  const { scope } = ask;
  if (scope !== undefined && typeof scope !== "string") {
    throw new TypeError(`scope is a text, got ${typeof scope}`);
  }
  checkPrincipal(ask.requestedBy);
}
