/** What was thrown, in words: anything can be thrown, also what has none. */
export function textOfThrown(thrown: unknown): string {
  try {
    const { message } = (thrown ?? {}) as { message?: unknown };
    if (typeof message === "string" && message !== "") return message;
    const text = String(thrown);
    // What such an object holds may be for nobody's eyes: it stays the error's `cause`.
    return text === "[object Object]" ? "an object without a message was thrown" : text;
  } catch {
    return "what was thrown can not be shown";
  }
}
