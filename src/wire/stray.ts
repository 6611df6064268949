import { jsonIn } from "../json/parse.ts";
import { errorText, isObject } from "./field.ts";

/** An error that a server writes between its events is short; anything longer is not one. */
const MAX_BLOCK_LENGTH = 64 * 1024;
/** How many lines may be tried as its last one. */
const MAX_ATTEMPTS = 32;
const MAX_KEPT_LENGTH = 600;
const FIELDS = ["data", "event", "id", "retry", "error"];

/**
 * Handles the lines of an event stream that the standard says to ignore, for two things that servers write there:
 * an `error: {…}` field (llama-box: https://github.com/gpustack/llama-box), and a bare JSON object that is an error or
 * has one in it, on one line or several, when a gateway fails in the middle of a stream.
 * The first becomes `{ error: <its value> }`, the second stays as it is; everything else is ignored.
 */
export class StrayErrors {
  readonly #onEvent: (value: unknown) => void;
  #block = ""; // a bare JSON object, as far as it has come
  #attempts = 0; // to parse it
  #kept: string | undefined;
  #sawEvent = false;

  constructor(onEvent: (value: unknown) => void) {
    this.#onEvent = onEvent;
  }

  /** @param cut it is the last line and has no end */
  line(line: string, cut: boolean): void {
    if (line.startsWith("error:")) this.#errorField(line.slice("error:".length).trim(), cut);
    else if (this.#block !== "" || line.startsWith("{")) this.#jsonLine(line);
    else this.#keep(line, cut);
  }

  /** An event came. */
  passed(): void {
    this.#sawEvent = true;
    this.#block = "";
  }

  /** The lines, if there was nothing else in the body. */
  only(): string | undefined {
    return this.#sawEvent ? undefined : this.#kept;
  }

  #errorField(text: string, cut: boolean): void {
    const value = jsonIn(text);
    if (value === undefined && (cut || text === "")) return;
    this.#event({ error: value ?? { message: text } });
  }

  #jsonLine(line: string): void {
    if (this.#block === "") this.#attempts = 0;
    this.#block += `${line}\n`;
    if (this.#block.length > MAX_BLOCK_LENGTH || this.#attempts > MAX_ATTEMPTS) this.#block = "";
    if (!line.trimEnd().endsWith("}")) return;
    this.#attempts++;
    const value = jsonIn(this.#block);
    if (value === undefined) return;
    this.#block = "";
    if (isObject(value) && ("error" in value || errorText(value) !== undefined)) this.#event(value);
  }

  #keep(line: string, cut: boolean): void {
    if (this.#sawEvent || (this.#kept?.length ?? 0) > MAX_KEPT_LENGTH) return;
    if (cut && FIELDS.some((field) => field.startsWith(line))) return; // the name of a field, cut
    this.#kept = this.#kept === undefined ? line : `${this.#kept}\n${line}`;
  }

  #event(value: unknown): void {
    this.passed();
    this.#onEvent(value);
  }
}
