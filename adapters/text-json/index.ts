import type { Adapter } from "../../src/adapter.ts";
import { textAdapter, type TextAdapter } from "../../src/text/adapter.ts";
import { rescue } from "../../src/text/rescue.ts";
import { namespaced } from "../../src/tool/names.ts";
import { checkSpelling, type OptionNames } from "../../src/tool/option-names.ts";
import { notationNamed, notations, type NotationName } from "./notations/index.ts";

export type { ToolDescription } from "../../src/text/dialect.ts";
export type { TextAdapter, TextReadOptions, TextSource } from "../../src/text/adapter.ts";
export type { TextEvent, TextNative, TextResponse } from "../../src/text/events.ts";
export type { TextMessage } from "../../src/text/messages.ts";
export type { TextModelOptions, TextRequest, TextSpeaker } from "../../src/text/model.ts";
export type { TextOptions } from "../../src/text/notation.ts";
export type { NotationName } from "./notations/index.ts";

/**
 * Calls that a model writes into its text as JSON, or nearly: for models and servers without native tool calling.
 *
 * @param notation how the model was taught to write them
 * @throws TypeError for an unknown notation
 * @example
 * const hermes = textJson("hermes");
 * messages.unshift({ role: "system", content: hermes.describeTools(tools) });
 * const stream = hermes.read(text, { tools }); // strings, or another adapter's events
 * for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
 * messages.push(...hermes.assistantMessage(stream.turn), ...hermes.toolResults(stream.turn));
 */
export function textJson(notation: NotationName): TextAdapter {
  return textAdapter(`text-json/${notation}`, notationNamed(notation), { streamsInput: true, namespaced });
}

export interface RescueTextCallsOptions {
  /** The notations to look for. Default: all of them. */
  readonly notations?: readonly NotationName[] | undefined;
  /** Search the reasoning, too: calls there count in a turn that says nothing else. Default `false`. */
  readonly reasoning?: boolean | undefined;
  /** The prompt ends with `<think>`, so each text begins inside the thoughts. Default `false`. */
  readonly thinking?: boolean | undefined;
}

/**
 * An adapter that also finds the calls that its model, or a broken server, wrote into the text: they become calls of the
 * turn like any other, and go back in the wire's own form. A call of `multi_tool_use.parallel` becomes those it wraps.
 *
 * @throws TypeError for no adapter, an unknown notation, or an option spelt like one of these
 * @example
 * const chat = rescueTextCalls(openaiChat);
 * for await (const event of chat.read(stream, { tools })) if (event.type === "tool-use") await event.use.execute();
 */
export function rescueTextCalls<A extends Adapter>(adapter: A, options: RescueTextCallsOptions = {}): A {
  checkSpelling("rescueTextCalls()", options, OPTIONS);
  const { notations: names = Object.keys(notations) as NotationName[], reasoning, thinking } = options;
  if (typeof adapter?.parser !== "function" || !Array.isArray(names)) {
    throw new TypeError("rescueTextCalls() takes an adapter, such as openaiChat, and { notations }, a list of names.");
  }
  return rescue(adapter, { notations: names.map(notationNamed), reasoning, thinking });
}

const OPTIONS: OptionNames<RescueTextCallsOptions> = { notations: true, reasoning: true, thinking: true };
