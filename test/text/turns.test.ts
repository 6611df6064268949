/** Random turns of text and calls: what is said is the same in any pieces, exact beside the calls, and never runs half. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { helpers } from "../../adapters/text-helpers/notation.ts";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { textJson, type NotationName } from "../../adapters/text-json/index.ts";
import { notationNamed, notations } from "../../adapters/text-json/notations/index.ts";
import { ToolUse, type Tool } from "../../src/index.ts";
import type { TextAdapter } from "../../src/text/adapter.ts";
import type { TextDialect } from "../../src/text/dialect.ts";
import { plainText } from "../../src/text/plain.ts";
import { rescue } from "../../src/text/rescue.ts";
import { cutAt } from "../json/support.ts";
import { sharedTools } from "../fixtures.ts";
import { calls, hostileText, toolOf, type Call } from "./calls.ts";
import { readText, said } from "./support.ts";

/** How much of the end of a block may be missing behind its last call: the call has said before that it is whole. */
const SPARE: Record<NotationName | "helpers", number> = {
  hermes: 0,
  mistral: "]".length,
  "qwen-xml": "\n</tool_call>".length,
  glm: 0,
  "function-tag": 0,
  kimi: "<|tool_calls_section_end|>".length,
  deepseek: "<|tool calls end|>".length,
  dsml: "\n</|DSML|function_calls>".length,
  invoke: "\n</minimax:tool_call>".length,
  xtml: "<|close|>tools<|sep|>".length,
  harmony: "<|call|>".length,
  gemma: 0,
  pythonic: "<|tool_call_end|>".length,
  helpers: 0,
};

const rows = [
  { name: "helpers" as const, adapter: textHelpers(), dialect: helpers() },
  ...(Object.keys(notations) as NotationName[]).map((name) => ({
    name,
    adapter: textJson(name),
    dialect: notationNamed(name),
  })),
];

/** A piece of a turn: what it says as text, or the call that it is. */
interface Part {
  readonly raw: string;
  readonly text: string;
  readonly call?: Call;
}

describe.each(rows)("a turn of $name", ({ name, adapter, dialect }) => {
  it("has its text and its calls, in any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(turns(dialect), fc.array(fc.nat(), { maxLength: 12 }), async ({ parts, tools }, places) => {
        const raw = parts.map((part) => part.raw).join("");
        const whole = await readText(adapter, [raw], tools);
        expect(whole.turn.text).toBe(parts.map(({ text }) => text).join(""));
        expect(inputsOf(whole)).toEqual(callsIn(parts));
        const pieces = said(await readText(adapter, cutAt(raw, places), tools));
        if (pieces !== said(whole)) expect({ places, pieces }).toEqual({ places, pieces: said(whole) });
      }),
      { numRuns: 60 },
    );
  });

  it("that ends anywhere runs no call that is not there as a whole, and loses no text", async () => {
    await fc.assert(
      fc.asyncProperty(turns(dialect), fc.nat(), async ({ parts, tools }, place) => {
        const raw = parts.map((part) => part.raw).join("");
        const at = place % (raw.length + 1);
        const cut = await readText(adapter, [raw.slice(0, at), { type: "finish", reason: "length" }], tools);
        let end = 0;
        const come = parts.filter((part) => (end += part.raw.length) <= at);
        const from = come.reduce((length, part) => length + part.raw.length, 0);
        const next = parts[come.length];
        const isThere = next?.call !== undefined && at - from >= next.raw.length - SPARE[name];
        const inputs = inputsOf(cut);
        if (!(isThere && inputs.length === callsIn(come).length + 1)) expect(inputs).toEqual(callsIn(come));
        else expect(inputs).toEqual(callsIn(parts.slice(0, come.length + 1)));
        const text = come.map((part) => part.text).join("");
        // What begins a call and is not known to be one is text; else it is a call, whole or not.
        const isCall = cut.turn.calls.length > callsIn(come).length;
        expect(cut.turn.text).toBe(next?.call !== undefined && isCall ? text : text + raw.slice(from, at));
      }),
      { numRuns: 60 },
    );
  });
});

