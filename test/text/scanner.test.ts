import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { notations } from "../../adapters/text-json/notations/index.ts";
import { fixtureNames, loadFixture, places, splits } from "../fixtures.ts";
import { seeded } from "../seeded.ts";
import { textAdapters } from "../adapters.ts";
import type { TextAdapter } from "../../src/text/adapter.ts";
import { readText, said, scannerOf, textOf } from "./support.ts";

const all = Object.values(notations);
const markers = all.flatMap((notation) => notation.markers);
const longest = Math.max(...markers.map((marker) => marker.length));

/** Text full of what markers begin with. */
const nearly = fc
  .array(
    fc.oneof(
      fc.constantFrom("<", "[", "<|", "<tool", "</tool_call>", "[TOOL_", "`", '"', "'", "\n", "```", "~~~\n", "{", "}"),
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.constantFrom(...markers).map((marker) => marker.slice(0, -1)),
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""))
  .filter((text) => !markers.some((marker) => text.includes(marker)));

describe("text without a marker", () => {
  it("passes through unchanged, with a delay no longer than a marker", () => {
    fc.assert(
      fc.property(nearly, fc.integer({ min: 1, max: 9 }), (text, size) => {
        const { scanner, heard } = scannerOf(all);
        for (let at = 0; at < text.length; at += size) {
          scanner.push(text.slice(at, at + size));
          const sent = Math.min(at + size, text.length);
          expect(text.slice(0, sent).startsWith(heard.text)).toBe(true);
          expect(sent - heard.text.length).toBeLessThan(longest);
        }
        scanner.end(true);
        expect(heard).toEqual({ text, chunks: [] });
      }),
      { numRuns: 2000 },
    );
  });

  it("is said at once, up to what may be a marker", () => {
    const { scanner, heard } = scannerOf(all);
    scanner.push("Hello <b");
    expect(heard.text).toBe("Hello <b");
    scanner.push("> and <tool_c");
    expect(heard.text).toBe("Hello <b> and ");
    scanner.push("ount>");
    expect(heard.text).toBe("Hello <b> and <tool_count>");
  });
});

describe("a marker that leads a text", () => {
  it("holds back nothing elsewhere", () => {
    const { scanner, heard } = scannerOf(all);
    for (const word of ["It", " is not", " what", "\nto", "=functions.now", "<|message|>t"]) {
      const before = heard.text;
      scanner.push(word);
      expect(heard.text).toBe(before + word);
    }
  });

  it.each(["", " \n"])("begins a block behind %j", (space) => {
    const { scanner, heard } = scannerOf(all);
    for (const character of `${space}to=functions.now<|message|>{}<|call|>t`) scanner.push(character);
    expect(heard.chunks.map(({ name }) => name).filter(Boolean)).toEqual(["now"]);
    expect(heard.text).toBe(`${space}t`);
  });
});

describe("a marker that turns out to begin nothing", () => {
  it.each([
    ["<tool_call> is the tag", "no JSON behind it"],
    ["<tool_call>", "nothing behind it"],
    ["<tool_call>  \n ", "white space behind it"],
    [`<tool_call>${" ".repeat(300)}{"name":"now"}`, "more white space than any model writes"],
    ["<tool_call>{}</tool_call>", "no key"],
    ["<function=>{}</function>", "no name"],
    ["<function=f>text</function>", "no JSON"],
    ["[TOOL_CALLS] they are called", "a word"],
    ["<|tool_calls_section_begin|> is the mark", "no call behind it"],
    ["<|tool_calls_section_begin|>", "nothing behind it"],
    ["<|tool_call_begin|>two words<|tool_call_argument_begin|>{}", "a name with a space"],
    ["<|tool_call_begin|>f:0<|tool_call_end|><|tool_call_argument_begin|>{}", "a name with a mark in it"],
    ["<\u{ff5c}DSML\u{ff5c}function_calls> begins it", "no tag"],
    ['<|DSML|invoke id="1">', "no name"],
    ['<invoke name="now"> is how', "nothing of a call behind it"],
    ['<invoke name="now"/>', "the tag of another XML"],
    ['<invoker name="now"><parameter name="a">', "another tag"],
    ['<function_calls><b name="now">', "another tag behind it"],
    ["<|channel|>IT<|message|>", "no channel"],
    ["to=functions.now is a recipient", "words behind the recipient"],
    ["to=functions.now", "nothing behind the recipient"],
    ["use to=functions.now<|message|>{}", "a recipient in a sentence"],
    ["to=functions.to=functions.now<|message|>{}", "a recipient behind a marker"],
    ["<|channel|>final<|c<|message|>", "a mark that is none"],
    ["<|python_tag|>import os", "code"],
  ])("%s: %s", async (text) => {
    for (const size of [1, 3, text.length]) {
      const { scanner, heard } = scannerOf(all);
      for (let at = 0; at < text.length; at += size) scanner.push(text.slice(at, at + size));
      scanner.end(true);
      expect(heard).toEqual({ text, chunks: [] });
    }
  });
});

