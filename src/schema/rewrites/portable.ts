/**
 * Whether a pattern of JavaScript is one of Python's `re` too (https://docs.python.org/3/library/re.html#regular-expression-syntax)
 * and fits the same ASCII texts there. Left out are `\p{…}`, `\u{…}`, halves of surrogate pairs, `\c…`, octal and other
 * escapes that one of the two does not know, `\B` (of an empty text), a class that is empty or has a range from or to a
 * set (`[\w-.]`, `[+-\s]`), `{,3}`, all groups but `(…)` and `(?:…)`, and references: one to a group that took no part
 * fits nothing there, and anything here. That `\w`, `\d` and `\s` hold more than ASCII there, and that `$` may stand
 * before a last line break, is let pass: few patterns would be left.
 */
export function isPortable(pattern: string): boolean {
  return PORTABLE.test(pattern);
}

const ESCAPE = String.raw`\\(?:[bdDsSwWfnrtv]|0(?!\d)|x[\da-fA-F]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4}|[^\da-zA-Z])`;
const SET = String.raw`\\[dDsSwW]`;
// One way to read each class: of two there would be 2 ** n for n classes.
const CLASS = String.raw`\[(?!\^?\])(?:\^?-(?=${SET}))?(?:(?!${SET}-[^\]])${ESCAPE}|-(?!${SET})|[^\]\\-])*\]`;
const PORTABLE = new RegExp(String.raw`^(?:${ESCAPE}|${CLASS}|\((?!\?(?!:))|\{(?!,\d*\})|[^\\[({])*$`);
