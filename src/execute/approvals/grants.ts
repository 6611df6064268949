import { isToolError } from "../../errors.ts";
import { isRecord, unknownKey } from "../../schema/json.ts";
import { foreignSchema } from "../../schema/foreign-schema.ts";
import { create } from "../../store/create.ts";
import { storeKey } from "../../store/store.ts";
import { canonicalText } from "../digest.ts";
import { unlessItThrows } from "../../quietly.ts";
import { ApprovalError } from "./errors.ts";
import type { ApprovalSettings } from "./options.ts";
import type { ApprovalGrant, ApprovalRequest, GrantOptions, GrantPlace, GrantScope } from "./types.ts";

/** What a grant has to cover. */
export type GrantedCall = Pick<ApprovalRequest, "scope" | "toolName" | "definitionDigest" | "requestedBy" | "input">;

/** As it is stored: a revoked grant stays, so that nothing can bring it back. */
interface GrantRecord extends ApprovalGrant {
  readonly revokedAt?: number;
}

/**
 * The "always" that people gave.
 *
 * ```
 * approval/grant/<scope>/<tool>/<digest of its definition>/<id of the request that it was given with>
 * ```
 */
export type ApprovalGrants = ReturnType<typeof createApprovalGrants>;

export function createApprovalGrants({ store, namespace, now }: ApprovalSettings) {
  /** The first grant that covers a call. */
  async function find(call: GrantedCall): Promise<ApprovalGrant | undefined> {
    const { scope, toolName, definitionDigest } = call;
    const grants = await read([scope, toolName, definitionDigest]);
    // A grant of a newer version, or one that somebody edited, covers nothing.
    const isCovered = (grant: GrantScope) => unlessItThrows(() => covers(grant, call.input)) === true;
    return grants.find((grant) => grant.requestedBy === call.requestedBy && isCovered(grant));
  }

  /** All grants in force, oldest first. */
  async function list(scope?: string): Promise<ApprovalGrant[]> {
    const grants = await read(scope === undefined ? [] : [scope]);
    return grants.toSorted((a, b) => a.createdAt - b.createdAt);
  }

  /** Call this when a call that was approved with "always" has succeeded. Does nothing the second time. */
  async function learn(request: ApprovalRequest): Promise<void> {
    const { always, scope, toolName, definitionDigest, requestedBy, decidedBy } = request;
    if (request.status !== "approved" || always === undefined) return;
    const createdAt = now();
    if (always.expiresAt <= createdAt) return;
    const grant: GrantRecord = {
      ...always,
      id: request.id,
      approvalId: request.id,
      scope,
      toolName,
      definitionDigest,
      requestedBy,
      grantedBy: decidedBy,
      createdAt,
    };
    await create(store, keyOf(grant), grant, { ttlMs: always.expiresAt - createdAt });
  }

  /** Revokes a grant. False if there was none. */
  async function revoke(grant: ApprovalGrant): Promise<boolean> {
    const key = keyOf(grant);
    const entry = await store.get<GrantRecord>(key);
    if (entry === undefined || entry.value.revokedAt !== undefined) return false;
    await store.put<GrantRecord>(key, { ...entry.value, revokedAt: now() }, { ttlMs: "keep" });
    return true;
  }

  async function read(parts: readonly string[]): Promise<ApprovalGrant[]> {
    const entries = await store.list<GrantRecord>(`${storeKey(namespace, "grant", ...parts)}/`);
    const at = now();
    return entries.flatMap(({ value }) => (value.revokedAt === undefined && value.expiresAt > at ? [value] : []));
  }

  function keyOf({ scope, toolName, definitionDigest, id }: ApprovalGrant): string {
    return storeKey(namespace, "grant", scope, toolName, definitionDigest, id);
  }

  return { find, list, learn, revoke };
}

/**
 * What "always" means, as it is shown and stored.
 *
 * @throws ApprovalError `invalid_input` for a malformed scope, or one that does not cover the call it is given with
 */
export function grantScope(options: GrantOptions, input: unknown, now: number): GrantScope {
  const { where = { equals: [{ path: [], value: input }] }, ttlMs = DEFAULT_TTL_MS } = options;
  const unknown = unknownKey(options, ["where", "ttlMs"]);
  if (unknown !== undefined) throw badScope(`it has where and ttlMs, and no ${unknown}`);
  if (!Number.isFinite(ttlMs) || ttlMs <= 0) {
    throw badScope(`ttlMs is a number of milliseconds above 0, got ${String(ttlMs)}`);
  }
  let scope: GrantScope = { where, expiresAt: now + ttlMs };
  let holds: boolean;
  try {
    holds = covers(scope, input);
    // Copied after the check, which refuses what nests too deep to be copied.
    scope = { ...scope, where: structuredClone(where) };
  } catch (cause) {
    const why = isToolError(cause) ? cause.message : "it is { equals: [{ path, value }] }, { schema }, or both";
    throw badScope(`where cannot be read: ${why}`, cause);
  }
  if (!holds) throw badScope("it does not cover the very call that it is given with");
  return scope;
}

/** Every given condition must hold. @throws TypeError for an unknown one, which may be meant to narrow the others */
function covers({ where }: GrantScope, input: unknown): boolean {
  const { equals = [], schema, ...unknown } = where;
  const others = Object.keys(unknown);
  if (others.length > 0) throw new TypeError(`there is no where.${others[0]}`);
  if (equals.length === 0 && schema === undefined) throw new TypeError("it says nothing");
  if (schema !== undefined && !isRecord(schema)) {
    throw new TypeError(`its schema is a JSON Schema object, got ${JSON.stringify(schema)}`);
  }
  return equals.every(isThere) && (schema === undefined || foreignSchema(schema).validate(input).ok);

  function isThere({ path, value }: GrantPlace): boolean {
    const found = valueAt(input, path);
    return found !== undefined && canonicalText(found) === canonicalText(value);
  }
}

/** What is at a path of own properties and array indexes; `undefined` where there is nothing. */
export function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root;
  for (const step of path) {
    // Own ones only: `constructor` is no place in an input.
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

function badScope(what: string, cause?: unknown): ApprovalError {
  return new ApprovalError("invalid_input", `This "always" is not stored: ${what}.`, { cause });
}

const DEFAULT_TTL_MS = 3_600_000;
