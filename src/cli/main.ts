#!/usr/bin/env node
import { createRequire } from "node:module";
import { isToolError } from "../errors.ts";
import { didYouMean } from "../tool/option-names.ts";
import { printable } from "./text.ts";
import { CommandError } from "./usage-error.ts";

interface Command {
  readonly usage: string;
  /** @returns the exit status */
  run(args: readonly string[]): Promise<number>;
}

/** Loaded on demand: most of them need the adapters, and some the clients of the providers. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  replay: () => import("./replay.ts"),
  serve: () => import("./serve.ts"),
  record: () => import("./record.ts"),
  schema: () => import("./schema.ts"),
  tools: () => import("./tools.ts"),
  exec: () => import("./exec.ts"),
  demo: () => import("./demo.ts"),
};

async function help(): Promise<string> {
  const loaded = await Promise.all(Object.values(commands).map((load) => load()));
  return `toolstream: an LLM provider's stream, as validated, executable tool calls

${loaded.map(({ usage }) => `  ${usage.split("\n")[0]!}\n      ${purposeIn(usage)}`).join("\n")}

toolstream COMMAND --help explains a command; toolstream --version prints the version.
`;
}

/** The first sentence below the line of the command. */
function purposeIn(usage: string): string {
  return usage
    .split("\n\n")[1]!
    .replaceAll("\n", " ")
    .replace(/(?<=\.) .*/, "");
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "help" && args.length > 0) return main([args[0]!, "--help"]);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(await help());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    const { version } = createRequire(import.meta.url)("toolstream/package.json") as { version: string };
    process.stdout.write(`${version}\n`);
    return 0;
  }
  if (!Object.hasOwn(commands, name)) {
    process.stderr.write(
      `toolstream: there is no command ${JSON.stringify(name)}.${didYouMean(name, Object.keys(commands))}\n\n${await help()}`,
    );
    return 2;
  }
  const command = await commands[name]!();
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${command.usage}\n`);
    return 0;
  }
  return command.run(args);
}

// A reader that has seen enough (`| head`) is not an error; a full disk is.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  fail(`the output cannot be written: ${error.message}`, 1);
  process.exit();
});
// If nobody reads stderr, the output is still produced.
process.stderr.on("error", () => {});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // What the user can fix is reported without a stack; anything else is a bug and keeps its stack.
  if (error instanceof CommandError) fail(error.message, error.exitStatus);
  else if (isToolError(error)) fail(error.message, 1);
  else fail((error as Error)?.stack ?? String(error), 1);
}
// A module of tools may hold connections or timers, which must not keep the command running.
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))));
process.exit();

function fail(message: string, status: number): void {
  process.stderr.write(`toolstream: ${printable(message)}\n`);
  process.exitCode = status;
}
