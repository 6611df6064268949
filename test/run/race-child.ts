/**
 * One of two processes that resume the same runs at the same moment:
 *
 *     node test/run/race-child.ts DATABASE FIRST COUNT
 *
 * Says `ready`, waits for a line of "go INDEX", resumes conversation INDEX with the one result, and says what came of it.
 */
import { createInterface } from "node:readline";
import { isToolError } from "../../src/errors.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { counted, external, scripted } from "./script.ts";

const store = sqliteStore(process.argv[2]!);
const write = counted("write", {
  execute: () => {
    console.log("body");
    return "written";
  },
});
const model = scripted(({ messages }) => {
  const said = messages.filter(({ role }: { role: string }) => role === "assistant").length;
  return said === 0 ? { calls: [{ name: "ask" }] } : said === 1 ? { calls: [{ name: "write" }] } : { text: "Done." };
});
const tools = [write.tool, external("ask")];
const orchestrator = new Orchestrator({ model, tools, store });

console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const conversationId = line.split(" ")[1]!;
  try {
    const now = await orchestrator.get(conversationId);
    const [call] = now!.pendingToolCalls;
    console.log("looked");
    const { status } = await orchestrator.resume(conversationId, {
      toolResults: [{ toolCallId: call?.id ?? "gone", result: process.pid }],
    });
    console.log(`end ${status}`);
  } catch (error) {
    console.log(`end ${isToolError(error) ? error.code : String(error)}`);
  }
}
