import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { google } from "../../adapters/google/index.ts";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { frame, type FrameState, type PanelState } from "../../src/cli/frame.ts";
import { openInput } from "../../src/cli/inputs.ts";
import { paced } from "../../src/cli/paced.ts";
import { inlineValue, renderValue } from "../../src/cli/render.ts";
import { fit, printable, short, widthOf, wrap } from "../../src/cli/text.ts";
import { timeline, type Span } from "../../src/cli/timeline.ts";
import { liveView, plainView } from "../../src/cli/view.ts";
import { busyMs } from "../busy-ms.ts";
import { adapters } from "../adapters.ts";
import { fixturesDir, loadFixture, readPieces } from "../fixtures.ts";

const plain = (_: unknown, text: string) => text;
const size = { columns: 80, rows: 40 };
const panel = (state: Partial<PanelState> = {}): PanelState => ({
  name: "get_weather",
  id: "call_1",
  input: { city: "Oslo" },
  status: "released",
  repairs: [],
  outcome: undefined,
  ...state,
});
const state = (some: Partial<FrameState> = {}): FrameState => ({
  reasoning: "",
  text: "",
  panels: [],
  notes: [],
  timeline: [],
  ...some,
});

describe("frame()", () => {
  it("shows calls side by side, each with its state", () => {
    const panels = [
      panel({ outcome: "celsius: 8" }),
      panel({ name: "write_file", id: "call_2", status: "open", input: { path: "a.md", content: "# Pack" } }),
    ];
    expect(frame(state({ text: "I will look.", panels, notes: ["finish tool-use (stop)"] }), size, plain)).toEqual([
      "I will look.",
      "✓ get_weather call_1                    … write_file call_2",
      "│ city: Oslo                            │ path: a.md",
      "│ → celsius: 8                          │ content: # Pack▌",
      "finish tool-use (stop)",
    ]);
  });

  it("says of a complete write that it waits, of a failed call why, of a mended one what", () => {
    const repairs = [{ kind: "coerce", path: ["limit"], before: "5", after: 5 }] as const;
    const lines = (one: PanelState) => frame(state({ panels: [one] }), size, plain).slice(2);
    expect(lines(panel({ status: "held" }))).toEqual(["│ waits for the end of the turn"]);
    expect(lines(panel({ status: "failed", outcome: "truncated: Send it again." }))).toEqual([
      "│ truncated: Send it again.",
    ]);
    expect(lines(panel({ repairs }))).toEqual(['│ repaired limit: "5" → 5']);
  });

  it("keeps a panel short, and names a repair that has no values", () => {
    const repairs = [
      { kind: "syntax" },
      { kind: "coerce", path: [], before: "x".repeat(50), after: 5 },
      { kind: "coerce", path: ["c"], before: "7", after: 7 },
    ] as const;
    const outcome = "a word ".repeat(100);
    const lines = frame(state({ panels: [panel({ repairs, outcome })] }), { columns: 50, rows: 40 }, plain);
    expect(lines.slice(2, 4)).toEqual(["│ repaired (syntax)", '│ repaired: "xxxxxxxxxxxxxxxxxx… → 5']);
    expect(lines).toHaveLength(7);
  });

  it("follows what grows, and shows the beginning of what is complete", () => {
    const content = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
    const open = frame(state({ panels: [panel({ status: "open", input: { content } })] }), size, plain);
    expect(open).toHaveLength(9);
    expect(open.at(-1)).toBe("│   line 49▌");
    const done = frame(state({ panels: [panel({ input: { content } })] }), size, plain);
    expect(done.slice(1, 3)).toEqual(["│ content:", "│   line 0"]);
    expect(done.at(-1)).toBe("│ ⋮ 44 more lines");
  });

  const texts = [
    "short",
    "word ".repeat(400),
    "x".repeat(3000),
    "日本語のとても長い文章です。".repeat(80),
    "👩‍👩‍👧 🚢 ❤️ ".repeat(90),
  ];
  const sizes = [
    { columns: 12, rows: 2 },
    { columns: 30, rows: 8 },
    { columns: 79, rows: 23 },
    { columns: 200, rows: 60 },
  ];
  it.each(sizes)("is never larger than a screen of $columns x $rows", (screen) => {
    for (const text of texts) {
      for (const count of [0, 1, 3, 40]) {
        const panels = Array.from({ length: count }, (_, at) =>
          panel({
            id: text,
            input: { [text]: text, list: [[text]], at },
            status: at % 2 === 0 ? "open" : "released",
            outcome: text,
          }),
        );
        const lines = frame(state({ text, reasoning: text, panels, notes: [text] }), screen, plain);
        expect(lines.length).toBeLessThanOrEqual(screen.rows);
        for (const line of lines) {
          expect(line).not.toContain("\n");
          expect(widthOf(line)).toBeLessThanOrEqual(screen.columns);
        }
      }
    }
  });

  it("looks at the end of a long text only, but for the last frame", () => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
    onTestFinished(() => segment.mockRestore());
    const text = "ein längerer Satz, ".repeat(50_000);
    const looked = () => segment.mock.calls.reduce((sum, [part]) => sum + part.length, 0);
    const lines = frame(state({ text, reasoning: text }), size, plain);
    expect(looked()).toBeLessThan(100_000);
    expect(lines).toHaveLength(8);
    expect(lines.every((line) => line.includes("ein längerer Satz,"))).toBe(true);
    expect(frame(state({ text: "é".repeat(2000) }), { columns: 80, rows: Infinity }, plain)).toHaveLength(25);
  });

  it("keeps the newest lines where not all fit", () => {
    const panels = Array.from({ length: 20 }, (_, at) => panel({ id: `call_${at}` }));
    const lines = frame(state({ panels, notes: ["finish"] }), { columns: 40, rows: 5 }, plain);
    expect(lines[0]).toBe("⋮");
    expect(lines.slice(-3)).toEqual(["✓ get_weather call_19", "│ city: Oslo", "finish"]);
  });
});

