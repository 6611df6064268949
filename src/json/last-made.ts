/**
 * The last string made from bytes that were examined one by one, and what was learned about it: most pieces of
 * arguments are parsed right after they are made, and examining a string's characters costs far more than examining
 * bytes.
 */
export const lastMade = {
  text: "",
  /** How many of its first characters are plain: no quotes, backslashes or control characters. */
  plain: 0,
  /** Its UTF-16 units, if not all are plain: 64 at most, plus one that turns out to be too many. */
  units: new Uint16Array(65),
};
