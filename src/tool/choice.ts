import { isObject } from "../schema/json.ts";
import { checkSpelling } from "./option-names.ts";

/** Which tools the model may or must call. */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  /** Exactly this one. */
  | { readonly name: string }
  /** One of these, or none of them unless `required`. */
  | { readonly names: readonly string[]; readonly required?: boolean | undefined };

/** What a choice may have, and the options of any adapter's `toolChoice()`. */
const KNOWN = {
  name: true,
  names: true,
  required: true,
  parallel: true,
  strict: true,
  tools: true,
  dialect: true,
} as const;

/**
 * Checks a choice for every adapter: if it lists names, there is at least one.
 *
 * @param options those of the adapter's `toolChoice()`
 * @throws TypeError when it is not a choice, requires one of no tools, or an option is spelt like one of theirs
 */
export function checkedChoice(choice: ToolChoice, options: object = {}): ToolChoice {
  checkSpelling("toolChoice()", { ...options, ...(choice as object) }, KNOWN);
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (isObject(choice)) {
    if ("name" in choice && isName(choice.name)) return choice;
    if ("names" in choice && Array.isArray(choice.names) && choice.names.every(isName)) {
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

/** Whether the model must call a tool. */
export function requiresCall(choice: ToolChoice): boolean {
  return typeof choice === "string" ? choice === "required" : "name" in choice || choice.required === true;
}

function isName(name: unknown): boolean {
  return typeof name === "string" && name !== "";
}

/** `{ type: "function", … }`, `{ type: "tool", toolName }`, `{ mode: "ANY" }`. */
function isNative(choice: unknown): boolean {
  return isObject(choice) && ("type" in choice || "mode" in choice);
}
