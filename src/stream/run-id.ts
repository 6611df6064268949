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

/** Random numbers for many ids: asking for one costs about as much as asking for a thousand. */
const pool = new BigUint64Array(1024);
let taken = pool.length;

/** Eight bytes, as hex. */
function randomId(): string {
  if (taken === pool.length) {
    // As bytes: what React Native uses takes no wide integers.
    // https://github.com/LinusU/react-native-get-random-values/blob/master/index.js
    crypto.getRandomValues(new Uint8Array(pool.buffer));
    taken = 0;
  }
  return pool[taken++]!.toString(16).padStart(16, "0");
}
