import { setTimeout } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { ToolCallError } from "../../src/index.ts";
import { loadExecutable, type ExecutableRun } from "../../src/executable/index.ts";
import { misread } from "../misread.ts";
import { execute, failure, program, shTool } from "./support.ts";

/** Answers with the input itself. */
const echo = (parameters: string) =>
  program(shTool(`printf '{"success":true,"result":'; cat; printf '}'`, { name: "echo", parameters }));

describe("loadExecutable()", () => {
  it("makes a tool as every other", async () => {
    const path = program(
      `#!/bin/sh\necho '${JSON.stringify({
        name: "weather",
        description: "Current weather of a city.",
        parameters: {
          city: { type: "string", description: "Its name.", required: true },
          unit: { type: "string", enum: ["C", "F"], default: "C" },
        },
        outputSchema: { type: "array", items: { type: "number" } },
        metadata: { version: "1.2" },
      })}'\n`,
    );
    const tool = await loadExecutable(path);
    expect(tool).toMatchObject({
      name: "weather",
      qualifiedName: path,
      description: "Current weather of a city.",
      mode: "internal",
      effect: "write",
      metadata: {
        version: "1.2",
        executableDigest: expect.stringMatching(/^sha256:[\da-f]{64}$/),
        executable: { path, realPath: path, digest: tool.metadata["executableDigest"] },
      },
    });
    expect(tool.outputSchema?.validate(["21"])).toMatchObject({ ok: false });
    expect(tool.inputSchema.jsonSchema).toEqual({
      type: "object",
      properties: {
        city: { type: "string", description: "Its name." },
        unit: { type: "string", enum: ["C", "F"], default: "C" },
      },
      required: ["city"],
      additionalProperties: false,
    });
  });

  it("takes null for an option that is not given", async () => {
    const options = { timeoutMs: null, maxDepth: null, cwd: null, env: null, owners: null };
    const tool = await loadExecutable(echo("{}"), options as never);
    expect(await execute(tool, {})).toEqual({});
  });

  it.each([
    ["inputSchema", { inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] } }],
    ["parameters", { parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] } }],
  ])("takes a JSON Schema under %s", async (_, schema) => {
    const tool = await loadExecutable(program(`#!/bin/sh\necho '${JSON.stringify({ name: "a", ...schema })}'\n`));
    expect(tool.inputSchema.validate({ a: 1, b: 2 })).toEqual({ ok: true, value: { a: 1, b: 2 } });
    expect(tool.inputSchema.validate({ a: "1" })).toMatchObject({ ok: false });
  });

  it("takes the parameters of a program that says null for its JSON Schema", async () => {
    const schema = { name: "a", inputSchema: null, parameters: { city: { type: "string", required: true } } };
    const tool = await loadExecutable(program(`#!/bin/sh\necho '${JSON.stringify(schema)}'\n`));
    expect(tool.inputSchema.validate({})).toMatchObject({ ok: false });
  });

  it("takes a parameter called type, and an object with required properties of its own", async () => {
    const where = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
    const parameters = { type: { type: "string" }, where };
    const tool = await loadExecutable(program(`#!/bin/sh\necho '${JSON.stringify({ name: "a", parameters })}'\n`));
    expect(tool.inputSchema.validate({ type: "t", where: { x: 1 } })).toMatchObject({ ok: true });
    expect(tool.inputSchema.validate({})).toMatchObject({ ok: true }); // neither is required
    expect(tool.inputSchema.validate({ where: {} })).toMatchObject({ ok: false });
    expect(tool.inputSchema.validate({ where: { x: "1" } })).toMatchObject({ ok: false });
  });

  it("fills in what has a default, and refuses what is no parameter", async () => {
    const tool = await loadExecutable(
      echo(
        '{"a":{"type":"number","required":true},"b":{"type":"array","default":[1],"required":true},"__proto__":{"default":1}}',
      ),
    );
    expect(await execute(tool, { a: 1 })).toEqual(JSON.parse('{"a":1,"b":[1],"__proto__":1}'));
    expect(await execute(tool, { a: 1, b: undefined })).toMatchObject({ a: 1, b: [1] });
    expect(await execute(tool, { a: 1, b: [] })).toMatchObject({ a: 1, b: [] });
    expect(() => tool.use({ a: 1, c: 2 })).toThrow(ToolCallError);
  });

  it("refuses a default that its parameter does not take", async () => {
    const error = await failure(loadExecutable(echo('{"a":{"type":"number"},"b":{"type":"integer","default":"x"}}')));
    expect(error).toMatchObject({
      code: "invalid_tool",
      message: expect.stringContaining('"default" of the parameter "b"'),
    });
  });

  it("says what the caller says, before what the program says", async () => {
    const path = program(`#!/bin/sh\necho '{"name":"a","effect":"read"}'\n`);
    expect(await loadExecutable(path)).toMatchObject({ name: "a", effect: "read", eager: true, repair: "coerce" });
    expect(await loadExecutable(path, { name: "b", effect: "write" })).toMatchObject({ name: "b", effect: "write" });
  });

  it("gives up when the caller does", async () => {
    const gaveUp = new AbortController();
    const loading = failure(loadExecutable(program("#!/bin/sh\nexec sleep 600\n"), { signal: gaveUp.signal }));
    gaveUp.abort();
    expect(await loading).toMatchObject({ code: "aborted" });
  });
});