describe("a marker that is written about", () => {
  const call = '<tool_call>{"name":"now"}</tool_call>';
  const long = "<tool_call>\n<function=now>\n</function>\n</tool_call>";
  it.each([
    `the form \`${long}\` is`,
    `the form \`\`${long}\`\`\r\n`,
    `say "${long}" and '${long}'`,
    `\u{201c}${long}\u{201d}`,
    `\u{300c}${long}\u{300d}`,
    `You wrote:\n> ${long}\n`,
    `\`${call}\n${call}\``,
    `Like this: \`\`\`xml\n${call}\n\n${long}\n\`\`\`\n`,
    `Like this: \`\`\`xml\r\n${long}\`\`\``,
    `in \`\`\`xml\n\`\`\`xml\n${call}\n\`\`\``,
    `in \`\`\`xml\n\n\`\`\`xml ${call}`,
    `\`\`\`${long}\`\`\`\n\n\`\`\`${long}\`\`\``,
    `\`\`\`\n${call}\n\`\`\`\n`,
    `\`\`\`xml\n${call}\n\`\`\``,
    `  ~~~~\n~~~\n${call}\n`,
    `\`\`\`${call}\n`,
    `write \`${call}\` and`,
    `write \`\` a \` ${call} \`\`,`,
    `say "${call}"`,
    `say '${call}'`,
    `{"example": "${call.slice(0, 11)}`,
    `{"example":"${call.slice(0, 11)}`,
    `say ("${call}")`,
    `say '"${call}"'`,
    `say \\"${call}\\"`,
    `\u{6bd4}\u{5982}"${call}"`,
    `a 5" nail and "${call}"`,
    `\u{201c}${call}\u{201d}`,
    `it\u{2019}s \u{2018}${call}\u{2019}`,
    `\u{201e}${call}\u{201c}`,
    `\u{201e}a\u{201c} \u{201e}${call}\u{201c}`,
    `\u{6bd4}\u{5982}\u{300c}${call}\u{300d}`,
    `\u{ab}${call}\u{bb}`,
    `\u{ab}a\u{bb} \u{ab}${call}\u{bb}`,
    `\u{bb}a\u{ab} \u{bb}${call}\u{ab}`,
    `the "first" and "${call}"`,
    `the users' "${call}"`,
    `You wrote:\n> ${call}\n`,
    `- \`\`\`\n  ${call}\n  \`\`\``,
    `1. \`\`\`xml\n   ${call}\n   \`\`\``,
    `10) First:\n\n    ~~~\n    ${call}`,
    `1. First:\n   * Then:\r\n\r\n     \`\`\`\r\n     ${call}\n     \`\`\``,
    `\t- a\n- b\n\n\t\`\`\`\n\t${call}`,
    `- > ${call}`,
    `2. * >${call}`,
    `\`\`\`md\n- a\n    \`\`\`\n${call}`,
    `\`\`\`md\n- \`\`\`\n${call}`,
    `\`\`\`\`\n\`\`\`${call}\n~~~~${call}\n`,
    `  >> "so" ${call}`,
  ])("%j is text", (text) => {
    const { scanner, heard } = scannerOf(all);
    for (const character of text) scanner.push(character);
    scanner.end(true);
    expect(heard).toEqual({ text, chunks: [] });
  });

  it.each([
    `\`\`\`\ncode\n\`\`\`\n${call}`,
    `\`\`\`\`\ncode\n\`\`\`\`${call}`,
    `\`\`\`\ncode\n\`\`\` ${call}`,
    `\`\`\`code\`\`\` ${call}`,
    `it\`s\n${call}`,
    `\`<tool_call>\` is it\n${call}`,
    `\`<tool_call>\` isn\`t\n${call}`,
    `\`<tool_call>\n\n${call}`,
    `"<tool_call>\n \n${call}`,
    `> <tool_call>\n\n${call}`,
    `\`<tool_call>\n\`\`\`\ncode\n\`\`\`\n${call}`,
    `Like this: \`\`\`xml\ncode\n\`\`\`\n${call}`,
    `Like this: \`\`\`js\ncode\`\`\`\n${call}`,
    `Like this: \`\`\`js\ncode\n\`\`\` ${call}`,
    `in \`\`\`js\n\`\`\`js\ncode\n\`\`\`\n${call}`,
    `in \`\`\`js\n\`\`\`js code\`\`\` ${call}`,
    `\`\`\`<tool_call>\n<function=\n\`\`\`\n${call}`,
    `\`\`\`<tool_call>\n\n<function=\`\`\`\n${call}`,
    `Like this: \`\`\`js\ncode\n\`\`\`\`\n${call}`,
    `as \`\`\`a b\n${call}`,
    `as \`\`a\n${call}`,
    `"quoted" ${call}`,
    `don't ${call}`,
    `    \`\`\`\n${call}`,
    `${call}\n\`\`\``,
    `about "Oslo"${call}`,
    `about "Oslo, Norway."${call}`,
    `about 'Oslo'${call}`,
    `about "Bj\u{f8}rn\u{f6}"${call}`,
    `about \u{201c}Oslo\u{201d}, "the 'old' one"${call}`,
    `an empty ""${call}`,
    `\u{201c}a\u{201d}${call}`,
    `\u{201c}\u{201d}${call}`,
    `the users\u{2019}${call}`,
    `\u{201e}a\u{201c}${call}`,
    `\u{201a}a\u{2018}${call}`,
    `\u{bb}a\u{ab}${call}`,
    `\u{ab}a\u{bb}${call}`,
    `\u{ab}a\n\u{bb}a\u{ab}${call}`,
    `\u{300c}a\u{300d} ${call}`,
    `the users'${call}`,
    `an "open one\ncity="Oslo"${call}`,
    `"the "t" and a ${call}`,
    `> quoted\n${call}`,
    `a > b ${call}`,
    `    > ${call}`,
    `- a\nb\n\n     \`\`\`\n${call}`,
    `- a\n  \`\`\`\n  b\n  \`\`\`\n${call}`,
    `- a\n  \`\`\`\n  b\n\`\`\`\n${call}`,
    `* a\n\n          \`\`\`\n${call}`,
    `-\`\`\`\n${call}`,
    `1 \`\`\`\n${call}`,
    `--- \`\`\`\n${call}`,
    `-- > ${call}`,
    `5.> ${call}`,
    `- ${call}\`\`\`\n${call}`,
    `${call}> and ${call}`,
    `${call}\`\`\`\n${call}`,
    `${call} > ${call}`,
  ])("%j has a call", (text) => {
    const { scanner, heard } = scannerOf(all);
    for (const character of text) scanner.push(character);
    scanner.end(true);
    expect(heard.chunks.map(({ name }) => name).filter(Boolean)).toEqual(text.match(/"now"/g)!.map(() => "now"));
    expect(heard.text).toBe(text.replaceAll(call, ""));
  });
});

