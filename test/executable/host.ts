// A host for host.test.ts: calls the program that it is told to, and then ends as it is told to.
import { loadExecutable } from "../../src/executable/index.ts";

const [path = "", ending = ""] = process.argv.slice(2);
if (ending === "own-handler") process.on("SIGINT", () => process.exit(7));
if (ending === "own-handler-once") process.once("SIGTERM", () => setTimeout(() => process.exit(8), 100));
if (ending === "signal-exit") listenAsSignalExit();
if (ending === "another-copy") await runInAnotherCopy();
const tool = await loadExecutable(path, { env: { TEST_MARK: process.env["TEST_MARK"] ?? "" } });
const listeners = () => ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
const before = listeners();
if (ending === "many") {
  const outcomes = await Promise.allSettled(Array.from({ length: 60 }, () => tool.use({}).execute()));
  const codes = outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.cause?.code : "done"));
  console.log(JSON.stringify([...new Set(codes)].toSorted()));
  console.log(await tool.use({}).execute()); // it is over, and there is room again
  process.exit();
}
const quick = await loadExecutable(path, { env: { QUICK: "1" } });
const running = tool.use({}).execute({
  async progress() {
    if (ending === "after-another") await quick.use({}).execute();
    console.log("running");
    if (ending === "exit") process.exit(3);
    if (ending === "throw") setImmediate(() => JSON.parse("no JSON"));
  },
});
if (ending === "listeners") {
  await running;
  console.log(JSON.stringify(before) === JSON.stringify(listeners()));
}

/** Another copy of the library, as of two packages that depend on it, has a program running: one that never was. */
async function runInAnotherCopy() {
  const { enterGroup } = (await import(`${import.meta.dirname}/../../src/executable/group.ts?copy`)) as {
    enterGroup(pid: number): void;
  };
  enterGroup(2 ** 31 - 1);
}

/** As signal-exit 4 does: https://github.com/tapjs/signal-exit/blob/v4.1.0/src/index.ts */
function listenAsSignalExit() {
  const emitter = { count: 1 };
  Object.assign(globalThis, { [Symbol.for("signal-exit emitter")]: emitter });
  const onSignal = () => {
    if (process.listeners("SIGINT").length !== emitter.count) return;
    process.off("SIGINT", onSignal);
    process.kill(process.pid, "SIGINT");
  };
  process.on("SIGINT", onSignal);
}
