import type { ToolPolicy } from "./policy.ts";

/** A tool's approval rule, with the default that `irreversible` implies. */
export function approvalRule({
  irreversible = false,
  needsApproval = irreversible,
}: ToolPolicy): NonNullable<ToolPolicy["needsApproval"]> {
  return needsApproval;
}
