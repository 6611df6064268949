/**
 * The cost of an execution under rules: 10,000 calls of a tool that does nothing, through the executor (a store in
 * memory, events on), compared with calling the handler directly and with `use.execute()`.
 *
 *     node bench/execute.bench.ts [calls, default 10000]
 *
 * Guards: the cost of a call does not grow with the earlier calls of its run (the first and the last tenth of a run
 * cost the same), and stays far below that of one request to a model.
 */
import { ToolExecutor } from "../src/execute/index.ts";
import { defineTool, jsonSchema, type ToolUse } from "../src/index.ts";
import { memoryStore } from "../src/store/index.ts";

const calls = Number(process.argv[2] ?? 10_000);

let ran = 0;
const inputSchema = jsonSchema<{ n: number }>({
  type: "object",
  properties: { n: { type: "number" } },
  required: ["n"],
});
const execute = async ({ n }: { n: number }) => {
  ran++;
  return n;
};
const noop = defineTool({ name: "noop", inputSchema, execute });
/** The same under rules that look at what happened earlier in the run. */
const ruled = defineTool({ name: "noop", inputSchema, execute, requires: "noop", maxCallsPerRun: 1_000_000 });

interface Row {
  readonly name: string;
  /** Runs this many calls, one after the other. */
  run(uses: readonly ToolUse[]): Promise<void>;
}

let events = 0;
const onEvent = () => void events++;
const executor = (options: object = {}) => {
  const one = new ToolExecutor({ tools: [noop], store: memoryStore(), onEvent, ...options });
  return async (uses: readonly ToolUse[]) => {
    for (const use of uses) await one.execute(use, { runId: "run" });
  };
};

/** Each call requires another one to have succeeded in its run, and is counted. */
function withHistory(): Row["run"] {
  const store = memoryStore();
  const before = new ToolExecutor({ tools: [noop], store, onEvent });
  const under = executor({ tools: [ruled], store });
  let isReady: Promise<unknown> | undefined;
  return async (uses) => {
    // The required call, not counted.
    isReady ??= before.execute(noop.use({ n: 0 }, { invocationId: "first" }), { runId: "run" }).then(() => ran--);
    await isReady;
    await under(uses);
  };
}

const rows: Row[] = [
  {
    name: "the handler, directly",
    run: async (uses) => {
      for (const { input, invocationId } of uses) await noop.execute!(input, { invocationId } as never);
    },
  },
  {
    name: "use.execute()",
    run: async (uses) => {
      for (const use of uses) await use.execute();
    },
  },
  { name: "executor, events stored", run: executor() },
  { name: "executor, events told only", run: executor({ storeEvents: false }) },
  { name: "executor, rules over the run", run: withHistory() },
];

console.log(`${calls} calls of a no-op`);
let floor = 0;
for (const { name, run } of rows) {
  await run(make(Math.min(calls, 500), "warm"));
  const tenth = Math.ceil(calls / 10);
  const uses = make(calls, "run");
  const times: number[] = [];
  for (let at = 0; at < calls; at += tenth) times.push(await timed(() => run(uses.slice(at, at + tenth))));
  const each = (times.reduce((sum, time) => sum + time, 0) / calls) * 1000;
  floor ||= each;
  const growth = times.length < 2 ? 1 : times.at(-1)! / times[1]!;
  console.log(
    `  ${name.padEnd(28)} ${each.toFixed(2).padStart(8)} µs a call ${(each / floor).toFixed(0).padStart(5)} x` +
      `   last tenth to second tenth ${growth.toFixed(2)}`,
  );
}
if (ran !== rows.length * (calls + Math.min(calls, 500))) throw new Error(`${ran} calls ran`);
if (events === 0) throw new Error("no events were told");

function make(count: number, label: string): ToolUse[] {
  return Array.from({ length: count }, (_, n) =>
    noop.use({ n }, { id: `call_${label}_${n}`, invocationId: `${label}-0-${n}` }),
  );
}

async function timed(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}
