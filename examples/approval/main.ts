/**
 * A model asks to refund an order. A person approves it here in the terminal, or over a WebSocket, and may undo it.
 * Kill this process between the request and the decision (kill -9) and start it again: it continues where it was.
 *
 * Read it from top to bottom. `model.ts` is what the model wants, `shop.ts` the tools, `server.ts` the WebSocket
 * server, `terminal.ts` the person. Outside this repository, `../../src/execute/approvals/index.ts` is
 * `toolstream/approvals`.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor, type Outcome } from "../../src/execute/index.ts";
import { storeKey } from "../../src/store/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { commandLine, leave, openFolder } from "../command-line.ts";
import { askModel, type WantedCall } from "./model.ts";
import { serveApprovals } from "./server.ts";
import { shopTools } from "./shop.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

const usage = `node examples/approval/main.ts [--state DIR] [--port N] [--approve | --deny] [--undo] [--reset]

  --state DIR       where the requests are kept
  --port N          of the WebSocket server; default: a free one
  --approve, --deny answer the question, for scripts
  --undo            undo the refund
  --reset           forget what is kept`;

const { values: options } = commandLine(usage, {
  options: {
    state: { type: "string", default: join(tmpdir(), "toolstream-approval") },
    port: { type: "string", default: "0" },
    approve: { type: "boolean", default: false },
    deny: { type: "boolean", default: false },
    undo: { type: "boolean", default: false },
    reset: { type: "boolean", default: false },
  },
});

if (!/^\d{1,5}$/.test(options.port) || Number(options.port) > 65_535)
  leave(`--port is a number from 0 to 65535, got ${JSON.stringify(options.port)}.`, 2);
openFolder(options.state, options);

const store = sqliteStore(join(options.state, "approvals.db"));
const tools = shopTools(join(options.state, "refunds.txt"));
/** The user that the model acts for, who may not approve its own requests. */
const clerk = { id: "clerk", role: "clerk" };
const manager = { id: "manager", role: "manager" };

const approvals = new ApprovalService({ store, tools, mayDecide: ({ role }) => role === "manager" });
const executor = new ToolExecutor({
  tools,
  store,
  approvals,
  onEvent: ({ type, toolName }) => console.log(`  ${type} (${toolName})`),
});

const terminal = createTerminal(options);
const server = await serveApprovals(approvals, { port: Number(options.port), principal: manager }).catch(
  (error: Error) => leave(`The WebSocket server cannot listen: ${error.message}`, 1),
);
console.log(`Decide here, or over ${server.url}`);
try {
  const outcomes = await execute(await wantedCalls());
  for (const outcome of outcomes) console.log(`${outcome.toolName}: ${describe(outcome)}`);
  for (const outcome of outcomes) {
    if (outcome.status === "completed" && outcome.undoableUntil !== null && !outcome.undone) await offerUndo(outcome);
  }
} finally {
  terminal.close();
  await server.close();
  await store.close();
}

/** The model's calls are stored before anything is done about them, so that a new process does not ask it again. */
async function wantedCalls(): Promise<{ runId: string; calls: readonly WantedCall[] }> {
  const key = storeKey("example", "run");
  const kept = await store.get<{ runId: string; calls: readonly WantedCall[] }>(key);
  if (kept !== undefined) {
    console.log(`Going on with ${kept.value.runId}`);
    return kept.value;
  }
  const runId = `run_${crypto.randomUUID()}`;
  return (await store.put(key, { runId, calls: await askModel(tools, runId) })).value;
}

/** Executes all calls; those that need approval wait for it, wherever it is given. */
async function execute(run: { runId: string; calls: readonly WantedCall[] }): Promise<Outcome[]> {
  const uses = run.calls.map(({ name, input, id, invocationId }) => {
    const tool = tools.find((one) => one.name === name)!;
    return tool.use(input, { id, invocationId });
  });
  const done = new AbortController();
  const asking = askPerson(terminal, done.signal);
  const outcomes = await executor.executeAll(uses, { runId: run.runId, principal: clerk });
  done.abort();
  await asking;
  return outcomes;
}

/** Asks in the terminal, until the request is decided here or elsewhere. */
async function askPerson({ decide }: Terminal, signal: AbortSignal): Promise<void> {
  for await (const { type, request } of approvals.subscribe({ signal })) {
    if (type === "approval.decided") {
      console.log(`${request.status} by ${request.decidedBy}: ${request.message}`);
    } else if (request.status === "pending") {
      const elsewhere = new AbortController();
      const decided = approvals.await(request.id, { signal }).finally(() => elsewhere.abort());
      decided.catch(() => {});
      const decision = await decide(request, elsewhere.signal);
      // The first decision counts: if somebody was faster, this throws and says so.
      if (decision === undefined) await decided.catch(() => {});
      else
        await approvals.decide(request.id, { decision }, manager).catch((error: Error) => console.log(error.message));
    }
  }
}

async function offerUndo({ actionId }: Outcome): Promise<void> {
  if (!(await terminal.wantsUndo())) return;
  const undone = await executor.undo(actionId, clerk);
  console.log(undone.status === "undone" ? undone.message : undone.error.message);
}

/** What the model is told. */
function describe(outcome: Outcome): string {
  if (outcome.status === "completed") return JSON.stringify(outcome.output) + (outcome.undone ? ", undone since" : "");
  return outcome.status === "awaiting_approval" ? "waits" : outcome.error.message;
}
