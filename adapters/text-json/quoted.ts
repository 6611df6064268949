/** Of a tag in a value: its end, what shows that this is missing, that of a call which is written about, or nothing. */
export type TagMeaning = "end" | "unclosed" | "quoted" | "text" | "maybe";

/** Why a call that the model may well have ended is taken for one that was cut. */
export const NO_END = "a value has no end, or quotes a call or a parameter that has none";

/**
 * The calls that are written about in a value, so that their tags are told from the value's own. A parameter without a
 * call around it counts where it begins a line, or stands behind another one; elsewhere it is but mentioned.
 *
 * ```
 * <parameter=content>A call: <function=f> <parameter=a>1</parameter> </function></parameter>
 *                            ^ begins     ^ begins      ^ ends       ^ ends     ^ the value's own
 * ```
 */
export class QuotedCalls {
  /** What has begun and not ended: a call, a parameter of one, a parameter without a call around it. */
  readonly #open: ("call" | "parameter" | "lone parameter")[] = [];
  /** Whether any has begun in the value. */
  hasBegun = false;
  /** Whether one has ended there that had not begun: that may be the end of the call whose value it is. */
  hasEnded = false;
  /** Since the last tag of a call that is written about nothing but white space has come. */
  #isBehindTag = false;
  /** Since the last line break nothing but white space has come. */
  #isLineStart = true;

  get isIn(): boolean {
    return this.#open.length > 0;
  }

  /** Text of the value between the tags that are told of. */
  pass(text: string): void {
    const line = text.lastIndexOf("\n");
    const isBlank = text.slice(line + 1).trim() === "";
    this.#isLineStart = isBlank && (line >= 0 || this.#isLineStart);
    if (this.#isBehindTag) this.#isBehindTag = text.trim() === "";
  }

  beginCall(): void {
    this.#open.push("call");
    this.#seeTag();
  }

  beginParameter(): void {
    if (this.#open.at(-1) === "call") this.#open.push("parameter");
    else if (!this.isIn && (this.#isLineStart || this.#isBehindTag)) this.#open.push("lone parameter");
    this.#seeTag();
  }

  /**
   * @param isFollowed by what follows a parameter of a call: without it the tag is one in the parameter's own value
   * @returns whether the tag is that of a parameter that is written about
   */
  endParameter(isFollowed: boolean): boolean {
    const last = this.#open.at(-1);
    if (last !== "lone parameter" && (last !== "parameter" || !isFollowed)) return false;
    this.#open.pop();
    this.#seeTag();
    return true;
  }

  /** A parameter that has no end is over with its call. @returns whether the tag is that of such a call */
  endCall(): boolean {
    const last = this.#open.pop();
    if (last === "parameter") this.#open.pop();
    return last === "call" || last === "parameter";
  }

  #seeTag(): void {
    this.hasBegun = true;
    this.#isBehindTag = true;
    this.#isLineStart = false;
  }
}
