/**
 * The first part of every invocation id: the caller's, or a random one.
 *
 * @throws TypeError for one with characters other than letters, digits, `-` and `_`
 */
export function runIdOf(runId: string | undefined): string {
  if (runId === undefined) return randomId();
  if (typeof runId === "string" && /^[\w-]+$/.test(runId)) return runId;
  throw new TypeError(`runId holds letters, digits, "-" and "_", got ${JSON.stringify(runId)}.`);
}

/** Random bytes for many ids: asking for one costs about as much as asking for a thousand. */
const pool = new Uint8Array(8192);
let taken = pool.length;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Eight bytes, as hex. */
function randomId(): string {
  if (taken === pool.length) {
    crypto.getRandomValues(pool);
    taken = 0;
  }
  return fourBytes() + fourBytes();
}

function fourBytes(): string {
  taken += 4;
  return HEX[pool[taken - 4]!]! + HEX[pool[taken - 3]!]! + HEX[pool[taken - 2]!]! + HEX[pool[taken - 1]!]!;
}
