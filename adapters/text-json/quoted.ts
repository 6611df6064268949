/**
 * The calls that a value quotes, to tell their tags from the value's own. A parameter without a call around it counts
 * if it begins a line or follows another quoted tag; elsewhere it is only mentioned.
 *
 * ```
 * <parameter=content>A call: <function=f> <parameter=a>1</parameter> </function></parameter>
 *                            ^ begins     ^ begins      ^ ends       ^ ends     ^ the value's own
 * ```
 */
export class QuotedCalls {
  /** What has begun but not ended: a call, a parameter of one, a parameter without a call around it. */
  readonly #open: ("call" | "parameter" | "lone parameter")[] = [];
  /** Whether any has begun in the value. */
  hasBegun = false;
  /** Whether one has ended that never began: that may be the end of the call that the value belongs to. */
  hasEnded = false;
  /** How many elements of the value's own are open that are named like a parameter. */
  elements = 0;
  /** The end before this one is a text in the value that nothing there has begun, and follows directly. */
  isDoubled = false;
  /** Only white space has come since the last line break, or the last tag of a quoted call. */
  #isBegin = true;

  get isIn(): boolean {
    return this.#open.length > 0;
  }

  /** Takes the text of the value between the tags reported here. */
  pass(text: string): void {
    const line = text.lastIndexOf("\n");
    this.#isBegin = (line >= 0 || this.#isBegin) && text.slice(line + 1).trim() === "";
  }

  beginCall(): void {
    this.#open.push("call");
    this.#seeTag();
  }

  beginParameter(): void {
    if (this.#open.at(-1) === "call") this.#open.push("parameter");
    else if (!this.isIn && this.#isBegin) this.#open.push("lone parameter");
    this.#seeTag();
  }

  /**
   * @param isFollowed by what may follow a parameter of a call; otherwise the tag is part of the parameter's own value
   * @param isRepeated whether the same end follows
   * @returns whether the tag ends a quoted parameter
   */
  endParameter(isFollowed: boolean, isRepeated: boolean): boolean {
    const last = this.#open.at(-1);
    this.isDoubled = false;
    if (last !== "lone parameter" && (last !== "parameter" || !isFollowed)) {
      if (this.elements > 0) this.elements--;
      else this.isDoubled = isRepeated;
      return false;
    }
    this.#open.pop();
    this.#seeTag();
    return true;
  }

  /** A parameter without an end is over with its call. @returns whether the tag ends a quoted call */
  endCall(): boolean {
    const last = this.#open.pop();
    if (last === "parameter") this.#open.pop();
    return last === "call" || last === "parameter";
  }

  #seeTag(): void {
    this.hasBegun = true;
    this.#isBegin = true;
  }
}
