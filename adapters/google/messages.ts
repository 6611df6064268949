import { ToolCallError, type FailedCall } from "../../src/errors.ts";
import { parseJson, wellFormed, wellFormedTurn } from "../../src/json/index.ts";
import type { ToolCall } from "../../src/stream/call.ts";
import type { Turn } from "../../src/stream/events.ts";
import { isRecord } from "../../src/schema/json.ts";
import { isNothing, textOf } from "../../src/wire/field.ts";
import { answers, outputText, recordOf, wireId } from "../../src/stream/history.ts";
import type { ToolUse } from "../../src/tool/use.ts";
import type { GoogleNative } from "./wire.ts";
import { toolName } from "./schema.ts";
import type {
  GoogleContent,
  GoogleFunctionCallPart,
  GoogleFunctionResponsePart,
  GooglePart,
  GoogleResultMedia,
  GoogleTextPart,
  WirePart,
} from "./wire.ts";

/**
 * The turn as the content that goes back: one, or none for a turn in which nothing came (a blocked prompt, a dropped
 * call). Every signature stays on its part, ids are those of the wire, and parallel calls stay together: Gemini rejects
 * a history that separates them.
 */
export const assistantMessage = (turn: Turn): GoogleContent[] => {
  const native = recordOf<GoogleNative>(turn, "parts", { parts: [], calls: [] });
  // Calls with another turn index do not come from the wire: they were found in its text, or in another call.
  const calls = new Map(turn.calls.map((call) => [call.turnIndex === 0 ? call.callIndex : call, call]));
  const known = new Map(native.calls.map((call) => [call.position, call]));
  const recorded = native.parts.flatMap((part, position): GooglePart[] => {
    const entry = known.get(position);
    if (entry === undefined || entry.executed) {
      const { thoughtSignature, ...unsigned } = part;
      return [(thoughtSignature === "" ? unsigned : part) as GooglePart];
    }
    const call = calls.get(entry.callIndex);
    calls.delete(entry.callIndex);
    // One call too many for the limits: it has no result, and the API rejects a call without one.
    return call === undefined ? [] : [callPart(call, part)];
  });
  const parts = calls.size === 0 ? recorded : onlySaid(recorded, turn.text);
  // A hand-made turn has no record.
  if (native.parts.length === 0 && turn.text !== "") parts.push({ text: turn.text });
  for (const call of calls.values()) parts.push(callPart(call, {}));
  return parts.length === 0 ? [] : [{ role: "model", parts: wellFormedTurn(parts) }];
};

/** The text in which calls were found, without them: the rest stays where it began. Signed text stays as it came. */
function onlySaid(parts: readonly GooglePart[], said: string): GooglePart[] {
  const isText = (part: GooglePart): part is GoogleTextPart => "text" in part && part.thought !== true;
  if (parts.some((part) => isText(part) && part.thoughtSignature !== undefined)) return [...parts];
  const first = parts.findIndex(isText);
  return parts.flatMap((part, at): GooglePart[] => {
    if (!isText(part)) return [part];
    return at === first && said.trim() !== "" ? [{ text: said }] : [];
  });
}

/**
 * The results, all in one content, as the API wants them. An output goes under the key `output`, with the media of
 * {@link resultContent} next to it, a failure under the key `error`.
 *
 * A plain object is not sent as the response itself, which the API accepts too: in that form the tool's own `error` key
 * would be read as a failure. https://ai.google.dev/api/caching#FunctionResponse
 */
export const { toolResult, toolError, toolResults } = answers<GoogleFunctionResponsePart, GoogleContent>(
  { result: resultPart, error: (call, message) => responsePart(call, { error: outputText(message) }) },
  (parts) => ({ role: "user", parts }),
);

function resultPart(use: ToolUse, result: unknown): GoogleFunctionResponsePart {
  const { note } = use;
  const { output, parts } = contentOf(result);
  const isMarked = output !== result;
  const text = outputText(output);
  // The API takes a `$ref` for the name of a part, and refuses the request where there is none of this name: so a JSON
  // Schema goes as text. https://github.com/vercel/ai/issues/14369
  const isText = typeof output === "string" || (parts.length === 0 && text.includes('"$ref":"'));
  const value = isText ? text : parseJson(text);
  const part = responsePart(use, { output: isMarked && note !== undefined ? { note, output: value } : value });
  if (parts.length > 0) part.functionResponse.parts = [...parts];
  return part;
}

const RESULT_CONTENT: unique symbol = Symbol.for("toolstream.google.resultContent");

/**
 * A handler's output with images or documents next to it, for models since Gemini 3. Without this mark everything is
 * data and is sent as JSON.
 *
 * @example
 * execute: async () => resultContent("The page", [{ inlineData: { mimeType: "image/png", data } }]),
 */
export function resultContent(
  output: unknown,
  parts: readonly GoogleResultMedia[],
): { readonly output: unknown; readonly parts: readonly GoogleResultMedia[] } {
  return Object.freeze({ [RESULT_CONTENT]: true, output, parts });
}

function contentOf(output: unknown): { readonly output: unknown; readonly parts: readonly GoogleResultMedia[] } {
  if (!isRecord(output) || !(RESULT_CONTENT in output)) return { output, parts: [] };
  return { output: output["output"], parts: output["parts"] as readonly GoogleResultMedia[] };
}

function responsePart(call: FailedCall, response: Record<string, unknown>): GoogleFunctionResponsePart {
  return { functionResponse: { ...idOf(call), name: nameOf(call), response } };
}

function callPart(call: ToolCall, part: WirePart): GoogleFunctionCallPart {
  // The record has arguments that came whole; the API takes back only an object.
  const whole = part.functionCall?.args;
  const code = call.outcome instanceof ToolCallError ? call.outcome.code : undefined;
  // Those of an unknown tool may be too large as well: `input` has none then.
  const isWhole = isRecord(whole) && code !== "unknown_tool";
  const args = code === "too_large" ? {} : isWhole ? whole : call.input;
  const signature = textOf(part.thoughtSignature) ?? textOf(call.metadata["thoughtSignature"]);
  return {
    ...besideCall(part),
    functionCall: { ...idOf(call), name: nameOf(call), args: isRecord(args) ? wellFormed(args) : {} },
    ...(signature !== undefined && { thoughtSignature: signature }),
  };
}

/** The other fields on a call's part go back as they came (`partMetadata`), except for empty ones. */
function besideCall({ functionCall: _, text: _text, ...fields }: WirePart): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isNothing(value) && value !== ""));
}

/** The id goes back only if one came: the API looks up the call by it, and some endpoints reject the field. */
function idOf(call: FailedCall | ToolCall): { id?: string } {
  return call.id ? { id: wireId(call) } : {};
}

/** The provider's name for the tool; a name that the model made up becomes one that the API accepts. */
function nameOf({ name }: Pick<FailedCall, "name">): string {
  return toolName(name ?? "unnamed");
}
