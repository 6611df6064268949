/**
 * Plays recorded conversations of a benchmark through the Orchestrator, and checks that the calls are as recorded.
 * Outside this repository, `../../src/run/index.ts` is `toolstream/run`.
 */
import { commandLine } from "../command-line.ts";
import { drive } from "./drive.ts";
import { readConversations, readTools } from "./recording.ts";
import { wireNamed, wireNames } from "./wires.ts";

const usage = `node examples/benchmark/main.ts TRAJECTORIES.jsonl --tools TOOLS.json --wire ${wireNames.join("|")}

Prints { conversations, calls, pauses, mismatches } as JSON. Exits with 1 if anything differs (details are on
stderr), and with 2 for wrong usage.`;

const given = input();
if (given === undefined) process.exitCode = 2;
else {
  const { conversations, tools, wire } = given;
  const totals = { conversations: conversations.length, calls: 0, pauses: 0, mismatches: 0 };
  for (const conversation of conversations) {
    const { calls, pauses, mismatches } = await drive(conversation, wire, tools);
    totals.calls += calls;
    totals.pauses += pauses;
    totals.mismatches += mismatches.length;
    for (const mismatch of mismatches) console.error(mismatch);
  }
  console.log(JSON.stringify(totals));
  process.exitCode = totals.mismatches === 0 ? 0 : 1;
}

/** The parsed arguments; `undefined`, after a message, if they are unusable. */
function input() {
  const options = { tools: { type: "string" }, wire: { type: "string" } } as const;
  const { values, positionals } = commandLine(usage, { options, allowPositionals: true });
  try {
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0 || values.tools === undefined) {
      throw new Error("One file of conversations is expected, and --tools and --wire.");
    }
    const name = wireNames.find((known) => known === values.wire);
    if (name === undefined) {
      const what = values.wire === undefined ? "--wire is missing" : `there is no wire ${JSON.stringify(values.wire)}`;
      throw new Error(`${what}; known are ${wireNames.join(", ")}.`);
    }
    return { conversations: readConversations(file), tools: readTools(values.tools), wire: wireNamed(name) };
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`);
    return undefined;
  }
}
