/** Processes against each other, on one store. */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { Orchestrator } from "../../src/run/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { counted, external, scripted } from "./script.ts";
import { temporary } from "../temporary.ts";

const RUNS = 200;

describe("two processes", () => {
  it(`that resume the same run ${RUNS} times: one wins each time`, async () => {
    const database = join(temporary(), "race.db");
    const store = sqliteStore(database);
    const write = counted("write");
    const tools = [write.tool, external("ask")];
    const orchestrator = new Orchestrator({ model: scripted({ calls: [{ name: "ask" }] }), tools, store });
    const children = [start(database), start(database)];
    await Promise.all(children.map((child) => child.line("ready")));

    for (let index = 0; index < RUNS; index++) {
      const conversationId = `race-${index}`;
      await orchestrator.run({ conversationId, input: "Go" });
      const ends = await Promise.all(children.map((child) => child.go(conversationId)));
      const said = ends.flat();
      expect([index, said.filter((line) => line === "end completed").length]).toEqual([index, 1]);
      expect([index, said.filter((line) => line === "body").length]).toEqual([index, 1]);
      expect(said.find((line) => line.startsWith("end ") && line !== "end completed")).toMatch(
        /^end (already_answered|run_busy|unknown_call)$/,
      );
      const events = await eventsOf(orchestrator, conversationId, store);
      expect(events.filter((type) => type === "tool.completed")).toHaveLength(1);
    }
    for (const child of children) child.end();
    await store.close();
  });
});

async function eventsOf(orchestrator: Orchestrator, conversationId: string, store: ReturnType<typeof sqliteStore>) {
  const { runId } = (await orchestrator.get(conversationId))!;
  return (await store.list<{ type: string }>(`event/${runId}/`)).map(({ value }) => value.type);
}

function start(database: string) {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, "race-child.ts"), database], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  let wake: (() => void) | undefined;
  createInterface({ input: child.stdout! }).on("line", (line) => {
    lines.push(line);
    wake?.();
  });
  const until = async (matches: (line: string) => boolean): Promise<string[]> => {
    for (;;) {
      const at = lines.findIndex(matches);
      if (at !== -1) return lines.splice(0, at + 1);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    line: (text: string) => until((line) => line === text),
    go(conversationId: string) {
      child.stdin!.write(`go ${conversationId}\n`);
      return until((line) => line.startsWith("end "));
    },
    end: () => child.stdin!.end(),
  };
}
