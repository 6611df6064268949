import { expect, it } from "vitest";
import { EventLog, type NewEvent } from "../../src/execute/event-log.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";

it("keeps what it knows of the latest runs, and of long ones only as much as of many short ones", async () => {
  const inner = memoryStore();
  const entries = Array.from({ length: 60_000 }, (_, at) => {
    const value: any = { type: "tool.invoked", actionId: `action_${at}`, seq: at + 1 };
    return { key: `event/run/${at + 1}`, value, version: at + 1, expiresAt: null };
  });
  /** The runs whose events were read from the first one on. */
  const read: string[] = [];
  const list: Store["list"] = async (prefix, { after } = {}) => {
    if (after !== undefined) return [];
    read.push(prefix);
    return entries;
  };
  const log = new EventLog({ ...inner, list });
  let asked = 0;
  const tell = async (runId: string) => {
    const event = { type: "approval.requested", approvalId: `apr_${++asked}`, runId };
    expect((await log.append(event as NewEvent, true))!.seq).toBeGreaterThan(60_000);
  };
  for (const runId of ["a", "a", "b", "c", "b", "a"]) await tell(runId);
  expect(read).toEqual(["event/a/", "event/b/", "event/c/", "event/a/"]);
});
