import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Job, JobResult } from "./job.ts";

export interface Processes {
  run(job: Job): Promise<JobResult>;
  close(): void;
}

/**
 * A process for each job, so that none is affected by what V8 has learned from another; with `shared`, one for all jobs
 * of a wire, which saves starting more.
 */
export function createProcesses({ shared }: { readonly shared: boolean }): Processes {
  const open = new Map<string, ChildProcess>();
  return {
    async run(job) {
      const key = shared ? job.wire : "";
      const child = open.get(key) ?? start();
      if (shared) open.set(key, child);
      const settled = new AbortController();
      const { signal } = settled;
      const answer = Promise.race([once(child, "message", { signal }), once(child, "exit", { signal })]);
      child.send(job);
      const [said, signalled] = (await answer) as [JobResult | { error: string } | number | null, string?];
      // Removes the other listener.
      settled.abort();
      if (typeof said !== "object" || said === null) {
        open.delete(key); // it is disconnected already
        throw new Error(`The process of a job ended with ${said ?? signalled}.`);
      }
      if (!shared) child.disconnect();
      if ("error" in said) throw new Error(said.error);
      return said;
    },
    close() {
      for (const child of open.values()) child.disconnect();
      open.clear();
    },
  };
}

function start(): ChildProcess {
  return fork(new URL("worker.ts", import.meta.url), {
    // For large streams with one event per chunk, the views alone take hundreds of megabytes.
    execArgv: ["--max-old-space-size=6144"],
    stdio: ["ignore", 2, 2, "ipc"],
  });
}
