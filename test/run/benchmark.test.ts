/** Recorded conversations through the Orchestrator, as a benchmark of tool use would drive it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { createAgent, type AgentMessage, type ToolMessage } from "../../examples/benchmark/agent.ts";
import { drive, type Delivery } from "../../examples/benchmark/drive.ts";
import {
  readConversations,
  readTools,
  type Recorded,
  type RecordedMessage,
} from "../../examples/benchmark/recording.ts";
import { wireNamed, wireNames } from "../../examples/benchmark/wires.ts";
import { memoryStore } from "../../src/store/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { replayModel } from "../../src/testing/index.ts";
import { sharedTemporary } from "../temporary.ts";

const root = resolve(import.meta.dirname, "../..");
const mock = join(root, "fixtures/benchmark");
const tau2 = resolve(root, "../shared/tau2");
const noTau2 = existsSync(tau2) ? "" : ` (skipped: ${tau2} is not there)`;

const conversations = readConversations(join(mock, "trajectories.jsonl"));
const tools = readTools(join(mock, "tools.json"));
const named = (id: string): Recorded => conversations.find((conversation) => conversation.id === id)!;

const folder = sharedTemporary();

describe.each(wireNames)("%s", (name) => {
  const wire = wireNamed(name);

  describe.each<Delivery>(["together", "reversed", "one by one"])("results handed in %s", (delivery) => {
    it.each(conversations)("$id comes out as it was recorded", async (conversation) => {
      const { mismatches, calls, pauses, requests } = await drive(conversation, wire, tools, delivery);
      expect(mismatches).toEqual([]);
      expect(calls).toBe(callsIn(conversation.messages).length);
      expect(pauses).toBe(conversation.messages.filter((message) => callsIn([message]).length > 0).length);
      expectResults(requests.at(-1)!, conversation);
    });
  });

  it.skipIf(noTau2 !== "")(`tau2: 68 conversations come out as they were recorded${noTau2}`, async () => {
    const recorded = readConversations(join(tau2, "trajectories.jsonl"));
    const shop = readTools(join(tau2, "tools.json"));
    const totals = { calls: 0, pauses: 0, mismatches: [] as string[] };
    for (const conversation of recorded) {
      const { calls, pauses, mismatches, requests } = await drive(conversation, wire, shop);
      totals.calls += calls;
      totals.pauses += pauses;
      totals.mismatches.push(...mismatches);
      expectResults(requests.at(-1)!, conversation);
    }
    expect(totals).toEqual({ calls: 517, pauses: 393, mismatches: [] });
  });

  it("tells calls apart whose ids come again", async () => {
    const [first, answers] = await begun(named("one-id-twice-in-one-answer"), name);
    const [a, b] = first.tool_calls!;
    expect(a!.id).not.toBe(b!.id);
    expect([a!.wireId, b!.wireId]).toEqual(["call_0", "call_0"]);
    // The second result first: it is the one of the second call.
    const { message: none, state } = await answers.agent.getNextMessage(result(b!.id, "of b-2"), answers.state);
    expect(none).toBeNull();
    const { message } = await answers.agent.getNextMessage(result(a!.id, "of b-1"), state);
    expect(message).toEqual({ role: "assistant", content: "A 1 and A 2." });
    const sent = JSON.stringify(answers.model.requests.at(-1)!.messages);
    expect(sent.indexOf("of b-1")).toBeGreaterThan(-1);
    expect(sent.indexOf("of b-1")).toBeLessThan(sent.indexOf("of b-2"));
  });
});

describe("the agent", () => {
  it("takes a result once, and the first one counts", async () => {
    const [first, { agent, state, model }] = await begun(named("parallel"), "anthropic");
    const id = first.tool_calls![0]!.id;
    const { state: after } = await agent.getNextMessage(result(id, "lent"), state);
    await expect(agent.getNextMessage(result(id, "not lent"), after)).rejects.toMatchObject({
      code: "already_answered",
    });
    await expect(agent.getNextMessage(result("p1", "lent"), after)).rejects.toMatchObject({ code: "unknown_call" });
    expect(model.requests).toHaveLength(1);
  });

  it("does not go on without the results", async () => {
    const [, { agent, state }] = await begun(named("parallel"), "cohere");
    await expect(agent.getNextMessage({ role: "user", content: "Well?" }, state)).rejects.toMatchObject({
      code: "run_open",
    });
    await expect(agent.getNextMessage([{ role: "user", content: "Well?" } as never], state)).rejects.toBeInstanceOf(
      TypeError,
    );
  });

  it("goes on in another process: all it needs is the store and the state", async () => {
    const { messages } = named("same-call-twice");
    const wire = wireNamed("google");
    const answers = messages.filter((message) => message.role === "assistant").map(wire.encode);
    const path = join(folder, "runs.db");
    const store = sqliteStore(path);
    const one = createAgent(replayModel(wire.adapter, answers), tools, store);
    const paused = await one.getNextMessage({ role: "user", content: "Two copies." }, one.getInitState());
    await store.close();
    const again = sqliteStore(path);
    const other = createAgent(replayModel(wire.adapter, answers.slice(1)), tools, again);
    const results = paused.message!.tool_calls!.map(({ id }, at) => result(id, `lent, copy ${at + 1}`));
    const { message } = await other.getNextMessage(results, JSON.parse(JSON.stringify(paused.state)));
    expect(message).toEqual({ role: "assistant", content: "Two copies." });
    await again.close();
  });
});

describe("node examples/benchmark/main.ts", () => {
  const trajectories = join(mock, "trajectories.jsonl");
  const toolsFile = join(mock, "tools.json");

  it.each(wireNames)("prints totals of %s", async (wire) => {
    expect(await main(trajectories, "--tools", toolsFile, "--wire", wire)).toEqual({
      code: 0,
      stdout: `${JSON.stringify({ conversations: 8, calls: 17, pauses: 13, mismatches: 0 })}\n`,
      stderr: "",
    });
  });

  it("ends with 1 when something comes out otherwise, and says what", async () => {
    // Recorded is a text; the tool wants a number, and gets one.
    const line = (await readFile(trajectories, "utf8")).split("\n")[6]!;
    const other = join(folder, "other.jsonl");
    const { messages } = JSON.parse(line) as Recorded;
    const call = { id: "v1", name: "find_books", arguments: { query: "Ö", limit: "3" } };
    const calling = { role: "assistant", content: "Ö?", tool_calls: [call] };
    await writeFile(other, JSON.stringify({ id: "a-text", messages: messages.with(2, calling as RecordedMessage) }));
    const { code, stdout, stderr } = await main(other, "--tools", toolsFile, "--wire", "anthropic");
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 1, conversations: 1, calls: 1, pauses: 1, mismatches: 1 });
    expect(stderr).toContain(
      'a-text, answer 1: the arguments of call 1 are {"query":"Ö","limit":3}, recorded {"query":"Ö","limit":"3"}',
    );
  });

  it("ends with 1 when a recorded call does not fit its tool", async () => {
    const strict = (await readFile(toolsFile, "utf8")).replaceAll("book_id", "book_number");
    const file = join(folder, "strict.json");
    await writeFile(file, strict);
    const { code, stdout } = await main(trajectories, "--tools", file, "--wire", "openai-chat");
    expect(code).toBe(1);
    expect(JSON.parse(stdout).mismatches).toBeGreaterThan(0);
  });

  it.each([
    ["no file", [], "One file"],
    ["no tools", [trajectories, "--wire", "google"], "--tools"],
    ["no wire", [trajectories, "--tools", toolsFile], "--wire is missing"],
    ["an unknown wire", [trajectories, "--tools", toolsFile, "--wire", "soap"], 'no wire "soap"'],
    ["an unknown option", [trajectories, "--verbose"], "--verbose"],
    ["a file that is not there", ["nothing.jsonl", "--tools", toolsFile, "--wire", "google"], "nothing.jsonl"],
    ["tools that are none", [trajectories, "--tools", trajectories, "--wire", "google"], "is no JSON"],
    ["conversations that are none", [toolsFile, "--tools", toolsFile, "--wire", "google"], "tools.json:1 is no"],
  ])("ends with 2 for wrong usage: %s", async (_, args, expected) => {
    const { code, stdout, stderr } = await main(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(expected);
    expect(stderr).toContain("TRAJECTORIES.jsonl --tools TOOLS.json --wire");
  });
});

/** A conversation up to the first calls. */
async function begun({ messages }: Recorded, name: (typeof wireNames)[number]) {
  const wire = wireNamed(name);
  const answers = messages.slice(messages[0]!.role === "assistant" ? 1 : 0);
  const model = replayModel(wire.adapter, answers.filter((message) => message.role === "assistant").map(wire.encode));
  const agent = createAgent(model, tools, memoryStore());
  const user = messages.find((message) => message.role === "user")!;
  const { message, state } = await agent.getNextMessage(user, agent.getInitState());
  return [message as AgentMessage, { agent, model, state }] as const;
}

