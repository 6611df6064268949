import * as fc from "../fast-check.ts";
import { describe, expect, it, vi } from "vitest";
import { defineTool, jsonSchema, ToolBuffer, type ToolCallError, type ToolChunk, ToolUse } from "../../src/index.ts";
import { Labels } from "../../src/stream/router.ts";

const anything = jsonSchema({ type: "object" });
const tools = ["f", "g", "get", "get_weather", "now"].map((name) => defineTool({ name, inputSchema: anything }));

/** What a list of chunks comes to: `[id, name, input]` of each call, or `[id, name, error code]`. */
function read(chunks: readonly ToolChunk[], offered: typeof tools | null = tools): unknown[] {
  const buffer = new ToolBuffer(offered ?? undefined, { runId: "run" });
  const outcomes = new Map<string, ToolUse | ToolCallError>();
  for (const chunk of chunks) {
    for (let out = buffer.append(chunk); out !== undefined; out = buffer.next()) outcomes.set(out.invocationId, out);
  }
  for (const out of buffer.end("tool-use")) outcomes.set(out.invocationId, out);
  return buffer.calls.map((call) => {
    const outcome = outcomes.get(call.invocationId);
    expect(outcome).toBe(call.outcome);
    return [call.id, call.name, outcome instanceof ToolUse ? outcome.input : outcome?.code];
  });
}

const head = (callIndex: number | undefined, id: string | null | undefined, name?: string | null, args?: string) => ({
  callIndex,
  id,
  name,
  argsTextDelta: args,
});
const more = (callIndex: number | undefined, args: string, id?: string | null, name?: string | null) =>
  head(callIndex, id, name, args);

