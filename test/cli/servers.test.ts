import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { OpenAI } from "openai";
import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { endpoint } from "../endpoint.ts";
import { loadFixture } from "../fixtures.ts";
import { folderWith, run, start } from "./command.ts";

const serve = async (...args: string[]) => {
  const server = start(["serve", ...args]);
  const url = await server.printed(/at (http:\S+)\./);
  return { server, url };
};

describe("toolstream serve", () => {
  it("answers fetch with a fixture's exact bytes, and ends when it is asked to", async () => {
    const { server, url } = await serve("fixtures");
    const response = await fetch(`${url}/anthropic/parallel/v1/messages`, {
      method: "POST",
      body: JSON.stringify({ model: "any", max_tokens: 10, stream: true, messages: [] }),
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(bytes).toEqual(loadFixture("anthropic", "parallel").bytes);

    const missing = await fetch(`${url}/anthropic/nothing/v1/messages`, { method: "POST", body: "{}" });
    expect(missing.status).toBe(404);
    expect(await missing.text()).toContain("There is no case");
    expect(await server.stop("SIGTERM")).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  it("prints the base URL with which the official client reads a fixture", async () => {
    const { server } = await serve();
    const baseURL = (await server.printed(/OpenAI Chat Completions, base URL (\S+)/)).replace("<case>", "parallel");
    const client = new OpenAI({ apiKey: "none", baseURL });
    const stream = await client.chat.completions.create({ model: "any", messages: [], stream: true });
    const { expected, tools } = loadFixture("openai-chat", "parallel");
    const turn = await openaiChat.read(stream, { tools }).done();
    expect(summarize(turn)).toEqual(expected);
    expect(await server.stop("SIGINT")).toBe(0);
  });

  it("lists what it answers for, and no other files", async () => {
    const folder = folderWith({});
    mkdirSync(join(folder, "cohere/mine"), { recursive: true });
    mkdirSync(join(folder, "cohere/.git"));
    mkdirSync(join(folder, "google/a\u001B[31m"), { recursive: true });
    mkdirSync(join(folder, "openai-chat"));
    for (const file of ["cohere/mine/stream.sse", "cohere/README.md", "openai-chat/notes.txt"]) {
      writeFileSync(join(folder, file), "x");
    }
    const { server } = await serve(folder);
    await server.printed(/\n {2}mine\n/);
    expect(server.stdout).not.toMatch(/README|git|OpenAI/);
    expect(server.stdout).toContain("\n  a\uFFFD[31m\n");
    expect(await server.stop("SIGTERM")).toBe(0);
  });

  it("lets the pages of an origin send requests, and no others", async () => {
    const { server, url } = await serve(
      "fixtures",
      "--origin",
      "http://localhost:5173",
      "--origin",
      "https://a.example",
    );
    const allowedFor = async (origin: string) => {
      const preflight = { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } };
      const response = await fetch(`${url}/anthropic/parallel/v1/messages`, preflight);
      return response.headers.get("access-control-allow-origin");
    };
    expect(await allowedFor("http://localhost:5173")).toBe("http://localhost:5173");
    expect(await allowedFor("https://a.example")).toBe("https://a.example");
    expect(await allowedFor("https://b.example")).toBeNull();
    expect(await server.stop("SIGTERM")).toBe(0);
  });

  it("is as fast as it is told to", async () => {
    const folder = folderWith({});
    mkdirSync(join(folder, "anthropic/slow"), { recursive: true });
    const stream = join(folder, "anthropic/slow/stream.sse");
    writeFileSync(stream, "data: 1\n\ndata: 2\n\n");
    writeFileSync(`${stream}.timing.json`, '{"chunks":[[0,9],[600,9]]}');
    const { server, url } = await serve(folder, "--speed", "2");
    const startedAt = performance.now();
    await (await fetch(`${url}/anthropic/slow/v1/messages`, { method: "POST", body: '{"stream":true}' })).text();
    expect(performance.now() - startedAt).toBeGreaterThan(299);
    expect(await server.stop("SIGTERM")).toBe(0);
  });

  it("says what an origin is", async () => {
    expect(await run(["serve", "fixtures", "--origin", "localhost:5173/"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(
        '"localhost:5173/" in origins is not an origin as browsers send it: "http://localhost:5173".',
      ),
    });
  });

  it("says when the port is in use", async () => {
    const { url } = await serve("fixtures");
    const { status, stdout, stderr } = await run(["serve", "fixtures", "--port", new URL(url).port]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toBe(
      `toolstream: Port ${new URL(url).port} is in use. Name another with --port, or leave it out for a free one.\n`,
    );
  });

  it.each([
    ["nowhere", "nowhere is not there."],
    ["package.json", "package.json is not a folder."],
    ["src", "src holds no recordings."],
  ])("says what is wrong with %s", async (dir, words) => {
    const { status, stderr } = await run(["serve", dir]);
    expect(status).toBe(1);
    expect(stderr).toContain(`toolstream: ${words} Give a folder with <wire>/<case>/stream.sse in it`);
  });
});

describe("toolstream record", () => {
  it("records what the endpoint answers, byte for byte, and nothing of the request", async () => {
    const { url } = await serve("fixtures");
    const folder = folderWith({});
    const out = join(folder, "call.sse");
    const recorder = start(["record", "--wire", "openai", "--url", `${url}/openai-chat/parallel`, "--out", out]);
    const proxy = await recorder.printed(/at (http:\S+)\./);
    const secret = "sk-very-secret-0123456789";
    const client = new OpenAI({
      apiKey: secret,
      baseURL: `${proxy}/v1`,
      defaultHeaders: { cookie: `session=${secret}` },
    });
    const ask = async () => {
      const stream = await client.chat.completions.create({ model: "any", messages: [], stream: true });
      return openaiChat.read(stream).done();
    };
    expect((await ask()).calls).toHaveLength(3);
    await recorder.printed(/call\.sse: \d+ bytes of POST \/v1\/chat\/completions\n/);
    await ask();
    await recorder.printed(/call-2\.sse: \d+ bytes/);
    expect(await recorder.stop("SIGTERM")).toBe(0);

    const { bytes } = loadFixture("openai-chat", "parallel");
    expect(new Uint8Array(readFileSync(out))).toEqual(bytes);
    expect(new Uint8Array(readFileSync(join(folder, "call-2.sse")))).toEqual(bytes);
    const written = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    expect(written).toHaveLength(4); // two bodies and their timing
    expect(`${written.join()}${recorder.stdout}`).not.toMatch(/secret|cookie|authorization/i);

    const replayed = await run(["replay", "--json", out]);
    expect(JSON.parse(replayed.stdout)).toMatchObject({ wire: "openai-chat", toolCalls: [{}, {}, {}] });
  });

  it("saves what has come when it is interrupted, also if npm passes on the signal of the terminal", async () => {
    const url = await endpoint((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: {}\n\n");
    });
    const out = join(folderWith({}), "call.sse");
    const recorder = start(["record", "--wire", "anthropic", "--url", url, "--out", out]);
    const proxy = await recorder.printed(/at (http:\S+)\./);
    const response = await fetch(`${proxy}/v1/messages`, { method: "POST", body: '{"stream":true}' });
    await response.body!.getReader().read();
    const ended = recorder.stop("SIGINT");
    for (let count = 0; count < 5; count++) {
      await wait(2);
      void recorder.stop("SIGINT");
    }
    expect(await ended).toBe(0);
    expect(readFileSync(out, "utf8")).toBe("data: {}\n\n");
    expect(recorder.stdout).toContain("incomplete: it broke off, or the client left");
  });

  it("passes on what is of another wire, and does not record it", async () => {
    const { url } = await serve("fixtures");
    const out = join(folderWith({}), "call.sse");
    const recorder = start(["record", "--wire", "cohere", "--url", `${url}/anthropic/parallel`, "--out", out]);
    const proxy = await recorder.printed(/at (http:\S+)\./);
    const body = JSON.stringify({ model: "any", max_tokens: 10, stream: true, messages: [] });
    const response = await fetch(`${proxy}/v1/messages`, { method: "POST", body });
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(loadFixture("anthropic", "parallel").bytes);
    expect(await recorder.stop("SIGTERM")).toBe(0);
    expect(existsSync(out)).toBe(false);
    expect(recorder.stderr).toBe(
      "toolstream: POST /v1/messages (200) is not recorded: it is not a request of cohere\n",
    );
  });

  it.each([
    ["openai", "https://api.example.com", /Use (http:\S+)\/v1 as the base URL\./],
    ["responses", "https://api.example.com/", /Use (http:\S+)\/v1 as the base URL\./],
    ["openai", "https://api.example.com/openai/v1", /at (http:\S+)\. Use it as the base URL\./],
    ["anthropic", "https://api.example.com", /at (http:\S+)\. Use it as the base URL\./],
    ["google", "https://api.example.com?key=s3cret", /at (http:\S+)\. Use it as the base URL\./],
  ])("says what the base URL of a client of %s at %s is", async (wire, url, words) => {
    const recorder = start(["record", "--wire", wire, "--url", url, "--out", join(folderWith({}), "call.sse")]);
    expect(await recorder.printed(words)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(recorder.stdout).not.toContain("s3cret");
    expect(await recorder.stop("SIGTERM")).toBe(0);
  });

  it("says when the port is in use", async () => {
    const { port } = new URL(await endpoint(() => {}));
    const out = join(folderWith({}), "call.sse");
    const args = ["record", "--wire", "cohere", "--url", "https://api.example.com", "--out", out, "--port", port];
    expect(await run(args)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(new RegExp(`^toolstream: Port ${port} is in use\\. Name another`)),
    });
  });

  it("says when it cannot write, at once", async () => {
    const { url } = await serve("fixtures");
    const file = join(folderWith({ file: "x" }), "file/call.sse");
    const recorder = start(["record", "--wire", "anthropic", "--url", `${url}/anthropic/parallel`, "--out", file]);
    const proxy = await recorder.printed(/at (http:\S+)\./);
    const body = JSON.stringify({ model: "any", max_tokens: 10, stream: true, messages: [] });
    await (await fetch(`${proxy}/v1/messages`, { method: "POST", body })).arrayBuffer();
    expect(await recorder.stop("SIGTERM")).toBe(1);
    expect(recorder.stderr).toContain("the recording could not be saved: ");
  });
});
