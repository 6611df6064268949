import type { Tool } from "../tool/tool.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { aborted, type ActionEntry, type Call } from "./call.ts";
import { policyContextOf } from "./context.ts";
import { callDigest, definitionDigest } from "./digest.ts";
import { judge, type Denial, type GateAnswer } from "./gate.ts";
import { actionsOf } from "./info.ts";
import { editOf, type ActionRow } from "./ledger.ts";
import type { Deps } from "./options.ts";
import { awaitingOf, type Outcome } from "./outcome.ts";
import { jsonOfInput } from "./output.ts";
import { defaultQuestion } from "./summary.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** The call may start: it has passed the gate and, with a `request`, a person. */
export interface Permit {
  readonly status: "permitted";
  readonly planned: ActionRow;
  /** Of the planned row; 0 if it is not stored. */
  readonly version: number;
  readonly request?: ApprovalRequest;
}

/** `undefined`: the row has changed and must be read again. */
type Judged = Promise<Permit | Outcome | undefined>;

/** Judges a call that has no row, or whose row is out of date. @param version of that row, or 0 */
export async function plan(call: Call, version: number): Judged {
  const { deps, use, runId, tool, prepared } = call;
  const { id, invocationId, name } = use;
  call.begin();
  if (id !== null && id !== "") {
    call.repeatOf = await deps.history.repeatOf(runId, invocationId, id, prepared.digest);
  }
  if (tool === undefined) return call.deny(version, unknownTool(name));
  const answer = (await deps.history.judge(tool, runId, use)) ?? (await askGate(call, tool, prepared.input));
  if (answer === undefined) return call.giveUp(version);
  switch (answer.decision) {
    case "deny":
      return call.deny(version, answer);
    case "allow":
      return { status: "permitted", planned: call.newRow(), version };
    case "ask": {
      if (deps.approvals === undefined) return call.deny(version, nobodyToAsk(name));
      const trace = call.span.link;
      const { message } = answer;
      const row = {
        ...call.newRow(),
        ...(message !== undefined && { ask: message }),
        ...(trace !== undefined && { trace }),
      };
      const entry = await call.put(row, version);
      if (entry === undefined) return undefined;
      call.invoked(version);
      return approve(call, tool, entry);
    }
  }
}

/** `undefined`: the caller gave up before there was an answer. */
function askGate(call: Call, tool: Tool, input: unknown): Promise<GateAnswer | undefined> {
  const { deps, use, context, runId, repeatOf } = call;
  const actions = () => actionsOf(deps.ledger, runId);
  const asked = { tool, input, repeatOf, actions };
  return unlessAborted(() => judge(asked, policyContextOf(use, context), deps.authorize), context.signal);
}

/** Goes on with a planned call, perhaps days later. */
export async function resumePlanned(call: Call, entry: ActionEntry): Judged {
  const { value: row, version } = entry;
  const { problem } = call.prepared;
  if (call.tool === undefined) return call.deny(version, unknownTool(row.toolName), row);
  if (problem !== undefined) return call.fail(version, problem.code, problem.message, problem, row);
  return row.unasked === true ? plan(call, version) : approve(call, call.tool, entry);
}

/** Asks a person. */
async function approve(call: Call, tool: Tool, { value: row, version }: ActionEntry): Judged {
  const { deps, context } = call;
  if (deps.approvals === undefined) return call.deny(version, nobodyToAsk(tool.name), row);
  const { hiding } = call.prepared;
  if (hiding !== undefined) {
    return call.fail(version, "not_serializable", notShown(tool.name, hiding), undefined, row);
  }
  let request = await askApproval(call, tool, row);
  call.invoked(version);
  if (request.grantId === undefined) call.events.requested(request);
  if (request.status === "pending") {
    call.span.end(awaitingOf(call, row, request));
    call.place.leave();
    if (!(context.waitForApproval ?? deps.waitForApproval)) return awaitingOf(call, row, request);
    const decided = await waitForDecision(call, request);
    if (decided === undefined) return undefined;
    if (decided.status === "pending") return awaitingOf(call, row, decided);
    request = decided;
  }
  call.events.decided(request);
  if (request.status === "void") {
    // Changed meanwhile, and asked again; or given up.
    const last = await lastAsked(deps, call.known(), request);
    // The same question would find it again.
    if (last?.id === request.id) return call.fail(version, "aborted", aborted(tool.name), undefined, row);
    return last && awaitingOf(call, row, last);
  }
  call.approval = request;
  const denial = denialBy(request);
  if (denial !== undefined) return call.deny(version, denial, row);
  call.begin(row, request);
  if ("editedInput" in request) {
    // The edited input was not judged yet: an approver cannot do what the policy forbids.
    const answer = await askGate(call, tool, request.editedInput);
    if (answer === undefined) return awaitingOf(call, row, request);
    if (answer.decision === "deny") return call.deny(version, answer, { ...row, ...editOf(request) });
  }
  return { status: "permitted", planned: row, version, request };
}

/** Gives up a call that has not started, for good: what is decided later does not count, what was decided before does. */
export async function abandon(call: Call, version: number, row?: ActionRow): Promise<Outcome | undefined> {
  const { deps, use } = call;
  // It is given up whether or not there is a service, and can be read.
  const request = row && (await lastOfCall(deps, row).catch(() => undefined));
  const denial = request && denialBy(request);
  if (denial === undefined) return call.fail(version, "aborted", aborted(use.name), undefined, row);
  call.approval = request;
  call.events.decided(request!);
  return call.deny(version, denial, row);
}

