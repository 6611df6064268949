import { storeKey } from "../store/store.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ActionRow } from "./ledger.ts";

/** The end of a call that the store did not take. */
export interface EndedCall {
  /** That was run. */
  readonly use: ToolUse;
  /** Who held its lease: where another one has it, the call was begun anew. */
  readonly owner: string;
  /** As it would stand there. */
  readonly row: ActionRow;
  readonly cause: unknown;
}

/** What is known in this process alone, by action, until it is on record. What others say there counts before this. */
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

/** A store that is away for long fills no memory. */
const MAX_CALLS = 1_000;
