export { createDecoder } from "./decoder.ts";
export type { Decoder, DecoderOptions } from "./decoder.ts";
export type { Delta, EventPath } from "./delta.ts";
export { Templates } from "./templates.ts";
