import { spawn } from "node:child_process";

/**
 * The process groups that run on behalf of this process. They are groups of their own, so that all that a program
 * starts can be ended together; so a Ctrl-C at the terminal does not reach them, and the end of this process neither.
 * What is still here when this process exits, or dies of a signal, is therefore killed here.
 */
const live = new Set<number>();

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @param pid of the leader, whose number is the group's */
export function enterGroup(pid: number): void {
  if (live.size === 0) {
    process.on("exit", killAll);
    // Before the host's, so that one that listens once is still there to be counted.
    for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  }
  live.add(pid);
}

export function leaveGroup(pid: number): void {
  if (!live.delete(pid) || live.size > 0) return;
  process.off("exit", killAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/** Every process of the group. One that is gone already is no error. */
export function killGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  if (process.platform === "win32") {
    // There are no groups: the tree, as far as the parents still live.
    spawn("taskkill", ["/pid", `${pid}`, "/t", "/f"], { stdio: "ignore", windowsHide: true }).on("error", () => {});
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: all gone. EPERM (macOS): only zombies are left.
  }
}

/**
 * Whether a group outlives its leader, who has just ended. If not, its number may soon be that of another process's
 * group, and is not to be killed.
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

/** A host that listens itself decides what the signal means, and its `exit` comes back to us. Else the signal is deadly. */
function onSignal(signal: NodeJS.Signals): void {
  const others = process.listeners(signal).filter((listener) => !(OURS in listener));
  if (others.length > listenersOfSignalExit()) return;
  killAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

/** Of another copy of this library, too: each would leave the signal to the other. */
const OURS = Symbol.for("toolstream.onSignal");
Object.defineProperty(onSignal, OURS, {});

/**
 * The package `signal-exit` (of execa and of many command lines) does as we do: it leaves a signal to whoever else listens.
 * Each would leave it to the other. It keeps the number of its listeners where all can read it.
 */
function listenersOfSignalExit(): number {
  const emitters = globalThis as { readonly [key: symbol]: { readonly count?: unknown } | undefined };
  const count = emitters[Symbol.for("signal-exit emitter")]?.count;
  return typeof count === "number" ? count : 0;
}
