import { cut } from "../../errors.ts";
import { jsonIn } from "../../json/parse.ts";
import { isRecord, unknownKey } from "../../schema/json.ts";
import { isStoreFailure } from "../../store/errors.ts";
import { defaultQuestion, redacted, summaryOf, type Redact } from "../summary.ts";
import { ApprovalError, notFound } from "./errors.ts";
import { valueAt } from "./grants.ts";
import type {
  ClientMessage,
  DecidedMessage,
  DecideMessage,
  DetailsMessage,
  ErrorMessage,
  GetMessage,
  OutcomeMessage,
  RequestedMessage,
  ServerMessage,
  WireErrorCode,
} from "./protocol.ts";
import type { ApprovalService } from "./service.ts";
import type { ApprovalRequest, Decision, GrantScope, Principal } from "./types.ts";

/** A client's message, or the error if it is malformed. */
export function parseMessage(text: string): ClientMessage | ErrorMessage {
  const value = jsonIn(text);
  if (!isRecord(value)) {
    return wireError("not_json", "A message is one JSON object.");
  }
  const message = value as Partial<ClientMessage>;
  switch (message.type) {
    case "approval.decide":
      return decideProblem(message) ?? (message as DecideMessage);
    case "approval.get":
      if (typeof message.request_id === "string") return message as ClientMessage;
      return wireError("invalid_message", "approval.get needs request_id, a text.");
    case "approval.resume":
      if (Number.isSafeInteger(message.seq) && message.seq! >= 0) return message as ClientMessage;
      return wireError("invalid_message", "approval.resume needs seq, a number from 0.");
    default:
      return wireError("unknown_type", "type is approval.decide, approval.get or approval.resume.");
  }
}

/**
 * The answer to a client who decides a request, or asks for one in full: what was asked for, or why it has no effect.
 *
 * @param onError gets failures that the client is not told about
 */
export async function answerTo(
  message: DecideMessage | GetMessage,
  { service, principal, redact, allowAlways = false }: Answering,
  onError: (error: unknown) => void,
): Promise<ServerMessage> {
  const { request_id: requestId } = message;
  try {
    if (message.type === "approval.get") return await detailsMessage(service, requestId, principal, redact);
    if (message.always !== undefined && !allowAlways) {
      return wireError("invalid_message", 'This server takes no "always".', requestId);
    }
    return outcomeMessage(await service.decide(requestId, decisionOf(message), principal), redact);
  } catch (error) {
    const failure = errorMessage(error, requestId, redact);
    if (failure.code === "internal_error") onError(error);
    return failure;
  }
}

/** Who asks, and what they may do and see. */
interface Answering {
  readonly service: ApprovalService;
  readonly principal: Principal;
  readonly redact?: Redact | undefined;
  readonly allowAlways?: boolean | undefined;
}

/** The decision that a message asks for. */
function decisionOf({ decision, edited_input: editedInput, reason, always }: DecideMessage): Decision {
  return {
    decision,
    ...(editedInput !== undefined && { editedInput }),
    ...(reason !== undefined && { reason }),
    ...(always !== undefined && { always: always === true ? {} : { where: always.where, ttlMs: always.ttl_ms } }),
  };
}

export function requestedMessage(request: ApprovalRequest, redact?: Redact): RequestedMessage {
  const { id, runId, toolName, status, requestedBy, createdAt, expiresAt, replaces, seq } = request;
  const message = questionOf(request, redact);
  return {
    type: "approval.requested",
    request_id: id,
    run_id: runId,
    tool_name: toolName,
    message: cut(message, MAX_MESSAGE),
    options: ["approve", "deny"],
    summary: summaryOf("input", request.input, redact),
    status,
    requested_by: requestedBy,
    created_at: createdAt,
    expires_at: expiresAt,
    ...(replaces !== undefined && { replaces }),
    seq,
  };
}

export function decidedMessage(request: ApprovalRequest): DecidedMessage {
  return { ...outcomeFields(request), type: "approval.decided", seq: request.decidedSeq };
}

function outcomeMessage(request: ApprovalRequest, redact?: Redact): OutcomeMessage {
  const always = alwaysOf(request, redact);
  return { ...outcomeFields(request), type: "approval.outcome", ...(always !== undefined && { always }) };
}

