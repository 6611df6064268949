import { safeToolName } from "../../src/tool/names.ts";

/** Names appear in JSON, or between marks that contain none of these characters. */
export const anyName = safeToolName({ allowed: /[a-zA-Z0-9_.-]/, maxLength: 128 });

/** The end of the name that begins here. Models write some before it: `functions.` */
export function endOfName(text: string, at: number): number {
  while (at < text.length && /[\w.\-/]/.test(text[at]!)) at++;
  return at;
}
