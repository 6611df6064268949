import { textOfThrown } from "./thrown.ts";

/**
 * What of a handler's error may reach the model and the events: its message, on one line, without what tells of the
 * machine. Stack lines, absolute paths, queries, credentials in URLs and the values of secret environment variables are
 * taken out. The error itself stays the `cause`.
 */
export function safeMessage(error: unknown): string {
  let text = textOfThrown(error).slice(0, 4 * MAX_LENGTH);
  for (const secret of secrets()) text = text.replaceAll(secret, "[hidden]");
  text = text
    .replace(/\n\s+at [^\n]*/g, "")
    .replace(/\bfile:\/\/\/[^\s'")]+/g, "[path]")
    .replace(/\/\/[^/\s:@]+:[^/\s@]+@/g, "//[hidden]@")
    // In quotes a path may hold spaces.
    .replace(/(['"`])(?:\/|[A-Za-z]:[\\/]|\\\\)[^'"`\n]*\1/g, "$1[path]$1")
    .replace(/(?<![\w:/.\\-])(?:\/[\w.@~+-]+){2,}\/?/g, "[path]")
    .replace(/(?<!\w)(?:[A-Za-z]:\\|\\\\)[^\s'"`]+/g, "[path]")
    .replace(/\b(?:select\b.+?\bfrom|insert\s+into|update\b.+?\bset|delete\s+from)\b[^\n]*/gi, "[query]")
    .replace(/\s+/g, " ")
    .trim();
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

const MAX_LENGTH = 1_000;

/** Where there is an environment: what its names say is secret. */
function secrets(): string[] {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const found: string[] = [];
  for (const [name, value] of Object.entries(process?.env ?? {})) {
    if (value !== undefined && value.length >= 8 && /key|token|secret|passw|credential|auth/i.test(name)) {
      found.push(value);
    }
  }
  return found;
}
