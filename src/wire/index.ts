export { createDecoder } from "./decoder.ts";
export type { Decoder, DecoderOptions } from "./decoder.ts";
export type { Delta } from "./delta.ts";
export { Templates } from "./templates.ts";
