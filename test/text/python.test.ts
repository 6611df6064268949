import { describe, expect, it } from "vitest";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { helpers as notation } from "../../adapters/text-helpers/notation.ts";
import { defineTool, jsonSchema, ToolCallError, ToolUse, type FinishReason, type Turn } from "../../src/index.ts";
import { readText } from "./support.ts";

const any = {};
const tools = [
  defineTool({ name: "f", inputSchema: jsonSchema({ type: "object", properties: { a: any, b: any, c: any } }) }),
  defineTool({ name: "g", inputSchema: jsonSchema({ type: "object", properties: {} }) }),
  defineTool({
    name: "Search.web",
    inputSchema: jsonSchema({ type: "object", properties: { query: { type: "string" } }, required: ["query"] }),
  }),
];

const read = [defineTool({ name: "g", effect: "read", inputSchema: jsonSchema({ type: "object", properties: {} }) })];

async function* once(text: string): AsyncIterable<string> {
  yield text;
}

async function turnOf(code: string): Promise<Turn> {
  return (await readText(textHelpers(), [`<helpers>${code}</helpers>`], tools)).turn;
}

/** What a turn's calls come to: their inputs, or why there is none. */
function outcomes({ calls }: Turn): unknown[] {
  return calls.map(({ outcome }) => {
    if (outcome instanceof ToolUse) return outcome.input;
    return outcome instanceof ToolCallError ? `${outcome.code}: ${outcome.message}` : undefined;
  });
}

describe("arguments", () => {
  it.each<[string, unknown]>([
    // strings
    [`f("text")`, { a: "text" }],
    [`f('text')`, { a: "text" }],
    [`f("it's")`, { a: "it's" }],
    [`f('say "hi"')`, { a: 'say "hi"' }],
    [`f("""two\nlines""")`, { a: "two\nlines" }],
    [`f('''a "b" ''c''')`, { a: `a "b" ''c` }],
    [`f("")`, { a: "" }],
    [`f('''''')`, { a: "" }],
    [
      String.raw`f("a\nb\t\\ \" \' \x41 \u00e9 \U0001F642 \101 \0 \q")`,
      { a: "a\nb\t\\ \" ' A \u00e9 \u{1f642} A \0 \\q" },
    ],
    ['f("one \\\nline")', { a: "one line" }],
    [String.raw`f(r"\d+\n")`, { a: String.raw`\d+\n` }],
    [String.raw`f(R'C:\tmp')`, { a: String.raw`C:\tmp` }],
    [`f(u"text")`, { a: "text" }],
    [`f("a" 'b'\n  "c")`, { a: "abc" }],
    [`f("</helpers> # no end")`, { a: "</helpers> # no end" }],
    [`f("\u{1f642} \u0457")`, { a: "\u{1f642} \u0457" }],
    [`f("{not} %s an f-string")`, { a: "{not} %s an f-string" }],
    // numbers
    [`f(1)`, { a: 1 }],
    [`f(-1)`, { a: -1 }],
    [`f(+7)`, { a: 7 }],
    [`f(0)`, { a: 0 }],
    [`f(1.5)`, { a: 1.5 }],
    [`f(-.5)`, { a: -0.5 }],
    [`f(1.0)`, { a: 1 }],
    [`f(1e3)`, { a: 1000 }],
    [`f(1_000_000)`, { a: 1_000_000 }],
    [`f(0xFF, 0o17, 0b101)`, { a: 255, b: 15, c: 5 }],
    // words
    [`f(True, False, None)`, { a: true, b: false, c: null }],
    [`f(true, false, null)`, { a: true, b: false, c: null }],
    // containers
    [`f([1, "two", [3.5, None]])`, { a: [1, "two", [3.5, null]] }],
    [`f({"a": {"b": [{}]}})`, { a: { a: { b: [{}] } } }],
    [`f({'k': True, "l": 'v',})`, { a: { k: true, l: "v" } }],
    [`f({1: 2, True: 3, None: 4})`, { a: { "1": 2, true: 3, null: 4 } }],
    [`f({"a": 1, "a": 2})`, { a: { a: 2 } }],
    [`f({"__proto__": 1})`, { a: JSON.parse('{"__proto__": 1}') }],
    [`f((1, 2), (), (3,))`, { a: [1, 2], b: [], c: [3] }],
    [`f([])`, { a: [] }],
    [`f(((1)))`, { a: 1 }],
    [`f([${"[],".repeat(200)}])`, { a: Array.from({ length: 200 }, () => []) }],
    [`f("${"[(".repeat(200)}")`, { a: "[(".repeat(200) }],
    // names of arguments
    [`f(1, 2, 3)`, { a: 1, b: 2, c: 3 }],
    [`f(c=1, a=2)`, { a: 2, c: 1 }],
    [`f(1, c=3)`, { a: 1, c: 3 }],
    [`f(1, b = 2,)`, { a: 1, b: 2 }],
    [`f()`, {}],
    [`g()`, {}],
    // layout
    [`f(\n  1,  # the first\n  # nothing\n  b=2,\n)`, { a: 1, b: 2 }],
    [`\n    f(1)\n`, { a: 1 }],
    [`# a comment with an apostrophe: it's\nf(1)`, { a: 1 }],
    [`f(1);`, { a: 1 }],
    [`\n\`\`\`python\nf(1)\n\`\`\`\n`, { a: 1 }],
    // callees and targets
    [`Search.web("x")`, { query: "x" }],
    [`await f(1)`, { a: 1 }],
    [`x = f(1)`, { a: 1 }],
    [`x: dict = f(1)`, { a: 1 }],
  ])("%s", async (code, input) => {
    expect(outcomes(await turnOf(code))).toEqual([input]);
  });

  it.each<[string, unknown[]]>([
    [`f(1)\nf(2)`, [{ a: 1 }, { a: 2 }]],
    [`f(1); f(2)`, [{ a: 1 }, { a: 2 }]],
    [`city = "Oslo"\nf(city)`, [{ a: "Oslo" }]],
    [`x = {"l": [1, 2]}\nf(x["l"][-1], x.l)`, [{ a: 2, b: [1, 2] }]],
    [`x = [1]\ny = x\nf([y, y])`, [{ a: [[1], [1]] }]],
    [`# nothing`, []],
    [``, []],
  ])("%j", async (code, inputs) => {
    expect(outcomes(await turnOf(code))).toEqual(inputs);
  });
});

