import { createInterface } from "node:readline/promises";
import type { ApprovalRequest, Decision } from "../../src/execute/approvals/index.ts";

/** The person at the terminal, or the flags if there is none. */
export interface Terminal {
  /** `undefined` if it was decided elsewhere, or has to be. */
  decide(request: ApprovalRequest, elsewhere: AbortSignal): Promise<Decision["decision"] | undefined>;
  wantsUndo(): Promise<boolean>;
  close(): void;
}

export interface Flags {
  readonly approve: boolean;
  readonly deny: boolean;
  readonly undo: boolean;
}

export function createTerminal({ approve, deny, undo }: Flags): Terminal {
  const lines = process.stdin.isTTY ? createInterface({ input: process.stdin, output: process.stdout }) : undefined;
  return {
    async decide(request, elsewhere) {
      console.log(`approval requested ${request.id}: ${plain(`${request.message} ${JSON.stringify(request.input)}`)}`);
      if (approve || deny) return approve ? "approve" : "deny";
      try {
        const answer = await lines?.question("Approve? [y/n] ", { signal: elsewhere });
        return answer === undefined ? undefined : answer.trim().toLowerCase().startsWith("y") ? "approve" : "deny";
      } catch {
        console.log(); // decided elsewhere while the question was on screen
        return undefined;
      }
    },
    async wantsUndo() {
      if (undo || lines === undefined) return undo;
      return (await lines.question("Undo it? [y/n] ")).trim().toLowerCase().startsWith("y");
    },
    close: () => lines?.close(),
  };
}

/** Text from a model must not move the cursor or hide the question. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "?");
}
