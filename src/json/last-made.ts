/**
 * The string that was made last of bytes which were looked at one by one, and what was seen of it: most pieces of
 * arguments are parsed as soon as they are made, and to look at a string's characters costs far more than at bytes.
 */
export const lastMade = {
  text: "",
  /** How many of its first characters are plain: neither quotes nor backslashes nor controls. */
  plain: 0,
  /** Its UTF-16 units, where not all are plain: 64 at the most, and one more that turns out to be too many. */
  units: new Uint16Array(65),
};
