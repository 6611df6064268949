/**
 * A chat in the terminal, with a tool that you execute yourself and one that you have to approve.
 * Ctrl-C stops an answer. Leave at any question (Ctrl-D, or kill -9) and start it again: it continues where it was.
 *
 * `model.ts` is who answers, `tools.ts` what it may do, `terminal.ts` is you. Outside this repository,
 * `../../src/run/index.ts` is `toolstream/run`.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isToolError } from "../../src/errors.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { Orchestrator, type OrchestrationResult, type ResumeOptions, type RunStream } from "../../src/run/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { commandLine, leave, openFolder } from "../command-line.ts";
import { connect } from "./model.ts";
import { createTerminal } from "./terminal.ts";
import { chatTools } from "./tools.ts";

const usage = `node examples/chat/main.ts [--wire openai | anthropic] [--state DIR] [--reset] [--live]

  --wire NAME  whose API the model has: openai (default) or anthropic
  --state DIR  where the conversation is kept
  --reset      begin a new one
  --live       ask the real model, with the key in OPENAI_API_KEY or ANTHROPIC_API_KEY`;

const { values: options } = commandLine(usage, {
  options: {
    wire: { type: "string", default: "openai" },
    state: { type: "string", default: join(tmpdir(), "toolstream-chat") },
    reset: { type: "boolean", default: false },
    live: { type: "boolean", default: false },
  },
});

const { model, close } = await connect(options).catch((error: Error) => leave(error.message, 2));
openFolder(options.state, options);

const conversationId = `chat-${options.wire}`;
const store = sqliteStore(join(options.state, "chat.db"));
const tools = chatTools(join(options.state, "refunds.txt"));
const orchestrator = new Orchestrator({ model, tools, store, approvals: new ApprovalService({ store, tools }) });
const terminal = createTerminal();

try {
  await chat();
} finally {
  terminal.close();
  await close();
  await store.close();
}

/** Starts the run, or goes on with it. */
type Start = (signal: AbortSignal) => RunStream;

async function chat(): Promise<void> {
  let result = await orchestrator.get(conversationId);
  for (const { role, text } of (await orchestrator.transcript(conversationId)) ?? []) {
    if (text !== "") terminal.say(role === "user" ? `> ${text}` : text);
  }
  if (result !== undefined) terminal.say(`Going on with ${conversationId} (${result.status}).`);
  for (;;) {
    const isOver = result === undefined || result.status === "completed" || result.error?.code === "aborted";
    const start = isOver ? await begin() : await goOn(result!);
    if (start === undefined) break;
    result = await told(start);
  }
  const status = result?.status ?? "completed";
  terminal.say(status === "completed" ? "Goodbye." : `Paused (${status}). Start again to go on.`);
}

/** Starts a run with what the user says. */
async function begin(): Promise<Start | undefined> {
  let input: string | undefined;
  do input = await terminal.ask("> ");
  while (input?.trim() === "");
  if (input === undefined) return undefined;
  // After an answer that was stopped, calls may be open: what is said instead gives them up.
  return (signal) => orchestrator.stream({ conversationId, input, whenOpen: "cancel", signal });
}

/** Provides one of the things that the run waits for. */
async function goOn({ pendingToolCalls, pendingApprovals, error }: OrchestrationResult): Promise<Start | undefined> {
  const [call] = pendingToolCalls;
  const [approval] = pendingApprovals;
  if (call !== undefined) {
    const answer = await terminal.ask(`${call.name} ${JSON.stringify(call.arguments)} = `);
    return answer === undefined ? undefined : resume({ toolResults: [{ toolCallId: call.id, result: answer }] });
  }
  if (approval !== undefined) {
    const answer = await terminal.ask(`${approval.message} [y/n] `);
    const decision = answer?.startsWith("y") === true ? "approve" : "deny";
    return answer === undefined ? undefined : resume({ approvals: [{ id: approval.id, decision }] });
  }
  const again = await terminal.ask(`${error?.message ?? "It was interrupted."}\nAgain? [y/n] `);
  return again?.startsWith("y") === true ? resume({}) : undefined;
}

function resume(brought: ResumeOptions): Start {
  return (signal) => orchestrator.resumeStream(conversationId, { ...brought, signal });
}

/** Shows a run as it happens, until it ends or Ctrl-C stops it. */
async function told(start: Start): Promise<OrchestrationResult> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once("SIGINT", onInterrupt);
  try {
    const stream = start(stop.signal);
    for await (const event of stream) {
      if (event.type === "text-delta" || event.type === "refusal-delta") terminal.write(event.delta);
      if (event.type === "tool.completed" || event.type === "tool.failed" || event.type === "tool.denied") {
        terminal.say(`  ${event.type} (${event.toolName})`);
      }
    }
    terminal.endLine();
    const result = await stream.result;
    if (result.status === "completed") terminal.say(result.tree.toText());
    if (stop.signal.aborted) terminal.say("Stopped.");
    return result;
  } catch (error) {
    // A process that was killed in the middle of its work still has the conversation, for half a minute at most.
    if (!isToolError(error) || error.code !== "run_busy") throw error;
    return (await orchestrator.get(conversationId))!;
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}
