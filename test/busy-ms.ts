/**
 * For how long this thread itself has computed, in milliseconds: what others do meanwhile does not count. For
 * tests that tell a quick way from one that would take minutes.
 */
export function busyMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
