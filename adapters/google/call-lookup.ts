import { textOf } from "../../src/wire/field.ts";
import type { GoogleNative, NativeCall } from "./wire.ts";

/**
 * Finds the call that a server's result belongs to. Each call is read once, however many lookups there are.
 */
export class CallLookup {
  readonly #native: GoogleNative;
  /** Calls that may still get a result, by id and (in call order) by name. */
  readonly #byId = new Map<string, NativeCall>();
  readonly #byName = new Map<string, NativeCall[]>();
  /** How many calls are in the maps. */
  #size = 0;

  constructor(native: GoogleNative) {
    this.#native = native;
  }

  find(id: string | undefined, name: string | undefined): NativeCall | undefined {
    this.#readOn();
    return (id ? this.#byId.get(id) : undefined) ?? this.#waiting(name);
  }

  #readOn(): void {
    const { calls } = this.#native;
    while (this.#size < calls.length) this.#add(calls[this.#size++]!);
  }

  #add(call: NativeCall): void {
    const wire = this.#native.parts[call.position]?.functionCall;
    const id = textOf(wire?.id);
    const name = textOf(wire?.name);
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, call);
    if (name !== undefined) {
      const others = this.#byName.get(name);
      if (others === undefined) this.#byName.set(name, [call]);
      else others.push(call);
    }
  }

  /** The first call with this name that has no result yet. */
  #waiting(name: string | undefined): NativeCall | undefined {
    const others = this.#byName.get(name ?? "");
    while (others?.[0]?.executed) others.shift();
    return others?.[0];
  }
}