describe.each(rows)("any text, read as $name", ({ adapter, dialect }) => {
  it("says the same in any pieces", async () => {
    const one = dialect.writeCalls([
      written(dialect, { name: "get_weather", properties: {}, input: { city: "Oslo" } }),
    ]);
    const tags = one.match(/<[^<>]*>|\{|\}|"[^"<>]*"|[^<>{}"]+/g)!;
    const soup = fc.array(fc.oneof(fc.constantFrom(...tags, ...dialect.markers, one), hostileText()), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(soup, fc.array(fc.nat(), { maxLength: 12 }), async (list, places) => {
        const text = `.${list.join("")}`;
        const whole = summaryOf(await readText(adapter, [text], sharedTools));
        for (const pieces of [cutAt(text, places), text.split("")]) {
          expect(summaryOf(await readText(adapter, pieces, sharedTools))).toEqual(whole);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("any text, read as all of them at once", () => {
  it("says the same in any pieces", async () => {
    const every = rescue(plainText, { notations: rows.map(({ dialect }) => dialect) }) as TextAdapter;
    const tags = rows.flatMap(({ dialect }) => {
      const one = dialect.writeCalls([
        written(dialect, { name: "get_weather", properties: {}, input: { city: "Oslo" } }),
      ]);
      return [...dialect.markers, ...one.match(/<[^<>]*>|\{|\}|"[^"<>]*"|[^<>{}"]+/g)!];
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...tags), { maxLength: 12 }), async (list) => {
        const text = list.join("");
        const whole = summaryOf(await readText(every, [text], sharedTools));
        expect(summaryOf(await readText(every, text.split(""), sharedTools))).toEqual(whole);
      }),
      { numRuns: 1200 },
    );
  });
});

/** Text, calls, and calls that are written about: in fences, in code and quotes in the line. */
function turns(dialect: TextDialect): fc.Arbitrary<{ parts: Part[]; tools: Tool[] }> {
  const example = dialect.writeCalls([written(dialect, { name: "find0", properties: {}, input: { city: "Oslo" } })]);
  const [marker] = dialect.markers as [string];
  const words = fc.array(
    fc.constantFrom(
      "a",
      "Oslo",
      " ",
      "\n",
      "\n\n",
      "<",
      "<b>",
      "</",
      "[",
      "{",
      "}",
      "é",
      "😀",
      ".",
      "it's ",
      "5 < 6",
      "|",
    ),
    { maxLength: 12 },
  );
  const text = fc.oneof(
    words.map((list) => list.join("")),
    fc.constantFrom(
      `\`\`\`\n${example}\n\`\`\``,
      `~~~~ xml\n${example}\n~~~\n${example}\n~~~~`,
      `the mark \`${marker}\` and`,
      `the mark "${marker}" and`,
      `('${marker}')`,
      `\`\` a \` ${marker} \`\``,
    ),
  );
  const saying: fc.Arbitrary<Part> = text.map((body) => ({ raw: `\n${body}\n`, text: `\n${body}\n` }));
  return fc
    .tuple(calls, fc.array(saying, { minLength: 4, maxLength: 4 }), fc.array(fc.boolean()))
    .map(([list, texts, between]) => {
      const parts = list.flatMap((call, at): Part[] => {
        const own: Part = { raw: dialect.writeCalls([written(dialect, call)]), text: "", call };
        return between[at] === true ? [own] : [texts[at]!, own];
      });
      return { parts: [...parts, texts[3]!], tools: list.map(toolOf) };
    });
}

function written(dialect: TextDialect, call: Call) {
  return { id: null, name: dialect.toolName(call.name), args: call.input, tool: toolOf(call), metadata: {} };
}

function inputsOf({ events }: Awaited<ReturnType<typeof readText>>): string[] {
  return events.flatMap((event) =>
    event.type === "tool-use" ? [JSON.stringify([event.use.name, event.use.input])] : [],
  );
}

/** What a call that failed is told is not compared: pieces of what is no JSON may look like snapshots. */
function summaryOf({ turn }: Awaited<ReturnType<typeof readText>>) {
  const inputs = turn.calls.map(({ name, outcome }) => [name, outcome instanceof ToolUse ? outcome.input : "failed"]);
  return { text: turn.text, reasoning: turn.reasoning, inputs };
}

function callsIn(parts: readonly Part[]): string[] {
  return parts.flatMap(({ call }) => (call === undefined ? [] : [JSON.stringify([call.name, call.input])]));
}
