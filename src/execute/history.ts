import { isToolError } from "../errors.ts";
import { storeKey, type Store } from "../store/store.ts";
import { updateEntry } from "../store/update.ts";
import type { Tool } from "../tool/tool.ts";
import type { GateAnswer } from "./gate.ts";
import { actionIdOf, type Ledger } from "./ledger.ts";

/** The rules that look at what happened in the run before. What they know is in the store: it holds for all processes. */
export class RunHistory {
  readonly #store: Store;
  readonly #ledger: Ledger;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#ledger = ledger;
  }

  /**
   * The action of this run that had the same provider's id, tool and input: providers repeat ids for other calls, and
   * models repeat whole calls that were answered already. Only what is the same in all three looks like a replay.
   */
  async repeatOf(runId: string, invocationId: string, toolCallId: string, digest: string): Promise<string | undefined> {
    const key = storeKey("action-call", runId, toolCallId, digest);
    try {
      await this.#store.put(key, invocationId, { expectedVersion: 0 });
      return undefined;
    } catch (error) {
      if (!isToolError(error) || error.code !== "version_conflict") throw error;
    }
    const first = (await this.#store.get<string>(key))?.value;
    return first === undefined || first === invocationId ? undefined : actionIdOf(runId, first);
  }

  /** `requires` and `maxCallsPerRun`, as far as they can be told before the call is shown to anybody. */
  async judge(tool: Tool, runId: string, invocationId: string): Promise<GateAnswer | undefined> {
    const missing = await this.#missing(tool, runId);
    if (missing.length > 0) {
      const message = `${tool.name} needs ${missing.join(", ")} to succeed first.`;
      return { decision: "deny", reason: "requirement_missing", message };
    }
    if (tool.maxCallsPerRun === undefined) return undefined;
    const claims = (await this.#store.get<string[]>(claimsKey(runId, tool)))?.value ?? [];
    return claims.length < tool.maxCallsPerRun || claims.includes(invocationId) ? undefined : tooMany(tool);
  }

  /** Counts the call, right before it starts: of two that would be the last one, one gets it. */
  async claim(tool: Tool, runId: string, invocationId: string): Promise<GateAnswer | undefined> {
    const { maxCallsPerRun } = tool;
    if (maxCallsPerRun === undefined) return undefined;
    const entry = await updateEntry<string[]>(this.#store, claimsKey(runId, tool), (claims = []) =>
      claims.includes(invocationId) || claims.length >= maxCallsPerRun ? undefined : [...claims, invocationId],
    );
    return entry?.value.includes(invocationId) === true ? undefined : tooMany(tool);
  }

  async #missing(tool: Tool, runId: string): Promise<string[]> {
    if (tool.requires === undefined) return [];
    const required = typeof tool.requires === "string" ? [tool.requires] : tool.requires;
    const succeeded = new Set<string>();
    for (const { value } of await this.#ledger.list(runId)) {
      if (value.status === "done" && value.undo?.state !== "undone") succeeded.add(value.toolName);
    }
    return required.filter((name) => !succeeded.has(name));
  }
}

function claimsKey(runId: string, tool: Tool): string {
  return storeKey("action-count", runId, tool.name);
}

function tooMany(tool: Tool): GateAnswer {
  const { name, maxCallsPerRun } = tool;
  const message = `${name} can be called ${maxCallsPerRun} times in one run, and was.`;
  return { decision: "deny", reason: "too_many_calls", message };
}
