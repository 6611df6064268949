import { storeKey } from "../../store/store.ts";
import { approvalDigest } from "./digest.ts";
import { ApprovalError } from "./errors.ts";
import type { CallRecord } from "./rows.ts";
import type { ApprovalRequest, ApprovalStatus } from "./types.ts";

/**
 * Checks a record from the store. Stored data is untrusted input: it may have been edited, or written by a newer
 * version.
 *
 * @throws ApprovalError `invalid_approval`
 */
export function checkRecord(value: unknown, key: string): CallRecord {
  const record = value as Partial<CallRecord> | null;
  if (typeof record !== "object" || record === null || record.format !== 1 || !Array.isArray(record.requests)) {
    const format = typeof record === "object" && record !== null ? JSON.stringify(record.format) : typeof value;
    throw invalid(key, `its format is ${format}, this version reads format 1`);
  }
  for (const request of record.requests as readonly unknown[]) checkRequest(request, key);
  return record as CallRecord;
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

function checkRequest(value: unknown, key: string): void {
  if (typeof value !== "object" || value === null) throw invalid(key, "a request is no object");
  const request = value as ApprovalRequest;
  for (const field of TEXTS) {
    if (typeof request[field] !== "string") throw invalid(key, `${field} is no text`);
  }
  if (!key.endsWith(`/${storeKey(request.runId, request.invocationId)}`)) throw invalid(key, "it is another call's");
  if (!Object.hasOwn(STATUSES, request.status)) throw invalid(key, `status is ${JSON.stringify(request.status)}`);
  const isDecided = request.status === "approved" || request.status === "denied";
  if (isDecided && typeof request.decidedAt !== "number") {
    throw invalid(key, `it is ${request.status} and was never decided`);
  }
  if (request.status === "pending" && request.decidedAt !== null) throw invalid(key, "it is pending and was decided");
}

const TEXTS = [
  "id",
  "runId",
  "invocationId",
  "toolName",
  "digest",
  "askedDigest",
  "definitionDigest",
  "status",
  "scope",
] as const;

const STATUSES = {
  pending: true,
  approved: true,
  denied: true,
  expired: true,
  void: true,
} satisfies Record<ApprovalStatus, true>;

function invalid(where: string, what: string): ApprovalError {
  return new ApprovalError(
    "invalid_approval",
    `The stored approval ${where} cannot be trusted: ${what}. Nothing is executed on it.`,
  );
}
