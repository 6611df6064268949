import { textAdapter } from "./adapter.ts";

/** Text that is not searched for calls: the adapter for {@link rescue} to wrap if the text comes without a wire. */
export const plainText = textAdapter(
  "text",
  {
    markers: [],
    start: () => () => {
      throw new TypeError("A plain text has no markers, so no block begins in it.");
    },
    toolName: (name) => name,
    describe: () => "",
    writeCalls: () => "",
    writeResults: () => "",
    countResults: () => 0,
    ends: [],
  },
  { streamsInput: false },
);