describe("renderValue()", () => {
  it("is read at a glance", () => {
    const value = {
      city: "Oslo",
      nights: 2,
      hotel: { name: "Sentrum", stars: null },
      tags: ["a", "b"],
      stops: [{ x: 1, y: 2 }],
    };
    expect(renderValue({ ...value, note: "one\ntwo", none: [] }, "start")).toEqual([
      "city: Oslo",
      "nights: 2",
      "hotel:",
      "  name: Sentrum",
      "  stars: null",
      "tags:",
      "  - a",
      "  - b",
      "stops:",
      "  - x: 1",
      "    y: 2",
      "note:",
      "  one",
      "  two",
      "none: (empty list)",
    ]);
  });

  it("tells text from numbers, literals and nothing", () => {
    expect(renderValue({ a: "5", b: 5, c: "true", d: "" }, "start")).toEqual(['a: "5"', "b: 5", 'c: "true"', 'd: ""']);
    expect(renderValue({ e: "null", f: {} }, "start")).toEqual(['e: "null"', "f: (empty)"]);
    expect(renderValue({}, "start")).toEqual(["(no arguments)"]);
  });

  it("says how much it leaves out, and steers no terminal by a name", () => {
    const list = Array.from({ length: 20 }, () => 1);
    expect([renderValue(list, "start").at(-1), renderValue(list, "end")[0]]).toEqual(["… 8 more", "… 8 before"]);
    const text = "x".repeat(3000);
    expect(renderValue(text, "start").at(-1)).toBe("… 1000 characters more");
    expect(renderValue(`${text}y`, "end")).toEqual(["… 1001 characters before", `${"x".repeat(1999)}y`]);
    expect(renderValue({ "a\nb\u001B": 1 }, "start")).toEqual(["a b\uFFFD: 1"]);
  });

  it("draws a small part of what is large, in no time", () => {
    const deep = JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`) as unknown;
    const huge = { text: "x".repeat(16 * 1024 * 1024), list: Array.from({ length: 100_000 }, (_, at) => at), deep };
    const startedAt = busyMs();
    for (const keep of ["start", "end"] as const) {
      const lines = renderValue(huge, keep);
      expect(lines.length).toBeLessThan(40);
      expect(lines.join("").length).toBeLessThan(3000);
    }
    expect(inlineValue(huge, 100)).toHaveLength(100);
    expect(busyMs() - startedAt).toBeLessThan(1500);
  });

  it("writes a result on one line", () => {
    expect(inlineValue({ city: "Oslo", days: [{ c: 8 }, { c: 9 }], nested: { a: 1 } }, 80)).toBe(
      "city: Oslo, days: [{c: 8}, {c: 9}], nested: {a: 1}",
    );
    expect(inlineValue("a\n  b", 80)).toBe("a b");
    expect(inlineValue(undefined, 80)).toBe("undefined");
    expect(inlineValue([1, 2], 80)).toBe("1, 2");
  });
});

describe("text for a terminal", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["한국", 4],
    ["ｆｕｌｌ", 8],
    ["é", 1],
    ["e\u0301", 1],
    ["🚢", 2],
    ["❤️", 2],
    ["👩‍👩‍👧", 2],
    ["🇳🇴", 2],
    ["—…▌│", 4],
    ["\u200D", 0],
  ])("%s takes %d columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  it("is filled or cut to a width, never inside of a character", () => {
    expect(fit("日本語", 8)).toBe("日本語  ");
    expect(fit("日本語", 6)).toBe("日本語");
    expect(fit("日本語", 5)).toBe("日本…");
    expect(fit("日本語", 4)).toBe("日… ");
  });

  it("is broken between words, or where it has to be", () => {
    expect(wrap("the quick brown fox", 10)).toEqual(["the quick", "brown fox"]);
    expect(wrap("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
    expect(wrap("abcdefghij klm", 10)).toEqual(["abcdefghij", "klm"]);
    expect(wrap("a bcdefghijklm", 10)).toEqual(["a bcdefghi", "jklm"]);
    expect(wrap("日本語", 4)).toEqual(["日本", "語"]);
    expect(wrap("a\n\nb", 4)).toEqual(["a", "", "b"]);
  });

  it("steers nothing", () => {
    expect(printable("a\tb\r\nc\rd\u001B[31m\u009B1m\u202E")).toBe("a  b\nc\uFFFDd\uFFFD[31m\uFFFD1m\uFFFD");
    expect(printable("\u2066a\u2069")).toBe("\uFFFDa\uFFFD");
    expect(short(`a${" ".repeat(100)}b`, 10)).toBe("a …");
    expect(short(`${"x".repeat(7)}\u{1F600}y`, 9)).toBe("xxxxxxx\uFFFD…");
  });
});

describe("liveView()", () => {
  /** What a terminal does with the little that the view asks of it. */
  function terminal(columns: number, rows: number) {
    const lines: string[] = [];
    let at = 0;
    let highest = 0;
    return {
      isTTY: true,
      columns,
      rows,
      lines,
      get highest() {
        return highest;
      },
      write(text: string) {
        // oxlint-disable-next-line no-control-regex -- a terminal's language
        for (const part of text.split(/(\u001B\[\??\d*[A-Za-z]|\n|\r)/)) {
          if (part === "\n") at++;
          else if (/\[\d+A$/.test(part)) {
            const up = Number.parseInt(part.slice(2), 10);
            highest = Math.max(highest, up);
            at -= up;
          } else if (part.endsWith("[0J")) lines.length = at;
          else if (part.endsWith("[K")) lines[at] ??= "";
          // oxlint-disable-next-line no-control-regex -- a terminal's language
          else if (part !== "" && !/^[\u001B\r]/.test(part)) lines[at] = part;
        }
      },
    };
  }

  it.each(adapters.map(({ adapter }) => adapter))(
    "of $name ends with the same picture, on any screen",
    async (adapter) => {
      const { bytes, tools } = loadFixture(adapter.name, "demo");
      const { events } = await readPieces(adapter, [bytes], tools);
      const screen = terminal(110, 10);
      let now = 0;
      // a frame for every event
      const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 100));
      const view = liveView(screen, plain);
      for (const event of events) {
        view.event(event);
        if (event.type === "tool-use") view.result(event.use, await event.use.execute());
      }
      view.end();
      clock.mockRestore();
      const picture = screen.lines.map((line) => line.trimEnd());
      expect(picture[0]).toBe("I will look at the weather and at the orders, and write the list.");
      expect(picture[1]).toMatch(/^✓ get_weather \S+ +✓ find_orders \S+ +✓ write_file \S+$/);
      expect(picture[2]).toMatch(/^│ city: Oslo +│ customer: ada +│ path: trip\/packing\.md$/);
      expect(picture.at(-4)).toMatch(/^get_weather +━+·*●$/);
      expect(picture.at(-1)).toMatch(/^finish tool-use/);
      expect(screen.highest).toBe(9); // the last line is the cursor's
    },
  );

  it("takes a terminal that does not say how large it is for one of 80 x 24", () => {
    const [unknown, usual] = [terminal(0, 0), terminal(80, 24)];
    const text = "a word ".repeat(40);
    for (const screen of [unknown, usual]) {
      const view = liveView(screen, plain);
      for (const event of textHelpers().parse(text)) view.event(event);
      view.end();
    }
    expect(unknown.lines).toEqual(usual.lines);
    expect(Math.max(...unknown.lines.map((line) => line.length))).toBeGreaterThan(70);
  });

  it("says of a call that never had a name why it cannot be read", () => {
    const screen = terminal(200, 20);
    const view = liveView(screen, plain);
    const said = "<helpers>\nx = [1 for a in b]\nget_weather()\n</helpers>";
    for (const event of textHelpers().parse(said)) view.event(event);
    view.end();
    expect(screen.lines.map((line) => line.trimEnd())).toEqual([
      "✓ get_weather",
      "│ (no arguments)",
      expect.stringMatching(/^error \?: invalid_call: .*a comprehension is not evaluated/),
      "finish tool-use (no reason given)",
    ]);
  });

  it("leaves no panel open for a call that the provider has run itself", async () => {
    const { bytes, tools } = loadFixture("openai-chat", "provider-tool");
    const { events } = await readPieces(adapters[0]!.adapter, [bytes], tools);
    const screen = terminal(80, 24);
    const view = liveView(screen, plain);
    for (const event of events) view.event(event);
    view.end();
    expect(screen.lines.map((line) => line.trimEnd())).toEqual([
      "It rains on 240 days a year.",
      "provider wiki-search completed",
      "finish stop (stop)",
    ]);
  });

  /** The last picture, and everything that was written. */
  async function shown(wire: string, name: string) {
    const { adapter } = adapters.find((one) => one.adapter.name === wire)!;
    const { bytes, tools } = loadFixture(wire, name);
    const screen = terminal(200, 40);
    let written = "";
    const watched = { ...screen, write: (text: string) => screen.write(((written += text), text)) };
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 100));
    onTestFinished(() => clock.mockRestore());
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += 20) yield bytes.slice(at, at + 20);
    }
    const view = liveView(watched, plain);
    for await (const event of adapter.read(pieces(), { tools })) {
      view.event(event);
      if (event.type === "tool-use") view.result(event.use, new Error("no such city"));
    }
    view.end();
    return { lines: screen.lines.map((line) => line.trimEnd()), written };
  }

  it("shows thoughts and refusals, what failed and why, and times only of several calls", async () => {
    expect((await shown("anthropic", "reasoning")).lines).toEqual([
      "The user wants the weather. I will call get_weather.",
      "I look it up.",
      "✓ get_weather toolu_01think",
      "│ city: Tromsø",
      "│ → failed: no such city",
      "finish tool-use (tool_use)",
    ]);
    expect((await shown("openai-chat", "refusal")).lines[0]).toBe("I'm sorry, I can't help with that.");
    const { lines } = await shown("anthropic", "connection-cut");
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(/^refund_order +━+·+✗$/),
      expect.stringMatching(/^write_file +━+·*✗$/),
      "failed connection_lost: The stream ended before the provider ended the turn.",
    ]);
  });

  it("says of a complete write that it waits, while the turn goes on", async () => {
    const { lines, written } = await shown("anthropic", "parallel");
    expect(written).toContain("waits for the end of the turn");
    expect(lines.join("\n")).not.toContain("waits");
  });

  it("draws the last event though nothing comes after it, and nothing once it has ended", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const screen = terminal(80, 24);
    const view = liveView(screen, plain);
    for (const delta of ["a", "b"]) view.event({ type: "text-delta", delta });
    expect(screen.lines).toEqual(["a"]);
    vi.advanceTimersByTime(30);
    expect(screen.lines).toEqual(["ab"]);
    view.event({ type: "text-delta", delta: "c" });
    view.end();
    expect(screen.lines).toEqual(["abc"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("keeps the panel of a call without an id beside what the provider runs without one", () => {
    const parts = [{ functionCall: { name: "look", args: {} } }, { executableCode: { code: "1" } }];
    const answer = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
    const screen = terminal(80, 24);
    const view = liveView(screen, plain);
    for (const event of google.parse(answer as never)) view.event(event);
    view.end();
    expect(screen.lines[0]!.trimEnd()).toBe("✓ look");
  });

  it("of a reader who is not watching is a line for what happened", async () => {
    const { bytes } = loadFixture("anthropic", "truncated-by-length");
    const { events } = await readPieces(adapters[2]!.adapter, [bytes], undefined);
    let printed = "";
    const view = plainView({ write: (text) => (printed += text) });
    for (const event of events) view.event(event);
    view.end();
    expect(printed).toMatch(/ {2}error {5}\w+: truncated: /);
    expect(printed).toMatch(/ {2}finish {4}length \(max_tokens\)\n$/);

    printed = "";
    for (const event of textHelpers().parse("one\ntwo\n<helpers>\nlook()\n</helpers>")) {
      view.event(event);
      if (event.type === "tool-use") view.result(event.use, new Error("nothing there"));
    }
    expect(printed).toContain("  text      one\n            two\n");
    expect(printed).toContain("  result    look -> failed: nothing there\n");
    printed = "";
    view.event({ type: "refusal-delta", delta: "I cannot." });
    view.end();
    expect(printed).toBe("  refusal   I cannot.\n");
  });
});

describe("timeline()", () => {
  const span = (some: Partial<Span>): Span => ({
    name: "f",
    startMs: 0,
    inputMs: 0,
    outcomeMs: 0,
    isFailed: false,
    ...some,
  });

  it("shows what ran while another was still written", () => {
    const spans = [
      span({ name: "get_weather", startMs: 100, inputMs: 400, outcomeMs: 400 }),
      span({ name: "a_name_that_is_too_long", startMs: 200, inputMs: 800, outcomeMs: 1000 }),
      span({ name: "cut", startMs: 300, inputMs: 300, outcomeMs: 1000, isFailed: true }),
    ];
    expect(timeline(spans, 1000, 38)).toEqual([
      "get_weather         ━━━━━━●",
      "a_name_that_is_…      ━━━━━━━━━━━━···●",
      "cut                     ·············✗",
    ]);
  });

  it("shows what is still open at the end, and nothing that steers the terminal", () => {
    for (const isFailed of [false, true])
      expect(timeline([span({ name: "f\u001B", inputMs: 500, outcomeMs: undefined, isFailed })], 1000, 38)).toEqual([
        `f\uFFFD${" ".repeat(16)}━━━━━━━━━━·········`,
      ]);
  });

  it("is never wider than the screen, and left out where there is no room or no time", () => {
    const spans = [span({ startMs: 0, inputMs: 5000, outcomeMs: 5000 }), span({ startMs: 7, outcomeMs: undefined })];
    for (const line of timeline(spans, 10, 60)) expect(widthOf(line)).toBeLessThanOrEqual(60);
    expect(timeline(spans, 0, 60)).toEqual([]);
    expect(timeline(spans, 10, 20)).toEqual([]);
  });
});

describe("paced()", () => {
  const recording = (bytes: Uint8Array) => ({ bytes, chunks: [], complete: true });

  it("gives a recording without timing an event every few milliseconds, in two seconds at most", () => {
    for (const { adapter } of adapters) {
      for (const name of ["demo", "long", "non-streamed"]) {
        const { bytes } = loadFixture(adapter.name, name);
        const { chunks } = paced(recording(bytes));
        expect(chunks.reduce((sum, { length }) => sum + length, 0)).toBe(bytes.length);
        expect(chunks.every(({ length }) => length > 0)).toBe(true);
        expect(chunks.at(-1)!.atMs).toBeLessThan(2000);
      }
    }
    const text = readFileSync(join(fixturesDir, "anthropic/demo/stream.sse"), "utf8");
    expect(paced(recording(new TextEncoder().encode(text))).chunks).toHaveLength(text.trim().split("\n\n").length);
  });

  it("is for who watches at a speed: others get all at once", async () => {
    const pieces = async (isPaced: boolean, speed: number | undefined) => {
      const options = { wire: undefined, isPaced, speed };
      const found: Uint8Array[] = [];
      const { body } = await openInput(join(fixturesDir, "anthropic/demo"), options);
      for await (const piece of body) found.push(piece);
      return found;
    };
    expect((await pieces(true, 1e6)).length).toBeGreaterThan(10);
    expect(await pieces(true, undefined)).toHaveLength(1);
    expect(await pieces(false, 1e6)).toHaveLength(1);
  });

  it("gives little no more than 40 ms, and cuts one large event into pieces", () => {
    const chunksOf = (text: string) => paced(recording(new TextEncoder().encode(text))).chunks;
    expect(chunksOf("data: 1\n\ndata: 2\n\n").map(({ atMs }) => atMs)).toEqual([0, 40]);
    expect(chunksOf(`data: ${"x".repeat(1000)}\n\n`)).toHaveLength(4);
  });

  it("leaves a timing as it is", () => {
    const timed = { ...recording(new Uint8Array(2)), chunks: [{ atMs: 9, length: 2 }] };
    expect(paced(timed)).toBe(timed);
  });
});
