import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isToolError } from "../../src/errors.ts";
import type { Store, StoreEntry } from "../../src/store/index.ts";
import { openBackend, type Backend } from "./backends.ts";

/** One process more at the same data. Run by itself, this file is that process. */
export interface StoreProcess {
  /** A verb of the store, there. */
  call(verb: "get" | "put" | "delete" | "list" | "close", ...args: unknown[]): Promise<unknown>;
  /** Adds 1 to a number so often, comparing and setting; gives the versions that each write found and left. */
  count(key: string, times: number): Promise<readonly Won[]>;
  kill(): Promise<void>;
}

export interface Won {
  readonly found: number;
  readonly left: number;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export async function startProcess(backend: Backend): Promise<StoreProcess> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(backend)], { stdio: "inherit" });
  const open = new Map<number, { done(value: unknown): void; fail(error: Error): void }>();
  let lastId = 0;
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  child.on("message", ({ id, result, error }: Answer) => {
    const waiting = open.get(id)!;
    open.delete(id);
    if (error === undefined) waiting.done(result);
    else waiting.fail(new Error(error));
  });
  child.once("close", () => {
    for (const { fail } of open.values()) fail(new Error("the process ended"));
  });
  const ask = (verb: string, args: unknown[]) =>
    new Promise<unknown>((done, fail) => {
      open.set(++lastId, { done, fail });
      child.send({ id: lastId, verb, args });
    });
  await ask("list", ["nothing"]);
  return {
    call: (verb, ...args) => ask(verb, args),
    count: (key, times) => ask("count", [key, times]) as Promise<readonly Won[]>,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function count(store: Store, key: string, times: number): Promise<readonly Won[]> {
  const won: Won[] = [];
  while (won.length < times) {
    const entry: StoreEntry<number> | undefined = await store.get<number>(key);
    const found = entry?.version ?? 0;
    try {
      const { version: left } = await store.put(key, (entry?.value ?? 0) + 1, { expectedVersion: found });
      won.push({ found, left });
    } catch (error) {
      if (!isToolError(error) || error.code !== "version_conflict") throw error;
    }
  }
  return won;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.send !== undefined) {
  const opened = openBackend(JSON.parse(process.argv[2]!) as Backend);
  process.on("disconnect", () => process.exit());
  process.on("message", async ({ id, verb, args }: { id: number; verb: string; args: unknown[] }) => {
    try {
      const { store } = await opened;
      const result =
        verb === "count"
          ? await count(store, args[0] as string, args[1] as number)
          : await (store[verb as "get"] as (...all: unknown[]) => Promise<unknown>)(...args);
      process.send!({ id, result });
    } catch (error) {
      process.send!({ id, error: String(error) });
    }
  });
}
