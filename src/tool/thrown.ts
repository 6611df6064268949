/** A text for what was thrown: anything can be thrown, even a value without a usable message. */
export function textOfThrown(thrown: unknown): string {
  try {
    const { message } = (thrown ?? {}) as { message?: unknown };
    if (typeof message === "string" && message !== "") return message;
    const text = String(thrown);
    // The contents of such an object may be private: it is kept as the error's `cause`.
    return text === "[object Object]" ? "an object without a message was thrown" : text;
  } catch {
    return "what was thrown cannot be shown";
  }
}
