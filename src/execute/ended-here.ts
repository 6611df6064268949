import { storeKey } from "../store/store.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ActionRow } from "./ledger.ts";

/** The end of a call that the store did not accept. */
export interface EndedCall {
  /** The use that was run. */
  readonly use: ToolUse;
  /** The owner of its lease: if somebody else holds it, the call was started again. */
  readonly owner: string;
  /** The row as it should be in the store. */
  readonly row: ActionRow;
  readonly cause: unknown;
}

/** Ends known only to this process, by action, until they are recorded. What others recorded takes precedence. */
export class EndedHere {
  readonly #calls = new Map<string, EndedCall>();

  add(actionId: string, call: EndedCall): void {
    this.#calls.set(actionId, call);
    if (this.#calls.size > MAX_CALLS) this.delete(this.#calls.keys().next().value!);
  }

  get(actionId: string): EndedCall | undefined {
    return this.#calls.get(actionId);
  }

  delete(actionId: string): void {
    this.#calls.delete(actionId);
  }

  forget(runId: string): void {
    const prefix = `${storeKey(runId)}/`;
    for (const actionId of this.#calls.keys()) if (actionId.startsWith(prefix)) this.delete(actionId);
  }
}

/** Bounds the memory used while a store is unavailable. */
const MAX_CALLS = 1_000;
