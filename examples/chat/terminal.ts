import { createInterface } from "node:readline";

/** The person at the terminal, or a script at the other end of a pipe. */
export interface Terminal {
  /** The line that was typed; `undefined` at the end of input. */
  ask(question: string): Promise<string | undefined>;
  /** Prints a line. */
  say(text: string): void;
  write(text: string): void;
  endLine(): void;
  close(): void;
}

export function createTerminal(): Terminal {
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  let isInLine = false;
  const endLine = (): void => {
    if (isInLine) process.stdout.write("\n");
    isInLine = false;
  };
  const write = (text: string): void => {
    process.stdout.write(plain(text));
    isInLine = text !== "";
  };
  return {
    async ask(question) {
      endLine();
      write(question);
      const { value, done } = await lines.next();
      isInLine = done === true || !process.stdin.isTTY;
      return done === true ? undefined : value;
    },
    say(text) {
      endLine();
      console.log(plain(text));
    },
    write,
    endLine,
    close: () => input.close(),
  };
}

/** Text from a model must not move the cursor or hide the question. */
function plain(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, "?");
}