/** Whether the approval is for what would run now: the tool, its program or the given input may have changed since. */
export async function stillHolds(
  call: Call,
  tool: Tool,
  planned: ActionRow,
  request: ApprovalRequest,
): Promise<boolean> {
  const { deps, use, prepared } = call;
  // An input that no longer has a digest counts as changed.
  const given = await callDigest(use, use.input).catch(() => undefined);
  if (given?.digest !== prepared.given) {
    await call.prepare();
    return false;
  }
  // Asking for a run that was forgotten meanwhile would make a request that nobody waits for.
  if (!(await deps.ledger.holds(planned))) return false;
  const now = await askApproval(call, tool, planned);
  return now.id === request.id && now.status === "approved";
}

// Approvals -------------------------------------------------------------------------------------------------------

/**
 * Asks a person about one call. The same input, tool and executable find the same request, in any process; after a
 * change of one of them the request is void, and this makes a new one.
 */
async function askApproval(
  { deps, context, runId, prepared }: Call,
  tool: Tool,
  { invocationId, ask }: ActionRow,
): Promise<ApprovalRequest> {
  const { input } = prepared;
  return deps.approvals!.request({
    runId,
    invocationId,
    toolName: tool.name,
    input: jsonOfInput(input),
    definitionDigest: await definitionOf(deps, tool),
    message: ask ?? defaultQuestion(tool.name, input, deps.redact),
    isDefaultMessage: ask === undefined,
    requestedBy: context.principal,
    ...context.approval,
  });
}

/**
 * The request once somebody has decided, or still pending if the caller stopped waiting; `undefined` if the call waits
 * no more without a decision: it was given up, or forgotten, or another process has begun it on an earlier approval.
 */
async function waitForDecision(
  { deps, actionId, context }: Call,
  request: ApprovalRequest,
): Promise<ApprovalRequest | undefined> {
  const { approvals, ledger } = deps;
  const { approvalTimeoutMs: timeoutMs, signal } = context;
  const over = new AbortController();
  const look = async () => {
    const entry = await ledger.get(actionId);
    if (entry?.value.status !== "planned") over.abort();
  };
  // What cannot be read now is read with the next change.
  const unwatch = await ledger.watch(actionId, () => void look().catch(() => {}));
  try {
    await look().catch(() => {});
    const decided = () => approvals!.await(request.id, { timeoutMs, signal: over.signal });
    // If nobody waits any more, the request stays.
    return (await unlessAborted(decided, signal)) ?? request;
  } catch (error) {
    if (!over.signal.aborted) throw error;
    const now = await approvals!.get(request.id);
    return now?.status === "approved" || now?.status === "denied" ? now : undefined;
  } finally {
    over.abort();
    await unwatch();
  }
}

/** An approval, if it still holds for the tool as it is now. Asks nobody. */
export async function standingApproval(
  deps: Deps,
  tool: Tool,
  approvalId: string,
): Promise<ApprovalRequest | undefined> {
  const request = await deps.approvals?.get(approvalId);
  return request?.status === "approved" && (await isAsShown(deps, tool, request)) ? request : undefined;
}

/**
 * The last request of the call of one that is void although the tool is what was shown. If it is that one itself, it
 * was withdrawn. Else another process knows another definition, asked about that, and is waiting itself: if we asked
 * again, both would void each other's requests forever.
 */
async function lastAsked(
  deps: Deps,
  tool: Tool | undefined,
  request: ApprovalRequest,
): Promise<ApprovalRequest | undefined> {
  if (tool === undefined || !(await isAsShown(deps, tool, request))) return undefined;
  return lastOfCall(deps, request);
}

async function lastOfCall(
  deps: Deps,
  call: Pick<ActionRow, "runId" | "invocationId">,
): Promise<ApprovalRequest | undefined> {
  const requests = await deps.approvals!.list({ runId: call.runId });
  const ofCall = requests.filter(({ invocationId }) => invocationId === call.invocationId);
  // One whose event has no number yet is listed first.
  return ofCall.find(({ status }) => status === "pending") ?? ofCall.at(-1);
}

/** Including the program behind the tool. */
async function isAsShown(deps: Deps, tool: Tool, request: ApprovalRequest): Promise<boolean> {
  return request.definitionDigest === (await definitionOf(deps, tool));
}

async function definitionOf({ executableDigest }: Deps, tool: Tool): Promise<string> {
  return definitionDigest(tool, await executableDigest(tool));
}

/** Why a call that was asked about is not executed; `undefined` if it may be, or nobody has decided. */
function denialBy({ status, toolName, reason, decidedBy }: ApprovalRequest): Denial | undefined {
  if (status === "denied") {
    const message = `${toolName} was denied by a person${reason === undefined ? "." : `: ${reason}`}`;
    return { decision: "deny", reason: "approval_denied", message, ...(decidedBy !== null && { decidedBy }) };
  }
  if (status !== "expired") return undefined;
  const message = `${toolName} needs approval, and nobody decided in time. It was not executed.`;
  return { decision: "deny", reason: "approval_expired", message };
}

// Messages --------------------------------------------------------------------------------------------------------

function unknownTool(name: string): Denial {
  return { decision: "deny", reason: "unknown_tool", message: `There is no tool ${JSON.stringify(name)} here.` };
}

function nobodyToAsk(name: string): Denial {
  const message = `${name} needs approval, and there is nobody to ask: no ApprovalService was given as approvals.`;
  return { decision: "deny", reason: "approval_unavailable", message };
}

function notShown(name: string, what: string): string {
  return `${name} needs approval, and its input holds ${what}: nobody can see all of it, so nobody can approve it.`;
}
