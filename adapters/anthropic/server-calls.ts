import type { ParserSink } from "../../src/adapter.ts";
import { isRecord } from "../../src/schema/json.ts";
import { textOf } from "../../src/wire/field.ts";
import type { WireBlock } from "./wire.ts";

/** `server_tool_use`, `mcp_tool_use` and future types like them: the provider runs these. */
export function isServerCall<B extends { readonly type: string }>(
  block: B,
): block is B & { readonly type: `${string}_tool_use` } {
  return block.type.endsWith("_tool_use");
}

/**
 * `web_search_tool_result`, `mcp_tool_result` and future types like them. On Z.ai's own endpoint it is `tool_result`,
 * which is the client's elsewhere: https://github.com/can1357/oh-my-pi/pull/1817
 */
export function isServerResult({ type }: { readonly type: string }): boolean {
  return type.endsWith("tool_result");
}

/** Reports what the provider runs itself. */
export class ServerCalls {
  readonly #sink: ParserSink;
  readonly #byId = new Map<string, WireBlock>();
  /** The ids of those without a result so far, in order. */
  readonly #open = new Set<string>();

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  /** Reported when the call begins, and again when its input is known and the provider runs the tool. */
  started(block: WireBlock, known: Pick<WireBlock, "input"> = {}): void {
    const id = textOf(block.id);
    this.#sink.providerTool({
      id: id ?? null,
      name: textOf(block.name) ?? "",
      type: block.type,
      status: "started",
      executedBy: "provider",
      ...known,
    });
    if (id === undefined) return;
    if (!this.#byId.has(id)) this.#open.add(id);
    this.#byId.set(id, block);
  }

  /** @returns the id of the call that has ended */
  ended(result: WireBlock, id: string): string {
    const { content, type } = result;
    // The call may belong to an earlier turn, whose program waited for our results.
    const call = this.#byId.get(id) ?? this.#waiting(type);
    const callId = textOf(call?.id) ?? id;
    if (call === undefined && type === "tool_result") return id;
    this.#open.delete(callId);
    const failed = result.is_error === true || (isRecord(content) && String(content["type"]).endsWith("_error"));
    this.#sink.providerTool({
      id: callId,
      name: textOf(call?.name) ?? type.slice(0, -"_tool_result".length),
      type: call?.type ?? type,
      status: failed ? "failed" : "completed",
      executedBy: "provider",
      ...(call?.input !== undefined && { input: call.input }),
      output: content,
    });
    return callId;
  }

  /** Kimi gives the result of a search another id than its call: https://github.com/Wei-Shaw/sub2api/issues/5209 */
  #waiting(type: string): WireBlock | undefined {
    const first = this.#byId.get(this.#open.values().next().value!);
    return `${first?.name}_tool_result` === type ? first : undefined;
  }
}