/** A request in full, for a principal who may decide it. @throws ApprovalError `approval_not_found` for all others */
async function detailsMessage(
  service: ApprovalService,
  requestId: string,
  principal: Principal,
  redact?: Redact,
): Promise<DetailsMessage> {
  const request = await service.get(requestId);
  if (request === undefined || !(await service.mayDecide(principal, request))) throw notFound();
  const { id, runId, toolName, input, status } = request;
  return {
    type: "approval.details",
    request_id: id,
    run_id: runId,
    tool_name: toolName,
    message: questionOf(request, redact),
    input: redacted(["input"], input, redact),
    ...("editedInput" in request && { edited_input: redacted(["input"], request.editedInput, redact) }),
    status,
  };
}

/** The default question contains the input: what is hidden there is hidden here. */
function questionOf(request: ApprovalRequest, redact: Redact | undefined): string {
  const { toolName, input, message, isDefaultMessage } = request;
  return isDefaultMessage && redact !== undefined ? defaultQuestion(toolName, input, redact) : message;
}

/** Its values are parts of the input: what is hidden there is hidden here. If redaction fails, nothing is shown. */
function alwaysOf({ always, input }: ApprovalRequest, redact: Redact | undefined): GrantScope | undefined {
  if (always?.where.equals === undefined || redact === undefined) return always;
  try {
    const shown = redacted(["input"], input, redact);
    const equals = always.where.equals.map(({ path }) => ({ path, value: valueAt(shown, path) }));
    return { ...always, where: { ...always.where, equals } };
  } catch {
    return undefined;
  }
}

/** What a client may learn about a failure: the text of our own errors, and nothing about others. */
function errorMessage(error: unknown, requestId: string, redact?: Redact): ErrorMessage {
  // Problems with stored data are for the server's log: they name runs, which this client may not be allowed to know.
  if (error instanceof ApprovalError && error.code !== "invalid_approval") {
    const message = wireError(error.code as WireErrorCode, error.message, requestId);
    const isClosed = error.request !== undefined && error.request.status !== "pending";
    return isClosed ? { ...message, outcome: outcomeMessage(error.request!, redact) } : message;
  }
  const what = isStoreFailure(error) ? "Whether it was stored is unknown: ask again." : "The server failed.";
  return wireError("internal_error", what, requestId);
}

export function wireError(code: WireErrorCode, message: string, requestId?: string): ErrorMessage {
  return { type: "approval.error", code, message, ...(requestId !== undefined && { request_id: requestId }) };
}

function outcomeFields(request: ApprovalRequest): Omit<DecidedMessage, "type" | "seq"> {
  const { id, runId, status, decidedBy, decidedAt, reason } = request;
  return {
    request_id: id,
    run_id: runId,
    status,
    decided_by: decidedBy,
    decided_at: decidedAt,
    ...(reason !== undefined && { reason }),
    edited: "editedInput" in request,
  };
}

function decideProblem(message: Partial<DecideMessage>): ErrorMessage | undefined {
  const { request_id: requestId, decision, reason, always } = message;
  const problem = (text: string) =>
    wireError("invalid_message", text, typeof requestId === "string" ? requestId.slice(0, 100) : undefined);
  if (typeof requestId !== "string" || requestId === "") return problem("request_id is a text.");
  if (decision !== "approve" && decision !== "deny") return problem('decision is "approve" or "deny".');
  if (reason !== undefined && typeof reason !== "string") return problem("reason is a text.");
  if (always !== undefined && always !== true && !isRecord(always)) {
    return problem("always is true, or { where, ttl_ms }.");
  }
  // `editedInput`, as in a program: what was shown would run, and not what was decided.
  const unknown = unknownKey(message, DECIDE) ?? unknownKey(Object(always), ["where", "ttl_ms"]);
  if (unknown !== undefined) return problem(`approval.decide has no ${unknown.slice(0, 100)}.`);
  const isPlain = message.edited_input === undefined && always === undefined;
  if (decision === "deny" && !isPlain) return problem("edited_input and always go with approve only.");
  if (message.edited_input !== undefined && always !== undefined) {
    return problem("An edited input teaches nothing: leave out always.");
  }
  return undefined;
}

const DECIDE = ["type", "request_id", "decision", "edited_input", "reason", "always"];
const MAX_MESSAGE = 2_000;