describe("a block", () => {
  it.each<[string, string, FinishReason, unknown[], string]>([
    ["is text where nothing but white space is behind its tag", "<helpers> \n", "stop", [], "<helpers> \n"],
    ["is text where prose is behind its tag", "<helpers> are tools", "stop", [], "<helpers> are tools"],
    ["is one that was cut where a name is behind its tag", "<helpers>\nf", "stop", ["truncated"], ""],
    [
      "ends with its tag in a line whose string has no end",
      "<helpers>f('a <b> c</helpers>\nok </",
      "stop",
      ["invalid_call"],
      "\nok </",
    ],
    ["that was cut need not name a tool", "<helpers>f(1)</helpers><helpers># f", "stop", [{ a: 1 }, "truncated"], ""],
    ["does not where it was cut", "<helpers>f(1)\nf('a </helpers> b", "length", ["truncated"], ""],
    ["may hold no code", "<helpers></helpers> and", "stop", [], " and"],
    [
      "may hold the tag of another one in a string",
      "<helpers>f('<helpers>')</helpers>",
      "stop",
      [{ a: "<helpers>" }],
      "",
    ],
  ])("%s", async (_, text, reason, expected, said) => {
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textHelpers(), [...pieces, { type: "finish", reason }], tools);
      expect(
        turn.calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : (outcome as ToolCallError).code)),
      ).toEqual(expected);
      expect(turn.text).toBe(said);
    }
  });
});