/** Pieces of so many characters, begun at each offset, split a text at every place. */
const PIECES = [11, 199];

describe.each(textAdapters.map(({ adapter }) => adapter as TextAdapter))("$name", (adapter) => {
  it.each(fixtureNames(adapter.name))(
    "%s, as text, is the same character by character and at every split",
    async (name) => {
      const fixture = loadFixture(adapter.name, name);
      const text = textOf(fixture);
      const whole = said(await readText(adapter, [text], fixture.tools));
      expect(said(await readText(adapter, text.split(""), fixture.tools))).toBe(whole);
      for (const size of PIECES) {
        for (const pieces of splits(text, size)) {
          const split = said(await readText(adapter, pieces, fixture.tools));
          const first = pieces[0]!.length;
          if (split !== whole) expect({ first, size, split }).toEqual({ first, size, split: whole });
        }
      }
    },
  );

  // A list without marks is text because of what follows it in its line: cut before that, nothing tells it from a call.
  it.each(fixtureNames(adapter.name).filter((name) => name !== "without-marks-text"))(
    "%s, as text that is cut anywhere, makes no call that is not in the whole",
    async (name) => {
      const fixture = loadFixture(adapter.name, name);
      const text = textOf(fixture);
      const inputs = ({ events }: Awaited<ReturnType<typeof readText>>) =>
        events.flatMap((event) =>
          event.type === "tool-use" ? [JSON.stringify([event.use.name, event.use.input])] : [],
        );
      const whole = inputs(await readText(adapter, [text], fixture.tools));
      for (const at of places(text.length, seeded(text.length))) {
        const cut = inputs(await readText(adapter, [text.slice(0, at)], fixture.tools));
        expect(cut.filter((input) => !whole.includes(input))).toEqual([]);
      }
    },
  );
});
