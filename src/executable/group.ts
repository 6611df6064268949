import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * The process groups of running programs. Each is a group of its own, so that everything a program starts can be ended
 * together. Therefore neither Ctrl-C at the terminal nor the end of this process reaches them: whatever is still
 * running when this process exits, or dies of a signal, is killed here.
 */
const live = new Set<number>();

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @param pid of the leader, whose number is the group's */
export function enterGroup(pid: number): void {
  if (live.size === 0) {
    process.on("exit", killAll);
    // Before the host's listeners, so that one added with `once()` is still there to be counted.
    for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  }
  live.add(pid);
}

export function leaveGroup(pid: number): void {
  if (!live.delete(pid) || live.size > 0) return;
  process.off("exit", killAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/** Signals every process of the group. A group that is already gone is not an error. */
export function killGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  if (process.platform === "win32") {
    // Windows has no groups: end the tree, as far as the parents are still alive. By its path, since a mere name is
    // looked for in the working directory first (search_path() in src/win/process.c of libuv).
    const taskkill = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
    spawn(taskkill, ["/pid", `${pid}`, "/t", "/f"], { stdio: "ignore", windowsHide: true }).on("error", () => {});
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: all gone. EPERM (macOS): only zombies are left.
  }
}

/**
 * Whether a group outlives its leader, which has just ended. If not, its number may soon belong to another process's
 * group and must not be killed.
 */
export function hasMembers(pid: number): boolean {
  if (process.platform === "win32") return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

function killAll(): void {
  for (const pid of live) killGroup(pid, "SIGKILL");
}

/**
 * A host that listens decides itself what the signal means, and we get its `exit` event. Otherwise the signal is fatal.
 */
function onSignal(signal: NodeJS.Signals): void {
  const others = process.listeners(signal).filter((listener) => !(OURS in listener));
  if (others.length > listenersOfSignalExit()) return;
  killAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

/** Marks the listeners of all copies of this library: otherwise each would leave the signal to the other. */
const OURS = Symbol.for("toolstream.onSignal");
Object.defineProperty(onSignal, OURS, {});

/**
 * The package `signal-exit` (used by execa and many command lines) also leaves a signal to any other listener, so each
 * would leave it to the other. It publishes the number of its listeners.
 */
function listenersOfSignalExit(): number {
  const emitters = globalThis as { readonly [key: symbol]: { readonly count?: unknown } | undefined };
  const count = emitters[Symbol.for("signal-exit emitter")]?.count;
  return typeof count === "number" ? count : 0;
}
