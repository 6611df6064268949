import { describe, expect, it } from "vitest";
import { approvalHandler, ApprovalService, approvalSockets } from "../../../src/execute/approvals/index.ts";
import { memoryStore } from "../../../src/store/index.ts";

describe.each([
  ["approvalSockets", approvalSockets],
  ["approvalHandler", approvalHandler],
] as const)("%s says at once what would refuse or hide everything", (_, make: (options: any) => unknown) => {
  const store = memoryStore();
  const good = {
    service: new ApprovalService({ store, mayDecide: () => true }),
    authenticate: () => undefined,
    origins: [],
  };

  it.each([
    ["a service without mayDecide", { service: new ApprovalService({ store }) }, /mayDecide/],
    ["no service", { service: undefined }, /needs a service/],
    ["no authenticate", { authenticate: undefined }, /authenticate/],
    ["no origins", { origins: undefined }, /origins/],
    ["origins that are one text", { origins: "https://app.example" }, /origins/],
  ])("%s", (__, change, message) => {
    expect(() => make({ ...good, ...change })).toThrow(TypeError);
    expect(() => make({ ...good, ...change })).toThrow(message);
  });

  it("and takes the rest", () => {
    expect(() => make(good)).not.toThrow();
    expect(() => make({ ...good, origins: () => true })).not.toThrow();
  });
});