describe("finds the call of a chunk", () => {
  it.each<[title: string, chunks: ToolChunk[], calls: unknown[]]>([
    [
      "by its index",
      [head(0, "a", "f"), head(1, "b", "g"), more(0, '{"x":'), more(1, '{"y":2}'), more(0, "1}")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "by its id, which wins over the index",
      [head(0, "a", "f"), head(1, "b", "g"), more(1, '{"x":1}', "a"), more(0, '{"y":2}', "b")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "by its id and name, where the index counts the pieces",
      [
        head(0, "a", "f", ""),
        more(1, '{"x":', "a", "f"),
        more(2, "[1]", "a", "f"),
        more(3, "}", "a", "f"),
        head(4, "b", "f", '{"y"'),
        more(5, ":2}", "b", "f"),
      ],
      [
        ["a", "f", { x: [1] }],
        ["b", "f", { y: 2 }],
      ],
    ],
    [
      "by its index, where two calls of one id and name come side by side",
      [head(0, "a", "f", '{"x"'), head(1, "a", "f", '{"y"'), more(0, ":1}"), more(1, ":2}")],
      [
        ["a", "f", { x: 1 }],
        ["a", "f", { y: 2 }],
      ],
    ],
    [
      "by an id that came before its name, where a call without arguments has the index",
      [
        head(0, "a"),
        head(0, null, "f"),
        head(0, "b"),
        head(0, null, "g"),
        head(0, "c"),
        head(0, null, "f"),
        more(0, '{"x":1}', "c"),
      ],
      [
        ["a", "f", {}],
        ["b", "g", {}],
        ["c", "f", { x: 1 }],
      ],
    ],
    [
      "by its id alone, the name on every piece",
      [
        head(undefined, "a", "f", '{"x":'),
        head(undefined, "b", "g", '{"y":'),
        head(undefined, "a", "f", "1}"),
        head(undefined, "b", "g", "2}"),
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "by its index, where the id comes late and is that of an earlier call",
      [head(0, null, "f", ""), more(0, '{"x":1}', "0"), head(1, null, "g", ""), more(1, '{"y":2}', "0")],
      [
        ["0", "f", { x: 1 }],
        ["0", "g", { y: 2 }],
      ],
    ],
    [
      "as the one that waits for its id, where that is one of an earlier call and there is no index",
      [
        head(undefined, null, "f", ""),
        more(undefined, '{"x":1}', "0"),
        head(undefined, null, "g", ""),
        more(undefined, '{"y":', "0"),
        more(undefined, "2}", "0"),
      ],
      [
        ["0", "f", { x: 1 }],
        ["0", "g", { y: 2 }],
      ],
    ],
    ...(
      [
        ["as an object", { ...more(1, "", "0"), argsTextDelta: undefined, argsKvPatch: { y: 2 } }, ""],
        ["behind a placeholder", more(1, '{"y":2}', "0"), "{}"],
      ] as const
    ).map(([how, late, before]): [string, ToolChunk[], unknown[]] => [
      `by its index, where its arguments come with an id that an earlier call has: ${how}`,
      [head(0, null, "f", ""), more(0, '{"x":1}', "0"), head(1, null, "g", before), late],
      [
        ["0", "f", { x: 1 }],
        ["0", "g", { y: 2 }],
      ],
    ]),
    ...[0, undefined].map((index): [string, ToolChunk[], unknown[]] => [
      `by the head before its id, which repeats a name, whatever name comes next (index ${index})`,
      [
        head(index, null, "f", ""),
        more(index, '{"x":1}', "a"),
        head(index, null, "f", ""),
        more(index, '{"x":1}', "b"),
        head(index, null, "g", ""),
        more(index, '{"y":', "c"),
        more(index, "2}"),
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "f", { x: 1 }],
        ["c", "g", { y: 2 }],
      ],
    ]),
    [
      "by its name, where its id comes with its first arguments and there is no index",
      [
        head(undefined, null, "f", ""),
        more(undefined, '{"x":', "a", "f"),
        more(undefined, "1}", null, "f"),
        head(undefined, null, "g", ""),
        more(undefined, '{"y":2}', "b", "g"),
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "in its own turn",
      [
        { ...head(0, "a", "f", "{"), turnIndex: 0 },
        { ...head(0, "a", "g", "{"), turnIndex: 1 },
        { ...more(0, '"x":1}'), turnIndex: 0 },
        { ...more(0, '"y":2}'), turnIndex: 1 },
      ],
      [
        ["a", "f", { x: 1 }],
        ["a", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 1: no index, whole calls",
      [head(undefined, "a", "f", '{"x":1}'), head(undefined, "b", "g", '{"y":2}')],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 1: no index in fragments",
      [
        head(undefined, "a", "f"),
        more(undefined, '{"x":'),
        more(undefined, "1}"),
        head(undefined, "b", "g"),
        more(undefined, '{"y":2}'),
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 2: one index for all",
      [head(0, "a", "f", '{"x":1}'), head(0, "b", "f", '{"x":2}'), head(0, "c", "g"), more(0, '{"y":'), more(0, "3}")],
      [
        ["a", "f", { x: 1 }],
        ["b", "f", { x: 2 }],
        ["c", "g", { y: 3 }],
      ],
    ],
    [
      "quirk 2: one index for all, none with arguments",
      [head(0, "a", "f", "null"), head(0, "b", "f", "null")],
      [
        ["a", "f", {}],
        ["b", "f", {}],
      ],
    ],
    [
      "quirk 2: one index for all, each ended without arguments",
      [
        { ...head(0, "a", "now"), done: true },
        { ...head(0, "b", "now"), done: true },
      ],
      [
        ["a", "now", {}],
        ["b", "now", {}],
      ],
    ],
    [
      "quirk 2: one index for all, as objects, the first call without one",
      [head(0, "a", "f", ""), { ...head(0, "b", "f"), argsKvPatch: { x: 1 } }],
      [
        ["a", "f", {}],
        ["b", "f", { x: 1 }],
      ],
    ],
    [
      "quirk 3: one index and one id, another name",
      [head(0, "a", "f", '{"x":1}'), head(0, "a", "g", '{"y":2}')],
      [
        ["a", "f", { x: 1 }],
        ["a", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 3: the same name again",
      [head(0, "a", "f", '{"x":1}'), head(0, "a", "f", '{"x":2}')],
      [
        ["a", "f", { x: 1 }],
        ["a", "f", { x: 2 }],
      ],
    ],
    [
      "quirk 3: the same name again, in fragments",
      [head(0, "a", "f", '{"x":1'), more(0, "}", "a"), head(0, "a", "f", '{"x":2'), more(0, "}", "a")],
      [
        ["a", "f", { x: 1 }],
        ["a", "f", { x: 2 }],
      ],
    ],
    ...(
      [
        ["one index and one id", 0, "a"],
        ["one index", 0, undefined],
        ["one id", undefined, "a"],
        ["neither", undefined, undefined],
      ] as const
    ).map(([what, index, id]): [string, ToolChunk[], unknown[]] => [
      `quirk 3: the same name again, its arguments apart (${what})`,
      [
        head(index, id, "f", ""),
        more(index, '{"x"'),
        more(index, ":1}"),
        head(index, id, "f", ""),
        more(index, '{"x"'),
        more(index, ":2}"),
        head(index, id, "f"),
        more(index, '{"x":3}', id),
        more(index, " "),
      ],
      [1, 2, 3].map((x) => [id ?? null, "f", { x }]),
    ]),
    [
      "quirk 3: the same name again, its arguments apart, after the end of the call",
      [{ ...head(0, "a", "f", "{}"), done: true }, head(0, "a", "f", ""), more(0, '{"x":'), more(0, "2}")],
      [
        ["a", "f", {}],
        ["a", "f", { x: 2 }],
      ],
    ],
    [
      "quirk 3: the same name again, its arguments apart, after the end of a call without any",
      [{ ...head(0, "a", "f", ""), done: true }, head(0, "a", "f", ""), more(0, '{"x":2}')],
      [
        ["a", "f", {}],
        ["a", "f", { x: 2 }],
      ],
    ],
    [
      "quirk 3: the same name again, its arguments apart, as objects",
      [{ ...head(0, "a", "f"), argsKvPatch: { x: 1 } }, head(0, "a", "f"), { callIndex: 0, argsKvPatch: { y: 2 } }],
      [
        ["a", "f", { x: 1 }],
        ["a", "f", { y: 2 }],
      ],
    ],
    [
      "quirk 3: as objects",
      [
        { ...head(0, "a", "f"), argsKvPatch: { x: 1 } },
        { ...head(0, "a", "f"), argsKvPatch: { x: 2 } },
      ],
      [
        ["a", "f", { x: 1 }],
        ["a", "f", { x: 2 }],
      ],
    ],
    [
      "quirk 3: the first call without arguments",
      [head(0, "a", "now", ""), head(0, "a", "g", '{"y":2}')],
      [
        ["a", "now", {}],
        ["a", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 4: the index drifts",
      [head(0, "a", "f"), more(0, '{"x":1}'), head(0, "b", "g"), more(1, '{"y"'), more(2, ":2}")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    // https://github.com/sgl-project/sglang/issues/6310
    [
      "quirk 4: the heads count the tools of the request, the pieces the calls",
      [
        head(2, "a", "get", ""),
        more(0, '{"x":'),
        more(0, "1}"),
        head(1, "b", "g", ""),
        more(1, '{"y":2}'),
        head(0, "c", "f", ""),
        more(2, '{"z":'),
        more(2, "3}"),
        more(2, ""),
      ],
      [
        ["a", "get", { x: 1 }],
        ["b", "g", { y: 2 }],
        ["c", "f", { z: 3 }],
      ],
    ],
    [
      "quirk 15: a copy of the arguments, behind the head of the next call",
      [head(0, "a", "f", '{"x":'), more(0, "1}"), head(1, "b", "g", ""), more(0, '{"x":1}'), more(1, '{"y":2}')],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 4: the index drifts, and the id is on every piece",
      [head(0, "a", "f"), more(1, '{"x":', "a"), more(2, "1}", "a")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 4: the index drifts to that of another call, and the name is said again",
      [head(0, "a", "f", '{"x":'), head(1, "b", "g", '{"y":'), head(1, "a", "f", "1}"), head(1, "b", "g", "2}")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 5: indexes are labels",
      [head(7, "a", "f"), more(7, '{"x":1}'), head(3, "b", "g"), more(3, "{}"), head(7, "c", "now", "")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", {}],
        ["c", "now", {}],
      ],
    ],
    [
      "quirk 6: head and fragment one after the other",
      [head(0, "a", "f"), more(0, '{"x"'), more(0, ":1}")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 7: the id on every delta",
      [head(0, "a", "f"), more(0, '{"x"', "a", null), more(0, ":1}", "a"), more(0, "", "a")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "an id of its own for each piece",
      [head(0, "a", "f"), more(0, '{"x":', "b"), more(0, "1}", "c"), head(1, "e", "g")],
      [
        ["a", "f", { x: 1 }],
        ["e", "g", {}],
      ],
    ],
    [
      "an id of its own for each piece, some of them empty",
      [head(0, "a", "f"), more(0, "", "b"), more(0, '{"x":', "c"), more(0, "", "d"), more(0, "1}", "e")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "the head twice, under two ids",
      [head(0, "a", "f", ""), head(0, "b", "f", ""), more(0, '{"x":1}'), head(0, "c", "f", ""), more(0, '{"x":2}')],
      [
        ["a", "f", { x: 1 }],
        ["c", "f", { x: 2 }],
      ],
    ],
    // https://github.com/mistralai/mistral-vibe/issues/1127
    [
      "one id for the pieces of all calls, which their heads do not have",
      [
        head(0, "a", "f"),
        more(0, '{"x":1}', "t"),
        head(1, "b", "f"),
        more(1, '{"x":', "t"),
        head(2, "c", "g"),
        more(2, '{"y":3}', "t"),
        more(1, "2}", "t"),
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "f", { x: 2 }],
        ["c", "g", { y: 3 }],
      ],
    ],
    [
      "an id of its own for each piece, without index",
      [head(undefined, "a", "f"), more(undefined, '{"x":', "b"), more(undefined, "1}", "b")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "an id of its own for each piece, and the name; the next call has the same name and index",
      [
        head(0, "a", "f", '{"x":'),
        more(0, " {}", "b", "f"),
        more(0, " ", "b1", "f"),
        more(0, "}", "c", "f"),
        head(0, "d", "f"),
        more(0, '{"x":', "d1", "f"),
        more(0, "2}", "e", "f"),
      ],
      [
        ["a", "f", { x: {} }],
        ["d", "f", { x: 2 }],
      ],
    ],
    [
      "quirk 2: one index for all, behind arguments that are no JSON",
      [head(0, "a", "g", ""), more(0, '{"y" 1}'), head(0, "b", "g", ""), more(0, '{"y":2}')],
      [
        ["a", "g", "invalid_json"],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 2 and 11: one index for all, and the name after the id",
      [
        head(0, "a", undefined, ""),
        head(0, undefined, "f"),
        head(0, "b", undefined, ""),
        head(0, undefined, "g"),
        more(0, '{"y":2}', "b"),
      ],
      [
        ["a", "f", {}],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 8: the id becomes empty",
      [head(0, "a", "f"), more(0, '{"x"', ""), more(0, ":1}", null)],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 9: no id, only indexes",
      [head(0, undefined, "f"), more(0, "{}"), head(1, null, "g", '{"y":2}')],
      [
        [null, "f", {}],
        [null, "g", { y: 2 }],
      ],
    ],
    [
      "quirk 9: one id for calls side by side",
      [head(0, "0", "f", '{"x"'), head(1, "0", "g", '{"y"'), more(0, ":1}"), more(1, ":2}")],
      [
        ["0", "f", { x: 1 }],
        ["0", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 9: one id for calls side by side, on every piece",
      [head(0, "0", "f", '{"x"'), head(1, "0", "g", '{"y"'), more(0, ":1}", "0"), more(1, ":2}", "0")],
      [
        ["0", "f", { x: 1 }],
        ["0", "g", { y: 2 }],
      ],
    ],
    [
      "a call in pieces that comes whole behind them, under another index: https://github.com/QuantumNous/new-api/issues/6223",
      [head(0, "a", "f", ""), more(0, '{"x":'), more(0, "1}"), head(1, "a", "f", '{"x": 1}')],
      [["a", "f", { x: 1 }]],
    ],
    [
      "one that has other arguments then",
      [head(0, "a", "f", ""), more(0, '{"x":'), more(0, "1}"), head(1, "a", "f", '{"x":2}')],
      [
        ["a", "f", { x: 1 }],
        ["a", "f", { x: 2 }],
      ],
    ],
    [
      "one id for equal calls, each of which comes whole",
      [head(0, "0", "f", '{"x":1}'), head(1, "0", "f", '{"x":1}')],
      [
        ["0", "f", { x: 1 }],
        ["0", "f", { x: 1 }],
      ],
    ],
    [
      "quirk 9: neither id nor index, whole calls",
      [head(undefined, null, "f", '{"x":1}'), head(undefined, null, "f", '{"x":2}'), head(undefined, null, "g", "{}")],
      [
        [null, "f", { x: 1 }],
        [null, "f", { x: 2 }],
        [null, "g", {}],
      ],
    ],
    [
      "quirk 9: neither id nor index, equal whole calls",
      [
        head(undefined, null, "f", '{"x":1}'),
        head(undefined, "", "f", '{"x":1}'),
        head(undefined, undefined, "now", "{}"),
        head(undefined, undefined, "now", "{}"),
        { name: "g", argsKvPatch: {} },
        { name: "g", argsKvPatch: {} },
      ],
      [
        [null, "f", { x: 1 }],
        ["", "f", { x: 1 }],
        [null, "now", {}],
        [null, "now", {}],
        [null, "g", {}],
        [null, "g", {}],
      ],
    ],
    [
      "quirk 15: neither, and all of the call once more after its pieces",
      [head(undefined, null, "f", '{"x"'), more(undefined, ":1}"), head(undefined, null, "f", '{"x":1}')],
      [[null, "f", { x: 1 }]],
    ],
    [
      "quirk 15: all of the call once more, without its id",
      [head(undefined, "a", "f", '{"x":1}'), head(undefined, undefined, "f", '{"x":1}')],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 15: all of the call once more, without its index",
      [head(0, undefined, "f", '{"x":1}'), head(undefined, undefined, "f", '{"x":1}')],
      [[null, "f", { x: 1 }]],
    ],
    [
      "quirk 9: neither, in fragments of the same name",
      [
        head(undefined, null, "f", '{"x"'),
        more(undefined, ":1}"),
        head(undefined, null, "f", '{"x"'),
        more(undefined, ":2}"),
      ],
      [
        [null, "f", { x: 1 }],
        [null, "f", { x: 2 }],
      ],
    ],
    [
      "quirk 9: neither, and no arguments",
      [head(undefined, null, "now"), head(undefined, null, "f", '{"x":1}'), head(undefined, null, "g")],
      [
        [null, "now", {}],
        [null, "f", { x: 1 }],
        [null, "g", {}],
      ],
    ],
    [
      "quirk 9: neither, no arguments, and the same name twice",
      [
        { ...head(undefined, null, "now"), done: true },
        { ...head(undefined, null, "now"), done: true },
      ],
      [
        [null, "now", {}],
        [null, "now", {}],
      ],
    ],
    [
      "quirk 9: neither, and the first call was cut",
      [head(undefined, null, "f", '{"x":'), head(undefined, null, "g", '{"y":2}')],
      [
        [null, "f", "truncated"],
        [null, "g", { y: 2 }],
      ],
    ],
    [
      "quirks 3 and 9: neither, and the call that was cut had its name apart",
      [
        head(undefined, null, "f", '{"x":1}'),
        head(undefined, null, "f"),
        more(undefined, '{"x":'),
        head(undefined, null, "g", '{"y":2}'),
      ],
      [
        [null, "f", { x: 1 }],
        [null, "f", "truncated"],
        [null, "g", { y: 2 }],
      ],
    ],
    [
      "quirk 10: the name on every delta",
      [head(0, "a", "f", '{"x"'), head(0, "a", "f", ":1"), head(0, "a", "f", "}"), head(0, "a", "f", "")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 10: the name on every delta, side by side",
      [head(0, "a", "f", ""), head(1, "b", "g", ""), head(0, "a", "f", '{"x":1}'), head(1, "b", "g", '{"y":2}')],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 10: the name on every delta, without index",
      [head(undefined, "a", "f", '{"x"'), head(undefined, "a", "f", ":1}")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 10: the name in pieces",
      [head(0, "a", "get"), head(0, undefined, "_weather"), more(0, '{"x":1}')],
      [["a", "get_weather", { x: 1 }]],
    ],
    [
      "quirk 10: the name in three pieces, the first of which is another tool's",
      [head(0, "a", "get"), head(0, undefined, "_wea"), head(0, undefined, "ther"), more(0, '{"x":1}')],
      [["a", "get_weather", { x: 1 }]],
    ],
    [
      "quirk 10: a piece that makes no tool's name",
      [head(0, "a", "get"), head(0, undefined, "_wea"), more(0, '{"x":1}')],
      [["a", "get", { x: 1 }]],
    ],
    [
      "quirk 10: the name in pieces, without index",
      [head(undefined, null, "get_"), head(undefined, null, "weather", "{}")],
      [[null, "get_weather", {}]],
    ],
    [
      "quirk 10: all of the name so far",
      [
        head(0, "a", "get_w"),
        head(0, "a", "get_weather"),
        head(0, "a", "get_weather", '{"x":1}'),
        head(0, "a", "get_weather", ""),
      ],
      [["a", "get_weather", { x: 1 }]],
    ],
    [
      "quirk 10: all of the name so far, which begins as another tool's",
      [head(0, "a", "get"), head(0, "a", "get_weather"), more(0, '{"x":1}')],
      [["a", "get_weather", { x: 1 }]],
    ],
    [
      "quirk 11: the name after the id",
      [head(0, "a", undefined, ""), head(0, undefined, "f"), more(0, '{"x":1}')],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 11: the name after the arguments",
      [head(0, "a", undefined, '{"x":1}'), head(0, undefined, "f")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 11: the name after the end of the call",
      [{ ...head(0, "a", undefined, '{"x":1}'), done: true }, head(0, undefined, "f")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 11: the name last, when the next call has begun",
      [head(0, "a", undefined, '{"x":1}'), head(1, "b", "g", "{}"), head(0, undefined, "f")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", {}],
      ],
    ],
    [
      "quirk 11: the name last, behind a call that has ended",
      [{ ...head(0, "a", "f", '{"x":1}'), done: true }, more(1, '{"y":2}'), head(1, undefined, "g")],
      [
        ["a", "f", { x: 1 }],
        [null, "g", { y: 2 }],
      ],
    ],
    [
      "quirk 11: the name after the id, behind a call without id",
      [head(0, undefined, "f", '{"x":1}'), head(1, "b", undefined, ""), head(1, undefined, "g", '{"y":2}')],
      [
        [null, "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 11: the name after the id, without index, behind a call without id that has ended",
      [
        { ...head(undefined, undefined, "f", '{"x":1}'), done: true },
        head(undefined, "b"),
        head(undefined, undefined, "g", '{"y":2}'),
      ],
      [
        [null, "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ],
    [
      "quirk 11: the name without index",
      [head(0, "a", undefined, ""), head(undefined, undefined, "f"), more(0, '{"x":1}')],
      [["a", "f", { x: 1 }]],
    ],
    ["the id after the name", [head(0, undefined, "f"), more(0, '{"x"', "a"), more(0, ":1}")], [["a", "f", { x: 1 }]]],
    ...[
      ["with arguments", [more(undefined, '{"x":', "a")], "1}"],
      ["alone", [head(undefined, "a")], '{"x":1}'],
    ].map(([how, pieces, rest]): [string, ToolChunk[], unknown[]] => [
      `the id after the name, ${how as string}, and another call in between`,
      [
        head(undefined, undefined, "f"),
        ...(pieces as ToolChunk[]),
        head(undefined, "b", "g", '{"y":2}'),
        more(undefined, rest as string, "a"),
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", { y: 2 }],
      ],
    ]),
    [
      "arguments behind an end without any",
      [{ ...head(0, "a", "f"), done: true }, more(0, '{"x":1}')],
      [["a", "f", { x: 1 }]],
    ],
    [
      "arguments in pieces behind an end without any",
      [{ ...head(0, "a", "f"), done: true }, more(0, '{"x":'), more(0, "1}")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 18: a whole call in one chunk",
      [
        { ...head(0, "a", "f", '{"x":1}'), done: true },
        { ...head(1, "b", "f", '{"x":1}'), done: true },
      ],
      [
        ["a", "f", { x: 1 }],
        ["b", "f", { x: 1 }],
      ],
    ],
    [
      "quirk 19: id and name repeated with the last piece",
      [head(0, "a", "f", '{"x":1'), head(0, "a", "f", "}")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 19: id and name repeated with the end, without an index",
      [
        head(undefined, "a", "f", '{"x":'),
        head(undefined, "a", "f", "1}"),
        { ...head(undefined, "a", "f"), done: true },
      ],
      [["a", "f", { x: 1 }]],
    ],
    [
      "an id of its own for each piece, and another call in between",
      [
        head(undefined, "a", "f", '{"x":'),
        more(undefined, "[", "a2"),
        head(undefined, undefined, "g", '{"y":2}'),
        more(undefined, "1]}", "a2"),
      ],
      [
        ["a", "f", { x: [1] }],
        [null, "g", { y: 2 }],
      ],
    ],
    ...['{"x":{}', '{"x":{'].map((piece): [string, ToolChunk[], unknown[]] => [
      `another name in the middle of a call, after ${piece}`,
      [head(0, "a", "f", piece), head(0, "a", "g", piece.endsWith("}") ? "}" : "}}")],
      [["a", "f", { x: {} }]],
    ]),
    [
      "a name that is no tool's, and then one that is",
      [head(0, "a", "nobody"), head(0, "a", "g", '{"y":2}')],
      [["a", "nobody", "unknown_tool"]],
    ],
    [
      "quirk 20: a placeholder of the same call",
      [head(0, "a", "f", "{}"), head(0, "a", "f", '{"x":1}')],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 20: a placeholder, then fragments",
      [head(0, "a", "f", "{}"), more(0, '{"x"'), more(0, ":1}")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 20: a placeholder that is an object: https://github.com/unslothai/unsloth/pull/10275",
      [
        { callIndex: 0, id: "a", name: "f", argsKvPatch: {} },
        { callIndex: 0, id: "a", name: "f", argsKvPatch: { x: 1 } },
      ],
      [["a", "f", { x: 1 }]],
    ],
    [
      "a copy with the name",
      [head(0, "a", "f", '{"x":1'), more(0, "}"), head(0, "a", "f", '{ "x": 1 }')],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 10: the name once more after the end, then a copy",
      [head(0, "a", "f", '{"x":1'), head(0, "a", "f", "}"), head(0, "a", "f", ""), more(0, '{"x":1}'), more(0, "")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirk 14: a placeholder, the name once more, then the arguments",
      [head(0, "a", "f", "{}"), head(0, "a", "f", ""), more(0, '{"x":'), more(0, "1}")],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirks 10 and 14: id and index once, a placeholder, and the name on every piece",
      [head(0, "a", "f", ""), ...["{}", '{"x":', "1}"].map((text) => head(undefined, undefined, "f", text))],
      [["a", "f", { x: 1 }]],
    ],
    [
      "quirks 10 and 14: neither id nor index, a placeholder, and the name on every piece",
      ["", "{}", '{"x":', "1}"].map((text) => head(undefined, undefined, "f", text)),
      [[null, "f", { x: 1 }]],
    ],
    [
      "calls that come whole, without id and index, the first without arguments",
      [head(undefined, undefined, "f", "{}"), head(undefined, undefined, "f", '{"x":1}')],
      [
        [null, "f", {}],
        [null, "f", { x: 1 }],
      ],
    ],
    [
      "objects without a name that have an index of their own",
      [
        { callIndex: 0, argsKvPatch: { x: 1 } },
        { callIndex: 1, argsKvPatch: { y: 2 } },
        head(0, undefined, "f"),
        head(1, undefined, "g"),
      ],
      [
        [null, "f", { x: 1 }],
        [null, "g", { y: 2 }],
      ],
    ],
    [
      "objects that add up",
      [
        { ...head(0, "a", "f"), argsKvPatch: { x: 1 } },
        { ...head(0, "a"), argsKvPatch: { y: 2 } },
        { callIndex: 0, done: true },
      ],
      [["a", "f", { x: 1, y: 2 }]],
    ],
    [
      "a second object without a name spoils its call",
      [head(0, "a", "f", '{"x":1}'), more(0, '{"y":2}'), head(1, "b", "g", "{}")],
      [
        ["a", "f", "invalid_json"],
        ["b", "g", {}],
      ],
    ],
    // https://github.com/BerriAI/litellm/pull/40040
    [
      "an id alone at the end, which is no call",
      [head(0, "a", "f", '{"x":1}'), head(0, "b", "g", "{}"), head(0, "c", "", "")],
      [
        ["a", "f", { x: 1 }],
        ["b", "g", {}],
      ],
    ],
    ["an id alone, and nothing else", [head(0, "a", "", "")], [["a", null, "unknown_tool"]]],
    ["no name at all", [head(0, "a", undefined, '{"x":1}')], [["a", null, "unknown_tool"]]],
    ["a fragment that belongs to nothing", [more(4, '{"x":1}')], [[null, null, "unknown_tool"]]],
  ])("%s", (_, chunks, calls) => {
    expect(read(chunks)).toEqual(calls);
  });

  it("keeps names that are no tool's apart, and concatenates none of them", () => {
    expect(read([head(0, "a", "x", ""), head(0, "a", "x", "{}"), head(1, "b", "y", "{}")], null)).toEqual([
      ["a", "x", {}],
      ["b", "y", {}],
    ]);
    expect(read([head(0, "a", "x", ""), head(0, "b", "y", "{}")], null)).toEqual([
      ["a", "x", {}],
      ["b", "y", {}],
    ]);
    expect(read([head(0, "a", "get_"), head(0, "a", "weather", "{}")], null)).toEqual([["a", "get_", {}]]);
    expect(read([head(0, "a"), head(undefined, null, "x"), more(0, '{"n":1}')], null)).toEqual([["a", "x", { n: 1 }]]);
    const repeated = ['{"n":{}', "}"].map((piece) => head(undefined, null, "x", piece));
    expect(read(repeated, null)).toEqual([[null, "x", { n: {} }]]);
    expect(read([head(0, "a", "ge"), head(0, "a", "nothing", "{}")])).toEqual([["a", "ge", "unknown_tool"]]);
  });

  it("takes names and ids of Object.prototype for names and ids", () => {
    const names = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"];
    const chunks = names.flatMap((name, i) => [head(i, name, name), more(i, '{"x":', name), more(i, `${i}}`)]);
    expect(read(chunks)).toEqual(names.map((name) => [name, name, "unknown_tool"]));
    expect(read(chunks, null)).toEqual(names.map((name, i) => [name, name, { x: i }]));
  });
});

it("keeps a call apart from the one before it that was too long, and whose input somebody followed", () => {
  const buffer = new ToolBuffer(tools, { limits: { maxArgumentsLength: 10 } });
  buffer.append(head(0, "a", "f", '{"x":1}'));
  expect(buffer.current?.input).toEqual({ x: 1 });
  expect(buffer.append(more(0, '{"x":'))).toMatchObject({ code: "too_large" });
  expect(buffer.append({ ...head(0, "a", "f", '{"x":2}'), done: true })).toMatchObject({ input: { x: 2 } });
});

it.each([undefined, "a"])("loses no call behind one that was too long and has its index and id (%j)", (id) => {
  const buffer = new ToolBuffer(tools, { limits: { maxArgumentsLength: 10 } });
  for (const piece of [head(0, id, "f", '{"x":"'), more(0, "yyyyyyyy"), more(0, '"}')]) buffer.append(piece);
  buffer.append(head(0, id, "g", '{"y":'));
  buffer.append(more(0, "2}"));
  expect(buffer.calls[0]!.outcome).toMatchObject({ code: "too_large" });
  expect(buffer.end("tool-use")).toMatchObject([{ name: "g", input: { y: 2 } }]);
});

it.each([null, "a"])(
  "loses no call behind one whose pieces do not fit together and that has its index and id (%j)",
  (id) => {
    const mixed = [head(0, id, "f", "{"), more(0, "{"), more(0, '"x":1}')];
    expect(read([...mixed, head(0, id, "g", '{"y":'), more(0, "2}")])).toEqual([
      [id, "f", "invalid_json"],
      [id, "g", { y: 2 }],
    ]);
  },
);

it("does not take the next call for one that its provider has run", () => {
  const buffer = new ToolBuffer(tools, { runId: "run" });
  buffer.append(head(undefined, null, "f"));
  buffer.retract("run-0-0");
  buffer.append(more(undefined, '{"x":1}', "a", "f"));
  expect(buffer.end("tool-use")).toMatchObject([{ id: "a", name: "f", input: { x: 1 } }]);
});

describe("a limit of calls", () => {
  it("keeps what belongs to one call too many out of the others", () => {
    const buffer = new ToolBuffer(tools, { limits: { maxCalls: 1 } });
    buffer.append(head(0, "a", "f", '{"x"'));
    const error = buffer.append(head(1, "b", "g"));
    expect(error).toMatchObject({ code: "too_large", call: { id: "b", name: "g" } });
    for (const chunk of [more(1, '{"y":2}'), more(undefined, "rubbish"), head(2, "c", "g", "{}")])
      expect(buffer.append(chunk)).toBeUndefined();
    expect(buffer.current).toBeUndefined();
    buffer.append(more(0, ":1}"));
    expect(buffer.end("tool-use").map((out) => (out as ToolUse).input)).toEqual([{ x: 1 }]);
    expect(buffer.errors).toEqual([error]);
  });

  it("is passed by a call whose name came before its arguments, too", () => {
    const buffer = new ToolBuffer(tools, { limits: { maxCalls: 1 } });
    for (const chunk of [head(0, "a", "f", '{"x":1}'), head(0, "a", "f", "")])
      expect(buffer.append(chunk)).toBeUndefined();
    expect(buffer.append(more(0, '{"x":2}'))).toMatchObject({ code: "too_large" });
    expect(buffer.end("tool-use")).toMatchObject([{ input: { x: 1 } }]);
  });
});

describe("random interleavings", () => {
  const text = fc
    .dictionary(
      fc.constantFrom("a", "b", "c d", '"', "{}"),
      fc.oneof(fc.string({ maxLength: 6 }), fc.integer(), fc.constant([{}]), fc.constant("}{")),
      { maxKeys: 3 },
    )
    .map((value) => JSON.stringify(value));
  const call = fc.record({
    name: fc.constantFrom("f", "g", "now"),
    text: fc.oneof(text, fc.constant("")),
    cuts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
  });
  const calls = fc.array(call, { minLength: 1, maxLength: 6 });
  type Call = { name: string; text: string; cuts: number[] };

  function piecesOf({ text: whole, cuts }: Call): string[] {
    const pieces: string[] = [];
    for (let at = 0, n = 0; at < whole.length; n++) {
      pieces.push(whole.slice(at, at + cuts[n % cuts.length]!));
      at += cuts[n % cuts.length]!;
    }
    return pieces;
  }

  function sent(list: readonly Call[], id: (i: number) => string | null): unknown[] {
    return list.map((one, i) => [id(i), one.name, one.text === "" ? {} : JSON.parse(one.text)]);
  }

  /** Takes one chunk of a random call after the other; each call's own chunks stay in order. */
  function interleave(lists: ToolChunk[][], picks: readonly number[]): ToolChunk[] {
    // Calls begin in their order, as with every provider.
    const chunks: ToolChunk[] = [];
    const left = lists.map((list) => [...list]);
    let begun = 0;
    for (let n = 0; left.some((list) => list.length > 0); n++) {
      const pick = picks[n % picks.length]! % left.length;
      const at = pick >= begun ? begun : pick;
      if (at < left.length && left[at]!.length > 0) {
        if (at === begun) begun++;
        chunks.push(left[at]!.shift()!);
      } else {
        const next = left.findIndex((list) => list.length > 0);
        if (next >= begun) begun = next + 1;
        chunks.push(left[next]!.shift()!);
      }
    }
    return chunks;
  }

  const picks = fc.array(fc.nat(50), { minLength: 1, maxLength: 30 });

  it.each<[string, (i: number, isHead: boolean) => ToolChunk, (i: number) => string | null]>([
    ["ids once, indexes always", (i, isHead) => ({ callIndex: i, id: isHead ? `id${i}` : undefined }), (i) => `id${i}`],
    ["ids and indexes always", (i) => ({ callIndex: i, id: `id${i}` }), (i) => `id${i}`],
    ["ids always, no indexes", (i) => ({ id: `id${i}` }), (i) => `id${i}`],
    ["ids always, one index", (i) => ({ callIndex: 0, id: `id${i}` }), (i) => `id${i}`],
    ["indexes only", (i) => ({ callIndex: i }), () => null],
    ["sparse indexes, empty ids", (i) => ({ callIndex: i * 3 + 1, id: "" }), () => ""],
  ])("%s", (_, place, id) => {
    fc.assert(
      fc.property(calls, picks, fc.boolean(), (all, order, repeatsName) => {
        // Under one index the head of a call of the same name could be that of the call before, said twice.
        const isTold = place(0, true).callIndex !== 0 || place(1, true).callIndex !== 0;
        const list = all.filter(({ name }, i) => isTold || all.findIndex((one) => one.name === name) === i);
        const lists = list.map((one, i) => [
          { ...place(i, true), name: one.name },
          ...piecesOf(one).map((piece) => ({
            ...place(i, false),
            argsTextDelta: piece,
            ...(repeatsName && { name: one.name }),
          })),
        ]);
        expect(read(interleave(lists, order))).toEqual(sent(list, id));
      }),
      { numRuns: 400 },
    );
  });

  it.each<[string, (i: number) => ToolChunk, (i: number) => string | null]>([
    ["neither ids nor indexes", () => ({}), () => null],
    ["ids once, no indexes", (i) => ({ id: `id${i}` }), (i) => `id${i}`],
    ["ids once, one index", (i) => ({ callIndex: 0, id: `id${i}` }), (i) => `id${i}`],
  ])("%s, one call after the other", (_, place, id) => {
    const isTold = place(0).id !== undefined;
    fc.assert(
      fc.property(calls, (list) => {
        // Without an id, nothing tells a call from the same call said again, or from a call without arguments before
        // it; under one index that could be its own head, said twice.
        const kept: Call[] = [];
        for (const one of list) {
          const before = kept.at(-1);
          const isOther = isTold && (place(0).callIndex === undefined || before?.text !== "");
          if (isOther || before?.name !== one.name) kept.push(one);
        }
        const chunks = kept.flatMap((one, i) => {
          const [first, ...rest] = piecesOf(one);
          const { callIndex } = place(i);
          return [
            { ...place(i), name: one.name, argsTextDelta: first },
            ...rest.map((piece) => ({ callIndex, argsTextDelta: piece })),
          ];
        });
        expect(read(chunks)).toEqual(sent(kept, id));
      }),
      { numRuns: 400 },
    );
  });

  it.each<[string, ToolChunk]>([
    ["one id and one index for all", { callIndex: 0, id: "a" }],
    ["one id for all", { id: "a" }],
    ["one index for all", { callIndex: 0 }],
  ])("%s, each head without arguments", (_, place) => {
    fc.assert(
      fc.property(calls, fc.boolean(), (list, keepsId) => {
        // Nothing tells a call from the same one said again, and `{}` may be a placeholder.
        const kept: Call[] = [];
        for (const one of list) {
          const before = kept.at(-1);
          const isTold = one.text !== "" && one.text !== before?.text && !["", "{}"].includes(before?.text ?? "");
          if (before?.name !== one.name || isTold) kept.push(one);
        }
        const { callIndex, id = null } = place;
        const label = keepsId ? place : { callIndex };
        const chunks = kept.flatMap((one) => [
          { ...place, name: one.name, argsTextDelta: "" },
          ...piecesOf(one).map((piece) => ({ ...label, argsTextDelta: piece })),
        ]);
        expect(read(chunks)).toEqual(sent(kept, () => id));
      }),
      { numRuns: 400 },
    );
  });
});

it("looks up the id of a call a few times, in however many messages the calls before it came", () => {
  const count = 1000;
  const buffer = new ToolBuffer(tools, { limits: { maxCalls: count } });
  const looks = vi.spyOn(Labels.prototype, "get");
  for (let turnIndex = 0; turnIndex < count; turnIndex++) {
    buffer.append({ ...head(0, `id${turnIndex}`, "f", "{}"), turnIndex });
  }
  expect(looks.mock.calls.length).toBeLessThan(10 * count);
  looks.mockRestore();
});

it("a call has its id to itself, if only pieces of another one came under it", () => {
  const buffer = new ToolBuffer(tools);
  buffer.append({ ...head(0, "a", "f", '{"x":'), turnIndex: 0 });
  buffer.append({ ...more(0, "1}", "b"), turnIndex: 0, done: true });
  buffer.append({ ...head(0, "b", "f", "{}"), turnIndex: 1 });
  buffer.append({ ...head(0, "a", "f", "{}"), turnIndex: 2 });
  buffer.end("tool-use");
  expect(buffer.calls.map(({ id, metadata }) => [id, metadata["sharesId"] ?? false])).toEqual([
    ["a", false],
    ["b", false],
    ["a", true],
  ]);
});

it("a call has the id that its end tells, though its pieces had come under both, or it shared the first", () => {
  const end = (id: string, callIndex = 0): ToolChunk => ({ callIndex, metadata: { id }, done: true });
  const idsAfter = (...chunks: ToolChunk[]) => {
    const buffer = new ToolBuffer(tools);
    for (const chunk of chunks) buffer.append(chunk);
    return buffer.calls.map(({ id, metadata }) => [id, metadata["sharesId"] ?? false]);
  };
  expect(idsAfter(head(0, "a", "f", ""), more(0, "{}", "b"), end("b"))).toEqual([["b", false]]);
  const [[back]] = idsAfter(head(0, "a", "f", ""), { ...end("b"), done: false }, more(0, "{}"), end("a")) as [[string]];
  expect(back).toBe("a");
  expect(idsAfter(head(0, "a", "f", "{}"), head(1, "a", "f", "{}"), end("b"), end("c", 1))).toEqual([
    ["b", false],
    ["c", false],
  ]);
});
