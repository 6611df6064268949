import type { NativeCall } from "./wire.ts";

/** Finds the call to which a result of the server's belongs. Each call is read once, however many results there are. */
export class CallLookup {
  readonly #byId = new Map<string, NativeCall>();
  /** Those that may still get a result, in their order. */
  readonly #byName = new Map<string, NativeCall[]>();

  /** @returns whether another one has its id */
  add(call: NativeCall, id: string | undefined, name = ""): boolean {
    const others = this.#byName.get(name);
    if (others === undefined) this.#byName.set(name, [call]);
    else others.push(call);
    if (id === undefined) return false;
    if (this.#byId.has(id)) return true;
    this.#byId.set(id, call);
    return false;
  }

  /** The call with this id, or else the first one of this name that has no result yet. */
  find(id = "", name = ""): NativeCall | undefined {
    const call = this.#byId.get(id);
    if (call !== undefined) return call;
    const others = this.#byName.get(name);
    while (others?.[0]?.executed) others.shift();
    return others?.[0];
  }
}
