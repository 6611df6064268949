/** `examples/chat`, as a person uses it. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { NeutralTurn } from "./encode.ts";
import { serveTurns } from "./served.ts";
import { temporary } from "../temporary.ts";

const MAIN = join(import.meta.dirname, "../../examples/chat/main.ts");

let state: string;
beforeEach(() => {
  state = temporary();
});

interface Session {
  /** Answers when the question stands there. */
  answer(question: string, line: string): Promise<void>;
  /** All that it printed, once it has ended. */
  readonly ended: Promise<string>;
  end(): void;
  kill(): void;
  /** Ctrl-C. */
  interrupt(): void;
}

function start(wire: string, more: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Session {
  const args = [MAIN, "--wire", wire, "--state", state, ...more];
  const child = spawn(process.execPath, args, { stdio: "pipe", env: { ...process.env, ...env } });
  let output = "";
  let seen = 0;
  let look = (): void => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      look();
    });
  }
  const ended = new Promise<string>((resolve) => child.on("close", () => resolve(output)));
  return {
    ended,
    async answer(question, line) {
      await new Promise<void>((resolve, reject) => {
        look = () => {
          const at = output.indexOf(question, seen);
          if (at >= 0) seen = at + question.length;
          if (at >= 0) resolve();
        };
        void ended.then(() => reject(new Error(`It ended without asking ${question}:\n${output}`)));
        look();
      });
      if (line !== "") child.stdin.write(`${line}\n`);
    },
    end: () => child.stdin.end(),
    kill: () => child.kill("SIGKILL"),
    interrupt: () => child.kill("SIGINT"),
  };
}

describe.each(["openai", "anthropic"])("the chat, with %s", (wire) => {
  it("goes on where it was killed, and where it was left", async () => {
    const first = start(wire);
    await first.answer("> ", " "); // nothing is said, so it asks again
    await first.answer("> ", "Hello");
    await first.answer("get_weather", "rainy");
    await first.answer("get_weather", "");
    first.kill();
    await first.ended;

    const second = start(wire);
    await second.answer("awaiting_tool_results", "");
    await second.answer("get_weather", "sunny");
    await second.answer("[y/n] ", "");
    second.end();
    expect(await second.ended).toContain("Paused (awaiting_approval).");

    const third = start(wire);
    await third.answer("[y/n] ", "y");
    await third.answer("> ", "");
    third.end();
    const said = await third.ended;
    expect(said).toMatch(/^> Hello\n(?:.+\n)?Going on with/);
    expect(said).toContain("tool.completed (refund_order)");
    expect(said).toMatch(/└─ ✓ turn 2 {2}stop/);
    expect(said).toContain("Goodbye.");
    expect(readFileSync(join(state, "refunds.txt"), "utf8").trim().split("\n")).toHaveLength(1);
  });

  it("executes nothing that was denied", async () => {
    const session = start(wire);
    await session.answer("> ", "Hello");
    await session.answer("get_weather", "rainy");
    await session.answer("get_weather", "sunny");
    await session.answer("[y/n] ", "n");
    await session.answer("> ", "");
    session.end();
    expect(await session.ended).toContain("tool.denied (refund_order)");
    expect(() => readFileSync(join(state, "refunds.txt"))).toThrow("ENOENT");
  });

  it("stops an answer at Ctrl-C, and the model is told what was seen", async () => {
    const said = "Once upon a time";
    const turns: NeutralTurn[] = [{ text: said, cut: { after: said, how: "stall" } }, { text: "there was a castle." }];
    const server = await serveTurns((_, count) => turns[count]!);
    const base = wire === "openai" ? `${server.url}/openai-chat/story/v1` : `${server.url}/anthropic/story`;
    const env = { [`${wire.toUpperCase()}_API_KEY`]: "none", [`${wire.toUpperCase()}_BASE_URL`]: base };
    const session = start(wire, ["--live"], env);
    await session.answer("> ", "Tell me a story.");
    await session.answer(said, "");
    session.interrupt();
    await session.answer("> ", "Go on.");
    await session.answer("there was a castle.", "");
    session.end();
    expect(await session.ended).toContain("Goodbye.");
    const { messages } = server.requests[1]!.body as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role).filter((role) => role !== "system")).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(messages.at(-2))).toContain(said);
    await server.close();
  });
});
