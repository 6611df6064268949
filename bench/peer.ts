import type { Outcome } from "./floor.ts";
import type { Wire } from "./wires.ts";
import type { Stream } from "./workloads.ts";

/** Another library, used as its docs show it, from the same bytes to the same calls. */
export interface Peer {
  readonly name: string;
  /** The package whose version is shown. */
  readonly package: string;
  /** Whether it reads all of the arguments again at every delta, so that long arguments take long. */
  readonly quadratic: boolean;
  /** Whether it gives the text of a turn, too. */
  readonly readsText?: boolean;
  /** Reads a stream, for each wire that it knows. */
  readonly wires: { readonly [W in Wire]?: (stream: Stream) => Promise<Outcome> };
}
