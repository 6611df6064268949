import type { Outcome } from "./floor.ts";
import type { Wire } from "./wires.ts";
import type { Stream } from "./workloads.ts";

/** Another library, used as its docs show it, from the same bytes to the same calls. */
export interface Peer {
  readonly name: string;
  /** Whose version is shown. */
  readonly package: string;
  /** It reads all of the arguments again at every delta, so a long argument takes it long. */
  readonly quadratic: boolean;
  /** It gives the text of a turn, too. */
  readonly readsText?: boolean;
  /** What a reader of its numbers has to know. */
  readonly note?: string;
  /** What it reads, on the wires that it knows. */
  readonly wires: { readonly [W in Wire]?: (stream: Stream) => Promise<Outcome> };
}
