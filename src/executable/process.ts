import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { startTimer } from "../time.ts";
import { commandOf } from "./command.ts";
import { enterGroup, hasMembers, killGroup, leaveGroup } from "./group.ts";
import { createStderrReader, type ProgressLine } from "./stderr.ts";

/** How a program is run. */
export interface ProcessOptions {
  /** Absolute. */
  readonly file: string;
  readonly args: readonly string[];
  /** All of stdin. */
  readonly input: string;
  /** All of the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutMs: number;
  /** From SIGTERM to SIGKILL; also how long others may hold the output once the program itself has ended. */
  readonly graceMs: number;
  /** Of stdout. */
  readonly maxOutputBytes: number;
  readonly maxStderrBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((line: ProgressLine) => void) | undefined;
}

/** How it ended. */
export type ProcessEnd =
  /** `exitCode` is `null` if a signal ended it. */
  | { readonly type: "exited"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly type: "timeout" }
  | { readonly type: "aborted" }
  | { readonly type: "too_large"; readonly stream: "stdout" | "stderr" }
  /** The system could not start it. */
  | { readonly type: "not_started"; readonly error: NodeJS.ErrnoException };

export interface ProcessOutcome {
  readonly end: ProcessEnd;
  /** As far as it was read. */
  readonly stdout: Buffer;
  /** Its last 16 Ki characters, without progress lines. */
  readonly stderr: string;
  readonly durationMs: number;
}

/**
 * Runs a program to its end, and never longer than `timeoutMs + graceMs`: whatever it does, the promise settles, the
 * pipes are closed and its process group is gone. Never rejects, whatever the system says.
 *
 * Each rule is a measurement on Node 26: with `spawn(timeout)` a grandchild that holds stdout delays `close` for as
 * long as it likes, a child that ignores SIGTERM outlives its timeout, and EPIPE on a stdin without listener ends the
 * host.
 */
export function runProcess(options: ProcessOptions): Promise<ProcessOutcome> {
  const { timeoutMs, graceMs, signal } = options;
  return new Promise((settle) => {
    const startedAt = performance.now();
    const stderr = createStderrReader(options.onProgress);
    const stdout = growingBuffer();
    let end: ProcessEnd | undefined;
    let isSettled = false;
    let isGroupGone = false;
    let stopTimer = (): void => {};

    if (signal?.aborted === true) return settleWith({ type: "aborted" });
    let child: ChildProcessWithoutNullStreams;
    try {
      child = start(options);
    } catch (error) {
      return settleWith({ type: "not_started", error: error as NodeJS.ErrnoException }); // E2BIG, ENOEXEC, ETXTBSY, a NUL
    }
    const { pid } = child;
    child.once("error", (error) => {
      if (pid === undefined) settleWith({ type: "not_started", error }); // ENOENT, EACCES, EAGAIN, EMFILE
    });
    if (pid === undefined) return; // after EMFILE it has no pipes either

    child.stdin.on("error", () => {}); // EPIPE: the program does not read its input, which is its own business
    enterGroup(pid);
    after(timeoutMs, () => stop({ type: "timeout" }));
    signal?.addEventListener("abort", onAbort);
    count(child, "stdout", options.maxOutputBytes, stdout.push);
    count(child, "stderr", options.maxStderrBytes, stderr.push);
    child.once("exit", (exitCode, signalName) => {
      isGroupGone = !hasMembers(pid);
      end ??= { type: "exited", exitCode, signal: signalName };
      if (isSettled) return leaveGroup(pid);
      if (end.type === "exited") after(graceMs, finish); // what it started may go on writing for a while
    });
    child.once("close", finish);
    child.stdin.end(options.input);

    function count(from: typeof child, stream: "stdout" | "stderr", max: number, take: (bytes: Buffer) => void): void {
      let length = 0;
      from[stream].on("error", () => {});
      from[stream].on("data", (bytes: Buffer) => {
        length += bytes.length;
        if (length <= max) return take(bytes);
        take(bytes.subarray(0, Math.max(0, bytes.length - (length - max))));
        from[stream].destroy();
        stop({ type: "too_large", stream });
      });
    }

    function onAbort(): void {
      stop({ type: "aborted" });
    }

    /** Asks the whole group to end, and kills it a little later. */
    function stop(why: ProcessEnd): void {
      if (isSettled || (end !== undefined && end.type !== "exited")) return;
      const isOver = end !== undefined; // then only what it started is left
      end = why;
      if (isOver) return finish();
      killGroup(pid!, "SIGTERM");
      after(graceMs, finish);
    }

    /** Starts the only timer anew. */
    function after(ms: number, work: () => void): void {
      stopTimer();
      stopTimer = startTimer(ms, work);
    }

    /** Nothing outlives the call: what still runs in the group is killed, and the pipes are closed. */
    function finish(): void {
      if (isSettled) return;
      if (!isGroupGone) killGroup(pid!, "SIGKILL");
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
      if (child.exitCode === null && child.signalCode === null) child.unref();
      else leaveGroup(pid!);
      settleWith(end!);
    }

    function settleWith(why: ProcessEnd): void {
      isSettled = true;
      stopTimer();
      signal?.removeEventListener("abort", onAbort);
      const durationMs = performance.now() - startedAt;
      settle({ end: why, stdout: stdout.bytes(), stderr: stderr.end(), durationMs });
    }
  });
}

function start(options: ProcessOptions): ChildProcessWithoutNullStreams {
  const { file, args, verbatim } = commandOf(options.file, options.args);
  return spawn(file, args, {
    cwd: options.cwd,
    env: { ...options.env },
    shell: false,
    stdio: "pipe",
    detached: process.platform !== "win32", // a group of its own
    windowsHide: true,
    windowsVerbatimArguments: verbatim,
  });
}

/** Output that arrives byte by byte would take a hundred times its size as a list of buffers. */
function growingBuffer(): { push(more: Buffer): void; bytes(): Buffer } {
  let buffer = Buffer.alloc(0);
  let length = 0;
  return {
    push(more) {
      if (length + more.length > buffer.length) {
        const grown = Buffer.alloc(Math.max(2 * buffer.length, length + more.length));
        buffer.copy(grown);
        buffer = grown;
      }
      length += more.copy(buffer, length);
    },
    bytes: () => buffer.subarray(0, length),
  };
}
