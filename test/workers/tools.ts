import { appendFileSync } from "node:fs";
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

/** The tools of callers and workers alike; their handlers note in a file what they do. */
export function toolsAt(file: string): readonly Tool[] {
  const note = (what: Noted["what"], tool: string, key: string, attempt = 0) =>
    appendFileSync(file, `${JSON.stringify({ what, tool, key, pid: process.pid, attempt } satisfies Noted)}\n`);

  /** Takes its time, and ends early when it is told to. */
  const slow = (name: string, effect: "read" | "idempotent" | "write", more: object = {}) =>
    defineTool({
      name,
      effect,
      inputSchema: z.object({ ms: z.number() }),
      execute: async ({ ms }, { idempotencyKey, attempt, signal }) => {
        note("begin", name, idempotencyKey, attempt);
        try {
          await wait(ms, undefined, { signal });
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