function result(id: string, content: string): ToolMessage {
  return { role: "tool", tool_call_id: id, content };
}

/** The model was sent every recorded result, in the order of the calls. */
function expectResults(sent: readonly unknown[], { messages }: Recorded): void {
  const text = JSON.stringify(sent);
  let from = 0;
  for (const content of resultsInCallOrder(messages)) {
    const written = JSON.stringify(content).slice(1, -1);
    const at = text.indexOf(written, from);
    expect(at, `${written} behind ${from}`).toBeGreaterThanOrEqual(from);
    from = at + written.length;
  }
}

/** Of the calls that the model heard the results of. */
function resultsInCallOrder(messages: readonly RecordedMessage[]): string[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(0, last).flatMap((message, at) => {
    const results = messages.slice(
      at + 1,
      messages.findIndex(({ role }, next) => next > at && role !== "tool"),
    );
    return callsIn([message]).map(({ id }) => {
      const found = results.findIndex((one) => one.role === "tool" && one.tool_call_id === id);
      return results.splice(found, 1)[0]!.content as string;
    });
  });
}

function callsIn(messages: readonly RecordedMessage[]) {
  return messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []));
}

function main(...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const script = join(root, "examples/benchmark/main.ts");
  return new Promise((done) => {
    execFile(process.execPath, [script, ...args], { cwd: root }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}
