/** At most `max` UTF-16 code units of a text, ending in `…` if it was longer; never cut inside a surrogate pair. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
