import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { adapters } from "../adapters.ts";
import { fixtureNames, fixturesDir } from "../fixtures.ts";
import { folderWith, jsonLines, run } from "./command.ts";

const wires = adapters.map(({ adapter }) => adapter.name);
const tools = join(fixturesDir, "tools.json");
const fixture = (wire: string, name: string) => join(fixturesDir, wire, name);
const body = (wire: string, name: string) => readFileSync(join(fixture(wire, name), "stream.sse"));

describe("toolstream replay --json", () => {
  it("prints the promised fields, and no others", async () => {
    const outcome = await run(["replay", "--json", "fixtures/anthropic/one-call/stream.sse"]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    expect(jsonLines(outcome)).toEqual([
      {
        file: "fixtures/anthropic/one-call/stream.sse",
        wire: "anthropic",
        text: "Let me look.",
        reasoning: "",
        refusal: "",
        finishReason: "tool-use",
        providerFinishReason: "tool_use",
        toolCalls: [
          {
            id: "toolu_01oslo",
            name: "get_weather",
            input: { city: "Oslo", unit: "celsius" },
            argsText: '{"city": "Oslo", "unit": "celsius"}',
            status: "complete",
            released: true,
            repairs: [],
            error: null,
          },
        ],
        providerToolCalls: [],
        error: null,
      },
    ]);
  });

  const all = wires.flatMap((wire) => fixtureNames(wire).map((name) => ({ wire, name, dir: fixture(wire, name) })));
  it.each([
    { words: "with the tools that the model was offered", offered: "shared", args: ["--tools", tools] },
    { words: "without tools", offered: null, args: [] },
  ])("reads every fixture of every wire in one process, $words", async ({ offered, args }) => {
    const chosen = all.filter(({ dir }) => readMeta(dir).tools === offered);
    const outcome = await run(["replay", "--json", ...args, ...chosen.map(({ dir }) => dir)]);
    const lines = jsonLines(outcome);
    expect(lines.map(({ file }) => file)).toEqual(chosen.map(({ dir }) => dir));
    for (const [at, { dir }] of chosen.entries()) {
      expect(lines[at]).toEqual({
        file: dir,
        ...(JSON.parse(readFileSync(join(dir, "expected.json"), "utf8")) as object),
      });
    }
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
  });

  it("gives a file that it cannot read or recognise its own line, prints the others, and ends with status 1", async () => {
    const whole = body("anthropic", "one-call");
    const folder = folderWith({
      "empty.sse": "",
      "page.html": "<html><body>502 Bad Gateway</body></html>",
      "other.json": '{"unrelated": true}',
      "binary.sse": Uint8Array.from({ length: 5000 }, (_, at) => (at * 37) % 256),
      "nul.sse": new Uint8Array(5000),
      "begins-broken.sse": Buffer.concat([Buffer.from("data: "), Buffer.from([0xff, 0xfe]), Buffer.from("\n\n")]),
      "broken-later.sse": Buffer.concat([whole.subarray(0, 500), Buffer.from([0xff]), whole.subarray(500)]),
      "good.sse": whole,
    });
    const unreadable = ["missing.sse", "empty.sse", "page.html", "other.json", "binary.sse", "nul.sse"];
    const names = [...unreadable, "begins-broken.sse", "broken-later.sse", "good.sse"];
    const outcome = await run(["replay", "--json", ...names.map((name) => join(folder, name))]);
    expect(outcome).toMatchObject({ status: 1, stderr: "" });
    const lines = jsonLines(outcome);
    expect(lines.map(({ file, error }) => [relative(folder, file as string), codeOf(error)])).toEqual([
      ["missing.sse", "invalid_recording"],
      ["empty.sse", "invalid_recording"],
      ["page.html", "invalid_event"],
      ["other.json", "unknown_wire"],
      ["binary.sse", "invalid_event"],
      ["nul.sse", "invalid_event"],
      ["begins-broken.sse", "invalid_event"],
      ["broken-later.sse", "invalid_event"],
      ["good.sse", undefined],
    ]);
    const fields = Object.keys(lines.at(-1)!);
    for (const line of lines) expect(Object.keys(line)).toEqual(fields);
    expect(lines[1]).toMatchObject({ wire: null, text: "", finishReason: null, toolCalls: [], providerToolCalls: [] });
    expect(lines[7]).toMatchObject({ wire: "anthropic", error: { message: expect.stringContaining("at byte 500") } });
  });

  it("ends with status 1 for invalid UTF-8 alone, and with 0 for a recorded failure of the provider", async () => {
    const whole = body("cohere", "one-call");
    const folder = folderWith({
      "broken.sse": Buffer.concat([whole.subarray(0, 900), Buffer.from([0xc3, 0x28]), whole.subarray(900)]),
      // a character that the end cuts is a cut, not a fault
      "cut.sse": Buffer.concat([
        whole.subarray(0, whole.indexOf("\n\n") + 2),
        Buffer.from('data: {"x": "'),
        Buffer.from([0xc3]),
      ]),
    });
    const [broken, cut, failed] = await Promise.all([
      run(["replay", "--json", join(folder, "broken.sse")]),
      run(["replay", "--json", join(folder, "cut.sse")]),
      run(["replay", "--json", fixture("cohere", "error-mid-stream")]),
    ]);
    expect([broken.status, cut.status, failed.status]).toEqual([1, 0, 0]);
    expect(jsonLines(cut)[0]).toMatchObject({ error: { code: "connection_lost" } });
  });

  it("reads the standard input as -, and does not wait for a pipe to close that has said everything", async () => {
    const outcome = await run(["replay", "--json", "-"], {
      input: body("openai-responses", "parallel"),
      keepOpen: true,
    });
    expect(jsonLines(outcome)[0]).toMatchObject({ file: "-", wire: "openai-responses", error: null });
    const wrong = await run(["replay", "--json", "-", "--wire", "cohere"], { input: body("anthropic", "one-call") });
    expect(wrong.status).toBe(1);
    expect(jsonLines(wrong)[0]).toMatchObject({
      error: { code: "unknown_wire", message: expect.stringContaining("It looks like anthropic") },
    });
    const nothing = await run(["replay", "--json", "-"]);
    expect(nothing.status).toBe(1);
    expect(jsonLines(nothing)[0]).toMatchObject({ error: { code: "invalid_recording" } });
  });

  it("reads every fixture below a folder", async () => {
    const outcome = await run(["replay", "--json", join(fixturesDir, "google")]);
    expect(jsonLines(outcome).map(({ file }) => file)).toEqual(
      fixtureNames("google").map((name) => fixture("google", name)),
    );
    expect(outcome.status).toBe(0);
  });

  it("looks for recordings three folders deep, and not in hidden ones or those of packages", async () => {
    const text = body("anthropic", "text-only");
    const folder = folderWith({ "notes.json": "{}", "lines.ndjson": '{"type":"text-delta","delta":"Hi"}\n' });
    for (const path of ["a/b/c", "a/b/c/d", ".hidden", "node_modules"]) {
      mkdirSync(join(folder, path), { recursive: true });
      writeFileSync(join(folder, path, "call.sse"), text);
    }
    const outcome = await run(["replay", "--json", folder]);
    const files = jsonLines(outcome).map(({ file }) => relative(folder, file as string));
    expect(files).toEqual(["a/b/c/call.sse", "lines.ndjson"]);
  });

  it("shows every turn of a recorded conversation, in order", async () => {
    const text = body("anthropic", "text-only").toString();
    const folder = folderWith({ "stream.sse": text, "stream-2.sse": text, "stream-10.sse": text });
    const outcome = await run(["replay", "--json", folder]);
    expect(jsonLines(outcome).map(({ file }) => relative(folder, file as string))).toEqual([
      "",
      "stream-2.sse",
      "stream-10.sse",
    ]);
  });

  it("says what is in a folder without recordings", async () => {
    const folder = folderWith({ "notes.txt": "x" });
    const outcome = await run(["replay", "--json", folder]);
    expect(outcome.status).toBe(1);
    expect(jsonLines(outcome)[0]).toMatchObject({
      error: { code: "invalid_recording", message: expect.stringContaining("but notes.txt") },
    });
  });
});

it("what a file, a folder or a tool is called or holds does not steer the terminal", async () => {
  const hostile = "\u001B]0;title\u0007";
  const folder = folderWith({ "page.sse": `<html>${hostile}`, "tools.json": JSON.stringify([{ [hostile]: 1 }]) });
  const outcomes = await Promise.all([
    run(["replay", join(folder, "page.sse")]),
    run(["replay", hostile]),
    run(["schema", "--provider", "cohere", "--tools", join(folder, "tools.json")]),
  ]);
  for (const { status, stderr } of outcomes) {
    expect(status).toBe(1);
    expect(stderr).toContain("\uFFFD]0;title\uFFFD");
    // oxlint-disable-next-line no-control-regex -- these are what it is about
    expect(stderr).not.toMatch(/[\u0007\u001B]/);
  }
});

describe("toolstream replay --wire", () => {
  it.each([
    ["openai-chat", "openai-chat"],
    ["gemini", "google"],
  ])("takes %s", async (name, wire) => {
    const outcome = await run(["replay", "--json", "--wire", name, fixture(wire, "one-call")]);
    expect(outcome.status).toBe(0);
    expect(jsonLines(outcome)[0]).toMatchObject({ wire, toolCalls: [{ name: "get_weather" }] });
  });

  it("refuses a name that there is not, with those that there are", async () => {
    const { status, stderr } = await run(["replay", "--wire", "bedrock", "--json", fixture("anthropic", "one-call")]);
    expect(status).toBe(2);
    expect(stderr).toBe(`toolstream: There is no wire "bedrock". The wires are: ${wires.join(", ")}, text.\n`);
  });

  it.each([
    ["<html>502</html>", "invalid_event", "perhaps it is an error page"],
    ['{"unrelated":true}', "unknown_wire", "Nothing in the body is of the wire cohere. No other wire is recognised."],
  ])("does not take %s for a stream that was cut", async (content, code, words) => {
    const outcome = await run([
      "replay",
      "--wire",
      "cohere",
      "--json",
      join(folderWith({ "a.sse": content }), "a.sse"),
    ]);
    expect(outcome.status).toBe(1);
    expect(jsonLines(outcome)[0]).toMatchObject({ error: { code, message: expect.stringContaining(words) } });
  });

  it("says which wire it looks like when nothing of the named one is in a file", async () => {
    const outcome = await run(["replay", "--wire", "cohere", "--json", fixture("anthropic", "one-call")]);
    expect(outcome.status).toBe(1);
    expect(jsonLines(outcome)[0]).toMatchObject({
      wire: "cohere",
      error: { code: "unknown_wire", message: expect.stringContaining("It looks like anthropic") },
    });
  });
});

describe("toolstream replay --speed", () => {
  const recorded = () => {
    const bytes = body("openai-chat", "one-call");
    const half = Math.floor(bytes.length / 2);
    const chunks = [
      [0, half],
      [600, bytes.length - half],
    ];
    return folderWith({
      "call.sse": bytes,
      "call.sse.timing.json": JSON.stringify({ contentType: "text/event-stream", complete: true, chunks }),
    });
  };

  it("is no faster than it was recorded at speed 1, and takes other speeds", async () => {
    const file = join(recorded(), "call.sse");
    const timed = async (...args: string[]) => {
      const startedAt = performance.now();
      const outcome = await run(["replay", "--json", file, ...args]);
      expect(outcome.status).toBe(0);
      return performance.now() - startedAt;
    };
    // Never faster than it was recorded; how much slower says only how busy the machine is.
    expect(await timed("--speed", "1")).toBeGreaterThan(600);
    await timed("--speed", "100");
  });

  it.each(["0", "-1", "fast", ""])("refuses %j", async (speed) => {
    const { status, stderr } = await run(["replay", `--speed=${speed}`, fixture("anthropic", "one-call")]);
    expect(status).toBe(2);
    expect(stderr).toContain(`--speed is a positive number (2 is twice as fast), got ${JSON.stringify(speed)}`);
  });

  it("says when a timing is of another body", async () => {
    const folder = folderWith({ "a.sse": body("anthropic", "one-call"), "a.sse.timing.json": '{"chunks":[[0,5]]}' });
    const outcome = await run(["replay", "--json", join(folder, "a.sse")]);
    expect(outcome.status).toBe(1);
    expect(jsonLines(outcome)[0]).toMatchObject({ error: { code: "invalid_recording" } });
  });
});

describe("toolstream replay, for people", () => {
  it("prints a line for what happened into a pipe, without colors", async () => {
    const { status, stdout } = await run(["replay", "--tools", tools, fixture("anthropic", "reasoning")], {
      env: { FORCE_COLOR: "0" },
    });
    expect(status).toBe(0);
    expect(stdout.split("\n").slice(1)).toEqual([
      "  thinking  The user wants the weather. I will call get_weather.",
      "  text      I look it up.",
      "  call      get_weather toolu_01think",
      '  use       get_weather {"city":"Tromsø"}',
      "  finish    tool-use (tool_use)",
      "",
    ]);
  });

  it("names the file that it cannot read, on stderr, and shows the others", async () => {
    const folder = folderWith({ "other.json": '{"unrelated": true}' });
    const files = ["nofile", join(folder, "other.json"), fixture("cohere", "one-call")];
    const { status, stdout, stderr } = await run(["replay", ...files]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^toolstream: nofile: there is no such file\. .*\ntoolstream: .*other\.json: The content looks like none of the wires .*; it begins with \{"unrelated":true\}\. .*--wire\.\n$/,
    );
    expect(stdout).toContain("call      get_weather");
  });

  it("leaves nothing in a model's text that a terminal would obey", async () => {
    const evil = "\u001B]0;owned\u0007 \u009B31m\u202Eabc";
    const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
    const delta = {
      content: evil,
      tool_calls: [{ index: 0, id: evil, type: "function", function: { name: `f${evil}`, arguments: "{}" } }],
    };
    const stream = `${data({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta }] })}${data({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] })}data: [DONE]\n\n`;
    const { stdout } = await run(["replay", "-"], { input: stream });
    expect(stdout).toContain("owned");
    // oxlint-disable-next-line no-control-regex -- these are what it is about
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/);
  });
});

/** Real recorded responses; they live beside the repository and are no part of it. */
const recordingsDir = resolve(import.meta.dirname, "../../../shared/recordings");

describe("recorded responses of real providers", () => {
  if (!existsSync(recordingsDir)) {
    it.skip(`no recordings at ${recordingsDir}`, () => {});
    return;
  }
  it("are all recognised without --wire", async () => {
    const expected = adapters.flatMap(({ adapter, recordings }) =>
      recordings.flatMap((folder) =>
        readdirSync(join(recordingsDir, folder))
          .filter((name) => /\.(?:sse|ndjson|json)$/.test(name) && !name.endsWith(".expect.json"))
          .map((name) => [join(recordingsDir, folder, name), adapter.name]),
      ),
    );
    expect(expected.length).toBeGreaterThan(70);
    const outcome = await run(["replay", "--json", ...expected.map(([file]) => file!)]);
    expect(outcome).toMatchObject({ status: 0, stderr: "" });
    expect(jsonLines(outcome).map(({ file, wire }) => [file, wire])).toEqual(expected);
  });
});

function readMeta(dir: string): { tools: "shared" | null } {
  return JSON.parse(readFileSync(join(dir, "meta.json"), "utf8")) as { tools: "shared" | null };
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}
