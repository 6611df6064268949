import { cut, isToolError, messageOf } from "../errors.ts";

/**
 * The part of a handler's error that may reach the model and the events: its message, on one line, without details of
 * the machine. Stack lines, absolute paths, queries, credentials in URLs and the values of secret environment variables
 * are removed. The error itself stays the `cause`.
 *
 * A `tool_failed` is what a program or a server says to the model, as it does its output: of that, only credentials and
 * secrets are removed.
 */
export function safeMessage(error: unknown): string {
  let text = messageOf(error).slice(0, MAX_READ);
  for (const secret of secrets()) text = text.replaceAll(secret, "[hidden]");
  // More than is kept: the beginning of a password is not recognised as one.
  text = cut(text, MAX_SAID + MAX_LENGTH)
    .replace(CREDENTIALS, "$1[hidden]@")
    .replace(PARAMETER, "$1[hidden]");
  if (isToolError(error) && error.code === "tool_failed") return cut(text, MAX_SAID);
  text = text
    .replace(/\n[ \t]+at [^\n]*/g, "")
    .replace(/\s+/g, " ")
    .replace(/\bfile:\/\/\/[^\s'")]+/g, "[path]")
    // In quotes, a path may hold spaces.
    .replace(/(['"`])(?:\/|[A-Za-z]:[\\/]|\\\\)[^'"`]*\1/g, "$1[path]$1")
    .replace(/(?<!\w)(?:[A-Za-z]:(?:\\|\/(?!\/))|\\\\)[^\s'"`]+/g, "[path]")
    .replace(PATH, "[path]")
    .replace(QUERY_IN_CAPITALS, "[query]")
    .replace(QUERY, "[query]")
    .trim();
  return cut(text, MAX_LENGTH);
}

/** How much of a text is processed: the cost grows with it. */
const MAX_READ = 65_536;
const MAX_LENGTH = 1_000;
const MAX_SAID = 4_000;

/**
 * A user, or a user and everything up to the last `@`: passwords are written into URLs unescaped, with `/` and `@` in
 * them. But not `https://registry.example/@scope/package` or `https://cdn.example/package@1.0`.
 */
const CREDENTIALS = /((?:[a-z][\w+.-]*:)?\/\/)(?:[^\s'"<>/?#@:]*:(?!\d+\/)[^\s'"<>]*(?<!\/)@|[^\s'"<>/?#@:]+@)/gi;

/** `?api_key=…`, `&X-Amz-Signature=…`, `#access_token=…`; not `?keyword=…` and `?author=…`. */
const PARAMETER =
  /([?&#](?:[\w.-]{0,40}(?:key(?!word)|token|secret|passw|credential|signature|auth(?!or))[\w.-]{0,40}|sig)=)[^\s'"<>&#]+/gi;

/** Two steps or more, and not following a host or a word. */
const PATH = /(?<![\p{L}\p{M}\p{N}_/.\\-])(?:\/[\p{L}\p{M}\p{N}_.@~+%-]+){2,}\/?/gu;

/** In capitals, only a database query reads like this. */
const QUERY_IN_CAPITALS =
  /\b(?:SELECT\b.+?\bFROM|INSERT INTO|REPLACE INTO|UPDATE\b.+?\bSET|DELETE FROM|(?:CREATE|ALTER|DROP|TRUNCATE) TABLE)\b.*/;

/** In lower case it may be a sentence ("select a value from the list"): names in those have no signs around them. */
const QUERY = new RegExp(
  String.raw`\b(?:${[
    "select (?:distinct )?ITEM(?: ?, ?ITEM)+ from",
    String.raw`select [^\s,]*[*."\x60(][^\s,]* from`,
    "(?:insert|replace) into NAME ?(?:[(]|values\\b|select\\b|set\\b|default\\b)",
    "update NAME(?: (?:as )?\\w+)? set NAME ?=",
    "delete from NAME where",
    "where NAME ?(?:[=<>!]|(?:not )?(?:in|like|ilike|between)) ?[(]?['\"]",
  ]
    .join("|")
    .replaceAll("ITEM", String.raw`(?:[\w$."\x60*]|[(][^()]*[)])+(?: as [\w"\x60]+)?`)
    .replaceAll("NAME", String.raw`[\w$."\x60\[\]]+`)}).*`,
  "i",
);

/** The values in the environment, if any, whose names say they are secret. Longest first: one may contain another. */
function secrets(): string[] {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const found: string[] = [];
  for (const [name, value] of Object.entries(process?.env ?? {})) {
    if (value !== undefined && value.length >= 8 && /key|token|secret|passw|credential|auth/i.test(name)) {
      found.push(value);
    }
  }
  return found.toSorted((a, b) => b.length - a.length);
}
