import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/index.ts";

/** What a handler notes when it begins and when it ends: a line each, from whichever process. */
export interface Noted {
  readonly what: "begin" | "end" | "aborted" | "undone";
  readonly tool: string;
  readonly key: string;
  readonly pid: number;
  readonly attempt: number;
}

/** Lets the handlers end that wait for it. */
export function letEnd(file: string): void {
  writeFileSync(endOf(file), "");
}

function endOf(file: string): string {
  return `${file}.end`;
}

/** The tools of callers and workers alike; their handlers note in a file what they do. */
export function toolsAt(file: string): readonly Tool[] {
  const note = (what: Noted["what"], tool: string, key: string, attempt = 0) =>
    appendFileSync(file, `${JSON.stringify({ what, tool, key, pid: process.pid, attempt } satisfies Noted)}\n`);

  /** Takes its time (of less than 0: until {@link letEnd}), and ends early when it is told to. */
  const slow = (name: string, effect: "read" | "idempotent" | "write", more: object = {}) =>
    defineTool({
      name,
      effect,
      inputSchema: z.object({ ms: z.number() }),
      execute: async ({ ms }, { idempotencyKey, attempt, signal }) => {
        note("begin", name, idempotencyKey, attempt);
        try {
          do await wait(ms < 0 ? 20 : ms, undefined, { signal });
          while (ms < 0 && !existsSync(endOf(file)));
        } catch (error) {
          note("aborted", name, idempotencyKey, attempt);
          throw error;
        }
        note("end", name, idempotencyKey, attempt);
        return { slept: ms, attempt };
      },
      ...more,
    });

  return [
    slow("look", "read"),
    slow("set", "idempotent"),
    slow("book", "write", {
      undo: ({ data }: { data: unknown }, { idempotencyKey }: { idempotencyKey: string }) =>
        note("undone", JSON.stringify(data), idempotencyKey),
    }),
    slow("hurried", "write", { timeoutMs: 300 }),
    defineTool({
      name: "block",
      inputSchema: z.object({ ms: z.number() }),
      execute: ({ ms }, { idempotencyKey, attempt }) => {
        note("begin", "block", idempotencyKey, attempt);
        // The event loop stands still: no lock is renewed meanwhile.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
        note("end", "block", idempotencyKey, attempt);
        return "done";
      },
    }),
  ];
}
