import { issuesText } from "../../errors.ts";
import { parseJson } from "../../json/parse.ts";
import { isRecord, kindOf, unknownKey } from "../../schema/json.ts";
import { rejected, type Validation } from "../../schema/types.ts";
import { toolList, type ToolSource } from "../../tool/tool-set.ts";
import { ApprovalError } from "./errors.ts";
import { grantScope } from "./grants.ts";
import { approvalDigest } from "./trust.ts";
import type { ApprovalRequest, Decision, Principal } from "./types.ts";

/** Validates an edited input as the tool would validate the model's, and returns what the handler would get. */
export type ValidateInput = (toolName: string, input: unknown) => Validation | Promise<Validation>;

const FIELDS = ["decision", "editedInput", "reason", "always"];

/** @throws TypeError for an invalid decision */
export function checkDecision(decision: Decision): void {
  const kind = (decision as Decision | undefined)?.decision;
  if (kind !== "approve" && kind !== "deny") {
    throw new TypeError(`a decision is { decision: "approve" } or { decision: "deny" }, got ${JSON.stringify(kind)}`);
  }
  // `edited_input`, as the wire has it: what was shown would run, and not what was decided.
  const unknown = unknownKey(decision, FIELDS);
  if (unknown !== undefined) throw new TypeError(`a decision has ${FIELDS.join(", ")}, and no ${unknown}`);
  const isEdited = "editedInput" in decision && decision.editedInput !== undefined;
  if (kind === "deny" && (isEdited || decision.always !== undefined)) {
    throw new TypeError("editedInput and always are for an approval, not for a denial");
  }
  if (isEdited && decision.always !== undefined) {
    throw new TypeError("an edited input teaches nothing: leave out always, or approve what was shown");
  }
  if (decision.reason !== undefined && typeof decision.reason !== "string") throw new TypeError("reason is a text");
  // `false`, of a box that was not ticked, would grant what nobody granted.
  if (decision.always !== undefined && !isRecord(decision.always)) {
    throw new TypeError(`always is { where, ttlMs }, or {} for exactly this input; got ${kindOf(decision.always)}`);
  }
}

/** The request after a decision. @throws ApprovalError `invalid_input` */
export async function decided(
  request: ApprovalRequest,
  decision: Decision,
  principal: Principal | undefined,
  now: number,
  validate: ValidateInput | undefined,
): Promise<ApprovalRequest> {
  const { editedInput, reason, always } = decision;
  return {
    ...request,
    status: decision.decision === "approve" ? "approved" : "denied",
    decidedBy: principal?.id ?? null,
    decidedAt: now,
    ...(reason !== undefined && { reason }),
    ...(always !== undefined && { always: grantScope(always, request.input, now) }),
    ...(editedInput !== undefined && (await edited(request, editedInput, validate))),
  };
}

/** A hook that checks edited inputs with the schemas of tools. */
export function validateWith(tools: ToolSource): ValidateInput {
  return (toolName, input) => {
    const tool = toolList(tools).find(({ name }) => name === toolName);
    if (tool !== undefined) return tool.inputSchema.validate(input);
    return rejected(`there is no tool ${toolName} here to check it`);
  };
}

async function edited(
  { toolName, definitionDigest }: ApprovalRequest,
  editedInput: unknown,
  validate: ValidateInput | undefined,
): Promise<Pick<ApprovalRequest, "editedInput" | "digest">> {
  if (validate === undefined) {
    throw new TypeError("new ApprovalService() needs tools (or validateInput) to check an edited input with");
  }
  const checked = await validate(toolName, editedInput);
  if (!checked.ok) {
    const { issues } = checked;
    const message = `The edited input does not fit ${toolName}: ${issuesText(issues, "input")}.`;
    throw new ApprovalError("invalid_input", message, { issues });
  }
  const digestOf = (input: unknown) => approvalDigest({ toolName, definitionDigest, input });
  let cause: unknown;
  try {
    // What is stored is what runs, so it must survive the store unchanged.
    const digest = await digestOf(checked.value);
    const input = asJson(checked.value);
    // What was shown, and edited, is what the schema makes of the model's input. If it makes something else even of its
    // own output (cents of euros), the person's 600 would run as 60,000.
    const again = digest === (await digestOf(editedInput)) ? checked : await validate(toolName, input);
    const digests = [await digestOf(input), again.ok && (await digestOf(again.value))];
    if (digests.every((one) => one === digest)) return { editedInput: input, digest };
  } catch (error) {
    cause = error;
  }
  const message = `The schema of ${toolName} makes of this input what cannot be kept, or something else each time: it cannot be edited.`;
  throw new ApprovalError("invalid_input", message, { cause });
}

/** As it would come back from a store: a copy, so that nobody can change it after it was shown. */
export function asJson(value: unknown): unknown {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part));
  return text === undefined ? null : parseJson(text);
}
