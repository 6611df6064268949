/** Which tools the model may or must call. */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  /** Exactly this one. */
  | { readonly name: string }
  /** One of these, or none of them unless `required`. */
  | { readonly names: readonly string[]; readonly required?: boolean | undefined };

/**
 * Checks a choice for every adapter: if it lists names, there is at least one.
 *
 * @throws TypeError when it is not a choice, or requires one of no tools
 */
export function checkedChoice(choice: ToolChoice): ToolChoice {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (typeof choice === "object" && choice !== null) {
    if ("name" in choice && typeof choice.name === "string") return choice;
    if ("names" in choice && Array.isArray(choice.names) && choice.names.every((name) => typeof name === "string")) {
      if (choice.names.length > 0) return choice;
      // For most providers, an empty list of names would mean all of them.
      if (choice.required !== true) return "none";
    }
  }
  const hint = isNative(choice) ? ": this is a provider's own form, which goes into the request as it is" : "";
  throw new TypeError(
    `toolChoice() takes "auto", "none", "required", { name } or { names, required? }, got ${JSON.stringify(choice)}${hint}`,
  );
}

/** `{ type: "function", … }`, `{ type: "tool", toolName }`, `{ mode: "ANY" }`. */
function isNative(choice: unknown): boolean {
  return typeof choice === "object" && choice !== null && ("type" in choice || "mode" in choice);
}
