import { textAdapter, type TextAdapter } from "../../src/text/adapter.ts";
import { namespaced } from "./names.ts";
import { helpers, type HelperTags } from "./notation.ts";

export type { ToolDescription } from "../../src/text/dialect.ts";
export type { TextAdapter, TextReadOptions, TextSource } from "../../src/text/adapter.ts";
export type { TextEvent, TextNative, TextResponse } from "../../src/text/events.ts";
export type { TextMessage } from "../../src/text/messages.ts";
export type { TextModelOptions, TextRequest, TextSpeaker } from "../../src/text/model.ts";
export type { TextOptions } from "../../src/text/notation.ts";
export type { HelperMetadata } from "./calls.ts";
export type { HelperTags } from "./notation.ts";
export { dependsOn, isDependent, resolveUse, runBlock, variablesOf, type StepResults } from "./run-block.ts";
export type { Reference, Step } from "./values.ts";

/**
 * Calls that a model writes as Python in a block of its text:
 * `<helpers> user = find_user("John", zip="90210") </helpers>`. A call may refer to the result of an earlier one. Needs
 * the package `@lezer/python`.
 *
 * @throws TypeError for an invalid tag or limit, or an option spelt like one of these
 * @example
 * const helpers = textHelpers();
 * messages.unshift({ role: "system", content: helpers.describeTools(tools) });
 * const stream = helpers.read(text, { tools }); // strings, or another adapter's events
 * await stream.done();
 * await runBlock(stream.turn);
 * messages.push(...helpers.assistantMessage(stream.turn), ...helpers.toolResults(stream.turn));
 */
export function textHelpers(options?: HelperTags): TextAdapter {
  return textAdapter("text-helpers", helpers(options), { streamsInput: false, namespaced });
}