describe("parameters whose names Python does not take", () => {
  const properties = { from: any, "user-id": any, user_id: any, "2nd": any, class: any, class_: any, $top: any };
  const find = defineTool({
    name: "find",
    inputSchema: jsonSchema({ type: "object", properties, required: ["from"] }),
  });
  const helpers = textHelpers();

  it("are described under names that it does", () => {
    expect(helpers.describeTools([find])).toContain(
      "def find(from_: Any, user_id_2: Any = None, user_id: Any = None, _2nd: Any = None, class__2: Any = None, class_: Any = None, _top: Any = None): ...",
    );
  });

  it("come back as the tool's own", async () => {
    const code = `find(from_=1, user_id_2=2, user_id=3, _2nd=4, class__2=5, class_=6, _top=7)\nfind(1, 2)`;
    const { turn } = await readText(helpers, [`<helpers>${code}</helpers>`], [find]);
    expect(outcomes(turn)).toEqual([
      { from: 1, "user-id": 2, user_id: 3, "2nd": 4, class: 5, class_: 6, $top: 7 },
      { from: 1, "user-id": 2 },
    ]);
  });

  it("are written so in a history that came over another wire", () => {
    const call = { id: null, name: "find", args: { from: "a", "2nd": 1 }, tool: undefined, metadata: {} };
    expect(notation().writeCalls([call])).toBe('<helpers>\nfind(from_="a", _2nd=1)\n</helpers>');
  });

  it("are those of the description where a call gives only some of them", () => {
    const call = { id: null, name: "find", args: { "user-id": 1, class: 2 }, tool: find, metadata: {} };
    expect(notation().writeCalls([call])).toBe("<helpers>\nfind(user_id_2=1, class__2=2)\n</helpers>");
  });

  it("are described and read as one, wherever the schema has them", async () => {
    const inputSchema = jsonSchema({
      type: "object",
      properties: { "user-id": any },
      allOf: [{ $ref: "#/$defs/user" }],
      $defs: { user: { properties: { user_id: any }, required: ["user_id"] } },
    });
    const tool = defineTool({ name: "f", inputSchema });
    expect(helpers.describeTools([tool])).toContain("def f(user_id_2: Any = None, user_id: Any): ...");
    const { turn } = await readText(helpers, ["<helpers>f(user_id=1)</helpers>"], [tool]);
    expect(outcomes(turn)).toEqual([{ user_id: 1 }]);
  });
});

describe("tools whose names Python does not take", () => {
  it.each([
    ["import.from", "import_.from_"],
    ["class", "class_"],
    ["a.1b", "a._1b"],
    ["a..b", "a._.b"],
    ["2nd", "_2nd"],
    ["user-find", "user__find"],
  ])("%s is called as %s", async (name, written) => {
    const tool = defineTool({ name, inputSchema: jsonSchema({ type: "object", properties: { a: any } }) });
    expect(textHelpers().describeTools([tool])).toContain(`def ${written}(a: Any = None): ...`);
    const { turn } = await readText(textHelpers(), [`<helpers>${written}(1)</helpers>`], [tool]);
    expect(outcomes(turn)).toEqual([{ a: 1 }]);
    expect(turn.calls[0]!.name).toBe(name);
  });
});

describe("calls that refer to others", () => {
  it.each([
    'x = f(1)\ng2 = f([x], b={"k": x["id"]})\nf(x.id, b=g2[-1])',
    'f(f(1)["id"], b=[f(2)])',
    "y = f(a=f(1))\nf(y)",
  ])("are written as they are read: %j", async (code) => {
    const first = await turnOf(code);
    const [message] = textHelpers().assistantMessage({ ...first, calls: first.calls, text: "", native: undefined });
    const { turn } = await readText(textHelpers(), [message!.content], tools);
    const said = ({ calls }: Turn) =>
      calls.map(({ outcome }) => {
        const { input, metadata } = outcome as ToolUse;
        const {
          references = [],
          step,
          variable,
        } = metadata as { references?: object[]; step: number; variable?: string };
        const places = references.map((one) => ({ ...one, source: "" }));
        return { step, variable, places, input: JSON.stringify(input).replaceAll(/"\$result":"([^"\\]|\\.)*"/g, "") };
      });
    expect(said(turn)).toEqual(said(first));
    expect(said(first).at(-1)!.places).not.toEqual([]);
  });
});

