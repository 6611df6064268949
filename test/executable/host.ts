// A host for host.test.ts: calls the program that it is told to, and then ends as it is told to.
import { loadExecutable } from "../../src/executable/index.ts";

const [path = "", ending = ""] = process.argv.slice(2);
if (ending === "own-handler") process.on("SIGINT", () => process.exit(7));
const tool = await loadExecutable(path, { env: { TEST_MARK: process.env["TEST_MARK"] ?? "" } });
const listeners = () => ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
const before = listeners();
const running = tool.use({}).execute({
  async progress() {
    console.log("running");
    if (ending === "exit") process.exit(3);
    if (ending === "throw") setImmediate(() => JSON.parse("no JSON"));
  },
});
if (ending === "listeners") {
  await running;
  console.log(JSON.stringify(before) === JSON.stringify(listeners()));
}