describe("a call", () => {
  it("gives the input to stdin and its result to the caller, with every character", async () => {
    const tool = await loadExecutable(echo('{"text":{"type":"string"}}'));
    const text = 'ünï\u{1f419} \\ " \u2028 \ud800 \0';
    expect(await execute(tool, { text })).toEqual({ text });
  });

  it("is one line on stdin, so that `read` of a shell takes it (holman/spark#37)", async () => {
    const body = `set -e\nread -r input\nprintf '{"success":true,"result":%s}' "$input"`;
    const tool = await loadExecutable(program(shTool(body, { parameters: '{"text":{"type":"string"}}' })));
    expect(await execute(tool, { text: "a\nb" })).toEqual({ text: "a\nb" });
  });

  it("comes to null when it says no result", async () => {
    expect(await execute(await loadExecutable(program(shTool(`echo '{"success":true}'`))))).toBeNull();
  });

  it("reports progress, and keeps other lines", async () => {
    const lines = [
      '{"progress":0.5,"message":"half"}',
      "careful",
      '{"other":1}',
      "{progress",
      '{"progress": 10%}',
      '{"progress":{"done":3}}',
    ];
    const body = `${lines.map((line) => `echo '${line}' >&2`).join("\n")}\necho '{"success":true,"result":1,"metadata":{"tokens":3}}'`;
    const runs: ExecutableRun[] = [];
    const tool = await loadExecutable(program(shTool(body)), { onRun: (run) => runs.push(run) });
    const progress = vi.fn();
    await execute(tool, {}, { progress, invocationId: "run-1" });
    expect(progress.mock.calls).toEqual([[{ progress: 0.5, message: "half" }], [{ progress: { done: 3 } }]]);
    expect(runs).toMatchObject([
      {
        tool: "tool",
        stderr: 'careful\n{"other":1}\n{progress\n{"progress": 10%}\n',
        exitCode: 0,
        signal: null,
        metadata: { tokens: 3 },
      },
    ]);
  });

  it("reports a line of progress that comes in pieces", async () => {
    const body = `printf '{"progress":' >&2; sleep 0.2; echo '1}' >&2; echo '{"success":true,"result":1}'`;
    const progress = vi.fn();
    await execute(await loadExecutable(program(shTool(body))), {}, { progress });
    expect(progress.mock.calls).toEqual([[{ progress: 1 }]]);
  });

  it("reports progress with the keys that the program wrote, whatever was read before", async () => {
    const line = { progress: misread() };
    const body = `echo '${JSON.stringify(line)}' >&2\necho '{"success":true,"result":1}'`;
    const progress = vi.fn();
    await execute(await loadExecutable(program(shTool(body))), {}, { progress });
    expect(progress.mock.calls).toEqual([[line]]);
  });

  it("tells progress in order, at the listener's pace, before its result; and does not wait for ever", async () => {
    const lines = Array.from({ length: 50 }, (_, at) => `echo '{"progress":${at}}' >&2`).join("\n");
    const path = program(shTool(`${lines}\necho '{"success":true,"result":1}'`));
    const seen: unknown[] = [];
    const slow = async (value: unknown) => {
      await setTimeout(1);
      seen.push((value as { progress: number }).progress);
    };
    await execute(await loadExecutable(path, { graceMs: 20_000 }), {}, { progress: slow });
    expect(seen).toEqual(Array.from({ length: 50 }, (_, at) => at));
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
    const stuck = vi.fn(() => isFree);
    expect(await execute(await loadExecutable(path, { graceMs: 200 }), {}, { progress: stuck })).toBe(1);
    free();
    await setTimeout(10);
    expect(stuck).toHaveBeenCalledOnce(); // and of what is over nobody is told
  });

  it("does not queue up what nobody can follow", async () => {
    const body = `yes '{"progress":0}' | head -n 10000 >&2; echo '{"progress":1}' >&2; echo '{"success":true,"result":1}'`;
    const tool = await loadExecutable(program(shTool(body)), { graceMs: 20_000 });
    let count = 0;
    let last: unknown;
    await execute(tool, {}, { progress: async (value) => void (await setTimeout(1), count++, (last = value)) });
    expect(count).toBeLessThan(5_000);
    expect(last).toEqual({ progress: 1 });
  });

  it("does not fail because of who listens, at once or later, nor does the process end", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const failing = () => {
      throw new Error("log");
    };
    const file = program(shTool(`echo '{"progress":1}' >&2; echo '{"success":true,"result":1}'`));
    try {
      for (const onRun of [failing, async () => failing()]) {
        const tool = await loadExecutable(file, { onRun });
        expect(await execute(tool, {}, { progress: failing })).toBe(1);
      }
      await setTimeout(1);
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });

  it("has the key of the call in its environment, or its digest if it is no plain one", async () => {
    const body = `printf '{"success":true,"result":"%s %s"}' "$TOOLSTREAM_INVOCATION_ID" "$TOOLSTREAM_IDEMPOTENCY_KEY"`;
    const tool = await loadExecutable(program(shTool(body)));
    const use = tool.use({}, { invocationId: "run:0:1" });
    expect(await use.execute({ idempotencyKey: "key/1" })).toBe("run:0:1 key/1");
    const digest = expect.stringMatching(/^[\da-f]{64}$/);
    const ids = await Promise.all(
      ["() { :; }; id\0", "1 run", "2 run"].map(async (invocationId) => {
        const [id, key] = String(await tool.use({}, { invocationId }).execute()).split(" ");
        expect([id, key]).toEqual([digest, id]);
        return id;
      }),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it.each([
    ['{"message":"no such city","code":4}', "no such city"],
    ['["no","city"]', '["no","city"]'],
    ['{"message":4}', '{"message":4}'],
    ["null", "The program failed and says no more; it ended with status 1."],
    ['""', "The program failed and says no more; it ended with status 1."],
  ])("that fails with the error %s says so", async (error, words) => {
    const tool = await loadExecutable(program(shTool(`echo '{"success":false,"error":${error}}'; exit 1`)));
    expect((await failure(execute(tool))).message).toBe(words);
  });

  it.each(["12345678901234567890", "-9007199254740993", "1e400"])(
    "that answers %s is not read as another number",
    async (number) => {
      const tool = await loadExecutable(program(shTool(`echo '{"success":true,"result":{"order":${number}}}'`)));
      expect(await failure(execute(tool))).toMatchObject({
        code: "invalid_answer",
        message: expect.stringContaining(number),
      });
      const exact = await loadExecutable(
        program(shTool(`echo '{"success":true,"result":[9007199254740992,0.1,"${number}"]}'`)),
      );
      expect(await execute(exact)).toEqual([2 ** 53, 0.1, number]);
    },
  );

  it.each([
    ['[{"error":"no such city"}]', 0, "invalid_answer", "printed no object"],
    ['{"success":"no","error":"no such city"}', 0, "invalid_answer", 'printed no "success": true or false'],
    ['{"city":"Oslo"}', 3, "tool_failed", "ended with status 3"],
    ['{"success":false}', 0, "tool_failed", "failed and says no more; it ended with status 0"],
  ])("that answers %s with status %i has not said that it succeeded", async (answer, status, code, words) => {
    const tool = await loadExecutable(program(shTool(`echo '${answer}'; exit ${status}`)));
    expect(await failure(execute(tool))).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  it("that fails at length is cut", async () => {
    const body = `printf '{"success":false,"error":"'; head -c 100000 /dev/zero | tr '\\0' x; printf '"}'`;
    const error = await failure(execute(await loadExecutable(program(shTool(body)))));
    expect(error.message.length).toBeLessThan(5_000);
  });

  it("that fails is data for the model", async () => {
    const tool = await loadExecutable(program(shTool(`echo '{"success":false,"error":"no such city"}'`)));
    const use = tool.use({});
    await expect(use.execute()).rejects.toThrow("Tool tool failed: no such city");
    expect(use.error).toMatchObject({ code: "execution_failed", cause: { code: "tool_failed" } });
  });

  it("hands on what its undo will need", async () => {
    const tool = await loadExecutable(
      program(shTool(`echo '{"success":true,"result":1,"metadata":{"undo":{"old":"text"}}}'`)),
      { policy: { undo: () => {}, needsApproval: true } },
    );
    const undoData = vi.fn();
    await execute(tool, {}, { undoData, approved: true });
    await execute(await loadExecutable(program(shTool(`echo '{"success":true}'`))), {}, { undoData });
    expect(undoData.mock.calls).toEqual([[{ old: "text" }]]);
    expect(tool).toMatchObject({ needsApproval: true, timeoutMs: 32_000 });
  });
});
