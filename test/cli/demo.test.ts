import { describe, expect, it, onTestFinished } from "vitest";
import { serveReplay } from "../../src/replay/index.ts";
import { adapters } from "../adapters.ts";
import { fixturesDir } from "../fixtures.ts";
import { run } from "./command.ts";

describe("toolstream demo", () => {
  it("shows every provider through its official client, executes the calls, and ends with a table", async () => {
    const { status, stdout, stderr } = await run(["demo"], { env: { CI: "true" } });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    // oxlint-disable-next-line no-control-regex -- no colors and no cursor movements
    expect(stdout).not.toMatch(/\u001B/);
    const rows = stdout.slice(stdout.indexOf("\nprovider")).trim().split("\n");
    const [head, ...cells] = rows.map((row) => row.split(/ {2,}/));
    expect(head).toEqual(["provider", "events", "calls", "executed", "repairs", "first call"]);
    expect(cells.map(([provider, , calls, executed, repairs]) => [provider, calls, executed, repairs])).toEqual(
      adapters.map(({ adapter }) => [adapter.name, "3", "3", "1"]),
    );
    for (const [, events, , , , firstCall] of cells) {
      expect(Number(events)).toBeGreaterThan(10);
      expect(firstCall).toMatch(/^\d+ ms$/);
    }
    expect(stdout.match(/ {2}result {4}get_weather -> \{"city":"Oslo"/g)).toHaveLength(adapters.length);
    expect(stdout.match(/\[repaired limit: "5" → 5\]/g)).toHaveLength(adapters.length);
  });

  it.each([
    ["openai", "OPENAI_API_KEY"],
    ["responses", "OPENAI_API_KEY"],
    ["anthropic", "ANTHROPIC_API_KEY"],
    ["gemini", "GEMINI_API_KEY or GOOGLE_API_KEY"],
    ["cohere", "CO_API_KEY or COHERE_API_KEY"],
  ])("says how to ask %s itself when its key is not set", async (provider, keys) => {
    const { status, stdout, stderr } = await run(["demo", "--live", provider]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(`set the key in ${keys} and --model, for example:\n`);
    expect(stderr).toMatch(
      new RegExp(`\\n {2}${keys.split(" ")[0]!}=\\.\\.\\. npm start -- --live ${provider} --model \\S+\\n$`),
    );
  });

  it("asks for a key when only the model is set", async () => {
    const { status, stderr } = await run(["demo", "--live", "openai", "--model", "mine"], {
      env: { OPENAI_API_KEY: "" },
    });
    expect(status).toBe(2);
    expect(stderr).toContain("set the key in OPENAI_API_KEY, for example:\n");
    expect(stderr).toContain(" --model mine\n");
  });

  it("asks for a model when only the key is set", async () => {
    const { status, stderr } = await run(["demo", "--live", "openai"], { env: { OPENAI_API_KEY: "none" } });
    expect(status).toBe(2);
    expect(stderr).toContain("To ask OpenAI Chat Completions itself, set --model, for example:");
  });
});

describe("toolstream demo --live", () => {
  // The clients take their provider's address from the environment: here it is the replay server's.
  it.each([
    ["openai", "OPENAI", "openai-chat/one-call/v1"],
    ["responses", "OPENAI", "openai-responses/one-call/v1"],
    ["anthropic", "ANTHROPIC", "anthropic/one-call"],
  ])("asks %s at its own address, and executes what it calls", async (provider, prefix, path) => {
    const server = await serveReplay({ adapters: adapters.map(({ adapter }) => adapter), fixtures: fixturesDir });
    onTestFinished(() => server.close());
    const env = { CI: "true", [`${prefix}_API_KEY`]: "none", [`${prefix}_BASE_URL`]: `${server.url}/${path}` };
    const { status, stdout, stderr } = await run(
      ["demo", "--live", provider, "--model", "a-model", "--prompt", "How warm?"],
      {
        env,
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/ {2}result {4}get_weather -> \{"city":/);
    expect(server.requests.map(({ body }) => (body as { model: string }).model)).toEqual(["a-model"]);
    expect(JSON.stringify(server.requests[0]!.body)).toContain("How warm?");
  });

  it("ends with status 1 after a turn that failed", async () => {
    const server = await serveReplay({
      adapters: adapters.map(({ adapter }) => adapter),
      fixtures: fixturesDir,
      behavior: { "openai-chat/one-call": { cutAtEvent: 2 } },
    });
    onTestFinished(() => server.close());
    const env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${server.url}/openai-chat/one-call/v1` };
    const { status, stdout } = await run(["demo", "--live", "openai", "--model", "a-model"], { env });
    expect(status).toBe(1);
    expect(stdout).toMatch(/ {2}failed {4}connection_lost: .*\n[^]*\nopenai-chat +\d+ +1 +0 +0 +-\n/);
  });

  it("tells what the provider refused, without a stack", async () => {
    const server = await serveReplay({
      adapters: adapters.map(({ adapter }) => adapter),
      fixtures: fixturesDir,
      behavior: { "openai-chat/one-call": { status: 401, message: "No such key." } },
    });
    onTestFinished(() => server.close());
    const env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${server.url}/openai-chat/one-call/v1` };
    const { status, stderr } = await run(["demo", "--live", "openai", "--model", "a-model"], { env });
    expect(status).toBe(1);
    expect(stderr).toBe(
      "toolstream: OpenAI Chat Completions gave no stream: 401 No such key. Is the key in OPENAI_API_KEY right?\n",
    );
  });

  it("tells why there is no connection, each reason once", async () => {
    const env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
    const { status, stderr } = await run(["demo", "--live", "openai", "--model", "a-model"], { env });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^toolstream: OpenAI Chat Completions gave no stream: Connection error\. \(.+\)\.\n$/);
    expect(stderr).not.toMatch(/fetch failed.*fetch failed/);
  });
});
