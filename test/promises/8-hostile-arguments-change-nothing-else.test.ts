/** Promise 8: hostile arguments (`__proto__`, depth, size, duplicate keys, lone surrogates) change nothing but their own call. */
import * as fc from "../fast-check.ts";
import { afterEach, describe, expect, it } from "vitest";
import { ToolCallError, ToolUse } from "../../src/index.ts";
import { exceedsDepth } from "../../src/json/index.ts";
import { bytesOf, makeTools, rows, run } from "./support.ts";
import { iterate } from "../iterate.ts";

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

const hostile: [title: string, argsText: string, outcome: unknown][] = [
  ["__proto__", '{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":1}}'],
  ["__proto__ inside", '{"a":[{"__proto__":{"polluted":1}}]}', '{"a":[{"__proto__":{"polluted":1}}]}'],
  [
    "constructor.prototype",
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
  ],
  ["__proto__ that is not an object", '{"__proto__":null,"toString":5}', '{"__proto__":null,"toString":5}'],
  ["duplicate keys: the last one counts", '{"path":"/safe","path":"/etc/passwd"}', '{"path":"/etc/passwd"}'],
  ["a lone surrogate", '{"a":"\\ud800","\\udfff":1}', '{"a":"\\ud800","\\udfff":1}'],
  ["NUL and controls", '{"a":"\\u0000\\u001b[2J"}', '{"a":"\\u0000\\u001b[2J"}'],
  ["a byte order mark inside", '{"a":"\ufeff"}', '{"a":"\ufeff"}'],
  ["the limit of depth", deep(128), deep(128)],
  ["more than that", deep(129), "too_large"],
  ["very much more", deep(5000), "too_large"],
  ["very much more, in brackets", `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`, "too_large"],
  ["too many characters", `{"a":"${"x".repeat(100_000)}"}`, "too_large"],
  ["very many keys", `{${Array.from({ length: 9000 }, (_, i) => `"${i}":0`).join()}}`, "too_large"],
  ["numbers that cannot be kept", '{"a":12345678901234567890}', "invalid_input"],
];

const prototype = Object.getOwnPropertyNames(Object.prototype).toSorted().join();
afterEach(() => {
  expect(Object.getOwnPropertyNames(Object.prototype).toSorted().join()).toBe(prototype);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
});

describe.each(rows)("$name", ({ adapter, encode }) => {
  it.each(hostile)("%s", async (_, argsText, outcome) => {
    const { tools, ran } = makeTools();
    const calls = [
      { id: "before", name: "write", argsText: '{"n":1}' },
      { id: "hostile", name: "write", argsText },
      { id: "after", name: "write", argsText: '{"n":2}' },
    ];
    const { turn, events } = await run(adapter, iterate([bytesOf({ calls, deltaLength: 1000 }, encode)]), {
      tools,
      limits: { maxArgumentsLength: 50_000 },
    });
    expect(events.at(-1)!.type).toBe("finish");
    const [before, bad, after] = turn.calls.map((call) => call.outcome);
    expect([before, after].map((use) => (use as ToolUse).input)).toEqual([{ n: 1 }, { n: 2 }]);
    const got = bad instanceof ToolCallError ? bad.code : JSON.stringify((bad as ToolUse).input);
    expect(got).toBe(
      outcome instanceof Object || String(outcome).startsWith("{")
        ? JSON.stringify(JSON.parse(String(outcome)))
        : outcome,
    );
    expect(ran.map((call) => call.id)).toEqual(
      bad instanceof ToolUse ? ["before", "hostile", "after"] : ["before", "after"],
    );
    // What is shown while it streams is what is executed.
    if (bad instanceof ToolUse) expect(JSON.stringify(turn.calls[1]!.input)).toBe(JSON.stringify(bad.input));
    // And nobody stumbles over it when it goes back.
    expect(() => JSON.stringify([adapter.assistantMessage(turn), adapter.toolResults(turn)])).not.toThrow();
  });

  it("nor do those of an unknown tool that nest very deeply", async () => {
    const { tools } = makeTools();
    const calls = [{ id: "a", name: "nobody", argsText: deep(5000) }];
    const { turn } = await run(adapter, iterate([bytesOf({ calls, deltaLength: 1000 }, encode)]), { tools });
    expect(turn.calls.map(({ outcome }) => (outcome as ToolCallError).code)).toEqual(["unknown_tool"]);
    const history = JSON.stringify([adapter.assistantMessage(turn), adapter.toolResults(turn)]);
    expect(exceedsDepth(history, 200)).toBe(false);
  });

  // Providers refuse it for good: https://github.com/anthropics/claude-code/issues/69927. A pair may be cut with the
  // stream: https://github.com/elie222/rakazo/issues/416
  it.each([
    ["at the end of a text", "Hm \ud83d", undefined],
    ["in a value", "", '{"a":"\ud83d"}'],
    ["in a value, escaped", "", '{"id":"\\ud83d","b":["\\uDE00"]}'],
    ["in a name", "", '{"\\ud83d":1}'],
  ])("half a character %s does not go back", async (_, text, argsText) => {
    const { tools } = makeTools();
    const calls = argsText === undefined ? [] : [{ id: "a", name: "write", argsText }];
    const { turn } = await run(adapter, iterate([bytesOf({ text, calls, deltaLength: 1000 }, encode)]), { tools });
    expect(turn.text).toBe(text);
    const message = JSON.stringify(adapter.assistantMessage(turn));
    expect(message).toContain("\ufffd");
    // Neither as it is nor as the escape that a server finds in arguments.
    expect(message).not.toMatch(/\\ud[89a-f]/i);
  });

  it("whatever the names and values are, they are only that", async () => {
    const names = fc.constantFrom(
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "valueOf",
      "hasOwnProperty",
      "then",
      "toJSON",
      "a",
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom(1, "x", null, true),
        fc.dictionary(names, tie("node"), { maxKeys: 3, noNullPrototype: false }),
        fc.array(tie("node"), { maxLength: 2 }),
      ),
    })).node;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(names, value), { selector: ([name]) => name, maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (entries, deltaLength) => {
          const argsText = `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join()}}`;
          const { tools, ran } = makeTools();
          await run(
            adapter,
            iterate([bytesOf({ calls: [{ id: "a", name: "write", argsText }], deltaLength }, encode)]),
            { tools },
          );
          expect(ran.map((call) => JSON.stringify(call.input))).toEqual([JSON.stringify(JSON.parse(argsText))]);
        },
      ),
      { numRuns: 100 },
    );
  });
});
