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
export function createStrayErrors(onEvent: (value: unknown) => void): {
  line(line: string, cut: boolean): void;
  /** An event came. */
  passed(): void;
  /** The lines, if there was nothing else in the body. */
  only(): string | undefined;
} {
  let block = ""; // a bare JSON object, as far as it has come
  let attempts = 0; // to parse it
  let kept: string | undefined;
  let sawEvent = false;

  function onLine(line: string, cut: boolean): void {
    if (line.startsWith("error:")) return errorField(line.slice("error:".length).trim(), cut);
    if (block !== "" || line.startsWith("{")) return jsonLine(line);
    keep(line, cut);
  }

  function errorField(text: string, cut: boolean): void {
    const value = jsonIn(text);
    if (value === undefined && (cut || text === "")) return;
    event({ error: value ?? { message: text } });
  }

  function jsonLine(line: string): void {
    if (block === "") attempts = 0;
    block += `${line}\n`;
    if (block.length > MAX_BLOCK_LENGTH || attempts > MAX_ATTEMPTS) block = "";
    if (!line.trimEnd().endsWith("}")) return;
    attempts++;
    const value = jsonIn(block);
    if (value === undefined) return;
    block = "";
    if (isObject(value) && ("error" in value || errorText(value) !== undefined)) event(value);
  }

  function keep(line: string, cut: boolean): void {
    if (sawEvent || (kept?.length ?? 0) > MAX_KEPT_LENGTH) return;
    if (cut && FIELDS.some((field) => field.startsWith(line))) return; // the name of a field, cut
    kept = kept === undefined ? line : `${kept}\n${line}`;
  }

  function event(value: unknown): void {
    passed();
    onEvent(value);
  }

  function passed(): void {
    sawEvent = true;
    block = "";
  }

  return {
    line: onLine,
    passed,
    only() {
      return sawEvent ? undefined : kept;
    },
  };
}
