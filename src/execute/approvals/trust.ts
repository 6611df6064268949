import { isString, listOf, oneOf, shape } from "../../store/shape.ts";
import { storeKey } from "../../store/store.ts";
import { digestOf } from "../digest.ts";
import { ApprovalError } from "./errors.ts";
import type { CallRecord } from "./rows.ts";
import type { ApprovalRequest, ApprovalStatus } from "./types.ts";

/** What an approval is bound to. */
export interface ApprovedThing {
  readonly toolName: string;
  readonly input: unknown;
  /** Digest of the tool's definition, and of the executable behind it, if there is one. */
  readonly definitionDigest: string;
}

/** The digest of exactly what was shown: another input, tool or definition has another digest. */
export async function approvalDigest({ toolName, input, definitionDigest }: ApprovedThing): Promise<string> {
  return digestOf({ toolName, input, definitionDigest });
}

/**
 * Checks a record from the store. Stored data is untrusted input: it may have been edited, or written by a newer
 * version.
 *
 * @throws ApprovalError `invalid_approval`
 */
export function checkRecord(value: unknown, key: string): CallRecord {
  const { format, requests } = (value ?? {}) as Partial<CallRecord>;
  if (format !== 1) throw invalid(key, `its format is ${JSON.stringify(format)}, this version reads format 1`);
  if (!areRequests(requests) || !requests!.every((request) => isOf(key, request))) throw invalid(key, "it is damaged");
  return value as CallRecord;
}

/**
 * Checks that an approval is for what it says: for what was asked, or for exactly the edited input.
 *
 * @throws ApprovalError `invalid_approval`
 */
export async function checkApproved(request: ApprovalRequest): Promise<void> {
  const { toolName, definitionDigest, editedInput, askedDigest } = request;
  const isEdited = "editedInput" in request;
  const digest = isEdited ? await approvalDigest({ toolName, definitionDigest, input: editedInput }) : askedDigest;
  if (digest !== request.digest) throw invalid(request.id, "its digest is not that of what was approved");
}

export const STATUSES: readonly ApprovalStatus[] = ["pending", "approved", "denied", "expired", "void"];

const areRequests = listOf(
  shape({
    id: isString,
    runId: isString,
    invocationId: isString,
    toolName: isString,
    digest: isString,
    askedDigest: isString,
    definitionDigest: isString,
    status: oneOf(...STATUSES),
    scope: isString,
  }),
);

/** Whether a request is of this call, and was decided if it says so. */
function isOf(key: string, { runId, invocationId, status, decidedAt }: ApprovalRequest): boolean {
  if (!key.endsWith(`/${storeKey(runId, invocationId)}`)) return false;
  if (status === "approved" || status === "denied") return typeof decidedAt === "number";
  return status !== "pending" || decidedAt === null;
}

function invalid(where: string, what: string): ApprovalError {
  return new ApprovalError(
    "invalid_approval",
    `The stored approval ${where} cannot be trusted: ${what}. Nothing is executed on it.`,
  );
}
