import { issuesText } from "../errors.ts";
import { hush } from "../execute/hush.ts";
import { kindOf } from "../schema/json.ts";
import type { CallRecord } from "./format.ts";
import type { RunDeps } from "./options.ts";
import type { PendingToolCall, ToolResultInput } from "./types.ts";
import { pendingCall } from "./partition.ts";

/** `true` validates against the tool's `outputSchema`; a function returns what is wrong with a result. */
export type ValidateResults = boolean | ((result: ToolResultInput, call: PendingToolCall) => string | undefined);

/** What is wrong with a result; `undefined` if nothing is. Does not check whether its call waits for one. */
export function checkResult(
  input: ToolResultInput,
  calls: readonly CallRecord[],
  { tools, model, validateResults }: Pick<RunDeps, "tools" | "model" | "validateResults">,
): string | undefined {
  const { images = [], toolCallId, result, error } = input;
  if (!Array.isArray(images) || !images.every(isImage)) {
    return 'images is a list of { mediaType, data }, both texts, the data in Base64 without "data:"';
  }
  if (images.length > 0 && model.imageResult === undefined) {
    return `${model.adapter.name} takes no images in results`;
  }
  if (images.length > 0 && error !== undefined) {
    return "images go with a result, not with an error: give a result that says what went wrong";
  }
  const call = calls.find(({ invocationId }) => invocationId === toolCallId);
  if (call === undefined || validateResults === false) return undefined;
  if (typeof validateResults === "function") {
    const wrong: unknown = validateResults(input, pendingCall(call));
    if (wrong === undefined || typeof wrong === "string") return wrong;
    hush(wrong);
    throw new TypeError(
      `validateResults returns what is wrong with a result, a text, or undefined if nothing is; got ${kindOf(wrong)}.`,
    );
  }
  const schema = tools.get(call.name!)?.outputSchema;
  if (schema === undefined || error !== undefined) return undefined;
  const checked = schema.validate(result);
  return checked.ok ? undefined : issuesText(checked.issues, "result");
}

/** What is stored stays: with an image that the provider refuses, every further request would fail. */
function isImage(image: unknown): boolean {
  const { mediaType, data } = (image ?? {}) as { mediaType?: unknown; data?: unknown };
  const isBase64 = typeof data === "string" && /^[\w+/=\s-]+$/.test(data); // of either alphabet, in lines or not
  return isBase64 && typeof mediaType === "string" && /^image\/[\w.+-]+$/.test(mediaType);
}
