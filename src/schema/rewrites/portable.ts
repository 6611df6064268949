/**
 * Whether a JavaScript pattern is also valid in Python's `re`
 * (https://docs.python.org/3/library/re.html#regular-expression-syntax) and fits the same ASCII texts there. Left out
 * are `\p{…}`, `\u{…}`, halves of surrogate pairs, `\c…`, octal and other escapes that one of the two does not know,
 * `\B` (of an empty text), a class that is empty or has a range from or to a set (`[\w-.]`, `[+-\s]`), `{,3}`, all
 * groups except `(…)` and `(?:…)`, and references: one to a group that did not take part fits nothing there, but
 * anything here. Accepted nevertheless: `\w`, `\d` and `\s`, which include more than ASCII there, and `$`, which there
 * also fits before a last line break. Few patterns would be left without them.
 */
export function isPortable(pattern: string): boolean {
  return PORTABLE.test(pattern);
}

const ESCAPE = String.raw`\\(?:[bdDsSwWfnrtv]|0(?!\d)|x[\da-fA-F]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4}|[^\da-zA-Z])`;
const SET = String.raw`\\[dDsSwW]`;
// Only one way to read each class: two would make 2 ** n for n classes.
const CLASS = String.raw`\[(?!\^?\])(?:\^?-(?=${SET}))?(?:(?!${SET}-[^\]])${ESCAPE}|-(?!${SET})|[^\]\\-])*\]`;
const PORTABLE = new RegExp(String.raw`^(?:${ESCAPE}|${CLASS}|\((?!\?(?!:))|\{(?!,\d*\})|[^\\[({])*$`);
