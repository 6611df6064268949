/**
 * Fires with the first of both, as `AbortSignal.any()` does. Vercel's edge runtime lacks that (Next.js with
 * `runtime = "edge"`); where it is there, only it leaves nothing behind at a signal that lives on.
 */
export function eitherSignal(own: AbortSignal, given: AbortSignal | undefined): AbortSignal {
  if (given === undefined) return own;
  if ("any" in AbortSignal) return AbortSignal.any([own, given]);
  const either = new AbortController();
  for (const signal of [own, given]) {
    const abort = () => either.abort(signal.reason);
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
  }
  return either.signal;
}
