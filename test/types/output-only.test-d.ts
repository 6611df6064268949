/** What only the provider's answers have: the API refuses it in a history, so `assistantMessage()` leaves it out. */
import type { BetaContentBlock, BetaContentBlockParam } from "@anthropic-ai/sdk/resources/beta/messages/messages";
import type { ResponseInputItem, ResponseOutputItem } from "openai/resources/responses/responses";

type KeysOf<T> = T extends unknown ? keyof T : never;
type At<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;
/** The objects in a value or a list. */
type Inner<T> = T extends readonly (infer Element)[] ? Inner<Element> : T extends object ? T : never;
/** The members of the input's union that an output may become. */
type Twin<Output, Input> = Output extends { type: infer Type } ? Extract<Input, { type?: Type }> : Input;
type Deeper = [never, 0, 1, 2, 3];

/** The paths of fields that an output has and its input has not. */
type OutputOnly<Output, Input, Path extends string = "", Depth extends number = 4> = [Depth] extends [never]
  ? never
  : Output extends object
    ? {
        [K in keyof Output & string]: string extends K
          ? never
          : K extends KeysOf<Twin<Output, Input>>
            ? OutputOnly<Inner<Output[K]>, Inner<At<Twin<Output, Input>, K>>, `${Path}${K}.`, Deeper[Depth]>
            : `${Path}${Output extends { type: infer Type extends string } ? `${Type}.` : ""}${K}`;
      }[keyof Output & string]
    : never;

/** A field that a new version of the SDK adds to outputs alone does not compile here. */
export const openaiResponses = {
  "apply_patch_call.created_by": true,
  "apply_patch_call_output.created_by": true,
  "compaction.created_by": true,

  "computer_call_output.created_by": true,
  "custom_tool_call_output.created_by": true,
  "custom_tool_call_output.status": true,
  "function_call_output.created_by": true,
  "output.created_by": true,
  "shell_call.created_by": true,
  "shell_call_output.created_by": true,
  "tool_search_call.created_by": true,
  "tool_search_output.created_by": true,
} satisfies Record<OutputOnly<ResponseOutputItem, ResponseInputItem>, true>;

export const anthropic = {
  "citations.char_location.file_id": true,
  "citations.content_block_location.file_id": true,
  "citations.page_location.file_id": true,
  "content.citations.char_location.file_id": true,
  "content.citations.content_block_location.file_id": true,
  "content.citations.page_location.file_id": true,
  // The input takes anything there.
  "trigger.refusal.category": true,
  "trigger.refusal.type": true,
} satisfies Record<OutputOnly<BetaContentBlock, BetaContentBlockParam>, true>;

/** Items that the input has under no such type, or with another value. */
type Refused = ResponseOutputItem extends infer Item
  ? Item extends ResponseInputItem
    ? never
    : At<Item, "type">
  : never;
export const refused = { additional_tools: true, computer_call_output: true } satisfies Record<Refused, true>;
