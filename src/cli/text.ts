/** Text for a terminal: how many columns it takes, without anything that the terminal would obey. */

const graphemes = new Intl.Segmenter();
const ASCII = /^[\x20-\x7E]*$/;
const ZERO = /^[\p{M}\p{Cf}\p{Cc}]+$/u;
/** East Asian wide and full-width characters (https://www.unicode.org/reports/tr11/), and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}])|\uFE0F/u;
/** Controls, line separators, and marks that change the text direction: a model's text must not steer the terminal. */
// oxlint-disable-next-line no-control-regex -- these are what it is about
const STEERING = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g;

/** The columns that a line takes in a terminal. */
export function widthOf(line: string): number {
  if (ASCII.test(line)) return line.length;
  let width = 0;
  for (const { segment } of graphemes.segment(line)) width += columnsOf(segment);
  return width;
}

function columnsOf(grapheme: string): number {
  if (ZERO.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** The text without anything that a terminal would obey; line breaks stay, tabs become spaces. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\t", "  ").replace(STEERING, "\uFFFD");
}

/** The line in exactly this many columns: padded with spaces, or cut. */
export function fit(line: string, width: number): string {
  const columns = widthOf(line);
  if (columns <= width) return line + " ".repeat(width - columns);
  let kept = "";
  let used = 0;
  for (const { segment } of graphemes.segment(line)) {
    const next = used + columnsOf(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…${" ".repeat(Math.max(0, width - 1 - used))}`;
}

/** Lines of at most this many columns, broken between words where possible. */
export function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => (widthOf(line) <= width ? [line] : wrapLine(line, width)));
}

function wrapLine(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const columns = columnsOf(segment);
    if (used + columns > width) {
      const word = line.lastIndexOf(" ") + 1;
      const isBetweenWords = segment !== " " && word > line.length / 2;
      lines.push(isBetweenWords ? line.slice(0, word).trimEnd() : line);
      line = isBetweenWords ? line.slice(word) : "";
      used = widthOf(line);
    }
    if (line === "" && segment === " " && lines.length > 0) continue;
    line += segment;
    used += columns;
  }
  return [...lines, line];
}

/** The text on one line, with at most this many characters. */
export function short(text: string, length: number): string {
  const line = printable(text.slice(0, length * 2)).replace(/\s+/g, " ");
  return line.length > length || text.length > length * 2 ? `${line.slice(0, length - 1).toWellFormed()}…` : line;
}
