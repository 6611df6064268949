import type { ToolPolicy } from "./policy.ts";

/** What a tool says of approval, with the default that `irreversible` makes. */
export function approvalRule({
  irreversible = false,
  needsApproval = irreversible,
}: ToolPolicy): NonNullable<ToolPolicy["needsApproval"]> {
  return needsApproval;
}
