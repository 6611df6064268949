/**
 * For how long this process itself has computed, in milliseconds: what other processes do meanwhile does not count. For
 * tests that tell a quick way from one that would take minutes.
 */
export function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
