import { textAdapter } from "./adapter.ts";

/** Text in which nothing is looked for: what {@link rescue} is put on where the text comes without a wire around it. */
export const plainText = textAdapter(
  "text",
  {
    name: "text",
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
