import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ToolError, type ToolContext } from "../../src/index.ts";
import { ExecutableError, loadExecutable } from "../../src/executable/index.ts";
import { call, execute, failure, folder, hostile, mark, onLinux, program, shTool } from "./support.ts";
import { soon } from "../soon.ts";

describe("--schema", () => {
  // Every limit is far below what the program has to offer.
  it("that hangs is ended, with all it started", async () => {
    const { env, left } = mark();
    const error = await failure(loadExecutable(hostile("hang-on-schema"), { schemaTimeoutMs: 200, graceMs: 100, env }));
    expect(error).toMatchObject({ code: "timeout", message: expect.stringContaining("took longer than 200 ms") });
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it("that floods is ended at the limit", async () => {
    const error = await failure(loadExecutable(hostile("flood-on-schema"), { maxSchemaBytes: 10_000 }));
    expect(error).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("more than 10000 bytes to stdout"),
    });
  });

  it("of 50 MB is not read to its end", async () => {
    expect(await failure(loadExecutable(hostile("schema-50mb")))).toMatchObject({ code: "too_large" });
  });

  it("that is 100,000 schemas deep is refused", async () => {
    const error = await failure(loadExecutable(hostile("schema-deep")));
    expect(error).toMatchObject({ code: "too_large", message: expect.stringContaining("nested deeper than 128") });
  });

  it("with 2^40 references is refused", async () => {
    const error = await failure(loadExecutable(hostile("schema-of-references")));
    expect(error).toMatchObject({ code: "too_large", message: expect.stringContaining("refers to its own parts") });
  });

  it("with an exponential pattern (`^(a+)+$`) is refused", async () => {
    const error = await failure(loadExecutable(hostile("schema-with-evil-pattern")));
    expect(error).toMatchObject({ code: "invalid_tool", message: expect.stringContaining("exponential time") });
  });

  it("with a $ref to a server is refused, and the server hears nothing", async () => {
    let hits = 0;
    const server = createServer((_, response) => {
      hits++;
      response.end("{}");
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(() => void server.close());
    const SCHEMA_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
    const error = await failure(loadExecutable(hostile("schema-with-remote-ref"), { env: { SCHEMA_URL } }));
    expect(error).toMatchObject({ code: "invalid_tool", message: expect.stringContaining("nothing is fetched") });
    expect(hits).toBe(0);
  });

  it.each([
    ["no JSON", "echo usage: tool FILE; echo '-h for help'", "invalid_answer", "no JSON. It says: usage: tool FILE"],
    ["more than JSON", `echo '{"name":"a"}'; echo Done.`, "invalid_answer", "after its JSON value. It says: Done."],
    [
      "a long description, and more",
      `printf '{"name":"a","description":"%020000d"}\nDone.' 0`,
      "invalid_answer",
      "after its JSON value. It says: Done.",
    ],
    ["nothing", "", "invalid_answer", "printed nothing to stdout."],
    ["nothing but why", "echo not set up >&2", "invalid_answer", "printed nothing to stdout. It says: not set up"],
    ["a list", "echo []", "invalid_tool", "got an array"],
    ["no name", "echo '{}'", "invalid_tool", '"name" has 1 to 128'],
    ["a name with a space", `echo '{"name":"a b"}'`, "invalid_tool", '"name" has 1 to 128'],
    ["a Cyrillic letter in its name", `echo '{"name":"d\u0435lete_file"}'`, "invalid_tool", '"name" has 1 to 128'],
    ["a zero-width space in its name", `echo '{"name":"delete_file\u200b"}'`, "invalid_tool", '"name" has 1 to 128'],
    ["a description that is none", `echo '{"name":"a","description":1}'`, "invalid_tool", '"description" is a text'],
    [
      "a book",
      `printf '{"name":"a","description":"'; head -c 40000 /dev/zero | tr '\\0' x; echo '"}'`,
      "too_large",
      "more than 32768",
    ],
    ["an effect that is none", `echo '{"name":"a","effect":"safe"}'`, "invalid_tool", '"effect" is "read"'],
    ["parameters that are none", `echo '{"name":"a","parameters":[]}'`, "invalid_tool", '"parameters" is an object'],
    [
      "a requirement that is none",
      `echo '{"name":"a","parameters":{"b":{"required":"yes"}}}'`,
      "invalid_tool",
      "is true or false",
    ],
    [
      "an output schema that is none",
      `echo '{"name":"a","outputSchema":[]}'`,
      "invalid_tool",
      '"outputSchema" is an object',
    ],
    [
      "a list for its input",
      `echo '{"name":"a","inputSchema":{"type":"array"}}'`,
      "invalid_tool",
      'the root is of type "array"',
    ],
    ["a parameter that is none", `echo '{"name":"a","parameters":{"b":"string"}}'`, "invalid_tool", 'parameter "b" is'],
    [
      "a type that is none",
      `echo '{"name":"a","parameters":{"b":{"type":"str"}}}'`,
      "invalid_tool",
      '"str" is not a JSON Schema type',
    ],
    ["status 2", "echo 'unknown option --schema' >&2; exit 2", "tool_failed", "It says: unknown option --schema"],
  ])("that says %s is refused, in words", async (_, body, code, words) => {
    const error = await failure(loadExecutable(program(`#!/bin/sh\n${body}\n`)));
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
  });
});

describe("what a model writes is never code", () => {
  it.each([
    ["; touch /tmp/x"],
    ['"; touch x; "'],
    ["$(touch x)"],
    ["`touch x`"],
    ["--schema"],
    ["-rf /"],
    ["a\nb"],
    ["%PATH%"],
    ["a\0b"],
    ["\ud800"],
  ])("%j arrives on stdin as it is, and nowhere else", async (text) => {
    const cwd = folder();
    const got = (await call("says-what-it-gets", { input: { text }, cwd })) as Record<string, string>;
    expect(got).toMatchObject({ args: 0, cwd });
    expect(JSON.parse(Buffer.from(got["input"]!, "base64").toString())).toEqual({ text });
    expect(Buffer.from(got["env"]!, "base64").toString()).not.toContain("touch");
  });
});

describe("the environment", () => {
  it("has the allow-list, and no key of ours", async () => {
    for (const [name, value] of Object.entries({
      OPENAI_API_KEY: "sk-secret",
      LD_PRELOAD: "",
      NODE_OPTIONS: "--no-warnings",
      BASH_ENV: "/nowhere",
      LC_ALL: "() { :; }; echo shellshock",
      LOGNAME: "ada",
      PATH: `${process.env["PATH"]}:.::relative`,
    })) {
      vi.stubEnv(name, value);
    }
    onTestFinished(() => void vi.unstubAllEnvs());
    const got = (await call("says-what-it-gets", { env: { GIVEN: "by us" }, inheritEnv: ["TZ"] })) as { env: string };
    const env = Object.fromEntries(
      Buffer.from(got.env, "base64")
        .toString()
        .split("\0")
        .map((line) => line.split(/=(.*)/s) as [string, string]),
    );
    expect(env).toMatchObject({ GIVEN: "by us", LOGNAME: "ada" });
    const known =
      "HOME LANG LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER GIVEN TOOLSTREAM_INVOCATION_ID TOOLSTREAM_IDEMPOTENCY_KEY";
    const bash = "PWD SHLVL _ OLDPWD"; // it sets these itself
    expect(Object.keys(env).filter((name) => name !== "" && !`${known} ${bash}`.split(" ").includes(name))).toEqual([]);
    expect(env["PATH"]!.split(":").every((entry) => entry.startsWith("/"))).toBe(true);
  });

  it("has no PATH where ours leads nowhere else than to the working directory", async () => {
    const cwd = folder();
    program("#!/bin/sh\necho planted\n", { name: "date", inside: cwd });
    vi.stubEnv("PATH", ".:");
    onTestFinished(() => void vi.unstubAllEnvs());
    const tool = await loadExecutable(program(shTool(`printf '{"success":true,"result":"%s"}' "$(date)"`)), { cwd });
    expect(await execute(tool)).not.toBe("planted");
  });

  it.each(["LD_PRELOAD", "NODE_OPTIONS", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PYTHONPATH", "BASH_FUNC_x%%"])(
    "never takes %s from ours",
    async (name) => {
      await expect(loadExecutable(hostile("nothing"), { inheritEnv: [name] })).rejects.toThrow(TypeError);
    },
  );

  it("has a caller's identity only when the host hands it over", async () => {
    const options = { env: async ({ userId }: ToolContext) => ({ CALLER: String(userId) }) };
    const got = (await call("says-what-it-gets", { ...options, context: { userId: "ada", token: "t0ken" } })) as {
      env: string;
    };
    const env = Buffer.from(got.env, "base64").toString();
    expect(env).toContain("CALLER=ada");
    expect(env).not.toContain("t0ken");
  });

  it("is that of the host's own, and of no function, when it is asked what it is", async () => {
    const file = program('#!/bin/sh\nprintf \'{"name":"%s"}\' "${NAME-none}"\n');
    expect((await loadExecutable(file, { env: { NAME: "given" } })).name).toBe("given");
    expect((await loadExecutable(file, { env: () => ({ NAME: "given" }) })).name).toBe("none");
  });

  it("is not started where the host's own function fails", async () => {
    const trace = `${folder()}/trace`;
    const refuse = () => Promise.reject(new ToolError("execution_failed", "signed out"));
    const file = program(shTool(`echo ran > ${trace}; echo '{"success":true}'`));
    const tool = await loadExecutable(file, { env: refuse });
    expect(await failure(execute(tool))).toMatchObject({ message: "signed out" });
    expect(existsSync(trace)).toBe(false);
  });

  it.each([
    ["its time is over", { timeoutMs: 100 }, undefined, "timeout"],
    ["the caller gives up", {}, 100, "aborted"],
  ])("is not started when %s before the host has said it", async (_, limits, gaveUpMs, code) => {
    const trace = `${folder()}/trace`;
    const file = program(shTool(`echo ran > ${trace}; echo '{"success":true}'`));
    const tool = await loadExecutable(file, { ...limits, env: () => new Promise<never>(() => {}) });
    const context = gaveUpMs === undefined ? {} : { signal: AbortSignal.timeout(gaveUpMs) };
    expect(await failure(execute(tool, {}, context))).toMatchObject({ code });
    expect(existsSync(trace)).toBe(false);
  });
});

describe("time and the process tree", () => {
  const short = { timeoutMs: 300, graceMs: 200 };

  it.each(["forks-and-hangs", "ignores-sigterm"])("%s: all of it is gone after timeout and grace", async (name) => {
    const { env, left } = mark();
    const error = await failure(call(name, { ...short, env }));
    expect(error).toMatchObject({
      code: "timeout",
      message: `The program took longer than 300 ms and was ended.`,
    });
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it("asks a program, and what it has started, to end before it ends them", async () => {
    const inside = folder();
    const traps = (name: string) => `trap 'echo ended > ${inside}/${name}; exit' TERM`;
    // A signal between fork and exec is lost to a shell's child: both `sleep`s run before anybody is asked to end.
    const child = `${traps("child")}; sleep 600 & sleep 0.2; echo '{"progress":1}' >&2; wait`;
    const tool = await loadExecutable(program(shTool(`${traps("parent")}; sleep 600 & (${child}) & wait`)), {
      graceMs: 20_000,
    });
    const gaveUp = new AbortController();
    const context = { signal: gaveUp.signal, progress: async () => gaveUp.abort() };
    expect(await failure(execute(tool, {}, context))).toMatchObject({ code: "aborted" });
    expect(readdirSync(inside).toSorted()).toEqual(["child", "parent"]);
  });

  it("counts what a program did in time, though this process was busy until the time was over", async () => {
    const body = `echo '{"progress":1}' >&2; sleep 0.1; echo '{"success":true,"result":"in time"}'`;
    const tool = await loadExecutable(program(shTool(body)), { timeoutMs: 500, graceMs: 100 });
    const progress = async () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    expect(await execute(tool, {}, { progress })).toBe("in time");
  });

  it("says so when a program has printed its answer and does not end", async () => {
    const words = "was ended, although it had printed its answer: it has to end by itself.";
    const hangs = program("#!/bin/sh\necho '{}'\nexec sleep 600\n");
    const loading = await failure(loadExecutable(hangs, { schemaTimeoutMs: 300, graceMs: 100 }));
    expect(loading).toMatchObject({ code: "timeout", message: expect.stringContaining(words) });
    const tool = await loadExecutable(program(shTool(`echo '{"success":true}'; exec sleep 600`)), short);
    expect(await failure(execute(tool))).toMatchObject({
      code: "timeout",
      message: `The program took longer than 300 ms and ${words}`,
    });
  });

  it("keeps what was printed until then, and tells the log of it", async () => {
    const onRun = vi.fn();
    const error = await failure(call("forks-and-hangs", { ...short, onRun }));
    expect(error.run).toMatchObject({ stdout: "so far\n", exitCode: null });
    expect(onRun.mock.calls).toEqual([[error.run]]);
  });

  it("daemon: who left the group keeps nothing waiting", async () => {
    const { env, left } = mark();
    const error = await failure(call("daemon", { ...short, env }));
    expect(error).toMatchObject({ code: "timeout" });
    if (onLinux) expect(left().length).toBeGreaterThan(0); // the honest limit: nobody can end what has left
  });

  it("grandchild-holds-stdout: the answer is taken when the program ends", async () => {
    const { env, left } = mark();
    expect(await call("grandchild-holds-stdout", { graceMs: 100, env })).toBe("answered");
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it.each([
    ["the caller gives up", "sleep 600", "aborted"],
    ["that prints too much", "yes", "too_large"],
  ])("does not wait for what a program has left behind when %s", async (_, rest, code) => {
    const { env, left } = mark();
    const tool = await loadExecutable(
      program(shTool(`echo '{"success":true}'; echo '{"progress":1}' >&2; ${rest} &`)),
      {
        graceMs: 20_000,
        maxOutputBytes: 100_000,
        env,
      },
    );
    const gaveUp = new AbortController();
    const progress = async () => void setTimeout(() => gaveUp.abort(), 500);
    const startedAt = performance.now();
    const calling = failure(execute(tool, {}, rest === "yes" ? {} : { signal: gaveUp.signal, progress }));
    expect(await calling).toMatchObject({ code });
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it("leaves-work-behind: nothing of a call outlives it", async () => {
    const { env, left } = mark();
    expect(await call("leaves-work-behind", { env })).toBe("answered");
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it("ends everything when the caller gives up", async () => {
    const { env, left } = mark();
    const gaveUp = new AbortController();
    const context = { signal: gaveUp.signal };
    const running = failure(call("forks-and-hangs", { graceMs: 100, env, context }));
    if (onLinux) await soon(() => expect(left().length).toBeGreaterThan(1));
    gaveUp.abort(new Error("enough"));
    expect(await running).toMatchObject({ code: "aborted", cause: new Error("enough") });
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it("starts nothing for a caller who has given up already", async () => {
    const trace = `${folder()}/trace`;
    const tool = await loadExecutable(program(shTool(`echo ran > ${trace}; echo '{"success":true}'`)));
    expect(await failure(execute(tool, {}, { signal: AbortSignal.abort() }))).toMatchObject({ code: "aborted" });
    await expect(import("node:fs/promises").then((fs) => fs.stat(trace))).rejects.toThrow("ENOENT");
  });
});

describe("stdin and stdout", () => {
  const large = { text: "x".repeat(5_000_000) };

  it.each([
    ["never-reads-stdin", "unread"],
    ["closes-stdin", "closed"],
  ])("%s: 5 MB of input end nobody's process", async (name, result) => {
    expect(await call(name, { input: {} })).toBe(result);
    const tool = await loadExecutable(
      program(shTool(`exec ${hostile(name)}`, { parameters: '{"text":{"type":"string"}}' })),
    );
    expect(await execute(tool, large)).toBe(result);
  });

  it.each([
    ["flood-stdout", "stdout"],
    ["flood-stdout-in-one-line", "stdout"],
    ["flood-stderr", "stderr"],
    ["flood-progress", "stderr"],
  ])("%s: is ended at the limit, which is counted while it streams", async (name, stream) => {
    const { env, left } = mark();
    const context = { progress: async () => {} };
    const options = { maxOutputBytes: 100_000, maxStderrBytes: 100_000, graceMs: 100, env, context };
    const error = await failure(call(name, options));
    expect(error).toMatchObject({ code: "too_large", message: expect.stringContaining(`100000 bytes to ${stream}`) });
    expect(error.run.stdout.length + error.run.stderr.length).toBeLessThan(40_000);
    if (onLinux) await soon(() => expect(left()).toEqual([]));
  });

  it.each([
    ["two-values", "invalid_answer", "printed more after its JSON value"],
    ["trailing-garbage", "invalid_answer", "printed more after its JSON value"],
    ["leading-garbage", "invalid_answer", "printed what is no JSON"],
    ["utf-16", "invalid_answer", "printed UTF-16; it has to be UTF-8"],
    ["invalid-utf-8", "invalid_answer", "printed what is no UTF-8"],
    ["nothing", "invalid_answer", "printed nothing to stdout"],
    ["no-success", "invalid_answer", 'printed no "success": true or false'],
    ["deep-answer", "too_large", "nested deeper than 128"],
    ["exit-1-with-success", "tool_failed", "says that it succeeded, but ended with status 1"],
    ["exit-1-with-error", "tool_failed", "no such city"],
    ["exit-0-with-error", "tool_failed", "no such city"],
    ["exit-3", "tool_failed", "ended with status 3"],
    ["kills-itself", "tool_failed", "was ended by SIGSEGV"],
  ])("%s: is an error of code %s", async (name, code, words) => {
    const error = await failure(call(name));
    expect(error).toBeInstanceOf(ExecutableError);
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(error.run.tool).toBe(name);
  });

  it.each([
    ["byte-order-mark", "after the mark"],
    ["split-utf-8", "\u{1f419}\u{1f419}\u{1f419}"],
  ])("%s: is read", async (name, result) => {
    expect(await call(name)).toBe(result);
  });

  it("reads characters that come in pieces on stderr, too", async () => {
    let stderr: string | undefined;
    await call("split-utf-8", { onRun: (run) => (stderr = run.stderr) });
    expect(stderr).toBe("\u{1f419}");
  });

  it("stderr is for the developer, not for the model", async () => {
    const error = await failure(call("exit-3"));
    expect(error.message).not.toContain("secret");
    expect(error.run.stderr).toBe("secret path /etc/tool/secrets\n");
  });

  it("pollutes: `__proto__` in a result is a property of it and of nothing else", async () => {
    const result = (await call("pollutes")) as object;
    expect(Object.keys(result)).toEqual(["__proto__"]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