describe("what is refused, with a reason", () => {
  it.each<[string, RegExp]>([
    [`f(f"a{x}")`, /an f-string is not evaluated/],
    [`f("a" f"{x}")`, /an f-string is not evaluated/],
    [`f(F'x')`, /an f-string is not evaluated/],
    [`f(*args)`, /a starred argument is not unpacked/],
    [`f(**{"a": 1})`, /a starred argument is not unpacked/],
    [`f([*x])`, /a starred argument/],
    [`f({**x})`, /a starred argument/],
    [`f(b"bytes")`, /bytes cannot be an argument/],
    [`f(3j)`, /complex numbers/],
    [`f(1e999)`, /too large/],
    [`f(010)`, /010 is not a Python number/],
    [`f(12345678901234567890)`, /cannot be kept exactly/],
    [String.raw`f("\N{BULLET}")`, /is not supported/],
    [String.raw`f("\x4")`, /is incomplete/],
    [String.raw`f("\U00110000")`, /is not a character/],
    [`f(1 + 2)`, /an operation is not evaluated/],
    [`f("a" + "b")`, /an operation is not evaluated/],
    [`f(not True)`, /an operation is not evaluated/],
    [`x = 1\nf(-x)`, /an operation is not evaluated/],
    [`f(~1)`, /an operation is not evaluated/],
    [`x = [1, 2]\nf(x[0:1])`, /a slice is not evaluated/],
    [`x = [1]\nf(x[True])`, /the index in x\[True\] must be a string or an integer/],
    [`x = [1]\ny = 0\nf(x[y])`, /the index in x\[y\] must be a string or an integer/],
    [`x = [1]\nf(x["a"])`, /there is no x\["a"\]/],
    [`x = f\nx[0](1)`, /a call begins with the name of a function/],
    [`f(1 if True else 2)`, /a conditional expression is not evaluated/],
    [`f(lambda: 1)`, /a lambda expression is not evaluated/],
    [`f([x for x in y])`, /a comprehension is not evaluated/],
    [`f(x for x in y)`, /a comprehension is not evaluated/],
    [`f({1, 2})`, /a set expression is not evaluated/],
    [`f({(1,): 2})`, /the keys of a dict must be strings/],
    [`f(...)`, /an ellipsis is not evaluated/],
    [`f(1, a=2)`, /the argument a is given twice/],
    [`f(a=1, a=2)`, /the argument a is given twice/],
    [`f(1, 2, 3, 4)`, /f takes 3 arguments, and this is number 4/],
    [`g(1)`, /g takes 0 arguments/],
    [`f(a=1, 2)`, /a positional argument follows a keyword argument/],
    [`f(b := 1)`, /is not evaluated/],
    [`f(user_id)`, /user_id is not defined/],
    [`x = [1]\nf(x[5])`, /there is no x\[5\]/],
    [`x = {"a": 1}\nf(x["b"])`, /there is no x\["b"\]/],
    [`x = "text"\nf(x.upper)`, /there is no x\.upper/],
    [`f()()`, /a call begins with the name of a function/],
    [`a, b = f(1)`, /an assignment has one name on its left/],
    [`x += 1`, /an update statement cannot be run here/],
    [`import os`, /an import statement cannot be run here/],
    [`for x in y:\n  f(x)`, /a for statement cannot be run here/],
    [`h(1)`, /There is no tool "h"/],
    [`print("x")`, /There is no tool "print"/],
    [`f("open)`, /line 1 is not valid Python: f\("open\)/],
    [`f(1\ng(`, /is not valid Python/],
    [`f(1 2)`, /is not valid Python/],
    [`f("say "hi" there")`, /is not valid Python/],
    ["f(" + "[".repeat(200) + "]".repeat(200) + ")", /nests deeper than 128 levels/],
    [`x = 1\nf(x${".a".repeat(200)})`, /nests deeper than 128 levels/],
  ])("%s", async (code, reason) => {
    const { calls } = await turnOf(code);
    const errors = calls.map(({ outcome }) => outcome).filter((outcome) => outcome instanceof ToolCallError);
    expect(errors.map(({ message }) => message).join()).toMatch(reason);
    expect(calls.some(({ outcome }) => outcome instanceof ToolUse)).toBe(false);
  });

  it.each([`f(f"{x}")`, `x = (await f(f"{x}"))`])("says which call it is: %s", async (code) => {
    const { calls } = await turnOf(code);
    expect(calls[0]!.name).toBe("f");
    expect(calls[0]!.outcome).toMatchObject({
      code: "invalid_call",
      message:
        "The call of f cannot be read: an f-string is not evaluated: write the text itself, or pass the variable as its own argument. Correct it and send it again.",
    });
  });

  it("is told with the line, and takes no number from the calls behind it", async () => {
    const { calls } = await turnOf(`f(1)\nf(g(), f"{x}")\nf(2)\nx = 1 + 1`);
    expect(calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.metadata["step"] : "refused"))).toEqual([
      0,
      "refused",
      1,
      "refused",
    ]);
    const sources = calls.map(({ outcome }) => (outcome instanceof ToolCallError ? outcome.call.metadata : undefined));
    expect(sources).toEqual([undefined, { source: 'f(g(), f"{x}")' }, undefined, {}]);
  });

  it("harms no other line", async () => {
    expect(outcomes(await turnOf(`f(1)\nx = f(f"{y}")\nf(2)\nf(x)`))).toEqual([
      { a: 1 },
      expect.stringMatching(/^invalid_call: .*an f-string/),
      { a: 2 },
      expect.stringMatching(/^invalid_call: .*it needs x, which has no value/),
    ]);
  });

  it("but a syntax error leaves nothing to run, since what follows it may be the rest of a string", async () => {
    expect(outcomes(await turnOf(`f("first line\ng()\n")`))).toEqual([
      'invalid_call: The call of a tool cannot be read: line 1 is not valid Python: f("first line. Nothing in the block was run. Correct it and send it again.',
    ]);
  });

  it("a string that nobody closes hides no text, however many there are", async () => {
    const text = "<helpers>f('a</helpers>\none <helpers>f('b</helpers>\ntwo";
    const { turn } = await readText(textHelpers(), [text], tools);
    expect(turn.text).toBe("\none \ntwo");
    expect(outcomes(turn)).toEqual([
      expect.stringMatching(/not valid Python: f\('a\./),
      expect.stringMatching(/not valid Python: f\('b\./),
    ]);
  });

  it("calls are handed out where their block ends", async () => {
    const { events } = await readText(textHelpers(), ["<helpers>g()\ng()</helpers>", " and"], read);
    expect(events.map(({ type }) => type).filter((type) => /use|text/.test(type))).toEqual([
      "tool-use",
      "tool-use",
      "text-delta",
    ]);
  });

  it("calls that are long together are no longer than may be, and one that is too long costs no other", async () => {
    const outcomesOf = async (code: string) => {
      const text = `<helpers>${code}</helpers>`;
      const turn = await textHelpers()
        .read(once(text), { tools, limits: { maxArgumentsLength: 100 } })
        .done();
      return turn.calls.map(({ outcome }) => outcome instanceof ToolUse);
    };
    expect(await outcomesOf(`f("${"a".repeat(30)}")\n`.repeat(2))).toEqual([true, true]);
    const long = `x = [[${"0,".repeat(9)}]]\n`;
    expect(await outcomesOf(`${long}f([${"x,".repeat(6)}])\nf(1)`)).toEqual([false, true]);
  });

  it("a variable that is named in many calls does not make them long without bounds", async () => {
    const code = `<helpers>x = "${"a".repeat(1000)}"\n${"f(x)\n".repeat(100)}</helpers>`;
    const turn = await textHelpers()
      .read(once(code), { tools, limits: { maxArgumentsLength: 2000 } })
      .done();
    const made = turn.calls.filter(({ outcome }) => outcome instanceof ToolUse).length;
    expect(made).toBeGreaterThan(1);
    expect(made).toBeLessThan(20);
    expect(turn.calls.at(-1)!.outcome).toMatchObject({ message: expect.stringMatching(/too long/) as string });
  });

  it("more calls than there may be are an error of the turn", async () => {
    const code = `<helpers>${"g()\n".repeat(5)}</helpers>`;
    const turn = await textHelpers()
      .read(once(code), { tools: read, limits: { maxCalls: 3 } })
      .done();
    expect(turn.error).toMatchObject({ code: "too_large" });
    expect(turn.calls.length).toBeLessThanOrEqual(4);
  });

  it("a variable that names itself over and over does not grow without bounds", async () => {
    const lines = ["x0 = ['0123456789']"];
    for (let i = 1; i < 60; i++) lines.push(`x${i} = [x${i - 1}, x${i - 1}]`);
    const { calls } = await turnOf(`${lines.join("\n")}\nf(x59)`);
    expect(calls[0]!.outcome).toMatchObject({ message: expect.stringMatching(/too long/) as string });
  });
});
