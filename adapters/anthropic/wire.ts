/**
 * What the Messages API sends, as far as it is read here.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming and the types of `@anthropic-ai/sdk` 1.13
 * (stable and beta), seen 2026-11. Lenient on purpose: gateways leave fields out, and new block types arrive without
 * notice. The SDK's `RawMessageStreamEvent`, `Message` and their beta twins are assignable to these.
 */

/** One event of a stream. `type` tells which of the other fields are present. */
export interface WireEvent {
  readonly type?: string | null | undefined;
  /** `message_start` */
  readonly message?: WireMessage | null | undefined;
  /** Which block of the message: `content_block_start`, `content_block_delta`, `content_block_stop`. */
  readonly index?: number | null | undefined;
  /** `content_block_start` */
  readonly content_block?: WireBlock | null | undefined;
  /** `content_block_delta`, `message_delta` */
  readonly delta?: WireDelta | null | undefined;
  /** `message_delta`: cumulative, not an increment. */
  readonly usage?: WireUsage | null | undefined;
  /** `error`, and the body of a response with an error status. */
  readonly error?: WireError | string | null | undefined;
}

/** A whole message: the response to a request without `stream`, and the frame inside `message_start`. */
export interface WireMessage {
  readonly type?: string | null | undefined;
  readonly id?: string | null | undefined;
  readonly role?: string | null | undefined;
  readonly model?: string | null | undefined;
  /**
   * Empty inside `message_start`, except for calls made by a program that the model wrote (programmatic tool calling),
   * and once the client has filled it in.
   */
  readonly content?: readonly WireBlock[] | null | undefined;
  readonly stop_reason?: string | null | undefined;
  readonly stop_details?: WireStopDetails | null | undefined;
  readonly container?: WireContainer | null | undefined;
  readonly usage?: WireUsage | null | undefined;
}

/** Where code runs at the provider. A request that answers a program's call has to name it. */
export interface WireContainer {
  readonly id?: string | null | undefined;
}

/**
 * A content block. Known: `text`, `thinking`, `redacted_thinking`, `tool_use`, `server_tool_use`, `mcp_tool_use`, their
 * `*_tool_result`, `container_upload`, `compaction`, `fallback`. Only the fields that are read are listed; the others
 * go back as they came.
 */
export interface WireBlock {
  readonly type: string;
  /** `text` */
  readonly text?: string | null | undefined;
  readonly citations?: unknown;
  /** `thinking` */
  readonly thinking?: string | null | undefined;
  readonly signature?: string | null | undefined;
  /** `tool_use`, `server_tool_use`, `mcp_tool_use` */
  readonly id?: string | null | undefined;
  readonly name?: string | null | undefined;
  /** `{}` at `content_block_start` means that nothing has come yet. */
  readonly input?: unknown;
  /** `tool_use`: who called it, the model itself or a program that it wrote. Goes back with the call. */
  readonly caller?: unknown;
  /** `tool_use`: the toolset that the tool is a member of. Goes back with the call and with its result. */
  readonly toolset_name?: string | null | undefined;
  /** `*_tool_result` */
  readonly tool_use_id?: string | null | undefined;
  readonly content?: unknown;
  readonly is_error?: boolean | null | undefined;
  /** `fallback`: the model that takes over from one that declined. */
  readonly to?: { readonly model?: string | null } | null | undefined;
}

/**
 * What changes. For a block, by `type`: `text_delta`, `thinking_delta`, `signature_delta`, `input_json_delta`,
 * `citations_delta`, `compaction_delta`. For a message there is no `type`, and the stop fields are set.
 */
export interface WireDelta {
  readonly type?: string | null | undefined;
  readonly text?: string | null | undefined;
  readonly thinking?: string | null | undefined;
  readonly signature?: string | null | undefined;
  /** A piece of the JSON text of `input`. */
  readonly partial_json?: string | null | undefined;
  readonly citation?: unknown;
  readonly stop_reason?: string | null | undefined;
  readonly stop_details?: WireStopDetails | null | undefined;
  readonly container?: WireContainer | null | undefined;
}

/** Why the model refused, in prose. */
export interface WireStopDetails {
  readonly explanation?: string | null | undefined;
}

export interface WireUsage {
  readonly input_tokens?: number | null | undefined;
  readonly output_tokens?: number | null | undefined;
  readonly cache_creation_input_tokens?: number | null | undefined;
  readonly cache_read_input_tokens?: number | null | undefined;
  readonly output_tokens_details?: { readonly thinking_tokens?: number | null } | null | undefined;
}

export interface WireError {
  readonly type?: string | null | undefined;
  readonly message?: string | null | undefined;
}

/** What was sent, block by block: the source of `assistantMessage()`. Plain JSON. */
export interface AnthropicRecord {
  readonly messages: readonly MessageRecord[];
  /** The id of the container in which code of the turn ran, or still waits. */
  container?: string;
}

/** One `message_start` and what followed it. */
export interface MessageRecord {
  readonly blocks: BlockRecord[];
  /** `null` until the message ends, and for good if it was cut. */
  stopReason: string | null;
  /** Whether another message began before this one had ended: a gateway that retried. */
  replaced: boolean;
}

export interface BlockRecord {
  /** As it goes back. A client's call comes without `input`, which is taken from the call. */
  readonly block: { readonly type: string; [field: string]: unknown };
  /** Only for a client's call (`tool_use`): where to find it among the calls of the turn. */
  readonly call?: CallPlace;
  /** Whether the block has ended. */
  done: boolean;
}

export interface CallPlace {
  readonly turnIndex: number;
  readonly callIndex: number;
}
