/** At most so many UTF-16 code units of a text, the last of them `…` where it is longer; none is half a character. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
